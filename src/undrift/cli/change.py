"""A change of one settings file of a client: shown first, asked for, then reported."""

import difflib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click

from undrift.cli.draw import say
from undrift.cli.show import at_terminal, echo_json, safe
from undrift.errors import InputError
from undrift.values.extras import lasting_command

__all__ = [
    "ChangeDeclined",
    "ChangeReport",
    "ChangeUnasked",
    "Given",
    "Named",
    "SettingsChange",
    "check_lasts",
    "program",
    "user_folder",
]


class Named(Protocol):
    """A client: the name that one types, and its title."""

    @property
    def name(self) -> str:
        """The name that one types."""
        ...

    @property
    def title(self) -> str:
        """Its full name."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """The options of ``undrift install`` that say where; see its help."""

    home: Path | None
    project: bool
    yes: bool
    claude_home: Path | None
    codex_home: Path | None

    def own(self, client: str) -> Path | None:
        """Return the client's folder that the user has named; None: it has the usual one."""
        return {"claude": self.claude_home, "codex": self.codex_home}.get(client)

    def client_home(self, client: str, folder: str) -> Path:
        """Return the client's own folder. Raises InputError: the user's home folder is not known."""
        return (self.own(client) or user_folder() / folder).absolute()

    def data_home(self) -> Path:
        """Return the folder of undrift's data. Raises InputError: the user's home folder is not known."""
        return (self.home or user_folder() / ".undrift").absolute()


def user_folder() -> Path:
    """Return the user's home folder. Raises InputError: it is not known."""
    try:
        return Path.home()
    except RuntimeError as error:
        raise InputError("your home folder is not known; set HOME") from error


class ChangeDeclined(InputError):
    """The person does not want a change."""


class ChangeUnasked(InputError):
    """There is no terminal to ask at, and --yes is not given."""


class ChangeReport:
    """The report of all changes: lines at once, or one JSON object at the end."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.question = ""
        """In place of the usual one, which does not say what is asked about."""
        self._found: list[dict[str, Any]] = []

    def same(self, change: "SettingsChange", state: str, notes: Sequence[str]) -> None:
        """Say that nothing had to be changed."""
        say(f"undrift {state} in {safe(str(change.path))}; nothing was changed")
        for line in notes:
            say(line)

    def changed(self, change: "SettingsChange", line: str, notes: Sequence[str], *, restarts: bool) -> None:
        """Say what was changed. `restarts`: whether the client has to be started again for it."""
        say(line)
        for note in notes:
            say(note)
        if restarts:
            say(f"Restart {change.client.title} to use it. To check it: undrift doctor")

    def add(self, found: dict[str, Any]) -> None:
        """Keep what one change has to say."""
        self._found.append(found)

    def end(self) -> None:
        """Print the JSON object; of several changes a list."""
        if self.as_json:
            echo_json(self._found[0] if len(self._found) == 1 else {"changes": self._found})


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """One settings file that is to change.

    Args:
        before: The text of the file; None if there is none.
        home: The folder of undrift's data.
        secrets: Texts that are not shown: the owner's token.
    """

    client: Named
    path: Path
    before: str | None
    home: Path
    yes: bool
    report: ChangeReport
    secrets: tuple[str, ...] = ()

    def read(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that reads the settings; if it fails, name this file in the error."""
        try:
            return function(*arguments)
        except InputError as error:
            raise InputError(f"{self.path}: {error}; repair the file first; nothing was changed") from error

    def agreed(self, after: str | None, question: str, more: Sequence[str] = ()) -> bool:
        """Show the difference, and ask; without a terminal and --yes nothing is changed. `more`: lines below it."""
        if not self.report.as_json:
            click.echo("".join(self.diff(after)), nl=False)
            for line in more:
                say(line)
        if self.yes:
            return True
        if self.report.as_json or not at_terminal(sys.stdin):
            if self.report.as_json:
                self._add(False, self.diff(after), more)
            raise ChangeUnasked(f"{self.path}: not changed; --yes changes it without asking")
        if click.confirm(self.report.question or question, default=True):
            return True
        raise ChangeDeclined(f"{self.path}: nothing was changed")

    def diff(self, after: str | None) -> list[str]:
        """The unified difference, made safe for a terminal."""
        old, new = (self.before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True)
        old_name = str(self.path) if self.before is not None else "(no file)"
        new_name = str(self.path) if after is not None else "(no file)"
        lines = difflib.unified_diff(old, new, old_name, new_name)
        return [self._shown(safe(line.rstrip("\r\n"), keep="\t")) + "\n" for line in lines]

    def nothing(self, state: str, notes: Sequence[str] = ()) -> None:
        """Say that nothing had to be changed."""
        if self.report.as_json:
            self._add(False, [], notes)
            return
        self.report.same(self, state, notes)

    def done(self, after: str | None, what: str, notes: Sequence[str]) -> None:
        """Say what was changed."""
        if self.report.as_json:
            self._add(True, self.diff(after), notes)
            return
        line = f"{what}: {safe(str(self.path))}" + ("" if after is not None else " was removed")
        self.report.changed(self, line, notes, restarts=what == "installed")

    def _shown(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "TOKEN")
        return text

    def _add(self, changed: bool, diff: list[str], notes: Sequence[str]) -> None:
        self.report.add(
            {
                "client": self.client.name,
                "path": str(self.path),
                "home": str(self.home),
                "changed": changed,
                "diff": "".join(diff),
                "notes": list(notes),
            }
        )


def check_lasts() -> None:
    """Raises InputError: this program's own environment is deleted some day, and each entry that calls it breaks then."""
    if (lasting := lasting_command()) is not None:
        raise InputError(
            "nothing was changed: this undrift runs from a temporary environment, and what it sets up would end with it. "
            f"First: {lasting}. Then type the command again from undrift on, without uvx or pipx run"
        )


def program() -> list[str]:
    """Return the words that start undrift from any folder; -P: nothing is imported from that folder."""
    return [sys.executable, "-P", "-m", "undrift"]
