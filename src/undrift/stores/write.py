"""One operation into the database: the inserts of a commit, what repeats passed over, what contradicts refused.

Law: runs inside a transaction that the caller opened; a conflict with what is stored raises StoreError, and then the
caller rolls back.
"""

from collections.abc import Sequence
from typing import Any

import apsw

from undrift.errors import StoreError
from undrift.stores import dispatch, facts, memories, memory_search, search, tasks, timeline
from undrift.stores.memory_index import MemoryLines, write_lines
from undrift.stores.rows import Row

__all__ = ["write", "write_derived"]

_ADD_OPERATION = """INSERT INTO operations(session_id, kind, at_ms, record_sha256, payload)
    VALUES(?, ?, ?, ?, ?) RETURNING seq"""
_ADD_ORIGINAL = """INSERT INTO originals(ref, session_id, source, entry_id, type, token_count, timestamp, entry_seq,
    sha256, record_sha256, metadata, masked, content, from_seq) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(ref) DO NOTHING RETURNING number, source"""
_SAME_ORIGINAL = (
    "SELECT 1 FROM originals WHERE ref = ? AND session_id = ? AND source = ? AND entry_id = ? AND sha256 = ?"
)
_CLOSED_ORIGINAL = "SELECT number FROM originals WHERE ref = ? AND to_seq IS NOT NULL"
_ADD_DECISION = """INSERT INTO decisions(session_id, entry_id, kind, reason, tokens_saved, ref, record_sha256, detail,
    from_seq) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(session_id, entry_id, coalesce(json_extract(detail, '$.at'), '')) WHERE to_seq IS NULL
    DO NOTHING RETURNING number"""
_SAME_DECISION = """SELECT 1 FROM decisions
    WHERE session_id = ? AND entry_id = ? AND to_seq IS NULL AND record_sha256 = ?"""
_OWN_ORIGINAL = "SELECT 1 FROM originals WHERE ref = ? AND session_id = ?"
_REMOVED = """SELECT o.number FROM decisions d CROSS JOIN originals o
    WHERE d.number BETWEEN ? AND ? AND d.from_seq = ? AND d.kind = 'pruned'
    AND o.session_id = d.session_id AND o.entry_id = d.entry_id AND o.source = 'buffer' AND o.to_seq IS NULL"""
"""CROSS JOIN: the new decisions first, each looked up in the index of what is in a buffer."""


def write(
    connection: apsw.Connection,
    operation: Row,
    originals: Sequence[Row],
    decisions: Sequence[Row],
    changed: tasks.Prepared | None = None,
    remembered: memories.Prepared | None = None,
    learned: facts.Prepared | None = None,
    run: dispatch.Prepared | None = None,
) -> int:
    """Insert one operation and what belongs to it; return its sequence number.

    Raises:
        StoreError: Something else is stored under the same reference or about the same entry, a decision names an
            original that the session does not have, or a task, fact or run is not what it was when it was changed.
        apsw.Error: SQLite refuses.
    """
    (row,) = connection.execute(_ADD_OPERATION, operation).fetchall()
    seq: Any = row[0]
    numbers = _add_originals(connection, originals, seq) if originals else set()
    if decisions:
        own = {row[0] for row in originals}  # of this session, or they would have been refused
        numbers |= _add_decisions(connection, decisions, own, seq)
    if numbers:
        search.add(connection, numbers)
    if changed is not None:
        tasks.add(connection, changed, seq)
    if remembered is not None:
        memories.add(connection, remembered, seq)
    if learned is not None:
        facts.add(connection, learned, seq)
    if run is not None:
        dispatch.add(connection, run, seq)
    return int(seq)


def write_derived(connection: apsw.Connection, changes: Sequence[Any]) -> None:
    """Behind the changes of memories: refuse what rests on others that changed, and bring the search up to date.

    Raises:
        StoreConflict: A memory was added meanwhile that these had to be compared with.
    """
    for one in changes:
        if isinstance(one, memories.Unchanged):
            memories.check(connection, one)
    gone: dict[str, str] = {}
    for one in changes:
        if isinstance(one, MemoryLines):
            write_lines(connection, one)
        elif isinstance(one, memories.MemoryUpdate) and one.after is None and one.before is not None:
            gone[one.before.id] = one.before.content
    if gone:
        numbers = memory_search.numbers_of(connection, gone)
        memory_search.take_back(connection, {number: gone[one] for one, number in numbers.items()})


def _add_originals(connection: apsw.Connection, originals: Sequence[Row], seq: int) -> set[int]:
    """Insert originals; return the numbers of those to index."""
    added: list[Any] = connection.executemany(_ADD_ORIGINAL, [(*row, seq) for row in originals]).fetchall()
    if len(added) < len(originals):
        for row in originals:
            ref, session_id, source, entry_id, sha256 = *row[:4], row[8]
            closed: list[Any] = connection.execute(_CLOSED_ORIGINAL, (ref,)).fetchall()
            timeline.reopen(connection, "originals", [number for (number,) in closed], seq)  # rewound, and made again
            if not connection.execute(_SAME_ORIGINAL, (ref, session_id, source, entry_id, sha256)).fetchall():
                raise StoreError(
                    f"reference {ref!r}: another original is stored under it; nothing was written. "
                    "A reference belongs to one content for good: give the entry another id"
                )
    return {number for number, source in added if source != "pin"}


def _add_decisions(connection: apsw.Connection, decisions: Sequence[Row], own: set[Any], seq: int) -> set[int]:
    """Insert decisions; return the numbers of the buffer originals that they remove, to index them.

    `own` are references that are known to be originals of the session.
    """
    for row in decisions:
        session_id, entry_id, ref = row[0], row[1], row[5]
        if ref is not None and ref not in own and not connection.execute(_OWN_ORIGINAL, (ref, session_id)).fetchall():
            raise StoreError(
                f"decision about {entry_id!r}: the session has no original {ref!r}; nothing was written. "
                "Commit the original with the decision, or before it"
            )
    added: list[Any] = connection.executemany(_ADD_DECISION, [(*row, seq) for row in decisions]).fetchall()
    if len(added) < len(decisions):
        for row in decisions:
            if not connection.execute(_SAME_DECISION, (row[0], row[1], row[6])).fetchall():
                raise StoreError(
                    f"entry {row[1]!r}: another decision about it is stored; nothing was written. "
                    "A decision is made once and applied again on every later turn"
                )
    if not added:
        return set()
    (first,), (last,) = min(added), max(added)
    return {number for (number,) in connection.execute(_REMOVED, (first, last, seq))}
