"""What the proofs run: turns of a session and additions to a buffer, each acknowledged once the engine has returned.

``python -m tests.proof.workload HOME MANIFEST COUNT [FULL|NORMAL|OFF [NAME]]`` prints ``ACK n`` after each operation, behind the
line of MANIFEST that says what the operation acknowledged.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import apsw

from tests.builders import body, opened, rounds, user
from undrift import ContextEntry, Settings, TieredMemoryManager
from undrift.core.text.refs import ref_of
from undrift.stores import connection

__all__ = ["Acknowledged", "Workload", "acknowledged", "weaken"]

REOPEN_EVERY = 40  # operations: closing writes the log into the file
CHECKPOINT_PAGES = 60  # so do many small checkpoints meanwhile; the default is 1,000
CHARACTERS = 1_500


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What one operation promised.

    Args:
        number: From 1.
        kept: References with the SHA-256 of their content, in hex.
        left: References of what the window or the buffer let go.
    """

    number: int
    kept: tuple[tuple[str, str], ...]
    left: tuple[str, ...] = ()


class Workload:
    """Operations over one home, each of them other than the last; a context manager.

    Args:
        home: The folder.
        name: Of the sessions; two workloads of other names share nothing but the home.
        first: Number of the first operation; a workload can be taken up where another one stopped.
    """

    def __init__(self, home: Path, name: str = "w", *, first: int = 1, reopen_every: int = REOPEN_EVERY) -> None:
        self._home, self._name, self._number, self._reopen_every = home, name, first - 1, reopen_every
        self._messages = [user("hello")]
        self._is_open = False
        self._open()
        for number in range(1, first):
            self._grow(number)
        # What was let go before this workload began was acknowledged by another one.
        self._known = {action.ref for action in self._prepare().actions} if first > 1 else set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def operate(self) -> Acknowledged:
        """Do the next operation; return what it promised. Raises what the engine raises."""
        self._number += 1
        if self._number % self._reopen_every == 0:
            self._close()
        if not self._is_open:  # or an earlier opening failed
            self._open()
        if self._number % 7 == 0:
            text = f"pin {self._number} of {self._name}: " + "p" * 50
            return Acknowledged(self._number, ((self._session.pin("spec", text), _sha256(text)),))
        if self._number % 3 == 0:
            return self._add()
        return self._turn()

    def _turn(self) -> Acknowledged:
        self._grow(self._number)
        kept, left = [], []
        for action in self._prepare().actions:
            if action.ref not in self._known:
                text = self._session.recall(action.ref)
                assert not text.startswith("answer ") or text == _answer(int(text[7:].partition(":")[0]))
                kept.append((action.ref, _sha256(text)))
                left.append(action.ref)
        self._known.update(left)
        return Acknowledged(self._number, tuple(kept), tuple(left))

    def _add(self) -> Acknowledged:
        text = f"entry {self._number} of {self._name}: ".ljust(700 + 61 * (self._number % 50), "e")
        entry = ContextEntry(f"e{self._number}", "tool_result", text, 100, self._number)
        removed = self._buffer.add_entry(entry)
        session = f"{self._name}-buffer"
        left = tuple(ref_of(session, gone.id) for gone in removed)
        return Acknowledged(self._number, ((ref_of(session, entry.id), _sha256(text)),), left)

    def _grow(self, number: int) -> None:
        if number % 7 and number % 3:
            self._messages += rounds(1, first=number, characters=CHARACTERS)

    def _prepare(self):
        return self._session.prepare(body(*self._messages))

    def _open(self) -> None:
        self._session = opened(self._home, self._name, budget_tokens=5_000)
        settings = Settings(prune_threshold_tokens=1_500, keep_tool_results=3)
        try:
            self._buffer = TieredMemoryManager(self._home, session_id=f"{self._name}-buffer", settings=settings)
        except BaseException:
            self._session.close()
            raise
        self._is_open = True

    def _close(self) -> None:
        self._is_open = False
        self._session.close()
        self._buffer.close()


def weaken(synchronous: str) -> None:
    """Let every store that this process opens from now on sync less: the control, which must lose something."""
    settings = connection._SETTINGS  # no setting leads here
    assert "synchronous = FULL" in settings
    connection._SETTINGS = settings.replace("synchronous = FULL", f"synchronous = {synchronous}")


def acknowledged(manifest: Path, count: int | None = None) -> list[Acknowledged]:
    """Read a manifest; `count`: only the operations up to that number."""
    return [one for one in _lines(manifest) if count is None or one.number <= count]


def _lines(manifest: Path) -> Iterator[Acknowledged]:
    for line in manifest.read_text(encoding="ascii").splitlines(keepends=True):
        if line.endswith("\n"):
            value = json.loads(line)
            yield Acknowledged(value["number"], tuple(map(tuple, value["kept"])), tuple(value["left"]))


def _answer(number: int) -> str:
    return f"answer {number}: ".ljust(CHARACTERS, "x")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def main(home: str, manifest: str, count: str, synchronous: str = "FULL", name: str = "w") -> None:
    """Run the workload as a process of its own."""
    weaken(synchronous)
    apsw.connection_hooks.append(lambda opened: opened.wal_autocheckpoint(CHECKPOINT_PAGES))
    said = os.open(manifest, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with Workload(Path(home), name) as workload:
        for _ in range(int(count)):
            one = workload.operate()
            os.write(said, json.dumps(asdict(one)).encode() + b"\n")
            os.write(1, b"ACK %d\n" % one.number)
        os._exit(0)  # as a process ends that is cut off; `Workload` has closed and opened its stores on the way


if __name__ == "__main__":
    main(*sys.argv[1:])
