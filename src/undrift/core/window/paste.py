"""Cuts the middle out of a user's long paste. Pure; the same text and numbers give the same bytes.

Only lengths and places are stored. The client sends the text again on every turn, so no part of it, secrets included, has
to be stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Cut", "Places", "cut_text", "plan_cut"]

_HEAD_SHARE = 2 / 3  # a paste tends to name its subject first; a log has its verdicts last
_LINE_SLACK_CHARACTERS = 200  # characters that may be lost to end on a whole line
_MARKER_TOKENS = 24

Places = Sequence[Sequence[int]]
"""Half-open ranges of characters, ascending and apart."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The number of characters that stay at each end of a text, and its tokens after the cut.

    `rules`: the places between the ends that stay as well.
    """

    keep_head: int
    keep_tail: int
    tokens: int
    rules: Places = ()


def cut_text(text: str, keep_head: int, keep_tail: int, ref: str | None, rules: Places = ()) -> str:
    """Keep the beginning and end of `text`; the line between them names the cut and how to recall the text.

    `ref`: the reference for `recall`; empty if the original was purged, None if the agent cannot recall. `rules`: places
    between the ends; each of them stands after that line, on lines of its own.
    """
    kept = [text[start:end] for start, end in rules]
    left = len(text) - keep_head - keep_tail - sum(map(len, kept))
    but = ", but for the rules in it" if kept else ""
    where = f"; the whole of it: undrift recall {ref}" if ref else "" if ref is None else "; the original was purged"
    marker = f"\n[{left:,} characters of this message left the window{but}{where}]\n"
    between = "".join(f"{line}\n" for line in (*kept, "[...]")) if kept else ""
    return text[:keep_head] + marker + between + text[len(text) - keep_tail :]


def plan_cut(
    text: str,
    tokens: int,
    keep_tokens: int,
    *,
    ref: str | None,
    count: Callable[[str], int],
    rules: Callable[[], Places] = tuple,
) -> Cut | None:
    """Plan a cut that keeps about `keep_tokens` of a text of `tokens`, and its rules. None means: a cut would free nothing.

    `rules`: returns the places of the rules in the text.
    """
    characters = int(len(text) * max(0, keep_tokens - _MARKER_TOKENS) / max(1, tokens))
    head = max(1, int(characters * _HEAD_SHARE))
    tail = max(1, characters - head)
    newline = text.rfind("\n", max(0, head - _LINE_SLACK_CHARACTERS), head)
    head = newline + 1 if newline > 0 else head
    start = len(text) - tail
    newline = text.find("\n", start, start + _LINE_SLACK_CHARACTERS)
    tail = len(text) - newline - 1 if 0 <= newline < len(text) - 1 else tail
    if head + tail >= len(text):
        return None
    # a rule that begins in the part that stays is repeated whole, and one that reaches into the end as well
    between = [(start, end) for start, end in rules() if end > head and start < len(text) - tail]
    cut = Cut(head, tail, count(cut_text(text, head, tail, ref, between)), between)
    return cut if cut.tokens < tokens else None
