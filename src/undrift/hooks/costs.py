"""Sentences about the prompt cache for a client's own screen, from the end of its session file.

Law: a bounded part of the file is read, nothing is written, and prices come from the table of models alone.
"""

from undrift.core.guard import CacheWatch, Notice, guard, watched
from undrift.hooks.transcript import Transcript, lines_before
from undrift.settings.model_table import lookup
from undrift.transcripts.figures import figures
from undrift.values.usage import PromptUsage

__all__ = ["notices_of", "usd_per_million"]

_TAILS_BYTES = (256 << 10, 4 << 20)
"""The second is read if the first has no answer that tells the life of the cache, as after a result of a megabyte."""

_HEAD_BYTES = 64 << 10
_DECODED_LINES = 64
"""So many lines at the beginning of a session are always decoded; a tail is not the beginning."""


def notices_of(transcript: Transcript, format_name: str, now_ms: int) -> tuple[Notice, ...]:
    """Return the sentences that are true now of a session's cache; () if its usage tells none.

    Rewrites are not counted, because they would be those of the tail alone.
    """
    watch = CacheWatch()
    for most_bytes in _TAILS_BYTES:
        size = transcript.size
        start = max(0, size - most_bytes)
        found = figures(_lines(transcript, start), format=format_name)
        first = found.prompts[0] if start == 0 and found.prompts else _first(transcript, format_name)
        watch = watched(found.in_order(), usd_per_million, CacheWatch.before(first))
        if start == 0 or watch.life_seconds is not None:
            break
    return tuple(one for one in guard(watch, now_ms, usd_per_million) if one.kind != "rewrites")


def _lines(transcript: Transcript, start: int) -> list[str]:
    """Return the complete lines from an offset on, without the one that the offset cuts."""
    found = [line.text for line in transcript.lines(start)]
    return [*lines_before(_DECODED_LINES), *found[1:]] if start else found


def _first(transcript: Transcript, format_name: str) -> PromptUsage | None:
    """Return the first prompt of a session; None if its beginning tells none."""
    return next(iter(figures(transcript.head(_HEAD_BYTES), format=format_name).prompts), None)


def usd_per_million(model: str, life_seconds: int) -> float | None:
    """Return the price of a million tokens written for so long; None: unknown."""
    return lookup(model).written_usd_per_million(life_seconds)
