"""The examined sessions for ``undrift status``: from the index, and few new ones, so that the answer comes at once."""

from collections.abc import Sequence
from pathlib import Path

from undrift.recordings.autopsy import Postmortem, counted_once, names_a_compaction
from undrift.recordings.index import AutopsyIndex
from undrift.settings.model_table import Model

__all__ = ["examined_in"]

_MOST_BYTES = 8 << 20
"""So much is examined in one call, and kept; 8 MB take about a second."""


def examined_in(paths: Sequence[Path], home: Path, models: Sequence[Model]) -> tuple[list[Postmortem], int]:
    """Return the findings of sessions with a compaction, and the number of those that are not examined yet."""
    index = AutopsyIndex(home, models=models)
    try:
        readings = index.known(paths)
        missing = [path for path in paths if path not in readings]
        large = set(filter(names_a_compaction, missing))  # the others are looked through at once, and remembered
        readable = _first([path for path in missing if path in large])
        wanted = [path for path in missing if path in readable or path not in large]
        readings |= {Path(reading.path): reading for reading in index.read(wanted)}
    finally:
        index.close()
    found = [readings[path].found for path in paths if path in readings]
    return list(counted_once(one for one in found if one is not None)), len(large) - len(readable)


def _first(paths: Sequence[Path]) -> set[Path]:
    """Return the first files up to `_MOST_BYTES`, at least one."""
    left = _MOST_BYTES
    found: set[Path] = set()
    for path in paths:
        left -= path.stat().st_size if path.exists() else 0
        if left < 0 and found:
            break
        found.add(path)
    return found
