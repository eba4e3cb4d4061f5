"""The one door to a store: which engine keeps a home, and its store opened for one scope."""

import os

from undrift.stores.contract import Engine, Store
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope

__all__ = ["engine_of", "open_store"]


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

    Source: RELIABILITY S4, S11, R5, R8, R13.
    """
    return engine_of(home).open(home, scope, create=create, busy_timeout_ms=busy_timeout_ms)
