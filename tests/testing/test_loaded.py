"""A call of a deferred tool that nothing in the request loads is refused, and so is one whose tools have gone."""

from typing import Any

import pytest

from undrift.testing import Call, ClientHistory, ModelTurn, Refused, Result, Simulator, history_for, simulator_for

DEFERRED = ("notes_search", "notes_add")
WIRES = ("anthropic", "openai-responses")
Both = tuple[ClientHistory, Simulator]


def played(wire: str, *tools: str) -> Both:
    """A session that calls tools one after the other; the loader loads the first deferred tool."""
    model = "claude-opus-5-5" if wire == "anthropic" else "gpt-5.5"
    history = history_for(wire, model=model, deferred=DEFERRED)
    provider = simulator_for(wire, model=model)
    history.say("Fix it.")
    for tool in tools:
        name = history.loader if tool == "load" else tool
        history.take(provider.send(history.body(), turn=ModelTurn(calls=(Call(name, {"path": "a"}),))).body)
        history.load(DEFERRED[:1]) if tool == "load" else history.answer([Result("text")])
    return history, provider


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_of_a_deferred_tool_needs_what_loads_it(wire: str):
    history, provider = played(wire, "load", "notes_search", "Read")
    assert history.loaded == DEFERRED[:1]
    provider.send(history.body(), turn=ModelTurn("Done."))
    history, provider = played(wire, "notes_add")
    with pytest.raises(Refused, match="notes_add is deferred, and nothing in the request refers to it") as refused:
        provider.send(history.body(), turn=ModelTurn("Done."))
    assert refused.value.rule == "deferred tools"
    history.deferred = ()
    history.tools = ("Read", *DEFERRED)
    provider.send(history.body(), turn=ModelTurn("Done."))


@pytest.mark.parametrize("wire", WIRES)
def test_what_the_model_saw_at_a_call_stays_as_long_as_it_is_deferred(wire: str):
    history, provider = played(wire, "load", "Read")
    del history.items[1:3]
    with pytest.raises(Refused, match="nothing refers to any more: notes_search"):
        provider.send(history.body(), turn=ModelTurn("Done."))
    history.deferred = ()
    provider.send(history.body(), turn=ModelTurn("Done."))


def test_a_reference_needs_its_tool_or_a_server_that_may_have_it():
    history, provider = played("anthropic", "load")
    history.deferred = DEFERRED[1:]
    with pytest.raises(Refused, match="Tool reference 'notes_search' has no corresponding tool definition"):
        provider.send(history.body(), turn=ModelTurn("Done."))
    server = {"type": "mcp_toolset", "mcp_server_name": "n", "default_config": {"defer_loading": True}}
    body = history.body()
    provider.send({**body, "tools": [*body["tools"], server]}, turn=ModelTurn("Done."))


def test_of_responses_a_group_and_the_tools_of_an_item_count_and_the_providers_own_search_too():
    history, provider = played("openai-responses")
    inner = {"type": "function", "name": "recall", "defer_loading": True}
    group = {"type": "namespace", "name": "mcp__undrift", "tools": [inner]}
    call = {"type": "function_call", "call_id": "c", "name": "recall", "namespace": "mcp__undrift", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "text"}
    found = {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": [group]}

    def sent(*items: dict[str, Any], tools: list[Any]) -> Any:
        body = {"model": "gpt-5.5", "input": [*history.items, *items], "tools": tools}
        return provider.send(body, turn=ModelTurn("Done."))

    with pytest.raises(Refused, match=r"mcp__undrift.recall is deferred"):
        sent(call, output, tools=[group, {"type": "tool_search"}])
    sent(found, call, output, tools=[group, {"type": "tool_search"}])
    shown = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{**group, "tools": [{**inner, "defer_loading": False}]}],
    }
    sent(shown, call, output, tools=[{"type": "tool_search", "execution": "client"}])
