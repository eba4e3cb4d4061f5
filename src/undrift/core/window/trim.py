"""Removes some lines of a tool result, or folds them. Pure; equal text and ranges give equal bytes.

Law: the lines that stay keep their order and, unless folded, their words. A gap mark replaces the lines removed between
two others. The first line reports the removal, the fold, and the way to undo both. Only line numbers are stored, never
content.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from undrift.core.window.fold import Fold, fold_lines

__all__ = ["GAP", "HEADER_CHARACTERS", "ranges_of", "trim_text"]

GAP = "…"

HEADER_CHARACTERS = 64
"""The estimated length of a trimmed text's first line."""


def ranges_of(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Convert ascending line numbers to half-open ranges."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return tuple(found)


def trim_text(text: str, ranges: Sequence[Sequence[int]] | None, ref: str | None, fold: Fold | None = None) -> str:
    """Return the lines of `text` in `ranges`; a marker replaces each group of other lines.

    `ranges`: ascending half-open ranges of line numbers, from 0; an empty list keeps only the first line. None for all
    lines. `ref`: the reference for `recall`; empty if the original was purged, None if the agent cannot recall.
    """
    folded = fold_lines(text, fold) if fold else None
    lines = text.split("\n")
    without = f"no {', no '.join(folded.what)}" if folded is not None and folded.what else ""
    said = [without] if without else []
    if ranges is not None:
        stay = sum(end - start for start, end in ranges)
        said.insert(0, f"{stay:,} of {len(lines):,} lines stay{'' if without else ' here'}")
    original = "as it came" if ranges is None else "all of it"
    where = f"; {original}: undrift recall {ref}" if ref else "" if ref is None else "; the original was purged"
    parts = [f"[{', '.join(said)}{where}]"]
    ranges = ((0, len(lines)),) if ranges is None else ranges
    if ranges and ranges[0][0] > 0:
        parts.append(GAP)
    for (start, end), following in pairwise([*ranges, (len(lines), len(lines))]):
        parts.extend(lines[start:end] if folded is None else folded.shown(start, end))
        if end < following[0]:
            parts.append(GAP)
    return "\n".join(parts)
