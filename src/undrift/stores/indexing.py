"""Fills the full-text index in short steps, so that other processes can write in between.

Law: runs outside of a transaction; a process that ends in the middle leaves a whole index that is behind, and the next
search continues.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import apsw

from undrift.stores import search
from undrift.stores.migrations import transaction

__all__ = ["Use", "catch_up", "catch_up_if_small"]

Use = Callable[[], AbstractContextManager[apsw.Connection]]
"""Lends the connection for one step."""

_PAUSE_S = 0.005
"""Writers look for the lock every 1 to 7 ms."""
_AT_ONCE_BYTES = 16 << 20
"""A file up to this size takes under a second."""


def catch_up(use: Use) -> None:
    """Add to the index what it lacks; 1 GB of originals takes minutes."""
    while True:
        with use() as connection:
            if not search.is_behind(connection):
                return
            with transaction(connection):
                search.fill(connection)
        time.sleep(_PAUSE_S)


def catch_up_if_small(connection: apsw.Connection) -> None:
    """Complete the index of a small file, in one transaction; in a large one, the first search does it."""
    if search.is_behind(connection):
        ((size_bytes,),) = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        if int(size_bytes) <= _AT_ONCE_BYTES:
            with transaction(connection):
                while search.is_behind(connection):
                    search.fill(connection)
