"""The log of one session: every decision is written to disk before it is used.

Law: a decision counts once it is written, and not before.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from undrift.core.text.calibration import Calibration, UsageReport
from undrift.core.text.masking import masked_original
from undrift.core.text.refs import ref_of
from undrift.core.window.learned_cache import LearnedCache
from undrift.errors import StoreError
from undrift.stores.base import Context, Known, Mark, Operation
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryChange
from undrift.values.window import ContextEntry, Decision, Original, Tag, Tasks, TaskUpdate
from undrift.window.asked import KIND as ASKED
from undrift.window.asked import AskedTimes
from undrift.window.asked import payload_of as time_payload_of
from undrift.window.conversation import Conversation
from undrift.window.decisions import Decisions
from undrift.window.ledgers import KIND as BILLED
from undrift.window.ledgers import KINDS as WITH_BILLS
from undrift.window.ledgers import Ledgers
from undrift.window.pinning import KIND as UNPIN
from undrift.window.pinning import KINDS as UNPIN_KINDS
from undrift.window.pinning import unpinned_in
from undrift.window.reports import KIND, KINDS, Reports, payload_of

__all__ = ["SessionLog"]

_log = logging.getLogger("undrift.window")


class SessionLog:
    """The decisions and pins of a session; `was_empty` is true if the session was new when opened.

    `mask_secrets`: whether secrets are masked before the write.
    """

    def __init__(self, store: Store, session_id: str, *, mask_secrets: bool) -> None:
        self._store = store
        self.session_id = self._session_id = session_id
        self._mask_secrets = mask_secrets
        self._seq = self._reset_at = store.last_seq(session_id)
        self._begun = Mark(f"begun:{ref_of(session_id, '')}", "birth")
        self.was_empty = self._seq == 0 and not store.find_marks((self._begun.text,))
        self._is_noted = False
        self._known = Known()
        self.along: Conversation | None = None  # its readings are written with every other write
        self._decisions = Decisions(session_id, (), ()) if self._seq == 0 else None
        self._reports = self._stored_reports()
        operations = self._with_totals()
        self.times = AskedTimes(operations)
        self.ledgers = Ledgers(operations)
        """The bills of the session, by model."""
        self.tasks = self._stored_tasks()

    @property
    def decisions(self) -> Decisions:
        """Every decision of the session, pins too; loaded on first use, because there may be many.

        Raises StoreError: they cannot be read.
        """
        if self._decisions is None:
            self._decisions = Decisions(self._session_id, *self._stored(), self._unpinned())
        return self._decisions

    def write(
        self,
        kind: str,
        new: Sequence[Decision],
        originals: Iterable[ContextEntry],
        *,
        at_ms: int,
        payload: Mapping[str, Any],
    ) -> None:
        """Write decisions, and the originals that they remove, in one transaction.

        Raises StoreError: nothing was written.
        """
        decisions = self.decisions  # read before the write: else they would include the new ones
        masked = [masked_original(e, self._session_id, "window", self._mask_secrets) for e in originals]
        has_bills = kind in WITH_BILLS
        self.ledgers.promise(has_bills)  # a kill before the answer must not leave a balance that is too high
        try:
            self._commit(kind, [*masked, *new], at_ms=at_ms, payload=payload)
        except StoreError:
            self.ledgers.promise(-has_bills)
            raise
        decisions.add(new)

    def inherit(
        self,
        decisions: Sequence[Decision],
        originals: Iterable[ContextEntry],
        reports: Sequence[Mapping[str, Any]],
        *,
        at_ms: int,
    ) -> None:
        """Write decisions and token counts of another session, in one transaction. Raises StoreError: nothing was
        written.

        `originals`: the entries that they are about, as this session's request has them.
        """
        self.write("fork", decisions, originals, at_ms=at_ms, payload={"reports": [*reports]})
        self._reports = self._stored_reports()

    def pin(self, entry: ContextEntry, *, at_ms: int) -> str:
        """Write a pin, unless it is known; return its reference. Raises StoreError: nothing was written."""
        ref = ref_of(self._session_id, entry.id)
        if ref not in self.decisions.pins:
            pin = masked_original(entry, self._session_id, "pin", self._mask_secrets)
            self._commit("pin", [pin], at_ms=at_ms)
            self.decisions.pins[ref] = pin.entry
        elif ref in self.decisions.unpinned:
            self.unpin(ref, at_ms=at_ms, again=True)
        return ref

    def unpin(self, ref: str, *, at_ms: int, again: bool = False) -> None:
        """Undo a pin, or with `again` pin it once more. Raises StoreError: nothing was written."""
        self._commit(UNPIN, at_ms=at_ms, payload={"pin": ref, "again": again})
        self.decisions.hold(self._store.pins(self._session_id, self._known), self._unpinned())

    def write_tasks(
        self,
        updates: Sequence[TaskUpdate],
        snapshot: ContextEntry | None = None,
        *,
        at_ms: int,
        remembered: MemoryChange | None = None,
    ) -> None:
        """Write changes of tasks, the current notes, and the memories made from tasks, in one transaction; then they
        count.

        Raises:
            StoreError: Nothing was written: another process has changed a task meanwhile, or the disk refused.
        """
        kept = self.saved(snapshot)
        payload = {"tasks": [update.after.id for update in updates], **_named(kept)}
        more: Sequence[Any] = ()
        if remembered is not None:
            payload |= remembered.payload
            more = remembered.changes
        self._commit("task", [*kept, *updates, *more], at_ms=at_ms, payload=payload)
        self.tasks = self._stored_tasks()  # the store assigns ordinals

    def note_history(self) -> None:
        """Note that a history was prepared, if nothing on disk says so: a task that starts later does not begin with it.

        It never raises, and is tried once.
        """
        if self.was_empty and self._seq == 0 and not self._is_noted:
            self._is_noted = True
            try:
                self._store.add_marks(self._session_id, (self._begun,))
            except StoreError as error:
                _log.error("session %.80r: its first request could not be noted: %s", self._session_id, error)

    def write_tags(self, tasks: Tasks, tags: Sequence[Tag], *, at_ms: int) -> None:
        """Write which tasks some calls belong to. Raises StoreError: nothing was written."""
        self._commit("tag", tags, at_ms=at_ms)
        self.tasks = tasks

    def calibration(self, model: str, history: Collection[str]) -> Calibration:
        """Return the calibration of a conversation for a model, from the provider's token counts so far.

        `history`: the chain ids of its items.
        """
        return self._reports.calibration(model, history)

    def calibrate(self, model: str, report: UsageReport, *, at: str, history: Collection[str], at_ms: int) -> bool:
        """Store the provider's token count, unless our estimate differs only a little; return whether it was stored.

        The active calibration is always the one on disk, so that a restart decides like the running session.

        `at`: the chain id at which the request ended; `history`: those of all its items. Raises StoreError: nothing was
        written; the former calibration stays active.
        """
        if not self._reports.is_news(model, report, history):
            return False
        self._commit(KIND, at_ms=at_ms, payload=payload_of(model, report, at))
        self._reports.add(model, report, at)
        return True

    def write_time(self, model: str, at_ms: int, learned: LearnedCache, *, is_last: bool = False) -> None:
        """Store the time of a request, and what is known of the model's cache. Raises StoreError: nothing was written.

        `is_last`: whether no request came after it until the session was closed.
        """
        self._commit(ASKED, at_ms=at_ms, payload=time_payload_of(model, learned, is_last=is_last))
        self.times.written(model, at_ms, learned, is_last=is_last)

    def settle(self, *, at_ms: int, is_end: bool = False) -> None:
        """Store the bills if a kill would leave too high a balance, or at the end if the session's times are stored.

        Raises StoreError: nothing was written.
        """
        if self.ledgers.is_too_high or (is_end and self.times.is_kept and self.ledgers.has_news):
            self._commit(BILLED, at_ms=at_ms)

    def note(self, kind: str, snapshot: ContextEntry | None, payload: Mapping[str, Any], *, at_ms: int) -> int:
        """Write an operation without changes, together with the current notes; return its number.

        Raises StoreError: nothing was written.
        """
        kept = self.saved(snapshot)
        self._commit(kind, kept, at_ms=at_ms, payload={**payload, **_named(kept)})
        return self._store.last_seq(self._session_id)

    def saved(self, snapshot: ContextEntry | None) -> list[Original]:
        """Return the notes for the store, with secrets masked."""
        if snapshot is None:
            return []
        return [Original(ref_of(self._session_id, snapshot.id), self._session_id, "window", snapshot)]

    def reset(self) -> None:
        """Load everything again after a rewind. Raises StoreError: the store cannot be read."""
        seq = self._store.last_seq(self._session_id)
        if self._decisions is not None:
            self._decisions.reset(*self._stored(), self._unpinned())
        self._reports = self._stored_reports()
        self._renew()
        self._seq = self._reset_at = seq

    def _commit(
        self, kind: str, changes: Sequence[Any] = (), *, at_ms: int, payload: Mapping[str, Any] | None = None
    ) -> None:
        """Write an operation, and remember its number, so that our own writes are not loaded again.

        A write of another process in between is found at its next operation, or by the conflict.
        """
        known = self._store.last_seq(self._session_id) == self._seq
        context = Context(self._store.scope.of(self._session_id), at_ms, self._seq)
        if kind in WITH_BILLS:
            payload = {**(payload or {}), **self.ledgers.payload()} or None
        readings = [] if self.along is None else self.along.unrecorded()
        seq = self._store.commit(context, kind, [*changes, *readings], payload=payload)
        if self.along is not None:
            self.along.recorded(readings)
        if kind in WITH_BILLS:
            self.ledgers.written(payload or {})
        if known:
            self._seq = seq

    def _stored(self) -> tuple[tuple[Decision, ...], tuple[Original, ...]]:
        """Return the decisions and pins on disk; known rows are not read again."""
        return self._store.decided(self._session_id, self._known), self._store.pins(self._session_id, self._known)

    def _unpinned(self) -> frozenset[str]:
        return unpinned_in(self._store.operations(self._session_id, UNPIN_KINDS))

    def _stored_tasks(self) -> Tasks:
        return self._store.tasks(self._session_id, self._known)

    def _stored_reports(self) -> Reports:
        return Reports(operation.payload for operation in self._store.operations(self._session_id, KINDS))

    def _with_totals(self) -> Sequence[Operation]:
        return self._store.operations(self._session_id, WITH_BILLS)

    def follow(self) -> None:
        """Add the decisions and pins that other processes wrote for this session in the meantime.

        Raises StoreError: the store cannot be read.
        """
        if self._store.last_seq(self._session_id) != self._seq:
            self.reload()

    def reload(self) -> bool:
        """Load the decisions that other processes wrote for this session; return whether there were any.

        Raises StoreError: the store cannot be read.
        """
        seq = self._store.last_seq(self._session_id)
        moves = self._store.operations(self._session_id, ("rewind", "undo", "purge", "sweep"))
        if moves and moves[-1].seq > self._reset_at:
            self.reset()
            return True
        news = [] if self._decisions is None else self._add_stored(self._decisions)
        self._reports = self._stored_reports()
        self._renew()
        self._seq = seq
        return bool(news)

    def _renew(self) -> None:
        """Load the times, the bills and the tasks again."""
        operations = self._with_totals()
        self.times.renew(operations)
        self.ledgers.renew(operations)
        self.tasks = self._stored_tasks()

    def _add_stored(self, decisions: Decisions) -> list[Decision]:
        """Add the new decisions from disk and return them."""
        decided, pins = self._stored()
        news = [d for d in decided if not decisions.has(d)]
        decisions.hold(pins, self._unpinned())
        if news:
            decisions.add(news)
        return news


def _named(notes: Sequence[Original]) -> dict[str, Any]:
    """Return the log's fields that name the notes stored with an operation."""
    return {"scratchpad": notes[-1].ref} if notes else {}
