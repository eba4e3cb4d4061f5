"""The memories of a project, and beside them those that hold in every project of one person.

Law: what holds everywhere lies in one store of its own, which is opened when it is needed. No record of one store holds
words of the other: what contradicts what between the two is found at each question. A home of one project keeps both in
its own store.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from undrift.core.contradict.verdicts import Verdict, judge
from undrift.core.memory.dispute import standing_for
from undrift.core.memory.merging import merged, rarity, strength
from undrift.core.memory.retrieve import parse
from undrift.memory.memories import Conflict, Memories
from undrift.memory.repository import MemoryRepository, repository_of
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryChange
from undrift.stores.opening import engine_of, open_store
from undrift.values.memory import MemoryEntry, ScoredMemoryEntry
from undrift.values.scope import Scope
from undrift.window.context import SessionContext

__all__ = ["ScopedMemories", "USER_SESSION"]

USER_SESSION = "user"
"""The session of all changes of memories that hold everywhere: one history for all projects."""


class ScopedMemories:
    """The memories that one session reads and writes, of every scope.

    Args:
        context: The session.
        repository: The memories of its project.
    """

    def __init__(self, context: SessionContext, repository: MemoryRepository) -> None:
        self.project = Memories(context, repository)
        self._context = context
        self._records: Path | None = context.user_records
        self._opened: tuple[Store, Memories] | None = None

    def user(self, *, create: bool = False) -> Memories | None:
        """Return the memories that hold everywhere; None if they lie in the project's store, or there are none yet.

        Raises StoreError: their store cannot be opened.
        """
        if self._opened is None and self._records is not None:
            if not create and not engine_of(self._records).is_there(self._records):
                return None
            store = open_store(self._records, Scope())
            context = replace(self._context, store=store)
            memories = Memories(context, repository_of(store, context.settings), writes_as=USER_SESSION)
            self._opened = (store, memories)
        return None if self._opened is None else self._opened[1]

    @property
    def user_store(self) -> Store | None:
        """The store of what holds everywhere. None means: there is none of its own."""
        return None if self.user() is None or self._opened is None else self._opened[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults of own parts in the newest search or write: see `MemoryRepository.warnings`."""
        opened = [self.project, *([self._opened[1]] if self._opened is not None else [])]
        return tuple(dict.fromkeys(text for one in opened for text in one.repository.warnings))

    def close(self) -> None:
        """Close the store of what holds everywhere; the project's is its session's."""
        if self._opened is not None:
            self._opened[0].close()
            self._opened = None

    def of(self, scope: Any) -> Memories:
        """Return the memories among which one of a scope is written."""
        user = self.user(create=True) if scope == "user" else None
        return self.project if user is None else user

    def everywhere(self) -> list[Memories]:
        """Return the memories of each store, the project's first."""
        user = self.user()
        return [self.project] if user is None else [self.project, user]

    def remember(self, content: str, *, at_ms: int, fields: Mapping[str, Any]) -> MemoryEntry:
        """Store a statement; see `Session.remember`."""
        return self.of(fields.get("scope")).remember(content, at_ms=at_ms, fields=fields)

    def together(self, statements: Iterable[tuple[str, Mapping[str, Any]]], at_ms: int) -> MemoryChange | None:
        """Return the change that remembers statements of the project in another commit; see `Memories.together`."""
        return self.project.together(statements, at_ms)

    def checked(self, content: str) -> str:
        """Return a statement with secrets masked; see `Memories.checked`."""
        return self.project.checked(content)

    def all(self, seq: int | None = None) -> tuple[MemoryEntry, ...]:
        """Return every memory that the session may see: the project's, then those that hold everywhere, oldest first.

        `seq`: as of which operation; the latter are as they are now.
        """
        user = self.user()
        return (*self.project.all(seq), *(user.all() if user is not None else ()))

    def conflicts(self, seq: int | None = None) -> tuple[Conflict, ...]:
        """Return the open conflicts between active memories that the session may see."""
        found = list(self.project.conflicts(seq))
        user = self.user()
        if user is None:
            return tuple(found)
        found += user.conflicts()
        for entry in user.all():
            if not entry.is_contradicted:
                others = self._about_the_same(entry, seq)
                found += [_conflict(verdict, [entry, *others]) for verdict in _excluding(entry, others)]
        return tuple(found)

    def search(
        self,
        query: str,
        *,
        k: int,
        types: Collection[str] | None = None,
        as_of_ms: int | None = None,
        seq: int | None = None,
        only_valid: bool = False,
    ) -> tuple[ScoredMemoryEntry, ...]:
        """Find memories of every scope in one ranking; see `Session.search`."""
        asked: dict[str, Any] = {"k": k, "types": types, "as_of_ms": as_of_ms, "only_valid": only_valid}
        user = self.user()
        hits = self.project.ranked(query, seq=seq, **asked)
        if user is None:
            mine = [hit for hit in hits if hit.entry.scope != "user"]
            theirs = [hit for hit in hits if hit.entry.scope == "user"]
            return self.project.settled(query, merged(mine, theirs) if theirs else hits, k)
        theirs = user.ranked(query, **asked)
        if not theirs:
            return self.project.settled(query, hits, k)
        factor = self._factor(query, hits, theirs, user) if hits else 1.0
        found, pairs = self._with_opponents(merged(hits, theirs, factor), k, seq)
        return self.project.settled(query, found, k, pairs)

    def _factor(
        self, query: str, mine: Sequence[ScoredMemoryEntry], theirs: Sequence[ScoredMemoryEntry], user: Memories
    ) -> float:
        """Return by what the scores of the other store are multiplied to compare with the project's."""
        words = parse(query).words
        own, other = (one.repository.frequencies(words) for one in (self.project, user))
        counts = {word: own[1][number] + other[1][number] for number, word in enumerate(words)}
        weights = rarity(own[0] + other[0], counts)
        best = strength(mine, weights)
        return strength(theirs, weights) / best if best else 1.0

    def _with_opponents(
        self, hits: Sequence[ScoredMemoryEntry], k: int, seq: int | None
    ) -> tuple[list[ScoredMemoryEntry], list[tuple[str, str]]]:
        """Add the project's memories that exclude one of the first `k` hits from everywhere; return the pairs of ids."""
        active = {one.entry.id: one.entry for one in hits if not one.entry.is_contradicted}
        own = {id: entry for id, entry in active.items() if entry.scope != "user"}
        found: list[ScoredMemoryEntry] = []
        pairs: list[tuple[str, str]] = []
        for place, hit in enumerate(hits):
            if place < k and hit.entry.scope == "user" and hit.entry.id in active:
                others = {**own, **{one.id: one for one in self._about_the_same(hit.entry, seq)}}
                for verdict in _excluding(hit.entry, others.values()):
                    other = verdict.loser_id if verdict.winner_id == hit.entry.id else verdict.winner_id
                    pairs.append((other, hit.entry.id))
                    if other not in own:
                        own[other] = others[other]
                        found.append(replace(hit, entry=others[other], why=standing_for(hit)))
            found.append(hit)
        return found, pairs

    def _about_the_same(self, entry: MemoryEntry, seq: int | None) -> list[MemoryEntry]:
        """Return the project's active memories about the things that a memory states something of."""
        keys = {(slot.relation, slot.entity) for slot in entry.slots}
        found = self.project.repository.read.by_slot(keys, self.project.viewer(seq)) if keys else []
        return [one for one in found if not one.is_contradicted]


def _excluding(entry: MemoryEntry, others: Iterable[MemoryEntry]) -> list[Verdict]:
    """Return the verdicts by which others exclude a memory; between two scopes none supersedes."""
    return [one for one in judge(entry, others) if one.kind == "open_conflict"]


def _conflict(verdict: Verdict, entries: Iterable[MemoryEntry]) -> Conflict:
    by_id = {entry.id: entry for entry in entries}
    newer, older = by_id[verdict.winner_id], by_id[verdict.loser_id]
    return Conflict(newer, older, verdict.rule, verdict.evidence, verdict.confidence, verdict.reason)
