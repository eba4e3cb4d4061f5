"""A session taken back in time, and forward again.

Law: going back is an operation like any other: it is logged, deletes nothing, and can itself be taken back. It holds for
all that the session keeps: decisions, pins, tasks, tags, memories, facts and the scratchpad.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from undrift.errors import InputError, RecallError, StoreError
from undrift.stores.base import Operation
from undrift.stores.sqlite import SqliteStore
from undrift.values.facts import SessionFact
from undrift.window.ledger import Ledger
from undrift.window.scratchpad import ScratchpadFile

__all__ = ["Diff", "Rewound", "Timeline"]

_log = logging.getLogger("undrift.session.session")


@dataclass(frozen=True, slots=True)
class Rewound:
    """What going back did.

    Args:
        seq: The operation that went back; `rewind` to the one before it, or `undo_rewind`, takes it back.
        to_seq: The operation after which everything answers as it did then.
        closed: Records that are no longer in force, by kind.
        opened: Records that are in force again, by kind.
    """

    seq: int
    to_seq: int
    closed: Mapping[str, int] = field(default_factory=dict)
    opened: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs between two moments of a session: ids of what is only in the later one, only in the earlier, changed.

    Args:
        added: Kind of record to ids.
        removed: The same.
        changed: The same.
    """

    added: Mapping[str, tuple[str, ...]]
    removed: Mapping[str, tuple[str, ...]]
    changed: Mapping[str, tuple[str, ...]]


class Timeline:
    """The timeline of one session.

    Args:
        store: Open; not closed here.
        ledger: Of the session.
        scratchpad: The agent's notes.
        session_id: Whose.
    """

    def __init__(self, store: SqliteStore, ledger: Ledger, scratchpad: ScratchpadFile, session_id: str) -> None:
        self._store = store
        self._ledger = ledger
        self._scratchpad = scratchpad
        self._session_id = session_id

    def checkpoint(self, label: str, at_ms: int) -> int:
        """Store the notes as they are, and return the number of this moment."""
        self._ledger.follow()
        notes = self._scratchpad.snapshot(at_ms)
        payload = {"label": label, **({"scratchpad": ""} if notes is None and self._has_no_notes() else {})}
        return self._ledger.note("checkpoint", notes, payload, at_ms=at_ms)

    def history(self) -> tuple[Operation, ...]:
        """Return all operations of the session, oldest first."""
        return self._store.operations(self._session_id)

    def facts(self, seq: int | None) -> tuple[SessionFact, ...]:
        """Return the facts that hold now, or held right after an operation."""
        versions = self._store.facts(self._session_id, as_of=seq)
        return tuple(one.fact for one in versions if one.fact.valid_to is None)

    def seq_of(self, to: int | str) -> int:
        """Return the operation that a name stands for: a number, a checkpoint's label, or a task's id.

        Raises:
            RecallError: There is none.
        """
        if isinstance(to, int) and not isinstance(to, bool):
            # A number between two operations of this session is the moment after the earlier one.
            last = self._last(to)
            if to == 0 or (last and to <= self._store.last_operation()):
                return last
            raise RecallError(f"session {self._session_id[:64]!r} has no operation {to}: `undrift history` lists them")
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
            "`undrift history` lists its operations"
        )

    def rewind(self, to: int | str, at_ms: int, *, kind: str = "rewind") -> Rewound:
        """Put in force what was in force right after an operation; return once that is on disk."""
        then = self.seq_of(to)
        done = self._go(then, kind, {}, at_ms)
        self._restore_notes(self._store.notes_at(self._session_id, then))
        return done

    def undo(self, at_ms: int) -> Rewound:
        """Take back the newest rewinding that was not taken back.

        Raises:
            RecallError: There is none.
        """
        undone: set[int] = set()
        for one in self._newest_first("rewind", "undo"):
            if one.kind == "undo":
                undone.add(_payload(one)["of"])
            elif one.seq not in undone:
                done = self._go(self._last(one.seq - 1), "undo", {"of": one.seq}, at_ms)
                self._restore_notes(_payload(one).get("before"))
                return done
        raise RecallError(f"session {self._session_id[:64]!r}: there is no rewinding to take back")

    def diff(self, earlier: int | str, later: int | str | None) -> Diff:
        """Return what differs between two moments."""
        first = self._store.state(self._session_id, self.seq_of(earlier))
        last = self._store.state(self._session_id, None if later is None else self.seq_of(later))
        added, removed, changed = {}, {}, {}
        for kind in sorted({*first, *last}):
            one, other = first.get(kind, {}), last.get(kind, {})
            added[kind] = tuple(sorted(set(other) - set(one)))
            removed[kind] = tuple(sorted(set(one) - set(other)))
            changed[kind] = tuple(sorted(key for key in set(one) & set(other) if one[key] != other[key]))
        return Diff(*({k: v for k, v in part.items() if v} for part in (added, removed, changed)))

    def _go(self, then: int, kind: str, payload: Mapping[str, Any], at_ms: int) -> Rewound:
        notes = self._scratchpad.snapshot(at_ms)
        saved = self._ledger.saved(notes)
        before = saved[0].ref if saved else "" if self._has_no_notes() else None
        seq, change = self._store.rewind(
            self._session_id,
            then,
            kind=kind,
            at_ms=at_ms,
            originals=saved,
            payload={"to": then, **payload, **({} if before is None else {"before": before})},
        )
        self._ledger.reset()
        counts = [{table: len(numbers) for table, numbers in part.items() if numbers} for part in change]
        return Rewound(seq, then, *counts)

    def _last(self, seq: int) -> int:
        return self._store.last_seq(self._session_id, until=seq)

    def _newest_first(self, *kinds: str) -> Iterator[Operation]:
        return reversed(self._store.operations(self._session_id, kinds))

    def _has_no_notes(self) -> bool:
        """Whether there are none, which is another thing than that they cannot be read."""
        try:
            return self._scratchpad.is_on and not self._scratchpad.read().strip()
        except StoreError:
            return False

    def _restore_notes(self, ref: Any) -> None:
        """Put the notes back; what they were until now is stored already, and the session is back in time by now."""
        if not self._scratchpad.is_on or not isinstance(ref, str):
            return
        try:
            self._scratchpad.write(self._store.original(ref).entry.content if ref else "")
        except StoreError as error:
            _log.warning("session %.80r: the notes are not as they were then: %s", self._session_id, error)


def _payload(operation: Operation) -> Mapping[str, Any]:
    return operation.payload or {}
