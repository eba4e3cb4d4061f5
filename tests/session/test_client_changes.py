"""The place from which a client changed its prompts: against the requests that the provider may still have in its cache."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import Json, assistant, body, rounds, user
from undrift.core.cost import Prices
from undrift.core.window.client_change import ClientChange
from undrift.core.window.low_water import Cache
from undrift.session.client_changes import Asking, ClientChanges
from undrift.settings.model_table import model_key
from undrift.window.conversation import Conversation
from undrift.window.decisions import Decisions
from undrift.window.request import Request
from undrift.wire.form import Form
from undrift.wire.forms import form_of

MINUTE = 60_000
FIXED = 1_000
CACHE = Cache(Prices(0.1, 1.25), 300, 1_024)
BASH = {"name": "Bash", "input_schema": {"type": "object"}}
READ = {"name": "Read", "input_schema": {"type": "object"}}
HISTORY = [user("hello"), *rounds(5)]


class Client:
    """Sends requests as bytes, all of one conversation as long as they begin alike."""

    def __init__(self, form: Form | None = None) -> None:
        self.form = form or form_of("anthropic")
        self.changes = ClientChanges()
        self.conversations: list[Conversation] = []
        self.now_ms = 0
        self.sent = b""

    def send(self, given: Json, *, after_ms: int = 5_000, is_bytes: bool = True) -> ClientChange | None:
        self.now_ms += after_ms
        self.sent = json.dumps(given, separators=(",", ":")).encode()
        request = Request(self.sent if is_bytes else given, self.form)
        request.open()
        digest = self.form.digest(request.load(0))
        found = next((c for c in self.conversations if c.starts_with(request.bytes_of(0), digest)), None)
        if found is None:
            found = Conversation(self.form, Decisions("s", (), ()), lambda text: len(text) // 4)
            self.conversations.append(found)
        found.follow(request, self.now_ms)
        return self.changes.follow(found, request, Asking(self.now_ms, model_key(request.model), CACHE, FIXED))


def asked(messages: list[Json], **fields: Any) -> Json:
    return body(*messages, **{"system": "Be brief.", "tools": [BASH], **fields})


@pytest.mark.parametrize("is_bytes", [True, False])
def test_a_history_that_only_grows_is_no_change(is_bytes: bool):
    client = Client()
    for count in range(2, len(HISTORY) + 1):
        assert client.send(asked(HISTORY[:count]), is_bytes=is_bytes) is None


@pytest.mark.parametrize(
    ("part", "fields", "differs"),
    [
        ("system", {"system": "Be long."}, b'long."'),
        ("tools", {"tools": [BASH, READ]}, b'{"name":"Read"'),
        ("tools", {"tools": [BASH, READ], "system": "Be long."}, b'{"name":"Read"'),
        ("tool_choice", {"tool_choice": {"type": "any"}}, b'{"type":"any"'),
        ("thinking", {"thinking": {"type": "enabled", "budget_tokens": 2_000}}, b'{"type":"enabled"'),
        ("model", {"model": "claude-opus-4-5"}, None),
    ],
)
def test_a_changed_field_before_the_history_writes_all_of_it_again(part: str, fields: Json, differs: bytes | None):
    client = Client()
    client.send(asked(HISTORY[:5]))
    found = client.send(asked(HISTORY[:7], **fields))
    assert found is not None
    assert (found.part, found.tokens) == (part, 0)
    assert (found.byte is None) is (differs is None)
    assert client.sent[found.byte :].startswith(differs or b"")
    assert client.send(asked(HISTORY[:9], **fields)) is None, "from now on it is the prefix"


def test_a_dated_name_of_the_same_model_is_no_change():
    client = Client()
    client.send(asked(HISTORY[:5], model="claude-sonnet-4-5"))
    assert client.send(asked(HISTORY[:7], model="us.anthropic.claude-sonnet-4-5-20250929-v1:0")) is None


def test_a_changed_earlier_message_leaves_what_stands_before_it_in_the_cache():
    client = Client()
    client.send(asked(HISTORY))
    edited = [*HISTORY[:4], assistant("I have thought again."), *HISTORY[5:]]
    found = client.send(asked(edited))
    assert found is not None
    assert found.part == "message 4"
    window = client.conversations[0].window
    assert found.tokens == FIXED + sum(item.tokens for item in window.items[:4])
    assert found.byte is not None
    assert client.sent[found.byte :].startswith(json.dumps(edited[4], separators=(",", ":")).encode())
    assert client.send(asked([*edited, *rounds(1, first=50)])) is None


def test_a_changed_first_message_is_found_though_the_conversation_looks_new():
    client = Client()
    client.send(asked(HISTORY))
    found = client.send(asked([user("hello, it is Tuesday"), *HISTORY[1:]]))
    assert found is not None
    assert (found.part, found.tokens) == ("message 0", FIXED)
    assert client.send(asked([user("Name this session."), *rounds(1, first=40)])) is None, "another conversation"


@pytest.mark.parametrize(
    "later",
    [
        HISTORY[:5],  # the client went back
        HISTORY[:9],  # it sends the same again
        [*HISTORY[:8], user("and a reminder")],  # the newest message was dressed, and is no more
    ],
)
def test_a_shorter_or_repeated_request_is_no_change(later: list[Json]):
    client = Client()
    client.send(asked(HISTORY[:9]))
    assert client.send(asked(later)) is None


def test_a_side_request_between_two_of_the_main_work_takes_no_warm_prefix_away():
    """A summary asked with other tools, or over half of the history, leaves the main work's prefix in the cache."""
    client = Client()
    client.send(asked(HISTORY[:9]))
    assert client.send(asked([*HISTORY[:5], user("Sum it up.")], tools=[])) is not None
    assert client.send(asked(HISTORY)) is None


def test_after_a_pause_the_pause_is_the_reason_and_not_the_change():
    client = Client()
    client.send(asked(HISTORY[:5]))
    assert client.send(asked(HISTORY[:7], system="Be long."), after_ms=7 * MINUTE) is None
    assert client.send(asked(HISTORY[:9], system="Be brief."), after_ms=2 * MINUTE) is not None
    assert client.send(asked(HISTORY[:11], system="Be long."), after_ms=6 * MINUTE + 1) is None


def test_a_new_process_says_nothing_of_its_first_request():
    assert Client().send(asked(HISTORY)) is None


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "gemini"])
def test_every_form_names_its_own_fields(wire: str):
    form = form_of(wire)
    items: list[Json] = [{"role": "user", "content": f"words {n}"} for n in range(6)]
    if wire == "gemini":
        items = [{"role": "user", "parts": [{"text": f"words {n}"}]} for n in range(6)]
    client = Client(form)
    for name in form.CACHED:
        value = "cachedContents/1" if "ached" in name else [{"text": "a"}]
        client.send({form.HISTORY: items[:3]})
        found = client.send({form.HISTORY: items[:4], name: value})
        assert found is not None, name
        assert (found.part, found.tokens) == (name, 0)
        client = Client(form)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 11), st.integers(0, 10), st.sampled_from("ab"), st.booleans()), max_size=8))
def test_the_prefix_before_a_change_was_sent_by_an_earlier_request(turns: list[tuple[int, int, str, bool]]):
    """The plain rule: the longest prefix that one of the last six requests with the same fields had."""
    client = Client()
    before: list[tuple[list[Json], list[Json]]] = []
    for length, place, letter, has_tools in turns:
        messages = [*HISTORY[:length]]
        if 0 < place < length:
            messages[place] = {**messages[place], "content": [{"type": "text", "text": letter}]}
        tools = [BASH] if has_tools else []
        found = client.send(asked(messages, tools=tools))
        same = [old for old, fields in before[-6:] if fields == tools]
        if before and not same:
            assert found is not None
            assert found.part == "tools"
        elif found is not None:
            shared = [next((n for n, (a, b) in enumerate(zip(o, messages, strict=False)) if a != b), 99) for o in same]
            assert (
                found.part == f"message {max(min(s, len(o), len(messages)) for s, o in zip(shared, same, strict=True))}"
            )
        else:
            assert not before or any(
                o[: len(o) - 1] == messages[: len(o) - 1] or o[: len(messages)] == messages for o in same
            )
        before.append((messages, tools))
