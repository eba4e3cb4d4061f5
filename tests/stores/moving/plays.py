"""Random play over any store: a bit of every kind of record, in several sessions, with rewinds and their undoing."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.stores.builders import commit, memory, noise, original, prune
from undrift.errors import InputError, StoreError
from undrift.stores.base import Context, Document, Mark, RunChange
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer
from undrift.values.facts import FactChange, FactVersion, SessionFact
from undrift.values.memory import MemoryEntry, Slot
from undrift.values.readings import StretchReading
from undrift.values.scope import Scope
from undrift.values.window import MaskedSpan, Tag, Task, TaskUpdate

__all__ = ["Play", "answers", "play"]

_HOSTILE = ("plain", "nul \0 in it", "half \ud800", "ünïcode 中", "q'uote\" \\")
_DIMENSION = 4


class Play:
    """Random changes of one store.

    Args:
        sessions: The names of the sessions.
        prefix: Of all names of records, so that two plays never name the same.
        offset: Of all times, in milliseconds.
    """

    def __init__(
        self,
        store: Store,
        seed: int,
        sessions: tuple[str, ...] = ("s", "t", "a/b 中"),
        prefix: str = "",
        offset: int = 0,
    ) -> None:
        self.store = store
        self.random = Random(f"{seed} {prefix}")
        self.sessions = sessions
        self.prefix = prefix
        self.step = 0
        self.offset = offset
        self.acts: tuple[Callable[[str], Any], ...] = (
            self.leaves, self.leaves, self.keeps, self.prunes_kept, self.works, self.works, self.states, self.runs, self.writes,
            self.remembers, self.remembers, self.supersedes, self.forgets, self.reads, self.marks, self.goes_back, self.goes_forth,
            self.checkpoints,
        )  # fmt: skip

    def plays(self, steps: int) -> None:
        for _ in range(steps):
            self.step += 1
            act, session = self.random.choice(self.acts), self.random.choice(self.sessions)
            try:
                act(session)
            except (StoreError, InputError):
                continue

    @property
    def at_ms(self) -> int:
        return 1_700_000_000_000 + self.step * 1_000 + self.offset

    def name(self) -> str:
        return f"{self.prefix}{self.random.choice(_HOSTILE)} {self.step}"

    def commit(self, session: str, kind: str, **changes: Any) -> int:
        return commit(self.store, session, kind, at_ms=self.at_ms, **changes)

    def leaves(self, session: str) -> None:
        size = self.random.choice((10, 400, 20_000))
        made = [
            replace(
                original(
                    f"{self.name()} {n}",
                    f"{noise(size)} {self.step} {n}",
                    session=session,
                    metadata={"n": n, "at": 1.5},
                ),
                masked=(MaskedSpan("key", 0, 3),) if n else (),
            )
            for n in range(self.random.randrange(1, 4))
        ]
        at = self.random.randbytes(16).hex()
        detail = {"at": at, "total_tokens": 100, "line": "text"}
        self.commit(session, "prune", originals=made, decisions=[prune(one, detail=detail) for one in made])

    def keeps(self, session: str) -> None:
        pins = list(self.store.pins(session))
        made = [original(self.name(), noise(50), session=session, source=self.random.choice(("pin", "buffer")))]
        self.commit(session, "pin", originals=[*made, *pins[:1]])

    def prunes_kept(self, session: str) -> None:
        buffer = self.store.buffer(session)
        if buffer:
            entry = self.random.choice(buffer)
            self.commit(session, "prune", decisions=[prune(original(entry.id, session=session, source="buffer"))])

    def works(self, session: str) -> None:
        known = list(self.store.tasks(session).by_id.values())
        before = self.random.choice(known) if known and self.random.random() < 0.7 else None
        after = Task(self.name(), "do it") if before is None else replace(before, content=f"do it {self.step}")
        tag = Tag(f"call {self.prefix}{self.step}", after.id, 0)
        self.commit(session, "task", tasks=[TaskUpdate(before, after)], tags=[tag], payload={"tasks": [after.id]})

    def states(self, session: str) -> None:
        known = self.store.facts(session)
        _, sequence = self.store.facts_state(session)
        before = self.random.choice(known) if known and self.random.random() < 0.5 else None
        number = sequence if before is None else before.sequence
        fact = SessionFact("f", f"build {self.step}", "is", self.name(), (), 1, run_id=session)
        after = None if before is not None and self.random.random() < 0.3 else FactVersion(number, fact)
        self.commit(session, "fact", facts=[FactChange(before, after)])

    def runs(self, session: str) -> None:
        known = self.store.run_records(session)
        name = self.random.choice(("run", "task 1", self.name()))
        self.commit(session, "run", runs=[RunChange(name, known.get(name), {"step": self.step, "x": [1, None, 2.5]})])

    def writes(self, session: str) -> None:
        path = (self.random.choice(("a", "b")), self.random.choice(("1", "2", "half \ud800")))
        goes = self.random.random() < 0.3

        def act(change: Any) -> None:
            found = change.find("files", path)
            if goes and found is not None:
                change.close([found])
            else:
                change.put("files", Document(path, {"step": self.step}, noise(60).encode() + b"\0\xff"))

        self.store.change_documents(session, act, at_ms=self.at_ms, payload={"step": self.step})

    def remembers(self, session: str) -> None:
        scope = self.random.choice(("project", "project", "user", "agent", "session"))
        one = memory(
            f"m{self.random.randbytes(8).hex()}", f"{self.name()} the port is {self.step}", scope=scope, agent="main",
            session_id=session, seq=self.store.next_memory_seq(), created_at_ms=self.at_ms, recorded_at_ms=self.at_ms,
            slots=(Slot("service", "port", "", str(self.step)),), source=self.random.choice(("", "notes")),
        )  # fmt: skip
        self.put(session, MemoryUpdate(None, one))

    def put(self, session: str, *updates: MemoryUpdate, kind: str = "remember") -> None:
        new = [one.after for one in updates if one.before is None and one.after is not None]
        lines = [MemoryLine(one.id, one.content, source=one.source, speaker="ann lee", seq=one.seq) for one in new]
        vectors = [[self.random.uniform(-1, 1) for _ in range(_DIMENSION)] for _ in lines]
        some = (
            [MemoryLines(lines, "e/1", _DIMENSION, vectors)]
            if lines and self.random.random() < 0.8
            else [MemoryLines(lines)]
        )
        self.commit(session, kind, memories=updates, lines=some if lines else ())

    def supersedes(self, session: str) -> None:
        found = self.seen(session)
        if found:
            before = self.random.choice(found)
            by = memory(f"m{self.random.randbytes(8).hex()}", f"now {self.name()}", seq=self.store.next_memory_seq())
            after = replace(
                before, contradicted_by_entry_id=by.id, contradicted_at_ms=self.at_ms, contradiction_rule="value"
            )
            self.put(session, MemoryUpdate(before, after), MemoryUpdate(None, by))

    def forgets(self, session: str) -> None:
        found = self.seen(session)
        if found:
            self.put(session, MemoryUpdate(self.random.choice(found), None), kind="forget")

    def seen(self, session: str) -> list[MemoryEntry]:
        return self.store.memories.seen(Viewer("main", session))

    def reads(self, session: str) -> None:
        sha = self.random.randbytes(32).hex()
        self.commit(session, "turn", readings=[StretchReading("anthropic 1", "", sha, 10, noise(400).encode())])

    def marks(self, session: str) -> None:
        kind: Any = self.random.choice(("turn", "birth", "place"))
        self.store.add_marks(session, [Mark(f"{self.prefix}mark {self.step}", kind)])

    def goes_back(self, session: str) -> None:
        log = self.store.operations(session)
        if log:
            to = self.random.choice((0, *(one.seq for one in log)))
            self.rewind(session, to, "rewind", {"to": to})

    def goes_forth(self, session: str) -> None:
        back = [one for one in self.store.operations(session) if one.kind == "rewind"]
        if back and self.random.random() < 0.7:
            of = self.random.choice(back).seq
            to = self.store.last_seq(session, until=of - 1)
            self.rewind(session, to, "undo", {"to": to, "of": of})
        elif back:
            log = self.store.operations(session)
            self.store.rewind_facts(session, self.random.choice(log).seq, at_ms=self.at_ms)

    def rewind(self, session: str, to: int, kind: str, payload: Any) -> None:
        notes = [original(f"notes {self.prefix}{self.step}", noise(30), session=session)]
        self.store.rewind(
            Context(Scope(session), self.at_ms), to, kind, notes, payload={**payload, "before": notes[0].ref}
        )

    def checkpoints(self, session: str) -> None:
        self.commit(session, "checkpoint", payload={"label": f"{self.prefix}at {self.step}", "scratchpad": ""})


def play(store: Store, seed: int, steps: int, **more: Any) -> Play:
    made = Play(store, seed, **more)
    made.plays(steps)
    return made


def answers(store: Store, session: str, *, numbers: dict[int, int] | None = None) -> dict[str, Any]:
    """Return what a store answers about a session, numbers of rows apart.

    `numbers`: the numbers of operations that are shown as others.
    """
    new = (lambda seq: seq) if numbers is None else (lambda seq: numbers.get(seq, seq))
    log = store.operations(session)
    decided = store.decided(session)
    refs = sorted({one.ref for one in decided if one.ref})
    with store.documents(session) as kept:
        documents = [(one.path, dict(one.record), one.content) for one in kept.under("files")]
    return {
        "operations": [(new(one.seq), one.kind, one.at_ms) for one in log],
        "decided": decided,
        "originals": [store.original(ref) for ref in refs],
        "pins": store.pins(session),
        "buffer": [replace(one, seq=0) for one in store.buffer(session)],
        "tasks": store.tasks(session),
        "facts": store.facts(session),
        "facts then": [store.facts(session, as_of=one.seq) for one in log],
        "runs": dict(store.run_records(session)),
        "documents": documents,
        "states": [_state(store.state(session, one.seq)) for one in log],
        "memories": store.memories.seen(Viewer("main", session)),
        "memories then": [
            sorted(store.memories.seen(Viewer("main", session, one.seq)), key=lambda m: m.id) for one in log
        ],
        "conflicts": store.memories.disputing(Viewer("main", session)),
    }


def _state(state: dict[str, dict[str, bytes]]) -> dict[str, dict[str, bytes]]:
    return {kind: dict(sorted(some.items())) for kind, some in sorted(state.items()) if some}
