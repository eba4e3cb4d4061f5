"""The demo session sent turn by turn through the engine, with the figures of each turn: what the drawings show."""

import hashlib
import math
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from undrift import Session, Settings, token_count
from undrift.core.cost import PromptCost
from undrift.recordings.files import open_recording
from undrift.recordings.replay.history import history_of
from undrift.recordings.replay.sending import Sender, market_of
from undrift.recordings.replay.texts import ReplayTexts
from undrift.settings.model_table import lookup
from website.stage import ROOT

__all__ = ["BUDGET_TOKENS", "DEMO", "Turn", "session_run"]

DEMO = ROOT / "examples" / "demo-session.jsonl"
BUDGET_TOKENS = 60_000
"""That of `make demo`."""
SETTINGS = Settings(budget_tokens=BUDGET_TOKENS)
_ID = f"replay-{hashlib.sha256(DEMO.name.encode()).hexdigest()[:16]}"
"""The session's id in `undrift replay`: a reference in a tombstone is as long as there, so the tokens are the same."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt of the session: as the client sent it, and as it was sent on.

    Args:
        cached: The tokens of the managed prompt that the provider reads from its cache.
        removed: The blocks that left or were shortened on this turn.
        parts: The tokens by kind, before and after.
    """

    tokens_before: int
    tokens_after: int
    cached: int
    removed: int
    parts: tuple[Mapping[str, int], Mapping[str, int]]


@cache
def session_run() -> tuple[Turn, ...]:
    """Send the session at the budget of `make demo`, by the clock of the recording."""
    recording = open_recording(DEMO)
    history, model = history_of(recording), lookup(recording.model)

    def count(text: str) -> int:
        return math.ceil(token_count(text) * model.token_factor)

    texts, market = ReplayTexts(history, count), market_of(model, None, count)
    cost, now_ms, turns = PromptCost(market.prices, market.cache_seconds * 1_000), 0, list[Turn]()
    with (
        tempfile.TemporaryDirectory() as home,
        Session.open(_ID, home=home, settings=SETTINGS, clock=lambda: now_ms, keeps_notes=False) as session,
    ):
        sender, known = Sender(session, recording.model, history, texts, None), 0
        for number in history.turns:
            now_ms = history.entries[number][0].timestamp
            prepared = sender.prepare(number)
            cost.add(sender.window, at_ms=now_ms)
            cached, known = cost.cached_tokens - known, cost.cached_tokens
            sender.answer(cached)
            parts = (_parts(history.messages[:number], count), _parts(prepared.body["messages"], count))
            turns.append(Turn(prepared.tokens_before, prepared.tokens_after, cached, len(prepared.new), parts))
    return tuple(turns)


def _parts(messages: Sequence[Mapping[str, Any]], count: Any) -> Mapping[str, int]:
    """Return the tokens of each kind of block."""
    found = Counter[str]()
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                kind = "your words" if message["role"] == "user" else "the agent's words"
                found[kind] += count(block["text"])
            elif block["type"] == "tool_use":
                found["calls of tools"] += count(str(block["input"]))
            elif block["type"] == "tool_result":
                found["results of tools"] += count(str(block.get("content", "")))
    return found
