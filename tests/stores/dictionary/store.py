"""The dictionary store: its methods, over what `records` holds."""

import copy
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from tests.stores.dictionary.changes import Writing, write
from tests.stores.dictionary.documents import DictionaryDocuments
from tests.stores.dictionary.memories import MemoryReader
from tests.stores.dictionary.purging import Doomed, destroy, doomed, remains
from tests.stores.dictionary.records import Home, Session, as_json, integer
from tests.stores.dictionary.searching import DictionarySearch, words_of
from tests.stores.dictionary.timeline import go_back, state_of
from undrift.errors import GoneError, InputError, RecallError, StoreError
from undrift.stores.base import (
    Aim,
    Context,
    Counts,
    Destroyed,
    Found,
    KnownMark,
    Mark,
    Moved,
    Operation,
    Remains,
    SessionRow,
)
from undrift.stores.memory_values import Heir
from undrift.values.facts import FactVersion
from undrift.values.readings import Heads, StretchReading
from undrift.values.retention import SessionSize
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original, Tasks

__all__ = ["DictionaryStore"]

T = TypeVar("T")
PathName = str | os.PathLike[str]

_MOST_MARKS = 1_024
_BACK = ("rewind", "undo", "purge")
_OWNER = Scope()
_HOMES: dict[str, dict[Scope, Home]] = {}
_BACKUPS: dict[str, dict[Scope, Home]] = {}


class DictionaryStore:
    """`undrift.stores.contract.Store` for the tests that take any store; made by `open`."""

    own_files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, home: Home, scope: Scope) -> None:
        self.scope = scope
        self._records = home
        self._is_open = True

    @classmethod
    def open(
        cls, home: PathName, scope: Scope = _OWNER, *, create: bool = True, busy_timeout_ms: int = 5_000
    ) -> "DictionaryStore":
        homes = _HOMES.get(str(home))
        if homes is None and not create:
            raise StoreError(f"{home}: there is no store")
        return cls(_HOMES.setdefault(str(home), {}).setdefault(_owner(scope), Home()), scope.of(""))

    @staticmethod
    def is_there(home: PathName) -> bool:
        return str(home) in _HOMES

    @staticmethod
    def written_ns(home: PathName) -> int:
        if str(home) not in _HOMES:
            raise OSError(f"{home}: nothing was kept in it yet")
        return sum(len(one.order) for one in _HOMES[str(home)].values())

    @staticmethod
    def back_up(home: PathName, target: PathName) -> Counts:
        if str(home) not in _HOMES:
            raise StoreError(f"{home}: there is no store")
        if Path(target).exists():
            raise InputError(f"{target}: something else stands under that name")
        _BACKUPS[str(target)] = copy.deepcopy(_HOMES[str(home)])
        return _counts(_BACKUPS[str(target)])

    @staticmethod
    def restore_backup(source: PathName, home: PathName) -> Counts:
        if str(source) not in _BACKUPS:
            raise InputError(f"{source}: is no backup")
        kept = Path(f"{home}.before") if str(home) in _HOMES else None
        if kept is not None:
            _HOMES[str(kept)] = _HOMES.pop(str(home))
        _HOMES[str(home)] = copy.deepcopy(_BACKUPS[str(source)])
        return replace(_counts(_HOMES[str(home)]), kept=kept)

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
                raise StoreError("it was rewound meanwhile")
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
        integer("at_ms", context.at_ms)
        draft, session = home.drafted(name)
        writing = Writing(draft, session, name, session.last + 1, as_json(payload, "payload"))
        session.now.counted[writing.seq] = None
        yield writing
        session = writing.session
        session.log.append(Operation(writing.seq, kind, context.at_ms, writing.payload))
        session.now.counted[writing.seq] = None  # once more, if the state is an earlier one now
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
        kept = [(number, one) for number, one in enumerate(self._home.of(session_id).readings) if one.key == key]
        wanted = set(chosen([(number, replace(one, record=b"")) for number, one in kept])) if kept else set()
        return [one for number, one in kept if number in wanted]

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        context = Context(self.scope.of(session_id), at_ms)
        with self._writing(context, "rewind-facts", {"to": to}) as writing:
            now, then = writing.session.now, writing.session.then(to)
            if now.facts != then.facts:
                now.facts, writing.session.facts_at = dict(then.facts), writing.seq
        return writing.seq

    def rewind(
        self, context: Context, then: int, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any]
    ) -> Moved:
        with self._writing(context, kind, payload) as writing:
            write(writing, changes)
            moved = go_back(writing.home, writing.name, then, writing.seq)
        return Moved(writing.seq, *moved)

    def state(self, session_id: str, seq: int | None = None) -> dict[str, dict[str, bytes]]:
        return state_of(self._home, session_id, seq)

    def notes_at(self, session_id: str, seq: int) -> str:
        session = self._home.of(session_id)
        counted = session.then(seq).counted
        texts = [(one.payload or {}).get("scratchpad") for one in session.log if one.seq in counted]
        return next((text for text in reversed(texts) if isinstance(text, str)), "")

    def sweepable(self) -> tuple[SessionSize, ...]:
        found = []
        for name, session in self._home.sessions.items():
            texts = [one.entry.content for _, one in session.archive.values() if one.source == "window"]
            used = [one.at_ms for one in session.log if one.kind not in ("sweep", "purge")]
            if texts and used:
                found.append(
                    SessionSize(
                        name, max(used), len(texts), sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
                    )
                )
        return tuple(found)

    def sweep(self, session_id: str, blank: Callable[[Decision], Decision], *, at_ms: int) -> int:
        refs = {ref for ref, (_, one) in self._home.of(session_id).archive.items() if one.source == "window"}
        with self._writing(Context(self.scope.of(session_id), at_ms), "sweep", None) as writing:
            destroy(writing.home, Doomed(Aim("original", session_id), refs, set(), frozenset(), (), {}), blank)
            writing.session, writing.payload = writing.home.of(session_id), {"originals": len(refs)}
        return len(refs)

    def purge(
        self, aims: Sequence[Aim], blank: Callable[[Decision], Decision], *, at_ms: int, heir: Heir | None = None
    ) -> Destroyed | None:
        home, name = self._home, aims[0].session_id
        every = [doomed(home, aim) for aim in aims]
        found = next((one for one in every if one.aim.kind == "session" or not one.is_nothing), None)
        if found is None and not self.operations(name, ("purge",)):
            return None
        payload: dict[str, Any] = {"what": found.aim.kind if found else aims[0].kind, "removed": {}}
        with self._writing(Context(self.scope.of(name), at_ms), "purge", None) as writing:
            if found is not None:
                payload["removed"] = destroy(writing.home, found, blank, heir)
            writing.session, writing.payload = writing.home.of(name), payload
        if found is None:
            return Destroyed(aims[0].kind, {})
        return Destroyed(found.aim.kind, payload["removed"], found.tasks, found.texts)

    def clean(self, destroyed: Destroyed, *, search_files: bool = False) -> Remains:
        return remains(self._home, destroyed.pieces)

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
        return next((one for one in reversed(every) if ref and ref in (one.ref, one.detail.get("gone_ref"))), None)

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
        if (gone := self.decision(ref)) is not None:
            raise GoneError(f"{ref}: {gone.reason}")
        raise RecallError(f"no original {ref[:64]!r}")

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        session = self._home.of(session_id)
        for _, one in reversed(session.archive.values()):
            if one.entry.id == entry_id and (one.source == "window" or one.ref in session.now.originals):
                return one
        gone = next((one for one in self.decided(session_id) if one.entry_id == entry_id and not one.ref), None)
        if gone is not None:
            raise GoneError(f"{entry_id}: {gone.reason}")
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
        return MemoryReader(lambda: self._home)

    def search_memories(self, embedder: Any = None, index: str = "exact") -> DictionarySearch:
        return DictionarySearch(lambda: self._home, embedder)

    def next_memory_seq(self) -> int:
        newest = max((one.entry.seq for one in self._home.events if one.entry is not None), default=0)
        return 1 + max(newest, len(self._home.order))

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
        context = Context(self.scope.of(session_id), at_ms)
        with self._writing(context, "documents", payload) as writing:
            return act(DictionaryDocuments(writing.session, writing.home))
        raise AssertionError  # a context manager may swallow what is raised; this one does not

    # ------------------------------------------------------------------------------------------------------------ care

    def rebuild_search(self) -> None:
        assert self._home is not None

    def pack(self, most_bytes: int) -> int:
        assert self._home is not None
        assert most_bytes >= 0
        return 0

    def integrity(self) -> tuple[str, ...]:
        assert self._home is not None
        return ()

    @property
    def _home(self) -> Home:
        if not self._is_open:
            raise StoreError("the store is closed")
        return self._records


def _owner(scope: Scope) -> Scope:
    return scope.of("")


def _counts(homes: Mapping[Scope, Home]) -> Counts:
    sessions = [one for home in homes.values() for one in home.sessions.values()]
    originals = sum(len(one.archive) for one in sessions)
    return Counts(sum(len(one.log) for one in sessions), originals, sum(len(one.now.decisions) for one in sessions), 1)


def _has_left(session: Session, one: Original) -> bool:
    about = (x for x in session.now.decisions.values() if x.entry_id == one.entry.id and x.kind == "pruned")
    return any(x.ref in ("", one.ref) for x in about)
