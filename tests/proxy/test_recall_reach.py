"""A command stands in the window only where the agent can carry it out; what once stood there stays as it was."""

import json
from typing import Any

import pytest

from tests.proxy.builders import MODELS, PATHS, ask, gateway
from tests.proxy.test_managed import Provider, settings
from undrift.core.window.calling_back import STAYS_ANSWERS
from undrift.stores.sqlite import SqliteStore
from undrift.testing import Call, RawUpstream, Result, history_for
from undrift.wire.forms import form_of

COMMAND = b"undrift recall"
LEFT = b" lines stay"
TOOLS: dict[str, Any] = {
    "anthropic": [{"name": "mcp__undrift__recall", "input_schema": {"type": "object"}}],
    "openai-chat": [{"type": "function", "function": {"name": "undrift_recall", "parameters": {"type": "object"}}}],
    "openai-responses": [{"type": "function", "name": "undrift__recall", "parameters": {"type": "object"}}],
    "gemini": [{"functionDeclarations": [{"name": "undrift_recall", "parameters": {"type": "OBJECT"}}]}],
}


def output(number: int) -> str:
    noise = [f"nothing to see here {number} {n} of it" for n in range(30)]
    return "\n".join([*noise, *(f"src/module_{100 * number + n}.py" for n in range(6)), *noise])


class Client:
    """An agent's history in one form, resent whole on every turn."""

    def __init__(self, wire: str, provider: Provider) -> None:
        self.wire, self.provider = wire, provider
        self.history = history_for(wire, model=MODELS[wire])
        self.history.say("Fix the test.")
        self.calls = 0

    def goes_on(self, url: str, turns: int, *, tools: Any = None) -> None:
        for _ in range(turns):
            more = {} if tools is None else {"tools": tools}
            assert ask(url, PATHS[self.wire], {**self.history.body(), **more}).status == 200
            self.history.take(self.provider.answers[-1])
            self.calls += 1
            if self.history.open:
                self.history.answer([Result(output(self.calls))])


def items(wire: str, sent: bytes) -> list[bytes]:
    return [json.dumps(one).encode() for one in json.loads(sent)[form_of(wire).HISTORY]]


@pytest.mark.parametrize("wire", PATHS)
def test_the_command_is_named_where_the_tool_is_offered_and_nowhere_else(wire: str, tmp_path):
    for name, tools, reachable in (("none", None, False), ("tool", TOOLS[wire], False), ("installed", None, True)):
        provider = Provider(wire)
        given = settings(tmp_path / name, budget_tokens=1_400, prune_target_ratio=0.9)
        with (
            RawUpstream(provider) as upstream,
            gateway(tmp_path, upstream.url, given, recall_reachable=reachable) as server,
        ):
            Client(wire, provider).goes_on(server.url, 12, tools=tools)
        assert provider.refused == []
        sent = b"".join(request.body for request in upstream.requests)
        assert LEFT in sent
        assert (COMMAND in sent) is (name != "none"), name


@pytest.mark.parametrize(
    "announced",
    [
        "<system-reminder>\nThe following deferred tools are now available via ToolSearch.\nWebFetch\nmcp__undrift__recall\n",
        "<tools>\nDeferred tool namespaces:\n- mcp__undrift: Task first.\n</tools>",
    ],
)
def test_a_tool_that_the_client_announces_is_offered_also_after_a_restart(announced: str, tmp_path):
    wire = "anthropic"
    provider, given = Provider(wire), settings(tmp_path, budget_tokens=1_400, prune_target_ratio=0.9)
    client = Client(wire, provider)
    client.history.say(announced)
    with RawUpstream(provider) as upstream:
        with gateway(tmp_path, upstream.url, given) as server:
            client.goes_on(server.url, 3)
        with gateway(tmp_path, upstream.url, given) as server:
            client.goes_on(server.url, 9)
    assert LEFT not in b"".join(request.body for request in upstream.requests[:3])
    assert COMMAND in b"".join(request.body for request in upstream.requests[3:])
    assert provider.refused == []


def test_what_was_said_stays_when_the_tool_comes_and_after_a_restart(tmp_path):
    wire = "anthropic"
    provider, given = Provider(wire), settings(tmp_path, budget_tokens=1_700, prune_target_ratio=0.8)
    client = Client(wire, provider)
    with RawUpstream(provider) as upstream:
        with gateway(tmp_path, upstream.url, given) as server:
            client.goes_on(server.url, 5)
            before = client.history.body()
            ask(server.url, PATHS[wire], before)
            ask(server.url, PATHS[wire], {**before, "tools": TOOLS[wire]})
        with gateway(tmp_path, upstream.url, given) as server:
            ask(server.url, PATHS[wire], {**before, "tools": TOOLS[wire]})
        *_, first, second, third = [items(wire, request.body) for request in upstream.requests]
        assert LEFT in b"".join(first)
        assert first == second == third
        assert COMMAND not in b"".join(third)
        with gateway(tmp_path, upstream.url, given) as server:
            client.history.take(provider.answers[-1])
            client.history.answer([Result(output(90))])
            client.goes_on(server.url, 5, tools=TOOLS[wire])
            with_tool = items(wire, upstream.requests[-1].body)
            assert COMMAND in b"".join(with_tool)
            ask(server.url, PATHS[wire], client.history.body())  # the tool has gone: no word of what was sent changes
            ask(server.url, PATHS[wire], {**client.history.body(), "tools": TOOLS[wire]})
        without, again = (items(wire, request.body) for request in upstream.requests[-2:])
        assert without == again


@pytest.mark.parametrize("wire", PATHS)
def test_what_was_called_back_is_not_evicted_again_for_several_answers(wire: str, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.proxy.test_managed.TURNS", 40)
    provider = Provider(wire)
    client, given = Client(wire, provider), settings(tmp_path)
    with RawUpstream(provider) as upstream, gateway(tmp_path, upstream.url, given) as server:
        client.goes_on(server.url, 10, tools=TOOLS[wire])
        with SqliteStore.open(tmp_path, create=False) as store:
            (row,) = store.sessions()
            ref = next(
                d.ref for d in store.decided(row.session_id) if "see here" in store.original(d.ref).entry.content
            )
            original = store.original(ref).entry.content
        provider.wanted = Call("mcp__undrift__recall", {"ref": ref})
        ask(server.url, PATHS[wire], {**client.history.body(), "tools": TOOLS[wire]})
        client.history.take(provider.answers[-1])
        client.history.answer([Result(original)])
        start = len(upstream.requests)
        client.goes_on(server.url, STAYS_ANSWERS + 20, tools=TOOLS[wire])
    assert provider.refused == []
    whole = json.dumps(original)[1:-1].encode()
    stands = [whole in request.body for request in upstream.requests[start:]]
    assert all(stands[:STAYS_ANSWERS])
    assert not stands[-1]  # in the end it is worth what everything is worth
