"""The losses of a person's newest sessions, found within a few seconds: for the first screen of ``undrift setup``."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from undrift.cli.autopsy import progress
from undrift.cli.own import own_recordings
from undrift.errors import TranscriptError, UndriftError
from undrift.recordings.autopsy import Postmortem, counted_once, examine, names_a_compaction
from undrift.recordings.index import AutopsyIndex
from undrift.settings import Settings
from undrift.settings.model_table import Model, read_models

__all__ = ["Losses", "newest_losses"]

_MOST_SESSIONS = 10
_MOST_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Losses:
    """The findings of the newest sessions with a compaction.

    Args:
        recorded: How many sessions the clients have recorded.
        looked_at: How many of them, the newest first, were looked at.
    """

    found: tuple[Postmortem, ...] = ()
    recorded: int = 0
    looked_at: int = 0


def newest_losses(folders: dict[str, Path | None], home: Path, *, quiet: bool) -> Losses:
    """Examine the newest sessions; after a few seconds no further one is begun. A session that cannot be read is passed over.

    `home`: sessions that its index of autopsies knows are not read again; nothing is written.
    """
    try:
        own = own_recordings("undrift setup", **folders)
        models = read_models(Settings.from_environment().models_file)
    except UndriftError:  # nothing recorded, or settings that `undrift doctor` complains of
        return Losses()
    with closing(AutopsyIndex(home, models=models)) as index:
        known = index.known(own)
    found: list[Postmortem] = []
    deadline, number = time.monotonic() + _MOST_SECONDS, 0
    with progress(quiet, len(own)) as show:
        for number, path in enumerate(own, 1):
            show(number - 1, path)
            one = known[path].compacted if path in known else _examined(path, models)
            found += [] if one is None else [one]
            if len(found) >= _MOST_SESSIONS or time.monotonic() >= deadline:
                break
    return Losses(tuple(counted_once(found)), len(own), number)


def _examined(path: Path, models: Sequence[Model]) -> Postmortem | None:
    if not names_a_compaction(path):
        return None
    try:
        one = examine(path, models=models)
    except TranscriptError:
        return None
    return one if one.autopsy.compactions else None
