"""The only destruction: out of what is active, and out of every state of the past."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.stores.dictionary.memories import sees
from tests.stores.dictionary.records import Home, Session, State
from tests.stores.dictionary.searching import forget_lines, keep_lines
from undrift.stores.base import Aim, Remains
from undrift.stores.memory_values import Heir, MemoryLines, Viewer
from undrift.values.memory import MemoryEntry, heir_id, reopened
from undrift.values.window import Decision, Original

__all__ = ["Doomed", "destroy", "doomed", "remains"]

_KINDS = ("decisions", "tasks", "tags", "documents", "facts")


@dataclass
class Doomed:
    """What is to go: references, ids of memories and of tasks with a log, the texts of it all, and records by kind."""

    aim: Aim
    refs: set[str]
    memories: set[str]
    tasks: frozenset[str]
    texts: tuple[str, ...]
    records: dict[str, int]

    @property
    def is_nothing(self) -> bool:
        return not (self.refs or self.memories or any(self.records.values()))


def doomed(home: Home, aim: Aim) -> Doomed:
    """Find what belongs to it."""
    session, name = home.of(aim.session_id), aim.name
    originals = {ref: one for ref, (_, one) in session.archive.items()}
    entries = {event.id: event for event in home.events if event.entry is not None}
    viewer = Viewer(aim.agent, aim.session_id)
    refs, memories = set[str](), set[str]()
    match aim.kind:
        case "original":
            refs = {ref for ref, one in originals.items() if name in (ref, one.entry.id)}
        case "task":
            refs = _of_task(session, name)
            memories = {e.id for e in home.events if _from(e.entry, aim.session_id, f"task:{name}")}
        case "session":
            refs = set(originals)
            memories = {event.id for event in home.events if _from(event.entry, aim.session_id)}
        case "memory":
            memories = {
                one for one, event in entries.items() if one == name and event.entry and sees(viewer, event.entry)
            }
    refs |= _notes(home, aim, memories, has_originals=bool(refs))
    evicted = [one for state in _states(session) for one in state.decisions.values() if one.kind == "evicted"]
    tasks = frozenset(str(one.detail.get("task")) for one in evicted if one.ref in refs)
    records = _records(session, aim)
    texts = [
        one.entry.content for other in home.sessions.values() for ref, (_, one) in other.archive.items() if ref in refs
    ]
    texts += [event.entry.content for event in home.events if event.id in memories and event.entry is not None]
    texts += [one.content.decode("utf-8", "replace") for kind, one in records if kind == "documents"]
    counts = {kind: sum(one == kind for one, _ in records) for kind, _ in records}
    return Doomed(aim, refs, memories, tasks | ({name} if aim.kind == "task" else set()), tuple(texts), counts)


def destroy(
    home: Home, found: Doomed, blank: Callable[[Decision], Decision], heir: Heir | None = None
) -> dict[str, int]:
    """Delete it from a draft; return how many records of each kind are gone."""
    aim = found.aim
    for name, session in list(home.sessions.items()):
        home.sessions[name] = session = session.copied()
        session.now = _without(session.now, found, blank, is_own=name == aim.session_id)
        session.past = {
            seq: _without(state, found, blank, is_own=name == aim.session_id) for seq, state in session.past.items()
        }
        session.archive = {ref: one for ref, one in session.archive.items() if ref not in found.refs}
        is_whole = aim.kind == "session" and name == aim.session_id
        session.log = [replace(one, payload=_thin(one.payload, found, is_whole=is_whole)) for one in session.log]
    own = home.of(aim.session_id)
    if aim.kind in ("original", "task", "session"):
        own.readings = []
    if aim.kind == "session":
        own.marks, own.runs, own.made = {}, {}, {}
        own.sequences = own.facts_at = 0
    own.ordinals = max((task.ordinal for state in _states(own) for task in state.tasks.values()), default=0)
    if aim.kind == "session" and heir is not None:
        for one in found.memories:
            _let_inherit(home, one, aim.session_id, heir)
    known = {event.id for event in home.events}
    whose = aim.session_id if aim.kind == "session" else None
    home.events = [
        replace(event, entry=_settled(_unquoted(event.entry, found.memories, whose), found.memories, known))
        for event in home.events
        if event.id not in found.memories
    ]
    forget_lines(home, found.memories)
    counts = {"originals": len(found.refs), "memories": len(found.memories), **found.records}
    return {kind: number for kind, number in counts.items() if number}


def remains(home: Home, texts: Collection[str]) -> Remains:
    """Name the records that hold the same words: nothing else can be left."""
    wanted = [text for text in texts if len(text) >= 6]
    held = {
        f"original {ref}": one.entry.content
        for name in home.sessions
        for ref, (_, one) in home.of(name).archive.items()
    }
    held |= {f"memory {event.id}": event.entry.content for event in home.events if event.entry is not None}
    copies = sorted(name for name, content in held.items() if any(text in content for text in wanted))
    return Remains(copies=tuple(copies))


def _states(session: Session) -> Iterable[State]:
    return [session.now, *session.past.values()]


def _from(entry: MemoryEntry | None, session_id: str, source: str | None = None) -> bool:
    return entry is not None and entry.session_id == session_id and source in (None, entry.source)


def _of_task(session: Session, task_id: str) -> set[str]:
    decisions = [one for state in _states(session) for one in state.decisions.values()]
    evicted = {one.ref for one in decisions if one.kind == "evicted" and one.detail.get("task") == task_id}
    calls = {one.call_id for state in _states(session) for one in state.tags.values() if one.task_id == task_id}
    kept: list[Original] = [one for _, one in session.archive.values() if one.source != "pin"]
    return {one.ref for one in kept if one.ref in evicted or one.entry.meta("pair_id") in calls}


def _notes(home: Home, aim: Aim, memories: Collection[str], *, has_originals: bool) -> set[str]:
    """Notes in windows that repeat what goes."""
    found: set[str] = set()
    names = {name for name, is_meant in (("finished", aim.kind == "task"), ("left", has_originals)) if is_meant}
    for owner, session in home.sessions.items():
        for one in (one for state in _states(session) for one in state.decisions.values()):
            if one.kind == "noted" and one.ref:
                is_list = owner == aim.session_id and one.detail.get("name") in names
                if is_list or (one.detail.get("name") == "memory" and any(id_ in str(one.detail) for id_ in memories)):
                    found.add(one.ref)
    return found


def _records(session: Session, aim: Aim) -> list[tuple[str, Any]]:
    """What goes besides originals and memories, as kind and record, each version once."""
    found: dict[int, tuple[str, Any]] = {}
    for state in _states(session):
        for kind in _KINDS:
            for key, one in getattr(state, kind).items():
                if _goes(aim, kind, key, one):
                    found[id(one)] = (kind, one)
    runs = [("run_records", one) for one in session.runs.values()] if aim.kind == "session" else []
    return [*found.values(), *runs]


def _goes(aim: Aim, kind: str, key: Any, one: Any) -> bool:
    match aim.kind:
        case "session":
            return True
        case "task":
            return kind in ("tasks", "tags") and aim.name == (one.id if kind == "tasks" else one.task_id)
        case "document":
            return kind == "documents" and key[1][: len(aim.path)] == tuple(aim.path)
    return False


def _without(state: State, found: Doomed, blank: Callable[[Decision], Decision], *, is_own: bool) -> State:
    kinds: dict[str, Any] = {
        kind: {
            key: one for key, one in getattr(state, kind).items() if not (is_own and _goes(found.aim, kind, key, one))
        }
        for kind in _KINDS
    }
    kinds["decisions"] = {
        key: blank(one) if one.ref in found.refs else one
        for key, one in kinds["decisions"].items()
        if not (one.ref in found.refs and one.kind == "pinned")
    }
    originals = {ref: one for ref, one in state.originals.items() if ref not in found.refs}
    return replace(state, originals=originals, **kinds)


def _thin(payload: Any, found: Doomed, *, is_whole: bool) -> Any:
    """Take out of a payload what names it."""
    if is_whole:
        return {name: one for name, one in (payload or {}).items() if name in ("to", "of")} or None
    return _stripped(payload, found.refs | found.memories)


def _stripped(value: Any, gone: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _stripped(one, gone) for name, one in value.items() if not (isinstance(one, str) and one in gone)}
    if isinstance(value, list):
        return [_stripped(one, gone) for one in value if not (isinstance(one, str) and one in gone)]
    return value


def _unquoted(entry: Any, gone: Collection[str], whose: str | None) -> Any:
    metadata = {} if entry is None else dict(entry.metadata)
    if isinstance(conflicts := metadata.get("conflicts"), list):
        metadata["conflicts"] = [one for one in conflicts if one.get("with") not in gone]
    if whose is not None and isinstance(restated := metadata.get("restated"), list):
        metadata["restated"] = [one for one in restated if one.get("session_id") != whose]
    return entry if entry is None else replace(entry, metadata=metadata)


def _settled(entry: Any, gone: Collection[str], known: Collection[str]) -> Any:
    """What a memory that goes had superseded is superseded by its heir, or active again where the two say the same."""
    by = None if entry is None else entry.contradicted_by_entry_id
    if by is None or by not in gone:
        return entry
    if heir_id(by) in known:
        return replace(entry, contradicted_by_entry_id=heir_id(by))
    return reopened(entry) if entry.contradiction_rule == "restated" else entry


def _let_inherit(home: Home, gone: str, session_id: str, heir: Heir) -> None:
    """Put what other sessions said in the place of each version that they restated."""
    new_id = heir_id(gone)
    stays: dict[Any, bool] = {}
    is_known = False
    for place, event in enumerate(home.events):
        if event.id != gone:
            continue
        found = None if event.entry is None else heir(_of_others(event.entry, event.session, session_id, stays))
        if found is not None:
            home.events[place] = replace(event, id=new_id, entry=found[0])
            is_known = True
            forget_lines(home, [new_id])
            keep_lines(home, MemoryLines([found[1]]))
        elif event.entry is None and is_known:  # it was forgotten
            home.events[place] = replace(event, id=new_id)


def _of_others(entry: MemoryEntry, writer: str, session_id: str, stays: dict[Any, bool]) -> MemoryEntry:
    """Take out of a version what a session restated, and what it claims for others."""
    if entry.session_id != session_id:
        stays[entry.content, entry.source, entry.session_id] = True
    restated = entry.metadata.get("restated")
    held = [one for one in restated if isinstance(one, Mapping)] if isinstance(restated, list) else []
    kept = []
    for one in held:
        key = one.get("content"), one.get("source"), one.get("session_id")
        if stays.setdefault(key, session_id not in (writer, one.get("session_id"))):
            kept.append(one)
    return replace(entry, metadata={**entry.metadata, "restated": kept})
