"""OpenAI Responses: the definitions that a search has loaded stay as long as the request can load tools."""

from pathlib import Path
from typing import Any

from tests.builders import opened
from tests.wire.openai_responses_items import WIRE, Json, call, output, user
from undrift.session.session import Session
from undrift.values.prepared import Prepared

SEARCH: Json = {"type": "tool_search", "execution": "client"}
EXEC: Json = {"type": "function", "name": "exec"}
RECALL: Json = {"type": "namespace", "name": "mcp__undrift", "tools": [{"type": "function", "name": "recall"}]}


def searched(id_: str = "s", *tools: Json) -> list[Json]:
    asked = {"type": "tool_search_call", "call_id": id_, "execution": "client", "arguments": {"query": "recall"}}
    given = {"type": "tool_search_output", "call_id": id_, "execution": "client", "tools": list(tools or [RECALL])}
    return [asked, given]


def rounds(count: int, first: int = 0) -> list[Json]:
    numbers = range(first, first + count)
    return [item for n in numbers for item in (call(f"c{n}"), output(f"c{n}", f"answer {n}: ".ljust(400, "x")))]


def prepared(session: Session, items: list[Json], tools: list[Json]) -> list[Json]:
    body = {"model": "gpt-5.5", "input": items, "tools": tools}
    found: Prepared = session.prepare(body, wire=WIRE)
    assert found.actions
    assert not found.warnings
    sent: list[Json] = found.body["input"]
    return sent


def session_in(home: Path) -> Any:
    return opened(home, budget_tokens=1_500, policy="recency")


def test_they_stay_with_their_call_and_may_leave_when_nothing_can_be_loaded(tmp_path: Path):
    history = [user("hello"), *searched(), call("r", name="recall", namespace="mcp__undrift"), output("r"), *rounds(30)]
    with session_in(tmp_path) as session:
        assert prepared(session, history, [EXEC, SEARCH])[1:3] == searched()
        assert prepared(session, [*history, *rounds(20, 30)], [EXEC, SEARCH])[1:3] == searched()
        assert searched()[1] not in prepared(session, [*history, *rounds(30, 30)], [EXEC])


def test_another_definition_of_the_same_tool_stays_too_and_the_same_one_need_not(tmp_path: Path):
    newer = {**RECALL, "tools": [{"type": "function", "name": "recall", "description": "Newer."}]}
    again = [*rounds(8), *searched("same"), *rounds(8, 8), *searched("new", newer), *rounds(30, 16)]
    with session_in(tmp_path) as session:
        sent = prepared(session, [user("hello"), *searched(), *again], [EXEC, SEARCH])
    assert [item["call_id"] for item in sent if item["type"] == "tool_search_output"] == ["s", "new"]


def test_tools_that_an_item_adds_never_leave(tmp_path: Path):
    added = {"type": "additional_tools", "role": "developer", "tools": [RECALL, EXEC]}
    with session_in(tmp_path) as session:
        sent = prepared(session, [added, user("hello"), *rounds(10), added, *rounds(30, 10)], [])
    assert sent.count(added) == 2
