"""Without a chosen budget a change that the client makes itself is a free moment, as long as answers do not say otherwise."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, body, rounds, sent, user
from undrift import Session, Settings
from undrift.values.prepared import Prepared

BASH = {"name": "Bash", "input_schema": {"type": "object"}}
READ = {"name": "Read", "input_schema": {"type": "object"}}


class Agent:
    """A long session on a provider that reads all but the newest round from its cache."""

    def __init__(self, home: Path) -> None:
        self.home, self.now_ms = home, 1_000
        self.fields: Json = {"system": "Be brief.", "tools": [BASH], "model": "claude-opus-4-5"}
        self.messages: list[Json] = [user("hello"), *rounds(100, characters=2_000)]
        self.session = self.opened()

    def opened(self) -> Session:
        settings = Settings(token_counter="characters/4")
        return Session.open("s", home=self.home, settings=settings, clock=lambda: self.now_ms)

    def asks(self, *, read: float = 0.97, **fields: Any) -> Prepared:
        self.now_ms += 10_000
        self.fields |= fields
        self.messages += rounds(1, first=len(self.messages), characters=2_000)
        prepared = self.session.prepare(body(*self.messages, **self.fields))
        cached = int(read * prepared.tokens_after)
        usage = {"input_tokens": prepared.tokens_after - cached, "cache_read_input_tokens": cached}
        self.session.record({"content": [], "usage": usage})
        return prepared


@pytest.mark.parametrize(
    "change",
    [{"system": "Be long."}, {"tools": [BASH, READ]}, {"model": "claude-sonnet-4-5"}],
    ids=["system", "tools", "model"],
)
def test_text_leaves_with_the_client_s_own_change_and_at_no_other_turn(tmp_path: Path, change: Json):
    agent = Agent(tmp_path)
    for _ in range(3):
        assert agent.asks().actions == ()
    changed = agent.asks(read=0.0, **change)
    assert changed.tokens_after < 0.8 * changed.tokens_before
    for _ in range(3):
        assert agent.asks().actions == changed.actions


@pytest.mark.parametrize("behind", [2, 6, 20, 60])
def test_what_stands_before_a_changed_message_stays_as_it_was_sent(tmp_path: Path, behind: int):
    """Behind a late message too little may leave: then nothing does, as what stands before it is warm."""
    agent = Agent(tmp_path)
    for _ in range(3):
        agent.asks()
    place = next(n for n in reversed(range(len(agent.messages) - behind)) if agent.messages[n]["role"] == "user")
    tool_result = agent.messages[place]["content"][0]
    agent.messages[place] = user({**tool_result, "content": "[cleared]"})
    before = agent.messages[:place]
    changed = agent.asks(read=0.5)
    assert sent(changed)[:place] == before
    assert (changed.actions != ()) == (behind == 60)


def test_a_change_that_the_cache_survives_frees_nothing_a_second_time(tmp_path: Path):
    """As a header that the provider cuts out: the first such change costs nothing more than a prune, none follows."""
    agent = Agent(tmp_path)
    agent.messages = [user("hello"), *rounds(45, characters=1_000)]  # a short history is left alone
    agent.asks()
    agent.asks(read=0.95, system="Request 1")
    agent.messages += rounds(100, first=500, characters=2_000)
    for number in range(2, 5):
        if number == 3:
            agent.session.close()
            agent.session = agent.opened()
            agent.asks()
        assert agent.asks(system=f"Request {number}").actions == ()
