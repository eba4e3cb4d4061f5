"""The one door to a store: which engine keeps a home, and its store opened for one scope."""

import os
from typing import Protocol

from undrift.stores.base import Counts
from undrift.stores.contract import Store
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope

__all__ = ["Engine", "engine_of", "open_store"]


class Engine(Protocol):
    """What is done to a home that needs no open store. `home` is a folder, or whatever else names a home of this engine."""

    def open(
        self, home: str | os.PathLike[str], scope: Scope, *, create: bool = True, busy_timeout_ms: int = 5_000
    ) -> Store:
        """Open the records of one scope; see `open_store`."""
        ...

    @property
    def own_files(self) -> tuple[str, ...]:
        """Names in the home's folder that are the store itself; none if it keeps nothing there."""
        ...

    def is_there(self, home: str | os.PathLike[str]) -> bool:
        """Tell whether anything was kept in a home yet; nothing is opened."""
        ...

    def written_ns(self, home: str | os.PathLike[str]) -> int:
        """Return when a home was last written, in Unix nanoseconds; OSError if nothing was kept in it yet."""
        ...

    def back_up(self, home: str | os.PathLike[str], target: str | os.PathLike[str]) -> Counts:
        """Copy all of a home into one file while it is in use, and read the copy whole.

        Raises:
            InputError: Something else than an earlier backup stands under that name.
            StoreCorrupt: The store is damaged; nothing was changed.
        """
        ...

    def restore_backup(self, source: str | os.PathLike[str], home: str | os.PathLike[str]) -> Counts:
        """Put a backup in the place of a home; what was there is kept.

        Raises:
            InputError: It is not a backup. In every case of an error the home is as it was.
            StoreBusy: Others have the store open.
        """
        ...


def engine_of(home: str | os.PathLike[str]) -> Engine:  # noqa: ARG001 - a server's address will have another one
    """Return the engine that keeps a home: SQLite for a folder."""
    return SqliteStore


def open_store(
    home: str | os.PathLike[str], scope: Scope, *, create: bool = True, busy_timeout_ms: int = 5_000
) -> Store:
    """Open the records of one scope.

    Args:
        home: Where they are kept; made for its owner alone if it is absent.
        scope: Whose they are; its session does not count.
        create: False only opens what is there, for a look into it.
        busy_timeout_ms: How long a write waits for others, at least 0.

    Raises:
        InputError: The engine does not keep records of this scope.
        StoreError: There is none and `create` is False, or it cannot be opened; the message says what to do.
        StoreVersionError: It was written by a newer undrift; it was not changed.
        StoreCorrupt: It is damaged; it was not changed.
    """
    return engine_of(home).open(home, scope, create=create, busy_timeout_ms=busy_timeout_ms)
