"""A facade over two sessions, this version's and another's: every call goes to both, and what comes back must be equal.

Two homes, one clock. After each call the bodies, actions, warnings, headers, token counts and errors are compared, and the
records in both stores. It is what a state machine opens instead of a `Session`.
"""

import dataclasses
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Self, cast

from tests.twin.other import another_deciding, plain, read_frame, records, write_frame
from undrift import Session, Settings
from undrift.errors import UndriftError
from undrift.values.prepared import Prepared

__all__ = ["Differ", "Other", "Twin"]

_SCRIPT = Path(__file__).with_name("other.py")


class Differ(AssertionError):
    """The two versions do not do the same."""


class Other:
    """A process of the other version.

    Args:
        python: The interpreter into which it is installed; this one's by default, which must show no difference.
    """

    def __init__(self, python: str = sys.executable) -> None:
        self.is_another_version = python != sys.executable
        self._process = subprocess.Popen([python, str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._given = cast("IO[bytes]", self._process.stdin)
        self._said = cast("IO[bytes]", self._process.stdout)
        self._numbers = itertools.count()

    def ask(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        """Send a request; return its answer."""
        write_frame(self._given, (name, arguments))
        answer: tuple[Any, ...] = read_frame(self._said)
        return answer

    def number(self) -> int:
        """Return a number that no session has."""
        return next(self._numbers)

    def close(self) -> None:
        """End the process."""
        self._given.close()
        self._process.wait(timeout=30)
        self._said.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Part:
    """A part of a session, such as its scratchpad, or a method of it: called on both."""

    def __init__(self, twin: "Twin", path: str) -> None:
        self._twin = twin
        self._path = path

    def __getattr__(self, name: str) -> "_Part":
        return _Part(self._twin, f"{self._path}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._twin.both(self._path, arguments, named)


class Twin:
    """Two sessions of one id.

    Args:
        other: The process of the other version.
        id_: Of both.
        home: A folder; each session has a home of its own in it.
        settings: Of both.
        clock: Asked once for each call.
    """

    def __init__(self, other: Other, id_: str, home: str, settings: Settings, clock: Any) -> None:
        self._other, self._number, self._clock = other, other.number(), clock
        self._now_ms = clock()
        self.homes = tuple(str(Path(home) / name) for name in ("home-1", "home-2"))
        self._open = lambda: Session.open(id_, home=self.homes[0], settings=settings, clock=lambda: self._now_ms)
        self._mine = self._open()
        chosen = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
        answer = other.ask("open", self._number, id_, self.homes[1], chosen)
        if answer[0] != "ok":
            raise Differ(f"the other version cannot open the session: {answer}")

    def __getattr__(self, name: str) -> _Part:
        return _Part(self, name)

    def both(self, path: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call both; return what this version gives, or raise what it raises.

        Raises:
            Differ: The answers, the errors or the records are not the same.
        """
        self._now_ms = self._clock()
        theirs = self._other.ask("call", self._number, self._now_ms, path, arguments, named)
        found: Any = self._mine
        for name in path.split("."):
            found = getattr(found, name)
        return self._compared(path, lambda: found(*arguments, **named), theirs)

    def prepare_with_another(self, *arguments: Any, **named: Any) -> Prepared:
        """Prepare a request, in the middle of which another process prepares the same; for one version alone.

        Raises:
            Differ: As in `both`.
        """
        self._now_ms = self._clock()
        theirs = self._other.ask("prepare_with_another", self._number, self._now_ms, arguments, named)

        def mine() -> Prepared:
            with self._open() as another, another_deciding(lambda: another.prepare(*arguments, **named)):
                return self._mine.prepare(*arguments, **named)

        prepared: Prepared = self._compared("prepare with another", mine, theirs)
        return prepared

    def _compared(self, what: str, act: Callable[[], Any], theirs: tuple[Any, ...]) -> Any:
        error: UndriftError | None = None
        result: Any = None
        try:
            result = act()
            mine: tuple[Any, ...] = ("ok", plain(result))
        except UndriftError as raised:
            error, mine = raised, ("error", type(raised).__name__, str(raised))
        assert_same(what, _without(mine, self.homes[0]), _without(theirs, self.homes[1]))
        self.assert_same_records(what)
        if error is not None:
            raise error
        return result

    def assert_same_records(self, after: str) -> None:
        """Compare the rows of both homes."""
        answer = self._other.ask("records", self.homes[1])
        mine = records(self.homes[0])
        for table, rows in answer[1].items():
            assert_same(f"{after}: table {table}", mine[table], rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def assert_same(what: str, mine: Any, theirs: Any) -> None:
    """Raise `Differ` with the first place where two values differ."""
    if mine != theirs:
        raise Differ(f"{what}: {_difference(mine, theirs)}")


def _without(value: Any, home: str) -> Any:
    """The value without the path of its home, which differs by design."""
    if isinstance(value, str):
        return value.replace(home, "HOME")
    if isinstance(value, bytes):
        return value.replace(home.encode(), b"HOME")
    if isinstance(value, dict):
        return {key: _without(inner, home) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(inner, home) for inner in value]
    return value


def _difference(mine: Any, theirs: Any) -> str:
    if type(mine) is type(theirs) and isinstance(mine, (list, tuple)) and len(mine) == len(theirs):
        return next(f"[{n}]{_difference(a, b)}" for n, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
    if isinstance(mine, dict) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        return next(f".{key}{_difference(mine[key], theirs[key])}" for key in mine if mine[key] != theirs[key])
    return f": this {_short(mine)}, the other {_short(theirs)}"


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 2_000 else f"{said[:1_000]} … {said[-1_000:]}"
