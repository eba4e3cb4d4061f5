"""The events of the operations of one session, as the rows of a file say them.

Law: reads only. A row says from which operation until which it was active; what no rewind did is an event of that operation.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows, segments
from undrift.stores.decisions import DECISION_COLUMNS, decision_from
from undrift.stores.dispatch import RUN_COLUMNS, run_from
from undrift.stores.documents import DOCUMENT_COLUMNS, document_content, document_from
from undrift.stores.facts import FACT_COLUMNS, fact_from
from undrift.stores.figures import whole
from undrift.stores.originals import ORIGINAL_COLUMNS, original_from, unpacked_original
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.events import Kind, LoggedEvent, new_row
from undrift.stores.postgres.session_state import BACK, BACK_OF_FACTS, Record, SessionState
from undrift.stores.tasks import TAG_COLUMNS, TASK_COLUMNS, tag_from, task_from

__all__ = [
    "Interval",
    "check_active",
    "events_of",
    "intervals",
    "original_event",
    "originals_of",
]

_GAPS = """SELECT g.of_number, g.from_seq, g.to_seq FROM gaps g JOIN {table} t ON t.number = g.of_number
    WHERE g.of_table = '{table}' AND t.session_id = ? ORDER BY g.number"""
_ROWS = "SELECT from_seq, to_seq, {columns} FROM {table} WHERE session_id = ?{where} ORDER BY number"
_PLACES = """SELECT from_seq, number, segment, place FROM originals
    WHERE source = 'window' AND number IN (SELECT value FROM json_each(?)) ORDER BY from_seq, number"""
_PLAIN = f"SELECT {ORIGINAL_COLUMNS} FROM originals WHERE number = ?"  # noqa: S608 - constants of ours


class _SessionRows(NamedTuple):
    kind: Kind
    name: str
    columns: str
    check: Callable[[rows.Row], object]
    key: Callable[[rows.Row], tuple[bytes, ...]]
    where: str = ""


class Interval(NamedTuple):
    """A time in which a row was active: from an operation until another, where it was so no more. None: it still is.

    `is_first`: the row was written at its start; else it was opened again.
    """

    start: int
    end: int | None
    is_first: bool

    @property
    def is_empty(self) -> bool:
        """True if the operation that began it also ended it."""
        return self.end == self.start


def _decision_key(row: rows.Row) -> tuple[bytes, ...]:
    return row[3], rows.raw(str((rows.load(row[8]) or {}).get("at", "")))


def _document(row: rows.Row) -> object:
    return document_from(row), document_content(row)


_TABLES = (
    _SessionRows(Kind.KEPT, "originals", ORIGINAL_COLUMNS, original_from, lambda row: (row[4], row[2]), " AND source <> 'window'"),
    _SessionRows(Kind.DECISION, "decisions", DECISION_COLUMNS, lambda row: decision_from((*row, None)), _decision_key),
    _SessionRows(Kind.TASK, "tasks", TASK_COLUMNS, task_from, lambda row: (row[3],)),
    _SessionRows(Kind.TAG, "tags", TAG_COLUMNS, tag_from, lambda row: (row[3],)),
    _SessionRows(Kind.FACT, "facts", FACT_COLUMNS, fact_from, lambda row: (b"%d" % row[3],)),
    _SessionRows(Kind.RUN, "run_records", RUN_COLUMNS, run_from, lambda row: (row[3],)),
    _SessionRows(Kind.DOCUMENT, "documents", f"{DOCUMENT_COLUMNS}, content", _document, lambda row: (row[3], row[4])),
)  # fmt: skip


class _RowVersion(NamedTuple):
    number: int
    event: LoggedEvent
    spans: Sequence[Interval]


def events_of(
    connection: apsw.Connection, session: str | bytes, kinds: Mapping[int, str]
) -> tuple[dict[int, list[LoggedEvent]], dict[Kind, dict[tuple[bytes, ...], bytes]]]:
    """Return the events of each operation, originals that left a window apart; and the SHA-256 of what is active, by kind.

    Args:
        session: In the form of `rows.key`.
        kinds: The kind of each operation, by its number.

    Raises StoreCorrupt: a row does not match its SHA-256.
    """
    found: dict[int, list[LoggedEvent]] = defaultdict(list)
    active: dict[Kind, dict[tuple[bytes, ...], bytes]] = {}
    for table in _TABLES:
        versions = list(_versions(connection, table, session))
        back = BACK_OF_FACTS if table.kind is Kind.FACT else BACK
        for seq, events in _placed(versions, kinds, back, drops_copies=table.kind is Kind.FACT).items():
            found[seq] += events
        now = [one for one in versions if one.spans[-1].end is None]
        active[table.kind] = {one.event.key: Record(0, 0, one.event).digest for one in now}
    return found, active


def intervals(start: int, end: int | None, gaps: Iterable[tuple[int, int]]) -> list[Interval]:
    """Return the times in which a row was active. `gaps`: those in which it was not, oldest first."""
    found, is_first = [], True
    for closed, opened in gaps:
        found.append(Interval(start, closed, is_first))
        start, is_first = opened, False
    return [*found, Interval(start, end, is_first)]


def check_active(state: SessionState, active: Mapping[Kind, Mapping[tuple[bytes, ...], bytes]]) -> None:
    """Compare what follows of a log with the rows that are active. Raises StoreCorrupt: it is something else."""
    for kind, expected in active.items():
        made = {one.event.key: one.digest for one in state.active(kind)}
        if made != expected:
            wrong = {key for key in made.keys() | expected.keys() if made.get(key) != expected.get(key)}
            names = ", ".join(sorted(rows.shown(b" ".join(key))[:80] for key in wrong)[:3])
            raise StoreCorrupt(
                f"session {state.name[:64]!r}: its log does not give the {kind.name.lower()} records that are active: {names}"
            )


def originals_of(connection: apsw.Connection, session: str | bytes) -> Iterator[tuple[int, PackedOriginal]]:
    """Yield the originals that left a window, each with its operation, in their order. Raises StoreCorrupt."""
    numbers = json.dumps(segments.numbers_of(connection, session))
    places: list[Any] = connection.execute(_PLACES, (numbers,)).fetchall()
    reader = segments.SegmentReader(connection)
    for seq, number, segment, place in places:
        if segment is None:
            (row,) = connection.execute(_PLAIN, (number,)).fetchall()
            original_from(row)
            yield seq, _packed(row)
            continue
        one = reader.original(number, segment, place)
        unpacked_original(rows.stored(session), one)
        yield seq, one


def original_event(place: int, one: PackedOriginal) -> LoggedEvent:
    """Return the event of an original that left a window. `place`: among those of its operation."""
    size_bytes = len(one.content) + len(one.metadata or b"")
    row = (rows.raw(one.entry_id), hashlib.sha256(one.content).digest(), place, size_bytes, rows.raw(one.type))
    return LoggedEvent(Kind.ORIGINAL, (rows.raw(one.ref),), row)


def _packed(row: rows.Row) -> PackedOriginal:
    number, _, ref, _, _, entry_id, kind, tokens, timestamp, seq, _, metadata, masked, content = row
    return PackedOriginal(
        number,
        rows.text_from(ref),
        rows.text_from(entry_id),
        rows.text_from(kind),
        tokens,
        timestamp,
        seq,
        metadata,
        masked,
        content,
    )


def _versions(connection: apsw.Connection, table: _SessionRows, session: str | bytes) -> Iterator[_RowVersion]:
    gaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
    listed: Iterable[Any] = connection.execute(_GAPS.format(table=table.name), (session,)).fetchall()
    for number, closed, opened in listed:
        gaps[number].append((closed, opened))
    sql = _ROWS.format(columns=table.columns, table=table.name, where=table.where)
    found: Iterable[Any] = connection.execute(sql, (session,)).fetchall()
    for start, end, *row in found:
        own = whole(tuple(row)) if table.kind is Kind.DECISION else tuple(row)
        table.check(own)
        event = LoggedEvent(table.kind, table.key(own), new_row(table.kind, own))
        yield _RowVersion(own[0], event, intervals(start, end, gaps.get(own[0], ())))


def _placed(
    versions: Sequence[_RowVersion], kinds: Mapping[int, str], back: frozenset[str], *, drops_copies: bool
) -> dict[int, list[LoggedEvent]]:
    """Return the events of the versions of one kind by their operations; what rewinds did is none.

    `drops_copies`: a version that a rewind wrote is a copy of an earlier one.
    """
    found: dict[int, list[LoggedEvent]] = defaultdict(list)
    alive = {(span.start, one.event.key) for one in versions for span in one.spans if not span.is_empty}
    for one in sorted(versions, key=lambda version: version.number):
        for span in one.spans:
            is_of_rewind = kinds.get(span.start) in back
            is_copy = drops_copies and not span.is_empty
            if not is_of_rewind or (span.is_first and not is_copy):
                found[span.start].append(one.event)
    for one in versions:
        for span in one.spans:
            at, key = span.end, one.event.key
            if at is not None and kinds.get(at) not in back and (at, key) not in alive:
                closing = LoggedEvent(one.event.kind, key, None)
                if closing not in found[at]:
                    found[at].append(closing)
    return {seq: events for seq, events in found.items() if events}
