"""Originals: entries that were removed from a window, are in a buffer, or are pinned; each with its SHA-256.

Law: knows only its own table; runs inside a transaction that the caller opened. A reference belongs to one content forever.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import rows, search, timeline
from undrift.stores.table import Table, Writing
from undrift.values.window import ContextEntry, MaskedSpan, Original

__all__ = ["BUFFER", "ORIGINAL_COLUMNS", "ORIGINAL_SESSION", "StoredOriginal", "TABLE", "original_from", "original_row"]

ORIGINAL_COLUMNS = """number, record_sha256, CAST(ref AS BLOB), CAST(session_id AS BLOB), CAST(source AS BLOB),
    CAST(entry_id AS BLOB), CAST(type AS BLOB), token_count, timestamp, entry_seq, sha256, CAST(metadata AS BLOB),
    CAST(masked AS BLOB), content"""
ORIGINAL_SESSION = 3
"""The session's index in the columns."""
_ADD_ORIGINAL = """INSERT INTO originals(ref, session_id, source, entry_id, type, token_count, timestamp, entry_seq,
    sha256, record_sha256, metadata, masked, content, from_seq) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(ref) DO NOTHING RETURNING number, source"""
_SAME_ORIGINAL = (
    "SELECT 1 FROM originals WHERE ref = ? AND session_id = ? AND source = ? AND entry_id = ? AND sha256 = ?"
)
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
    """Read an original from a row. Raises StoreCorrupt, with the reference in the message."""
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
        spans = tuple(MaskedSpan(*span) for span in rows.load(masked)) if masked else ()
        type_: Any = rows.text_from(kind)
        from_: Any = rows.text_from(source)
        entry = ContextEntry(
            rows.text_from(entry_id), type_, rows.text_from(content), tokens, timestamp, rows.load(metadata), seq=seq
        )
        return StoredOriginal(number, Original(rows.text_from(ref), rows.text_from(session_id), from_, entry, spans))
    except rows.FORGED as error:
        raise StoreCorrupt(f"original {rows.shown(ref)} was not written by undrift: {error}; {rows.REMEDY}") from error


def _prepared(session_id: str, originals: Sequence[Original]) -> list[rows.Row]:
    for one in originals:
        if one.session_id != session_id:
            raise InputError(f"original {one.ref}: is of session {one.session_id!r}, not {session_id!r}")
    return [original_row(one) for one in originals]


def _write(writing: Writing, originals: Sequence[rows.Row]) -> None:
    """Insert originals; searchable ones are indexed in the same operation."""
    connection, seq = writing.connection, writing.seq
    added: list[Any] = connection.executemany(_ADD_ORIGINAL, [(*row, seq) for row in originals]).fetchall()
    if len(added) < len(originals):
        for row in originals:
            ref, session_id, source, entry_id, sha256 = *row[:4], row[8]
            closed: list[Any] = connection.execute(_CLOSED_ORIGINAL, (ref,)).fetchall()
            timeline.reopen(connection, "originals", [number for (number,) in closed], seq)  # rewound, then added again
            if not connection.execute(_SAME_ORIGINAL, (ref, session_id, source, entry_id, sha256)).fetchall():
                raise StoreError(
                    f"reference {ref!r}: another original is stored under it; nothing was written. "
                    "A reference belongs to one content for good: give the entry another id"
                )
    writing.refs |= {row[0] for row in originals}
    writing.indexed |= {number for number, source in added if source != "pin"}


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
)
