"""``undrift install``: our hooks, our MCP server or the gateway's address into a client's settings, and out again to the byte."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from undrift.cli.change import ChangeReport, Given, SettingsChange, program
from undrift.cli.install_gateway import gateway_stays, install_gateway, keep_for_gateway, uninstall_gateway
from undrift.cli.of_session import Whole
from undrift.clients import CLIENTS, SERVED, HookedClient, ServedClient, place
from undrift.clients.addressed import ADDRESSED
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
            click.argument("client", type=click.Choice(tuple(ADDRESSED))),
            click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
            click.option(
                "--home",
                envvar="UNDRIFT_HOME",
                type=_FOLDER,
                metavar="DIR",
                help="The folder of undrift's data (default: ~/.undrift).",
            ),
            click.option("--mcp", is_flag=True, help="The MCP server, not the hooks."),
            click.option(
                "--gateway", is_flag=True, help="The address of the gateway, which becomes a service of yours."
            ),
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
@click.option(
    "--port",
    type=Whole(1, 65535),
    metavar="N",
    help="With --gateway: the port of the service (default: 8787).",
)
@settings_options
def install_command(client: str, undo: bool, port: int | None, **given: Any) -> None:
    """Add undrift's hooks, its MCP server or its gateway to the settings of a client.

    The hooks restore what the client's compaction removes. claude and codex have hooks; gemini and opencode take --mcp.
    With --gateway the client's requests pass through the gateway, which starts by itself. --mcp and --gateway can
    stand together.

    The command shows the change first and asks. Everything else in the file stays the same, byte for byte.

    \b
    undrift install claude
    undrift install codex --yes
    undrift install claude --gateway
    undrift install claude --gateway --undo
    """
    if port is not None and (undo or not given["gateway"]):
        raise click.UsageError("--port goes with --gateway", click.get_current_context())
    _each(client, port, given, is_undone=undo)


@click.command("uninstall")
@settings_options
def uninstall_command(client: str, **given: Any) -> None:
    """Remove undrift's hooks, its MCP server (--mcp) or its gateway (--gateway) from the settings of a client.

    The settings are then byte for byte what they were before. The recorded sessions stay in undrift's data folder.
    """
    _each(client, None, given, is_undone=True)


def _each(client: str, port: int | None, options: Mapping[str, Any], *, is_undone: bool) -> None:
    """Carry out each kind of change that is asked for; without one, that of the hooks."""
    mcp, gateway, user, as_json = (options[name] for name in ("mcp", "gateway", "user", "as_json"))
    given = Given(**{name: options[name] for name in ("home", "project", "yes", "claude_home", "codex_home")})
    if user and given.project:
        raise click.UsageError("--user and --project exclude each other", click.get_current_context())
    if gateway and given.project:
        raise click.UsageError(
            "--gateway changes your own settings only: its address holds your token", click.get_current_context()
        )
    report = ChangeReport(as_json=as_json)
    if mcp or not gateway:
        entry = _EntryChange.of(client, given, report, is_served=mcp)
        (_uninstall if is_undone else _install)(entry)
    if gateway and is_undone:
        uninstall_gateway(ADDRESSED[client], given, report)
    elif gateway:
        install_gateway(ADDRESSED[client], given, port, report)
    report.end()


def _install(entry: "_EntryChange") -> None:
    change, client = entry.change, entry.client
    text = change.before or ""
    if client.lacking:
        raise InputError(f"{client.title}: there is nothing to install: {client.lacking}")
    make = entry.wanted(program())
    if change.read(client.has, text, make):
        change.nothing("is installed already")
        return
    old_home = change.read(client.home, text)
    memory = (place.recall(old_home, change.path) if old_home else None) or Memory()
    base = change.read(client.without_ours, text, memory.pieces, memory.containers if memory.pieces else None)
    edited = change.read(client.installed, base, make)
    if change.agreed(edited.text, "Install?"):
        is_new = change.before is None
        folder = is_new and not change.path.parent.exists()
        kept = Memory(edited.pieces, edited.containers, is_new or memory.made_file, folder or memory.made_folder)
        place.remember(change.home, change.path, kept)  # before the file: a note without its file does no harm
        place.write(change.path, edited.text)
        if old_home not in (None, change.home):
            place.forget(old_home, change.path)
        change.done(edited.text, "installed", client.notes)


def _uninstall(entry: "_EntryChange") -> None:
    change, client = entry.change, entry.client
    text = change.before or ""
    home = change.read(client.home, text) or change.home  # the note on the entries is in their own home
    memory = place.recall(home, change.path)
    found = memory or Memory()
    after = change.read(client.without_ours, text, found.pieces, found.containers if memory else None)
    if after == text:
        change.nothing("is not installed", gateway_stays(change))
        return
    gone = found.made_file and after.strip() in ("", "{}")
    if change.agreed(None if gone else after, "Uninstall?"):
        if gone:
            place.remove(change.path, folder_too=found.made_folder)
        else:
            place.write(change.path, after)
            keep_for_gateway(change, found)
        place.forget(home, change.path)
        change.done(None if gone else after, "uninstalled", ())


@dataclass(frozen=True, slots=True)
class _EntryChange:
    """The hooks or the server of a client, and the file that lists them."""

    client: HookedClient | ServedClient
    change: SettingsChange
    client_home: Path

    @classmethod
    def of(cls, name: str, given: Given, report: ChangeReport, *, is_served: bool) -> "_EntryChange":
        known: Mapping[str, HookedClient | ServedClient] = SERVED if is_served else CLIENTS
        if name not in known:
            title = ADDRESSED[name].title
            raise InputError(f"{title}: there is nothing to install but the gateway: undrift install {name} --gateway")
        client, client_home = known[name], given.client_home(name, known[name].folder)
        project = Path.cwd() if given.project else None
        path = client.settings(EntryScope(client_home, project, is_own=given.own(name) is not None))
        return cls(
            client, SettingsChange(client, path, place.read(path), given.data_home(), given.yes, report), client_home
        )

    def wanted(self, start: list[str]) -> Any:
        """Return the words that start the server, or the function that makes a hook's command."""
        if isinstance(self.client, ServedClient):
            if find_spec("mcp") is None:
                raise InputError(f"the MCP server needs the package mcp; first: {command_for('mcp')}")
            return [*start, "mcp", f"--home={self.change.home}"]
        return command(start, self.client.name, self.change.home, self.client_home)
