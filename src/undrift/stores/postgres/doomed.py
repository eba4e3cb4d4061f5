"""The data that a purge takes out of the log of a session, and the log without it. Pure.

Law: a version that goes leaves its place, so that the numbers of the others stay; a decision about what goes still holds,
without its words.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from undrift.stores import rows
from undrift.stores.base import Aim
from undrift.stores.decisions import decision_from, decision_row
from undrift.stores.forgetting import thinned, without_names
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.events import COUNTED_AS, GONE, ORIGINALS, Kind, LoggedEvent, event_of
from undrift.stores.postgres.session_state import LoggedOperation, Record, SessionState
from undrift.values.window import Decision

__all__ = [
    "DoomedRecords",
    "NOTHING",
    "Packed",
    "evicted_tasks",
    "is_named",
    "noted",
    "originals_of",
    "records_of",
    "rewritten",
    "texts_of",
]

Packed = Callable[[int], Sequence[PackedOriginal]]
"""Returns the originals that left with an operation."""

_DESTROYED = LoggedEvent(GONE, (), None)
"""The event in the place of a destroyed one."""
NOTHING = PackedOriginal(0, "", "", "", 0, 0, 0, None, None, b"")
"""The original in the place of a destroyed one, in a segment."""
_OF_TASK = (Kind.TASK, Kind.TAG)


@dataclass(frozen=True, slots=True)
class DoomedRecords:
    """The data that a purge will destroy.

    Args:
        refs: References of originals.
        memories: Ids of memories.
        tasks: Ids of tasks whose exported logs are deleted, because their entries are.
        records: The number of other records, by kind.
    """

    aim: Aim
    refs: frozenset[bytes] = frozenset()
    memories: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    records: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """True if the store has no such data."""
        return not (self.refs or self.memories or any(self.records.values()))

    @property
    def whole_session(self) -> str | None:
        """The session, if all of it is to go."""
        return self.aim.session_id if self.aim.kind == "session" else None

    @property
    def names(self) -> frozenset[str]:
        """The names that no payload may have afterwards."""
        return self.memories | frozenset(map(rows.text_from, self.refs))

    @property
    def removed(self) -> dict[str, int]:
        """The number of destroyed records of each kind."""
        counts = {"originals": len(self.refs), "memories": len(self.memories), **self.records}
        return {name: number for name, number in counts.items() if number}


def originals_of(state: SessionState, aim: Aim, packed: Packed) -> set[bytes]:
    """Return the references of the originals that an aim names in its session."""
    originals = [one for one in state.versions() if one.event.kind in ORIGINALS]
    name = rows.raw(aim.name)
    if aim.kind == "session":
        return {one.event.key[-1] for one in originals}
    if aim.kind == "original":
        return {one.event.key[-1] for one in originals if name in (one.event.key[-1], _entry_of(one))}
    if aim.kind != "task":
        return set()
    calls = {
        rows.text_from(one.event.key[0])
        for one in state.versions()
        if one.event.kind == Kind.TAG and _goes(aim, one.event)
    }
    evicted = {
        row[5] for one in state.versions() for row in _rows(one, b"evicted") if _detail(one).get("task") == aim.name
    }
    own = [one for one in originals if one.event.row is not None and not _is_pin(one)]
    found = {one.event.key[-1] for one in own if one.event.key[-1] in evicted}
    return found | ({one.event.key[-1] for one in own if _pair_of(one, packed) in calls} if calls else set())


def noted(state: SessionState, aim: Aim, memories: Collection[str], *, has_originals: bool) -> set[bytes]:
    """Return the references of notes in a session that repeat the data, such as task lists and memories in windows."""
    is_own = state.name == aim.session_id
    names = {
        name for name, is_meant in (("finished", aim.kind == "task"), ("left", has_originals)) if is_own and is_meant
    }
    found = set()
    for one in state.versions():
        for row in _rows(one, b"noted"):
            detail = _detail(one)
            about = detail.get("name")
            if about in names or (about == "memory" and memories and any(id_ in str(detail) for id_ in memories)):
                found.add(row[5])
    return found


def evicted_tasks(state: SessionState, refs: Collection[bytes]) -> set[str]:
    """Return the tasks that evicted any of these originals."""
    about = (one for one in state.versions() for row in _rows(one, b"evicted") if row[5] in refs)
    return {str(task) for one in about if (task := _detail(one).get("task")) is not None}


def records_of(state: SessionState, aim: Aim) -> dict[str, int]:
    """Return the number of records of an aim, originals and memories apart: each version counts, of a run's record one."""
    counts: dict[str, int] = {}
    runs = set()
    for one in state.versions():
        if one.event.kind in ORIGINALS or one.event.row is None or not _goes(aim, one.event) or one.event.key in runs:
            continue
        if one.event.kind == Kind.RUN:
            runs.add(one.event.key)
        name = COUNTED_AS[Kind(one.event.kind)]
        counts[name] = counts.get(name, 0) + 1
    return counts


def _goes(aim: Aim, event: LoggedEvent) -> bool:
    """Tell whether an event of the aim's session goes for its kind and its name."""
    if aim.kind == "session":
        return True
    if aim.kind == "task":
        place = {Kind.TASK: 1, Kind.TAG: 2}
        return (
            event.kind in _OF_TASK
            and event.row is not None
            and event.row[place[Kind(event.kind)]] == rows.raw(aim.name)
        )
    if aim.kind == "document" and event.kind == Kind.DOCUMENT:
        return tuple(json.loads(event.key[1]))[: len(aim.path)] == tuple(aim.path)
    return False


def texts_of(state: SessionState, found: DoomedRecords, packed: Packed) -> Iterator[bytes]:
    """Yield the texts of what goes from a session."""
    is_own = state.name == found.aim.session_id
    for one in state.versions():
        row: Any = one.event.row
        if row is None:
            continue
        if one.event.kind in ORIGINALS:
            if one.event.key[-1] in found.refs:
                yield row[12] if one.event.kind == Kind.KEPT else _packed(one, packed).content
        elif is_own and _goes(found.aim, one.event):
            yield from (text for text in _words(one.event) if text)


def is_named(log: Iterable[LoggedOperation], names: Collection[str]) -> bool:
    """Tell whether the payload of any operation has one of these names as a value."""
    payloads = (one.operation.payload for one in log)
    return any(payload is not None and without_names(payload, names) != payload for payload in payloads)


def rewritten(
    state: SessionState, found: DoomedRecords, names: Collection[str], blank: Callable[[Decision], Decision]
) -> list[LoggedOperation]:
    """Return the log of a session without the data; an operation that stays as it is is the same value.

    Args:
        names: What the payloads must not name.
        blank: Returns a decision without its purged original.
    """
    is_own = state.name == found.aim.session_id
    is_whole = state.name == found.whole_session
    log = []
    for logged in state.log:
        operation, kept = logged.operation, len(logged.events)
        events = [_rest(state.name, one, found, blank, is_own=is_own) for one in logged.events]
        while kept and events[kept - 1].kind == GONE:  # nothing stands behind these
            kept -= 1
        payload: Any = operation.payload
        if payload is not None:
            payload = thinned(payload, names, is_whole=is_whole)
        if tuple(events[:kept]) == logged.events and payload == operation.payload:
            log.append(logged)
        else:
            log.append(LoggedOperation(replace(operation, payload=payload), tuple(events[:kept]), logged.clock))
    return log


def _rest(
    session: str, event: LoggedEvent, found: DoomedRecords, blank: Callable[[Decision], Decision], *, is_own: bool
) -> LoggedEvent:
    """Return an event without the data."""
    if event.kind == GONE or (is_own and _goes(found.aim, event)):
        return _DESTROYED
    if event.kind in ORIGINALS:
        return _DESTROYED if event.key[-1] in found.refs else event
    if event.kind != Kind.DECISION or event.row is None or event.row[5] not in found.refs:
        return event
    decision = _decision(event)
    if decision.kind == "pinned":  # the pin itself is destroyed
        return _DESTROYED
    new = blank(decision)
    return event_of(Kind.DECISION, (new.entry_id, str(new.detail.get("at", ""))), decision_row(session, new))


def _rows(one: Record, of: bytes) -> Iterator[tuple[Any, ...]]:
    """Yield the row of a decision of one kind that names an original, or nothing."""
    row = one.event.row
    if one.event.kind == Kind.DECISION and row is not None and row[2] == of and row[5] is not None:
        yield row


def _decision(event: LoggedEvent) -> Decision:
    return decision_from((*Record(0, 0, event).row, None))


def _detail(one: Record) -> Mapping[str, Any]:
    return _decision(one.event).detail


def _entry_of(one: Record) -> bytes | None:
    row = one.event.row
    return None if row is None else row[3 if one.event.kind == Kind.KEPT else 0]


def _is_pin(one: Record) -> bool:
    return one.event.kind == Kind.KEPT and one.event.key[0] == b"pin"


def _pair_of(one: Record, packed: Packed) -> object:
    """Return the call that an original answers; None: it answers none."""
    row: Any = one.event.row
    metadata = rows.load(row[10] if one.event.kind == Kind.KEPT else _packed(one, packed).metadata)
    return metadata.get("pair_id") if isinstance(metadata, Mapping) else None


def _packed(one: Record, packed: Packed) -> PackedOriginal:
    """Return an original as its segment holds it; what is damaged has no text."""
    row: Any = one.event.row
    held = packed(one.seq)
    return held[row[2]] if row[2] < len(held) else NOTHING._replace(number=row[2])


def _words(event: LoggedEvent) -> Iterator[bytes]:
    """Yield the texts of a record of another kind."""
    row: Any = event.row
    if event.kind == Kind.DOCUMENT:
        yield row[6]
    elif event.kind == Kind.TASK:
        record = rows.load(row[6])
        yield from (rows.raw(text) for name in ("content", "result_summary") if (text := record.get(name)))
    elif event.kind == Kind.FACT:
        record = rows.load(row[5])
        yield from (rows.raw(text) for name in ("subject", "object") if (text := record.get(name)))
    elif event.kind == Kind.RUN:
        yield from map(rows.raw, _strings(rows.load(row[3])))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
