"""Reads one SQLite file: originals, decisions about them, and the search for their words.

Law: only reads. A damaged index may lead to rows of another session; then StoreCorrupt is raised.
"""

from dataclasses import replace

import apsw

from undrift.errors import GoneError, RecallError, StoreCorrupt
from undrift.stores import indexing, rows, segments
from undrift.stores.base import Found, Known
from undrift.stores.database import Database
from undrift.stores.decisions import DECISION_COLUMNS, decision_from
from undrift.stores.known import DECISIONS, PINS, read
from undrift.stores.matching import Match, matches
from undrift.stores.originals import BUFFER, ORIGINAL_SESSION, PLACED_COLUMNS, original_from, stored_original
from undrift.values.window import ContextEntry, Decision, Original

__all__ = ["SqliteOriginals"]

_ORIGINALS = f"SELECT {PLACED_COLUMNS} FROM originals "  # noqa: S608
_BY_REF = _ORIGINALS + "WHERE ref = ?"
_BY_NUMBER = _ORIGINALS + "WHERE number = ?"
_BY_ENTRY = (
    _ORIGINALS
    + """WHERE (session_id = ? AND entry_id = ? AND to_seq IS NULL) OR (session_id = '' AND entry_id = ?)
    ORDER BY number DESC LIMIT 1"""
)
_DECISION = f"""SELECT {DECISION_COLUMNS} FROM decisions
    WHERE ref = ? AND to_seq IS NULL ORDER BY number DESC LIMIT 1"""  # noqa: S608
_SWEPT = "SELECT count(DISTINCT session_id) FROM operations WHERE kind = 'sweep'"
_GONE = f"""SELECT {DECISION_COLUMNS} FROM decisions
    WHERE ref IS NULL AND json_extract(detail, '$.gone_ref') = ? AND to_seq IS NULL ORDER BY number DESC LIMIT 1"""  # noqa: S608
_GONE_ENTRY = f"""SELECT {DECISION_COLUMNS} FROM decisions WHERE session_id = ? AND entry_id = ? AND ref IS NULL
    AND to_seq IS NULL ORDER BY number DESC LIMIT 1"""  # noqa: S608
_NAMES = f"""SELECT CAST(ref AS BLOB), CAST({segments.SESSION} AS BLOB), CAST(CASE WHEN o.segment IS NULL THEN entry_id
    ELSE coalesce((SELECT d.entry_id FROM decisions d WHERE d.ref = o.ref LIMIT 1), '') END AS BLOB), CAST(type AS BLOB)
    FROM originals o WHERE number = ?"""  # noqa: S608 - constants of ours
_DECIDED = "SELECT 1 FROM decisions WHERE session_id = ? AND entry_id = ? AND to_seq IS NULL AND ref IS NOT NULL"
_WRONG_WAY = f"an index of the file is damaged; {rows.REMEDY}"
_DAMAGED = "(damaged on disk: what is there does not match its SHA-256)"


class SqliteOriginals:
    """`OriginalStore` and `DecisionStore` in one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def decided(self, session_id: str, known: Known | None = None) -> tuple[Decision, ...]:
        with self._database.using() as connection:
            return tuple(read(connection, session_id, DECISIONS, known.decisions if known else None))

    def decisions(self, session_id: str) -> dict[str, Decision]:
        return {decision.entry_id: decision for decision in self.decided(session_id)}

    def decision(self, ref: str) -> Decision | None:
        found = next(map(decision_from, self._read(_DECISION, rows.key(ref))), None)
        if found is None:
            return next(map(decision_from, self._read(_GONE, rows.key(ref))), None)
        if found.ref != ref:
            raise StoreCorrupt(f"decision about {ref!r}: {_WRONG_WAY}")
        return found

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        found = map(original_from, self._of(session_id, BUFFER, ORIGINAL_SESSION))
        return tuple(replace(stored.original.entry, seq=stored.number) for stored in found)

    def pins(self, session_id: str, known: Known | None = None) -> tuple[Original, ...]:
        with self._database.using() as connection:
            return tuple(read(connection, session_id, PINS, known.pins if known else None))

    def original(self, ref: str) -> Original:
        for found in self._originals(_BY_REF, rows.key(ref), ref=ref):
            if found.ref == ref:
                return found
            raise StoreCorrupt(f"original {ref!r}: {_WRONG_WAY}")
        if self._read(_DECISION, rows.key(ref)):  # no answer and a damaged index must not look alike
            raise StoreCorrupt(f"original {ref!r} is not found, though a decision names it; {_WRONG_WAY}")
        for row in self._read(_GONE, rows.key(ref)):
            raise GoneError(f"{ref}: {decision_from(row).reason}")
        swept = self._read(_SWEPT)[0]
        if swept[0]:
            raise RecallError(
                f"no original {ref[:64]!r} in {self._database.path.parent}; check the reference. The texts of "
                f"{swept[0]:,} sessions were swept"
            )
        raise RecallError(f"no original {ref[:64]!r} in {self._database.path.parent}; check the reference and --home")

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        short = segments.entry_key(rows.raw(session_id), entry_id)
        for found in self._originals(_BY_ENTRY, rows.key(session_id), rows.key(entry_id), short):
            if (found.session_id, found.entry.id) == (session_id, entry_id):
                return found
            raise StoreCorrupt(f"original of entry {entry_id!r}: {_WRONG_WAY}")
        if self._read(_DECIDED, rows.key(session_id), rows.key(entry_id)):
            raise StoreCorrupt(f"the original of entry {entry_id!r} is not found, though it was decided; {_WRONG_WAY}")
        for row in self._read(_GONE_ENTRY, rows.key(session_id), rows.key(entry_id)):
            raise GoneError(f"{entry_id[:64]}: {decision_from(row).reason}")
        raise RecallError(
            f"session {session_id[:64]!r} has no original of an entry {entry_id[:64]!r}; check both ids and --home"
        )

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        if limit <= 0:
            return ()
        indexing.catch_up(self._database.using)
        with self._database.using() as connection, segments.at_one_moment(connection):
            found = [self._found(connection, match) for match in matches(connection, query, session_id, limit)]
        # A damaged index may lead to rows of another session.
        return tuple(one for one in found if session_id is None or one.session_id == session_id)

    def _originals(self, sql: str, *bindings: str | bytes, ref: str = "") -> list[Original]:
        with self._database.using(ref) as connection, segments.at_one_moment(connection):
            found: list[rows.Row] = connection.execute(sql, bindings).fetchall()
            return [stored_original(connection, row).original for row in found]

    def _read(self, sql: str, *bindings: str | bytes, ref: str = "") -> list[rows.Row]:
        with self._database.using(ref) as connection:
            return connection.execute(sql, bindings).fetchall()

    def _of(self, session_id: str, sql: str, column: int, *more: str) -> list[rows.Row]:
        """Read rows of one session; check each, because a damaged index may lead to another session's rows."""
        found = self._read(sql, rows.key(session_id), *more)
        if any(row[column] != rows.raw(session_id) for row in found):
            raise StoreCorrupt(f"session {session_id[:64]!r}: {_WRONG_WAY}")
        return found

    def _found(self, connection: apsw.Connection, match: Match) -> Found:
        (row,) = connection.execute(_BY_NUMBER, (match.number,)).fetchall()
        try:
            original = stored_original(connection, row).original
        except StoreCorrupt:
            # The other results are returned, and this one is not skipped: a missing answer must not look like none.
            (names,) = connection.execute(_NAMES, (match.number,)).fetchall()
            ref, session_id, entry_id, kind = (rows.shown_text(name) for name in names)
            return Found(ref, session_id, entry_id, kind, _DAMAGED, match.score)
        entry = original.entry
        return Found(original.ref, original.session_id, entry.id, entry.type, match.snippet, match.score)
