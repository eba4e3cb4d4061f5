"""The check of a store: records are read and compared with their hashes; each problem is a sentence.

Law: changes nothing; damage is an answer, never an exception.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import search, segments
from undrift.stores.checked import NOTHING, Checked
from undrift.stores.originals import unpacked_original
from undrift.stores.packing import PackedOriginal
from undrift.stores.tables import TABLES

__all__ = ["CheckRun", "OF_THE_INDEX", "problems"]

OF_THE_INDEX = "the search index"
"""The beginning of each sentence about data that can be rebuilt; no other sentence begins with it, for any ids."""

_MOST_FINDINGS = 100

_ORPHANS = f"""SELECT CAST(d.session_id AS BLOB), CAST(d.entry_id AS BLOB), CAST(d.ref AS BLOB) FROM decisions d
    WHERE d.ref IS NOT NULL AND (?1 IS NULL OR d.from_seq > ?1) AND NOT EXISTS (
        SELECT 1 FROM originals o WHERE o.ref = d.ref AND {segments.OF_SESSION.format("d.session_id")})"""  # noqa: S608
_TAGS_OF_NO_TASK = """SELECT CAST(g.session_id AS BLOB), CAST(g.call_id AS BLOB), CAST(g.task_id AS BLOB) FROM tags g
    WHERE (?1 IS NULL OR g.from_seq > ?1) AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.session_id = g.session_id AND t.task_id = g.task_id)"""


@dataclass(slots=True)
class CheckRun:
    """One check. `since`: up to where an earlier one came; `records`: how many this one has read."""

    since: Checked = NOTHING
    records: int = 0

    @property
    def is_full(self) -> bool:
        """Tell whether everything is read."""
        return self.since == NOTHING


def problems(connection: apsw.Connection, reading: CheckRun | None = None) -> Iterator[str]:
    """Yield the problems of the file, the records, their connections, and the search index.

    `reading`: where to begin; without one everything is read. A check that begins later does not read the file as a
    whole, nor the words of the index: both take time with the size of the file.
    """
    reading = reading or CheckRun()
    checks: dict[str, Callable[[apsw.Connection, CheckRun], Iterator[str]]] = {
        "the file": _structure,
        "the records": _records,
        "the segments": _segments,
        "what ties the records together": _orphans,
        OF_THE_INDEX: _index,
    }
    for name, check in checks.items():
        try:
            yield from check(connection, reading)
        except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, UnicodeDecodeError) as error:
            yield f"{name}: cannot be read: {error}"


def _structure(connection: apsw.Connection, reading: CheckRun) -> Iterator[str]:
    if not reading.is_full:
        return
    for (finding,) in connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})"):
        if "fts5" in str(finding).lower():  # SQLite checks the index as well, and this is no damage of the truth
            yield f"{OF_THE_INDEX}: {finding}"
        elif finding != "ok":
            yield f"the file: {finding}"


def _records(connection: apsw.Connection, reading: CheckRun) -> Iterator[str]:
    for table in TABLES:
        if table.read is None:
            continue
        newer = f"{table.seq} > {reading.since.seq:d}" if table.seq and not reading.is_full else ""
        where = " AND ".join(one for one in (table.where, newer) if one) or "TRUE"
        for row in connection.execute(f"SELECT {table.columns} FROM {table.name} WHERE {where}"):  # noqa: S608 - constants of ours
            reading.records += bool(table.seq)  # the others are read each time
            try:
                table.read(row)
            except StoreCorrupt as error:
                yield str(error)


def _segments(connection: apsw.Connection, reading: CheckRun) -> Iterator[str]:
    since = reading.since
    chosen = None if reading.is_full else segments.newer(connection, since.segment, since.original)

    def check(session: bytes, packed: PackedOriginal) -> None:
        reading.records += 1
        unpacked_original(session, packed)

    yield from segments.problems(connection, check, chosen)


def _orphans(connection: apsw.Connection, reading: CheckRun) -> Iterator[str]:
    since = (None if reading.is_full else reading.since.seq,)
    for row in connection.execute(_ORPHANS, since):
        session_id, entry_id, ref = (value.decode("utf-8", "replace") for value in row)
        yield f"decision about {entry_id!r} in session {session_id!r}: its original {ref!r} is missing"
    for row in connection.execute(_TAGS_OF_NO_TASK, since):
        session_id, call_id, task_id = (value.decode("utf-8", "replace") for value in row)
        yield f"tag of call {call_id!r} in session {session_id!r}: its task {task_id!r} is missing"
    if not reading.is_full:
        return
    for table, number, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        if parent == "operations":
            yield f"{table} {number}: the operation that it belongs to is missing"


def _index(connection: apsw.Connection, reading: CheckRun) -> Iterator[str]:
    if not search.complete(connection):
        yield f"{OF_THE_INDEX} is missing; rebuild_search() rebuilds it"
    elif not reading.is_full or connection.readonly("main") or connection.pragma("query_only"):
        return  # SQLite counts the check among the writes
    elif not search.agrees(connection):
        yield f"{OF_THE_INDEX} does not match the originals; rebuild_search() rebuilds it"
