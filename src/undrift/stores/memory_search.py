"""The full-text index of memories, and each memory's place among its neighbours. Both can be rebuilt.

Law: knows only its own tables; writes run inside a transaction that the caller opened; raises only `apsw.Error`. The index
keeps a memory's words, not its text. Memories that a rewind has closed are kept apart, because the rarity of a word
depends only on active ones.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from math import log
from typing import Any

import apsw

from undrift.stores.memory_filter import ALL, Filter, in_sqlite
from undrift.stores.memory_values import MemoryLine, MemoryPlace, WordHit
from undrift.stores.nearness import prepare
from undrift.stores.rows import key

__all__ = [
    "INDEXES",
    "add",
    "add_lengths",
    "add_tiers",
    "clear",
    "create",
    "frequencies",
    "ids_of",
    "indexable",
    "known_speakers",
    "like",
    "match",
    "match_of_tier",
    "newest",
    "numbers_of",
    "places",
    "remove",
    "scour",
]

_MOST_MATCHES = 5_000
"""Rows that are ranked for one query at most, the rarest words first. Ranking reads every row that matches: two words that
are in half of a million rows take 171 ms (PERFORMANCE section 4). The rarest word is always ranked, over its newest rows."""
_MOST_ALIKE = 500
"""The same for the memories that a new one is compared with: a write takes as long among 100,000 as among 1,000."""
_MOST_WORDS = 32
_LONGEST_WORD = 64

INDEXES = ("memory_text", "memory_text_taken_back")
"""Of words."""

_CREATE = """
CREATE TABLE memory_lines(
    number INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given out twice: vectors are cached by it
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    type TEXT NOT NULL,
    speaker TEXT NOT NULL,
    seq INTEGER NOT NULL,
    asks INTEGER NOT NULL,
    is_there INTEGER NOT NULL DEFAULT 1  -- 0: a rewinding took it back
);
CREATE INDEX memory_lines_in_source ON memory_lines(scope, source, seq) WHERE source <> '';
CREATE INDEX memory_lines_of_speaker ON memory_lines(speaker) WHERE speaker <> '';
CREATE TABLE memory_speakers(speaker TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE memory_text USING fts5(
    text, content = '', contentless_delete = 1, tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE memory_text_taken_back USING fts5(
    text, content = '', contentless_delete = 1, tokenize = 'porter unicode61');
CREATE TABLE memory_settled(seq INTEGER NOT NULL);  -- the newest rewinding that is taken into account here
INSERT INTO memory_settled VALUES(0);
"""
_CLEAR = """
DELETE FROM memory_lines;
DELETE FROM memory_speakers;
INSERT INTO memory_text(memory_text) VALUES('delete-all');
INSERT INTO memory_text_taken_back(memory_text_taken_back) VALUES('delete-all');
UPDATE memory_settled SET seq = 0, moves = moves + 1;
"""
_ADD_LENGTHS = "ALTER TABLE memory_lines ADD COLUMN length INTEGER NOT NULL DEFAULT 0"
_ADD_TIERS = "ALTER TABLE memory_lines ADD COLUMN tier INTEGER NOT NULL DEFAULT 1"
_ADD = """INSERT INTO memory_lines(id, scope, source, type, speaker, seq, asks, length, tier)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(id) DO NOTHING RETURNING number"""
_ADD_TEXT = "INSERT INTO {}(rowid, text) VALUES(?, ?)"
_ADD_SPEAKER = "INSERT INTO memory_speakers VALUES(?) ON CONFLICT DO NOTHING"
_NUMBER = "SELECT number FROM memory_lines WHERE id = ?"
_IDS = "SELECT number, CAST(id AS BLOB) FROM memory_lines WHERE number IN (SELECT value FROM json_each(?))"
_REMOVE_TEXT = "DELETE FROM {} WHERE rowid IN (SELECT value FROM json_each(?))"
_REMOVE = (
    _REMOVE_TEXT.format("memory_text"),
    _REMOVE_TEXT.format("memory_text_taken_back"),
    "DELETE FROM memory_lines WHERE number IN (SELECT value FROM json_each(?))",
)
_DROP_SPEAKERS = """DELETE FROM memory_speakers WHERE NOT EXISTS (
    SELECT 1 FROM memory_lines l WHERE l.speaker = memory_speakers.speaker AND l.speaker <> '')"""
_NEWEST = "SELECT coalesce(max(number), 0) FROM memory_lines"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM {0} WHERE {0} MATCH ? LIMIT ?)"
_NTH_NEWEST = "SELECT rowid FROM {0} WHERE {0} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
_ALIKE = "SELECT rowid, -rank FROM memory_text WHERE memory_text MATCH ? AND rowid >= ? ORDER BY rank LIMIT ?"
_RANKED = "SELECT rowid, -rank, together({0}, ?) FROM {0} WHERE {0} MATCH ? AND rowid >= ? ORDER BY rank LIMIT ?"
_RANKED_SOME = """SELECT t.rowid, -t.rank, together(t.{0}, ?) FROM {0} t CROSS JOIN memory_lines l ON l.number = t.rowid
    WHERE t.{0} MATCH ? AND t.rowid >= ? AND {1} ORDER BY t.rank LIMIT ?"""
_HOLD = """SELECT t.rowid FROM {0} t CROSS JOIN memory_lines l ON l.number = t.rowid
    WHERE t.{0} MATCH ? AND {1} ORDER BY t.rowid DESC LIMIT ?"""
_HOLD_SOME = """SELECT rowid FROM {0} WHERE {0} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))
    ORDER BY rowid DESC LIMIT ?"""  # +: one pass through the word's rows, not one search for each number
_OF_TIER = "SELECT l.number FROM memory_lines l WHERE {0}"
_FEW_OF_TIER = "SELECT count(*) FROM (SELECT 1 FROM memory_lines l WHERE {0} LIMIT ?)"
_COUNT_THERE = "SELECT (SELECT count(*) FROM memory_lines) - (SELECT count(*) FROM memory_lines WHERE is_there = 0)"
_COUNT_OF_TIER = "SELECT count(*) FROM memory_lines WHERE tier >= ?"
_SPEAKS = "EXISTS (SELECT 1 FROM memory_lines l WHERE l.speaker = s.speaker AND l.speaker <> '' AND l.is_there = 1)"
_SPEAKERS = f"""SELECT CAST(k.value AS BLOB), CAST(s.speaker AS BLOB) FROM json_each(?1) k
    CROSS JOIN memory_speakers s WHERE s.speaker = k.value AND {_SPEAKS}
UNION SELECT CAST(k.value AS BLOB), CAST(s.speaker AS BLOB) FROM json_each(?1) k
    CROSS JOIN memory_speakers s WHERE s.speaker >= k.value || ' ' AND s.speaker < k.value || '!' AND {_SPEAKS}"""  # noqa: S608
_NEIGHBOUR = """(SELECT n.number FROM memory_lines n INDEXED BY memory_lines_in_source
    WHERE n.source <> '' AND n.scope = l.scope AND n.source = l.source AND n.is_there = l.is_there
    AND n.seq {sign}= l.seq AND (n.seq, n.number) {sign} (l.seq, l.number)
    ORDER BY n.seq {order}, n.number {order} LIMIT 1 OFFSET {offset})"""
_NEIGHBOURS = ", ".join(
    [
        _NEIGHBOUR.format(sign="<", order="DESC", offset=0),
        _NEIGHBOUR.format(sign="<", order="DESC", offset=1),
        _NEIGHBOUR.format(sign=">", order="ASC", offset=0),
        _NEIGHBOUR.format(sign=">", order="ASC", offset=1),
    ]
)
_PLACES = f"""SELECT l.number, CAST(l.id AS BLOB), l.speaker, l.asks, l.length, l.tier, CAST(l.source AS BLOB),
    {_NEIGHBOURS} FROM memory_lines l
    WHERE l.number IN (SELECT value FROM json_each(?))"""  # noqa: S608 - constants of ours
_ALONE = """SELECT l.number, CAST(l.id AS BLOB), l.speaker, l.asks, l.length, l.tier, CAST(l.source AS BLOB),
    NULL, NULL, NULL, NULL FROM memory_lines l
    WHERE l.number IN (SELECT value FROM json_each(?))"""


def create(connection: apsw.Connection) -> None:
    """Create the first version of the tables; see `add_lengths`."""
    connection.execute(_CREATE)


def add_lengths(connection: apsw.Connection) -> None:
    """Add the column for a text's length; memories that are already indexed get 0, which counts as short."""
    connection.execute(_ADD_LENGTHS)


def add_tiers(connection: apsw.Connection) -> None:
    """Add the column for a memory's tier of trust; memories that are already indexed count as trusted."""
    connection.execute(_ADD_TIERS)


def clear(connection: apsw.Connection) -> None:
    """Empty the index before it is rebuilt."""
    connection.execute(_CLEAR)


def add(connection: apsw.Connection, lines: Iterable[MemoryLine]) -> dict[str, int]:
    """Index memories; known ids are skipped, because a memory's content never changes.

    Returns the number of each added memory, by id.
    """
    added: dict[str, int] = {}
    for line in lines:
        texts = map(key, (line.id, line.scope, line.source, line.type, line.speaker))
        found: list[Any] = connection.execute(_ADD, (*texts, line.seq, line.asks, len(line.text), line.tier)).fetchall()
        if found:
            added[line.id] = number = found[0][0]
            connection.execute(_ADD_TEXT.format("memory_text"), (number, indexable(line.text)))
            if line.speaker:
                connection.execute(_ADD_SPEAKER, (key(line.speaker),))
    return added


def remove(connection: apsw.Connection, numbers: Collection[int]) -> None:
    """Remove memories; `scour` then deletes the remains of their words."""
    if numbers:
        listed = json.dumps(sorted(numbers))
        for statement in _REMOVE:
            connection.execute(statement, (listed,))


def scour(connection: apsw.Connection) -> None:
    """Delete the names of speakers without a memory; `cleaning.wash` deletes the remains of words, in steps."""
    connection.execute(_DROP_SPEAKERS)


def numbers_of(connection: apsw.Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the number of each indexed memory, by id."""
    found: dict[str, int] = {}
    for one in ids:
        rows: list[Any] = connection.execute(_NUMBER, (key(one),)).fetchall()
        if rows:
            found[one] = rows[0][0]
    return found


def ids_of(connection: apsw.Connection, numbers: Collection[int]) -> dict[int, str]:
    """Return the id of each indexed memory, by number."""
    rows: Iterable[Any] = connection.execute(_IDS, (json.dumps(sorted(numbers)),))
    return {number: _text(one) for number, one in rows}


def newest(connection: apsw.Connection) -> int:
    """Return the number of the newest indexed memory; 0 if there is none."""
    return _one(connection, _NEWEST)


def known_speakers(connection: apsw.Connection, keys: Sequence[str]) -> dict[str, set[str]]:
    """Return the speakers for these keys (a whole name or its first word); unknown keys are skipped.

    Speakers of memories that are not active do not count.
    """
    found: dict[str, set[str]] = {}
    rows: Iterable[Any] = connection.execute(_SPEAKERS, (json.dumps([indexable(one) for one in keys]),))
    for one, speaker in rows:
        found.setdefault(_text(one), set()).add(_text(speaker))
    return found


def frequencies(connection: apsw.Connection, words: Sequence[str]) -> tuple[int, list[int]]:
    """Return the number of active memories, and for each word the number of those that hold it, up to `_MOST_MATCHES`."""
    table = "memory_text"
    phrases = [_phrases([word]) for word in words]
    counts = [_one(connection, _COUNT.format(table), *found, _MOST_MATCHES) if found else 0 for found in phrases]
    return _one(connection, _COUNT_THERE), counts


def match(
    connection: apsw.Connection, words: Sequence[str], limit: int, only: Filter = ALL, *, taken_back: bool = False
) -> list[WordHit]:
    """Find the memories with any of the words, in any form, the highest scores first.

    Args:
        words: Up to 32, each with its first 64 characters: a phrase of many words is searched in quadratic time.
        taken_back: Search the memories that rewinds have closed, not the active ones.
    """
    table = "memory_text_taken_back" if taken_back else "memory_text"
    kept, first = _affordable(connection, table, _phrases(words), _MOST_MATCHES)
    if not kept:
        return []
    prepare(connection)
    condition, bindings = in_sqlite(only, "l")
    sql = _RANKED_SOME.format(table, condition) if condition else _RANKED.format(table)
    counts, sought = json.dumps(list(kept.values())), " OR ".join(kept)
    rows: Iterable[Any] = connection.execute(sql, (counts, sought, first, *bindings, limit))
    return [WordHit(number, score, near) for number, score, near in rows]


def like(connection: apsw.Connection, words: Sequence[str], limit: int) -> list[WordHit]:
    """Find active memories with the rarest of the words, the highest scores first, among 500 at most."""
    kept, first = _affordable(connection, "memory_text", _phrases(words), _MOST_ALIKE)
    if not kept:
        return []
    rows: Iterable[Any] = connection.execute(_ALIKE, (" OR ".join(kept), first, limit))
    return [WordHit(number, score) for number, score in rows]


def match_of_tier(
    connection: apsw.Connection, words: Sequence[str], limit: int, only: Filter, *, taken_back: bool = False
) -> list[WordHit]:
    """Search as `match` does, but only memories of `only.least_tier` and above; nothing below changes a score.

    A score is the share of the words that a memory holds, above 0 and at most 1. A word weighs as much as it is rare among
    these memories; one that none of them holds weighs as much as the rarest that one does.
    """
    table = "memory_text_taken_back" if taken_back else "memory_text"
    condition, bindings = in_sqlite(only, "l")
    counted: list[Any] = connection.execute(_FEW_OF_TIER.format(condition), (*bindings, _MOST_MATCHES + 1)).fetchall()
    of_all = counted[0][0]
    sql, values = _HOLD_SOME.format(table), bindings
    if of_all > _MOST_MATCHES:
        of_all, sql = _one(connection, _COUNT_OF_TIER, only.least_tier), _HOLD.format(table, condition)
    else:
        numbers: list[Any] = connection.execute(_OF_TIER.format(condition), bindings).fetchall()
        values = [json.dumps([number for (number,) in numbers])]
    phrases = _phrases(words) if of_all else []
    rows: list[list[Any]] = [connection.execute(sql, (one, *values, _MOST_MATCHES)).fetchall() for one in phrases]
    weights = [log(1.0 + (max(of_all - len(some), 0) + 0.5) / (len(some) + 0.5)) for some in rows if some]
    whole = sum(weights) + max(weights, default=0.0) * (len(rows) - len(weights))
    scores: dict[int, float] = {}
    for some, weight in zip(filter(None, rows), weights, strict=True):
        for (number,) in some:
            scores[number] = scores.get(number, 0.0) + weight / whole
    found = [WordHit(number, score) for number, score in scores.items()]
    return sorted(found, key=lambda one: (-one.score, -one.number))[:limit]


def places(connection: apsw.Connection, numbers: Collection[int], only: Filter = ALL) -> dict[int, MemoryPlace]:
    """Return the place of each memory among its neighbours and the neighbours' speakers, within a filter."""
    found = {place.number: place for place in _read(connection, _PLACES, numbers, only)}
    around = {one for place in found.values() for one in (*place.before, *place.after) if one is not None}
    return found | {place.number: place for place in _read(connection, _ALONE, around - found.keys(), only)}


def _phrases(words: Sequence[str]) -> list[str]:
    texts = (indexable(word[:_LONGEST_WORD]) for word in words[:_MOST_WORDS])
    return ['"' + text.replace('"', '""') + '"' for text in texts if any(map(str.isalnum, text))]


def _affordable(
    connection: apsw.Connection, table: str, phrases: Sequence[str], at_most: int
) -> tuple[dict[str, int], int]:
    """Choose the rarest words that together match few enough rows, each with its rows; and the first row to search."""
    most = None if newest(connection) <= at_most else at_most
    counted = {phrase: _one(connection, _COUNT.format(table), phrase, at_most + 1) for phrase in phrases}
    kept: dict[str, int] = {}
    total = first = 0
    for phrase, count in sorted(counted.items(), key=lambda one: one[1]):
        total += count
        if count and (most is None or total <= most or not kept):
            kept[phrase] = count
            if most is not None and count > most:
                first = _one(connection, _NTH_NEWEST.format(table), phrase, most - 1)
    return kept, first


def _read(connection: apsw.Connection, sql: str, numbers: Collection[int], only: Filter) -> list[MemoryPlace]:
    condition, bindings = in_sqlite(only, "l")
    sql += f" AND {condition}" if condition else ""
    rows: Iterable[Any] = connection.execute(sql, (json.dumps(sorted(numbers)), *bindings))
    return [
        MemoryPlace(number, _text(id_), speaker, asks == 1, length, tier, _text(source), (b1, b2), (a1, a2))
        for number, id_, speaker, asks, length, tier, source, b1, b2, a1, a2 in rows
    ]


def _one(connection: apsw.Connection, sql: str, *bindings: str | int) -> int:
    found: list[Any] = connection.execute(sql, bindings).fetchall()
    return int(found[0][0])


def indexable(text: str) -> str:
    """Replace characters that FTS5 cannot read: NUL would end a query, and lone surrogates are not UTF-8."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
