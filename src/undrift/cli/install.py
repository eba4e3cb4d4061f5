"""``undrift install``: our hooks, or our MCP server, into a client's settings, and out again to the byte."""

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from undrift.cli.draw import say
from undrift.cli.show import at_terminal, echo_json, safe
from undrift.clients import CLIENTS, SERVED, HookedClient, ServedClient, place
from undrift.clients.base import EntryScope, command
from undrift.clients.place import Memory
from undrift.errors import InputError
from undrift.values.extras import command_for

__all__ = ["install_command", "settings_options", "uninstall_command"]

_FOLDER = click.Path(path_type=Path)


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of both: the client, its settings and our home."""
    for option in reversed(
        (
            click.argument("client", type=click.Choice(tuple(CLIENTS))),
            click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
            click.option(
                "--home",
                envvar="UNDRIFT_HOME",
                type=_FOLDER,
                metavar="DIR",
                help="The folder of undrift's data (default: ~/.undrift).",
            ),
            click.option("--mcp", is_flag=True, help="Add the MCP server, not the hooks."),
            click.option("--user", is_flag=True, help="Change your own settings (the default)."),
            click.option("--project", is_flag=True, help="Change the settings of the current folder."),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout."),
            click.option("--claude-home", envvar="CLAUDE_CONFIG_DIR", type=_FOLDER, hidden=True),
            click.option("--codex-home", envvar="CODEX_HOME", type=_FOLDER, hidden=True),
        )
    ):
        command = option(command)
    return command


@click.command("install")
@click.option("--undo", is_flag=True, help="Remove what `undrift install` added.")
@settings_options
def install_command(client: str, undo: bool, **given: Any) -> None:
    """Add undrift's hooks, or its MCP server (--mcp), to the settings of a client.

    The hooks restore what the client's compaction removes. claude and codex have hooks; gemini and opencode take
    only --mcp. The command shows the change first and asks. Everything else in the file stays the same, byte for
    byte.

    \b
    undrift install claude
    undrift install codex --yes
    undrift install claude --undo
    """
    if undo:
        _uninstall(client, given)
    else:
        _install(client, given)


@click.command("uninstall")
@settings_options
def uninstall_command(client: str, **given: Any) -> None:
    """Remove undrift's hooks, or its MCP server (--mcp), from the settings of a client.

    The settings are then byte for byte what they were before. The recorded sessions stay in undrift's data folder.
    """
    _uninstall(client, given)


def _install(client: str, given: Mapping[str, Any]) -> None:
    change = _Change.of(client, **given)
    text = change.before or ""
    if change.client.lacking:
        raise InputError(f"{change.client.title}: there is nothing to install: {change.client.lacking}")
    make = change.wanted(_program())
    if change.read(change.client.has, text, make):
        change.nothing("is installed already")
        return
    old_home = change.read(change.client.home, text)
    memory = (place.recall(old_home, change.path) if old_home else None) or Memory()
    base = change.read(change.client.without_ours, text, memory.pieces, memory.containers if memory.pieces else None)
    edited = change.read(change.client.installed, base, make)
    if change.agreed(edited.text, "Install?"):
        is_new = change.before is None
        folder = is_new and not change.path.parent.exists()
        kept = Memory(edited.pieces, edited.containers, is_new or memory.made_file, folder or memory.made_folder)
        place.remember(change.home, change.path, kept)  # before the file: a note without its file does no harm
        place.write(change.path, edited.text)
        if old_home not in (None, change.home):
            place.forget(old_home, change.path)
        change.done(edited.text, "installed", change.client.notes)


def _uninstall(client: str, given: Mapping[str, Any]) -> None:
    change = _Change.of(client, **given)
    text = change.before or ""
    home = change.read(change.client.home, text) or change.home  # the note on the entries is in their own home
    memory = place.recall(home, change.path)
    found = memory or Memory()
    after = change.read(change.client.without_ours, text, found.pieces, found.containers if memory else None)
    if after == text:
        change.nothing("is not installed")
        return
    gone = found.made_file and after.strip() in ("", "{}")
    if change.agreed(None if gone else after, "Uninstall?"):
        if gone:
            place.remove(change.path, folder_too=found.made_folder)
        else:
            place.write(change.path, after)
        place.forget(home, change.path)
        change.done(None if gone else after, "uninstalled", ())


@dataclass(frozen=True, slots=True)
class _Change:
    """One settings file that is to change, and how the user is asked."""

    client: HookedClient | ServedClient
    path: Path
    before: str | None
    home: Path
    client_home: Path
    yes: bool
    as_json: bool

    @classmethod
    def of(
        cls,
        name: str,
        *,
        mcp: bool,
        yes: bool,
        home: Path | None,
        user: bool,
        project: bool,
        as_json: bool,
        claude_home: Path | None,
        codex_home: Path | None,
    ) -> "_Change":
        if user and project:
            raise click.UsageError("--user and --project exclude each other", click.get_current_context())
        client: HookedClient | ServedClient = SERVED[name] if mcp else CLIENTS[name]
        own = {"claude": claude_home, "codex": codex_home}.get(name)
        try:
            home_folder = Path.home()
        except RuntimeError as error:
            raise InputError("your home folder is not known; set HOME") from error
        client_home = (own or home_folder / client.folder).absolute()
        path = client.settings(EntryScope(client_home, Path.cwd() if project else None, is_own=own is not None))
        where = (home or home_folder / ".undrift").absolute()
        return cls(client, path, place.read(path), where, client_home, yes, as_json)

    def wanted(self, program: list[str]) -> Any:
        """Return the words that start the server, or the function that makes a hook's command."""
        if isinstance(self.client, ServedClient):
            if find_spec("mcp") is None:
                raise InputError(f"the MCP server needs the package mcp; first: {command_for('mcp')}")
            return [*program, "mcp", f"--home={self.home}"]
        return command(program, self.client.name, self.home, self.client_home)

    def read(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that reads the settings; if it fails, name this file in the error."""
        try:
            return function(*arguments)
        except InputError as error:
            raise InputError(f"{self.path}: {error}; repair the file first; nothing was changed") from error

    def agreed(self, after: str | None, question: str) -> bool:
        """Show the difference, and ask; without a terminal and --yes nothing is changed."""
        if not self.as_json:
            click.echo("".join(self.diff(after)), nl=False)
        if self.yes:
            return True
        if self.as_json or not at_terminal(sys.stdin):
            raise InputError(f"{self.path}: not changed; --yes changes it without asking")
        if click.confirm(question, default=True):
            return True
        raise InputError(f"{self.path}: nothing was changed")

    def diff(self, after: str | None) -> list[str]:
        """The unified difference, made safe for a terminal."""
        old, new = (self.before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True)
        old_name = str(self.path) if self.before is not None else "(no file)"
        new_name = str(self.path) if after is not None else "(no file)"
        lines = difflib.unified_diff(old, new, old_name, new_name)
        return [safe(line.rstrip("\r\n"), keep="\t") + "\n" for line in lines]

    def nothing(self, state: str) -> None:
        if self.as_json:
            self._as_json(False, [])
        else:
            say(f"undrift {state} in {safe(str(self.path))}; nothing was changed")

    def done(self, after: str | None, what: str, notes: tuple[str, ...]) -> None:
        if self.as_json:
            self._as_json(True, self.diff(after), notes)
            return
        say(f"{what}: {safe(str(self.path))}" + ("" if after is not None else " was removed"))
        for line in notes:
            say(line)
        if what == "installed":
            say(f"Restart {self.client.title} to use it. To check it: undrift doctor")

    def _as_json(self, changed: bool, diff: list[str], notes: tuple[str, ...] = ()) -> None:
        echo_json(
            {
                "client": self.client.name,
                "path": str(self.path),
                "home": str(self.home),
                "changed": changed,
                "diff": "".join(diff),
                "notes": list(notes),
            }
        )


def _program() -> list[str]:
    """Return the words that start undrift from any folder; -P: nothing is imported from that folder."""
    return [sys.executable, "-P", "-m", "undrift"]
