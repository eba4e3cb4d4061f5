"""Deferred tools that a search has loaded: what refers to them stays for as long as the request defers any."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, assistant, body, call, opened, result, rounds, sent, text, user
from tests.proxy.builders import PATHS, ask, gateway
from tests.proxy.test_managed import Provider, settings
from undrift.session.session import Session
from undrift.testing import AnthropicSimulator, Call, ModelTurn, RawUpstream, Refused, Result, history_for
from undrift.values.prepared import Prepared

PLAIN: Json = {"name": "Read", "input_schema": {"type": "object"}}
DEFERRED: Json = {"name": "mcp__notes__search", "input_schema": {"type": "object"}, "defer_loading": True}
SERVER: Json = {"type": "mcp_toolset", "mcp_server_name": "notes", "default_config": {"defer_loading": True}}
REFERENCES = [{"type": "tool_reference", "tool_name": "mcp__notes__search"}]


def searched() -> list[Json]:
    """The client's own search, and what it has found."""
    asked = {"type": "tool_use", "id": "t0", "name": "ToolSearch", "input": {"query": "select:mcp__notes__search"}}
    return [{"role": "assistant", "content": [asked]}, user(result("t0", REFERENCES))]


def searched_by_provider() -> list[Json]:
    """The provider's search: call and result stand in one answer."""
    asked = {"type": "server_tool_use", "id": "srvtoolu_0", "name": "tool_search_tool_regex", "input": {"query": "x"}}
    found = {"type": "tool_search_tool_search_result", "tool_references": REFERENCES}
    given = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_0", "content": found}
    return [{"role": "assistant", "content": [asked, given]}, user("go on")]


def pruned(session: Session, history: list[Json], **fields: Any) -> Prepared:
    """A request that is over its budget."""
    prepared = session.prepare(body(*history, **fields))
    assert prepared.actions
    assert not prepared.warnings
    assert prepared.tokens_after <= prepared.budget_tokens
    return prepared


def loads(prepared: Prepared) -> list[Json]:
    """The messages that name a deferred tool."""
    return [message for message in sent(prepared) if "tool_reference" in str(message)]


@pytest.mark.parametrize("search", [searched, searched_by_provider])
@pytest.mark.parametrize("tools", [[PLAIN, DEFERRED], [PLAIN, SERVER]], ids=["tool", "server"])
def test_what_loads_tools_stays_with_its_call_while_the_request_defers_them(
    tmp_path: Path, search: Callable[[], list[Json]], tools: list[Json]
):
    found = search()
    history = [user("hello"), *found, *rounds(30)]
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        prepared = pruned(session, history, tools=tools)
        assert sent(prepared)[1:3] == found
        later = pruned(session, [*history, *rounds(30, first=30)], tools=tools)
        assert sent(later)[1:3] == found


@pytest.mark.parametrize("search", [searched, searched_by_provider])
def test_it_leaves_like_anything_else_where_nothing_is_deferred(tmp_path: Path, search: Callable[[], list[Json]]):
    history = [user("hello"), *search(), *rounds(30)]
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        assert not loads(pruned(session, history, tools=[PLAIN]))


def test_what_had_left_comes_back_when_tools_are_deferred_also_after_a_restart(tmp_path: Path):
    """Stores hold such decisions from before this rule; a client may also defer tools from some request on."""
    history = [user("hello"), *searched(), *rounds(30)]
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        assert not loads(pruned(session, history, tools=[PLAIN]))
        assert sent(pruned(session, history, tools=[PLAIN, DEFERRED]))[1:3] == searched()
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        assert sent(pruned(session, history, tools=[PLAIN, DEFERRED]))[1:3] == searched()
        assert not loads(pruned(session, history, tools=[PLAIN]))


def test_the_results_of_the_same_answer_leave_without_it(tmp_path: Path):
    answer, results = searched()
    answer["content"].append({"type": "tool_use", "id": "r0", "name": "Read", "input": {"path": "a"}})
    results["content"].append(result("r0", "long " * 100))
    history = [user("hello"), answer, results, *rounds(30)]
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        assert sent(pruned(session, history, tools=[PLAIN, DEFERRED]))[1:3] == searched()


def test_of_two_searches_for_the_same_tools_the_first_stays(tmp_path: Path):
    """All calls of the tools stand after it, and the beginning of the window stays as it is."""
    again = [assistant({**call("t9"), "name": "ToolSearch"}), user(result("t9", REFERENCES))]
    history = [user("hello"), *searched(), *rounds(10), *again, *rounds(30, first=10)]
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        prepared = pruned(session, history, tools=[PLAIN, DEFERRED])
        assert sent(prepared)[1:3] == searched()
        assert loads(prepared) == searched()[1:]


def test_it_may_leave_when_the_tool_is_not_in_the_list_any_more(tmp_path: Path):
    history = [user("hello"), *searched(), *rounds(30)]
    other = {**DEFERRED, "name": "another"}
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        assert loads(pruned(session, history, tools=[PLAIN, DEFERRED]))
        more = [*history, *rounds(10, first=30)]
        assert not loads(pruned(session, more, tools=[PLAIN, other]))
        assert not loads(
            pruned(session, [*more, *rounds(1, first=40)], tools=[PLAIN, {**PLAIN, "name": DEFERRED["name"]}, other])
        )
        assert loads(pruned(session, [*more, *rounds(2, first=40)], tools=[PLAIN, DEFERRED]))


def test_a_session_of_bytes_that_is_opened_again_keeps_it_and_may_go_back_before_it(tmp_path: Path):
    history = [user("hello"), *searched(), *rounds(120)]

    def prepared(session: Session, messages: list[Json]) -> list[Json]:
        return sent(session.prepare(json.dumps(body(*messages, tools=[PLAIN, DEFERRED])).encode()))

    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        first = prepared(session, history)
        assert first[1:3] == searched()
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        assert prepared(session, history) == first
        assert prepared(session, [*history, *rounds(20, first=120)])[1:3] == searched()
        assert prepared(session, history[:5]) == history[:5], "a rewind to before the prune"
        assert prepared(session, [user("hello"), *rounds(60)])[1:3] != searched()


def test_a_finished_task_leaves_the_tools_that_it_has_loaded(tmp_path: Path):
    with opened(tmp_path, budget_tokens=100_000) as session:
        history = [user("hello")]
        session.start_task("t", content="Load tools")
        session.prepare(body(*history, tools=[PLAIN, DEFERRED]))
        history += [*searched(), *rounds(8)]
        session.prepare(body(*history, tools=[PLAIN, DEFERRED]))
        session.complete_task("t", result_summary="The tools were loaded and eight files were read.")
        history += [assistant(text("done")), user("go on"), *rounds(6, first=8)]
        prepared = session.prepare(body(*history, tools=[PLAIN, DEFERRED]))
        assert [action.kind for action in prepared.actions].count("evicted") >= 3
        assert sent(prepared)[1:3] == searched()


def test_a_search_that_found_nothing_is_an_ordinary_result(tmp_path: Path):
    answer, _ = searched()
    history = [user("hello"), answer, user(result("t0", "no matching tools")), *rounds(30)]
    with opened(tmp_path, budget_tokens=1_500, policy="recency") as session:
        assert "t0" not in str(sent(pruned(session, history, tools=[PLAIN, DEFERRED])))


def session_of(provider: Any, send: Callable[[Any], None], *, steps: int) -> None:
    """A client that loads a tool first, and then reads file after file."""
    history = history_for("anthropic", model="claude-opus-5-5", tools=[])
    history.fields["tools"] = [PLAIN, DEFERRED]
    history.say("Fix the test.")
    for number in range(steps):
        name = "ToolSearch" if not number else DEFERRED["name"] if number == 3 else "Read"
        provider.wanted = Call(name, {"path": f"f{number}.py"})
        send(history.body())
        history.take(provider.answers[-1])
        history.answer([Result(f"{number} line of output, " * 40)])
        if not number:
            history.items[-1]["content"][0]["content"] = REFERENCES


def test_a_gateway_session_keeps_its_tools_to_its_end(tmp_path: Path):
    provider = Provider("anthropic")
    edited = []
    with (
        RawUpstream(provider) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path, policy="recency")) as server,
    ):

        def send(request: Any) -> None:
            heard = ask(server.url, PATHS["anthropic"], request)
            assert heard.status == 200, heard.body
            assert "x-undrift-bypass" not in heard.headers
            edited.append(heard.headers["x-undrift-tokens-before"] != heard.headers["x-undrift-tokens-after"])

        session_of(provider, send, steps=25)
    assert not provider.refused
    assert edited.count(True) > 10


def test_the_simulator_refuses_a_request_whose_tools_are_gone():
    simulator = AnthropicSimulator()
    history = history_for("anthropic", model="claude-opus-5-5", tools=[])
    history.fields["tools"] = [PLAIN, DEFERRED]
    history.say("Fix the test.")
    for number in range(3):
        turn = ModelTurn(calls=(Call("Read" if number else "ToolSearch", {"path": "a"}),))
        history.take(simulator.send(history.body(), turn=turn).body)
        history.answer([Result("text")])
        if not number:
            history.items[-1]["content"][0]["content"] = REFERENCES
    without = {**history.body(), "messages": [history.items[0], *history.items[3:]]}
    with pytest.raises(Refused, match="nothing refers to any more: mcp__notes__search") as refused:
        simulator.send(without, turn=ModelTurn("Done."))
    assert refused.value.rule == "deferred tools"
    for tools in ([PLAIN], [PLAIN, {**PLAIN, "name": "mcp__notes__search"}, {**DEFERRED, "name": "other"}]):
        simulator.send({**without, "tools": tools}, turn=ModelTurn("Done."))
    begun = [history.items[0], {"role": "assistant", "content": "I begin."}, {"role": "user", "content": "Go."}]
    simulator.send({**without, "messages": begun}, turn=ModelTurn("Done."))
    simulator.send(history.body(), turn=ModelTurn("Done."))
