"""The times of a row: the operations from and until which it is active, and the gaps between them.

Law: the table `gaps` has each stretch in which a row was not there. A session's rewinds determine which of its operations
count.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from undrift.stores.operations import OPERATION_COLUMNS
from undrift.stores.rows import Row

__all__ = ["Stretch", "create", "last", "moves", "newest", "note", "reopen", "stretches", "there"]
_CREATE = """
CREATE TABLE gaps(
    number INTEGER PRIMARY KEY,
    of_table TEXT NOT NULL,
    of_number INTEGER NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),  -- from this operation on it was not there
    to_seq INTEGER NOT NULL REFERENCES operations(seq)  -- until this one
);
CREATE INDEX gaps_of_row ON gaps(of_table, of_number);
CREATE INDEX gaps_until ON gaps(of_table, to_seq);
CREATE INDEX operations_back ON operations(seq) WHERE kind IN ('rewind', 'undo');
DROP INDEX tags_by_call;
ALTER TABLE tags ADD COLUMN to_seq INTEGER REFERENCES operations(seq);
CREATE UNIQUE INDEX tags_by_call ON tags(session_id, call_id) WHERE to_seq IS NULL;
CREATE INDEX decisions_since ON decisions(session_id, from_seq);
CREATE INDEX tags_since ON tags(session_id, from_seq);
CREATE INDEX tasks_since ON tasks(session_id, from_seq);
CREATE INDEX originals_since ON originals(session_id, from_seq) WHERE source <> 'window';
CREATE INDEX decisions_until ON decisions(session_id, to_seq) WHERE to_seq IS NOT NULL;
CREATE INDEX tags_until ON tags(session_id, to_seq) WHERE to_seq IS NOT NULL;
CREATE INDEX tasks_until ON tasks(session_id, to_seq) WHERE to_seq IS NOT NULL;
CREATE INDEX originals_until ON originals(session_id, to_seq) WHERE source <> 'window' AND to_seq IS NOT NULL;
CREATE INDEX memories_until ON memories(to_seq) WHERE to_seq IS NOT NULL;
"""
_MOVES = """SELECT seq, json_extract(payload, '$.to') FROM operations
    WHERE kind IN ('rewind', 'undo') AND session_id = ? AND seq <= ? ORDER BY seq"""
_LAST = "SELECT coalesce(max(seq), 0) FROM operations WHERE session_id = ? AND seq <= ?"
_NOTED = f"""SELECT {OPERATION_COLUMNS} FROM operations WHERE session_id = ? AND seq BETWEEN ? AND ?
    AND json_type(payload, '$.scratchpad') = 'text' ORDER BY seq DESC LIMIT 1"""  # noqa: S608
_NEWEST = "SELECT coalesce(max(seq), 0) FROM operations WHERE kind IN ('rewind', 'undo')"
_GAP = """INSERT INTO gaps(of_table, of_number, from_seq, to_seq)
    SELECT '{table}', number, to_seq, ? FROM {table} WHERE number IN (SELECT value FROM json_each(?))"""
_OPEN = "UPDATE {table} SET to_seq = NULL WHERE number IN (SELECT value FROM json_each(?))"
_THERE = """({alias}.from_seq <= {seq} AND ({alias}.to_seq IS NULL OR {alias}.to_seq > {seq})
    AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.of_table = '{table}' AND g.of_number = {alias}.number
        AND g.from_seq <= {seq} AND g.to_seq > {seq}))"""


class Stretch(NamedTuple):
    """A range of operations that no rewind has undone; both ends are included."""

    first: int
    last: int


def create(connection: apsw.Connection) -> None:
    """Make the table, and the columns and indexes that other tables need for it."""
    connection.execute(_CREATE)


def there(table: str, alias: str, seq: str) -> str:
    """Return the SQL condition that a row was active right after an operation.

    `table`: one of `tables.REWINDING`. `seq`: the operation, as a binding (``?1``, ``:then``).
    """
    return _THERE.format(table=table, alias=alias, seq=seq)


def last(connection: apsw.Connection, session: str | bytes, seq: int) -> int:
    """Return the newest operation of a session up to a number; 0 if there is none."""
    return _numbers(connection, _LAST, (session, min(max(seq, 0), 2**63 - 1)))[0]


def note(connection: apsw.Connection, session: str | bytes, seq: int) -> Row | None:
    """Return the last operation with notes, among the operations that are not rewound after operation `seq`."""
    for one in reversed(stretches(moves(connection, session, seq), seq)):
        found: list[Row] = connection.execute(_NOTED, (session, one.first, one.last)).fetchall()
        if found:
            return found[0]
    return None


def newest(connection: apsw.Connection) -> int:
    """Return the newest rewind or undo of the home; 0 if there is none."""
    return _numbers(connection, _NEWEST, ())[0]


def reopen(connection: apsw.Connection, table: str, numbers: Sequence[int], now: int) -> None:
    """Activate closed rows again, and record the time in which they were inactive."""
    if numbers:
        listed = json.dumps(list(numbers))
        connection.execute(_GAP.format(table=table), (now, listed))
        connection.execute(_OPEN.format(table=table), (listed,))


def stretches(rewinds: Iterable[tuple[int, int]], seq: int) -> list[Stretch]:
    """Return the operations that were active at the moment after operation `seq`, oldest first; rewound ones are left out.

    Args:
        rewinds: Each rewind as its own sequence number and the number that it went back to, oldest first.
        seq: The operation.
    """
    found, last = [], seq
    for at, target in reversed(list(rewinds)):
        if at <= last:
            found.append(Stretch(at, last))
            last = min(target, at - 1)
    return [Stretch(0, last), *reversed(found)]


def moves(connection: apsw.Connection, session: str | bytes, until: int) -> list[tuple[int, int]]:
    """Return the rewinds of a session up to an operation: the number of each, and the number it rewound to."""
    return [(seq, target) for seq, target in connection.execute(_MOVES, (session, until))]


def _numbers(connection: apsw.Connection, sql: str, values: Any) -> list[int]:
    found: list[Any] = connection.execute(sql, values).fetchall()
    return [number for (number,) in found]
