"""Checks every record of a scope on a server. Law: reads only; a problem is a sentence, and never an error."""

from collections.abc import Iterator, Sequence
from typing import Any

from undrift.errors import StoreError
from undrift.stores import rows
from undrift.stores.decisions import decision_from
from undrift.stores.dispatch import run_from
from undrift.stores.documents import document_content, document_from
from undrift.stores.facts import fact_from
from undrift.stores.originals import original_from
from undrift.stores.packing import FORGED, PackedOriginal
from undrift.stores.postgres.events import Kind
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.memory_log import opened_record
from undrift.stores.postgres.originals import segments_of
from undrift.stores.postgres.session_state import Record, SessionState
from undrift.stores.postgres.sessions import Sessions
from undrift.stores.tasks import tag_from, task_from

__all__ = ["problems"]

_NAMES = "SELECT name FROM sessions WHERE project = %s AND person = %s AND last_seq > 0 ORDER BY number"
_MEMORIES = "SELECT name, record FROM memory_events WHERE project = %s AND record IS NOT NULL ORDER BY clock, part"
_GAPS = """SELECT s.name FROM sessions s WHERE s.project = %s AND s.person = %s AND s.last_seq > 0
    AND s.last_seq IS DISTINCT FROM (SELECT max(seq) FROM operations o WHERE o.month = s.month AND o.session = s.number)"""


def problems(home: Home, sessions: Sessions) -> Iterator[str]:
    """Yield what is wrong with the records of the scope."""
    whose = (home.project, home.caller.person)
    names, memories, gaps = home.server.read(home.caller, (_NAMES, whose), (_MEMORIES, (home.project,)), (_GAPS, whose))
    for (name,) in gaps:
        yield f"session {rows.shown(bytes(name))}: its newest operation is missing"
    for (name,) in names:
        try:
            with sessions.read(rows.text_from(bytes(name))) as state:
                yield from _of_session(home, state)
        except StoreError as error:
            yield str(error)
    for name, record in memories:
        try:
            opened_record(home, bytes(name), record)
        except StoreError as error:
            yield str(error)


def _of_session(home: Home, state: SessionState) -> Iterator[str]:
    for record in state.versions():
        if record.event.row is None:
            continue
        try:
            if record.event.kind in _READERS:
                _READERS[Kind(record.event.kind)](record.row)
        except StoreError as error:
            yield f"session {state.name[:64]!r}: {error}"
    by_seq: dict[int, list[Record]] = {}
    for one in state.archive():
        by_seq.setdefault(one.seq, []).append(one)
    segment = segments_of(home, state, by_seq)
    for seq, some in by_seq.items():
        try:
            held = segment(seq)
            yield from (f"session {state.name[:64]!r}: {one}" for one in _missing(some, held))
        except (*FORGED, StoreError) as error:
            yield f"session {state.name[:64]!r}, operation {seq}: {error}"


def _missing(records: Sequence[Record], held: Sequence[PackedOriginal]) -> Iterator[str]:
    for one in records:
        if one.event.row is not None:
            place = one.event.row[2]
            if place >= len(held) or rows.raw(held[place].ref) != one.event.key[0]:
                yield f"original {rows.shown(one.event.key[0])} is missing from its segment"


def _document(row: rows.Row) -> None:
    document_from(row)
    document_content(row)


_READERS: Any = {
    Kind.KEPT: original_from,
    Kind.DECISION: lambda row: decision_from((*row, None)),
    Kind.TASK: task_from,
    Kind.TAG: tag_from,
    Kind.FACT: fact_from,
    Kind.RUN: run_from,
    Kind.DOCUMENT: _document,
}
