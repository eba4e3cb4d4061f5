"""A store that holds plain values in dictionaries: what the contract asks for, and nothing that a database brings.

Law: knows no SQL, no file and no number over the whole home, and shares no code with the stores of the package.
"""

import copy
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from undrift.errors import InputError, RecallError, StoreError
from undrift.stores.base import Context, Found, KnownMark, Mark, Operation, SessionRow
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original, Tag, Task, Tasks, TaskUpdate

__all__ = ["DictionaryStore"]

_MOST_MARKS = 1_024
_WORD = re.compile(r"\w+")


@dataclass
class _Session:
    operations: list[Operation] = field(default_factory=list)
    originals: dict[str, Original] = field(default_factory=dict)
    decisions: dict[tuple[str, str], Decision] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    tags: dict[str, Tag] = field(default_factory=dict)
    marks: dict[str, tuple[int, Mark]] = field(default_factory=dict)


_HOMES: dict[tuple[Any, ...], dict[str, _Session]] = {}


class DictionaryStore:
    """`undrift.stores.base.Store` for the tests that take any store; made by `open`."""

    def __init__(self, sessions: dict[str, _Session], scope: Scope) -> None:
        self.scope = scope
        self._sessions = sessions
        self._is_open = True

    @classmethod
    def open(cls, home: Path, scope: Scope | None = None) -> Self:
        scope = scope or Scope()
        key = (str(home), scope.organisation, scope.person, scope.project)
        return cls(_HOMES.setdefault(key, {}), scope)

    def close(self) -> None:
        self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --------------------------------------------------------------------------------------------------------- writing

    def commit(
        self, context: Context, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any] | None = None
    ) -> int:
        name = context.scope.session
        self._check(name)
        if not self.scope.holds(context.scope):
            raise InputError(f"this store was opened for {self.scope}")
        session = copy.copy(self._sessions.get(name, _Session()))
        for part in ("operations", "originals", "decisions", "tasks", "tags"):
            setattr(session, part, copy.copy(getattr(session, part)))
        seq = session.operations[-1].seq + 1 if session.operations else 1
        if context.based_on is not None and any(
            one.seq > context.based_on and one.kind in ("rewind", "undo", "purge") for one in session.operations
        ):
            raise StoreError("it was taken back in time meanwhile")
        operation = Operation(seq, kind, _integer("at_ms", context.at_ms), _json(payload, "payload"))
        for keep in (self._original, self._decision, self._task, self._tag):
            for one in changes:
                keep(session, name, one)
        session.operations.append(operation)
        self._sessions.pop(name, None)  # the one written last stands last
        self._sessions[name] = session
        return seq

    def _original(self, session: _Session, name: str, one: Any) -> None:
        if not isinstance(one, Original):
            return
        if one.session_id != name:
            raise InputError(f"original {one.ref}: is of another session")
        entry, about = one.entry, f"entry {one.entry.id!r}"
        for value in (entry.token_count, entry.timestamp, entry.seq):
            _integer(about, value)
        one = replace(one, entry=replace(entry, metadata=_json(entry.metadata, about)))
        if any(one.ref in other.originals for key, other in self._sessions.items() if key != name):
            raise StoreError(f"reference {one.ref!r}: another original is stored under it")
        same = session.originals.setdefault(one.ref, one)
        if (same.source, same.entry.id, same.entry.content) != (one.source, entry.id, entry.content):
            raise StoreError(f"reference {one.ref!r}: another original is stored under it")
        buffered = [x.entry.id for x in session.originals.values() if x.source == "buffer"]
        if len(buffered) != len(set(buffered)):
            raise StoreError(f"entry {entry.id!r}: a buffer holds it already")

    def _decision(self, session: _Session, name: str, one: Any) -> None:
        if not isinstance(one, Decision):
            return
        one = replace(one, detail=_json(one.detail, f"decision about {one.entry_id!r}: detail"))
        if one.ref and one.ref not in session.originals:
            raise StoreError(f"decision about {one.entry_id!r}: the session has no original {one.ref!r}")
        if session.decisions.setdefault((one.entry_id, str(one.detail.get("at", ""))), one) != one:
            raise StoreError(f"entry {one.entry_id!r}: another decision about it is stored")

    def _task(self, session: _Session, name: str, one: Any) -> None:
        if not isinstance(one, TaskUpdate):
            return
        now = session.tasks.get(one.after.id)
        ordinal = now.ordinal if now else 0
        was, becomes = (None if task is None else replace(task, ordinal=ordinal) for task in (one.before, one.after))
        if now == becomes or becomes is None:
            return
        if now != was:
            raise StoreError(f"task {one.after.id!r}: it was changed meanwhile")
        if becomes.segments and not becomes.ordinal:
            becomes = replace(becomes, ordinal=1 + max((task.ordinal for task in session.tasks.values()), default=0))
        session.tasks[becomes.id] = becomes

    def _tag(self, session: _Session, name: str, one: Any) -> None:
        if not isinstance(one, Tag):
            return
        if one.task_id not in session.tasks:
            raise StoreError(f"call {one.call_id!r}: the session has no task {one.task_id!r}")
        if session.tags.setdefault(one.call_id, one) != one:
            raise StoreError(f"call {one.call_id!r}: it has another tag")

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        self._check(session_id)
        kept = self._sessions.setdefault(session_id, _Session()).marks
        if is_claim and any(mark.kind == "turn" for _, mark in kept.values()):
            return False
        for mark in marks:
            if mark.text not in kept:
                kept[mark.text] = (
                    1 + max((at for one in self._all() for at, _ in one.marks.values()), default=0),
                    mark,
                )
        old = [text for text, (_, mark) in kept.items() if mark.kind != "birth"]
        for text in old[: max(0, len(kept) - _MOST_MARKS)]:
            del kept[text]
        return True

    # --------------------------------------------------------------------------------------------------------- reading

    def decided(self, session_id: str, known: object = None) -> tuple[Decision, ...]:
        return tuple(self._of(session_id).decisions.values())

    def decisions(self, session_id: str) -> dict[str, Decision]:
        return {one.entry_id: one for one in self.decided(session_id)}

    def decision(self, ref: str) -> Decision | None:
        found = [one for session in self._all() for one in session.decisions.values() if ref and one.ref == ref]
        return found[-1] if found else None

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        session = self._of(session_id)
        return tuple(
            replace(one.entry, seq=number)
            for number, one in enumerate(session.originals.values(), 1)
            if one.source == "buffer" and not _has_left(session, one)
        )

    def pins(self, session_id: str, known: object = None) -> tuple[Original, ...]:
        return tuple(one for one in self._of(session_id).originals.values() if one.source == "pin")

    def original(self, ref: str) -> Original:
        for session in self._all():
            if ref in session.originals:
                return session.originals[ref]
        raise RecallError(f"no original {ref[:64]!r}")

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        found = [one for one in self._of(session_id).originals.values() if one.entry.id == entry_id]
        if not found:
            raise RecallError(f"no original of an entry {entry_id[:64]!r}")
        return found[-1]

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        wanted, found = set(_WORD.findall(query.casefold())), []
        for name, session in self._sessions.items():
            for one in session.originals.values():
                is_left = one.source == "window" or (one.source == "buffer" and _has_left(session, one))
                score = float(len(wanted.intersection(_WORD.findall(one.entry.content.casefold()))))
                if is_left and score and session_id in (None, name):
                    found.append(Found(one.ref, name, one.entry.id, one.entry.type, one.entry.content[:99], score))
        return tuple(sorted(found, key=lambda one: -one.score)[: max(0, limit)])

    def sessions(self) -> tuple[SessionRow, ...]:
        self._check("any")
        rows = []
        for name, one in self._sessions.items():
            times = [operation.at_ms for operation in one.operations]
            counts = len(one.operations), len(one.originals), len(one.decisions)
            if times:
                rows.append(SessionRow(name, *counts, min(times), max(times)))
        return tuple(reversed(rows))

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        return tuple(one for one in self._of(session_id).operations if kinds is None or one.kind in kinds)

    def last_seq(self, session_id: str, *, until: int | None = None) -> int:
        seqs = (one.seq for one in self._of(session_id).operations)
        return max((seq for seq in seqs if until is None or seq <= until), default=0)

    def tasks(self, session_id: str, known: object = None) -> Tasks:
        session = self._of(session_id)
        return Tasks(dict(session.tasks), dict(session.tags))

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        self._check("any")
        left: dict[Mark, list[tuple[int, str]]] = {}
        for name, session in self._sessions.items():
            for text in {*texts} & session.marks.keys():
                at, mark = session.marks[text]
                left.setdefault(mark, []).append((at, name))
        found = []
        for mark, owners in sorted(left.items(), key=lambda one: max(one[1])):
            newest = max(owners)[1]
            has_turns = any(one.kind == "turn" for _, one in self._sessions[newest].marks.values())
            found.append(KnownMark(mark, newest, len(owners), has_turns))
        return tuple(found)

    def rebuild_search(self) -> None:
        self._check("any")

    def integrity(self) -> tuple[str, ...]:
        self._check("any")
        return ()

    def _check(self, session_id: str) -> None:
        if not self._is_open:
            raise StoreError("the store is closed")
        if not session_id:
            raise InputError("a session id must not be empty")

    def _of(self, session_id: str) -> _Session:
        self._check("any")
        return self._sessions.get(session_id, _Session())

    def _all(self) -> list[_Session]:
        self._check("any")
        return list(self._sessions.values())


def _has_left(session: _Session, one: Original) -> bool:
    about = (x for x in session.decisions.values() if x.entry_id == one.entry.id and x.kind == "pruned")
    return any(x.ref in ("", one.ref) for x in about)


def _integer(name: str, value: Any) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise InputError(f"{name}: not an integer of 64 bits")
    return value


def _json(value: Any, name: str) -> Any:
    def plain(one: object) -> object:
        if isinstance(one, Mapping):
            return dict(one)
        raise TypeError(type(one).__name__)

    try:
        return json.loads(json.dumps(value, default=plain, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {error}") from None
