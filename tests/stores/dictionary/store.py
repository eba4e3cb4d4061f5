"""The dictionary store: its methods, over what `records` holds."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.stores.dictionary.changes import Writing, write
from tests.stores.dictionary.documents import DictionaryDocuments
from tests.stores.dictionary.memories import MemoryReader
from tests.stores.dictionary.records import Home, Session, as_json, integer
from tests.stores.dictionary.searching import words_of
from undrift.errors import InputError, RecallError, StoreError
from undrift.stores.base import Context, Found, KnownMark, Mark, Operation, SessionRow
from undrift.values.facts import FactVersion
from undrift.values.readings import Heads, StretchReading
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original, Tasks

__all__ = ["DictionaryStore"]

T = TypeVar("T")

_MOST_MARKS = 1_024
_BACK = ("rewind", "undo", "purge")
_HOMES: dict[tuple[str, ...], Home] = {}


class DictionaryStore:
    """`undrift.stores.base.Store` for the tests that take any store; made by `open`."""

    def __init__(self, home: Home, scope: Scope) -> None:
        self.scope = scope
        self._records = home
        self._is_open = True

    @classmethod
    def open(cls, home: Path, scope: Scope | None = None) -> Self:
        scope = scope or Scope()
        key = (str(home), scope.organisation, scope.person, scope.project)
        return cls(_HOMES.setdefault(key, Home()), scope)

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
        with self._writing(context, kind, payload) as writing:
            log = self._home.of(writing.name).log
            if context.based_on is not None and any(one.seq > context.based_on and one.kind in _BACK for one in log):
                raise StoreError("it was taken back in time meanwhile")
            write(writing, changes)
        return writing.seq

    @contextmanager
    def _writing(self, context: Context, kind: str, payload: Mapping[str, Any] | None) -> Iterator[Writing]:
        """Write one operation into a draft, which takes the place of what is there at the end."""
        name = context.scope.session
        home = self._home
        if not name:
            raise InputError("a session id must not be empty")
        if not self.scope.holds(context.scope):
            raise InputError(f"this store was opened for {self.scope}")
        operation = Operation(0, kind, integer("at_ms", context.at_ms), as_json(payload, "payload"))
        draft, session = home.drafted(name)
        writing = Writing(draft, session, name, session.last + 1)
        yield writing
        session.log.append(replace(operation, seq=writing.seq))
        session.now.counted[writing.seq] = None
        session.past[writing.seq] = session.now.copied()
        draft.order.append((name, writing.seq))
        draft.sessions[name] = draft.sessions.pop(name)  # the one written last stands last
        home.adopt(draft)

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        home = self._home
        if not session_id:
            raise InputError("a session id must not be empty")
        kept = home.sessions.setdefault(session_id, Session()).marks
        if is_claim and any(mark.kind == "turn" for _, mark in kept.values()):
            return False
        for mark in marks:
            if mark.text not in kept:
                kept[mark.text] = (home.number(), mark)
        old = [text for text, (_, mark) in kept.items() if mark.kind != "birth"]
        for text in old[: max(0, len(kept) - _MOST_MARKS)]:
            del kept[text]
        return True

    def readings(self, session_id: str, key: str, chosen: Callable[[Heads], Collection[int]]) -> list[StretchReading]:
        del session_id, key, chosen
        return []

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        context = Context(replace(self.scope, session=session_id), at_ms)
        with self._writing(context, "rewind-facts", {"to": to}) as writing:
            now, then = writing.session.now, writing.session.then(to)
            if now.facts != then.facts:
                now.facts, writing.session.facts_at = dict(then.facts), writing.seq
        return writing.seq

    # -------------------------------------------------------------------------------------------------- log and sessions

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        return tuple(one for one in self._home.of(session_id).log if kinds is None or one.kind in kinds)

    def last_seq(self, session_id: str, *, until: int | None = None) -> int:
        return self._home.of(session_id).until(until)

    def sessions(self) -> tuple[SessionRow, ...]:
        rows = []
        for name, one in self._home.sessions.items():
            times = [operation.at_ms for operation in one.log]
            named = [operation.payload for operation in one.log if operation.kind == "named"]
            if times:
                originals = sum(kept.source == "window" for _, kept in one.archive.values()) + len(one.now.originals)
                called = named[0].get("name") if named and named[0] else ""
                rows.append(
                    SessionRow(
                        name, len(times), originals, len(one.now.decisions), min(times), max(times), called or ""
                    )
                )
        return tuple(reversed(rows))

    def newest_session(self) -> str | None:
        return next((row.session_id for row in self.sessions()), None)

    # ---------------------------------------------------------------------------------------- decisions and originals

    def decided(self, session_id: str, known: object = None) -> tuple[Decision, ...]:
        return tuple(self._home.of(session_id).now.decisions.values())

    def decisions(self, session_id: str) -> dict[str, Decision]:
        return {one.entry_id: one for one in self.decided(session_id)}

    def decision(self, ref: str) -> Decision | None:
        every = [one for session in self._home.sessions.values() for one in session.now.decisions.values()]
        return next((one for one in reversed(every) if ref and one.ref == ref), None)

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        session = self._home.of(session_id)
        return tuple(
            replace(one.entry, seq=number)
            for number, one in session.archive.values()
            if one.source == "buffer" and one.ref in session.now.originals and not _has_left(session, one)
        )

    def pins(self, session_id: str, known: object = None) -> tuple[Original, ...]:
        session = self._home.of(session_id)
        active = (one for ref, (_, one) in session.archive.items() if ref in session.now.originals)
        return tuple(one for one in active if one.source == "pin")

    def original(self, ref: str) -> Original:
        for session in self._home.sessions.values():
            if ref in session.archive:
                return session.archive[ref][1]
        raise RecallError(f"no original {ref[:64]!r}")

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        session = self._home.of(session_id)
        for _, one in reversed(session.archive.values()):
            if one.entry.id == entry_id and (one.source == "window" or one.ref in session.now.originals):
                return one
        raise RecallError(f"no original of an entry {entry_id[:64]!r}")

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        wanted, found = set(words_of(query)), []
        for name, session in self._home.sessions.items():
            for _, one in session.archive.values():
                is_left = one.source == "window" or (one.source == "buffer" and _has_left(session, one))
                score = float(len(wanted.intersection(words_of(one.entry.content))))
                if is_left and score and session_id in (None, name):
                    found.append(Found(one.ref, name, one.entry.id, one.entry.type, one.entry.content[:99], score))
        return tuple(sorted(found, key=lambda one: -one.score)[: max(0, limit)])

    # --------------------------------------------------------------------------------------------------- work and marks

    def tasks(self, session_id: str, known: object = None) -> Tasks:
        session = self._home.of(session_id)
        by_id = {name: session.now.tasks[name] for name in session.made if name in session.now.tasks}
        return Tasks(by_id, dict(session.now.tags))

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        runs = self._home.of(session_id).runs
        return {name: runs[name] for name in (runs if names is None else names) if name in runs}

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        facts = self._home.of(session_id).then(as_of).facts
        return tuple(facts[sequence] for sequence in sorted(facts))

    def facts_state(self, session_id: str) -> tuple[int, int]:
        session = self._home.of(session_id)
        return session.facts_at, session.sequences + 1

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        sessions = self._home.sessions
        left: dict[Mark, list[tuple[int, str]]] = {}
        for name, session in sessions.items():
            for text in {*texts} & session.marks.keys():
                at, mark = session.marks[text]
                left.setdefault(mark, []).append((at, name))
        found = []
        for mark, owners in sorted(left.items(), key=lambda one: max(one[1])):
            newest = max(owners)[1]
            has_turns = any(one.kind == "turn" for _, one in sessions[newest].marks.values())
            found.append(KnownMark(mark, newest, len(owners), has_turns))
        return tuple(found)

    # --------------------------------------------------------------------------------------------- memories, documents

    @property
    def memories(self) -> MemoryReader:
        return MemoryReader(self._home)

    def ratings(self, most: int) -> list[tuple[int, int]]:
        home = self._home
        logs = {(name, one.seq): one for name, session in home.sessions.items() for one in session.log}
        rated = [logs[key].payload or {} for key in reversed(home.order) if logs[key].kind == "rate_search"]
        return [(one["returned"], one["useful"]) for one in rated if one["returned"] > 0][:most]

    @contextmanager
    def documents(self, session_id: str) -> Iterator[DictionaryDocuments]:
        home = self._home
        yield DictionaryDocuments(home.of(session_id), home)

    def document_owners(self, kind: str) -> list[str]:
        sessions = self._home.sessions.items()
        return sorted(name for name, one in sessions if any(where[0] == kind for where in one.now.documents))

    def change_documents(
        self, session_id: str, act: Callable[[Any], T], *, at_ms: int, payload: Mapping[str, Any]
    ) -> T:
        context = Context(replace(self.scope, session=session_id), at_ms)
        with self._writing(context, "documents", payload) as writing:
            return act(DictionaryDocuments(writing.session, writing.home))
        raise AssertionError  # a context manager may swallow what is raised; this one does not

    # ------------------------------------------------------------------------------------------------------------ care

    def rebuild_search(self) -> None:
        assert self._home is not None

    def integrity(self) -> tuple[str, ...]:
        assert self._home is not None
        return ()

    @property
    def _home(self) -> Home:
        if not self._is_open:
            raise StoreError("the store is closed")
        return self._records


def _has_left(session: Session, one: Original) -> bool:
    about = (x for x in session.now.decisions.values() if x.entry_id == one.entry.id and x.kind == "pruned")
    return any(x.ref in ("", one.ref) for x in about)
