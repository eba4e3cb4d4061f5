"""The full-text index of removed originals. It can be deleted and rebuilt at any time.

Law: knows only the tables of step 1 and its own; raises only `apsw.Error`.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw

from undrift.stores.rows import raw

__all__ = ["Match", "REMOVED", "add", "complete", "damaged", "matches", "rebuild", "remove"]

_MOST_CHARACTERS = 10_000
_MOST_WORDS = 32
_LONGEST_WORD = 256
_COMMON = 5_000
"""Originals; a word that occurs in more is not ranked. Ranking reads every row that matches: two words that occur in
half of a million rows take 171 ms, one in a hundredth takes 3 (PERFORMANCE section 4)."""

_DAMAGE = frozenset({apsw.SQLITE_CORRUPT_VTAB, apsw.SQLITE_CONSTRAINT_PRIMARYKEY})
"""Extended results; no table of ours can break its primary key, because SQLite itself assigns the numbers."""

_DROP = """
DROP VIEW IF EXISTS searchable;
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

_CREATE = f"""
CREATE VIEW searchable AS
    SELECT number, hex(session_id) AS session, CAST(content AS TEXT) AS text FROM originals o
    WHERE source = 'window' OR (source = 'buffer' AND {REMOVED});
CREATE VIRTUAL TABLE search USING fts5(
    session, text, content = 'searchable', content_rowid = 'number', tokenize = 'porter unicode61');
INSERT INTO search(search, rank) VALUES('rank', 'bm25(0.0, 1.0)');
INSERT INTO search(search) VALUES('rebuild');
"""  # noqa: S608
_ADD = """INSERT INTO search(rowid, session, text) SELECT number, session, text FROM searchable
    WHERE number IN (SELECT value FROM json_each(?))"""
"""One statement for all rows: at the start of every INSERT ... SELECT, FTS5 writes what it holds in memory to its tables,
which for 1,000 rows one by one was the most of what a commit cost."""
_INDEXED = "SELECT id FROM search_docsize WHERE id IN (SELECT value FROM json_each(?))"
_REMOVE = """INSERT INTO search(search, rowid, session, text) SELECT 'delete', number, session, text FROM searchable
    WHERE number IN (SELECT value FROM json_each(?))"""
_ERASE = "INSERT INTO search(search, rank) VALUES('secure-delete', 1)"
"""From then on removed rows leave the index itself; else FTS5 only notes the removal, and keeps their words."""
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
_SNIPPET = "CAST(snippet(search, 1, '', '', '…', 24) AS BLOB)"
_RANKED = f"SELECT rowid, -rank, {_SNIPPET} FROM search WHERE search MATCH ? ORDER BY rank LIMIT ?"  # noqa: S608
_NEWEST = f"SELECT rowid, 0.0, {_SNIPPET} FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608


class Match(NamedTuple):
    """One matching row: the original's `number`, the `score` (higher is better) and the text around the match."""

    number: int
    score: float
    snippet: str


def complete(connection: apsw.Connection) -> bool:
    """Tell whether all tables of the index exist."""
    found = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name IN ('search', 'searchable')").fetchall()
    return bool(found == [(2,)])


def damaged(error: apsw.Error) -> bool:
    """Tell whether an error means that the search index is damaged and must be rebuilt."""
    return isinstance(error, apsw.SQLError) or getattr(error, "extendedresult", 0) in _DAMAGE


def rebuild(connection: apsw.Connection) -> None:
    """Rebuild the index from any state; the caller holds a transaction."""
    try:
        connection.execute(_DROP)
    except apsw.Error as error:
        if not damaged(error):
            raise
        connection.execute(_DROP_BROKEN)
    connection.execute(_CREATE)


def add(connection: apsw.Connection, numbers: Iterable[int]) -> None:
    """Index originals that just left their window; originals that are not searched are skipped."""
    connection.execute(_ADD, (json.dumps(sorted(numbers)),))


def remove(connection: apsw.Connection, numbers: Iterable[int]) -> None:
    """Remove originals and all their words from the index, before they are deleted; the caller holds a transaction.

    If the index does not match them, call `rebuild` after they are deleted.

    Raises:
        apsw.Error: `damaged` tells if that was the cause.
    """
    listed = json.dumps(sorted(numbers))
    indexed: list[Any] = connection.execute(_INDEXED, (listed,)).fetchall()
    if not indexed:
        return
    connection.execute(_ERASE)
    connection.execute(_REMOVE, (json.dumps([number for (number,) in indexed]),))
    if connection.execute(_INDEXED, (listed,)).fetchall():
        raise apsw.SQLError("the search index holds originals that it should not")


def matches(connection: apsw.Connection, query: str, session_id: str | None, limit: int) -> list[Match]:
    """Return the best rows: for rare words by score, for common words alone the newest first."""
    rare: list[str] = []
    common: list[str] = []
    for phrase in _phrases(query):
        (count,) = _rows(connection, _COUNT, _expression([phrase], "OR", session_id), _COMMON + 1)[0]
        if count:
            (common if count > _COMMON else rare).append(phrase)
    attempts = [(_RANKED, rare, "OR")] if rare else [(_NEWEST, common, "AND"), (_NEWEST, common, "OR")]
    for sql, phrases, joined in attempts if rare or common else ():
        rows = _rows(connection, sql, _expression(phrases, joined, session_id), limit)
        if rows:
            return [Match(number, score, snippet.decode("utf-8", "replace")) for number, score, snippet in rows]
    return []


def _rows(connection: apsw.Connection, sql: str, *bindings: str | int) -> list[tuple[Any, ...]]:
    return connection.execute(sql, bindings).fetchall()


def _phrases(query: str) -> list[str]:
    """Quote each word, because FTS5 treats ``don't``, ``C++`` and ``*`` as syntax errors and NUL as the end."""
    text = query[:_MOST_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    words = dict.fromkeys(word[:_LONGEST_WORD] for word in text.split() if any(map(str.isalnum, word)))
    return ['"' + word.replace('"', '""') + '"' for word in list(words)[:_MOST_WORDS]]


def _expression(phrases: list[str], joined: str, session_id: str | None) -> str:
    text = f"text : ({f' {joined} '.join(phrases)})"
    return text if session_id is None else f'session : "{raw(session_id).hex()}" AND {text}'
