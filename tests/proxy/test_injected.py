"""What is put into the window besides stands at its tail, in every form, and changes nothing that was sent; else it stands nowhere."""

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.proxy.builders import MODELS, PATHS, ask, gateway
from tests.proxy.test_managed import Provider
from undrift import Session, Settings
from undrift.testing import RawUpstream, Result, history_for
from undrift.wire.forms import form_of

NAMED = {"x-undrift-session": "run-42"}
NOTES = "The port is 8443."
FACT = "The build server of the login service is called heron."
SUMMARY = "Read login.py: the session cookie was never renewed; renewed it in refresh(), 14 tests pass."
FIELDS: dict[str, dict[str, Any]] = {
    "anthropic": {"thinking": {"type": "adaptive"}},
    "openai-responses": {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]},
}


def settings(home: Any, **more: Any) -> Settings:
    given = {"budget_tokens": 100_000, "keep_tool_results": 1, **more}
    return Settings(home=str(home), token_counter="characters/4", embedder="none", **given)


def digests(wire: str, sent: bytes) -> list[bytes]:
    form = form_of(wire)
    return [form.digest(item) for item in json.loads(sent)[form.HISTORY]]


class Agent:
    """An unchanged agent: it resends its own history and knows nothing of what is added."""

    def __init__(self, wire: str, home: Any, client: str = "") -> None:
        self.wire, self.home = wire, home
        self.headers = {**NAMED, **({"user-agent": client} if client else {})}
        self.provider = Provider(wire, thinking="I weigh it.")
        self.history = history_for(wire, model=MODELS[wire], **FIELDS.get(wire, {}))
        self.history.say("What is the build server of the login service?")
        self.own: list[list[bytes]] = []

    def turn(self, url: str, words: str = "") -> None:
        sent = self.history.body()
        self.own.append(digests(self.wire, json.dumps(sent).encode()))
        heard = ask(url, PATHS[self.wire], sent, headers=self.headers)
        assert (heard.status, heard.headers.get("x-undrift-bypass")) == (200, None)
        self.history.take(self.provider.answers[-1])
        self.history.answer([Result(f"{words or 'output'} of the tool")])

    def session(self) -> Session:
        return Session.open("run-42", home=self.home, settings=settings(self.home))


def new_items(wire: str, before: bytes, after: bytes) -> str:
    """The items of a request behind those of the one before, which stand in it unchanged."""
    known, now = digests(wire, before), digests(wire, after)
    assert now[: len(known)] == known
    return json.dumps(json.loads(after)[form_of(wire).HISTORY][len(known) :])


@pytest.mark.parametrize("wire", PATHS)
def test_notes_and_memory_stand_at_the_tail_and_stay_there(wire: str, tmp_path):
    agent = Agent(wire, tmp_path)
    with agent.session() as session:
        session.remember(FACT, trust="user")
    more = {"memory_tokens": 200}
    with RawUpstream(agent.provider) as upstream:
        with gateway(tmp_path, upstream.url, settings(tmp_path, **more)) as server:
            agent.turn(server.url)
            agent.turn(server.url)
            with agent.session() as session:
                session.scratchpad.write(NOTES)
            agent.turn(server.url)
        with gateway(tmp_path, upstream.url, settings(tmp_path, **more)) as server:
            agent.turn(server.url)
            with agent.session() as session:
                session.scratchpad.append("And the host is heron-2.")
            agent.turn(server.url)
    bodies = [request.body for request in upstream.requests]
    assert agent.provider.refused == []
    assert "heron" in new_items(wire, b'{"%s": []}' % form_of(wire).HISTORY.encode(), bodies[0])
    second, third, fourth, fifth = (new_items(wire, *two) for two in pairwise(bodies))
    assert "heron" not in second  # the user has said nothing new
    assert NOTES in third
    assert NOTES not in second + fourth
    assert "heron-2" in fifth
    changed = [a != b for a, b in zip(digests(wire, bodies[1]), agent.own[1], strict=True)]
    assert sum(changed) == 1  # where nothing was to be said, the client's own items


@pytest.mark.parametrize("wire", PATHS)
def test_a_finished_task_gives_way_to_its_summary_and_the_list_stands_at_the_tail(wire: str, tmp_path):
    agent = Agent(wire, tmp_path)
    given = settings(tmp_path, tombstone_share=0.0001, bound_thinking="drop_block")
    with RawUpstream(agent.provider) as upstream, gateway(tmp_path, upstream.url, given) as server:
        agent.turn(server.url)
        with agent.session() as session:
            session.change_tasks([{"id": "fix-login", "content": "Fix the login", "status": "in_progress"}])
        for _ in range(3):
            agent.turn(server.url, "def login(): return cookie # " * 100)
        with agent.session() as session:
            session.change_tasks([{"id": "fix-login", "status": "completed", "result_summary": SUMMARY}])
        for _ in range(3):
            agent.turn(server.url)
    bodies = [request.body for request in upstream.requests]
    assert agent.provider.refused == []
    assert b"never renewed" in bodies[-1]
    assert bodies[-1].count(b"def login()") < bodies[-3].count(b"def login()") + 1
    assert len(bodies[-1]) < len(json.dumps(agent.history.body()))


@pytest.mark.parametrize("wire", PATHS)
def test_without_settings_and_notes_nothing_is_added(wire: str, tmp_path):
    agent = Agent(wire, tmp_path)
    with agent.session() as session:
        session.remember(FACT, trust="user")
    given = settings(tmp_path)
    with RawUpstream(agent.provider) as upstream, gateway(tmp_path, upstream.url, given) as server:
        for _ in range(3):
            agent.turn(server.url)
    for request, own in zip(upstream.requests, agent.own, strict=True):
        assert digests(wire, request.body) == own
        assert b"heron" not in request.body


@pytest.mark.parametrize("wire", PATHS)
def test_a_request_for_a_title_gets_nothing_of_it(wire: str, tmp_path):
    agent = Agent(wire, tmp_path)
    with agent.session() as session:
        session.remember(FACT, trust="user")
    title = history_for(wire, model=MODELS[wire])
    title.say("Name the session: What is the build server of the login service?")
    asked = {name: value for name, value in title.body().items() if name != "tools"}
    given = settings(tmp_path, memory_tokens=200)
    with RawUpstream(agent.provider) as upstream, gateway(tmp_path, upstream.url, given) as server:
        agent.turn(server.url)
        ask(server.url, PATHS[wire], asked, headers=NAMED)
        agent.turn(server.url)
    first, aside, second = (request.body for request in upstream.requests)
    assert aside == json.dumps(asked).encode()
    assert b"heron" in first
    assert digests(wire, second)[: len(digests(wire, first))] == digests(wire, first)
