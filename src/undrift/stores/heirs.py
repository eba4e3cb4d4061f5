"""Memories of a purged session that other sessions restated: the words of those stay, as memories of their own.

Law: runs inside the transaction that destroys the rest. Each version keeps its place in time, so that rewinds of the others
stay true.
"""

from collections.abc import Collection
from typing import Any

import apsw

from undrift.stores import memory_moves, memory_search, rows
from undrift.stores.forgetting import without_restatements
from undrift.stores.memories import MEMORY_COLUMNS, add_slots, memory_from, memory_row
from undrift.stores.memory_index import write_lines
from undrift.stores.memory_values import Heir, MemoryLine, MemoryLines, content_digest
from undrift.values.memory import MemoryEntry, heir_id

__all__ = ["heirs_among", "let_inherit"]

_VERSIONS = f"SELECT {MEMORY_COLUMNS}, to_seq FROM memories WHERE memory_id = ? ORDER BY number"  # noqa: S608
_RESTATED = f"""SELECT DISTINCT CAST(memory_id AS BLOB) FROM memories
    WHERE memory_id IN {rows.IN_LIST.format("?")} AND json_type(record, '$.metadata.restated') = 'array'"""  # noqa: S608
_REPLACE = "UPDATE memories SET memory_id = ?, scope = ?, owner = ?, record_sha256 = ?, record = ?, digest = ? WHERE number = ?"
_KNOWN = f"SELECT CAST(memory_id AS BLOB) FROM memories WHERE memory_id IN {rows.IN_LIST.format('?')}"  # noqa: S608


def let_inherit(connection: apsw.Connection, ids: Collection[str], session_id: str, heir: Heir) -> None:
    """Replace each version that other sessions restated by its heir; the caller destroys the versions that are left.

    `session_id`: the session that is purged.
    """
    restated: list[Any] = connection.execute(_RESTATED, (rows.listed(ids),)).fetchall()
    for (name,) in restated:
        _replace(connection, _text(name), session_id, heir)


def heirs_among(connection: apsw.Connection, ids: Collection[str]) -> dict[str, str]:
    """Return the ids of the heirs of these memories, by the id of what they replaced."""
    by_heir = {heir_id(one): one for one in ids}
    found: list[Any] = connection.execute(_KNOWN, (rows.listed(by_heir),)).fetchall()
    return {by_heir[new]: new for new in {_text(name) for (name,) in found}}


def _replace(connection: apsw.Connection, memory_id: str, session_id: str, heir: Heir) -> None:
    versions: list[Any] = connection.execute(_VERSIONS, (rows.key(memory_id),)).fetchall()
    written: dict[str, bool] = {}
    shown: tuple[MemoryEntry, MemoryLine] | None = None
    is_there = False
    for *row, to_seq in versions:
        found = heir(without_restatements(memory_from(row), written, _text(row[2]), session_id))
        if found is None:
            continue
        _, *texts, digest, record = memory_row(_text(row[2]), found[0])
        connection.execute(_REPLACE, (*texts, digest, record, content_digest(found[0].content), row[0]))
        add_slots(connection, found[0])
        shown, is_there = found, to_seq is None
    if shown is None:
        return
    write_lines(connection, MemoryLines([shown[1]]))  # before the old one goes: its number is not used again
    if not is_there:
        numbers = memory_search.numbers_of(connection, [shown[0].id])
        memory_moves.take_back(connection, dict.fromkeys(numbers.values(), shown[0].content))


def _text(value: Any) -> str:
    return bytes(value).decode("utf-8", "surrogatepass")
