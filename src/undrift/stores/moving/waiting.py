"""The sessions of a folder with steps that no sync knows. Law: reads only."""

from pathlib import Path

from undrift.stores.moving.sync_state import SyncState
from undrift.stores.moving.values import SessionHead
from undrift.stores.sqlite import SqliteStore

__all__ = ["waiting_in"]


def waiting_in(folder: Path) -> tuple[list[str], int]:
    """Return the sessions of a folder that have operations which no sync has taken, and the time of the last sync; 0: never."""
    state = SyncState.read(folder)
    if not state.at_ms:
        return [], 0
    with SqliteStore.open(folder, create=False) as store:
        last = [(one.session_id, store.last_seq(one.session_id)) for one in store.sessions()]
    return state.waiting([SessionHead(*one) for one in last]), state.at_ms
