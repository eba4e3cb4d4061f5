"""The same session by a provider that bills like the prompt cache, without and through the gateway, by one clock for both.

The long form, with the real Claude Code, is ``make billing``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway
from undrift import Settings
from undrift.testing import Bill, PriceList, Read, Result, Say, ScriptedProvider, history_for

MODEL = "claude-opus-4-8"
PRICES = PriceList(input_usd_per_million=5)
PAUSES_MINUTES = (4, 6, 61)
COMPACTIONS = 1
STEPS_A_MESSAGE = 8


class Clock:
    """It stands until it is moved."""

    def __init__(self) -> None:
        self.now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


@contextmanager
def direct(url: str) -> Iterator[str]:
    yield url


def timed(value: Any, ttl: str) -> Any:
    """Let all markers of a body ask for one life."""
    if isinstance(value, list):
        return [timed(child, ttl) for child in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {**child, "ttl": ttl} if name == "cache_control" else timed(child, ttl) for name, child in value.items()
    }


def played(home: Path, ttl: str, settings: Settings | None, *, is_managed: bool) -> Bill:
    """Play a session with pauses, in which the client starts from a summary now and then; return its bill."""
    clock, number = Clock(), 0
    with ScriptedProvider(clock=clock) as provider:
        way = gateway(home, provider.url, settings, clock=clock) if is_managed else direct(provider.url)
        with way as found:
            url = found if isinstance(found, str) else found.base_urls["anthropic"]
            for part in range(1 + COMPACTIONS):
                history = history_for("anthropic", model=MODEL, metadata={"user_id": "user_a_session_1f0c"})
                for minutes in (0, *PAUSES_MINUTES):
                    clock.now_ms += minutes * 60_000
                    history.say(f"Part {part}: read on." if part == 0 else f"A summary of part {part}. Read on.")
                    provider.say(*[Read(f"/file_{step}.py") for step in range(STEPS_A_MESSAGE)], Say("That is all."))
                    for _ in range(STEPS_A_MESSAGE + 1):
                        heard = ask(url, body=timed(history.body(), ttl))
                        assert heard.status == 200
                        clock.now_ms += 5_000
                        history.take(heard.json)
                        if history.open:
                            number += 1
                            history.answer([Result(f"def part_{number}(): return {number}\n" * 200)])
                    assert "That is all." in str(history.items[-1])
        assert [seen.refused for seen in provider.requests if seen.refused] == []
        return provider.bill


@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_without_a_chosen_budget_the_gateway_costs_no_more(ttl: str, tmp_path: Path):
    without = PRICES.cost(played(tmp_path / "without", ttl, None, is_managed=False))
    through = PRICES.cost(played(tmp_path / "through", ttl, None, is_managed=True))
    assert through <= without
    if ttl == "5m":  # which an hour's pause surely ends; that of an hour may just live
        assert through < without


def test_a_small_fixed_budget_costs_more_where_the_cache_lives_an_hour(tmp_path: Path):
    """The measure can fail."""
    home = tmp_path / "through"
    fixed = Settings(home=str(home), token_counter="characters/4", budget_tokens=5_000)
    without = PRICES.cost(played(tmp_path / "without", "1h", None, is_managed=False))
    assert PRICES.cost(played(home, "1h", fixed, is_managed=True)) > without
