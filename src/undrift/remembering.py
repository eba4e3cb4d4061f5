"""Long-term memory of a session: what is stored, what it supersedes, what a question finds of it.

Law: what is true now comes first and says so; what is unsure stays open; nothing is inferred from a tool's output. A decayed
score is computed when asked and never stored. Every change is on disk before it is told.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from undrift.core.brief import is_brief
from undrift.core.contradict import CLASSES, judge, slots_of
from undrift.core.decay import apply_decay_by_type, ranked
from undrift.core.mask import mask
from undrift.core.supersede import holds, supersede
from undrift.core.tombstone import is_tombstone
from undrift.errors import InputError, StoreConflict
from undrift.ledger import masked_value
from undrift.records import MemoryEntry, RunContext, ScoredMemoryEntry
from undrift.settings import Settings
from undrift.shelf import Shelf
from undrift.stores.memories import MemoryUpdate, Viewer, content_digest
from undrift.stores.memory_filter import Filter
from undrift.stores.sqlite import SqliteStore

__all__ = ["Conflict", "Memories"]

_ATTEMPTS = 200  # each one that fails is another agent's success, so only as many are needed as others write meanwhile
_QUERY_CHARACTERS = 1_000
_STATED_SCORE = 0.3  # of what states a value of the kind that is asked for, and has no word of the question
_NOMINATED = 10  # memories like a new one that are compared with it, besides those that state something about the same
_MOST_NOMINATED = 50  # those among them that are as similar as the setting `contradiction_similarity` asks for
_MORE = 10  # hits beyond those asked for are ranked too: decay and validity choose among them
_OURS = ("[Pinned ", "[active_context.md", "[Finished tasks, rolled up.", "[Remembered", "[Session Context]")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two memories that exclude each other, where nothing says which one holds.

    Args:
        newer: The one that was recorded later.
        older: The other.
        rule: Which rule found it.
        evidence: The words of the loser and of the winner in time that it rests on.
        confidence: 0 to 1.
        reason: Why neither superseded the other: ``confidence``, ``trust``, ``pinned``, ``scope``,
            ``speaker`` or ``time``.
    """

    newer: MemoryEntry
    older: MemoryEntry
    rule: str
    evidence: tuple[str, str]
    confidence: float
    reason: str


class Memories:
    """The memories that one session reads and writes.

    Args:
        store: Open; not closed here.
        shelf: Over it.
        session_id: Whose.
        settings: In force.
        context: Gives where the run stands now.
    """

    def __init__(
        self, store: SqliteStore, shelf: Shelf, session_id: str, settings: Settings, context: Callable[[], RunContext]
    ) -> None:
        self._store = store
        self._shelf = shelf
        self._session_id = session_id
        self._settings = settings
        self._context = context

    def remember(self, content: str, *, at_ms: int, fields: Mapping[str, Any]) -> MemoryEntry:
        """Store a statement; see `Session.remember`."""
        if not isinstance(content, str) or not content.strip():
            raise InputError("a memory's content must be a text with something in it")
        said = content.strip()
        if said.startswith(_OURS) or is_brief(said) or is_tombstone(said):
            raise InputError("this text is undrift's own: what was recalled or put in by it is not remembered again")
        masked = self._masked(content)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._store_entry(self._entry(masked, at_ms, fields), at_ms)
            except StoreConflict:  # another agent was first: what it said is looked at now
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError  # the last attempt returns or raises

    def search(
        self,
        query: str,
        *,
        k: int,
        types: Collection[str] | None = None,
        as_of_ms: int | None = None,
        seq: int | None = None,
        known_at_ms: int | None = None,
        only_valid: bool = False,
    ) -> tuple[ScoredMemoryEntry, ...]:
        """Find memories; see `Session.search`."""
        if not isinstance(query, str):
            raise InputError(f"a query must be a text, not {type(query).__name__}")
        if k < 1:
            return ()
        viewer = self._viewer(seq)
        found = self._shelf.find(query, viewer, k=k + _MORE, only=Filter(types=types))
        entries = self._shelf.by_id([hit.id for hit in found], viewer)
        scored = [ScoredMemoryEntry(entries[hit.id], hit.score, 0.0, hit.why) for hit in found if hit.id in entries]
        scored += self._stated(query, {one.entry.id for one in scored}, types, viewer)
        if as_of_ms is not None or known_at_ms is not None or only_valid:
            scored = [one for one in scored if holds(one.entry, as_of_ms, known_at_ms)]
        else:
            scored = self._with_winners(scored, viewer)
        best = ranked(self._decayed(scored))
        return tuple(_current_first(best)[:k])

    def conflicts(self, seq: int | None = None) -> tuple[Conflict, ...]:
        """Return what stays open: both memories are there, hold, and are seen."""
        viewer = self._viewer(seq)
        entries = {entry.id: entry for entry in self._shelf.seen(viewer)}
        found = []
        for entry in entries.values():
            for one in entry.metadata.get("conflicts", ()):
                other = entries.get(one["with"])
                if other is not None and not other.is_contradicted and not entry.is_contradicted:
                    evidence = (str(one["evidence"][0]), str(one["evidence"][1]))
                    found.append(Conflict(entry, other, one["rule"], evidence, one["confidence"], one["reason"]))
        return tuple(found)

    def all(self, seq: int | None = None) -> tuple[MemoryEntry, ...]:
        """Return every memory that the session sees, oldest first."""
        return tuple(self._shelf.seen(self._viewer(seq)))

    def _store_entry(self, entry: MemoryEntry, at_ms: int) -> MemoryEntry:
        shelf, viewer = self._shelf, self._viewer(None)
        digest = content_digest(entry.content)
        same = shelf.same(digest, viewer)
        known = [one for one in same if _is_same(one, entry) and not one.is_contradicted]
        if known:
            return known[-1]
        keys = {(slot.relation, slot.entity) for slot in entry.slots}
        like = shelf.find(entry.content, viewer, k=_MOST_NOMINATED)
        least = self._settings.contradiction_similarity
        like = like[:_NOMINATED] + [one for one in like[_NOMINATED:] if one.why.get("similarity", 0.0) >= least]
        candidates = {one.id: one for one in shelf.by_slot(keys, viewer)}
        candidates |= shelf.by_id([hit.id for hit in like if hit.id not in candidates], viewer)
        existing = sorted(candidates.values(), key=lambda one: one.seq)
        done = supersede(entry, existing, judge(entry, existing), at_ms)
        new = done.new
        if done.conflicts:
            conflicts = [
                {
                    "with": one.loser_id if one.winner_id == new.id else one.winner_id,
                    "rule": one.rule,
                    "evidence": list(one.evidence),
                    "confidence": one.confidence,
                    "reason": one.reason,
                }
                for one in done.conflicts
            ]
            new = replace(new, metadata={**new.metadata, "conflicts": conflicts})
        if done.reinforced:
            new = replace(new, metadata={**new.metadata, "reinforces": list(done.reinforced)})
        updates = [MemoryUpdate(None, new)]
        updates += [MemoryUpdate(candidates[one.id], one) for one in done.changed]
        payload = {"memory": new.id, "superseded": [one.id for one in done.changed]}
        alike = {*candidates, *(one.id for one in same), new.id}
        still = shelf.unchanged(digest, {*(one.id for one in same), new.id}, keys, alike, viewer)
        shelf.write(self._session_id, "remember", updates, at_ms=at_ms, payload=payload, still=still)
        return new

    def _entry(self, content: str, at_ms: int, fields: Mapping[str, Any]) -> MemoryEntry:
        context = self._context()
        trust = fields.get("trust", "assistant")
        made: dict[str, Any] = {
            "task_id": context.task_id,
            "phase_index": context.phase_index,
            "task_index": context.task_index,
            "agent": context.agent,
            "session_id": self._session_id,
            "created_at_ms": at_ms,
            "recorded_at_ms": at_ms,
            # Nothing is inferred from what a tool printed.
            "slots": () if trust == "tool" else slots_of(content),
            "seq": self._store.last_operation() + 1,
            **{name: self._masked(value) for name, value in fields.items() if value is not None},
        }
        name = f"{self._session_id}\0{made['seq']}\0{at_ms}\0{content}"
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return MemoryEntry(f"m{digest[:16]}", content, **made)

    def _stated(
        self, query: str, found: Collection[str], types: Collection[str] | None, viewer: Viewer
    ) -> list[ScoredMemoryEntry]:
        """What a question asks for by the name of its kind: "which database" means "use SQLite", which says no such word."""
        words = [word.strip("?!.,:;").casefold() for word in query[:_QUERY_CHARACTERS].split()]
        names = {*words, *(word.removesuffix("s") for word in words), *map("_".join, pairwise(words))}
        relations = sorted(names & CLASSES.keys())
        entries = self._shelf.by_relation(relations, viewer) if relations else []
        wanted = [one for one in entries if one.id not in found and (types is None or one.type in types)]
        return [ScoredMemoryEntry(one, _STATED_SCORE, 0.0, {"stated": _STATED_SCORE}) for one in wanted]

    def _with_winners(self, scored: list[ScoredMemoryEntry], viewer: Viewer) -> list[ScoredMemoryEntry]:
        """Add what superseded a hit and was not found itself: its score is that of what it stands for."""
        found = {one.entry.id for one in scored}
        lost = {one.entry.contradicted_by_entry_id: one for one in reversed(scored) if one.entry.is_contradicted}
        missing = [one for one in lost if one is not None and one not in found]
        winners = self._shelf.by_id(missing, viewer) if missing else {}
        added = [
            ScoredMemoryEntry(entry, lost[one].raw_score, 0.0, {**lost[one].why, "stands_for": lost[one].entry.id})
            for one, entry in winners.items()
        ]
        return [*scored, *added]

    def _decayed(self, scored: Sequence[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
        context, settings = self._context(), self._settings
        return apply_decay_by_type(
            scored,
            context.task_index,
            context.phase_index,
            settings.decay_rate,
            phase_weight=settings.phase_weight,
            floor=settings.min_decay_floor,
            penalty=settings.contradiction_penalty,
        )

    def _viewer(self, seq: int | None) -> Viewer:
        return Viewer(self._context().agent, self._session_id, seq)

    def _masked(self, value: Any) -> Any:
        if not self._settings.mask_secrets:
            return value
        return mask(value).text if isinstance(value, str) else masked_value(value)


def _is_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """The same words of the same speaker, for the same readers, vouched for no worse."""
    return (one.speaker, one.scope, one.agent if one.scope == "agent" else "", one.type) == (
        other.speaker,
        other.scope,
        other.agent if other.scope == "agent" else "",
        other.type,
    ) and one.trust == other.trust


def _current_first(hits: list[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
    """Put what superseded a hit directly before it, where it stands behind it."""
    order = list(hits)
    for hit in hits:
        winner = next((one for one in order if one.entry.id == hit.entry.contradicted_by_entry_id), None)
        if winner is not None and order.index(winner) > (place := order.index(hit)):
            order.remove(winner)
            order.insert(place, winner)
    return order
