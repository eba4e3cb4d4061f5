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
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini"),
    "copilot": ("COPILOT_HOME", ".copilot"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent"),
    "qwen": ("QWEN_HOME", ".qwen"),
    "kimi": ("KIMI_CODE_HOME", ".kimi-code"),
    "cline": ("CLINE_DATA_DIR", ".cline/data"),
    "cn": ("CONTINUE_GLOBAL_DIR", ".continue"),
}
"""Client -> the variable that names its folder to the client itself, and its usual folder in the user's home."""
_HELD = "gemini"
"""The client whose variable names the folder that holds its own."""

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
    for client, (variable, _) in reversed(_HOMES.items()):
        option = click.option(f"--{client}-home", envvar=variable, type=click.Path(path_type=Path), hidden=True)
        command = option(command)
    return command


def own_recordings(command: str, **folders: Path | None) -> tuple[Path, ...]:
    """Find the user's own recordings, newest first. If there are none, the error names the searched folders.

    `folders`: see `recorded_homes`. Raises TranscriptError: no session, or no home folder to look in.
    """
    try:
        homes = recorded_homes(**folders)
    except RuntimeError as error:
        raise TranscriptError(f"your home folder is not known; name a file: {command} FILE") from error
    found = own_sessions(homes)
    if not found:
        *searched, last = map(str, homes.folders)
        raise TranscriptError(f"no recorded session in {', '.join(searched)} and {last}; name a file: {command} FILE")
    return found


def recorded_homes(**folders: Path | None) -> Homes:
    """Return the folders of the clients. Raises RuntimeError: the home folder is not known.

    `folders`: ``claude_home`` and so on, as `client_folders` gives them; None for a client's usual one.
    """
    found = {client: folders.get(f"{client}_home") or Path.home() / usual for client, (_, usual) in _HOMES.items()}
    holder = folders.get(f"{_HELD}_home")
    return Homes(**{**found, _HELD: holder / _HOMES[_HELD][1] if holder else found[_HELD]})
