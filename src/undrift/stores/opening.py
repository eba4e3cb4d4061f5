"""The opening of a store: the only place that chooses the engine of a home."""

import os
from typing import Protocol

from undrift.stores.base import Counts
from undrift.stores.contract import Store
from undrift.stores.served import ServedEngine, home_path, server_of
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope

__all__ = ["Engine", "engine_of", "open_store"]


class Engine(Protocol):
    """The operations on a home that need no open store. `home` is a folder, or another engine's name of a home."""

    def open(
        self, home: str | os.PathLike[str], scope: Scope, *, create: bool = True, busy_timeout_ms: int = 5_000
    ) -> Store:
        """Open the records of one scope; see `open_store`."""
        ...

    @property
    def own_files(self) -> tuple[str, ...]:
        """Return the names of the store's files in the home's folder; none if it has no files there."""
        ...

    def is_there(self, home: str | os.PathLike[str]) -> bool:
        """Tell whether a home has a store, without opening it."""
        ...

    def written_ns(self, home: str | os.PathLike[str]) -> int:
        """Return the time of a home's last write, in Unix nanoseconds; OSError if it has no store."""
        ...

    def back_up(self, home: str | os.PathLike[str], target: str | os.PathLike[str]) -> Counts:
        """Copy the whole home into one file while it is in use, and check the copy.

        Raises:
            InputError: Something else than an earlier backup has that name.
            StoreCorrupt: The store is damaged; nothing was changed.
        """
        ...

    def restore_backup(self, source: str | os.PathLike[str], home: str | os.PathLike[str]) -> Counts:
        """Replace a home's store with a backup; the old store is kept.

        Raises:
            InputError: It is not a backup. After any error the home is unchanged.
            StoreBusy: Other processes have the store open.
        """
        ...


def engine_of(home: str | os.PathLike[str]) -> Engine:
    """Return the engine for a home: SQLite, unless the folder has the note of a server."""
    address = server_of(home_path(home))
    return SqliteStore if address is None else ServedEngine(address)


def open_store(
    home: str | os.PathLike[str], scope: Scope, *, create: bool = True, busy_timeout_ms: int = 5_000
) -> Store:
    """Open the records of one scope.

    Args:
        home: The folder; created for its owner alone if absent. Or an address, as ``postgresql://host/database``.
        scope: The owner of the records; its session does not count.
        create: False: only an existing store is opened.
        busy_timeout_ms: How long a write waits for other processes; at least 0.

    Raises:
        InputError: The engine does not keep records of this scope.
        StoreError: There is none and `create` is False, or it cannot be opened; the message says what to do.
        StoreVersionError: It was written by a newer undrift; it was not changed.
        StoreCorrupt: It is damaged; it was not changed.
    """
    path = home_path(home)
    return engine_of(path).open(path, scope, create=create, busy_timeout_ms=busy_timeout_ms)
