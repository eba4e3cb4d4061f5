"""Maintains a session's memory: adds results, hides outdated memories, rates searches, writes briefs.

Law: nothing enters by itself that is not on the list of `core.gate`, and each refusal is logged; what goes out of sight
stays on disk and comes back with a rewinding; of a rated question nothing is kept but its hash.
"""

import hashlib
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from undrift.core.memory.brief import Brief, brief
from undrift.core.memory.gate import is_admitted, is_borne_out
from undrift.core.memory.stale import Precision, Stale, precision, rated, stale
from undrift.core.validate.service import without_annotation
from undrift.errors import InputError, UndriftError
from undrift.memory.repository import MemoryRepository
from undrift.memory.scopes import ScopedMemories
from undrift.stores.base import Context
from undrift.stores.memory_values import MemoryChange, MemoryUpdate, Viewer
from undrift.values.memory import MemoryEntry
from undrift.values.window import TaskUpdate
from undrift.window.context import SessionContext

__all__ = ["MemoryUpkeep", "StalePruned"]

_log = logging.getLogger("undrift.memory")

_LOOKED_AT = 30
"""Hits that are looked at for a brief: more than fit, as some are left out."""


@dataclass(frozen=True, slots=True)
class StalePruned:
    """The memories that a pruning hid, or would hide.

    Args:
        stale: The memories, each with the reason.
        threshold: The stored weight below which a memory is hidden, 0 to 0.5.
        looked_at: The number of memories that were judged.
        seq: Its operation; 0 for a dry run.
    """

    stale: tuple[Stale, ...]
    threshold: float
    looked_at: int
    seq: int = 0


class MemoryUpkeep:
    """Adds results to one session's memory, hides outdated memories, rates searches and writes briefs."""

    def __init__(self, context: SessionContext, repository: MemoryRepository, memories: ScopedMemories) -> None:
        self._context = context
        self._store = context.store
        self._session_id = context.id
        self._settings = context.settings
        self._repository = repository
        self._memories = memories
        self._warned: tuple[str, ...] = ()

    def admit(
        self, content: str, *, type_: str, status: str, at_ms: int, fields: Mapping[str, Any]
    ) -> MemoryEntry | None:
        """Remember an allowed result, or log the refusal; see `Session.admit`."""
        if is_admitted(type_, status):
            made = {**fields, "type": type_, "status": status, "trust": "task"}
            return self._memories.remember(content, at_ms=at_ms, fields=made)
        payload = {"type": str(type_)[:64], "status": str(status)[:64]}
        self._store.commit(Context(self._store.scope.of(self._session_id), at_ms), "memory_denied", payload=payload)
        _log.info("session %.80r: a memory did not enter by itself: %s, %s", self._session_id, *payload.values())
        return None

    def admitted(self, changed: Iterable[TaskUpdate], at_ms: int) -> MemoryChange | None:
        """Return the change that remembers the summaries of completed tasks, if their logs support them.

        It is written with the tasks; what stands in the way of it is logged, and no more.
        """
        statements: list[tuple[str, Mapping[str, Any]]] = []
        for task in (update.after for update in changed if is_borne_out(update.after)):
            fields = {
                "type": "task_outcome",
                "status": "approved",
                "trust": "task",
                "source": f"task:{task.id}",
                "task_id": task.id,
                "phase_index": task.phase_index,
                "task_index": task.ordinal,
                "agent": task.agent,
            }
            try:
                statements.append((self._memories.checked(without_annotation(task.result_summary)), fields))
            except InputError as error:
                self._not_remembered(error)
        try:
            return self._memories.together(statements, at_ms)
        except UndriftError as error:
            self._not_remembered(error)
            return None

    def _not_remembered(self, error: UndriftError) -> None:
        _log.warning("session %.80r: a task's summary is not remembered: %s", self._session_id, error)

    def prune(self, *, dry_run: bool, threshold: float | None, at_ms: int) -> StalePruned:
        """Hide outdated memories; see `Session.prune_memories`."""
        limit = self._settings.stale_eviction_threshold if threshold is None else threshold
        context = self._context.run
        # A memory that holds in every project has no age.
        everything = self._repository.read.seen(Viewer(context.agent, self._session_id))
        seen = [one for one in everything if one.scope != "user"]
        found = stale(seen, context.task_index, context.phase_index, limit, phase_weight=self._settings.phase_weight)
        if dry_run:
            return StalePruned(found, limit, len(seen))
        payload = {
            "threshold": limit,
            "looked_at": len(seen),
            "pruned": {
                reason: [x.entry.id for x in found if x.reason == reason] for reason in ("demoted", "contradicted")
            },
        }
        updates = [MemoryUpdate(one.entry, None) for one in found]
        seq = self._repository.write(self._session_id, "prune_memories", updates, at_ms=at_ms, payload=payload)
        return StalePruned(found, limit, len(seen), seq)

    def rate(self, query: str, returned: Collection[str], useful: Collection[str], at_ms: int) -> Precision:
        """Record how useful a search was; see `Session.rate_search`."""
        if not isinstance(query, str):
            raise InputError(f"a query must be a text, not {type(query).__name__}")
        of_all, of_use = rated(returned, useful)
        digest = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()
        payload = {"query_sha256": digest, "returned": of_all, "useful": of_use}
        self._store.commit(Context(self._store.scope.of(self._session_id), at_ms), "rate_search", payload=payload)
        found = self.precision()
        if found.alert:
            _log.warning(
                "session %.80r: of what the last %d rated searches returned, %.0f%% was of use",
                self._session_id,
                found.samples,
                100 * (found.value or 0),
            )
        return found

    def precision(self) -> Precision:
        """Return the precision of the newest rated searches of the home."""
        window = self._settings.retrieval_monitor_window
        return precision(self._store.ratings(window), window)

    def new_warnings(self) -> list[str]:
        """Return what the newest search went without, unless the one before went without it too."""
        before, self._warned = self._warned, self._memories.warnings
        return [text for text in self._warned if text not in before]

    def brief(self, query: str, budget_tokens: int, *, now_ms: int, shows_scores: bool = True) -> Brief:
        """Return the memories about a question as a text; see `Session.brief`."""
        hits = self._memories.search(query, k=_LOOKED_AT)
        return brief(hits, budget_tokens, now_ms=now_ms, count=self._context.count, shows_scores=shows_scores)
