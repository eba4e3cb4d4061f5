"""The additions of a commit to the log of a session: each change is compared with what is active, and becomes an event. Pure.

Law: the same change again is no event; a change that contradicts what is stored raises, and then nothing is written.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from undrift.errors import StoreError
from undrift.stores import rows
from undrift.stores.base import RunChange
from undrift.stores.decisions import decision_row
from undrift.stores.dispatch import PreparedRuns
from undrift.stores.facts import PreparedFacts, fact_from
from undrift.stores.memories import PreparedMemories
from undrift.stores.memory_values import MemoryLines, MemoryUpdate, Unchanged
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.events import Kind, LoggedEvent, event_of
from undrift.stores.postgres.session_state import Record, SessionState
from undrift.stores.tasks import PreparedTasks, task_from, task_row
from undrift.stores.write import prepared
from undrift.values.facts import FactChange
from undrift.values.readings import StretchReading
from undrift.values.window import Decision, Original, TaskUpdate

__all__ = ["Additions", "CheckedChanges", "additions", "checked"]

CheckedChanges = Mapping[type, Any]
"""The changes of a commit by their kind, as the kind's table prepares them; decisions each with their row."""

_AGAIN = "nothing was written. Read the session's tasks again and repeat the change"
_FACT_AGAIN = "nothing was written. Read the run's facts again and repeat the change"
_OTHER = "another original is stored under it"


@dataclass
class Additions:
    """The additions of one commit.

    Args:
        events: For the log.
        packed: Originals whose texts go into the operation's segment; their numbers are their places in `events`.
        readings: Rows of readings: key, before, sha256, length, SHA-256 of the record, record.
        updates: Changes of memories, with the rows of their new versions.
        lines: What becomes searchable.
        guards: What must not have changed.
    """

    events: list[LoggedEvent] = field(default_factory=list)
    packed: list[PackedOriginal] = field(default_factory=list)
    readings: list[tuple[Any, ...]] = field(default_factory=list)
    updates: list[tuple[MemoryUpdate, tuple[Any, ...] | None]] = field(default_factory=list)
    lines: list[MemoryLines] = field(default_factory=list)
    guards: list[Unchanged] = field(default_factory=list)


def checked(session_id: str, changes: Sequence[Any]) -> CheckedChanges:
    """Check and hash the changes of a commit, once for all its attempts.

    Raises InputError: no kind takes one of the changes, or a kind refuses it.
    """
    others = [one for one in changes if not isinstance(one, Decision)]
    found: dict[type, Any] = {table.changes[0]: ready for table, ready in prepared(session_id, others)}
    decisions = [one for one in changes if isinstance(one, Decision)]
    found[Decision] = [(one, decision_row(session_id, one)) for one in decisions]
    return found


def additions(state: SessionState, changes: CheckedChanges) -> Additions:
    """Compare changes with a session. Raises StoreError: a change contradicts the session's records."""
    draft = _Draft(state, Additions())
    for kind, write in _WRITERS.items():
        if kind in changes:
            write(draft, changes[kind])
    return draft.additions


@dataclass
class _Draft:
    """A session with the events of a commit that are already accepted.

    Args:
        kept: Those of originals with their texts, by reference.
    """

    state: SessionState
    additions: Additions
    new: dict[tuple[int, tuple[bytes, ...]], LoggedEvent] = field(default_factory=dict)
    kept: dict[bytes, LoggedEvent] = field(default_factory=dict)

    def now(self, kind: Kind, *key: bytes) -> LoggedEvent | None:
        """Return the newest version of a record, with those of this commit; None: there is none, or it was closed."""
        found = self.new.get((kind, key))
        if found is None:
            record = self.state.find(kind, *key)
            return None if record is None else record.event
        return found if found.row is not None else None

    def add(self, event: LoggedEvent) -> None:
        self.additions.events.append(event)
        self.new[event.kind, event.key] = event
        if event.kind == Kind.KEPT:
            self.kept[event.key[-1]] = event

    def active(self, kind: Kind) -> Iterable[LoggedEvent]:
        """Yield the active records of a kind, with those of this commit."""
        for record in self.state.active(kind):
            if (kind, record.event.key) not in self.new:
                yield record.event
        yield from (one for (of, _), one in self.new.items() if of == kind and one.row is not None)


def _originals(draft: _Draft, originals: Sequence[rows.Row]) -> None:
    buffered: set[bytes] | None = None
    for text_row in originals:
        row = event_of(Kind.KEPT, (), text_row).row
        assert row is not None
        ref, _, source, entry_id = row[:4]
        same = (source, entry_id, row[8])
        if (known := _known(draft, ref)) is not None and known != same:
            raise StoreError(f"reference {rows.text_from(ref)!r}: {_OTHER}")
        if source == b"window":
            if known is None:
                _archive(draft, row)
        elif draft.now(Kind.KEPT, source, ref) is None:
            if source == b"buffer":
                buffered = _buffered(draft.state) if buffered is None else buffered
                if entry_id in buffered:
                    raise StoreError(f"entry {rows.shown(entry_id)}: a buffer holds it already; nothing was written")
                buffered.add(entry_id)
            draft.add(LoggedEvent(Kind.KEPT, (source, ref), row))


def _buffered(state: SessionState) -> set[bytes]:
    """Return the entries in the buffer of a session."""
    kept = (one.event.row for one in state.active(Kind.KEPT))
    return {row[3] for row in kept if row is not None and row[2] == b"buffer"}


def _known(draft: _Draft, ref: bytes) -> tuple[Any, ...] | None:
    """Return source, entry and SHA-256 of the content of an original that the session has, active or not."""
    archived = draft.new.get((Kind.ORIGINAL, (ref,)))
    if archived is None and (record := draft.state.archived(ref)) is not None:
        archived = record.event
    if archived is not None and archived.row is not None:
        return b"window", archived.row[0], archived.row[1]
    if (record := draft.state.ever_kept(ref)) is not None and record.event.row is not None:
        return record.event.row[2], record.event.row[3], record.event.row[8]
    new = draft.kept[ref].row if ref in draft.kept else None
    return None if new is None else (new[2], new[3], new[8])


def _archive(draft: _Draft, row: tuple[Any, ...]) -> None:
    ref, _, _, entry_id, type_, tokens, timestamp, entry_seq, sha256, _, metadata, masked, content = row
    place = len(draft.additions.packed)
    names = (rows.text_from(ref), rows.text_from(entry_id), rows.text_from(type_))
    draft.additions.packed.append(
        PackedOriginal(place, *names, tokens, timestamp, entry_seq, metadata, masked, content)
    )
    draft.add(LoggedEvent(Kind.ORIGINAL, (ref,), (entry_id, sha256, place, len(content) + len(metadata or b""), type_)))


def _decisions(draft: _Draft, decisions: Sequence[tuple[Decision, rows.Row]]) -> None:
    for one, row in decisions:
        event = event_of(Kind.DECISION, (one.entry_id, str(one.detail.get("at", ""))), row)
        assert event.row is not None
        if event.row[5] is not None and _known(draft, event.row[5]) is None:
            raise StoreError(
                f"decision about {one.entry_id!r}: the session has no original {one.ref!r}; nothing was written. "
                "Commit the original with the decision, or before it"
            )
        now = draft.now(Kind.DECISION, *event.key)
        if now is None:
            draft.add(event)
        elif now.row is None or now.row[6] != event.row[6]:
            raise StoreError(
                f"entry {one.entry_id!r}: another decision about it is stored; nothing was written. "
                "A decision is made once and applied again on every later turn"
            )


def _tasks(draft: _Draft, tasks: PreparedTasks) -> None:
    last = draft.state.last_ordinal
    for one in tasks.updates:
        key = rows.raw(one.after.id)
        event = draft.now(Kind.TASK, key)
        now = None if event is None else _read(task_from, event)
        ordinal = now.ordinal if now is not None else 0
        was, becomes = (None if task is None else replace(task, ordinal=ordinal) for task in (one.before, one.after))
        if now == becomes or becomes is None:
            continue
        if now != was:
            raise StoreError(f"task {one.after.id[:64]!r}: it was changed meanwhile, by another process; {_AGAIN}")
        if becomes.segments and not becomes.ordinal:
            last += 1
            becomes = replace(becomes, ordinal=last)
        draft.add(event_of(Kind.TASK, (becomes.id,), task_row(draft.state.name, becomes)))
    if tasks.updates:
        _check_agents(draft)
    _tags(draft, tasks.tags)


def _check_agents(draft: _Draft) -> None:
    agents: set[bytes] = set()
    for found in draft.active(Kind.TASK):
        if found.row is not None and found.row[4]:
            if found.row[2] in agents:
                raise StoreError(
                    f"task: agent {rows.text_from(found.row[2])[:64]!r} works on another task, which was started meanwhile; {_AGAIN}"
                )
            agents.add(found.row[2])


def _read(read: Callable[[rows.Row], Any], event: LoggedEvent) -> Any:
    return read(Record(0, 0, event).row)


def _tags(draft: _Draft, tags: Sequence[rows.Row]) -> None:
    for row in tags:
        event = event_of(Kind.TAG, (row[1],), row)
        assert event.row is not None
        if draft.now(Kind.TASK, event.row[2]) is None:
            raise StoreError(
                f"tag: the session has no task {rows.text_from(event.row[2])[:64]!r}; nothing was written. "
                "Commit the task with the tag, or before it"
            )
        now = draft.now(Kind.TAG, *event.key)
        if now is None:
            draft.add(event)
        elif now.row != event.row:
            raise StoreError(f"call {rows.text_from(event.key[0])[:64]!r}: it has another tag, and keeps it; {_AGAIN}")


def _facts(draft: _Draft, facts: PreparedFacts) -> None:
    for before, text_row, sequence in facts.changes:
        key = b"%d" % sequence
        now = draft.now(Kind.FACT, key)
        row = None if text_row is None else event_of(Kind.FACT, (), text_row).row
        if now is not None and now.row is not None and row is not None and now.row[4] == row[4]:
            continue
        if (None if now is None else _read(fact_from, now)) != before:
            raise StoreError(f"fact {sequence}: it was changed meanwhile, by another process; {_FACT_AGAIN}")
        if now is not None or row is not None:
            draft.add(LoggedEvent(Kind.FACT, (key,), row))


def _runs(draft: _Draft, runs: PreparedRuns) -> None:
    for before, row in runs.changes:
        after = event_of(Kind.RUN, (row[1],), row)
        now = draft.now(Kind.RUN, *after.key)
        digest = None if now is None or now.row is None else now.row[2]
        if digest == row[2]:
            continue
        if digest != (None if before is None else before[2]):
            raise StoreError(
                f"run {draft.state.name[:64]!r}: another process has continued it meanwhile; nothing was written. "
                "Let that process finish, or end it, and resume the run"
            )
        draft.add(after)


def _readings(draft: _Draft, readings: Sequence[rows.Row]) -> None:
    for _, *texts, length, digest, record in readings:
        names = (one.encode() if isinstance(one, str) else one for one in texts)
        draft.additions.readings.append((*names, length, digest, record))


def _memories(draft: _Draft, memories: PreparedMemories) -> None:
    draft.additions.updates = list(zip(memories.updates, memories.new, strict=True))


def _lines(draft: _Draft, lines: Sequence[MemoryLines]) -> None:
    draft.additions.lines = list(lines)


def _guards(draft: _Draft, guards: Sequence[Unchanged]) -> None:
    draft.additions.guards = list(guards)


_WRITERS: Mapping[type, Callable[[_Draft, Any], None]] = {
    Original: _originals,
    Decision: _decisions,
    TaskUpdate: _tasks,
    FactChange: _facts,
    RunChange: _runs,
    StretchReading: _readings,
    MemoryUpdate: _memories,
    MemoryLines: _lines,
    Unchanged: _guards,
}
