"""Memories as a list of what became of them: of each, the newest change counts that no rewinding took back."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from tests.stores.dictionary.records import Event, Home, as_json
from undrift.errors import StoreConflict
from undrift.stores.memory_values import MemoryUpdate, Unchanged, Viewer, content_digest
from undrift.values.memory import MemoryEntry

__all__ = ["MemoryReader", "active", "check", "sees", "update_memory"]

_MOST = 100


class MemoryReader:
    """The memories of a home.

    Args:
        home: Gives its records; raises where the store is closed.
    """

    def __init__(self, home: Callable[[], Home]) -> None:
        self._home = home

    def by_id(self, ids: Collection[str], viewer: Viewer | None = None) -> dict[str, MemoryEntry]:
        found = {one.id: one for one in _seen(self._home(), viewer)}
        return {name: found[name] for name in found if name in set(ids)}

    def by_slot(self, keys: Iterable[tuple[str, str]], viewer: Viewer) -> list[MemoryEntry]:
        return self._stated({(relation, entity) for relation, entity in keys}, viewer, with_entity=True)

    def by_relation(self, relations: Iterable[str], viewer: Viewer) -> list[MemoryEntry]:
        return self._stated({(relation, "") for relation in relations}, viewer, with_entity=False)

    def _stated(self, keys: set[tuple[str, str]], viewer: Viewer, *, with_entity: bool) -> list[MemoryEntry]:
        ids: set[str] = set()
        for key in keys:
            of_one = {
                event.id: None
                for event in reversed(self._home().events)
                if event.entry is not None
                and key in {(slot.relation, slot.entity if with_entity else "") for slot in event.entry.slots}
            }
            ids |= {*list(of_one)[:_MOST]}
        return sorted(self.by_id(ids, viewer).values(), key=lambda one: one.seq)

    def by_digest(self, digest: str, viewer: Viewer) -> list[MemoryEntry]:
        now = _seen(self._home(), viewer._replace(seq=None))
        return [one for one in now if content_digest(one.content) == digest]

    def is_forgotten(self, digest: str) -> bool:
        home = self._home()
        ids = {one.id for one in home.events if one.entry is not None and content_digest(one.entry.content) == digest}
        counted = [one for one in home.events if one.id in ids and one.seq in home.sessions[one.session].now.counted]
        if not counted or counted[-1].entry is not None:
            return False
        return any(
            one.seq == counted[-1].seq and one.kind == "forget" for one in home.sessions[counted[-1].session].log
        )

    def count_learned(self, start: str) -> int:
        found = [one for one in _seen(self._home(), None) if one.scope in ("project", "user")]
        return sum(one.source.startswith(start) and "learned" in one.metadata for one in found)

    def seen(self, viewer: Viewer | None) -> list[MemoryEntry]:
        return sorted(_seen(self._home(), viewer), key=lambda one: one.seq)

    def disputing(self, viewer: Viewer) -> list[MemoryEntry]:
        return [one for one in self.seen(viewer) if "conflicts" in one.metadata]


def active(home: Home, session_id: str = "", seq: int | None = None) -> dict[str, Event]:
    """Return the event that counts of each memory, now or right after an operation of a session."""
    if seq is None:
        counted = {name: session.now.counted for name, session in home.sessions.items()}
        written = home.events
    else:
        then = (session_id, home.of(session_id).until(seq))
        before = home.order[: home.order.index(then) + 1] if then in home.order else []
        newest = dict(before)
        counted = {name: home.sessions[name].past[last].counted for name, last in newest.items()}
        written = [one for one in home.events if (one.session, one.seq) in set(before)]
    return {one.id: one for one in written if one.seq in counted.get(one.session, ())}


def sees(viewer: Viewer | None, entry: MemoryEntry) -> bool:
    """Tell whether a memory is shown to somebody; None sees all."""
    if viewer is None or entry.scope in ("project", "user"):
        return True
    return entry.agent == viewer.agent if entry.scope == "agent" else entry.session_id == viewer.session_id


def update_memory(home: Home, by: tuple[str, int], update: MemoryUpdate) -> None:
    """Write a change of a memory where it is still what it was.

    Args:
        home: A draft.
        by: Session and number of the operation.
        update: The change.
    """
    before, after = (_plain(one) for one in (update.before, update.after))
    given = after or before
    assert given is not None  # a commit is checked before
    event = active(home).get(given.id)
    now = None if event is None else event.entry
    if now == after:
        return
    if now != before:
        raise StoreConflict(f"memory {given.id!r}: it was changed meanwhile, by another agent")
    home.events.append(Event(*by, given.id, after))


def check(home: Home, unchanged: Unchanged) -> None:
    """Refuse what rests on memories that have changed."""
    reader = MemoryReader(lambda: home)
    same = {one.id for one in reader.by_digest(unchanged.digest, unchanged.viewer)}
    alike = {one.id for one in reader.by_slot(unchanged.keys, unchanged.viewer)}
    if not (same <= {*unchanged.same} and alike <= {*unchanged.alike}):
        raise StoreConflict("another agent has remembered something about the same meanwhile")


def _seen(home: Home, viewer: Viewer | None) -> list[MemoryEntry]:
    events = active(home) if viewer is None else active(home, viewer.session_id, viewer.seq)
    found = [one.entry for one in home.events if events.get(one.id) is one and one.entry is not None]
    return [one for one in found if sees(viewer, one)]


def _plain(entry: MemoryEntry | None) -> MemoryEntry | None:
    if entry is None:
        return None
    return replace(entry, metadata=as_json(entry.metadata, f"memory {entry.id!r}"), slots=tuple(entry.slots))
