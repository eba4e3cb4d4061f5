"""Long-term memory of a session: stores memories, supersedes others, and answers questions.

Law: what is true now comes first and says so; what is unsure stays open; nothing is inferred from a tool's output. A decayed
score is computed when asked and never stored. Every change is on disk before it is reported.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from undrift.core.contradict.lexicon import CLASSES
from undrift.core.contradict.verdicts import HOME, judge, slots_of
from undrift.core.memory.brief import is_brief
from undrift.core.memory.decay import apply_decay_by_type, ranked
from undrift.core.memory.dispute import opponents, standing_for, with_disputes
from undrift.core.memory.opposed import opposed
from undrift.core.memory.passages import explained
from undrift.core.memory.quotas import STRONG, HitStanding, stratum_of, within_quotas
from undrift.core.memory.relevance import any_fits, is_relevant
from undrift.core.memory.restatements import merged_into, said_from, times_restated, with_restatement, with_restating
from undrift.core.memory.supersede import Supersession, open_conflicts, supersede
from undrift.core.memory.validity import holds
from undrift.core.text.masking import masked_value
from undrift.core.text.secrets import mask
from undrift.core.text.tombstone import is_tombstone
from undrift.errors import InputError
from undrift.memory.repository import MemoryRepository
from undrift.memory.turns import repeated
from undrift.stores.memory_filter import Filter
from undrift.stores.memory_values import MemoryChange, MemoryUpdate, Unchanged, Viewer, content_digest
from undrift.values.memory import TRUST_TIERS, UNKNOWN_TASK, MemoryEntry, ScoredMemoryEntry
from undrift.window.context import SessionContext

__all__ = ["Conflict", "Memories", "MemoryPlan", "merge", "superseded_in"]

_QUERY_CHARACTERS = 1_000
_STATED_SCORE = 0.3  # a memory with a value of the asked kind, without a word of the question
_NOMINATED = 10  # memories like a new one that are compared with it, beside those with a value for the same thing
_MOST_NOMINATED = 50  # those among them that are similar enough
_LEAST_SIMILARITY = 0.85  # by vectors; it only nominates, see docs/adr/0021-contradiction.md
_MORE = 10  # hits beyond those asked for are ranked too: decay and validity choose among them
_OF_NO_TASK: Mapping[str, Any] = {"task_id": UNKNOWN_TASK, "phase_index": 0, "task_index": 0}
_OURS = ("[Pinned ", "[active_context.md", "[Finished tasks, rolled up.", "[Remembered", "[Session Context]")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict that is not resolved: two memories that exclude each other.

    Args:
        rule: The rule that found it.
        evidence: The words of the older and of the newer memory that it rests on.
        confidence: How sure the rule is, 0 to 1.
        reason: Why neither superseded the other: ``confidence``, ``trust``, ``pinned``, ``scope``, ``speaker``,
            ``several`` or ``time``.
    """

    newer: MemoryEntry
    older: MemoryEntry
    rule: str
    evidence: tuple[str, str]
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The changes that storing an entry makes, and what they rest on; no updates if it is there already."""

    entry: MemoryEntry
    updates: Sequence[MemoryUpdate]
    digest: str
    same: set[str]
    keys: set[tuple[str, str]]
    alike: set[str]


class Memories:
    """The memories of one store that one session reads and writes. `writes_as`: the session of the changes, if another."""

    def __init__(self, context: SessionContext, repository: MemoryRepository, *, writes_as: str = "") -> None:
        self._context = context
        self._session_id = context.id
        self.writes_as = writes_as or context.id
        self._settings = context.settings
        self.repository = repository

    def remember(self, content: str, *, at_ms: int, fields: Mapping[str, Any]) -> MemoryEntry:
        """Store a statement; see `Session.remember`."""
        said = self.checked(content)

        def once() -> MemoryEntry:
            plan = self.planned(self.new_entry(said, at_ms, fields), at_ms, {})
            if plan.updates:
                payload = {"memory": plan.entry.id, "superseded": superseded_in(plan.updates)}
                unless = self.unchanged([plan], ())
                self.repository.write(
                    self.writes_as, "remember", plan.updates, at_ms=at_ms, payload=payload, unless=unless
                )
            return plan.entry

        return repeated(once)

    def together(self, statements: Iterable[tuple[str, Mapping[str, Any]]], at_ms: int) -> MemoryChange | None:
        """Return the change that remembers statements in another commit. None means: all are already stored."""
        pending: dict[str, MemoryUpdate] = {}
        plans = []
        for content, fields in statements:
            plans.append(self.planned(self.new_entry(content, at_ms, fields), at_ms, pending))
            merge(pending, plans[-1].updates)
        if not pending:
            return None
        new = [one for one, update in pending.items() if update.before is None]
        payload = {"remembered": new, "superseded": superseded_in(pending.values())}
        updates = tuple(pending.values())
        return MemoryChange((*self.repository.searchable(updates), *self.unchanged(plans, new)), payload)

    def checked(self, content: str) -> str:
        """Return a statement with secrets masked. Raises InputError: it is empty, or a text of undrift."""
        if not isinstance(content, str) or not content.strip():
            raise InputError("a memory's content must be a text with something in it")
        said = content.strip()
        if said.startswith(_OURS) or is_brief(said) or is_tombstone(said):
            raise InputError("this text is undrift's own: what was recalled or put in by it is not remembered again")
        return str(self.masked(content))

    def ranked(
        self,
        query: str,
        *,
        k: int,
        types: Collection[str] | None = None,
        as_of_ms: int | None = None,
        seq: int | None = None,
        only_valid: bool = False,
    ) -> list[ScoredMemoryEntry]:
        """Find memories of this store, best first, and some more than `k`; see `Session.search`."""
        if not isinstance(query, str):
            raise InputError(f"a query must be a text, not {type(query).__name__}")
        if k < 1:
            return []
        viewer = self.viewer(seq)
        is_merged = self._context.user_records is not None  # what holds everywhere may lie in another store
        wanted = self.repository.most_ranked(k + _MORE)
        found, asked = self.repository.find(query, viewer, k=wanted, only=Filter(types=types), has_others=is_merged)
        entries = self.repository.read.by_id([hit.id for hit in found], viewer)
        hits = [
            ScoredMemoryEntry(entry, hit.score, 0.0, explained(entry.content, hit.why, asked.words))
            for hit in found
            if (entry := entries.get(hit.id)) is not None
        ]
        scored = [hit for hit in hits if is_relevant(hit.why)]
        if seq is None and not any_fits(asked, scored):
            scored = []  # the index does not count the words of what a rewind removed
        scored = self.repository.reranked(query, scored)
        scored += self._stated(query, {one.entry.id for one in scored}, types, viewer)
        if as_of_ms is not None or only_valid:
            scored = [one for one in self._with_opponents(scored, k, types, viewer) if holds(one.entry, as_of_ms)]
        else:
            scored = self._with_opponents(scored, k, types, viewer)
            scored = self._with_winners(scored, viewer)
        return ranked(self._decayed(scored))

    def settled(
        self, query: str, best: Sequence[ScoredMemoryEntry], k: int, excluding: Iterable[tuple[str, str]] = ()
    ) -> tuple[ScoredMemoryEntry, ...]:
        """Return the first `k` hits: strata of trust within their share, active memories first, conflicts marked.

        Hits that may exclude each other by what they answer are marked too; see `core.memory.opposed`.

        `excluding`: pairs of ids that exclude each other, beside those that the memories know of.
        """
        current = [_with_restatements(hit) for hit in _current_first(within_quotas(best, _standing, len(best)))]
        found = opposed(query, current)
        return tuple(with_disputes(current, (*excluding, *found.changed), found.denied)[: max(k, 0)])

    def conflicts(self, seq: int | None = None) -> tuple[Conflict, ...]:
        """Return the open conflicts between two active memories that the session may see."""
        viewer = self.viewer(seq)
        read = self.repository.read
        pairs = [(one, open_conflicts(one)) for one in read.disputing(viewer) if not one.is_contradicted]
        others = read.by_id({one["with"] for _, conflicts in pairs for one in conflicts}, viewer)
        found = []
        for entry, conflicts in pairs:
            for one in conflicts:
                other = others.get(one["with"])
                if other is not None and not other.is_contradicted:
                    evidence = (one["evidence"][0], one["evidence"][1])
                    found.append(Conflict(entry, other, one["rule"], evidence, one["confidence"], one["reason"]))
        return tuple(found)

    def all(self, seq: int | None = None) -> tuple[MemoryEntry, ...]:
        """Return every memory that the session may see, oldest first."""
        return tuple(self.repository.read.seen(self.viewer(seq)))

    def planned(
        self, entry: MemoryEntry, at_ms: int, pending: Mapping[str, MemoryUpdate], *, instead_of: str = ""
    ) -> MemoryPlan:
        """MemoryPlan the changes that storing an entry makes, on top of changes that are written with it.

        `instead_of`: the memory that it replaces anyway; the two are not compared.
        """
        repository, viewer = self.repository, self.viewer(None)
        digest = content_digest(entry.content)
        beside = {one: update.after for one, update in pending.items() if update.after is not None}
        new = {one: after for one, after in beside.items() if pending[one].before is None}
        same = [
            *repository.read.by_digest(digest, viewer),
            *(one for one in new.values() if content_digest(one.content) == digest),
        ]
        same = [beside.get(one.id, one) for one in same]
        known = [one for one in same if _is_same(one, entry) and not one.is_contradicted and one.id != instead_of]
        keys = {(slot.relation, slot.entity) for slot in entry.slots}
        said = {*(one.id for one in same), entry.id}
        if known:
            return _restated(known[-1], with_restatement(known[-1], entry), digest, said)
        like = repository.like(entry.content, viewer, k=_MOST_NOMINATED)
        like = like[:_NOMINATED] + [
            one for one in like[_NOMINATED:] if one.why.get("similarity", 0.0) >= _LEAST_SIMILARITY
        ]
        like += repository.like_in_other_words(entry.content, viewer, k=_NOMINATED)
        candidates = {one.id: one for one in repository.read.by_slot(keys, viewer)}
        candidates |= repository.read.by_id([hit.id for hit in like if hit.id not in candidates], viewer)
        candidates |= {one: after for one, after in beside.items() if one in candidates or one in new}
        existing = sorted((one for one in candidates.values() if one.id != instead_of), key=lambda one: one.seq)
        verdicts = judge(entry, existing)
        if (restated := merged_into(entry, existing, verdicts)) is not None:
            return _restated(candidates[restated.id], restated, digest, said)
        done = supersede(entry, existing, with_restating(entry, existing, verdicts), at_ms)
        updates = [MemoryUpdate(None, _with_verdicts(done)), *(MemoryUpdate(candidates[x.id], x) for x in done.changed)]
        return MemoryPlan(updates[0].after or entry, updates, digest, said, keys, {*candidates, *said})

    def unchanged(self, plans: Iterable[MemoryPlan], beside: Iterable[str]) -> list[Unchanged]:
        """Return what the plans rest on, ids that are written beside them apart."""
        viewer, ids = self.viewer(None), set(beside)
        return [
            Unchanged(one.digest, one.same | ids, one.keys, one.alike | ids, viewer) for one in plans if one.updates
        ]

    def new_entry(self, content: str, at_ms: int, fields: Mapping[str, Any]) -> MemoryEntry:
        """Return a new memory of this session. `fields`: its values; secrets in them are masked."""
        context = self._context.run
        trust = fields.get("trust", "assistant")
        values: dict[str, Any] = {
            "task_id": context.task_id,
            "phase_index": context.phase_index,
            "task_index": context.task_index,
            "agent": context.agent,
            "session_id": self._session_id,
            "created_at_ms": at_ms,
            "recorded_at_ms": at_ms,
            # Nothing is inferred from what a tool printed.
            "slots": () if trust == "tool" else slots_of(content),
            "seq": self.next_seq(),
            **(_OF_NO_TASK if fields.get("scope") == "user" else {}),
            **{name: self.masked(value) for name, value in fields.items() if value is not None},
        }
        name = f"{self._session_id}\0{values['seq']}\0{at_ms}\0{content}"
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return MemoryEntry(f"m{digest[:16]}", content, **values)

    def _stated(
        self, query: str, found: Collection[str], types: Collection[str] | None, viewer: Viewer
    ) -> list[ScoredMemoryEntry]:
        """Find values by the name of their kind: "which database" means "use SQLite", which has no such word."""
        words = [word.strip("?!.,:;").casefold() for word in query[:_QUERY_CHARACTERS].split()]
        names = {*words, *(word.removesuffix("s") for word in words), *map("_".join, pairwise(words))}
        relations = sorted(names & CLASSES.keys())
        entries = self.repository.read.by_relation(relations, viewer) if relations else []
        wanted = [one for one in entries if one.id not in found and (types is None or one.type in types)]
        return [ScoredMemoryEntry(one, _STATED_SCORE, 0.0, {"stated": _STATED_SCORE}) for one in wanted]

    def _with_opponents(
        self, scored: list[ScoredMemoryEntry], k: int, types: Collection[str] | None, viewer: Viewer
    ) -> list[ScoredMemoryEntry]:
        """Add a memory that says where its speaker lives now, if one of the first `k` hits says it too and they disagree.

        Such a pair shares no word: "I live in Lyon", "I moved to Porto".
        """
        hits = {one.entry.id: one for one in scored[:k] if not one.entry.is_contradicted}
        keys = {
            (slot.relation, slot.entity) for one in hits.values() for slot in one.entry.slots if slot.relation == HOME
        }
        others = self.repository.read.by_slot(keys, viewer) if keys else []
        found = {one.entry.id for one in scored}
        wanted = [one for one in others if one.id not in found and (types is None or one.type in types)]
        return [*scored, *opponents(hits, wanted)]

    def _with_winners(self, scored: list[ScoredMemoryEntry], viewer: Viewer) -> list[ScoredMemoryEntry]:
        """Add a memory that superseded a hit and was not found itself: it gets the score of that hit."""
        found = {one.entry.id for one in scored}
        lost = {one.entry.contradicted_by_entry_id: one for one in reversed(scored) if one.entry.is_contradicted}
        missing = [one for one in lost if one is not None and one not in found]
        winners = self.repository.read.by_id(missing, viewer) if missing else {}
        added = [
            ScoredMemoryEntry(entry, lost[one].raw_score, 0.0, standing_for(lost[one]))
            for one, entry in winners.items()
        ]
        return [*scored, *added]

    def _decayed(self, scored: Sequence[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
        context, settings = self._context.run, self._settings
        return apply_decay_by_type(
            scored,
            context.task_index,
            context.phase_index,
            phase_weight=settings.phase_weight,
            floor=settings.min_decay_floor,
            penalty=settings.contradiction_penalty,
        )

    def next_seq(self) -> int:
        """Return the next number in the order of recording."""
        return self._context.store.next_memory_seq()

    def viewer(self, seq: int | None = None) -> Viewer:
        """Return who reads: this session and its agent. `seq`: as of which operation."""
        return Viewer(self._context.run.agent, self._session_id, seq)

    def masked(self, value: Any) -> Any:
        """Return a JSON value with secrets masked, if the setting says so."""
        if not self._settings.mask_secrets:
            return value
        return mask(value).text if isinstance(value, str) else masked_value(value)


def superseded_in(updates: Iterable[MemoryUpdate]) -> list[str]:
    """Return the ids of the memories that these updates close; a memory that was only said again stays active."""
    after = [one.after for one in updates if one.before is not None and one.after is not None]
    return [one.id for one in after if one.is_contradicted]


def merge(pending: dict[str, MemoryUpdate], updates: Iterable[MemoryUpdate]) -> None:
    """Add updates to those that are written with them: one for each memory."""
    for one in updates:
        assert one.after is not None  # nothing is taken out of sight here
        first = pending.get(one.after.id, one)
        pending[one.after.id] = MemoryUpdate(first.before, one.after)


def _restated(before: MemoryEntry, after: MemoryEntry, digest: str, same: set[str]) -> MemoryPlan:
    """Return the plan for what is already a memory; nothing is written if it was said so before."""
    return MemoryPlan(after, [MemoryUpdate(before, after)] if after != before else (), digest, same, set(), set())


def _with_verdicts(done: Supersession) -> MemoryEntry:
    """The new entry with what stays open between it and others, and what it says again."""
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
        earlier = [one for one in open_conflicts(new) if one not in conflicts]
        new = replace(new, metadata={**new.metadata, "conflicts": [*earlier, *conflicts]})
    if done.reinforced:
        new = replace(new, metadata={**new.metadata, "reinforces": list(done.reinforced)})
    return new


def _is_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Return whether both have the same speaker, readers and type, and no less trust."""
    return (one.speaker, one.scope, one.agent if one.scope == "agent" else "", one.type) == (
        other.speaker,
        other.scope,
        other.agent if other.scope == "agent" else "",
        other.type,
    ) and one.trust == other.trust


def _standing(hit: ScoredMemoryEntry) -> HitStanding:
    is_strong = "stated" in hit.why or hit.why.get("held", 0.0) >= STRONG
    return HitStanding(stratum_of(TRUST_TIERS[hit.entry.trust]), hit.entry.source, is_strong)


def _with_restatements(hit: ScoredMemoryEntry) -> ScoredMemoryEntry:
    """Say in a hit how often its memory was said again, and from where."""
    times = times_restated(hit.entry)
    return (
        replace(hit, why={**hit.why, "restated": times, "restated_from": list(said_from(hit.entry))}) if times else hit
    )


def _current_first(hits: list[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
    """Put what superseded a hit directly before it, where it stands behind it."""
    order = list(hits)
    for hit in hits:
        winner = next((one for one in order if one.entry.id == hit.entry.contradicted_by_entry_id), None)
        if winner is not None and order.index(winner) > (place := order.index(hit)):
            order.remove(winner)
            order.insert(place, winner)
    return order
