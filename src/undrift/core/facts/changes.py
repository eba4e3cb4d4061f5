"""Compare new facts with the valid ones: some of those end, some are only seen again, the rest is new. Pure.

Law: a function from the valid facts, the new ones and the cardinality of relations to changes; nothing is ever changed in
place. A relation with one object: a new fact ends the old one (the seed's rule). A relation with many: the facts of one
call are a batch, and the whole batch replaces the batch before it. Without that, four follow-ups, three fixes
and two issues would leave three valid facts of nine.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from undrift.core.memory.validity import ends_at
from undrift.values.facts import FactChange, FactVersion, SessionFact

__all__ = ["CARDINALITY", "Cardinality", "EndedFacts", "FactBatch", "batch_of", "fact_changes"]

Cardinality = Literal["single", "many"]

CARDINALITY: Mapping[str, Cardinality] = {
    "completed_with": "single",
    "summary": "single",
    "reviewed_as": "single",
    "modified_by": "single",
    "tests_passed": "single",
    "requires": "many",
    "must_fix": "many",
    "issue": "many",
    "convention": "many",
    "blocked_by": "many",
    "test_failed": "many",
}
"""The relations of our rules; a relation that is not named here has one object."""

_PER_SUBJECT = frozenset({"issue"})
"""For these, a batch also replaces what the same role said about the same subject before, in any task."""


@dataclass(frozen=True, slots=True)
class EndedFacts:
    """Facts that are so no more without others in their place: a list that is empty now, a test that passes again.

    `subject`: of all of them; None: of all subjects, and then `source_role` and `source_task_id` say which.
    """

    relation: str
    subject: str | None = None
    source_role: str = ""
    source_task_id: str = ""

    def covers(self, fact: SessionFact) -> bool:
        """Say whether a fact is one of them."""
        if fact.relation != self.relation:
            return False
        if self.subject is not None:
            return fact.subject == self.subject
        return (fact.source_role, fact.source_task_id) == (self.source_role, self.source_task_id)


class FactBatch(list[SessionFact]):
    """The facts of one result, and what the result ends beside them; a store that is given one does both.

    A list, as the seed's extractor returns one and its callers hand it to `add` as it is.
    """

    __slots__ = ("ended",)

    def __init__(self, facts: Iterable[SessionFact] = (), ended: Iterable[EndedFacts] = ()) -> None:
        super().__init__(facts)
        self.ended = tuple(ended)


def batch_of(fact: SessionFact) -> tuple[str, str, str]:
    """Return what the facts of one batch of a relation with many objects have in common."""
    return fact.relation, fact.source_role, fact.source_task_id


def fact_changes(
    valid: Iterable[FactVersion],
    new: Sequence[SessionFact],
    ended: Sequence[EndedFacts] = (),
    *,
    at_ms: int,
    next_sequence: int,
    cardinality: Mapping[str, Cardinality] = CARDINALITY,
) -> list[FactChange]:
    """Return what one call changes.

    `valid`: the valid facts, or at least those that have a subject and relation, or a batch, in common with `new` or
    `ended`. `new`: what is said now, in its order; one that has ended already is kept as history and ends nothing.
    `ended`: the facts that no longer hold. A fact that is also in `new` continues. `cardinality`: of relations;
    "single" for one that is not in it. Returns for each version that changes or is new one change, those of old
    versions first.
    """
    work = _FactWork(valid, at_ms, next_sequence)
    said = {fact.triple for fact in new}
    many = [fact for fact in new if fact.valid_to is None and cardinality.get(fact.relation) == "many"]
    batches = {batch_of(fact) for fact in many}
    places = {(fact.relation, fact.source_role, fact.subject) for fact in many if fact.relation in _PER_SUBJECT}
    for version in list(work.valid.values()):
        fact = version.fact
        if fact.triple not in said and (
            batch_of(fact) in batches
            or (fact.relation, fact.source_role, fact.subject) in places
            or any(one.covers(fact) for one in ended)
        ):
            work.end(version)
    for fact in new:
        if fact.valid_to is not None:
            work.put(fact)
            continue
        same = work.same(fact)
        if cardinality.get(fact.relation) != "many":
            for version in work.of(fact):
                if version is not same:
                    work.end(version)
        if same is None:
            work.put(fact)
        else:
            work.see_again(same)
    return work.changes()


class _FactWork:
    """The valid facts while a call is worked through."""

    def __init__(self, valid: Iterable[FactVersion], at_ms: int, next_sequence: int) -> None:
        self.valid = {version.sequence: version for version in valid}
        self._before = dict(self.valid)
        self._after: dict[int, FactVersion] = {}
        self._at_ms = at_ms
        self._next = next_sequence
        self._by_key: dict[tuple[str, str], dict[int, None]] = {}
        for version in self.valid.values():
            self._by_key.setdefault(_key(version.fact), {})[version.sequence] = None

    def of(self, fact: SessionFact) -> list[FactVersion]:
        return [self.valid[sequence] for sequence in self._by_key.get(_key(fact), ())]

    def same(self, fact: SessionFact) -> FactVersion | None:
        return next((version for version in self.of(fact) if version.fact.object == fact.object), None)

    def end(self, version: FactVersion) -> None:
        fact = version.fact
        del self.valid[version.sequence]
        del self._by_key[_key(fact)][version.sequence]
        after = replace(fact, valid_to=ends_at(fact.valid_from, fact.valid_to, self._at_ms))
        self._after[version.sequence] = FactVersion(version.sequence, after)

    def put(self, fact: SessionFact) -> None:
        version = FactVersion(self._next, fact)
        self._next += 1
        self._after[version.sequence] = version
        if fact.valid_to is None:
            self.valid[version.sequence] = version
            self._by_key.setdefault(_key(fact), {})[version.sequence] = None

    def see_again(self, version: FactVersion) -> None:
        seen = max(self._at_ms, version.fact.seen)
        if version.sequence in self._before and seen > version.fact.seen:
            again = FactVersion(version.sequence, replace(version.fact, last_seen=seen))
            self.valid[version.sequence] = self._after[version.sequence] = again

    def changes(self) -> list[FactChange]:
        return [
            FactChange(self._before.get(sequence), after) for sequence, after in sorted(self._after.items(), key=_first)
        ]


def _key(fact: SessionFact) -> tuple[str, str]:
    return fact.subject, fact.relation


def _first(pair: tuple[int, FactVersion]) -> int:
    return pair[0]
