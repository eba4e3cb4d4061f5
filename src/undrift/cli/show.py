"""Text of a recording made fit for a terminal, and values as JSON. Pure, but for the echo.

A recording holds everything that tools printed: escape sequences that clear the screen, set the clipboard or forge a
line. Nothing of it reaches a terminal as such.
"""

import json
import os
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import IO, Any

import click

from undrift.stores.postgres.address import is_address, without_password

__all__ = [
    "PROJECT",
    "again",
    "at_terminal",
    "columns",
    "count",
    "echo_json",
    "excerpt",
    "first_line",
    "note",
    "safe",
    "typed",
    "wrapped",
]


def at_terminal(stream: IO[str] | None) -> bool:
    """Say whether a stream is a terminal; one that was closed before the program began is None."""
    return stream is not None and stream.isatty()


def columns() -> int:
    """Return how wide a report is drawn: as the terminal, and 80 columns elsewhere; COLUMNS goes before both."""
    return shutil.get_terminal_size((80, 24)).columns


def wrapped(text: str, stream: IO[str] | None) -> str:
    """Return the text with its lines broken between words on a terminal, unchanged elsewhere; no word is ever broken."""
    if not at_terminal(stream):
        return text
    lines = text.split("\n")
    return "\n".join(
        textwrap.fill(line, columns(), break_long_words=False, break_on_hyphens=False)
        if len(line) > columns()
        else line
        for line in lines
    )


def note(text: str) -> None:
    """Print a sentence on stderr."""
    click.echo(wrapped(text, sys.stderr), err=True)


def safe(text: str, keep: str = "") -> str:
    """Return the text with everything that is not plainly printable as its escape, as in ``\\x1b``.

    Args:
        text: Any string: control characters, lone surrogates and marks that turn the direction of writing included.
        keep: Characters that stay, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def first_line(text: str, limit_characters: int = 72) -> str:
    """Return the first line that is not blank, cut to a limit and safe to print."""
    line = next((line for line in text[:10_000].splitlines() if line.strip()), "").strip()
    shown = safe(line[: limit_characters + 1].replace("\t", " "))
    return shown if len(shown) <= limit_characters else f"{shown[: limit_characters - 1]}…"


def excerpt(text: str, limit_characters: int) -> str:
    """Return the words of a text in one line, safe to print; a cut falls between two words unless one is very long."""
    shown = safe(" ".join(text[:10_000].split()))
    if len(shown) <= limit_characters:
        return shown
    cut = shown[:limit_characters].rfind(" ")
    return f"{shown[: cut if cut > limit_characters // 2 else limit_characters - 1]}…"


def count(number: int, one: str, more: str | None = None) -> str:
    """Return ``1 turn`` or ``1,234 turns``."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def typed(path: Path) -> str:
    """Return a path as a person types it in a shell: a short one begins with ``~``, a strange one is quoted."""
    text = safe(str(path))
    own = os.path.expanduser("~")  # noqa: PTH111 - it does not raise
    if own not in ("~", "/") and text.startswith(f"{own}/") and (end := text.removeprefix(own)) == shlex.quote(end):
        return f"~{end}"
    return shlex.quote(text)


PROJECT = "undrift.project"
"""The name under which click's context has the value of --project."""


def again(home: str | None, session: str | None = None) -> str:
    """Return the options that name a home and a session once more, at the end of a command to type next.

    None: the option was not given, and the next command finds the same by itself.
    """
    context = click.get_current_context(silent=True)
    project = None if context is None else context.meta.get(PROJECT)
    if home is not None and is_address(home):
        home = without_password(home)
    given = (("--project", project), ("--home", home), ("--session", session))
    return "".join(f" {option} {shlex.quote(safe(value))}" for option, value in given if value is not None)


def echo_json(value: Any) -> None:
    """Print a value as JSON in ASCII: no letter of it can be an escape sequence, or fail to be encoded."""
    click.echo(json.dumps(value, indent=2))
