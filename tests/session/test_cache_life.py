"""A prune that waits for a cold cache goes by what the traffic says of the cache's life, also after a restart."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, body, rounds, user
from tests.proxy.builders import PATHS, ask, gateway
from tests.proxy.test_managed import Provider
from tests.session.test_prune_moments import MINUTE, Client
from undrift import Session, Settings
from undrift.testing import RawUpstream, Result, history_for
from undrift.values.prepared import Prepared

CLAUDE, OTHER = "claude-sonnet-4-5", "some-model"  # five minutes by the table, and a day
LARGE = 7_600  # of a budget of 8,000


class Traffic(Client):
    """A client whose requests and answers say how long the cache keeps them."""

    def __init__(self, home: Path, model: str = CLAUDE, where: str = "", ttl: str = "", **settings: Any) -> None:
        super().__init__(home, **settings)
        self.model, self.where, self.ttl = model, where, ttl

    def ask(self, *, after_ms: int = 1_000) -> Prepared:
        self.now_ms += after_ms
        self.messages += rounds(1, first=len(self.messages))
        return self.said(self.messages, self.where, self.ttl)

    def said(self, messages: list[Json], where: str, ttl: str) -> Prepared:
        marker: Json = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
        fields: Json = {}
        sent = list(messages)
        if where == "message":
            sent[-1] = user({**sent[-1]["content"][0], **marker})
        elif where == "request":
            fields = marker
        elif where == "system":
            fields = {"system": [{"type": "text", "text": "Be brief.", **marker}]}
        prepared = self.session.prepare(body(*sent, model=self.model, **fields))
        if where == "usage":
            self.answer(ttl)
        return prepared

    def answer(self, ttl: str) -> None:
        written = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0, f"ephemeral_{ttl}_input_tokens": 9}
        self.session.record({"content": [], "usage": {"input_tokens": 1, "cache_creation": written}})

    def asked(self) -> list[Any]:
        found = [one for one in self.session.history() if one.kind == "asked"]
        return [(one.payload or {}).get("cache_seconds") for one in found]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("where", ["message", "request", "system", "usage"])
def test_an_hour_said_by_request_or_usage_is_an_hour(tmp_path: Path, where: str, restarts: bool):
    client = Traffic(tmp_path, CLAUDE, where, "1h")
    assert client.fill(LARGE).actions == ()
    for pause in (7, 59, 62):
        if restarts:
            client.restart()
        prepared = client.ask(after_ms=pause * MINUTE)
        assert bool(prepared.actions) is (pause > 60), f"{pause} minutes"
        assert not prepared.actions or client.moment(prepared) == "pause"


@pytest.mark.parametrize("restarts", [False, True])
def test_five_minutes_said_by_usage_are_five_minutes_whatever_the_table_says(tmp_path: Path, restarts: bool):
    client = Traffic(tmp_path, OTHER, "usage", "5m")
    assert client.fill(LARGE).actions == ()
    if restarts:
        client.restart()
    assert client.ask(after_ms=7 * MINUTE).actions


def test_a_request_alone_does_not_shorten_what_the_table_says(tmp_path: Path):
    """Providers that know no markers pass over them, and keep their caches for as long as they do."""
    client = Traffic(tmp_path, OTHER, "message", "5m")
    client.fill(LARGE)
    assert not client.ask(after_ms=7 * MINUTE).actions
    assert not client.ask(after_ms=62 * MINUTE).actions
    assert client.ask(after_ms=(24 * 60 + 2) * MINUTE).actions


def test_a_short_cache_of_another_conversation_ends_no_long_one(tmp_path: Path):
    client = Traffic(tmp_path, CLAUDE, "message", "1h")
    client.fill(LARGE)
    for pause in (1_000, 2 * MINUTE):
        client.now_ms += pause
        client.said([user("A title, please."), *rounds(1)], "message", "5m")
        client.answer("5m")
    assert not client.ask(after_ms=20 * MINUTE).actions
    assert client.ask(after_ms=62 * MINUTE).actions


def test_a_life_that_becomes_short_is_learned_with_the_next_time_that_is_written(tmp_path: Path):
    client = Traffic(tmp_path, CLAUDE, "usage", "1h")
    client.fill(LARGE - 400)
    client.ttl = "5m"
    client.ask(after_ms=2 * MINUTE)
    assert client.asked()[-1] == 300
    assert client.ask(after_ms=7 * MINUTE).actions


def test_steady_traffic_writes_no_more_than_the_times(tmp_path: Path):
    client = Traffic(tmp_path, CLAUDE, "usage", "1h")
    client.fill(LARGE - 3_000)
    assert client.asked() == [None, 3_600]
    for _ in range(20):
        client.ask(after_ms=15_000)
        client.said([user("A title, please."), *rounds(1)], "message", "5m")
    assert len(client.asked()) <= 2 * (20 * 15 // 60) + 3
    short = Traffic(tmp_path / "short", CLAUDE, "usage", "5m")
    short.fill(LARGE - 3_000)
    assert short.asked() == [None], "what the table says is no news"


def test_a_dearer_writing_raises_the_low_water_mark(tmp_path: Path):
    marks = {}
    for ttl in ("5m", "1h"):
        client = Traffic(tmp_path / ttl, CLAUDE, "message", ttl, prune_when="cheapest")
        prepared = client.fill(LARGE)
        while not prepared.actions:
            prepared = client.ask()
        decision = client.session.why(prepared.actions[0].ref)
        marks[ttl] = decision.detail["target_tokens"] if decision else 0
    assert marks["1h"] > marks["5m"]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_gateway_learns_the_life_and_another_process_goes_by_it(tmp_path: Path, streamed: bool):
    """The request says five minutes, which is all that a client writes by default; the usage says an hour."""
    given: dict[str, Any] = {"budget_tokens": 4_000, "keep_tool_results": 2, "token_counter": "characters/4"}
    settings, times = Settings(home=str(tmp_path), **given), [0]
    history = history_for("anthropic", model=CLAUDE, **({"stream": True} if streamed else {}))
    history.say("Fix the test.")
    provider = Provider("anthropic")

    def long(request: Any) -> Any:
        hour = request.body.replace(b'{"type":"ephemeral"}', b'{"type":"ephemeral","ttl":"1h"}')
        return provider(replace(request, body=hour))

    with RawUpstream(long) as upstream, gateway(tmp_path, upstream.url, settings) as server:
        headers = {"x-undrift-session": "s"}
        for _ in range(9):
            body_ = json.dumps(history.body(), separators=(",", ":")).encode()
            assert ask(server.url, PATHS["anthropic"], body_, headers=headers).status == 200
            history.take(provider.answers[-1])
            history.answer([Result("line of output, " * 100)])
    assert not provider.refused
    for minutes, is_pruned in ((20, False), (62, True)):
        with Session.open("s", home=tmp_path, settings=settings, clock=lambda: times[0]) as session:
            noted = [one for one in session.history() if one.kind == "asked"][-1]
            assert (noted.payload or {})["cache_seconds"] == 3_600
            times[0] = noted.at_ms + minutes * MINUTE
            assert bool(session.prepare(history.body()).actions) is is_pruned
