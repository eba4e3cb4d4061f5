"""The full-text index of removed originals: which words are in which. It can be deleted and rebuilt at any time.

Law: knows only the tables of step 1 and its own; raises only `apsw.Error`. The index holds words, neither texts nor places:
it takes a fifth of the bytes. Phrases, snippets and scores come from the texts (`matching`).
"""

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any

import apsw

from undrift.stores.segments import SegmentReader, texts

__all__ = [
    "REMOVED",
    "add",
    "agrees",
    "complete",
    "damaged",
    "fill",
    "is_behind",
    "remove",
    "remove_part",
    "reset",
    "settle",
]

_DAMAGE = frozenset({apsw.SQLITE_CORRUPT_VTAB, apsw.SQLITE_CONSTRAINT_PRIMARYKEY})
"""Extended results; no table of ours can break its primary key, because SQLite itself assigns the numbers."""

_DROP = """
DROP VIEW IF EXISTS searchable;
DROP TABLE IF EXISTS search_behind;
DROP TABLE IF EXISTS search;
"""
_DROP_BROKEN = """
PRAGMA writable_schema = ON;
DELETE FROM sqlite_schema WHERE name = 'search';
PRAGMA writable_schema = RESET;
DROP TABLE IF EXISTS search_data;
DROP TABLE IF EXISTS search_idx;
DROP TABLE IF EXISTS search_content;
DROP TABLE IF EXISTS search_docsize;
DROP TABLE IF EXISTS search_config;
"""
REMOVED = """EXISTS (
    SELECT 1 FROM decisions d WHERE d.session_id = o.session_id AND d.entry_id = o.entry_id
    AND d.to_seq IS NULL AND d.kind = 'pruned' AND (d.ref IS NULL OR d.ref = o.ref))"""
"""SQL: whether original `o` was removed from the buffer."""
_SEARCHED = f"(o.source = 'window' OR (o.source = 'buffer' AND {REMOVED}))"
_INDEXED = "o.number IN (SELECT id FROM search_docsize)"

_CREATE = f"""
CREATE VIEW searchable AS
    SELECT number, CAST(original_text(number) AS TEXT) AS text FROM originals o WHERE {_SEARCHED};
CREATE VIRTUAL TABLE search USING fts5(
    text, content = 'searchable', content_rowid = 'number', detail = none, tokenize = 'porter unicode61');
CREATE TABLE search_behind(number INTEGER NOT NULL);  -- originals below this number are not indexed yet
INSERT INTO search_behind SELECT coalesce(max(number), -1) + 1 FROM originals;
"""  # noqa: S608
_PARTS = ("search", "searchable", "search_behind")
_SEARCHED_OF = f"""SELECT o.number FROM originals o
    WHERE o.number IN (SELECT value FROM json_each(?)) AND {_SEARCHED} ORDER BY o.number"""  # noqa: S608
_ADD = "INSERT INTO search(rowid, text) VALUES(?, CAST(? AS TEXT))"
"""Not INSERT ... SELECT: at the start of each, FTS5 writes what it holds in memory to its tables."""
_HELD = "SELECT id FROM search_docsize WHERE id IN (SELECT value FROM json_each(?))"
_EMPTY = f"{_HELD} AND sz = x'00'"
_REMOVE = "INSERT INTO search(search, rowid, text) VALUES('delete', ?, CAST(? AS TEXT))"
_ERASE = "INSERT INTO search(search, rank) VALUES('secure-delete', 1)"
"""From then on removed rows leave the index itself; else FTS5 only notes the removal, and keeps their words."""
_TOO_MANY = f"SELECT o.number FROM originals o WHERE o.session_id = ? AND {_INDEXED} AND NOT {_SEARCHED}"  # noqa: S608
_TOO_FEW = f"""SELECT o.number FROM originals o
    WHERE o.session_id = ? AND o.source = 'buffer' AND NOT {_INDEXED} AND {_SEARCHED}"""  # noqa: S608
_BEHIND = "SELECT number FROM search_behind"
_NEXT = f"""SELECT o.number FROM originals o
    WHERE o.number < ? AND {_SEARCHED} AND NOT {_INDEXED} ORDER BY o.number DESC LIMIT ?"""  # noqa: S608
_STEP_BYTES = 256_000
_STEP_ROWS = 32


def complete(connection: apsw.Connection) -> bool:
    """Tell whether all tables of the index exist."""
    found: list[Any] = connection.execute(
        "SELECT count(*) FROM sqlite_schema WHERE name IN (SELECT value FROM json_each(?))", (json.dumps(_PARTS),)
    ).fetchall()
    return bool(found == [(len(_PARTS),)])


def damaged(error: apsw.Error) -> bool:
    """Tell whether an error means that the search index is damaged and must be rebuilt."""
    return isinstance(error, apsw.SQLError) or getattr(error, "extendedresult", 0) in _DAMAGE


def reset(connection: apsw.Connection) -> None:
    """Make the index new and empty, from any state; `fill` then fills it. The caller holds a transaction."""
    try:
        connection.execute(_DROP)
    except apsw.Error as error:
        if not damaged(error):
            raise
        connection.execute(_DROP_BROKEN)
        connection.execute(_DROP)
    connection.execute(_CREATE)


def is_behind(connection: apsw.Connection) -> bool:
    """Tell whether the index lacks originals that `fill` would add."""
    found: list[Any] = connection.execute(_BEHIND).fetchall()
    return bool(found and found[0][0])


def fill(connection: apsw.Connection) -> None:
    """Add some originals that the index lacks, the newest first; the caller holds a transaction.

    One call takes some hundredths of a second, except for the words of one very long text.
    """
    found: list[Any] = connection.execute(_BEHIND).fetchall()
    below, room_bytes = found[0][0] if found else 0, _STEP_BYTES
    while below and room_bytes > 0:
        numbers = _numbers(connection, _NEXT, below, _STEP_ROWS)
        for number, text in sorted(texts(connection, numbers), reverse=True):
            connection.execute(_ADD, (number, text))
            below, room_bytes = number, room_bytes - len(text)
            if room_bytes <= 0:
                break
        else:
            below = numbers[-1] if len(numbers) == _STEP_ROWS else 0
    connection.execute("UPDATE search_behind SET number = ?", (below,))


def add(connection: apsw.Connection, numbers: Iterable[int]) -> None:
    """Index originals that just left their window; originals that are not searched are skipped."""
    wanted = _numbers(connection, _SEARCHED_OF, json.dumps(sorted(numbers)))
    if wanted:
        connection.executemany(_ADD, texts(connection, wanted))


def remove(connection: apsw.Connection, numbers: Iterable[int]) -> None:
    """Remove originals and all their words from the index, before they are deleted; the caller holds a transaction.

    If the index does not match them, call `reset` after they are deleted.

    Raises:
        apsw.Error: `damaged` tells if that was the cause.
    """
    listed = json.dumps(sorted(numbers))
    indexed = _numbers(connection, _HELD, listed)
    if not indexed:
        return
    for _, text in texts(connection, _numbers(connection, _EMPTY, listed)):
        if any(map(str.isalnum, bytes(text).decode("utf-8", "replace"))):  # a purge was killed between its parts
            raise apsw.SQLError("the search index holds a part of an original")
    _take_out(connection, indexed)
    if _numbers(connection, _HELD, listed):
        raise apsw.SQLError("the search index holds originals that it should not")


def remove_part(connection: apsw.Connection, number: int, part: bytes, *, is_last: bool) -> None:
    """Remove the words of one part of an original from the index; the caller holds a transaction.

    Each term takes some microseconds, so a long text leaves in several transactions. Its parts are divided between words.
    Until the last one, the original stays in the index.
    """
    if _numbers(connection, _HELD, json.dumps([number])):
        connection.execute(_ERASE)
        connection.execute(_REMOVE, (number, part))
        if not is_last:
            connection.execute(_ADD, (number, b""))


def settle(connection: apsw.Connection, session: str | bytes) -> None:
    """Let the index follow a session's buffer after a rewind; `session`: in the form of `rows.key`."""
    too_many = _numbers(connection, _TOO_MANY, session)
    _take_out(connection, too_many)
    add(connection, _numbers(connection, _TOO_FEW, session))


def agrees(connection: apsw.Connection) -> bool:
    """Tell whether the index is sound, and holds exactly the words of the originals; if it is behind, only the first."""
    connection.create_scalar_function("original_text", _reader(connection), 1, flags=apsw.SQLITE_INNOCUOUS)
    try:
        connection.execute(
            "INSERT INTO search(search, rank) VALUES('integrity-check', ?)", (int(not is_behind(connection)),)
        )
    except apsw.CorruptError:
        return False
    return True


def _reader(connection: apsw.Connection) -> Callable[..., bytes | None]:
    """Return the function that the view `searchable` calls; only the comparison with the originals reads the view.

    Neighbours share a segment, which is read once: writers wait meanwhile.
    """
    reader = SegmentReader(connection)
    return lambda number, *_: next((text for _, text in texts(connection, (number,), reader)), None)


def _take_out(connection: apsw.Connection, numbers: Collection[int]) -> None:
    connection.execute(_ERASE)
    connection.executemany(_REMOVE, texts(connection, numbers))


def _numbers(connection: apsw.Connection, sql: str, *values: Any) -> list[int]:
    found: list[Any] = connection.execute(sql, values).fetchall()
    return [number for (number,) in found]
