"""Session facts, in every version.

Law: knows only its own table; runs inside a transaction that the caller opened. A row is never changed: a change closes it
and adds another, so that the facts of any operation can be read. If another process has changed a fact meanwhile,
StoreError is raised and the caller rolls back.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import apsw

from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import rows
from undrift.stores.table import Table, Writing
from undrift.values.facts import FactChange, FactVersion, SessionFact

__all__ = [
    "FACT_COLUMNS",
    "FACT_SESSION",
    "PreparedFacts",
    "TABLE",
    "create",
    "fact_from",
    "fact_row",
    "find",
    "last_seq",
    "next_sequence",
    "rewind",
]

FACT_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), sequence, CAST(fact_id AS BLOB), is_valid,
    CAST(record AS BLOB)"""
FACT_SESSION = 2
"""The session's index in the columns."""

_CREATE = """
CREATE TABLE facts(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,  -- of the version: the same in each row of it
    fact_id TEXT NOT NULL,
    is_valid INTEGER NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    to_seq INTEGER REFERENCES operations(seq),
    record_sha256 BLOB NOT NULL,
    record TEXT NOT NULL
);
CREATE UNIQUE INDEX facts_now ON facts(session_id, sequence) WHERE to_seq IS NULL;
CREATE INDEX facts_from ON facts(session_id, from_seq);
CREATE INDEX facts_to ON facts(session_id, to_seq) WHERE to_seq IS NOT NULL;
CREATE INDEX facts_sequence ON facts(session_id, sequence);
"""
_FIND = f"SELECT {FACT_COLUMNS} FROM facts WHERE session_id = ? AND "  # noqa: S608 - constants of ours
_NOW = "to_seq IS NULL ORDER BY sequence"
_THEN = "from_seq <= ? AND (to_seq IS NULL OR to_seq > ?) ORDER BY sequence"
_ONE = "to_seq IS NULL AND sequence = ?"
_CLOSE = "UPDATE facts SET to_seq = ? WHERE number = ?"
_ADD = """INSERT INTO facts(session_id, sequence, fact_id, is_valid, record_sha256, record, from_seq)
    VALUES(?, ?, ?, ?, ?, ?, ?)"""
_LAST_SEQ = """SELECT max(coalesce((SELECT max(from_seq) FROM facts WHERE session_id = ?), 0),
    coalesce((SELECT max(to_seq) FROM facts WHERE session_id = ? AND to_seq IS NOT NULL), 0))"""
_LAST_SEQUENCE = "SELECT coalesce(max(sequence), 0) FROM facts WHERE session_id = ?"
_REOPEN = """INSERT INTO facts(session_id, sequence, fact_id, is_valid, record_sha256, record, from_seq)
    SELECT session_id, sequence, fact_id, is_valid, record_sha256, record, :seq FROM facts
    WHERE session_id = :session AND from_seq <= :to AND to_seq > :to ORDER BY sequence"""
_HIDE = "UPDATE facts SET to_seq = :seq WHERE session_id = :session AND from_seq > :to AND to_seq IS NULL"
_AGAIN = "nothing was written. Read the run's facts again and repeat the change"


@dataclass(frozen=True, slots=True)
class PreparedFacts:
    """The changes of one session's facts, checked and hashed: each version before, and its new row."""

    session_id: str
    changes: Sequence[tuple[FactVersion | None, rows.Row | None, int]]


def create(connection: apsw.Connection) -> None:
    """Make the table."""
    connection.execute(_CREATE)


def _prepared(session_id: str, changes: Sequence[FactChange]) -> PreparedFacts:
    """Check the changes.

    Raises InputError: two changes of one version, an empty change, or values that JSON cannot hold.
    """
    seen: set[int] = set()
    ready = []
    for change in changes:
        sequences = {one.sequence for one in (change.before, change.after) if one is not None}
        if len(sequences) != 1 or sequences & seen:
            raise InputError("facts: a commit takes one change for each version, of one and the same sequence")
        seen |= sequences
        row = None if change.after is None else fact_row(session_id, change.after)
        ready.append((change.before, row, sequences.pop()))
    return PreparedFacts(session_id, ready)


def find(connection: apsw.Connection, session_id: str, as_of: int | None = None) -> tuple[FactVersion, ...]:
    """Return the versions of a session, now or right after an operation, in their order.

    Raises StoreCorrupt: a record does not match its SHA-256, or an index leads elsewhere.
    """
    key = rows.key(session_id)
    if as_of is None:
        found: list[rows.Row] = connection.execute(_FIND + _NOW, (key,)).fetchall()
    else:
        found = connection.execute(_FIND + _THEN, (key, as_of, as_of)).fetchall()
    if any(row[FACT_SESSION] != rows.raw(session_id) for row in found):
        raise StoreCorrupt(f"facts of session {session_id[:64]!r}: an index of the file is damaged; {rows.REMEDY}")
    return tuple(map(fact_from, found))


def last_seq(connection: apsw.Connection, session_id: str) -> int:
    """Return the newest operation that changed a fact of the session; 0 without any."""
    key = rows.key(session_id)
    found: Any = connection.execute(_LAST_SEQ, (key, key)).fetchall()
    return int(found[0][0])


def next_sequence(connection: apsw.Connection, session_id: str) -> int:
    """Return the sequence number for the next version: greater than all before it, dropped ones included."""
    found: Any = connection.execute(_LAST_SEQUENCE, (rows.key(session_id),)).fetchall()
    return int(found[0][0]) + 1


def _write(writing: Writing, new: PreparedFacts) -> None:
    """Write the changes that are not written yet.

    Raises StoreError: a stored version equals neither the one before the change nor the one after it.
    """
    connection, seq, session = writing.connection, writing.seq, rows.key(new.session_id)
    for before, row, sequence in new.changes:
        found: list[Any] = connection.execute(_FIND + _ONE, (session, sequence)).fetchall()
        now = found[0] if found else None
        if now is not None and row is not None and now[1] == row[4]:
            continue
        if (None if now is None else fact_from(now)) != before:
            raise StoreError(f"fact {sequence}: it was changed meanwhile, by another process; {_AGAIN}")
        if now is not None:
            connection.execute(_CLOSE, (seq, now[0]))
        if row is not None:
            connection.execute(_ADD, (*row, seq))


def rewind(connection: apsw.Connection, session_id: str, to: int, seq: int) -> None:
    """Rewind the facts of a session to an operation; the rewind is part of a later operation.

    Args:
        connection: A connection in a transaction.
        to: The operation to go back to.
        seq: The rewind's own operation. Nothing is deleted: undoing is the same act.
    """
    named: dict[str, Any] = {"session": rows.key(session_id), "to": to, "seq": seq}
    connection.execute(_HIDE, named)
    closed_now = connection.execute(_REOPEN, named)
    closed_now.fetchall()


def fact_row(session_id: str, version: FactVersion) -> rows.Row:
    """Return the values of a version of a fact: session_id, sequence, fact_id, is_valid, record_sha256, record."""
    fact = version.fact
    fields = asdict(fact)
    for name in ("id", "run_id"):  # these have columns of their own
        del fields[name]
    record = rows.dump(fields, "fact %r", fact.id, encode=rows.ENCODE_SORTED)
    rows.check_integers("fact %r: ", fact.id, sequence=version.sequence)
    is_valid = int(fact.valid_to is None)
    digest = rows.digest(rows.raw(session_id), version.sequence, rows.raw(fact.id), is_valid, record)
    return rows.key(session_id), version.sequence, rows.key(fact.id), is_valid, digest, record


def fact_from(row: rows.Row) -> FactVersion:
    """Read a version of a fact from a row. Raises StoreCorrupt."""
    number, digest, session_id, sequence, fact_id, _, record = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"fact {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        return FactVersion(
            sequence, SessionFact(rows.text_from(fact_id), run_id=rows.text_from(session_id), **rows.load(record))
        )
    except rows.FORGED as error:
        raise StoreCorrupt(f"fact {number} was not written by undrift: {error}; {rows.REMEDY}") from error


TABLE = Table(
    "facts",
    FACT_COLUMNS,
    fact_from,
    changes=(FactChange,),
    prepare=_prepared,
    write=_write,
    key="t.sequence",  # `rewind` is their own way of rewinding
)
