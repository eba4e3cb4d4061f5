"""The facts of one run in the memory of this process; they end with it.

Law: one lock, so that threads may share it; every call is whole or not at all.
"""

import threading
from collections.abc import Iterable, Sequence

from undrift.core.facts.book import FactBook
from undrift.core.facts.retrieve import Wanted
from undrift.facts.intake import Clock, batch_ended, taken_in
from undrift.values.clock import now_ms
from undrift.values.facts import FactVersion, SessionFact, SessionFactTag

__all__ = ["InMemorySessionFactStore"]


class InMemorySessionFactStore:
    """`undrift.values.facts.SessionFactStore` in memory.

    Args:
        run_id: Put on every fact; may be empty.
        clock: Gives Unix milliseconds.
    """

    def __init__(self, *, run_id: str = "", clock: Clock = now_ms) -> None:
        self.run_id = run_id
        self._clock = clock
        self._lock = threading.Lock()
        self._book = FactBook()

    def add(self, facts: Iterable[SessionFact]) -> None:
        """Add what one result said; see `SessionFactStore.add`."""
        ended, new = batch_ended(facts), taken_in(facts, self.run_id)
        with self._lock:
            self._book.apply(self._book.added(new, ended, at_ms=self._clock()))

    def invalidate(self, subject: str, relation: str) -> None:
        """End all valid facts of this subject and relation, now."""
        with self._lock:
            self._book.apply(self._book.invalidated(subject, relation, at_ms=self._clock()))

    def get_valid(self) -> list[SessionFact]:
        """Return the valid facts, in the order in which they were added."""
        with self._lock:
            return self._book.valid

    def get_valid_by_tags(self, tags: Sequence[SessionFactTag]) -> list[SessionFact]:
        """Return the valid facts with at least one of the tags, in the order in which they were added."""
        with self._lock:
            return self._book.tagged(tags)

    def count(self) -> int:
        """Return how many facts are valid."""
        with self._lock:
            return self._book.count

    def compact(self, max_facts: int) -> None:
        """Keep at most `max_facts` valid facts; see `SessionFactStore.compact`.

        Raises:
            InputError: `max_facts` is no integer of at least 0.
        """
        with self._lock:
            self._book.apply(self._book.compacted(max_facts))

    def history(self) -> tuple[FactVersion, ...]:
        """Return all versions that are kept, ended ones included, in the order in which they were added."""
        with self._lock:
            return tuple(self._book.versions)

    def best(self, want: Wanted) -> list[SessionFact]:
        """Return what matches a query best, by an index; see `undrift.core.facts.retrieve`."""
        with self._lock:
            return self._book.best(want)
