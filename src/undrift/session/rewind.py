"""Rewinds of a session, and how they are undone.

Law: a rewind is an operation like any other: it is logged, deletes nothing, and can be undone. It holds for all that
the session keeps: decisions, pins, tasks, tags, memories, facts and the scratchpad.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

from undrift.errors import InputError, RecallError, StoreError
from undrift.stores.base import Context, Operation
from undrift.values.closing import in_turn
from undrift.values.facts import SessionFact
from undrift.window.context import SessionContext

__all__ = ["Diff", "Rewound", "Timeline"]

_log = logging.getLogger("undrift.session")


@dataclass(frozen=True, slots=True)
class Rewound:
    """The result of a rewind.

    Args:
        seq: The rewind's own operation; `rewind` to the operation before it, or `undo_rewind`, undoes it.
        to_seq: Everything answers as it did right after this operation.
        closed: Number of records that are no longer active, by kind.
        opened: Number of records that are active again, by kind.
    """

    seq: int
    to_seq: int
    closed: Mapping[str, int] = field(default_factory=dict)
    opened: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between two moments of a session.

    Args:
        added: Kind of record to the ids that only the later moment has.
        removed: Kind of record to the ids that only the earlier moment has.
        changed: Kind of record to the ids that both have and that differ.
    """

    added: Mapping[str, tuple[str, ...]]
    removed: Mapping[str, tuple[str, ...]]
    changed: Mapping[str, tuple[str, ...]]


class Timeline:
    """The operations of one session, and its rewinds: `Session.timeline`."""

    def __init__(self, context: SessionContext) -> None:
        self._sharing = context.sharing
        self._clock = context.clock
        self._store = context.store
        self._log = context.log
        self._scratchpad = context.scratchpad
        self._session_id = context.id

    @in_turn
    def checkpoint(self, label: str = "") -> int:
        """Name the session's current state; return its operation number for `rewind`.

        Args:
            label: Any text; the newest checkpoint of a label is the one that `rewind` finds.

        Raises:
            StoreError: It could not be written.

        >>> number = session.checkpoint("before the migration")
        >>> session.history()[-1].seq == number
        True
        """
        at_ms = self._clock.tick()
        self._log.follow()
        notes = self._scratchpad.snapshot(at_ms)
        payload = {"label": label, **({"scratchpad": ""} if notes is None and self._has_no_notes() else {})}
        return self._log.note("checkpoint", notes, payload, at_ms=at_ms)

    @in_turn
    def history(self) -> tuple[Operation, ...]:
        """Return all operations of the session, oldest first, those that were rewound too."""
        return self._store.operations(self._session_id)

    @in_turn
    def facts(self, *, as_of: int | str | None = None) -> tuple[SessionFact, ...]:
        """Return the active facts of this session's run, oldest first.

        Args:
            as_of: The state right after this operation: a number, a checkpoint's label or a task's id; None: now.

        Raises:
            RecallError: There is no such operation.
        """
        versions = self._store.facts(self._session_id, as_of=self.seq_of(as_of))
        return tuple(one.fact for one in versions if one.fact.valid_to is None)

    @overload
    def seq_of(self, to: int | str) -> int: ...

    @overload
    def seq_of(self, to: int | str | None) -> int | None: ...

    @in_turn
    def seq_of(self, to: int | str | None) -> int | None:
        """Return the operation that a name means: a number, a checkpoint's label or a task's id. None means: now.

        Raises:
            RecallError: There is none.
        """
        if to is None:
            return None
        if isinstance(to, int) and not isinstance(to, bool):
            # A number between two operations of this session is the moment after the earlier one.
            last = self._last(to)
            if to == 0 or (last and to <= self._store.last_seq(self._session_id)):
                return last
            raise RecallError(
                f"session {self._session_id[:64]!r} has no operation {to}: `undrift session history` lists them"
            )
        if not isinstance(to, str):
            raise InputError(f"a moment is an operation's number, a checkpoint's label or a task's id, not {to!r}")
        name = to.removeprefix("task:")
        labelled = (one.seq for one in self._newest_first("checkpoint") if _payload(one).get("label") == to)
        tasks = (one.seq for one in self._newest_first("task") if name in _payload(one).get("tasks", ()))
        for found in (labelled, tasks):
            for seq in found:
                return seq
        raise RecallError(
            f"session {self._session_id[:64]!r} has neither a checkpoint nor a task {to[:64]!r}: "
            "`undrift session history` lists its operations"
        )

    @in_turn
    def rewind(self, to: int | str) -> Rewound:
        """Take the session back to its state right after an operation.

        Decisions, pins, tasks, tags, memories, facts and the scratchpad are as they were then. Nothing is deleted;
        it is logged, a second time changes nothing, and `undo_rewind` reverses it. Another process of this session
        that decided something meanwhile is refused and reads again.

        Args:
            to: An operation's number (0: before the first), a checkpoint's label, or a task's id: right after its newest
                change.

        Raises:
            RecallError: There is none of that name.
            StoreError: It could not be written; nothing has changed.

        >>> _ = session.checkpoint("before")
        >>> _ = session.remember("The port is 8080")
        >>> dict(session.rewind("before").closed), session.memories()
        ({'memories': 1}, ())
        """
        at_ms = self._clock.tick()
        then = self.seq_of(to)
        done = self._go(then, "rewind", {}, at_ms)
        self._restore_notes(self._store.notes_at(self._session_id, then))
        return done

    @in_turn
    def undo_rewind(self) -> Rewound:
        """Undo the newest rewind that is not yet undone: the session has its state from before the rewind.

        Raises:
            RecallError: There is none.
            StoreError: It could not be written; nothing has changed.

        >>> _ = session.remember("The port is 8080")
        >>> _ = session.rewind(0)
        >>> _ = session.undo_rewind()
        >>> [entry.content for entry in session.memories()]
        ['The port is 8080']
        """
        at_ms = self._clock.tick()
        undone: set[int] = set()
        for one in self._newest_first("rewind", "undo"):
            if one.kind == "undo":
                undone.add(_payload(one)["of"])
            elif one.seq not in undone:
                done = self._go(self._last(one.seq - 1), "undo", {"of": one.seq}, at_ms)
                self._restore_notes(_payload(one).get("before"))
                return done
        raise RecallError(f"session {self._session_id[:64]!r}: there is no rewind to undo")

    @in_turn
    def diff(self, earlier: int | str, later: int | str | None = None) -> Diff:
        """Return the difference between two moments.

        Args:
            earlier: See `rewind`.
            later: See `rewind`; None: now.

        Raises:
            RecallError: There is no such operation.

        >>> _ = session.checkpoint("before")
        >>> task = session.start_task("fix-login")
        >>> session.diff("before").added["tasks"] == (task.id,)
        True
        """
        first = self._store.state(self._session_id, self.seq_of(earlier))
        last = self._store.state(self._session_id, self.seq_of(later))
        added, removed, changed = {}, {}, {}
        for kind in sorted({*first, *last}):
            one, other = first.get(kind, {}), last.get(kind, {})
            added[kind] = tuple(sorted(set(other) - set(one)))
            removed[kind] = tuple(sorted(set(one) - set(other)))
            changed[kind] = tuple(sorted(key for key in set(one) & set(other) if one[key] != other[key]))
        return Diff(*({k: v for k, v in part.items() if v} for part in (added, removed, changed)))

    def _go(self, then: int, kind: str, payload: Mapping[str, Any], at_ms: int) -> Rewound:
        notes = self._scratchpad.snapshot(at_ms)
        saved = self._log.saved(notes)
        before = saved[0].ref if saved else "" if self._has_no_notes() else None
        done = self._store.rewind(
            Context(self._store.scope.of(self._session_id), at_ms),
            then,
            kind,
            saved,
            payload={"to": then, **payload, **({} if before is None else {"before": before})},
        )
        self._log.reset()
        return Rewound(done.seq, then, done.closed, done.opened)

    def _last(self, seq: int) -> int:
        return self._store.last_seq(self._session_id, until=seq)

    def _newest_first(self, *kinds: str) -> Iterator[Operation]:
        return reversed(self._store.operations(self._session_id, kinds))

    def _has_no_notes(self) -> bool:
        """Tell whether the session has no notes; unreadable notes count as notes."""
        try:
            return self._scratchpad.is_on and not self._scratchpad.read().strip()
        except StoreError:
            return False

    def _restore_notes(self, ref: Any) -> None:
        """Restore the earlier notes; the session is already rewound, and the current notes are stored."""
        if not self._scratchpad.is_on or not isinstance(ref, str):
            return
        try:
            if ref or self._scratchpad.is_there:
                self._scratchpad.write(self._store.original(ref).entry.content if ref else "")
        except StoreError as error:
            _log.error("session %.80r: the notes are not as they were then: %s", self._session_id, error)


def _payload(operation: Operation) -> Mapping[str, Any]:
    return operation.payload or {}
