"""The other half of a twin: sessions driven over a pipe, by whatever version of undrift this interpreter has.

Run by path, so that it can stand in a checkout that the interpreter knows nothing of. It uses the front door alone.
Frames are pickles of plain values: a request is ``(name, arguments)``, an answer ``("ok", value)`` or ``("error", type, text)``.
"""

import dataclasses
import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import apsw

__all__ = ["TABLES", "Host", "another_deciding", "plain", "read_frame", "records", "write_frame"]

TABLES = ("operations", "originals", "decisions", "tags", "tasks")
_ONLY_NEWER = {"new"}  # fields that only the newer version of a value has


def plain(value: Any) -> Any:
    """Return a value without classes of undrift, so that two versions can be compared."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value) if field.name not in _ONLY_NEWER)
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value if isinstance(value, (str, bytes, int, float, bool, type(None))) else repr(value)


def records(home: str) -> dict[str, list[Any]]:
    """Return the rows of a home's tables, in the order in which they were written."""
    # The library that the store uses: a second copy of SQLite in one process would let go of the first one's locks.
    with closing(apsw.Connection(str(Path(home) / "undrift.db"), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return {table: list(connection.execute(_select(connection, table))) for table in TABLES}


def _select(connection: apsw.Connection, table: str) -> str:
    """All columns but the one that says whose a row is: only the newer version has it, and it is the same everywhere."""
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "scope_number"]
    return f"SELECT {', '.join(names)} FROM {table} ORDER BY rowid"


@contextmanager
def another_deciding(decide: Callable[[], Any]) -> Iterator[None]:
    """Let somebody else decide within the next turn, between what it reads and what it writes."""
    from undrift.core.window import plan

    passes = plan.PASSES

    def first(window: Any, turn: Any) -> Any:
        plan.PASSES = passes
        decide()
        return window

    plan.PASSES = (first, *passes)
    try:
        yield
    finally:
        plan.PASSES = passes


def write_frame(pipe: IO[bytes], value: Any) -> None:
    """Write one frame: eight bytes of length, then the pickle."""
    data = pickle.dumps(value)
    pipe.write(len(data).to_bytes(8, "big") + data)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> Any:
    """Read one frame; raises EOFError at the end."""
    head = pipe.read(8)
    if len(head) < 8:
        raise EOFError
    return pickle.loads(pipe.read(int.from_bytes(head, "big")))


class Host:
    """Holds the sessions of one process; each method is a request that may come over the pipe."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._sessions: dict[int, Any] = {}
        self._openers: dict[int, Callable[[], Any]] = {}

    def answer(self, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Do what a frame asks for; an error is part of the answer, as the other half must raise the same."""
        from undrift.errors import UndriftError

        try:
            return ("ok", getattr(self, name)(*arguments))
        except UndriftError as error:
            return ("error", type(error).__name__, str(error))

    def open(self, number: int, id_: str, home: str, settings: dict[str, Any]) -> None:
        """Open a session under a number."""
        from undrift import Session, Settings

        own = {field.name for field in dataclasses.fields(Settings)}
        beside = [(name, object) for name in settings if name not in own]  # a setting of earlier versions, fixed by now
        chosen = dataclasses.make_dataclass("TwinSettings", beside, bases=(Settings,), frozen=True, kw_only=True)(
            **settings
        )
        self._openers[number] = lambda: Session.open(id_, home=home, settings=chosen, clock=lambda: self.now_ms)
        self._sessions[number] = self._openers[number]()

    def call(self, number: int, now_ms: int, path: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call a method of a session, named by a dotted path, at a moment."""
        self.now_ms = now_ms
        found = self._sessions[number]
        for name in path.split("."):
            found = getattr(found, name)
        return plain(found(*arguments, **named))

    def prepare_with_another(self, number: int, now_ms: int, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Prepare a request, in the middle of which another process prepares the same."""
        self.now_ms = now_ms
        session, another = self._sessions[number], self._openers[number]()
        with closing(another), another_deciding(lambda: another.prepare(*arguments, **named)):
            return plain(session.prepare(*arguments, **named))

    def records(self, home: str) -> dict[str, list[Any]]:
        """Return the rows of a home's tables."""
        return records(home)


def main() -> None:
    """Answer requests until the pipe ends."""
    logging.disable()
    host, given, out = Host(), sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            name, arguments = read_frame(given)
        except EOFError:
            return
        write_frame(out, host.answer(name, arguments))


if __name__ == "__main__":
    main()
