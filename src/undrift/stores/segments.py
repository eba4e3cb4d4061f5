"""Segments: originals of one session that are compressed together, each segment with its SHA-256.

The row of a packed original keeps its number, its reference and its place; its segment keeps everything else.
Law: knows only its own table and the places in `originals`; runs on a connection that the caller holds.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.packing import CODEC, FORGED, PackedOriginal, packed, record, records, unpacked

__all__ = [
    "OF_SESSION",
    "SESSION",
    "SegmentReader",
    "StoredSegment",
    "append",
    "at_one_moment",
    "create",
    "entry_key",
    "forget",
    "has_all",
    "newer",
    "numbers_of",
    "originals_of",
    "problems",
    "segments_in",
    "texts",
]

_CREATE = """
CREATE TABLE segments(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    originals INTEGER NOT NULL,
    first_number INTEGER NOT NULL,
    last_number INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    raw_bytes INTEGER NOT NULL,
    sha256 BLOB NOT NULL,  -- of all of this row
    scope_number INTEGER NOT NULL DEFAULT 1,
    content BLOB NOT NULL  -- last, so that nothing else is read across it
);
CREATE INDEX segments_of_session ON segments(session_id);
ALTER TABLE originals ADD COLUMN segment INTEGER;  -- NULL: the row itself holds everything
ALTER TABLE originals ADD COLUMN place INTEGER;  -- byte of the segment, before it was compressed
"""
SESSION = "coalesce((SELECT g.session_id FROM segments g WHERE g.number = o.segment), o.session_id)"
"""SQL: the session of original `o`."""
OF_SESSION = """(o.session_id = {0}
    OR EXISTS (SELECT 1 FROM segments g WHERE g.number = o.segment AND g.session_id = {0}))"""
"""SQL, to be formatted with a session: whether original `o` belongs to it."""

_COLUMNS = (
    """number, CAST(session_id AS BLOB), originals, first_number, last_number, codec, raw_bytes, sha256, content"""
)
_SEGMENT_BYTES = 64_000
"""Bytes, before compression, from which on a segment takes no more: larger ones save little, and damage costs more."""
_SEGMENT = f"SELECT {_COLUMNS} FROM segments WHERE number = ?"  # noqa: S608 - constants of ours
_LAST = f"SELECT {_COLUMNS} FROM segments WHERE session_id = ? ORDER BY number DESC LIMIT 1"  # noqa: S608
_OF_SESSION = "SELECT number FROM segments WHERE session_id = ? ORDER BY number"
_ADD = """INSERT INTO segments(session_id, originals, first_number, last_number, codec, raw_bytes, sha256, content)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?) RETURNING number"""
_CHANGE = """UPDATE segments SET session_id = ?, originals = ?, first_number = ?, last_number = ?, codec = ?,
    raw_bytes = ?, sha256 = ?, content = ? WHERE number = ?"""
_GIVEN = "IN (SELECT value FROM json_each(?))"
_TEXTS = f"SELECT number, content, segment, place FROM originals WHERE number {_GIVEN} ORDER BY number"  # noqa: S608
_PACKED = f"SELECT DISTINCT segment FROM originals WHERE number {_GIVEN} AND segment IS NOT NULL"  # noqa: S608
_PLAIN_OF_SESSION = "SELECT number FROM originals WHERE session_id = ?"
_IN_SEGMENT = "SELECT number FROM originals WHERE segment = ?"
_HAS = f"SELECT count(*) FROM originals WHERE number {_GIVEN}"  # noqa: S608
_MOVE = "UPDATE originals SET place = ? WHERE number = ?"
_PLACES = """SELECT number, CAST(ref AS BLOB), source = 'window', segment, place FROM originals
    WHERE segment IS NOT NULL AND (?1 IS NULL OR segment IN (SELECT value FROM json_each(?1))) ORDER BY segment, place"""
_HELD = "SELECT number, originals FROM segments WHERE ?1 IS NULL OR number IN (SELECT value FROM json_each(?1))"
_NEWER = """SELECT number FROM segments WHERE number > ?1 OR last_number > ?2
    UNION SELECT segment FROM originals WHERE number > ?2 AND segment IS NOT NULL"""


class StoredSegment(NamedTuple):
    """One segment. `session`: in the form of `rows.raw`; `raw`: the records of its originals, decompressed."""

    number: int
    session: bytes
    raw: bytes

    def originals(self) -> list[PackedOriginal]:
        """Return the originals in their order. Raises StoreCorrupt: undrift did not write it."""
        try:
            return [one for _, one in records(self.raw)]
        except FORGED as error:
            raise _forged(self.number, error) from error


class SegmentReader:
    """Reads originals from segments; keeps the segment that it read last, because neighbours are read in order."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._segment: StoredSegment | None = None

    def segment(self, number: int) -> StoredSegment:
        """Return a segment. Raises StoreCorrupt: it does not match its SHA-256, or is missing."""
        if self._segment is None or self._segment.number != number:
            found = self._connection.execute(_SEGMENT, (number,)).fetchall()
            if not found:
                raise StoreCorrupt(f"segment {number} is missing; {rows.REMEDY}")
            self._segment = _checked(found[0])
        return self._segment

    def original(self, number: int, segment: int, place: int) -> PackedOriginal:
        """Return one original. Raises StoreCorrupt: its segment is damaged, or holds another one at this place."""
        raw = self.segment(segment).raw
        try:
            found = next((one for _, one in records(raw, place)), None) if place >= 0 else None
        except FORGED:
            found = None
        if found is None or found.number != number:
            raise StoreCorrupt(f"segment {segment} holds another original at this place; {rows.REMEDY}")
        return found


@contextmanager
def at_one_moment(connection: apsw.Connection) -> Iterator[None]:
    """Let all that is read be of one moment: a commit between a row and its segment looks like damage."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        with suppress(apsw.Error):  # nothing was written; the first error is raised
            connection.execute("COMMIT")


def create(connection: apsw.Connection) -> None:
    """Make the table, and the columns of `originals` that point into it; no row is read or changed."""
    connection.execute(_CREATE)


def entry_key(session: bytes, entry_id: str) -> bytes:
    """Return the short key by which a packed original of an entry is found. `session`: in the form of `rows.raw`."""
    return rows.digest(session, rows.raw(entry_id))[:8]


def append(
    connection: apsw.Connection, session: str | bytes, originals: Iterable[PackedOriginal]
) -> Iterator[tuple[int, int, PackedOriginal]]:
    """Append originals to the session's newest segment while it has room, then to new ones; yield segment and place of each.

    `session`: in the form of `rows.key`.
    """
    newest = _newest(connection, session)
    number, raw = (newest.number, newest.raw) if newest and len(newest.raw) < _SEGMENT_BYTES else (None, b"")
    placed: list[tuple[int, PackedOriginal]] = []
    for one in originals:
        placed.append((len(raw), one))
        raw += record(one)
        if len(raw) >= _SEGMENT_BYTES:
            yield from _written(connection, session, raw, number, placed)
            number, raw, placed = None, b"", []
    if placed:
        yield from _written(connection, session, raw, number, placed)


def texts(
    connection: apsw.Connection, numbers: Iterable[int], reader: SegmentReader | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the text of originals, in UTF-8 with lone surrogates, in the order of the numbers.

    A number that no original has is left out, and so is a text in a damaged segment. The text of a plain row is as the
    disk has it: nothing compares it with its hash. `reader`: of the same connection, for call after call at one moment.
    """
    read = reader or SegmentReader(connection)
    found: list[Any] = connection.execute(_TEXTS, (json.dumps(list(numbers)),)).fetchall()
    for number, content, segment, place in found:
        if segment is None:
            yield number, content if isinstance(content, bytes) else str(content).encode("utf-8", "replace")
            continue
        try:
            one = read.original(number, segment, place)
        except StoreCorrupt:
            continue
        yield number, one.content


def has_all(connection: apsw.Connection, numbers: Collection[int]) -> bool:
    """Tell whether there is an original under each of these numbers."""
    found: list[Any] = connection.execute(_HAS, (json.dumps(sorted(numbers)),)).fetchall()
    return bool(found[0][0] == len(numbers))


def originals_of(connection: apsw.Connection, session: str | bytes) -> Iterator[PackedOriginal]:
    """Yield the packed originals of a session, without those in damaged segments."""
    found: list[Any] = connection.execute(_OF_SESSION, (session,)).fetchall()
    for segment in _readable(connection, found):
        yield from segment.originals()


def segments_in(connection: apsw.Connection) -> Iterator[StoredSegment]:
    """Yield all segments but the damaged ones."""
    found: list[Any] = connection.execute("SELECT number FROM segments ORDER BY number").fetchall()
    yield from _readable(connection, found)


def numbers_of(connection: apsw.Connection, session: str | bytes) -> list[int]:
    """Return the numbers of all originals of a session, those in damaged segments too."""
    plain: list[Any] = connection.execute(_PLAIN_OF_SESSION, (session,)).fetchall()
    found = [number for (number,) in plain]
    read = SegmentReader(connection)
    segments: list[Any] = connection.execute(_OF_SESSION, (session,)).fetchall()
    for (segment,) in segments:
        try:
            found += [one.number for one in read.segment(segment).originals()]
        except StoreCorrupt:
            found += _pointing(connection, segment)
    return sorted(found)


def forget(connection: apsw.Connection, numbers: Collection[int]) -> None:
    """Remove originals from their segments; the caller holds a transaction, and deletes their rows afterwards.

    A segment that holds others as well is rewritten without them; one without others is deleted. A damaged segment
    cannot be rewritten: it is deleted if all of its originals are to go.

    Raises StoreCorrupt: a damaged segment holds others as well; nothing of it was changed.
    """
    gone = set(numbers)
    read = SegmentReader(connection)
    touched: list[Any] = connection.execute(_PACKED, (json.dumps(sorted(gone)),)).fetchall()
    for (number,) in touched:
        session, kept = b"", []
        try:
            session = read.segment(number).session
            kept = [one for one in read.segment(number).originals() if one.number not in gone]
        except StoreCorrupt:
            if not gone.issuperset(_pointing(connection, number)):
                raise
        if not kept:
            connection.execute("DELETE FROM segments WHERE number = ?", (number,))
            continue
        raw, places = b"", []
        for one in kept:
            places.append((len(raw), one.number))
            raw += record(one)
        _put(connection, rows.key(rows.text_from(session)), raw, number)
        connection.executemany(_MOVE, places)


def newer(connection: apsw.Connection, segment: int, original: int) -> list[int]:
    """Return the segments that were added or appended to since these were the highest numbers."""
    found: list[Any] = connection.execute(_NEWER, (segment, original)).fetchall()
    return [number for (number,) in found]


def problems(
    connection: apsw.Connection,
    check: Callable[[bytes, PackedOriginal], object],
    chosen: Collection[int] | None = None,
) -> Iterator[str]:
    """Yield the problems of segments and of the places in them; a damaged one names each of its originals.

    Args:
        check: Makes an original from its session and what a segment holds; raises StoreCorrupt.
        chosen: The segments to read; None: all of them.
    """
    given = (None if chosen is None else json.dumps(sorted(chosen)),)
    with at_one_moment(connection):
        yield from _problems(connection, check, given)


def _problems(
    connection: apsw.Connection, check: Callable[[bytes, PackedOriginal], object], given: tuple[str | None]
) -> Iterator[str]:
    seen: dict[int, int] = {}
    reader = SegmentReader(connection)
    places: Iterable[Any] = connection.execute(_PLACES, given)
    for number, ref, is_of_window, segment, place in places:
        seen[segment] = seen.get(segment, 0) + 1
        try:
            one = reader.original(number, segment, place)
            check(reader.segment(segment).session, one)
            if rows.raw(one.ref) != ref or not is_of_window:
                raise StoreCorrupt(f"segment {segment} says something else than its row; {rows.REMEDY}")
        except StoreCorrupt as error:
            yield f"original {rows.shown(ref)}: {error}"
    held: list[Any] = connection.execute(_HELD, given).fetchall()
    for number, originals in held:
        if seen.get(number, 0) != originals:
            yield f"segment {number} holds {originals} originals, and {seen.get(number, 0)} rows point into it; {rows.REMEDY}"


def _readable(connection: apsw.Connection, numbers: Iterable[tuple[int]]) -> Iterator[StoredSegment]:
    read = SegmentReader(connection)
    for (number,) in numbers:
        with suppress(StoreCorrupt):
            yield read.segment(number)


def _newest(connection: apsw.Connection, session: str | bytes) -> StoredSegment | None:
    """Return the newest segment of a session; None if there is none, or if it is damaged."""
    found = connection.execute(_LAST, (session,)).fetchall()
    try:
        return _checked(found[0]) if found else None
    except StoreCorrupt:
        return None


def _written(
    connection: apsw.Connection,
    session: str | bytes,
    raw: bytes,
    number: int | None,
    placed: Iterable[tuple[int, PackedOriginal]],
) -> Iterator[tuple[int, int, PackedOriginal]]:
    number = _put(connection, session, raw, number)
    yield from ((number, place, one) for place, one in placed)


def _put(connection: apsw.Connection, session: str | bytes, raw: bytes, number: int | None) -> int:
    """Write a segment; return its number. `number`: the segment to replace; None: a new one."""
    numbers = [one.number for _, one in records(raw)]
    figures = (len(numbers), min(numbers), max(numbers), CODEC, len(raw))
    content = packed(raw)
    digest = rows.digest(rows.stored(session), *figures, content)
    values = (session, *figures, digest, content)
    if number is None:
        found: list[Any] = connection.execute(_ADD, values).fetchall()
        return int(found[0][0])
    connection.execute(_CHANGE, (*values, number))
    return number


def _pointing(connection: apsw.Connection, segment: int) -> list[int]:
    """Return the numbers of a damaged segment's originals; no index leads to them, so all rows are looked at."""
    found: list[Any] = connection.execute(_IN_SEGMENT, (segment,)).fetchall()
    return [number for (number,) in found]


def _checked(row: Any) -> StoredSegment:
    number, session, originals, first, last_number, codec, raw_bytes, sha256, content = row
    if sha256 != rows.digest(session, originals, first, last_number, codec, raw_bytes, content):
        raise StoreCorrupt(f"segment {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        return StoredSegment(number, session, unpacked(codec, content, raw_bytes))
    except FORGED as error:
        raise _forged(number, error) from error


def _forged(number: int, error: Exception) -> StoreCorrupt:
    return StoreCorrupt(f"segment {number} was not written by undrift: {error}; {rows.REMEDY}")
