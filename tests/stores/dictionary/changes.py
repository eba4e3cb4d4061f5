"""How each kind of change is written: the same again is nothing, what contradicts is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.stores.dictionary.memories import check, update_memory
from tests.stores.dictionary.records import Home, Session, as_json, integer
from tests.stores.dictionary.searching import keep_lines
from undrift.errors import InputError, StoreError
from undrift.stores.base import RunChange
from undrift.stores.memory_values import MemoryLines, MemoryUpdate, Unchanged
from undrift.values.facts import FactChange, FactVersion
from undrift.values.readings import StretchReading
from undrift.values.window import Decision, Original, Tag, Task, TaskUpdate

__all__ = ["Writing", "write"]


_AGAIN = "nothing was written. Read the session's tasks again and repeat the change"


@dataclass
class Writing:
    """One operation while it is written, into a draft."""

    home: Home
    session: Session
    name: str
    seq: int
    payload: Any = None


def write(writing: Writing, changes: Sequence[Any]) -> None:
    """Write the changes of an operation, one kind after the other."""
    for one in changes:
        if type(one) not in _KINDS:
            raise InputError(f"a store keeps no {type(one).__name__}")
    _check_once(changes)
    for kind, keep in _KINDS.items():
        for one in changes:
            if type(one) is kind:
                keep(writing, one)
    if any(type(one) is TaskUpdate for one in changes):
        _check_agents(writing.session)


def _check_once(changes: Sequence[Any]) -> None:
    """A commit takes one change of each record."""
    seen: set[Any] = set()
    for one in changes:
        keys: set[tuple[Any, Any]]
        match one:
            case FactChange(before, after):
                keys = {("fact", two.sequence) for two in (before, after) if two is not None}
            case TaskUpdate(before, after) | MemoryUpdate(before, after):
                keys = {(_NAMES[type(one)], two.id) for two in (before, after) if two is not None}
            case RunChange(name=name):
                keys = {("run", name)}
            case _:
                continue
        if len(keys) != 1 or keys & seen:
            names = ", ".join(f"{kind} {name!r}" for kind, name in keys)
            raise InputError(f"{names}: a commit takes one change for each name, of one and the same record")
        seen |= keys


def _original(writing: Writing, one: Original) -> None:
    session, home = writing.session, writing.home
    if one.session_id != writing.name:
        raise InputError(f"original {one.ref}: is of another session")
    entry, about = one.entry, f"entry {one.entry.id!r}"
    for value in (entry.token_count, entry.timestamp, entry.seq):
        integer(about, value)
    one = replace(one, entry=replace(entry, metadata=as_json(entry.metadata, about)))
    if any(one.ref in other.archive for key, other in home.sessions.items() if key != writing.name):
        raise StoreError(f"reference {one.ref!r}: another original is stored under it")
    _, same = session.archive.setdefault(one.ref, (home.number(), one))
    if (same.source, same.entry.id, same.entry.content) != (one.source, entry.id, entry.content):
        raise StoreError(f"reference {one.ref!r}: another original is stored under it")
    if one.source != "window":
        session.now.originals[one.ref] = same
    buffered = [kept.entry.id for kept in session.now.originals.values() if kept.source == "buffer"]
    if len(buffered) != len(set(buffered)):
        raise StoreError(f"entry {entry.id!r}: a buffer holds it already")


def _decision(writing: Writing, one: Decision) -> None:
    integer(f"decision about {one.entry_id!r}", one.tokens_saved)
    one = replace(one, detail=as_json(one.detail, f"decision about {one.entry_id!r}: detail"))
    if one.ref and one.ref not in writing.session.archive:
        raise StoreError(f"decision about {one.entry_id!r}: the session has no original {one.ref!r}")
    if writing.session.now.decisions.setdefault((one.entry_id, str(one.detail.get("at", ""))), one) != one:
        raise StoreError(f"entry {one.entry_id!r}: another decision about it is stored")


def _task(writing: Writing, one: TaskUpdate) -> None:
    session, task_id = writing.session, one.after.id
    integer(f"task {task_id!r}: ordinal", one.after.ordinal)
    now = session.now.tasks.get(task_id)
    ordinal = now.ordinal if now else 0
    was, becomes = (None if task is None else _plain(task, ordinal) for task in (one.before, one.after))
    if now == becomes or becomes is None:
        return
    if now != was:
        raise StoreError(f"task {task_id!r}: it was changed meanwhile; {_AGAIN}")
    if becomes.segments and not becomes.ordinal:
        session.ordinals += 1
        becomes = replace(becomes, ordinal=session.ordinals)
    session.made.setdefault(task_id)
    session.now.tasks[task_id] = becomes


def _plain(task: Task, ordinal: int) -> Task:
    names = ("grounding", "grounding_evidence", "validation")
    values = {name: as_json(getattr(task, name), f"task {task.id!r}") for name in names}
    return replace(task, ordinal=ordinal, acceptance_criteria=tuple(task.acceptance_criteria), **values)


def _check_agents(session: Session) -> None:
    agents = [task.agent for task in session.now.tasks.values() if task.is_worked_on]
    for agent in agents:
        if agents.count(agent) > 1:
            raise StoreError(f"agent {agent!r} works on another task, which was started meanwhile; {_AGAIN}")


def _tag(writing: Writing, one: Tag) -> None:
    integer(f"tag of call {one.call_id!r}", one.segment)
    if one.task_id not in writing.session.now.tasks:
        raise StoreError(f"call {one.call_id!r}: the session has no task {one.task_id!r}")
    if writing.session.now.tags.setdefault(one.call_id, one) != one:
        raise StoreError(f"call {one.call_id!r}: it has another tag, and keeps it")


def _fact(writing: Writing, one: FactChange) -> None:
    session = writing.session
    before, after = (_plain_fact(two, writing.name) for two in (one.before, one.after))
    given = after or before
    assert given is not None  # `_check_once` has refused it
    now = session.now.facts.get(given.sequence)
    if now == after and after is not None:
        return
    if now != before:
        raise StoreError(f"fact {given.sequence}: it was changed meanwhile")
    if after is None:
        session.now.facts.pop(given.sequence, None)
    else:
        session.now.facts[given.sequence] = after
    session.sequences = max(session.sequences, given.sequence)
    session.facts_at = writing.seq


def _plain_fact(version: FactVersion | None, run_id: str) -> FactVersion | None:
    if version is None:
        return None
    integer("fact", version.sequence)
    fact = version.fact
    return replace(version, fact=replace(fact, run_id=run_id, metadata=as_json(fact.metadata, f"fact {fact.id!r}")))


def _run(writing: Writing, one: RunChange) -> None:
    runs = writing.session.runs
    before, after = (as_json(two, f"run {writing.name!r} holds JSON values") for two in (one.before, one.after))
    if runs.get(one.name) == after:
        return
    if runs.get(one.name) != before:
        raise StoreError(f"run {writing.name!r}: another process has continued it meanwhile")
    runs[one.name] = after


def _reading(writing: Writing, one: StretchReading) -> None:
    kept = writing.session.readings
    if one not in kept and (not one.before or any(other.sha256 == one.before for other in kept)):
        kept.append(one)


def _memory(writing: Writing, one: MemoryUpdate) -> None:
    update_memory(writing.home, (writing.name, writing.seq), one)


def _lines(writing: Writing, one: MemoryLines) -> None:
    keep_lines(writing.home, one)


def _unchanged(writing: Writing, one: Unchanged) -> None:
    check(writing.home, one)


_NAMES = {TaskUpdate: "task", MemoryUpdate: "memory"}
_KINDS: Mapping[type, Any] = {
    Original: _original,
    Decision: _decision,
    TaskUpdate: _task,
    Tag: _tag,
    FactChange: _fact,
    RunChange: _run,
    MemoryUpdate: _memory,
    MemoryLines: _lines,
    Unchanged: _unchanged,
    StretchReading: _reading,
}
