"""The gateway as a user's service: the files that systemd and launchd read. Pure.

Both listen on the port themselves, and start the gateway at the first connection with that socket in its hands.
"""

import plistlib
from collections.abc import Mapping, Sequence

from undrift.errors import SettingsError

__all__ = ["LABEL", "SOCKET", "UNIT", "launchd_files", "quoted", "systemd_files"]

UNIT = "undrift-gateway.service"
SOCKET = "undrift-gateway.socket"
LABEL = "dev.undrift.gateway"

_BACKLOG = 2_048
_STOP_S = 310
"""A little more than the streams get at the end of a gateway."""


def systemd_files(words: Sequence[str], port: int) -> Mapping[str, str]:
    """Return the units by their file names. `words`: the gateway's command.

    Raises SettingsError: its program has a name that systemd cannot start, or see `quoted`.
    """
    if words and any(character in words[0] for character in '$"\\'):
        raise SettingsError(
            f'{words[0]}: systemd starts no program with $, " or \\ in its path: install undrift elsewhere'
        )
    socket = f"""[Unit]
Description=The port of undrift's gateway

[Socket]
ListenStream=127.0.0.1:{port}
Backlog={_BACKLOG}
NoDelay=yes

[Install]
WantedBy=sockets.target
"""
    service = f"""[Unit]
Description=undrift's gateway between agents and their providers
Requires={SOCKET}
After={SOCKET}

[Service]
ExecStart={" ".join(map(quoted, words))}
Restart=on-failure
TimeoutStopSec={_STOP_S}
UMask=0077
NoNewPrivileges=yes
"""
    return {SOCKET: socket, UNIT: service}


def launchd_files(words: Sequence[str], port: int) -> Mapping[str, str]:
    """Return the agent by its file name. The socket comes as stdin, as an inetd that waits hands it over.

    Raises SettingsError: a word has a control character.
    """
    agent = {
        "Label": LABEL,
        "ProgramArguments": [*words, "--socket=0"],
        "Sockets": {
            "Listeners": {"SockNodeName": "127.0.0.1", "SockServiceName": str(port), "SockFamily": "IPv4"},
        },
        "inetdCompatibility": {"Wait": True},
        "ExitTimeOut": _STOP_S,
        "Umask": 0o077,
        "ProcessType": "Interactive",
    }
    try:
        return {f"{LABEL}.plist": plistlib.dumps(agent).decode("utf-8")}
    except ValueError as error:
        raise SettingsError(f"the agent of launchd cannot be written ({error}): choose another path") from error


def quoted(word: str) -> str:
    """Return a word of a command as systemd reads it. Raises SettingsError: it has a control character."""
    if not word.isprintable():
        raise SettingsError(f"{word!r} cannot stand in a unit of systemd: choose a path without control characters")
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"'
