"""The rows that name destroyed data or quote it: operations in their payloads, memories in their conflicts.

Law: to find them means to read whole tables, which needs no lock; to change them takes their numbers, and what is newer.
"""

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import apsw

from undrift.stores import heirs, rows
from undrift.stores.forgetting import thinned, without_evidence, without_names
from undrift.stores.memories import MAY_DISPUTE, MEMORY_COLUMNS, memory_from, memory_row
from undrift.stores.operations import OPERATION_COLUMNS, operation_from, operation_row

__all__ = ["Mentions", "Until", "forget_evidence", "mentions", "thin_log"]

_QUOTING = f"""SELECT number FROM memories INDEXED BY memories_disputing
    WHERE {MAY_DISPUTE} AND json_type(record, '$.metadata.conflicts') = 'array'"""  # noqa: S608 - constants of ours
_RESTATED = "json_type(record, '$.metadata.restated') = 'array'"
_RESTATED_BY = f"SELECT number FROM memories WHERE {_RESTATED} AND instr(record, ?) > 0"  # noqa: S608
_CLOSED_BY = "CAST(json_extract(record, '$.contradicted_by_entry_id') AS BLOB)"
_CLOSED = f"SELECT number, {_CLOSED_BY} FROM memories WHERE instr(record, '\"contradicted_by_entry_id\"') > 0"  # noqa: S608
_HINDERED = f"""SELECT {MEMORY_COLUMNS} FROM memories WHERE number IN (SELECT value FROM json_each(?))
    OR (number > ? AND (json_type(record, '$.metadata.conflicts') = 'array' OR {_RESTATED}
        OR {_CLOSED_BY} IS NOT NULL))"""  # noqa: S608
_PAYLOADS = "SELECT seq, payload FROM operations WHERE payload IS NOT NULL"
_OF_OWN = "SELECT seq FROM operations WHERE payload IS NOT NULL AND session_id = ?"
_OPERATIONS = f"""SELECT {OPERATION_COLUMNS} FROM operations
    WHERE payload IS NOT NULL AND (seq > ? OR seq IN (SELECT value FROM json_each(?)))"""  # noqa: S608
_UNTIL = """SELECT (SELECT coalesce(max(seq), 0) FROM operations), (SELECT coalesce(max(number), 0) FROM decisions),
    (SELECT coalesce(max(number), 0) FROM memories)"""
_FEW_NAMES = 50
_NEVER = 2**62
_PLAIN = re.compile(r"[0-9A-Za-z:._-]+")
"""Names that stand in JSON as they are."""


class Until(NamedTuple):
    """The newest rows at a moment: later rows have greater numbers."""

    operation: int = 0
    decision: int = 0
    memory: int = 0


class Mentions(NamedTuple):
    """The rows that may mention data.

    Args:
        until: The newest rows when they were found.
        operations: Operations until then whose payload may name it.
        memories: Memories until then that may quote it.
    """

    until: Until = Until()
    operations: frozenset[int] = frozenset()
    memories: frozenset[int] = frozenset()


def mentions(
    connection: apsw.Connection, refs: Collection[str], memories: Collection[str], whose: str | None
) -> Mentions:
    """Find the rows that may mention originals or memories. `whose`: the session of which all operations are thinned."""
    ((operation, decision, memory),) = connection.execute(_UNTIL).fetchall()
    names = {*refs, *memories}
    plain = [name for name in names if _PLAIN.fullmatch(name)]
    found: Any
    if len(plain) == len(names) <= _FEW_NAMES:
        found = connection.execute(f"{_PAYLOADS} AND ({' OR '.join(['instr(payload, ?)'] * len(plain)) or '0'})", plain)
        named = {seq for seq, _ in found}
    else:
        found = connection.execute(_PAYLOADS)
        named = {seq for seq, text in found if _names(text, names)}
    if whose is not None:
        found = connection.execute(_OF_OWN, (rows.key(whose),))
        named |= {seq for (seq,) in found}
    found = [*connection.execute(_QUOTING)] if memories else []
    if memories:
        ids = {one.encode("utf-8", "surrogatepass") for one in memories}
        found += [(number,) for number, by in connection.execute(_CLOSED) if by in ids]
    if whose is not None:
        found += [*connection.execute(_RESTATED_BY, (json.dumps(whose),))]
    until: Any = Until(operation, decision, memory)  # type: ignore[arg-type]
    return Mentions(until, frozenset(named), frozenset(number for (number,) in found))


def forget_evidence(
    connection: apsw.Connection, ids: Collection[str], known: Mentions, whose: str | None = None
) -> None:
    """Remove the words of deleted memories from the conflicts that other memories record, and settle what they superseded.

    That is superseded by the heir now; without one, a memory that says the same is active again.

    `whose`: the session whose restatements go from under the memories of other sessions.
    """
    if not ids and whose is None:
        return
    values = (json.dumps(sorted(known.memories)), known.until.memory)
    quoting: list[Any] = connection.execute(_HINDERED, values).fetchall()
    heir_of = heirs.heirs_among(connection, ids)
    for row in quoting:
        before = memory_from(row)
        new = without_evidence(before, ids, heir_of, whose)
        if new != before:
            *_, digest, record = memory_row(bytes(row[2]).decode("utf-8", "surrogatepass"), new)
            connection.execute(
                "UPDATE memories SET record_sha256 = ?, record = ? WHERE number = ?", (digest, record, row[0])
            )


def thin_log(
    connection: apsw.Connection, names: Collection[str], known: Mentions, whose: str | None, *, is_part: bool = False
) -> None:
    """Remove data's names from the log; each operation keeps its kind and time.

    Args:
        known: Operations with such names, and until when there are no others.
        whose: The session of which each payload goes, but for what rewinds need.
        is_part: Leave newer operations alone.
    """
    values = (_NEVER if is_part else known.until.operation, json.dumps(sorted(known.operations)))
    operations: list[Any] = connection.execute(_OPERATIONS, values).fetchall()
    for row in operations:
        before, session = operation_from(row), bytes(row[2])
        payload: Any = dict(before.payload or {})
        is_whole = whose is not None and session == rows.raw(whose)
        payload = thinned(payload, names, is_whole=is_whole)
        if payload != before.payload:
            whole = operation_row(session.decode("utf-8", "surrogatepass"), before.kind, before.at_ms, payload)
            connection.execute(
                "UPDATE operations SET record_sha256 = ?, payload = ? WHERE seq = ?", (*whole[-2:], before.seq)
            )


def _names(payload: Any, names: Collection[str]) -> bool:
    """Tell whether a payload may name any of the data; an unreadable one may."""
    try:
        held = rows.load(payload.encode() if isinstance(payload, str) else payload)
    except rows.FORGED:
        return True
    return bool(without_names(held, names) != held)
