"""The view of one session: a bar a turn, and the marks of what happened to its window.

Law: every bar is a prompt that the provider reported. A mark stands at the first turn after what it marks.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from undrift.core.guard import SURE_S
from undrift.values.clock import now_ms
from undrift.values.usage import PromptUsage
from undrift.web.causes import priced_prompts
from undrift.web.left import left_rows
from undrift.web.now import session_json
from undrift.web.source import PageSource
from undrift.web.tasks import task_marks
from undrift.web.watching import WatchedSession

__all__ = ["session"]

_PAUSE_S = 300


def session(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a session's turns and marks. `query`: ``key``."""
    one = source.session(query.get("key", ""))
    prompts = one.figures.prompts
    left = left_rows(source, one)
    return {
        "session": session_json(source, one, now_ms(), source.open_here()),
        "turns": [_turn(number, *priced) for number, priced in enumerate(priced_prompts(one, source.models), 1)],
        "marks": [*_compactions(one), *_pauses(prompts), *_prunes(left, prompts), *task_marks(source, one)],
        "left_tokens": sum(row["tokens_saved"] for row in left),
        "left_blocks": len(left),
    }


def _turn(number: int, prompt: PromptUsage, causes: tuple[float, ...] | None) -> dict[str, Any]:
    written = prompt.written_tokens + prompt.written_long_tokens
    return {
        "n": number,
        "at_ms": prompt.at_ms,
        "cached": prompt.cached_tokens,
        "written": written,
        "plain": max(0, prompt.prompt_tokens - prompt.cached_tokens - written),
        "answered": prompt.answer_tokens,
        "model": prompt.model,
        "usd": None if causes is None else round(sum(causes), 6),
    }


def _compactions(one: WatchedSession) -> Iterator[dict[str, Any]]:
    lines = [prompt.line for prompt in one.figures.prompts]
    for number, boundary in enumerate(one.figures.boundaries, 1):
        before = f" from {boundary.tokens_before:,} tokens" if boundary.tokens_before else ""
        text = f"compaction {number}{before}{', by hand' if boundary.trigger == 'manual' else ''}"
        yield {
            "kind": "compaction",
            "turn": bisect_left(lines, boundary.line) + 1,
            "at_ms": boundary.at_ms,
            "text": text,
        }


def _pauses(prompts: tuple[PromptUsage, ...]) -> Iterator[dict[str, Any]]:
    """Yield the pauses after which the cache of the prompt before was over."""
    for number, (before, after) in enumerate(pairwise(prompts), 2):
        ended = before.ended_ms or before.at_ms
        if ended is None or after.at_ms is None:
            continue
        idle_s = (after.at_ms - ended) // 1_000
        if idle_s > (before.life_seconds or _PAUSE_S) + SURE_S:
            yield {
                "kind": "pause",
                "turn": number,
                "at_ms": after.at_ms,
                "text": f"a pause of {idle_s // 60:,} minutes",
            }


def _prunes(left: list[dict[str, Any]], prompts: tuple[PromptUsage, ...]) -> Iterator[dict[str, Any]]:
    """Yield the prunes of undrift, each once: the blocks that left in one operation."""
    times = [prompt.at_ms or 0 for prompt in prompts]
    batches: dict[int, list[dict[str, Any]]] = {}
    for row in left:
        batches.setdefault(row["at_ms"], []).append(row)
    for at_ms, rows in sorted(batches.items()):
        saved = sum(row["tokens_saved"] for row in rows)
        text = f"{len(rows):,} calls and results were removed, {saved:,} tokens"
        yield {"kind": "prune", "turn": bisect_left(times, at_ms) + 1, "at_ms": at_ms, "text": text}
