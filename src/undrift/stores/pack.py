"""Packs originals: their rows hand over what they hold to segments of their session.

Law: runs inside a transaction that the caller opened. An original that does not match its SHA-256 is not packed: its row
stays as it is, and is named as before.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows, segments
from undrift.stores.originals import ORIGINAL_COLUMNS, PLAIN_BYTES, original_from
from undrift.stores.packing import PackedOriginal

__all__ = ["pack_session", "pack_some"]

_MOST_BYTES = 2_000_000
"""Bytes that one commit packs; the next commit packs more."""
_MOST_ROWS = 4_000
_ROW_BYTES = 100
"""About so many bytes of a row are ids, hashes and numbers."""

_CANDIDATES = """SELECT number, octet_length(content) + coalesce(octet_length(metadata), 0) FROM originals
    WHERE session_id = ? AND source = 'window' AND to_seq IS NULL ORDER BY number LIMIT ?"""
_ROWS = f"""SELECT from_seq, {ORIGINAL_COLUMNS} FROM originals
    WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number"""  # noqa: S608 - constants of ours
_DELETE = "DELETE FROM originals WHERE number = ?"
"""A row that is only made smaller leaves its page as it was; a deleted one lets SQLite join the pages."""
_PACK = """INSERT INTO originals(number, ref, session_id, source, entry_id, type, token_count, timestamp, entry_seq, from_seq,
    sha256, record_sha256, content, segment, place)
    VALUES(?, ?, '', 'window', ?, '', 0, 0, 0, ?, x'', x'', x'', ?, ?)"""
_NEXT_SESSION = """SELECT session_id FROM originals
    WHERE session_id > ? AND source = 'window' AND to_seq IS NULL ORDER BY session_id LIMIT 1"""
"""The rows of packed originals have no session of their own."""


def pack_session(
    connection: apsw.Connection, session: str | bytes, least_bytes: int = PLAIN_BYTES, most_bytes: int = _MOST_BYTES
) -> tuple[int, int]:
    """Pack the plain originals of a session, if they have so many bytes; return how many, and their bytes.

    Args:
        session: The session, in the form of `rows.key`.
        least_bytes: With fewer, nothing is packed.
        most_bytes: About so many are packed, the oldest first.
    """
    candidates: list[Any] = connection.execute(_CANDIDATES, (session, _MOST_ROWS)).fetchall()
    if sum(size for _, size in candidates) < least_bytes:
        return 0, 0
    chosen, taken_bytes = [], 0
    for number, size in candidates:
        chosen.append(number)
        taken_bytes += size
        if taken_bytes >= most_bytes:
            break
    whole: list[PackedOriginal] = []
    from_seqs: dict[int, int] = {}
    found: list[Any] = connection.execute(_ROWS, (json.dumps(chosen),)).fetchall()
    for from_seq, *row in found:
        with suppress(StoreCorrupt):
            original_from(tuple(row))
            whole.append(_packed(tuple(row)))
            from_seqs[row[0]] = from_seq
    _put(connection, session, from_seqs, whole)
    return len(whole), taken_bytes


def pack_some(connection: apsw.Connection, most_bytes: int) -> int:
    """Pack about so many bytes of plain originals of any sessions; return how many originals. 0: there are none left."""
    packed, session = 0, ""
    while most_bytes > 0:
        found: list[Any] = connection.execute(_NEXT_SESSION, (session,)).fetchall()
        if not found:
            break
        session = found[0][0]
        number, size_bytes = pack_session(connection, session, 0, most_bytes)
        packed, most_bytes = packed + number, most_bytes - size_bytes - _ROW_BYTES * number
    return packed


def _packed(row: rows.Row) -> PackedOriginal:
    number, _, ref, _, _, entry_id, kind, tokens, timestamp, seq, _, metadata, masked, content = row
    names = (rows.text_from(ref), rows.text_from(entry_id), rows.text_from(kind))
    return PackedOriginal(number, *names, tokens, timestamp, seq, metadata, masked, content)


def _put(
    connection: apsw.Connection, session: str | bytes, from_seqs: Mapping[int, int], whole: Sequence[PackedOriginal]
) -> None:
    """Replace rows by small ones that point into segments."""
    connection.execute("PRAGMA defer_foreign_keys = ON")  # decisions name the rows that are replaced
    connection.executemany(_DELETE, [(one.number,) for one in whole])
    connection.executemany(
        _PACK,
        [
            (
                one.number,
                rows.key(one.ref),
                segments.entry_key(rows.stored(session), one.entry_id),
                from_seqs[one.number],
                segment,
                place,
            )
            for segment, place, one in segments.append(connection, session, whole)
        ],
    )
