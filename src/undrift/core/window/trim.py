"""A tool result that keeps some of its lines, or all of them folded. Pure; the same text and ranges give the same bytes.

Law: what stays stands in its order and, unless it is folded, word for word; where something left between two lines stands
a gap mark of its own, and the first line says how much left, what was folded, and how to get it back. Only line numbers
are stored, never content.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from undrift.core.window.fold import Fold, fold_lines

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


def trim_text(text: str, ranges: Sequence[Sequence[int]] | None, ref: str | None, fold: Fold | None = None) -> str:
    """Return the lines of `text` in `ranges`, with marks where others stood.

    Args:
        ranges: Ascending half-open ranges of line numbers, from 0; none leaves the first line alone. None for all lines.
        ref: What `recall` takes; empty where the original was purged, None where it is out of the agent's reach.
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
