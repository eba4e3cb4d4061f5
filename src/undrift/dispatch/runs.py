"""The stores for a dispatcher's runs: in memory, or in the store of a home.

Law: a save is whole or not at all, the facts of the result among it; what another process has changed meanwhile is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from undrift.errors import DispatchError, StoreError
from undrift.facts.sqlite import SqliteSessionFactStore
from undrift.stores.base import Context, RunChange
from undrift.values.clock import now_ms
from undrift.values.facts import FactChange, SessionFact, SessionFactStore

__all__ = ["InMemoryRunStore", "RunStore", "SqliteRunStore"]


class RunStore(Protocol):
    """The records of runs by name, and the way of their results' facts to where facts are kept."""

    def load(self, run_id: str, names: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return the records of a run as they are now, by name; empty if there is no such run.

        `names`: of the records; None for all. One that is not there is left out.
        """
        ...

    def save(
        self,
        run_id: str,
        kind: str,
        changes: Sequence[RunChange],
        *,
        payload: Mapping[str, Any],
        facts: Iterable[SessionFact] | None = None,
        max_facts: int = 0,
    ) -> None:
        """Write changes of a run, and the facts of a result, in one transaction.

        `facts`: what a result said, as the extractor gave it; None if it is about no result. `max_facts`: how many
        valid facts are kept then. Raises StoreError: a record is not what it was before the change, or the disk
        refuses; nothing was written.
        """
        ...


class InMemoryRunStore:
    """Keeps the records of runs in memory only."""

    def __init__(self, fact_store: SessionFactStore) -> None:
        self._facts = fact_store
        self._runs: dict[str, dict[str, Mapping[str, Any]]] = {}

    def load(self, run_id: str, names: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return the records of a run; see `RunStore.load`."""
        records = self._runs.get(run_id, {})
        return {name: records[name] for name in (records if names is None else names) if name in records}

    def save(
        self,
        run_id: str,
        kind: str,  # noqa: ARG002 - there is no log
        changes: Sequence[RunChange],
        *,
        payload: Mapping[str, Any],  # noqa: ARG002
        facts: Iterable[SessionFact] | None = None,
        max_facts: int = 0,
    ) -> None:
        """Keep changes of a run; see `RunStore.save`."""
        records = self._runs.get(run_id, {})
        if any(records.get(change.name) != change.before for change in changes):
            raise StoreError(
                f"run {run_id[:64]!r}: another process has continued it; nothing was changed. Read it again"
            )
        if facts is not None:
            self._facts.add(facts)
            self._facts.compact(max_facts)
        self._runs[run_id] = {**records, **{change.name: change.after for change in changes}}


class SqliteRunStore:
    """Stores the records of a run in the same database as the run's facts.

    `fact_store`: of the same run; its store is used, and stays the caller's to close.
    """

    def __init__(self, fact_store: SqliteSessionFactStore) -> None:
        self._facts = fact_store

    def load(self, run_id: str, names: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return the records of a run; see `RunStore.load`."""
        return self._facts.store.run_records(run_id, names)

    def save(
        self,
        run_id: str,
        kind: str,
        changes: Sequence[RunChange],
        *,
        payload: Mapping[str, Any],
        facts: Iterable[SessionFact] | None = None,
        max_facts: int = 0,
    ) -> None:
        """Write changes of a run; see `RunStore.save`."""
        if run_id != self._facts.run_id:
            raise DispatchError(
                f"this store is of run {self._facts.run_id[:64]!r}, not of {run_id[:64]!r}: open its own"
            )

        def act() -> None:
            if facts is not None:
                self._facts.add(facts)
                self._facts.compact(max_facts)

        def write(learned: Sequence[FactChange]) -> int:
            store = self._facts.store
            return store.commit(Context(store.scope.of(run_id), now_ms()), kind, [*learned, *changes], payload=payload)

        self._facts.together(act, write)
