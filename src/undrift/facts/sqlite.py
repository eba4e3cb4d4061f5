"""The facts of one run in the store of a home: they outlive the process, and what held after any operation can be asked.

Law: what is valid is read from the disk once and followed by number: who else writes to the same run is noticed before
the next answer. A call that returned is on disk; one that raised has changed nothing.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from undrift.core.facts.book import FactBook
from undrift.core.facts.retrieve import Wanted
from undrift.errors import StoreError
from undrift.facts.intake import Clock, batch_ended, taken_in
from undrift.settings import Settings, working_folder
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.stores.projects import place_for
from undrift.values.clock import now_ms
from undrift.values.closing import Closing
from undrift.values.facts import FactChange, FactVersion, SessionFact, SessionFactTag
from undrift.values.scope import Scope

__all__ = ["SqliteSessionFactStore"]

_ADDED, _KEY = "facts", "once"
"""The kind of the operations that add facts, and what their payload may have."""

_UNKNOWN = -1
_MOST_TRIES = 200
"""Tries of a change if another process was quicker; among 12 processes each try succeeds about once in 12 times."""
_NAPS_S = (0.001, 0.002, 0.003, 0.005, 0.007)


class SqliteSessionFactStore(Closing):
    """`undrift.values.facts.SessionFactStore` in the SQLite file of a home.

    Args:
        home: Folder of the store; default is the setting `home`.
        run_id: The run, which is a session of the store; not empty. Facts of another run are never seen.
        settings: Default: from the environment.
        store: An open store to use in place of `home`; it is not closed by this object.
        clock: Gives Unix milliseconds.

    Raises:
        SettingsError: A setting is wrong.
        StoreError: The store cannot be opened; every method raises it when the disk refuses.
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        run_id: str = "default",
        settings: Settings | None = None,
        store: Store | None = None,
        clock: Clock = now_ms,
    ) -> None:
        chosen = settings if settings is not None else Settings.from_environment()
        self._owned = None
        if store is None:
            store = self._owned = open_store(place_for(home, chosen.home, working_folder()), Scope())
        self.store = store
        self.run_id = run_id
        self._mask_secrets = chosen.mask_secrets
        self._clock = clock
        self._lock = threading.RLock()  # `together` holds it while its caller calls `add`
        self._book = FactBook()
        self._seq = _UNKNOWN
        self._staged: list[FactChange] | None = None  # the changes of `together` that are not written yet

    def close(self) -> None:
        """Close the store, unless it was given."""
        if self._owned is not None:
            self._owned.close()

    def add(self, facts: Iterable[SessionFact]) -> None:
        """Add what one result said; see `SessionFactStore.add`."""
        ended, new = batch_ended(facts), taken_in(facts, self.run_id, mask_secrets=self._mask_secrets)
        self._change(lambda book: self._stage(book.added(new, ended, at_ms=self._clock())), _ADDED)

    def add_once(self, facts: Iterable[SessionFact], key: str, max_facts: int) -> bool:
        """Add what one result said, unless it was added before, and compact, in one transaction; see `add`, `compact`.

        `key`: what the result is known by. Returns whether it was new.
        """
        ended, new = batch_ended(facts), taken_in(facts, self.run_id, mask_secrets=self._mask_secrets)
        is_new = True

        def act(book: FactBook) -> None:
            nonlocal is_new  # another process may have added it between two tries
            is_new = not any(
                (one.payload or {}).get(_KEY) == key for one in self.store.operations(self.run_id, (_ADDED,))
            )
            if is_new:
                self._stage(book.added(new, ended, at_ms=self._clock()))
                self._stage(book.compacted(max_facts))

        self._change(act, _ADDED, {_KEY: key})
        return is_new

    def together(self, act: Callable[[], None], write: Callable[[Sequence[FactChange]], int]) -> int:
        """Hold back what `act` changes through this object, and let `write` commit it with what else belongs to it.

        Args:
            act: Calls `add`, `invalidate` and `compact`; what is read in it has the changes in it.
            write: Is given the changes, for `Store.commit`; returns the operation's number. When it raises, nothing has
                changed.
        """
        with self._lock:
            self._followed()
            return self._written(act, write)

    def invalidate(self, subject: str, relation: str) -> None:
        """End all valid facts of this subject and relation, now."""
        self._change(lambda book: self._stage(book.invalidated(subject, relation, at_ms=self._clock())), "facts-ended")

    def compact(self, max_facts: int) -> None:
        """Keep at most `max_facts` valid facts; see `SessionFactStore.compact`. Dropped facts are hidden, not deleted.

        Raises:
            InputError: `max_facts` is no integer of at least 0.
        """
        self._change(lambda book: self._stage(book.compacted(max_facts)), "facts-compacted")

    def rewind(self, to: int) -> int:
        """Make the facts what they were right after an operation; return the operation in which that is done."""
        with self._lock:
            return self.store.rewind_facts(self.run_id, to, at_ms=self._clock())

    def get_valid(self) -> list[SessionFact]:
        """Return the valid facts, in the order in which they were added."""
        with self._lock:
            return self._followed().valid

    def get_valid_by_tags(self, tags: Sequence[SessionFactTag]) -> list[SessionFact]:
        """Return the valid facts with at least one of the tags, in the order in which they were added."""
        with self._lock:
            return self._followed().tagged(tags)

    def count(self) -> int:
        """Return how many facts are valid."""
        with self._lock:
            return self._followed().count

    def history(self, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        """Return all versions that are kept, now or as right after an operation, in the order in which they were added."""
        return self.store.facts(self.run_id, as_of=as_of)

    def best(self, want: Wanted) -> list[SessionFact]:
        """Return what matches a query best, by an index; see `undrift.core.facts.retrieve`."""
        with self._lock:
            return self._followed().best(want)

    def _change(self, act: Callable[[FactBook], None], kind: str, payload: Mapping[str, Any] | None = None) -> None:
        with self._lock:
            if self._staged is not None:  # within `together`: its caller writes
                act(self._book)
                return
            for tries in range(_MOST_TRIES):
                self._followed()
                seq = self._seq
                try:
                    self._written(lambda: act(self._book), lambda changes: self._commit(changes, kind, payload))
                    return
                except StoreError:
                    if tries + 1 == _MOST_TRIES or self.store.facts_state(self.run_id)[0] == seq:
                        raise
                # Another process was quicker: what it wrote counts.
                time.sleep(_NAPS_S[time.monotonic_ns() // 1_000 % len(_NAPS_S)])
        raise AssertionError  # the last try returns or raises

    def _commit(self, changes: Sequence[FactChange], kind: str, payload: Mapping[str, Any] | None) -> int:
        if not changes:
            return 0
        context = Context(self.store.scope.of(self.run_id), self._clock())
        return self.store.commit(context, kind, changes, payload=payload)

    def _written(self, act: Callable[[], None], write: Callable[[Sequence[FactChange]], int]) -> int:
        self._staged = []
        try:
            act()
            changes = self._staged
            seq = write(changes)
        except BaseException:
            self._seq = _UNKNOWN  # what is in memory is not what is on disk
            raise
        finally:
            self._staged = None
        if changes:
            self._seq = seq
        return seq

    def _stage(self, changes: Sequence[FactChange]) -> None:
        """Apply changes here; the caller writes them."""
        assert self._staged is not None
        self._book.apply(changes)
        self._staged = _joined(self._staged, changes)

    def _followed(self) -> FactBook:
        """The facts as they are on disk now, and within `together` as they are about to be."""
        if self._staged is not None:
            return self._book
        seq, next_sequence = self.store.facts_state(self.run_id)
        if seq != self._seq:
            self._book = FactBook(self.store.facts(self.run_id), next_sequence)
            self._seq = seq
        return self._book


def _joined(first: Sequence[FactChange], second: Sequence[FactChange]) -> list[FactChange]:
    """Return one change for each version of two that follow each other; what comes and goes in them is none."""
    joined = {_sequence(change): change for change in first}
    for change in second:
        before = joined.get(_sequence(change))
        joined[_sequence(change)] = change if before is None else FactChange(before.before, change.after)
    return [change for change in joined.values() if change.before is not None or change.after is not None]


def _sequence(change: FactChange) -> int:
    version = change.after or change.before
    assert version is not None
    return version.sequence
