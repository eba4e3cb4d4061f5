"""Memories that rewinds make inactive and active again, in the full-text index and among its lines.

Law: runs inside a transaction that the caller opened; raises only `apsw.Error`. Searches of the past alone read the words of an
inactive memory: they stand in a table of their own, because the rarity of a word depends only on active ones.
"""

import json
from collections.abc import Mapping
from typing import Any

import apsw

from undrift.stores.memory_search import indexable

__all__ = [
    "add_moves", "bring_back", "exchange", "has_inactive", "inactive", "moves", "of_all", "set_settled", "settled",
    "take_back",
]  # fmt: skip

_ADD_MOVES = """
ALTER TABLE memory_settled ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;  -- grows with each: what is cached elsewhere is read again
CREATE INDEX memory_lines_taken_back ON memory_lines(number) WHERE is_there = 0;
CREATE INDEX memory_lines_of_tier ON memory_lines(tier);
"""
_TEXT = "memory_text"
_INACTIVE_TEXT = "memory_text_taken_back"
_REMOVE_TEXT = "DELETE FROM {} WHERE rowid IN (SELECT value FROM json_each(?))"
_ADD_TEXT = "INSERT INTO {}(rowid, text) VALUES(?, ?)"
_THERE = "UPDATE memory_lines SET is_there = ? WHERE number IN (SELECT value FROM json_each(?))"
_MOVED = "UPDATE memory_settled SET moves = moves + 1"
_EXCHANGE = """
ALTER TABLE memory_text RENAME TO memory_text_between;
ALTER TABLE memory_text_taken_back RENAME TO memory_text;
ALTER TABLE memory_text_between RENAME TO memory_text_taken_back;
UPDATE memory_lines SET is_there = 1 - is_there;
"""
_OF_ALL = "SELECT count(*) FROM memory_lines"
_INACTIVE = "SELECT number FROM memory_lines WHERE is_there = 0"


def add_moves(connection: apsw.Connection) -> None:
    """Add the index of inactive memories, and the number of times that memories became inactive or active again."""
    connection.execute(_ADD_MOVES)


def take_back(connection: apsw.Connection, texts: Mapping[int, str]) -> None:
    """Move memories that a rewind made inactive to another table, which searches of the past use.

    `texts`: number to content.
    """
    _move(connection, _TEXT, _INACTIVE_TEXT, texts)
    connection.execute(_THERE, (0, json.dumps(sorted(texts))))
    connection.execute(_MOVED)


def bring_back(connection: apsw.Connection, texts: Mapping[int, str]) -> None:
    """Move memories that are active again back; see `take_back`."""
    _move(connection, _INACTIVE_TEXT, _TEXT, texts)
    connection.execute(_THERE, (1, json.dumps(sorted(texts))))
    connection.execute(_MOVED)


def exchange(connection: apsw.Connection) -> None:
    """Make all active memories inactive and all others active, without reading a word: the two tables change their names.

    After a rewind of nearly everything, few of them have to move; to move 100,000 took 2.9 s.
    """
    connection.execute(_EXCHANGE)
    connection.execute(_MOVED)


def of_all(connection: apsw.Connection) -> int:
    """Return the number of indexed memories, active or not."""
    return _one(connection, _OF_ALL)


def moves(connection: apsw.Connection) -> int:
    """Return a number that changes whenever a memory becomes inactive, or active again."""
    return _one(connection, "SELECT moves FROM memory_settled")


def inactive(connection: apsw.Connection) -> list[int]:
    """Return the numbers of the memories that a rewind made inactive."""
    return [number for (number,) in connection.execute(_INACTIVE)]


def has_inactive(connection: apsw.Connection) -> bool:
    """Tell whether a rewind made any memory inactive."""
    return bool(_one(connection, f"SELECT EXISTS ({_INACTIVE})"))


def settled(connection: apsw.Connection) -> int:
    """Return the newest rewind that the search has applied."""
    return _one(connection, "SELECT seq FROM memory_settled")


def set_settled(connection: apsw.Connection, seq: int) -> None:
    """Store the newest rewind that the search has applied."""
    connection.execute("UPDATE memory_settled SET seq = ?", (seq,))


def _move(connection: apsw.Connection, source: str, target: str, texts: Mapping[int, str]) -> None:
    listed = json.dumps(sorted(texts))
    for table in (source, target):
        connection.execute(_REMOVE_TEXT.format(table), (listed,))
    rows = ((number, indexable(text)) for number, text in sorted(texts.items()))
    connection.executemany(_ADD_TEXT.format(target), rows)


def _one(connection: apsw.Connection, sql: str) -> int:
    found: list[Any] = connection.execute(sql).fetchall()
    return int(found[0][0])
