"""The sessions that a command reads: the given files, or the user's own in the folders of the clients.

Law: no other module of the command line names the clients' usual folders.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from undrift.cli.of_session import Whole
from undrift.errors import TranscriptError
from undrift.recordings.files import Homes, own_sessions
from undrift.transcripts import FORMATS

__all__ = ["FORMATS_READ", "client_folders", "own_recordings", "recorded_homes", "session_options"]

_Command = Callable[..., Any]
_HOMES = {
    "claude": "CLAUDE_CONFIG_DIR",
    "codex": "CODEX_HOME",
    "gemini": "GEMINI_CLI_HOME",
    "copilot": "COPILOT_HOME",
    "pi": "PI_CODING_AGENT_DIR",
}
"""Client -> the variable that names its folder to the client itself."""

FORMATS_READ = f"FILE is in one of these formats: {', '.join(FORMATS)}."
"""Ends the help of each command that reads a session."""


def session_options(limit: int, limited: str) -> Callable[[_Command], _Command]:
    """Give a command the options that find sessions: FILE, --format, --limit and the clients' folders."""
    options = [
        click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path)),
        click.option(
            "--format",
            "format_",
            type=click.Choice(tuple(FORMATS)),
            metavar="NAME",
            help="The format of FILE, if it is not recognised.",
        ),
        click.option(
            "--limit",
            type=Whole(min=1),
            default=limit,
            show_default=True,
            metavar="N",
            help=f"Without FILE: {limited}.",
        ),
    ]

    def given(command: _Command) -> _Command:
        command = client_folders(command)
        for option in reversed(options):
            command = option(command)
        return command

    return given


def client_folders(command: _Command) -> _Command:
    """Give a command the hidden options that name the clients' folders, for `own_recordings`."""
    for client, variable in reversed(_HOMES.items()):
        option = click.option(f"--{client}-home", envvar=variable, type=click.Path(path_type=Path), hidden=True)
        command = option(command)
    return command


def own_recordings(
    command: str,
    *,
    claude_home: Path | None,
    codex_home: Path | None,
    gemini_home: Path | None,
    copilot_home: Path | None,
    pi_home: Path | None,
) -> tuple[Path, ...]:
    """Find the user's own recordings, newest first. If there are none, the error names the searched folders.

    Args:
        claude_home: None for ``~/.claude``.
        codex_home: None for ``~/.codex``.
        gemini_home: The folder that holds ``.gemini``; None for the home folder.
        copilot_home: None for ``~/.copilot``.
        pi_home: None for ``~/.pi/agent``.

    Raises:
        TranscriptError: No session, or no home folder to look in.
    """
    try:
        homes = recorded_homes(claude_home, codex_home, gemini_home, copilot_home, pi_home)
    except RuntimeError as error:
        raise TranscriptError(f"your home folder is not known; name a file: {command} FILE") from error
    found = own_sessions(homes)
    if not found:
        *folders, last = map(str, homes.folders)
        raise TranscriptError(f"no recorded session in {', '.join(folders)} and {last}; name a file: {command} FILE")
    return found


def recorded_homes(
    claude_home: Path | None = None,
    codex_home: Path | None = None,
    gemini_home: Path | None = None,
    copilot_home: Path | None = None,
    pi_home: Path | None = None,
) -> Homes:
    """Return the folders of the clients; None for a client's usual one. Raises RuntimeError: the home folder is not known."""
    return Homes(
        claude=claude_home or Path.home() / ".claude",
        codex=codex_home or Path.home() / ".codex",
        gemini=(gemini_home or Path.home()) / ".gemini",
        copilot=copilot_home or Path.home() / ".copilot",
        pi=pi_home or Path.home() / ".pi" / "agent",
    )
