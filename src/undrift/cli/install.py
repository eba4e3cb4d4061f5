"""``undrift install``: our hooks, our MCP server or the gateway's address into a client's settings, and out again to the byte."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from undrift.cli.change import ChangeReport, Given
from undrift.cli.install_entry import EntryChange, install_entry, uninstall_entry
from undrift.cli.install_gateway import install_gateway, uninstall_gateway
from undrift.cli.of_session import Whole
from undrift.clients.addressed import ADDRESSED

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
@click.option(
    "--allow-recall", is_flag=True, help="With the hooks: let the agent run `undrift recall` without asking you."
)
@settings_options
def install_command(client: str, undo: bool, port: int | None, allow_recall: bool, **given: Any) -> None:
    """Add undrift's hooks, its MCP server or its gateway to the settings of a client.

    The hooks restore what the client's compaction removes. claude and codex have hooks; gemini and opencode take --mcp.
    With --gateway the client's requests pass through the gateway, which starts by itself. --mcp and --gateway can
    stand together.

    The text that the hooks restore names `undrift recall`, which only reads. Claude Code asks you before the agent may
    run it, unless you add --allow-recall.

    The command shows the change first and asks. Everything else in the file stays the same, byte for byte.

    \b
    undrift install claude
    undrift install codex --yes
    undrift install claude --gateway
    undrift install claude --gateway --undo
    """
    if port is not None and (undo or not given["gateway"]):
        raise click.UsageError("--port goes with --gateway", click.get_current_context())
    if allow_recall and (undo or given["gateway"] or given["mcp"]):
        raise click.UsageError("--allow-recall goes with the hooks", click.get_current_context())
    _each(client, given, is_undone=undo, port=port, allow=allow_recall)


@click.command("uninstall")
@settings_options
def uninstall_command(client: str, **given: Any) -> None:
    """Remove undrift's hooks, its MCP server (--mcp) or its gateway (--gateway) from the settings of a client.

    The settings are then byte for byte what they were before. The recorded sessions stay in undrift's data folder.
    """
    _each(client, given, is_undone=True)


def _each(
    client: str, options: Mapping[str, Any], *, is_undone: bool, port: int | None = None, allow: bool = False
) -> None:
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
        entry = EntryChange.of(client, given, report, is_served=mcp)
        if is_undone:
            uninstall_entry(entry)
        else:
            install_entry(entry, allow=allow)
    if gateway and is_undone:
        uninstall_gateway(ADDRESSED[client], given, report)
    elif gateway:
        install_gateway(ADDRESSED[client], given, port, report)
    report.end()
