"""The gateway's address in the settings of each client: put in beside what is there, and taken out to the byte."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.test_hook_entries import ENDS, LAYOUTS, VALUES, text_of
from undrift.clients.addressed import ADDRESSED, gateway_of
from undrift.clients.linefile import EnvValues, TomlValues, YamlValues
from undrift.clients.valuefile import JsonValues, ValueNote
from undrift.errors import InputError

URL = f"http://127.0.0.1:8787/{'ab' * 32}/via/anthropic"
KEY = ("env", "ANTHROPIC_BASE_URL")
JSON = JsonValues()
REST = st.dictionaries(
    st.text(max_size=6).filter(lambda name: name not in ("env", "ANTHROPIC_BASE_URL")), VALUES, max_size=3
)


def forgetting(kept: ValueNote) -> ValueNote:
    """What is remembered, with a piece that the file does not have any more."""
    return ValueNote(kept.key, former=kept.former, new_objects=kept.new_objects)


@given(REST, st.none() | REST, st.none() | st.text(max_size=5), LAYOUTS, ENDS)
def test_what_was_put_into_json_comes_out_to_the_byte(
    rest: dict, env: dict | None, own: str | None, layout: Any, end: str
):
    env = {**(env or {}), KEY[1]: own} if own is not None else env
    before = text_of({**rest, **({} if env is None else {"env": env})}, layout, end)
    text, kept = JSON.put(before, KEY, URL)
    assert JSON.value(text, KEY) == URL
    assert kept.former is None if own is None else json.loads(kept.former or "") == own
    found = json.loads(text.removeprefix("\ufeff"))
    assert found == {**rest, "env": {**(env or {}), KEY[1]: URL}}
    assert JSON.take(text, KEY, kept) == before
    rewritten = json.dumps(found)  # as the client writes it
    assert json.loads(JSON.take(rewritten, KEY, kept)) == json.loads(before.removeprefix("\ufeff"))


@given(REST, LAYOUTS, ENDS, st.sampled_from(["first", "second"]))
def test_two_entries_come_out_in_any_order(rest: dict, layout: Any, end: str, goes: str):
    before = text_of(rest, layout, end)
    once, first = JSON.put(before, KEY, URL)
    text, second = JSON.put(once, ("statusLine",), {"type": "command"})
    order = [first, second] if goes == "first" else [second, first]
    for kept in order:
        text = JSON.take(text, kept.key, kept)
    assert text == before


ALLOWED = ("permissions", "allow")
RECALL = "Bash(undrift recall:*)"


@given(REST, st.none() | REST, st.none() | st.lists(st.text(max_size=5), max_size=3), LAYOUTS, ENDS)
def test_an_item_that_was_added_to_a_list_comes_out_to_the_byte(
    rest: dict, permissions: dict | None, own: list | None, layout: Any, end: str
):
    permissions = {**(permissions or {}), "allow": own} if own is not None else permissions
    before = text_of({**rest, **({} if permissions is None else {"permissions": permissions})}, layout, end)
    text, kept = JSON.add(before, ALLOWED, RECALL)
    assert JSON.value(text, ALLOWED) == [*(own or []), RECALL]
    assert JSON.drop(text, kept) == before
    found = json.loads(text.removeprefix("\ufeff"))
    assert json.loads(JSON.drop(json.dumps(found), kept)) == json.loads(before.removeprefix("\ufeff"))
    found["permissions"]["allow"].insert(0, "theirs")
    left = JSON.drop(json.dumps(found), kept)
    assert JSON.value(left, ALLOWED) == ["theirs", *(own or [])]


def test_an_item_that_is_gone_already_is_not_looked_for_and_no_list_gets_none():
    _, kept = JSON.add("", ALLOWED, RECALL)
    assert JSON.drop("{}", kept) == "{}"
    with pytest.raises(InputError, match=r"permissions\.allow is not a list"):
        JSON.add('{"permissions": {"allow": "all"}}', ALLOWED, RECALL)


def test_what_others_add_stays_and_an_object_with_something_in_it_as_well():
    text, kept = JSON.put('{"a": 1}', KEY, URL)
    grown = json.loads(text)
    grown["env"]["MINE"] = "b"
    assert json.loads(JSON.take(json.dumps(grown), KEY, kept)) == {"a": 1, "env": {"MINE": "b"}}


@pytest.mark.parametrize("text", ["[]", "{", '{"env": 1}', '{"env": []}', '{"a": 1, "a": 2}'])
def test_json_that_cannot_hold_it_is_refused(text: str):
    with pytest.raises(InputError):
        JSON.put(text, KEY, URL)


TOML = [
    "",
    "\n",
    'model = "x"',
    '\ufeffmodel = "x"\r\n\r\n[a]\r\nb = 1\r\n',
    '[model_providers.x]\nopenai_base_url = "l"\n',
    'text = """\nopenai_base_url = "no"\n"""\n',
    'openai_base_url = "https://mine/v1" # mine\n[a]\nopenai_base_url = "other"\n',
    "'openai_base_url' = 'https://mine/v1'\n",
]


@pytest.mark.parametrize("before", TOML)
def test_what_was_put_into_toml_comes_out_to_the_byte(before: str):
    form, key = TomlValues(), ("openai_base_url",)
    text, kept = form.put(before, key, URL)
    assert tomllib.loads(text.removeprefix("\ufeff")) == {**tomllib.loads(before.removeprefix("\ufeff")), key[0]: URL}
    assert form.take(text, key, kept) == before
    assert form.take(text, key, forgetting(kept)) == before
    more = f'{text}[user.s.own]\nx = "y"\n' if text.endswith("\n") else f'{text}\n[user.s.own]\nx = "y"\n'
    assert form.take(more, key, kept) == more.replace(text, before, 1)


def test_the_address_of_a_provider_of_ones_own_is_replaced_in_its_table():
    before = 'model_provider = "loop"\n[model_providers.loop]\nname = "l"\nbase_url = "https://mine/v1"\n'
    (address,) = ADDRESSED["codex"].addresses(before)
    text, kept = TomlValues().put(before, address.key, URL)
    assert tomllib.loads(text)["model_providers"]["loop"] == {"name": "l", "base_url": URL}
    assert kept.former == '"https://mine/v1"'
    assert TomlValues().take(text, address.key, kept) == before


@pytest.mark.parametrize("text", ["a", 'openai_base_url = """\nx"""\n'])
def test_toml_that_is_written_otherwise_is_refused(text: str):
    with pytest.raises(InputError):
        TomlValues().put(text, ("openai_base_url",), URL)


PLAIN = ["", "\n", "A=b", "A=b\r\nexport C = 'd'\r\n", "# only\n", "GOOGLE_GEMINI_BASE_URL=https://mine # c\nA=b\n"]


@pytest.mark.parametrize("before", PLAIN)
def test_what_was_put_into_variables_comes_out_to_the_byte(before: str):
    form, key = EnvValues(), ("GOOGLE_GEMINI_BASE_URL",)
    text, kept = form.put(before, key, URL)
    assert form.value(text, key) == URL
    assert form.take(text, key, kept) == before
    assert form.take(f"{text}MORE=1\n", key, kept) == f"{before}MORE=1\n" or not before.endswith("\n")


YAML = [
    "",
    "model: x",
    "---\nmodel: x\nread:\n- a\n  # c\n\n",
    "# c\r\nopenai-api-base: 'https://mine/v1' # c\r\nb: c\r\n",
]


@pytest.mark.parametrize("before", YAML)
def test_what_was_put_into_yaml_comes_out_to_the_byte(before: str):
    form = YamlValues()
    once, first = form.put(before, ("openai-api-base",), URL)
    text, second = form.put(once, ("set-env",), ["A=1", "B=2"])
    assert form.value(text, ("openai-api-base",)) == URL
    assert form.value(text, ("set-env",)) == ["A=1", "B=2"]
    assert form.take(text, ("set-env",), forgetting(second)) == form.take(text, ("set-env",), second) == once
    assert form.take(once, ("openai-api-base",), first) == before


@pytest.mark.parametrize(
    "text",
    [
        "{a: b}",
        "- a\nb",
        "a: b\n...\n",
        "set-env: [A=b]\n",
        "set-env:\n  - A=b\n",
        "a: b\n---\n",
        "# c\n  a: b\n",
        "- a\n",
    ],
)
def test_yaml_that_is_not_plain_is_refused(text: str):
    with pytest.raises(InputError):
        YamlValues().put(text, ("set-env",), ["A=1"])


def test_a_yaml_text_that_continues_in_the_next_line_is_not_replaced():
    with pytest.raises(InputError):
        YamlValues().put("openai-api-base: https://mine\n  .example\n", ("openai-api-base",), URL)


@pytest.mark.parametrize("form", [EnvValues(), YamlValues()])
def test_lines_that_others_add_behind_a_last_line_without_an_end_stay_lines(form: EnvValues | YamlValues):
    before, key, more = ("A=b", "U", "C=d") if isinstance(form, EnvValues) else ("a: b", "u", "c: d")
    text, kept = form.put(before, (key,), URL)
    assert form.take(f"{text}{more}\n", (key,), kept) == f"{before}\n{more}\n"


def test_a_variable_that_was_exported_since_goes_as_a_whole_line():
    text, kept = EnvValues().put("A=b\n", ("U",), URL)
    assert EnvValues().take(text.replace("U=", "export U="), ("U",), kept) == "A=b\n"


@pytest.mark.parametrize(
    "text", ["https://api.anthropic.com", "http://127.0.0.1:1/v1", "http://evil.example/via/anthropic", 7, None, ["x"]]
)
def test_another_address_is_not_taken_for_a_gateway(text: Any):
    assert gateway_of(text) is None
    assert gateway_of(URL) == (8787, "ab" * 32)
    assert gateway_of("http://127.0.0.1:1/via/openai/v1") == (1, "")
