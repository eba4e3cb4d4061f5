"""The gateway's log says one time in a session that its fixed budget costs more than sending everything, from usage alone."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway
from tests.proxy.test_fail_open import body
from undrift import Settings
from undrift.testing import Say, ScriptedProvider

HOUR = {"type": "ephemeral", "ttl": "1h"}


def asked(rounds: int, words: str = "Fix it.") -> dict[str, Any]:
    """A growing history; its newest part is cached for an hour."""
    found = body(words, rounds) | {"system": "Be brief. " * 3_000}  # a shorter prompt is never cached
    newest = found["messages"][-1]
    if rounds:
        newest["content"][-1]["cache_control"] = HOUR
    return found


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(11_000, ["here: your cache lives an hour"]), (200_000, []), ("auto", [])],
    ids=["dearer", "never-reached", "auto"],
)
def test_the_log_says_it_once(budget: Any, expected: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "undrift.proxy")
    settings = Settings(home=str(tmp_path), budget_tokens=budget, token_counter="characters/4", keep_tool_results=1)
    clock = iter(range(1_800_000_000_000, 1_900_000_000_000, 10_000))
    script = [Say("Done.") for _ in range(24)]
    with (
        ScriptedProvider(script, clock=lambda: next(clock)) as provider,
        gateway(tmp_path, provider.url, settings) as server,
    ):
        for rounds in range(1, 21):
            assert ask(server.url, body=asked(rounds)).status == 200
    lines = [one for one in map(json.loads, caplog.messages) if one["event"] == "budget-price"]
    assert [one["said"].partition("x ")[2] for one in lines] == expected
    for one in lines:
        assert one["said"].startswith("11,000 costs 1.")
        assert one["session"]
