"""Starts a hook without the command line's other modules. Law: it always returns; only Ctrl-C ends it, quietly."""

import contextlib
import sys
from collections.abc import Mapping, Sequence

from undrift.hooks.answer import answer
from undrift.hooks.call import FIRST_PARTS, Options
from undrift.hooks.home import note
from undrift.values.restored import MOST_PARTS

__all__ = ["LARGEST_INPUT_BYTES", "options_of", "read_input", "start"]

LARGEST_INPUT_BYTES = 1 << 20
"""A hook's payload is about 500 bytes."""

_INTERRUPTED = 130
"""As shells count a process that Ctrl-C has ended; said without a traceback, in the middle of the client's screen."""
_VALUES = ("--client", "--client-home", "--home", "--part", "--parts")
_FLAGS = ("--json", "--now")  # --json: the answer is JSON in any case


def read_input() -> bytes | None:
    """Return stdin, at most one byte more than is allowed. None means: stdin is a terminal."""
    if sys.stdin is None:
        return b""
    if sys.stdin.isatty():
        return None
    try:
        return sys.stdin.buffer.read(LARGEST_INPUT_BYTES + 1)
    except OSError:
        return b""
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


def start(arguments: Sequence[str], given: bytes) -> None:
    """Answer a hook on stdout."""
    try:
        event, options = options_of(arguments)
    except ValueError as error:
        note(None, f"undrift hook: {error}")
        return
    try:
        text = answer(event, given, options)
        if sys.stdout is None:  # closed: the session is recorded, and no program reads the rest
            return
        with contextlib.suppress(OSError):  # our caller has ended
            if text:
                sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


def options_of(arguments: Sequence[str]) -> tuple[str, Options]:
    """Read the event and the options. Raises ValueError: they are not what ``undrift install`` registers."""
    words, found, now = [], dict[str, str](), False
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in _VALUES:
            found[name] = value if equals else next(rest, "")
        elif word in _FLAGS:
            now = now or word == "--now"
        elif word.startswith("-"):
            raise ValueError(f"unknown option {word[:40]}")
        else:
            words.append(word)
    if len(words) != 1:
        raise ValueError(f"wants one EVENT, got {len(words)}")
    home, client_home = found.get("--home") or None, found.get("--client-home") or None
    part, parts = _count(found, "--part", 1), _count(found, "--parts", FIRST_PARTS)
    return words[0], Options(found.get("--client") or "claude", home, client_home, part, parts, now=now)


def _count(given: Mapping[str, str], name: str, usual: int) -> int:
    value = given.get(name, str(usual))
    if value not in map(str, range(1, MOST_PARTS + 1)):
        raise ValueError(f"{name} must be a number from 1 to {MOST_PARTS}")
    return int(value)
