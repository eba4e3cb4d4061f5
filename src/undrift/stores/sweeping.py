"""A sweep: the originals of a session are destroyed in short steps, and each decision about them stays.

Law: other processes write between the steps, and each step leaves a whole store; a sweep that ends in the middle is
continued by the next one. Pins, entries of a buffer, memories, tasks and documents are never touched.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import apsw

from undrift.stores import readings, rows, segments
from undrift.stores.indexing import Use
from undrift.stores.migrations import transaction
from undrift.stores.operations import operation_row
from undrift.stores.purge_steps import originals_in_steps
from undrift.stores.write import write
from undrift.values.retention import SessionSize
from undrift.values.window import Decision

__all__ = ["sizes", "sweep"]

_LAST = """SELECT CAST(session_id AS BLOB), max(at_ms) FROM operations
    WHERE kind NOT IN ('sweep', 'purge') GROUP BY session_id"""
_PACKED = (
    "SELECT CAST(session_id AS BLOB), sum(originals), sum(octet_length(content)) FROM segments GROUP BY session_id"
)
_PLAIN = """SELECT CAST(session_id AS BLOB), count(*), sum(octet_length(content) + coalesce(octet_length(metadata), 0))
    FROM originals WHERE session_id > '' AND source = 'window' AND to_seq IS NULL GROUP BY session_id"""
_REFS = """SELECT CAST(ref AS BLOB) FROM originals
    WHERE number IN (SELECT value FROM json_each(?)) AND source = 'window'"""


def sizes(connection: apsw.Connection) -> list[SessionSize]:
    """Return the sessions of the file that have originals to sweep."""
    used: Iterable[Any] = connection.execute(_LAST)
    last = dict(used)
    found: dict[Any, tuple[int, int]] = {}
    for sql in (_PACKED, _PLAIN):
        counted: Iterable[Any] = connection.execute(sql)
        for session, originals, size_bytes in counted:
            before = found.get(session, (0, 0))
            found[session] = (before[0] + originals, before[1] + size_bytes)
    return [SessionSize(rows.text_from(one), last[one], *figures) for one, figures in found.items() if one in last]


def sweep(use: Use, session_id: str, blank: Callable[[Decision], Decision], at_ms: int) -> int:
    """Destroy the originals of one session that left its windows; return their number.

    `blank`: returns a decision without its original.
    """
    session = rows.key(session_id)
    with use() as connection:
        numbers = json.dumps(segments.numbers_of(connection, session))
        found: list[Any] = connection.execute(_REFS, (numbers,)).fetchall()
    refs = frozenset(rows.text_from(ref) for (ref,) in found)
    originals_in_steps(use, refs, blank)
    with use() as connection, transaction(connection):
        readings.forget(connection, session_id)
        write(connection, session_id, operation_row(session_id, "sweep", at_ms, {"originals": len(refs)}))
    return len(refs)
