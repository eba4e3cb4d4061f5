"""What a store has to know of one kind of record; `stores.tables` lists them.

Law: a kind knows its own table. What belongs to several kinds asks the list.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from undrift.stores.rows import Row

__all__ = ["Table", "Writing"]


@dataclass(slots=True)
class Writing:
    """One operation while it is written.

    Args:
        connection: In a transaction.
        session_id: Whose operation it is.
        seq: Its number.
        refs: References of the originals that are written with it.
        indexed: Numbers of the originals whose words become searchable with it.
    """

    connection: apsw.Connection
    session_id: str
    seq: int
    refs: set[Any] = field(default_factory=set)
    indexed: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of record.

    Args:
        name: Of the table; empty for what is only looked at.
        columns: What `read` takes; empty for what is derived.
        read: Row to record; raises StoreCorrupt.
        changes: Types of the values that a commit takes for it.
        prepare: Checks and hashes them, outside of the transaction; raises InputError.
        write: Writes what `prepare` returned; raises StoreError if it contradicts what is stored.
        key: SQL on the table `t`: what tells its records apart, whatever their version.
        rewinds: Whether a rewinding closes and opens its rows: they have from_seq and to_seq.
        active: SQL on the table `t`: which rows a rewinding is about; empty for all.
        shared: The column that tells records apart which several sessions change.
        of_task: Whether the purge of a task deletes its rows.
        of_session: Whether the purge of a session deletes its rows by session; else they are chosen one by one.
    """

    name: str
    columns: str = ""
    read: Callable[[Row], object] | None = None
    changes: tuple[type, ...] = ()
    prepare: Callable[[str, Sequence[Any]], Any] | None = None
    write: Callable[[Writing, Any], None] | None = None
    key: str = ""
    rewinds: bool = False
    active: str = ""
    shared: str = ""
    of_task: bool = False
    of_session: bool = True
