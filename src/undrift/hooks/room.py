"""Compute how much of a compacted window a text may use, from the session's own figures. Pure.

Law: a small window is not filled by what is given back: a client that has to compact again at once gives the session up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from undrift.transcripts.figures import Boundary, RecordedFigures
from undrift.values.window import ContextEntry

__all__ = ["TextRoom", "UNKNOWN_TOKENS", "WORDS_TOKENS", "room_of"]

UNKNOWN_TOKENS = 4_900
"""The most of a text if nothing shows how large the window is."""

WORDS_TOKENS = 500
"""The most of a text that holds the user's rules alone."""

_SHARE = 10
"""A text takes at most one part in so many of what was free after the last compaction.

Claude Code with 30,000 tokens ended the session after 4,900 given back."""

_FIRST_SHARE = 2 * _SHARE
_FIRST_LEFT_TOKENS = 30_000
"""Before the first compaction it is not known what one leaves: the beginning of a session has neither summary nor files. These are
at most so large together; a part in `_FIRST_SHARE` of a small window is safe too."""

_FEW_ANSWERS = 3
"""Claude Code gives up where the window is full again within three turns, three times in a row."""


@dataclass(frozen=True, slots=True)
class TextRoom:
    """The limits of a restored text.

    Args:
        tokens: None if nothing shows how large the window is.
        words_only: Give only what the user typed, rules first; the last compaction was just before.
    """

    tokens: int | None = None
    words_only: bool = False


def room_of(
    figures: RecordedFigures,
    entries: Sequence[ContextEntry],
    compaction: Boundary | None,
    *,
    whole: bool = True,
    by_hand: bool = False,
    gives_up: int = 0,
) -> TextRoom:
    """Return the limits of a text.

    Args:
        by_hand: The user asked for it: the window is at least as large as the largest prompt, and may be larger; only one that
            came by itself shows how large it is.
        gives_up: The client ends a session after so many compactions in a row with few answers between; 0 for never. The
            last of them then comes without a text of ours.
    """
    boundaries = [one for one in figures.boundaries if compaction is None or one.line < compaction.line]
    prompts = [one for one in figures.prompts if compaction is None or one.line < compaction.line]
    last = boundaries[-1].line if boundaries else 0
    since = [one.prompt_tokens for one in prompts if one.line > last]
    full = [one for one in boundaries if one.trigger != "manual"]
    is_known = bool(full) or not by_hand
    if compaction is not None and not by_hand:
        full.append(compaction)
    window = max((*(one.prompt_tokens for one in prompts), *(one.tokens_before or 0 for one in full)), default=0)
    tokens = None
    if window and since and (last or whole):
        free = max(0, window - since[0])
        tokens = free // _SHARE if last else max(free // _FIRST_SHARE, (free - _FIRST_LEFT_TOKENS) // _SHARE)
        tokens = tokens if is_known else max(tokens, UNKNOWN_TOKENS)
    soon = _soon(figures, entries, boundaries, compaction)
    if not soon:
        return TextRoom(tokens)
    if gives_up and soon >= gives_up - 1:
        return TextRoom(0, words_only=True)
    return TextRoom(WORDS_TOKENS if tokens is None else min(tokens, WORDS_TOKENS), words_only=True)


def _soon(
    figures: RecordedFigures, entries: Sequence[ContextEntry], earlier: Sequence[Boundary], newest: Boundary | None
) -> int:
    """Return how many of the newest compactions followed the one before within few answers; `newest` is this one."""
    count, end = 0, newest
    for one in reversed(earlier):
        end_line = None if end is None else end.line
        prompts = sum(_is_between(prompt.line, one.line, end_line) for prompt in figures.prompts)
        few = _FEW_ANSWERS + (end is not None and end.has_answer)
        if max(_answers(entries, one.line, end_line), prompts) >= few:
            break
        count, end = count + 1, one
    return count


def _is_between(line: int, after: int, before: int | None) -> bool:
    return after < line and (before is None or line < before)


def _answers(entries: Sequence[ContextEntry], after: int, before: int | None) -> int:
    """Return the number of the model's messages between two lines."""
    about = [entry.metadata or {} for entry in entries]
    own = [one for one in about if one.get("role") == "assistant"]
    return len({one.get("message") for one in own if _is_between(one["line"], after, before)})
