"""Changes that a person makes to memories: an edit, a forgetting, an import.

Law: nothing is destroyed. An edited memory stays, superseded by the new one; a forgotten one stays on disk. An import that
is repeated adds nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from undrift.core.memory.restatements import LEARNED, RESTATED, heir_of
from undrift.core.memory.supersede import marked
from undrift.core.memory.validity import ends_at
from undrift.errors import InputError, RecallError
from undrift.memory.exchange import memory_of
from undrift.memory.memories import Memories, MemoryPlan, merge, superseded_in
from undrift.memory.scopes import ScopedMemories
from undrift.memory.turns import repeated
from undrift.stores.memory_values import MemoryUpdate, content_digest
from undrift.values.memory import MemoryEntry

__all__ = ["Forgotten", "MemoryHandling", "ScopedHandling", "TakenIn"]

T = TypeVar("T")

_AT_ONCE = 100
"""Memories of one commit: each is compared with those beside it."""
_KEPT = ("type", "source", "speaker", "scope", "status", "agent", "session_id", "pinned")
"""The fields of an edited memory that the new one has too."""
_OF_ITS_WORDS = ("conflicts", "reinforces", RESTATED, LEARNED)
"""The metadata that goes with the words of a memory."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Memories that no agent sees any more.

    Args:
        seq: The operation of this session that hid them; 0 if there is none.
        user_seq: The operation in the store of what holds in every project, if it has a store of its own.
    """

    entries: tuple[MemoryEntry, ...]
    seq: int
    user_seq: int = 0


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The result of an import, or of its dry run.

    Args:
        added: The new memories.
        known: Ids of memories that were there already.
        superseded: Ids of memories that the new ones supersede.
        refused: The place of each record that is not imported, from 0, and the reason.
    """

    added: tuple[MemoryEntry, ...]
    known: tuple[str, ...]
    superseded: tuple[str, ...]
    refused: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class _Given:
    """A memory to import. `is_whole`: it comes from an exported file, with its id, times and state."""

    entry: MemoryEntry
    is_whole: bool


class MemoryHandling:
    """Edits, forgets and imports the memories of one store that one session may see."""

    def __init__(self, memories: Memories) -> None:
        self._session_id = memories.writes_as
        self._memories = memories
        self._repository = memories.repository

    def edit(self, id: str, content: str, *, at_ms: int) -> MemoryEntry:
        """Replace the words of a memory; see `SessionMemory.edit`."""
        said = self._memories.checked(content)

        def work() -> MemoryEntry:
            (old,) = self.found((id,))
            if old.is_contradicted:
                by = old.contradicted_by_entry_id or old.contradicted_by_task_id
                raise InputError(f"memory {old.id} was superseded by {by}: edit that one")
            if said.strip() == old.content.strip() and old.trust == "user":
                return old
            fields = {name: getattr(old, name) for name in _KEPT}
            metadata = {name: value for name, value in old.metadata.items() if name not in _OF_ITS_WORDS}
            fields |= {"trust": "user", "metadata": {**metadata, "edits": old.id}}
            plan = self._memories.planned(self._memories.new_entry(said, at_ms, fields), at_ms, {}, instead_of=old.id)
            end = ends_at(old.valid_from_ms, old.valid_to_ms, plan.entry.valid_from_ms)
            updates = [*plan.updates, MemoryUpdate(old, marked(old, plan.entry, "edited", at_ms, end))]
            payload = {"memory": plan.entry.id, "superseded": superseded_in(updates)}
            unless = self._memories.unchanged([plan], ())
            self._repository.write(self._session_id, "edit", updates, at_ms=at_ms, payload=payload, unless=unless)
            return plan.entry

        return repeated(work)

    def forget(self, ids: Sequence[str], *, at_ms: int, source: str | None = None) -> Forgotten:
        """Hide memories from every agent; see `SessionMemory.forget`."""

        def work() -> Forgotten:
            found = self.found(dict.fromkeys(ids))
            if not found:
                return Forgotten((), 0)
            updates = [MemoryUpdate(one, None) for one in found]
            if source is not None:
                heirs = (heir_of(one, lambda again: again["source"] != source) for one in found)
                updates += [MemoryUpdate(None, one) for one in heirs if one is not None]
            payload = {"forgotten": [one.id for one in found]}
            return Forgotten(
                found, self._repository.write(self._session_id, "forget", updates, at_ms=at_ms, payload=payload)
            )

        return repeated(work)

    def take_in(self, records: Iterable[Mapping[str, Any]], *, at_ms: int, dry_run: bool) -> TakenIn:
        """Import records; see `SessionMemory.take_in`."""
        given, refused = self._read(records, at_ms)
        added: list[MemoryEntry] = []
        known: list[str] = []
        superseded: list[str] = []
        for some in _chunks(given, _AT_ONCE):

            def work(some: Sequence[_Given] = some) -> tuple[list[MemoryEntry], list[str], list[str]]:
                return self._take_in(some, at_ms, dry_run=dry_run)

            new, there, replaced = repeated(work)
            added += new
            known += there
            superseded += replaced
        return TakenIn(tuple(added), tuple(known), tuple(dict.fromkeys(superseded)), tuple(refused))

    def found(self, ids: Iterable[str]) -> tuple[MemoryEntry, ...]:
        """Return memories by id. Raises RecallError: one of them is not there."""
        wanted = tuple(ids)
        found = self._repository.read.by_id(wanted, self._memories.viewer())
        missing = next((one for one in wanted if one not in found), None)
        if missing is not None:
            raise RecallError(f"there is no memory {str(missing)[:64]!r}; `undrift memory list` shows what there is")
        return tuple(found[one] for one in wanted)

    def _read(self, records: Iterable[Mapping[str, Any]], at_ms: int) -> tuple[list[_Given], list[tuple[int, str]]]:
        """Return the memories of records, each only once, and the reasons why some are none."""
        first = self._memories.next_seq()
        given: dict[Any, _Given] = {}
        refused = []
        for number, record in enumerate(records):
            try:
                one = self._given(record, first + number, at_ms)
            except InputError as error:
                refused.append((number, str(error)))
                continue
            entry = one.entry
            key: Any = entry.id
            if not one.is_whole:
                key = (content_digest(entry.content), entry.source, entry.speaker, entry.scope, entry.type)
            given.setdefault(key, one)
        return list(given.values()), refused

    def _given(self, record: Mapping[str, Any], seq: int, at_ms: int) -> _Given:
        if "id" not in record:
            fields = {**record, "seq": seq}
            content = self._memories.checked(fields.pop("content", ""))
            return _Given(self._memories.new_entry(content, at_ms, fields), is_whole=False)
        entry = memory_of(record, seq)
        mine = self._repository.read.by_id((entry.id,)).get(entry.id)
        if mine is not None and mine.content != entry.content:  # the file was edited by hand
            entry = memory_of({**record, "id": ""}, seq)
        masked = self._memories.masked(dict(entry.metadata))
        return _Given(replace(entry, content=self._memories.checked(entry.content), metadata=masked), is_whole=True)

    def _take_in(
        self, given: Sequence[_Given], at_ms: int, *, dry_run: bool
    ) -> tuple[list[MemoryEntry], list[str], list[str]]:
        """Write some memories in one commit; return the new ones, and the ids of known and of superseded ones."""
        pending: dict[str, MemoryUpdate] = {}
        plans: list[MemoryPlan] = []
        known = []
        for one in given:
            same = self._known(one)
            entry = one.entry if same is None else same
            plan = None if same is not None else self._plan(one, at_ms, pending)
            if plan is None or not plan.updates:
                known.append(entry.id if plan is None else plan.entry.id)
            else:
                plans.append(plan)
                merge(pending, plan.updates)
                if plan.entry.id != entry.id:  # said again: under that memory
                    known.append(plan.entry.id)
        new = [update.after for update in pending.values() if update.before is None and update.after is not None]
        superseded = superseded_in(pending.values())
        if pending and not dry_run:
            ids = [one.id for one in new]
            self._repository.write(
                self._session_id,
                "import",
                tuple(pending.values()),
                at_ms=at_ms,
                payload={"imported": ids, "superseded": superseded},
                unless=self._memories.unchanged(plans, ids),
            )
        return new, known, superseded

    def _known(self, one: _Given) -> MemoryEntry | None:
        """Return the memory that an earlier import of the same made; it may be superseded since."""
        entry = one.entry
        if one.is_whole:
            return self._repository.read.by_id((entry.id,)).get(entry.id)
        same = self._repository.read.by_digest(content_digest(entry.content), self._memories.viewer())
        mine = (entry.source, entry.speaker, entry.scope, entry.type)
        return next((x for x in same if (x.source, x.speaker, x.scope, x.type) == mine), None)

    def _plan(self, one: _Given, at_ms: int, pending: Mapping[str, MemoryUpdate]) -> MemoryPlan:
        if not one.is_whole:
            return self._memories.planned(one.entry, at_ms, pending)
        if one.entry.is_contradicted:
            return MemoryPlan(one.entry, [MemoryUpdate(None, one.entry)], "", set(), set(), set())
        # Memories of one file were compared when they were made.
        changed = {id: update for id, update in pending.items() if update.before is not None}
        return self._memories.planned(one.entry, at_ms, changed)


class ScopedHandling:
    """Edits, forgets and imports memories of every scope, each in its store."""

    def __init__(self, memories: ScopedMemories) -> None:
        self._memories = memories

    def edit(self, id: str, content: str, *, at_ms: int) -> MemoryEntry:
        """Replace the words of a memory; see `SessionMemory.edit`."""
        return MemoryHandling(self._holder(id)).edit(id, content, at_ms=at_ms)

    def forget(self, ids: Sequence[str], *, at_ms: int, source: str | None = None) -> Forgotten:
        """Hide memories from every agent; see `SessionMemory.forget`."""
        by_holder: dict[Memories, list[str]] = {}
        for id_ in ids:
            by_holder.setdefault(self._holder(id_), []).append(id_)
        for holder, some in by_holder.items():  # before the first of them is hidden
            MemoryHandling(holder).found(some)
        done = {
            holder: MemoryHandling(holder).forget(some, at_ms=at_ms, source=source)
            for holder, some in by_holder.items()
        }
        entries = tuple(entry for one in done.values() for entry in one.entries)
        nothing = Forgotten((), 0)
        own = done.pop(self._memories.project, nothing)
        return Forgotten(entries, own.seq, next(iter(done.values()), nothing).seq)

    def take_in(self, records: Iterable[Mapping[str, Any]], *, at_ms: int, dry_run: bool) -> TakenIn:
        """Import records; see `SessionMemory.take_in`."""
        numbered = list(enumerate(records))
        user = self._memories.user(create=not dry_run and any(_is_everywhere(one) for _, one in numbered))
        parts = [(self._memories.project, numbered)]
        if user is not None:
            parts = [
                (self._memories.project, [one for one in numbered if not _is_everywhere(one[1])]),
                (user, [one for one in numbered if _is_everywhere(one[1])]),
            ]
        done = []
        for memories, some in parts:
            result = MemoryHandling(memories).take_in([one for _, one in some], at_ms=at_ms, dry_run=dry_run)
            done.append(replace(result, refused=tuple((some[place][0], why) for place, why in result.refused)))
        return TakenIn(
            tuple(entry for one in done for entry in one.added),
            tuple(id_ for one in done for id_ in one.known),
            tuple(id_ for one in done for id_ in one.superseded),
            tuple(sorted(pair for one in done for pair in one.refused)),
        )

    def _holder(self, id_: str) -> Memories:
        """Return the memories of the store that holds a memory; the project's if none does."""
        holders = (one for one in self._memories.everywhere() if one.repository.read.by_id((id_,), one.viewer()))
        return next(holders, self._memories.project)


def _is_everywhere(record: Mapping[str, Any]) -> bool:
    return record.get("scope") == "user"


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`."""
    left = iter(items)
    while some := list(islice(left, size)):
        yield some
