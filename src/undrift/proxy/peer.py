"""The client at the other end of a connection: whether the gateway's own user runs it, according to the system.

Law: what the system does not say for certain is no. Only Linux says it; elsewhere the token alone proves the owner.
"""

import asyncio
import os
import socket
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from undrift.proxy.owner import End, end_of, is_of_this_machine, question, uid_in_answer, uid_in_table

__all__ = ["LocalPeer", "PEER", "is_ours", "tells_users"]

PEER = "undrift.peer"
"""The key in a request's state for the other end of its connection."""

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_DIAGNOSES = 4  # NETLINK_SOCK_DIAG
_MOST_BYTES = 8 << 10


def tells_users() -> bool:
    """Tell whether this system can name the user at the other end of a local connection."""
    return sys.platform == "linux" and _own_user() != _nobody() and Path(_TABLES[0]).exists()


class LocalPeer:
    """The user at the other end of one connection."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._is_ours: bool | None = None

    async def is_ours(self) -> bool:
        """Tell whether our own user's process holds the other end; the system is asked one time for each connection."""
        if self._is_ours is None:
            connection = self._transport.get_extra_info("socket")
            ends = _ends(connection)
            if ends is None or not is_of_this_machine(*ends) or not tells_users():
                return False
            uid = _asked(*ends)
            if uid is None:  # the kernel has no such part; its table takes 1,000 times as long
                uid = await asyncio.to_thread(_looked_up, *ends)
            if uid is None:
                return False
            # Both ends may have been given to another connection by now: then this one is no longer connected.
            self._is_ours = uid == _own_user() and _ends(connection) == ends
        return self._is_ours


def is_ours(connection: socket.socket) -> bool:
    """Tell whether our own user's process holds the other end of a connection; asks the system each time."""
    ends = _ends(connection)
    if ends is None or not is_of_this_machine(*ends) or not tells_users():
        return False
    uid = _asked(*ends)
    uid = _looked_up(*ends) if uid is None else uid
    return uid == _own_user() and _ends(connection) == ends


def _ends(connection: Any) -> tuple[End, End] | None:
    """Return the client's end and ours. None means: not connected, or not over TCP."""
    try:
        client, server = connection.getpeername(), connection.getsockname()
        return end_of(client[0], client[1]), end_of(server[0], server[1])
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None


def _asked(client: End, server: End) -> int | None:
    """Return the owner of the client's end, from the kernel's answer about this connection."""
    if sys.platform != "linux":
        return None
    try:
        with closing(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _DIAGNOSES)) as kernel:
            kernel.setblocking(False)  # the answer is there when the question has been sent
            kernel.send(question(client, server))
            answer, (sender, _) = kernel.recvfrom(_MOST_BYTES)
    except (OSError, AttributeError):
        return None
    return uid_in_answer(answer, client, server) if sender == 0 else None


def _looked_up(client: End, server: End) -> int | None:
    """Return the owner of the client's end, from the table of all connections."""
    for path in _TABLES:
        try:
            uid = uid_in_table(Path(path).read_text(encoding="ascii"), client, server)
        except OSError:
            continue
        if uid is not None:
            return uid
    return None


def _own_user() -> int | None:
    if sys.platform == "win32":
        return None
    return os.geteuid()


def _nobody() -> int:
    """Return the user id that Linux shows for unknown users: an equal id proves nothing."""
    try:
        return int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 65_534
