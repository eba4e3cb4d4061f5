"""A tool result that keeps some of its lines. Pure; the same text and ranges give the same bytes.

Law: what stays stands in its order and word for word; where something left between two lines stands a gap mark of its
own, and the first line says how much left and how to get it back. Only line numbers are stored, never content.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

__all__ = ["GAP", "HEADER_CHARACTERS", "ranges_of", "trim_text"]

GAP = "…"

HEADER_CHARACTERS = 64
"""About what the first line of a trimmed text takes."""


def ranges_of(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return ascending line numbers as half-open ranges."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return tuple(found)


def trim_text(text: str, ranges: Sequence[Sequence[int]], ref: str) -> str:
    """Return the lines of `text` in `ranges`, with marks where others stood.

    Args:
        text: The whole result.
        ranges: Ascending half-open ranges of line numbers, from 0; none leaves the first line alone.
        ref: What `recall` takes.
    """
    lines = text.split("\n")
    kept = sum(end - start for start, end in ranges)
    parts = [f"[{kept:,} of {len(lines):,} lines stay here; all of it: undrift recall {ref}]"]
    if ranges and ranges[0][0] > 0:
        parts.append(GAP)
    for (start, end), following in pairwise([*ranges, (len(lines), len(lines))]):
        parts.extend(lines[start:end])
        if end < following[0]:
            parts.append(GAP)
    return "\n".join(parts)
