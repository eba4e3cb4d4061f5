"""Originals: entries that were removed from a window, are in a buffer, or are pinned; each with its SHA-256.

Law: knows only its own table; runs inside a transaction that the caller opened. A reference belongs to one content forever.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw

from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import rows, search, segments, timeline
from undrift.stores.packing import PackedOriginal
from undrift.stores.table import Table, Writing
from undrift.values.window import ContextEntry, MaskedSpan, Original

__all__ = [
    "BUFFER",
    "ORIGINAL_COLUMNS",
    "ORIGINAL_SESSION",
    "PLACED_COLUMNS",
    "PLAIN_BYTES",
    "StoredOriginal",
    "TABLE",
    "original_from",
    "original_row",
    "stored_original",
    "unpacked_original",
]

ORIGINAL_COLUMNS = """number, record_sha256, CAST(ref AS BLOB), CAST(session_id AS BLOB), CAST(source AS BLOB),
    CAST(entry_id AS BLOB), CAST(type AS BLOB), token_count, timestamp, entry_seq, sha256, CAST(metadata AS BLOB),
    CAST(masked AS BLOB), content"""
ORIGINAL_SESSION = 3
"""The session's index in the columns."""
PLACED_COLUMNS = f"{ORIGINAL_COLUMNS}, segment, place"
"""The columns for `stored_original`."""
_ADD_ORIGINAL = """INSERT INTO originals(ref, session_id, source, entry_id, type, token_count, timestamp, entry_seq,
    sha256, record_sha256, metadata, masked, content, from_seq) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(ref) DO NOTHING RETURNING number, source"""
_SAME_ORIGINAL = (
    "SELECT 1 FROM originals WHERE ref = ? AND session_id = ? AND source = ? AND entry_id = ? AND sha256 = ?"
)
PLAIN_BYTES = 16_000
"""Bytes that a session may have in plain rows: with fewer, the same segment would be compressed more often."""
_ADD_SMALL = """INSERT INTO originals(ref, session_id, source, entry_id, type, token_count, timestamp, entry_seq, sha256,
    record_sha256, content, from_seq, segment, place) VALUES(?, '', 'window', ?, '', 0, 0, 0, x'', x'', x'', ?, 0, 0)
    ON CONFLICT(ref) DO NOTHING RETURNING number, CAST(ref AS BLOB)"""
_PLACE = "UPDATE originals SET segment = ?, place = ? WHERE number = ?"
_PACKED_ORIGINAL = f"""SELECT {PLACED_COLUMNS} FROM originals o
    WHERE ref = :ref AND segment IS NOT NULL AND source = :source AND {segments.OF_SESSION.format(":session")}
    AND entry_id = :key"""  # noqa: S608 - constants of ours
_CLOSED_ORIGINAL = "SELECT number FROM originals WHERE ref = ? AND to_seq IS NOT NULL"

BUFFER = f"""SELECT {ORIGINAL_COLUMNS} FROM originals WHERE number IN (
        SELECT o.number FROM originals o
        WHERE o.session_id = ? AND o.source = 'buffer' AND o.to_seq IS NULL AND NOT {search.REMOVED})
    ORDER BY number"""  # noqa: S608
"""Entries that no ``pruned`` decision removed, oldest first."""


class StoredOriginal(NamedTuple):
    """An original and its number in the store."""

    number: int
    original: Original


def original_row(original: Original) -> rows.Row:
    """Return the values of a new original: the columns of the table from ref to content, without from_seq and to_seq."""
    entry = original.entry
    content = rows.raw(entry.content)
    sha256 = hashlib.sha256(content).digest()
    metadata = rows.dump(entry.metadata, "entry %r: metadata", entry.id)
    spans = [(span.name, span.start, span.length) for span in original.masked]
    masked = rows.dump(spans, "entry %r: masked", entry.id) if spans else None
    texts = (original.ref, original.session_id, original.source, entry.id, entry.type)
    numbers = (entry.token_count, entry.timestamp, entry.seq)
    rows.check_integers("entry %r: ", entry.id, token_count=numbers[0], timestamp=numbers[1], seq=numbers[2])
    digest = rows.digest(*map(rows.raw, texts), *numbers, sha256, metadata, masked)
    return *map(rows.key, texts), *numbers, sha256, digest, metadata, masked, content


def original_from(row: rows.Row) -> StoredOriginal:
    """Read an original from its own row. Raises StoreCorrupt, with the reference in the message."""
    number, digest, ref, session_id, source, entry_id, kind = row[:7]
    tokens, timestamp, seq, sha256, metadata, masked, content = row[7:]
    if (
        not isinstance(content, bytes)
        or hashlib.sha256(content).digest() != sha256
        or digest != rows.digest(*row[2:-1])
    ):
        raise StoreCorrupt(
            f"original {rows.shown(ref)} does not match its SHA-256: what the disk holds is not what was stored; {rows.REMEDY}"
        )
    try:
        names = (rows.text_from(ref), rows.text_from(entry_id), rows.text_from(kind))
        packed = PackedOriginal(number, *names, tokens, timestamp, seq, metadata, masked, content)
        return _original(packed, rows.text_from(session_id), rows.text_from(source))
    except rows.FORGED as error:
        raise StoreCorrupt(f"original {rows.shown(ref)} was not written by undrift: {error}; {rows.REMEDY}") from error


def stored_original(connection: apsw.Connection, row: rows.Row) -> StoredOriginal:
    """Read an original from a row of `PLACED_COLUMNS`, or from its segment.

    Raises StoreCorrupt, with the reference in the message.
    """
    *own, segment, place = row
    if segment is None:
        return original_from(tuple(own))
    try:
        reader = segments.SegmentReader(connection)
        found = unpacked_original(reader.segment(segment).session, reader.original(row[0], segment, place))
        if rows.raw(found.original.ref) != row[2]:
            raise StoreCorrupt(f"segment {segment} says something else than its row; {rows.REMEDY}")
        return found
    except StoreCorrupt as error:
        raise StoreCorrupt(f"original {rows.shown(row[2])}: {error}") from error


def unpacked_original(session: bytes, packed: PackedOriginal) -> StoredOriginal:
    """Read an original that a segment holds. Raises StoreCorrupt: undrift did not write it."""
    try:
        return _original(packed, rows.text_from(session), "window")
    except rows.FORGED as error:
        raise StoreCorrupt(f"it was not written by undrift: {error}; {rows.REMEDY}") from error


def _original(packed: PackedOriginal, session_id: str, source: Any) -> StoredOriginal:
    spans = tuple(MaskedSpan(*span) for span in rows.load(packed.masked)) if packed.masked else ()
    type_: Any = packed.type
    rows.raw(packed.ref)  # a reference is a text
    content, metadata = rows.text_from(packed.content), rows.load(packed.metadata)
    entry = ContextEntry(
        packed.entry_id, type_, content, packed.token_count, packed.timestamp, metadata, seq=packed.entry_seq
    )
    return StoredOriginal(packed.number, Original(packed.ref, session_id, source, entry, spans))


def _prepared(session_id: str, originals: Sequence[Original]) -> list[rows.Row]:
    for one in originals:
        if one.session_id != session_id:
            raise InputError(f"original {one.ref}: is of session {one.session_id!r}, not {session_id!r}")
    return [original_row(one) for one in originals]


def _write(writing: Writing, originals: Sequence[rows.Row]) -> None:
    """Insert originals; searchable ones are indexed in the same operation."""
    connection, seq = writing.connection, writing.seq
    large = [row for row in originals if row[2] == "window"]
    if sum(len(row[-1]) + len(row[-3] or "") for row in large) < PLAIN_BYTES:
        large = []
    plain = [row for row in originals if row[2] != "window"] if large else originals
    added: list[Any] = connection.executemany(_ADD_ORIGINAL, [(*row, seq) for row in plain]).fetchall()
    added += _add_packed(writing, large)
    if len(added) < len(originals):
        for row in originals:
            ref, session_id, source, entry_id, sha256 = *row[:4], row[8]
            closed: list[Any] = connection.execute(_CLOSED_ORIGINAL, (ref,)).fetchall()
            timeline.reopen(connection, "originals", [number for (number,) in closed], seq)  # rewound, then added again
            if not connection.execute(
                _SAME_ORIGINAL, (ref, session_id, source, entry_id, sha256)
            ).fetchall() and not _is_packed(connection, row):
                raise StoreError(
                    f"reference {ref!r}: another original is stored under it; nothing was written. "
                    "A reference belongs to one content for good: give the entry another id"
                )
    writing.refs |= {row[0] for row in originals}
    writing.indexed |= {number for number, source in added if source != "pin"}


def _add_packed(writing: Writing, originals: Sequence[rows.Row]) -> list[tuple[int, str]]:
    """Insert originals straight into segments, as rows that are large for one moment would leave holes in the file."""
    connection, session = writing.connection, rows.key(writing.session_id)
    new: dict[bytes, rows.Row] = {}
    for row in originals:
        new.setdefault(rows.stored(row[0]), row)
    own = rows.raw(writing.session_id)
    keys = [(row[0], segments.entry_key(own, rows.text_from(rows.stored(row[3]))), writing.seq) for row in new.values()]
    if not keys:
        return []
    added: list[Any] = connection.executemany(_ADD_SMALL, keys).fetchall()
    packed = [_packed(number, new[ref]) for number, ref in added]
    connection.executemany(
        _PLACE, [(segment, place, one.number) for segment, place, one in segments.append(connection, session, packed)]
    )
    return [(one.number, "window") for one in packed]


def _packed(number: int, row: rows.Row) -> PackedOriginal:
    ref, _, _, entry_id, kind, tokens, timestamp, seq, _, _, metadata, masked, content = row
    name, entry, type_ = (rows.text_from(rows.stored(one)) for one in (ref, entry_id, kind))
    data, spans = (None if one is None else rows.raw(one) for one in (metadata, masked))
    return PackedOriginal(number, name, entry, type_, tokens, timestamp, seq, data, spans, content)


def _is_packed(connection: apsw.Connection, new: rows.Row) -> bool:
    """Tell whether a segment holds this original. In a damaged one, only its names can be compared."""
    ref, session_id, source, entry_id = new[:4]
    key = segments.entry_key(rows.stored(session_id), rows.text_from(rows.stored(entry_id)))
    values = {"ref": ref, "session": session_id, "source": source, "key": key}
    for row in connection.execute(_PACKED_ORIGINAL, values).fetchall():
        try:
            return bool(rows.raw(stored_original(connection, row).original.entry.content) == new[-1])
        except StoreCorrupt:
            return True
    return False


TABLE = Table(
    "originals",
    ORIGINAL_COLUMNS,
    original_from,
    changes=(Original,),
    prepare=_prepared,
    write=_write,
    key="t.source || ' ' || t.ref",
    rewinds=True,
    active="t.source <> 'window'",  # an entry that left a window is archived: it is never closed
    of_session=False,
    where="segment IS NULL",
)
