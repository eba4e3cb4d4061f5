"""Operations of a session whose whole state is known after each of them, for power cuts.

``python -m tests.attack.workload HOME MANIFEST COUNT FULL|NORMAL|OFF KIND`` prints ``ACK n`` after each operation, behind the
line of MANIFEST with the state that the operation left. An operation is one commit; a request may be two.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw

from tests.builders import body, opened, rounds, user
from tests.facts.builders import Clock, fact
from tests.proof.workload import CHECKPOINT_PAGES, weaken
from undrift import Session, SqliteSessionFactStore
from undrift.errors import RecallError

__all__ = ["KINDS", "Attacked", "state_of"]

KINDS: Mapping[str, tuple[str, ...]] = {
    "mixed": (
        "turn",
        "remember",
        "turn",
        "start",
        "turn",
        "complete",
        "pin",
        "fact",
        "purge",
        "turn",
        "pack",
        "rewind",
        "undo",
    ),
    "memory": ("remember", "supersede", "turn", "supersede", "rewind", "admit", "prune", "remember", "purge"),
    "tasks": ("start", "turn", "complete", "update"),
    "facts": ("fact", "fact", "invalidate", "compact"),
}
"""The operations of each workload, again and again."""

SESSION = "w"
WORDS = ("oak", "elm", "ash", "fir", "yew", "bay", "fig", "ivy", "pea", "rye")


class Attacked:
    """A session and a run of facts on one home.

    Args:
        home: The folder.
        kind: Of the operations.
        first: Number of the first operation; the requests up to it are made again, and nothing is written.
    """

    def __init__(self, home: Path, kind: str, first: int = 1) -> None:
        self.home, self._kind, self._number = home, kind, first - 1
        self.session = opened(home, SESSION, budget_tokens=4_000, eviction_respects_anchor="never")
        self.facts = SqliteSessionFactStore(home, run_id="run", settings=self.session.settings, clock=Clock())
        self._messages: list[Any] = [user("hello")]
        for number in range(1, first):
            self._grow(number)

    def operate(self) -> None:
        """Do the next operation."""
        self._number += 1
        getattr(self, f"_{self.act(self._number)}")(self._number)

    def window(self) -> str:
        """Return the hash of the newest request as it is sent."""
        return _hash(self.session.prepare(body(*self._messages)).body)

    def close(self) -> None:
        """Close both."""
        self.facts.close()
        self.session.close()

    def act(self, number: int) -> str:
        """Return the name of an operation."""
        acts = KINDS[self._kind]
        return acts[(number - 1) % len(acts)]

    def _grow(self, number: int) -> None:
        if self.act(number) == "turn":
            self._messages += rounds(1, first=number, characters=2_000)

    def _turn(self, number: int) -> None:
        self._grow(number)
        self.session.prepare(body(*self._messages))

    def _remember(self, number: int) -> None:
        words = " ".join(WORDS[int(digit)] for digit in f"{number:03}")
        self.session.remember(f"The {words} stands in row {number}.", trust="user")

    def _supersede(self, number: int) -> None:
        self.session.remember(f"The deploy port is {number}.", trust="user")

    def _admit(self, number: int) -> None:
        self.session.admit(
            f"Lesson {number}: test the {WORDS[number % 10]} first.", type="lesson_learned", status="approved"
        )

    def _prune(self, number: int) -> None:
        self.session.prune_memories(dry_run=False)

    def _start(self, number: int) -> None:
        self.session.start_task(f"T{number}", acceptance_criteria=("tests pass",))

    def _update(self, number: int) -> None:
        self.session.update_task(f"U{number}", content=f"do {number}")

    def _complete(self, number: int) -> None:
        started = [task.id for task in self.session.tasks() if task.status == "in_progress"]
        if started:
            self.session.complete_task(started[0], f"Mended the {WORDS[number % 10]}; 3 passed in 0.1s.")

    def _pin(self, number: int) -> None:
        self.session.pin("spec", f"pin {number}")

    def _fact(self, number: int) -> None:
        self.facts.add([fact(f"file{number}.py"), fact(f"file{number}.py", "tested_by", f"task:{number}")])

    def _invalidate(self, number: int) -> None:
        self.facts.invalidate(f"file{number - 1}.py", "modified_by")

    def _compact(self, number: int) -> None:
        self.facts.compact(12)

    def _purge(self, number: int) -> None:
        refs = [decision.ref for decision in _decisions(self.session) if decision.ref]
        if refs:
            self.session.purge(refs[number % len(refs)])

    def _pack(self, number: int) -> None:
        self.session._store.pack(8_000)

    def _rewind(self, number: int) -> None:
        self.session.rewind(max(0, len(self.session.history()) - 2))

    def _undo(self, number: int) -> None:
        self.session.undo_rewind()


def _decisions(session: Session) -> list[Any]:
    store = session._store
    return list(store.decisions(SESSION).values())


def state_of(one: Attacked) -> dict[str, Any]:
    """Return all that the session and the facts hold: a hash of each part, and each decision with its original's."""
    session = one.session
    decided = []
    for decision in _decisions(session):
        try:
            text = session.recall(decision.ref) if decision.ref else ""
        except RecallError as error:
            text = type(error).__name__
        decided.append([decision.entry_id, decision.kind, decision.ref, _hash(text)])
    return {
        "history": _hash([(operation.seq, operation.kind) for operation in session.history()]),
        "tasks": _hash([(task.id, task.status, task.result_summary) for task in session.tasks()]),
        "memories": _hash([(memory.id, memory.content, memory.is_contradicted) for memory in session.memories()]),
        "pins": _hash([pin.entry.content for pin in session._store.pins(SESSION)]),
        "facts": _hash([repr(version) for version in one.facts.history()]),
        "decided": decided,
    }


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def main(home: str, manifest: str, count: str, synchronous: str, kind: str) -> None:
    """Run the operations as a process of its own."""
    weaken(synchronous)
    apsw.connection_hooks.append(lambda connection: connection.wal_autocheckpoint(CHECKPOINT_PAGES))
    said = os.open(manifest, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    one = Attacked(Path(home), kind)
    for number in range(1, int(count) + 1):
        one.operate()
        line = {"number": number, "act": one.act(number), "done": state_of(one), "window": one.window()}
        line["settled"] = state_of(one)  # a pin enters the window with the next request
        os.write(said, json.dumps(line).encode() + b"\n")
        os.write(1, b"ACK %d\n" % number)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
