"""The examined sessions for ``undrift status``: from the index, and few new ones, so that the answer comes at once."""

from collections.abc import Sequence
from pathlib import Path

from undrift.recordings.autopsy import Postmortem, counted_once
from undrift.recordings.index import AutopsyIndex
from undrift.settings.model_table import Model

__all__ = ["examined_in"]

_MOST_BYTES = 8 << 20
"""So much is examined in one call, and kept; 8 MB take about a second."""


def examined_in(paths: Sequence[Path], home: Path, models: Sequence[Model]) -> tuple[list[Postmortem], int]:
    """Return the findings of sessions with a compaction, and the number of recordings that are not examined yet."""
    index = AutopsyIndex(home, models=models)
    try:
        readings = index.known(paths)
        missing = [path for path in paths if path not in readings]
        readable = _first(missing)
        readings |= {Path(reading.path): reading for reading in index.read(readable)}
    finally:
        index.close()
    found = [readings[path].found for path in paths if path in readings]
    return list(counted_once(one for one in found if one is not None)), len(missing) - len(readable)


def _first(paths: Sequence[Path]) -> list[Path]:
    """Return the first files up to `_MOST_BYTES`, at least one."""
    left = _MOST_BYTES
    found: list[Path] = []
    for path in paths:
        left -= path.stat().st_size if path.exists() else 0
        if left < 0 and found:
            break
        found.append(path)
    return found
