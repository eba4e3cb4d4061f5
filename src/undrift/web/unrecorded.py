"""The sessions that undrift manages and no client records here: those of SDKs, and those whose recording is gone.

Law: their decisions are all that is known, and the page says so. The list is made again with that of the recordings.
"""

from collections.abc import Iterable, Sequence

from undrift.settings.model_table import Model
from undrift.stores.base import SessionRow
from undrift.stores.files import safe_name
from undrift.values.project import Place
from undrift.web.watching import WatchedSession

__all__ = ["StoredSession", "stored_sessions"]

_MOST_OF_A_PLACE = 20


class StoredSession(WatchedSession):
    """One session of a store. Nothing is read of it but its row."""

    def __init__(self, place: Place, row: SessionRow, models: Sequence[Model] = ()) -> None:
        super().__init__(place.records / safe_name(row.session_id), models)
        self.place = place
        self.key = f"{place.records.name}:{row.session_id}"
        self.session_id = row.session_id.partition(":")[2] or row.session_id
        self.title = row.name or row.session_id
        self.folder = place.project.root if place.project is not None else ""
        self.last_ms = row.last_at_ms
        self.is_session = True
        self.is_recorded = False
        self._id = row.session_id

    @property
    def client(self) -> str:
        """The kind of its requests, as the id says; empty if it was opened by a program."""
        return self._id.partition(":")[0] if ":" in self._id else ""

    def look(self) -> None:
        """Do nothing: there is no file."""

    def is_named(self, session_id: str) -> bool:
        """Tell whether an id of ours is that of this session."""
        return session_id == self._id


def stored_sessions(
    place: Place, rows: Iterable[SessionRow], recorded: Iterable[WatchedSession], models: Sequence[Model]
) -> list[WatchedSession]:
    """Return the newest sessions of a store, up to 20, that something has left and that no recording is of."""
    known = list(recorded)
    found = [row for row in rows if row.decisions and not any(one.is_named(row.session_id) for one in known)]
    return [StoredSession(place, row, models) for row in found[:_MOST_OF_A_PLACE]]
