"""The description of one kind of record for a store; `stores.tables` lists the kinds.

Law: a kind knows its own table. Code for several kinds asks the list.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from undrift.stores.rows import Row

__all__ = ["Table", "Writing"]


@dataclass(slots=True)
class Writing:
    """One operation that is being written.

    Args:
        connection: A connection in a transaction.
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
    """One kind of record and its table: columns, keys, and functions to check and write.

    Args:
        name: The table's name; empty for a kind that has none.
        columns: The columns for `read`; empty for derived data.
        read: Row to record; raises StoreCorrupt.
        where: SQL: the rows that `read` takes; empty for all.
        seq: The column with the number of the operation that wrote a row; empty: it has none.
        changes: Types of the values that a commit takes for it.
        prepare: Checks and hashes them, outside of the transaction; raises InputError.
        write: Writes the result of `prepare`; raises StoreError if it contradicts the stored records.
        key: SQL on the table `t`: the identity of a record in all its versions.
        rewinds: True: a rewind closes and opens its rows; they have from_seq and to_seq.
        active: SQL on the table `t`: the rows that a rewind can change; empty for all.
        shared: The column with the identity of records that several sessions change.
        of_task: True: the purge of a task deletes its rows.
        of_session: True: the purge of a session deletes its rows by session; else they are chosen one by one.
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
    where: str = ""
    seq: str = "from_seq"
