"""The drawings of the documents, from runs of the program: ``python -m website.pictures`` writes docs/images/*.svg.

Law: every number in a drawing comes from a run of the engine on a session that this repository ships, from docs/figures.json,
or from a constant of the program.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from undrift.core.memory.decay import apply_decay_by_type
from undrift.recordings.autopsy import examine
from undrift.values.memory import MemoryEntry, ScoredMemoryEntry
from website.drawing import BLUE, GREEN, GREY, INK, ORANGE, SOFT, WIDTH, arrow, box, drawing, line, rect, words
from website.session_run import BUDGET_TOKENS, Turn, session_run
from website.stage import ROOT

__all__ = ["IMAGES", "drawings", "main"]

IMAGES = ROOT / "docs" / "images"
COMPACTED = ROOT / "examples" / "compacted-session.jsonl"
_LEFT, _RIGHT = 52, WIDTH - 20
_COLORS = {"results of tools": BLUE, "your words": GREEN, "calls of tools": ORANGE, "the agent's words": SOFT}


def drawings() -> dict[str, str]:
    """Return each drawing by the name of its file."""
    turns = session_run()
    return {
        "turn.svg": _turn(turns),
        "window.svg": _window(turns),
        "cache.svg": _cache(turns),
        "compaction.svg": _compaction(),
        "decay.svg": _decay(),
    }


def _turn(turns: Sequence[Turn]) -> str:
    """Draw the first turn on which something leaves."""
    number, turn = next((number, turn) for number, turn in enumerate(turns, 1) if turn.removed)
    scale = 210 / turn.tokens_before

    def column(x: float, tokens: int, parts: Mapping[str, int]) -> list[str]:
        height, y, drawn = tokens * scale, 296.0, list[str]()
        rest = tokens - sum(parts.values())
        for kind, color in _COLORS.items():
            share = (parts.get(kind, 0) + (rest if kind == "results of tools" else 0)) / tokens * height
            y -= share
            drawn.append(rect(x, y, 96, share, color))
        return [*drawn, words(f"{tokens:,}", x + 48, y - 8, weight=700, anchor="middle")]

    before, after = turn.parts
    title = (
        f"Turn {number} of the demo session: the client sends {turn.tokens_before:,} tokens, undrift stores "
        f"{turn.removed} blocks and sends {turn.tokens_after:,} tokens to the model"
    )
    keys = [
        rect(20 + 200 * (place % 2), 372 + 20 * (place // 2), 11, 11, color)
        + words(kind, 37 + 200 * (place % 2), 382 + 20 * (place // 2), color=SOFT)
        for place, (kind, color) in enumerate(_COLORS.items())
    ]
    return drawing(
        420,
        title,
        words(f"Turn {number}: the prompt grew over {BUDGET_TOKENS:,} tokens", 20, 28, 15, weight=700),
        words("the client sends", 68, 56, color=SOFT, anchor="middle"),
        words("the model gets", 372, 56, color=SOFT, anchor="middle"),
        *column(20, turn.tokens_before, before),
        *column(324, turn.tokens_after, after),
        arrow(122, 200, 150, 200),
        box(154, 164, 132, ["undrift", f"{turn.removed} blocks leave", "or lose lines"]),
        arrow(290, 200, 318, 200),
        arrow(220, 232, 220, 296),
        box(134, 300, 172, ["the store", "each text, word for word"], color=GREEN),
        *keys,
    )


def _axes(
    height: int, top_tokens: int, turns: int
) -> tuple[list[str], Callable[[float], float], Callable[[float], float]]:
    """Draw the grid of a chart over turns; return it, and the places of a turn and of a number of tokens."""
    base, top = height - 54, 56

    def x(turn: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * turn / turns

    def y(tokens: float) -> float:
        return base - (base - top) * tokens / top_tokens

    step = 50_000 if top_tokens > 100_000 else 20_000
    grid = [
        line([(_LEFT, y(level)), (_RIGHT, y(level))], GREY, width=1)
        + words(f"{level // 1_000}k", _LEFT - 6, y(level) + 4, 12, color=SOFT, anchor="end")
        for level in range(0, top_tokens + 1, step)
    ]
    marks = [words(str(turn), x(turn), base + 18, 12, color=SOFT, anchor="middle") for turn in range(0, turns + 1, 30)]
    return [*grid, *marks, words("turn", _RIGHT, base + 34, 12, color=SOFT, anchor="end")], x, y


def _window(turns: Sequence[Turn]) -> str:
    """Draw the size of each prompt, as the client sent it and as it was sent on."""
    before = [turn.tokens_before for turn in turns]
    after = [turn.tokens_after for turn in turns]
    grid, x, y = _axes(300, -(-max(before) // 50_000) * 50_000, len(turns))
    total = f"{sum(before) / 1e6:.1f} million tokens, with undrift {sum(after) / 1e6:.1f}"
    title = f"The window over {len(turns)} turns: everything grows to {max(before):,} tokens, managed it stays under {BUDGET_TOKENS:,}"
    return drawing(
        300,
        title,
        words(f"The window over {len(turns)} turns of the demo session", 16, 28, 15, weight=700),
        *grid,
        line([(x(0), y(BUDGET_TOKENS)), (x(len(turns)), y(BUDGET_TOKENS))], INK, dash="4 4", width=1),
        words(f"budget {BUDGET_TOKENS:,}", _LEFT + 4, y(BUDGET_TOKENS) - 6, 12),
        line([(x(number), y(tokens)) for number, tokens in enumerate(before, 1)], ORANGE),
        line([(x(number), y(tokens)) for number, tokens in enumerate(after, 1)], BLUE),
        words("everything sent", x(len(turns) * 0.62), y(max(before) * 0.8), color=ORANGE, anchor="end"),
        words("with undrift", x(len(turns) * 0.98), y(BUDGET_TOKENS * 0.45), color=BLUE, anchor="end"),
        words(f"All prompts: {total}", 16, 288, 12, color=SOFT),
    )


def _cache(turns: Sequence[Turn]) -> str:
    """Draw what each managed prompt read from the provider's cache, and what it wrote."""
    grid, x, y = _axes(300, BUDGET_TOKENS, len(turns))
    width = (x(1) - x(0)) * 0.8
    bars = []
    for number, turn in enumerate(turns, 1):
        left, read = x(number) - width, min(turn.cached, turn.tokens_after)
        bars.append(rect(left, y(read), width, y(0) - y(read), BLUE))
        bars.append(rect(left, y(turn.tokens_after), width, y(read) - y(turn.tokens_after), ORANGE))
    prunes = [number for number, turn in enumerate(turns, 1) if turn.removed]
    written = sum(turn.tokens_after - min(turn.cached, turn.tokens_after) for turn in turns)
    share = 1 - written / sum(turn.tokens_after for turn in turns)
    title = f"The prompt cache over {len(turns)} turns: {share:.0%} of the tokens are read; {len(prunes)} prunes make the provider write again"
    return drawing(
        318,
        title,
        words("The prompt cache of the same turns, with undrift", 16, 28, 15, weight=700),
        *grid,
        *bars,
        *(words("▼", x(number) - width / 2, 52, 11, anchor="middle") for number in prunes),
        rect(16, 274, 11, 11, BLUE),
        words("read from the cache", 33, 284, 12, color=SOFT),
        rect(166, 274, 11, 11, ORANGE),
        words("written", 183, 284, 12, color=SOFT),
        words("▼ a prune", 250, 284, 12, color=SOFT),
        words(
            f"{share:.0%} of all tokens were read; {len(prunes)} prunes made the provider write again",
            16,
            306,
            12,
            color=SOFT,
        ),
    )


def _compaction() -> str:
    """Draw the compaction of the shipped session, and what texts hold at the compactions that were measured."""
    found = examine(COMPACTED).autopsy.compactions[0]
    assert found.tokens_before is not None
    assert found.tokens_after is not None
    measured = json.loads((ROOT / "docs" / "figures.json").read_text(encoding="utf-8"))["restore"]["clients"][
        "claude-code"
    ]
    whole, scale = measured["all"], 300 / found.tokens_before
    rows = {
        "the client's summary": ("summary", SOFT),
        "today's client, files too": ("today", SOFT),
        "undrift, 5,000 tokens": ("restore@5000", GREEN),
        "undrift, 10,000 tokens": ("restore@10000", GREEN),
    }
    bars = []
    for place, (name, (key, color)) in enumerate(rows.items()):
        share, top = whole["texts"][key]["identifiers"]["macro"], 210 + 26 * place
        bars += [
            words(name, 16, top, color=INK),
            rect(196, top - 11, 180, 13, "#e8edf1"),
            rect(196, top - 11, 180 * share, 13, color),
            words(f"{share:.0%}", 384, top, weight=700),
        ]
    dropped = found.tokens_before - found.tokens_after
    title = f"A compaction: {found.tokens_before:,} tokens become {found.tokens_after:,}; what the next calls used, by the text that held it"
    return drawing(
        344,
        title,
        words("A compaction: the history becomes a summary", 16, 28, 15, weight=700),
        rect(16, 48, found.tokens_before * scale, 24, BLUE),
        words(f"{found.tokens_before:,} before", 24 + found.tokens_before * scale, 65, 12),
        rect(16, 84, found.tokens_after * scale, 24, BLUE),
        rect(16 + found.tokens_after * scale, 84, dropped * scale, 24, "#ffffff", stroke=GREY),
        words(f"{found.tokens_after:,} after", 24 + found.tokens_before * scale, 101, 12),
        words(f"{dropped:,} gone", 24 + found.tokens_after * scale, 101, 12, color=SOFT),
        words("the shipped session, which is made up", 16, 128, 12, color=SOFT),
        words("Names that the agent used next: held by", 16, 180, 14, weight=700),
        *bars,
        words(
            f"Claude Code, {whole['compactions']} compactions of {whole['sessions']} recorded sessions",
            16,
            318,
            12,
            color=SOFT,
        ),
        words("the table with intervals stands in README and restore.md", 16, 334, 12, color=SOFT),
    )


def _decay() -> str:
    """Draw how a raw score falls with the age of its memory in tasks."""
    raw, ages = 0.9, range(0, 101, 2)
    later = {"contradicted_by_task_id": "t", "contradicted_by_entry_id": "m2", "contradicted_at_ms": 1}
    curves: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("pinned", GREEN, "note", {"pinned": True}),
        ("decision", BLUE, "architectural_decision", {}),
        ("note", INK, "note", {}),
        ("contradicted note", ORANGE, "note", later),
    )

    def x(age: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * age / ages[-1]

    def y(score: float) -> float:
        return 236 - 180 * score

    drawn = []
    for name, color, kind, more in curves:
        entry = MemoryEntry("m0000000000000001", "One statement.", kind, created_at_ms=0, **more)  # type: ignore[arg-type]
        scores = [apply_decay_by_type([ScoredMemoryEntry(entry, raw)], age, 0)[0].decayed_score for age in ages]
        drawn.append(line([(x(age), y(score)) for age, score in zip(ages, scores, strict=True)], color))
        place = {"pinned": 30, "decision": 25, "note": 7, "contradicted note": 22}[name]
        drawn.append(words(name, x(ages[place]) + 6, y(scores[place]) - 7, 12, color=color))
    levels = [line([(_LEFT, y(level / 4)), (_RIGHT, y(level / 4))], GREY, width=1) for level in range(5)]
    levels += [words(f"{level / 4:g}", _LEFT - 6, y(level / 4) + 4, 12, color=SOFT, anchor="end") for level in range(5)]
    marks = [words(str(age), x(age), 254, 12, color=SOFT, anchor="middle") for age in range(0, 101, 25)]
    title = (
        f"A raw score of {raw} by the age of its memory in tasks: pinned it stays, a decision falls slowly, a note fast"
    )
    return drawing(
        290,
        title,
        words(f"A raw score of {raw}, by age in tasks", 16, 28, 15, weight=700),
        *levels,
        *marks,
        *drawn,
        words("age in tasks", _RIGHT, 276, 12, color=SOFT, anchor="end"),
    )


def main() -> int:
    """Write the drawings."""
    for name, text in drawings().items():
        (IMAGES / name).write_text(text + "\n", encoding="utf-8")
        print(f"docs/images/{name}: {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
