"""The facts of one run, in memory: the versions, and what finds the valid ones of them quickly. Pure.

Law: a plain container of versions; `apply` is the only way in, and after it every index says what the versions say. The
functions next to it decide the changes; they return them and change nothing.
"""

from collections.abc import Iterable, Sequence

from undrift.core.facts.changes import CARDINALITY, EndedFacts, batch_of, fact_changes
from undrift.core.facts.index import FactIndex
from undrift.core.facts.retrieve import Wanted
from undrift.errors import InputError
from undrift.values.facts import FactChange, FactVersion, SessionFact

__all__ = ["FactBook", "MOST_TOTAL_TIMES"]

MOST_TOTAL_TIMES = 4
"""Compaction keeps at most so many times the most valid facts in all, ended ones among them."""

_Sequences = dict[int, None]


class FactBook:
    """Hold the versions of the facts of one run.

    `next_sequence`: of the next new version; at least one above all of `versions`.
    """

    def __init__(self, versions: Iterable[FactVersion] = (), next_sequence: int = 1) -> None:
        self._versions: dict[int, FactVersion] = {}
        self._valid: dict[int, FactVersion] = {}
        self._by_key: dict[tuple[str, str], _Sequences] = {}
        self._by_batch: dict[tuple[str, str, str], _Sequences] = {}
        self._by_tag: dict[str, _Sequences] = {}
        self._index: FactIndex | None = None  # made when first asked for
        self._next = next_sequence
        self.apply([FactChange(None, version) for version in versions])

    @property
    def versions(self) -> list[FactVersion]:
        """All versions, in the order in which they were added."""
        return [version for _, version in sorted(self._versions.items(), key=_first)]

    @property
    def valid(self) -> list[SessionFact]:
        """The valid facts, in the order in which they were added."""
        return [version.fact for _, version in sorted(self._valid.items(), key=_first)]

    @property
    def count(self) -> int:
        """The number of valid facts."""
        return len(self._valid)

    def tagged(self, tags: Iterable[str]) -> list[SessionFact]:
        """Return the valid facts with at least one of the tags, in the order in which they were added."""
        found = {sequence for tag in tags for sequence in self._by_tag.get(tag, ())}
        return [self._valid[sequence].fact for sequence in sorted(found)]

    def best(self, want: Wanted) -> list[SessionFact]:
        """Return what `undrift.core.facts.retrieve.retrieve` returns for the valid facts, by an index."""
        if self._index is None:
            self._index = FactIndex(self._valid.values())
        return self._index.best(want)

    def added(self, new: Sequence[SessionFact], ended: Sequence[EndedFacts] = (), *, at_ms: int) -> list[FactChange]:
        """Return what adding a batch changes; see `fact_changes`."""
        concerned: _Sequences = {}
        for fact in new:
            concerned |= self._by_key.get((fact.subject, fact.relation), {})
            concerned |= self._by_batch.get(batch_of(fact), {})
        for one in ended:
            if one.subject is not None:
                concerned |= self._by_key.get((one.subject, one.relation), {})
            else:
                concerned |= self._by_batch.get((one.relation, one.source_role, one.source_task_id), {})
        valid = [self._valid[sequence] for sequence in sorted(concerned)]
        return fact_changes(valid, new, ended, at_ms=at_ms, next_sequence=self._next)

    def invalidated(self, subject: str, relation: str, *, at_ms: int) -> list[FactChange]:
        """Return what ending all valid facts of a subject and relation changes."""
        return self.added((), (EndedFacts(relation, subject),), at_ms=at_ms)

    def compacted(self, max_facts: int) -> list[FactChange]:
        """Return what is dropped so that the caps hold. Raises InputError: `max_facts` is no integer of at least 0.

        Beyond `max_facts` valid ones: all ended ones, then the valid ones that were said first. Else, beyond
        `MOST_TOTAL_TIMES` as many in all: the ended ones that ended first.
        """
        if type(max_facts) is not int or max_facts < 0:
            raise InputError(f"max_facts must be an integer of at least 0, not {max_facts!r}")
        ended = [version for version in self._versions.values() if version.fact.valid_to is not None]
        over = len(self._valid) - max_facts
        if over > 0:
            oldest = sorted(self._valid.values(), key=lambda one: (one.fact.seen, one.sequence))[:over]
            gone = [*ended, *oldest]
        else:
            ended.sort(key=lambda one: (one.fact.valid_to or 0, one.sequence))
            gone = ended[: max(0, len(self._versions) - MOST_TOTAL_TIMES * max_facts)]
        return [FactChange(version, None) for version in gone]

    def apply(self, changes: Iterable[FactChange]) -> None:
        """Take in changes that were decided on what the book holds now."""
        after = []
        for change in changes:
            if change.before is not None:
                self._remove(change.before.sequence)
            if change.after is not None:
                after.append(change.after)
        for version in sorted(after, key=_recency):  # so that the index need not be rebuilt
            self._put(version)

    def _put(self, version: FactVersion) -> None:
        sequence, fact = version.sequence, version.fact
        self._versions[sequence] = version
        self._next = max(self._next, sequence + 1)
        if fact.valid_to is not None:
            return
        self._valid[sequence] = version
        for index, key in self._keys(fact):
            index.setdefault(key, {})[sequence] = None
        if self._index is not None:
            self._index.add(version)

    def _remove(self, sequence: int) -> None:
        del self._versions[sequence]
        version = self._valid.pop(sequence, None)
        if version is None:
            return
        for index, key in self._keys(version.fact):
            del index[key][sequence]
            if not index[key]:
                del index[key]
        if self._index is not None:
            self._index.discard(sequence)

    def _keys(self, fact: SessionFact) -> list[tuple[dict, object]]:  # type: ignore[type-arg]  # of three key types
        keys: list[tuple[dict, object]] = [(self._by_key, (fact.subject, fact.relation))]  # type: ignore[type-arg]
        keys += [(self._by_tag, tag) for tag in dict.fromkeys(fact.tags)]
        if CARDINALITY.get(fact.relation) == "many":
            keys.append((self._by_batch, batch_of(fact)))
        return keys


def _first(pair: tuple[int, FactVersion]) -> int:
    return pair[0]


def _recency(version: FactVersion) -> tuple[int, int]:
    return version.fact.seen, version.sequence
