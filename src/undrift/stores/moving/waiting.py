"""The sessions of a folder with steps that no sync knows. Law: reads only."""

from contextlib import closing
from pathlib import Path

from undrift.stores.moving.sync_state import SyncState

__all__ = ["waiting_in"]


def waiting_in(folder: Path) -> tuple[list[str], int]:
    """Return the sessions of a folder that have operations which no sync has taken, the newest first, and the time of the last sync; 0: never."""
    state = SyncState.read(folder)
    if not state.at_ms:
        return [], 0
    from undrift.stores.moving.reading_file import FileSource  # a machine that syncs with no server does not need it

    with closing(FileSource.open(folder)) as source:
        heads = source.heads()
    return state.waiting(heads[::-1]), state.at_ms
