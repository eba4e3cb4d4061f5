"""Session.prepare and the moment of a prune: pauses, beginnings that are left alone, and a restart that decides alike."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, body, rounds, sent, user
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.values.prepared import Prepared

MINUTE = 60_000
BUDGET = 8_000


class Client:
    """Sends a growing history; the clock is ours."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home = home
        self.settings = Settings(budget_tokens=BUDGET, token_counter="characters/4", **settings)
        self.now_ms = 1_000
        self.messages: list[Json] = [user("hello")]
        self.session = self.opened()

    def opened(self) -> Session:
        return Session.open("s", home=self.home, settings=self.settings, clock=lambda: self.now_ms)

    def restart(self) -> None:
        self.session.close()
        self.session = self.opened()

    def ask(self, *, after_ms: int = 1_000) -> Prepared:
        self.now_ms += after_ms
        self.messages += rounds(1, first=len(self.messages))
        return self.session.prepare(body(*self.messages))

    def fill(self, tokens: int, **given: Any) -> Prepared:
        """Go on until the window is so large."""
        prepared = self.ask(**given)
        while prepared.tokens_after < tokens:
            prepared = self.ask(**given)
        return prepared

    def moment(self, prepared: Prepared) -> Any:
        decision = self.session.why(prepared.actions[-1].ref)
        return decision and decision.detail["moment"]


@pytest.mark.parametrize("restarts", [False, True])
def test_after_a_pause_a_window_below_its_budget_is_pruned_also_by_a_session_that_was_restarted(
    tmp_path: Path, restarts: bool
):
    client = Client(tmp_path)
    assert client.fill(7_600).actions == ()
    if restarts:
        client.restart()
    prepared = client.ask(after_ms=7 * MINUTE)
    assert prepared.actions
    assert client.moment(prepared) == "pause"
    assert prepared.tokens_after < 6_600
    later = client.ask()
    assert sent(later)[: len(sent(prepared))] == sent(prepared), "what was decided holds"
    client.restart()
    assert client.session.prepare(body(*client.messages)).body == later.body


@pytest.mark.parametrize(
    ("tokens", "pause", "settings"),
    [
        (7_600, 5 * MINUTE, {}),  # the time of a request is known to a minute: the cache might still be warm
        (5_000, 60 * MINUTE, {}),  # nearly nothing would be freed
        (7_600, 60 * MINUTE, {"prune_when": "over_budget"}),
        (7_600, 60 * MINUTE, {"policy": "recency"}),
    ],
)
def test_a_pause_changes_nothing_where_rewriting_costs_or_is_not_wanted(
    tmp_path: Path, tokens: int, pause: int, settings: dict[str, Any]
):
    client = Client(tmp_path, **settings)
    client.fill(tokens)
    assert client.ask(after_ms=pause).actions == ()


def test_a_pause_does_not_rewrite_an_earlier_request_that_is_sent_again(tmp_path: Path):
    client = Client(tmp_path)
    prepared = client.fill(7_600)
    given = list(client.messages)
    while not client.ask().actions:
        pass
    client.now_ms += 60 * MINUTE
    assert client.session.prepare(body(*given)).body == prepared.body


def test_a_client_that_compacts_after_a_prune_has_pauses_in_its_new_history_too(tmp_path: Path):
    client = Client(tmp_path)
    client.fill(7_600)
    assert client.ask(after_ms=7 * MINUTE).actions
    for number in range(2):
        client.messages = [user(f"This session is being continued. Summary {number}.")]
        assert client.fill(7_600).actions == ()
        assert client.moment(client.ask(after_ms=7 * MINUTE)) == "pause"


def test_later_prunes_leave_the_beginning_as_it_was_sent_and_then_it_has_its_turn(tmp_path: Path):
    client = Client(tmp_path, prune_when="cheapest")
    before, kept = client.ask(), []
    for _ in range(400):
        prepared = client.ask()
        if prepared.actions != before.actions:
            assert client.moment(prepared) == "budget"
            same = 0
            for one, other in zip(sent(before), sent(prepared), strict=False):
                if one != other:
                    break
                same += 1
            kept.append(same)
        before = prepared
        assert prepared.tokens_after <= BUDGET
    assert [same > 5 for same in kept[:5]] == [False, True, True, True, False]
    client.restart()
    assert client.session.prepare(body(*client.messages)).body == before.body


def test_a_restart_before_each_request_makes_the_same_windows(tmp_path: Path):
    one, other = (Client(tmp_path / name, prune_when="cheapest") for name in ("one", "other"))
    for number in range(150):
        other.restart()
        pause = 10 * MINUTE if number % 40 == 39 else 20_000
        assert one.ask(after_ms=pause).body == other.ask(after_ms=pause).body


def test_times_are_written_at_most_once_a_minute_and_only_of_large_windows(tmp_path: Path):
    client = Client(tmp_path)
    client.fill(BUDGET // 2 - 500)
    assert not [one for one in client.session.history() if one.kind == "asked"]
    client.fill(BUDGET - 2_000)
    asked = [one.at_ms for one in client.session.history() if one.kind == "asked"]
    assert len(asked) == 1
    for _ in range(10):
        client.ask(after_ms=30_000)
    asked = [one.at_ms for one in client.session.history() if one.kind == "asked"]
    assert len(asked) == 6
    assert all(later - earlier >= MINUTE for earlier, later in pairwise(asked))
