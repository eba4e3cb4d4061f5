"""The table of models: which row speaks for a name, and how a user's file overrides it."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from undrift.errors import SettingsError
from undrift.settings.model_table import MODELS, UNKNOWN, Model, load_models, lookup, model_key, read_models

ROOT = Path(__file__).parents[2]


def row(**fields: Any) -> Model:
    return Model(**{**dataclasses.asdict(UNKNOWN), "name": "my-model", **fields})


def refusal(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load_models(text)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------- lookup


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("anthropic/claude-opus-4.8", "claude-opus-4-8"),
        ("anthropic:claude-haiku-5-5", "claude-haiku-5-5"),
        ("litellm_proxy/claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("openrouter/anthropic/claude-sonnet-5:beta", "claude-sonnet-5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-fable-5-1-v1:0", "claude-fable-5-1"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-opus-4-6-thinking", "claude-opus-4-6"),
        ("prod-claude-opus-5-5", "claude-opus-5-5"),
        (" Claude-Opus-5 ", "claude-opus-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5.4-2026-03-05", "gpt-5.4"),
        ("gpt-5.4-mini", "gpt-5.4-mini"),
        ("gpt-5.1-chat-latest", "gpt-5.1-chat"),
        ("openai/gpt-5.2-codex", "gpt-5.2"),
        ("gpt-5.6-sol", "gpt-5.6"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini-3-flash-preview", "gemini-3-flash"),
    ],
)
def test_the_longest_row_that_begins_the_name_counts(name: str, expected: str) -> None:
    assert lookup(name).name == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-opus-5-6", "claude"),
        ("claude-opus-5-6-20270101", "claude"),
        ("claude-opus-5.10", "claude"),
        ("claude-opus-55", "claude"),
        ("claude-sonnet-6", "claude"),
        ("claude-saga-1", "claude"),
        ("gpt-5.9", "gpt"),
        ("gpt-50", "gpt"),
        ("gpt-7-sol", "gpt"),
        ("gemini-3.9-flash", "gemini"),
    ],
)
def test_a_row_never_speaks_for_another_version(name: str, expected: str) -> None:
    found = lookup(name)
    assert found.name == expected
    assert found.input_usd_per_million is None


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        " ",
        "/",
        ":",
        "droid-model",
        "kimi-k2.7-code",
        "claudette",
        "gpts",
        "<synthetic>",
        "[1",
        "x" * 501,
        "claude" * 1_000,
    ],
)
def test_a_name_that_no_row_begins_gets_the_careful_default(name: str | None) -> None:
    assert lookup(name) is UNKNOWN
    assert (UNKNOWN.window_tokens, UNKNOWN.token_factor, UNKNOWN.binds_thinking) == (200_000, 1.2, False)
    assert UNKNOWN.input_usd_per_million is None


def test_a_name_as_long_as_a_document_is_not_searched() -> None:
    assert lookup("claude-opus-5-" + "x" * 486).name == "claude-opus-5"
    assert lookup("claude-opus-5-" + "x" * 487) is UNKNOWN


def test_a_model_field_that_is_no_text_is_an_unknown_model() -> None:
    assert lookup(5) is UNKNOWN  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["claude-sonnet-4-5[1m]", "anthropic/claude-opus-4-6[1M]", "claude-opus-4-5-20251101[1m]", "kimi[1m]"]
)
def test_the_suffix_for_a_long_window_gives_a_million_tokens_and_leaves_the_rest(name: str) -> None:
    plain = lookup(name[:-4])
    assert plain.window_tokens == 200_000
    assert lookup(name) == dataclasses.replace(plain, window_tokens=1_000_000)


# -------------------------------------------------------------------------------------------------------- the figures


def test_exactly_the_models_that_bind_thinking_are_marked_and_unknown_claudes_with_them() -> None:
    assert {model.name for model in MODELS if model.binds_thinking} == {
        "claude",
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-mythos-5-1",
        "claude-mythos-5-2",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
    }


@pytest.mark.parametrize(
    ("name", "usd", "read_ratio", "write_ratio"),
    [
        ("claude-fable-5-1", 10, 0.025, 1.25),
        ("claude-opus-5-5", 4, 0.05, 1.25),
        ("claude-sonnet-5-5", 2, 0.05, 1.25),
        ("claude-opus-4-8", 5, 0.1, 1.25),
        ("claude-opus-5", 5, 0.1, 1.25),
        ("claude-haiku-5-5", 0.1, 0.1, 1.25),
        ("claude-haiku-4-5", 1, 0.1, 1.25),
        ("gpt-6-astra", 10, 0.1, 1.25),
        ("gpt-6.1-sol", 2, 0.05, 1.25),
        ("gpt-6-sol", 2, 0.1, 1.25),
        ("gpt-5.6", 4, 0.1, 1.25),
        ("gpt-5.5", 5, 0.1, 1.0),
        ("gpt-5.4", 2.5, 0.1, 1.0),
        ("gemini-3.8-flash", 0.75, 0.1, 1.0),
        ("gemini-3.5-flash", 1.5, 0.1, 1.0),
        ("gemini-3.1-pro-preview", 2, 0.1, 1.0),
        ("gemini-2.5-pro", 1.25, 0.1, 1.0),
    ],
)
def test_prices_are_the_vendors_list_prices(name: str, usd: float, read_ratio: float, write_ratio: float) -> None:
    model = lookup(name)
    assert (model.input_usd_per_million, model.read_ratio, model.write_ratio) == (usd, read_ratio, write_ratio)


@pytest.mark.parametrize(
    ("name", "window_tokens", "family", "token_factor"),
    [
        ("claude-sonnet-4-5", 200_000, "claude", 1.2),
        ("claude-opus-4-6", 200_000, "claude", 1.2),
        ("claude-opus-4-8", 1_000_000, "claude-4.7", 1.6),
        ("claude-fable-5", 1_000_000, "claude-4.7", 1.6),
        ("claude-haiku-5-5", 1_000_000, "claude-4.7", 1.6),
        ("claude-of-tomorrow", 200_000, "claude-4.7", 1.6),
        ("gpt-5.4", 258_400, "gpt", 1.0),
        ("gpt-5.3-codex-spark", 121_600, "gpt", 1.0),
        ("gemini-2.5-pro", 1_048_576, "gemini", 1.1),
    ],
)
def test_windows_and_tokenizers_are_known(name: str, window_tokens: int, family: str, token_factor: float) -> None:
    model = lookup(name)
    assert (model.window_tokens, model.family, model.token_factor) == (window_tokens, family, token_factor)


def test_every_row_is_reached_by_its_own_name_and_dated() -> None:
    for model in MODELS:
        assert lookup(model.name) is model
        assert model.as_of == "2026-11"


def test_models_of_one_family_have_one_token_factor() -> None:
    factors: dict[str, set[float]] = {}
    for model in (*MODELS, UNKNOWN):
        factors.setdefault(model.family, set()).add(model.token_factor)
    assert {family for family, found in factors.items() if len(found) > 1} == set()


def test_the_guide_tells_every_field_and_the_careful_defaults() -> None:
    text = (ROOT / "docs/models.md").read_text()
    for field in dataclasses.fields(Model):
        assert f"| `{field.name}` |" in text
    defaults = re.findall(r"^\| (another \w+|anything else) \| ([\d,]+) \| unknown \| ([\d.]+) \| (yes|no)", text, re.M)
    stems = {"another Claude": "claude", "another GPT": "gpt", "another Gemini": "gemini", "anything else": None}
    assert [stem for stem, *_ in defaults] == list(stems)
    for words, window, factor, binds in defaults:
        model = lookup(stems[words])
        assert model.window_tokens == int(window.replace(",", ""))
        assert (model.token_factor, model.binds_thinking) == (float(factor), binds == "yes")


def test_a_model_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        MODELS[0].window_tokens = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", ["", " ", "a b", "x" * 201, "/", None, 5]),
        ("family", ["", None, 5]),
        ("window_tokens", [0, -1, True, 1.0, 2**63, "200000", None]),
        ("input_usd_per_million", [-0.1, True, float("nan"), float("inf"), "5", 1_000_001]),
        ("read_ratio", [-0.1, True, float("nan"), None, "0.1"]),
        ("write_ratio", [-1, False, float("inf"), None]),
        ("token_factor", [0, 0.09, 10.1, -1, True, float("nan"), None]),
        ("binds_thinking", [0, 1, "true", None]),
        ("as_of", ["", "2026", "2026-13", "2026-1", "2026-11-01", None, 2026]),
    ],
)
def test_a_row_with_a_wrong_field_is_refused(field: str, wrong: list[object]) -> None:
    for value in wrong:
        with pytest.raises(SettingsError) as caught:
            row(**{field: value})
        assert f"{field}={repr(value)[:40]}" in str(caught.value)
        assert "must be " in str(caught.value)


# ------------------------------------------------------------------------------------------------------ the user's rows


def test_a_users_row_replaces_the_built_in_one_and_inherits_what_it_leaves_out() -> None:
    extra = load_models('[{"name": "claude-opus-4-6", "window_tokens": 1000000}]')
    assert extra == (dataclasses.replace(lookup("claude-opus-4-6"), window_tokens=1_000_000),)
    assert lookup("claude-opus-4-6-20260205", extra).window_tokens == 1_000_000
    assert lookup("claude-opus-4-6").window_tokens == 200_000
    assert lookup("claude-opus-4-5", extra) is lookup("claude-opus-4-5")


def test_a_users_row_extends_the_table() -> None:
    extra = load_models('[{"name": "my-llama", "family": "llama", "window_tokens": 131072, "as_of": "2026-12"}]')
    assert lookup("local/my-llama-70b", extra) == row(
        name="my-llama", family="llama", window_tokens=131_072, as_of="2026-12"
    )
    assert lookup("my-llamas", extra) is UNKNOWN


def test_a_gateways_own_name_wins_over_the_claude_inside_it() -> None:
    extra = (row(name="corp-claude", binds_thinking=False),)
    assert lookup("corp-claude", extra) is extra[0]
    assert lookup("claude-opus-5-6", extra).name == "claude"


def test_a_users_row_may_speak_for_one_date_alone() -> None:
    extra = load_models('[{"name": "claude-opus-4-5-20251101", "window_tokens": 64000}]')
    assert lookup("us.anthropic.claude-opus-4-5-20251101-v1:0", extra).window_tokens == 64_000
    assert lookup("claude-opus-4-5", extra).window_tokens == 200_000


def test_a_longer_built_in_row_wins_over_a_shorter_row_of_the_user() -> None:
    extra = (row(name="claude", window_tokens=7),)
    assert lookup("claude-opus-5", extra).name == "claude-opus-5"
    assert lookup("claude-saga", extra) is extra[0]


def test_every_built_in_row_survives_a_trip_through_the_file() -> None:
    assert load_models(json.dumps([dataclasses.asdict(model) for model in MODELS])) == MODELS


def test_an_empty_list_is_no_rows() -> None:
    assert load_models("[]") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("9" * 5_000, "is not JSON"),
        ("{}", "must be a list of objects, not dict"),
        ("null", "must be a list of objects, not NoneType"),
        ("[5]", "models[0]: must be an object, not int"),
        ('[{"name": "a"}, {}]', "models[1]: name is missing; must be a model's name"),
        ('[{"name": "a", "window": 5}]', "models[0].window: no such field; must be one of name, family, window_tokens"),
        ('[{"name": "a"}, {"name": "b", "window_tokens": 0}]', "models[1].window_tokens=0: must be an integer of at least 1"),
        ('[{"name": "a", "read_ratio": NaN}]', "models[0].read_ratio=nan: must be a number"),
        ('[{"name": "a", "token_factor": Infinity}]', "models[0].token_factor=inf: must be a number from 0.1 to 10"),
        ('[{"name": ["a"]}]', "models[0].name=['a']: must be a model's name"),
        ('[{"name": "a", "as_of": "today"}]', "models[0].as_of='today': must be a year and month"),
        ('[{"name": "gpt-5.4"}, {"name": "openai/GPT-5-4"}]', "models[1].name='openai/GPT-5-4': must differ from 'gpt-5.4'"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_place_value_and_rule(text: str, words: str) -> None:
    message = refusal(text)
    assert words in message
    assert len(message) < 400


def test_no_file_gives_no_rows() -> None:
    assert read_models(None) == ()


def test_a_file_of_models_is_read(tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text('[{"name": "modèle-1", "window_tokens": 64000}]', encoding="utf-8")
    assert lookup("modèle-1", read_models(str(file))).window_tokens == 64_000


def test_a_file_that_cannot_be_read_is_named_with_its_remedy(tmp_path: Path) -> None:
    binary, huge, wrong = tmp_path / "binary.json", tmp_path / "huge.json", tmp_path / "wrong.json"
    binary.write_bytes(b"[\xff]")
    huge.write_text(" " * 1_000_001)
    wrong.write_text('[{"name": "a", "window_tokens": "many"}]')
    for path, words in [
        (tmp_path / "missing.json", "No such file"),
        (tmp_path, "Is a directory"),
        (binary, "is not UTF-8 text"),
        (huge, "at most 1000000 characters"),
        (wrong, "models[0].window_tokens='many': must be an integer"),
    ]:
        with pytest.raises(SettingsError) as caught:
            read_models(str(path))
        assert str(caught.value).startswith(f"{path}: ")
        assert words in str(caught.value)
        assert str(caught.value).endswith("correct the file or unset UNDRIFT_MODELS_FILE")


@pytest.mark.parametrize(
    ("write_ratio", "seconds", "expected"),
    [(1.25, None, 1.25), (1.25, 300, 1.25), (1.25, 3_600, 2.0), (2.5, 3_600, 2.5), (1.0, 3_600, 1.0), (0, 3_600, 0)],
)
def test_what_is_written_for_an_hour_costs_more_where_writing_costs_anything(
    write_ratio: float, seconds: int | None, expected: float
):
    assert row(write_ratio=write_ratio).write_ratio_for(seconds) == expected


@pytest.mark.parametrize("name", ["gpt-5.6", "gpt-6.1-sol", "gemini-4-argon"])
def test_other_vendors_write_for_one_price(name: str):
    assert lookup(name).write_ratio_for(86_400) == lookup(name).write_ratio


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("claude-opus-5", 300),
        ("claude-next-9", 300),
        ("gpt-4o", 3_600),
        ("o3", 3_600),
        ("gpt-4.1", 86_400),
        ("gpt-5.4", 86_400),
        ("gpt-6-sol", 86_400),
        ("gemini-3-flash", 86_400),
        ("deepseek-chat", 86_400),
        (None, 86_400),
    ],
)
def test_a_cache_that_may_be_warm_is_taken_for_warm(name: str | None, seconds: int):
    assert lookup(name).cache_seconds == seconds


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("claude-opus-4-6", "claude-opus-4-6[1m]", True),
        ("claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-4.5", True),
        ("gpt-4o-2024-11-20", "openai:gpt-4o", True),
        ("gpt-5.1", "gpt-5.1-codex", False),
        ("claude-opus-4-5", "claude-opus-4-6", False),
        ("my-model", "other-model", False),
    ],
)
def test_names_of_one_model_have_one_key(one: str, other: str, is_same: bool):
    assert (model_key(one) == model_key(other)) is is_same


@pytest.mark.parametrize("name", [None, 5, "", "x" * 10_000, "\x00", "-20250101" * 400])
def test_a_key_is_short_whatever_the_name(name: Any):
    assert len(model_key(name)) <= 500
