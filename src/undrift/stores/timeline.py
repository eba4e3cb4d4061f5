"""Going back in time: what was in force right after an operation is in force again, and nothing is deleted.

Law: every row says from which operation on it is there and until which; a stretch in between in which it was not there
stands in `gaps`. A rewinding closes rows and opens others, for one session, inside a transaction that the caller opened.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from undrift.stores.rows import OPERATION_COLUMNS, Row

__all__ = [
    "Change",
    "Stretch",
    "VERSIONED",
    "change",
    "create",
    "last",
    "newest",
    "note",
    "present",
    "reopen",
    "state",
    "stretches",
    "there",
]

VERSIONED = ("originals", "decisions", "tasks", "tags", "memories", "documents")
"""Tables whose rows have number, session_id, from_seq and to_seq. What left a window (originals with source ``window``) is
an archive, no state: it is never closed. Facts keep their own versions (`stores.facts.rewind`)."""

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
_OWN = " AND t.source <> 'window'"
_MISSED = """SELECT 1 FROM gaps g WHERE g.of_table = '{table}' AND g.of_number = t.number
        AND g.from_seq <= :then AND g.to_seq > :then"""
_CLOSE = """UPDATE {table} AS t SET to_seq = :now WHERE t.session_id = :session AND t.to_seq IS NULL
    AND t.from_seq > :then{own}{alone} RETURNING number"""
_CLOSE_AGAIN = """UPDATE {table} AS t SET to_seq = :now WHERE t.session_id = :session AND t.to_seq IS NULL{own}{alone}
    AND t.number IN (SELECT g.of_number FROM gaps g WHERE g.of_table = '{table}' AND g.to_seq > :then
        AND g.from_seq <= :then) RETURNING number"""
_BACK = f"""SELECT t.number FROM {{table}} t WHERE t.session_id = :session AND t.to_seq > :then
    AND t.from_seq <= :then{{own}}{{alone}} AND NOT EXISTS ({_MISSED})"""  # noqa: S608 - constants of ours
_ALONE = " AND t.{key} NOT IN (SELECT value FROM json_each(:shared))"
_MET = """SELECT t.{key} FROM {table} t JOIN operations o ON o.seq = t.to_seq
    WHERE t.to_seq > :then AND (t.session_id = :session) <> (o.session_id = :session)
UNION SELECT t.{key} FROM gaps g JOIN {table} t ON t.number = g.of_number
    JOIN operations o ON o.seq = g.from_seq JOIN operations p ON p.seq = g.to_seq
    WHERE g.of_table = '{table}' AND g.to_seq > :then
    AND (t.session_id = :session) + (o.session_id = :session) + (p.session_id = :session) IN (1, 2)"""
"""Keys of records that this session and another one have both changed, one of them after the operation."""
_VERSIONS = """SELECT number, session_id, from_seq, to_seq FROM {table} WHERE {key} = ? ORDER BY number"""
_REMOVALS = """SELECT o.seq, o.session_id FROM operations o WHERE o.kind NOT IN ('rewind', 'undo') AND (
    o.seq IN (SELECT t.to_seq FROM {table} t WHERE t.{key} = ?1)
    OR o.seq IN (SELECT g.from_seq FROM gaps g JOIN {table} t ON t.number = g.of_number
        WHERE g.of_table = '{table}' AND t.{key} = ?1))
    AND o.seq NOT IN (SELECT t.from_seq FROM {table} t WHERE t.{key} = ?1)"""
_MOVES = """SELECT seq, json_extract(payload, '$.to') FROM operations
    WHERE kind IN ('rewind', 'undo') AND session_id = ? AND seq <= ? ORDER BY seq"""
_LAST = "SELECT coalesce(max(seq), 0) FROM operations WHERE session_id = ? AND seq <= ?"
_NOTED = f"""SELECT {OPERATION_COLUMNS} FROM operations WHERE session_id = ? AND seq BETWEEN ? AND ?
    AND json_type(payload, '$.scratchpad') = 'text' ORDER BY seq DESC LIMIT 1"""  # noqa: S608
_NEWEST = "SELECT coalesce(max(seq), 0) FROM operations WHERE kind IN ('rewind', 'undo')"
_GAP = """INSERT INTO gaps(of_table, of_number, from_seq, to_seq)
    SELECT '{table}', number, to_seq, ? FROM {table} WHERE number IN (SELECT value FROM json_each(?))"""
_OPEN = "UPDATE {table} SET to_seq = NULL WHERE number IN (SELECT value FROM json_each(?))"
_OF_BUFFER = """SELECT 1 FROM decisions d JOIN originals o ON o.session_id = d.session_id AND o.entry_id = d.entry_id
    WHERE d.number IN (SELECT value FROM json_each(?)) AND o.source = 'buffer' LIMIT 1"""
_KEYS = {
    "originals": "t.source || ' ' || t.ref",
    "decisions": "t.entry_id || ' ' || coalesce(json_extract(t.detail, '$.at'), '')",
    "tasks": "t.task_id",
    "tags": "t.call_id",
    "memories": "t.memory_id",
    "facts": "t.sequence",
    "documents": "t.kind || ' ' || t.name",
}
"""What tells the records of a table apart, whatever their version."""
_SHARED = {"memories": "memory_id"}
"""Tables whose records any session changes, and the column that tells them apart."""
_THERE = """({alias}.from_seq <= {seq} AND ({alias}.to_seq IS NULL OR {alias}.to_seq > {seq})
    AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.of_table = '{table}' AND g.of_number = {alias}.number
        AND g.from_seq <= {seq} AND g.to_seq > {seq}))"""


class Change(NamedTuple):
    """What a rewinding did: numbers of the rows that were closed and opened, by table."""

    closed: dict[str, list[int]]
    opened: dict[str, list[int]]

    def touches_buffer(self, connection: apsw.Connection) -> bool:
        """Tell whether a decision about a buffer's entry is among them: what is searchable depends on those."""
        numbers = [*self.closed.get("decisions", ()), *self.opened.get("decisions", ())]
        if not numbers:
            return False
        return bool(connection.execute(_OF_BUFFER, (json.dumps(numbers),)).fetchall())


class Stretch(NamedTuple):
    """Operations of a session that count, from one sequence number to another, both included."""

    first: int
    last: int


def create(connection: apsw.Connection) -> None:
    """Make the table, and what the others need for it."""
    connection.execute(_CREATE)


def there(table: str, alias: str, seq: str) -> str:
    """Return the SQL condition that a row was there right after an operation.

    Args:
        table: One of `VERSIONED`.
        alias: Of the table in the statement.
        seq: The operation, as a binding (``?1``, ``:then``).
    """
    return _THERE.format(table=table, alias=alias, seq=seq)


def change(connection: apsw.Connection, session: str | bytes, then: int, now: int) -> Change:
    """Put in force what was in force right after an operation.

    What another session has changed since stays as it is: of a record that both have changed, the newest version is in
    force that was written by an operation that counts.

    Args:
        connection: In a transaction.
        session: Of the rows, as `rows.key` gives it.
        then: The operation to go back to.
        now: The operation that goes back; of this session, newer than all others.
    """
    closed: dict[str, list[int]] = {}
    opened: dict[str, list[int]] = {}
    tables = present(connection)
    for table in tables:
        values: dict[str, Any] = {"session": session, "then": then, "now": now}
        shared = _met(connection, table, session, then)
        parts = {"table": table, "own": _OWN if table == "originals" else "", "alone": ""}
        if shared:
            parts["alone"] = _ALONE.format(key=_SHARED[table])
            values["shared"] = json.dumps(shared)
        opened[table] = _numbers(connection, _BACK.format(**parts), values)
        closed[table] = _numbers(connection, _CLOSE.format(**parts), values)
        closed[table] += _numbers(connection, _CLOSE_AGAIN.format(**parts), values)
        for key in shared:
            old, new = _settled(connection, table, key, (session, then, now))
            closed[table] += old
            opened[table] += new
    for table in tables:  # all are closed first: what is opened may have taken the same place
        reopen(connection, table, opened[table], now)
    return Change(closed, opened)


def state(connection: apsw.Connection, session: str | bytes, seq: int | None) -> dict[str, dict[str, bytes]]:
    """Return what is in force in a session: table to key to digest of the record, now or right after an operation."""
    found: dict[str, dict[str, bytes]] = {}
    for table in (*present(connection), "facts"):
        own = _OWN if table == "originals" else ""
        when = "t.to_seq IS NULL" if seq is None else there(table, "t", ":then")
        rows = connection.execute(
            f"SELECT CAST({_KEYS[table]} AS BLOB), t.record_sha256 FROM {table} t WHERE t.session_id = :session{own} AND {when}",  # noqa: S608
            {"session": session} if seq is None else {"session": session, "then": seq},
        )
        found[table] = {bytes(key).decode("utf-8", "surrogatepass"): bytes(digest) for key, digest in rows}
    return found


def last(connection: apsw.Connection, session: str | bytes, seq: int) -> int:
    """Return the newest operation of a session up to a number; 0 when there is none."""
    return _numbers(connection, _LAST, (session, min(max(seq, 0), 2**63 - 1)))[0]


def note(connection: apsw.Connection, session: str | bytes, seq: int) -> Row | None:
    """Return the operation with which a session's notes were last stored, of those that count right after another one."""
    moves = _moves(connection, session, seq)
    for one in reversed(stretches(moves, seq)):
        found: list[Row] = connection.execute(_NOTED, (session, one.first, one.last)).fetchall()
        if found:
            return found[0]
    return None


def newest(connection: apsw.Connection) -> int:
    """Return the newest rewinding of the home, or taking back of one; 0 when there is none."""
    return _numbers(connection, _NEWEST, ())[0]


def present(connection: apsw.Connection) -> list[str]:
    """Return those of `VERSIONED` that the file has."""
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    names = {name for (name,) in found}
    return [table for table in VERSIONED if table in names]


def reopen(connection: apsw.Connection, table: str, numbers: Sequence[int], now: int) -> None:
    """Put closed rows back in force, and note that they were not there in between."""
    if numbers:
        listed = json.dumps(list(numbers))
        connection.execute(_GAP.format(table=table), (now, listed))
        connection.execute(_OPEN.format(table=table), (listed,))


def stretches(rewinds: Iterable[tuple[int, int]], seq: int) -> list[Stretch]:
    """Return which operations of a session count for what was in force right after one of them, oldest first.

    Args:
        rewinds: Each rewinding as its own sequence number and the one that it went back to, oldest first.
        seq: The operation.
    """
    found, last = [], seq
    for at, target in reversed(list(rewinds)):
        if at <= last:
            found.append(Stretch(at, last))
            last = min(target, at - 1)
    return [Stretch(0, last), *reversed(found)]


def _met(connection: apsw.Connection, table: str, session: str | bytes, then: int) -> list[str]:
    if table not in _SHARED:
        return []
    values = {"session": session, "then": then}
    found: list[Any] = connection.execute(_MET.format(table=table, key=_SHARED[table]), values).fetchall()
    return [key for (key,) in found]


def _settled(
    connection: apsw.Connection, table: str, key: str, move: tuple[str | bytes, int, int]
) -> tuple[list[int], list[int]]:
    """Put in force the version of one record that counts; return the numbers that were closed and are to be opened.

    Args:
        move: The session that goes back, the operation to which, and the operation that does it.
    """
    session, then, now = move
    parts = {"table": table, "key": _SHARED[table]}
    versions: list[Any] = connection.execute(_VERSIONS.format(**parts), (key,)).fetchall()
    removals: list[Any] = connection.execute(_REMOVALS.format(**parts), (key,)).fetchall()
    events = [(seq, owner, None) for seq, owner in removals]
    events += [(from_seq, owner, number) for number, owner, from_seq, _ in versions]
    counted: dict[str | bytes, list[Stretch]] = {}
    for owner in {owner for _, owner, _ in events}:
        moves = _moves(connection, owner, now - 1)
        counted[owner] = stretches([*moves, (now, then)] if owner == session else moves, now)
    counts = [event for event in events if any(one.first <= event[0] <= one.last for one in counted[event[1]])]
    chosen = max(counts, key=lambda event: event[0])[2] if counts else None
    current = [number for number, _, _, to_seq in versions if to_seq is None]
    if current == [chosen] or (chosen is None and not current):
        return [], []
    _numbers(
        connection,
        f"UPDATE {table} SET to_seq = ? WHERE number IN (SELECT value FROM json_each(?)) RETURNING number",  # noqa: S608
        (now, json.dumps(current)),
    )
    return current, [] if chosen is None else [chosen]


def _moves(connection: apsw.Connection, session: str | bytes, until: int) -> list[tuple[int, int]]:
    return [(seq, target) for seq, target in connection.execute(_MOVES, (session, until))]


def _numbers(connection: apsw.Connection, sql: str, values: Any) -> list[int]:
    found: list[Any] = connection.execute(sql, values).fetchall()
    return [number for (number,) in found]
