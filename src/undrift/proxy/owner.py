"""Distinguishes the owner's requests from those of other users of the machine. It asks the system nothing.

Law: deny by default. A request is the owner's if it shows the token of the home in its path, or if the system says that the
socket at the other end belongs to the owner's user. A provider's key proves nothing: every user has one.
"""

import hmac
import re
import socket
import struct
import sys
from ipaddress import IPv4Address, IPv6Address, ip_address

from undrift.values.provider import Provider

__all__ = [
    "End",
    "QUESTION_KIND",
    "base_url",
    "end_of",
    "is_misplaced",
    "is_of_this_machine",
    "is_token",
    "question",
    "split",
    "uid_in_answer",
    "uid_in_table",
    "without_token",
]

End = tuple[IPv4Address | IPv6Address, int]
"""One end of a connection: its address and its port."""

QUESTION_KIND = 20
"""SOCK_DIAG_BY_FAMILY of Linux."""

_TOKEN = re.compile(r"/([0-9a-f]{64})(?=/|$)")
_TOKEN_BEFORE_VIA = re.compile(r"/[0-9a-f]{64}(?=/via/)")
_DIGITS = re.compile(r"[0-9a-f]{64}")
_HEADER = struct.Struct("=IHHII")  # length, kind, flags, number, sender
_ASKED = struct.Struct("=BBBxI")  # family, protocol, extensions, states
_PORTS = struct.Struct("!HH")
_BEHIND = struct.Struct("=III")  # any interface, any cookie
_FIRST = struct.Struct("=BBBB")  # family, state, timer, retransmissions
_LAST = struct.Struct("=IIIII")  # expires, two queues, uid, inode
_ADDRESS_BYTES = 16
_LINE_CHARACTERS = 400
_LISTENS = 10


def split(path: str) -> tuple[str, str]:
    """Return the token at the beginning of a path, if any, and the path without it.

    One that is wrong is taken out as well: it may be the token of another home.
    """
    found = _TOKEN.match(path)
    return (found[1], path[found.end() :] or "/") if found else ("", path)


def is_misplaced(text: str, token: str) -> bool:
    """Tell whether the token is in a place that the provider would see: later in the path, or in the query."""
    return any(is_token(one, token) for one in _DIGITS.findall(text))


def is_token(shown: str, token: str) -> bool:
    """Tell whether a request has the token; the comparison takes the same time for every wrong token."""
    return bool(shown) and hmac.compare_digest(shown.encode("utf-8", "replace"), token.encode("ascii"))


def base_url(url: str, token: str, provider: Provider) -> str:
    """Return the base URL to configure in a provider's client, without a version.

    `token`: of its home; without one only the system can say whose the requests are.
    """
    return f"{url}/{token}/via/{provider}" if token else f"{url}/via/{provider}"


def without_token(url: str) -> str:
    """Return a base URL without the gateway's token."""
    return _TOKEN_BEFORE_VIA.sub("", url, count=1)


def end_of(host: str, port: int) -> End:
    """Return one end of a connection; an IPv4 address inside an IPv6 address becomes plain IPv4.

    Raises ValueError: it is no address.
    """
    address = ip_address(host.partition("%")[0])
    return (address.ipv4_mapped or address, port) if isinstance(address, IPv6Address) else (address, port)


def is_of_this_machine(client: End, server: End) -> bool:
    """Tell whether a client runs on this machine: its address is loopback, or equals the server's."""
    return client[0].is_loopback or client[0] == server[0]


def uid_in_table(table: str, client: End, server: End) -> int | None:
    """Return the user id of the client's socket from /proc/net/tcp or tcp6. None means: the socket is not listed.

    A closed socket has no inode; the system shows it as root's, for every former owner.
    """
    found = set()
    for wide in (False, True):
        wanted = f" {_in_table(client, wide)} {_in_table(server, wide)} "
        at = table.find(wanted)
        while at >= 0:
            behind = at + len(wanted)
            fields = table[behind : behind + _LINE_CHARACTERS].partition("\n")[0].split()
            if len(fields) > 6 and fields[6] != "0":
                found.add(int(fields[4]))
            at = table.find(wanted, at + 1)
    return found.pop() if len(found) == 1 else None


def _in_table(end: End, wide: bool) -> str:
    """Return an end in the notation of the table: the address in words of the machine's byte order."""
    packed = end[0].packed
    if wide and len(packed) < _ADDRESS_BYTES:
        packed = b"\0" * 10 + b"\xff\xff" + packed
    words = (int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4))
    return f"{''.join(f'{word:08X}' for word in words)}:{end[1]:04X}"


def question(client: End, server: End) -> bytes:
    """Return the message that asks Linux's diagnostic socket about the client's end of a connection."""
    family = socket.AF_INET if client[0].version == 4 else socket.AF_INET6
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + _PORTS.pack(client[1], server[1])
    asked += client[0].packed.ljust(_ADDRESS_BYTES, b"\0") + server[0].packed.ljust(_ADDRESS_BYTES, b"\0")
    asked += _BEHIND.pack(0, 0xFFFFFFFF, 0xFFFFFFFF)
    return _HEADER.pack(_HEADER.size + len(asked), QUESTION_KIND, 1, 1, 0) + asked


def uid_in_answer(answer: bytes, client: End, server: End) -> int | None:
    """Return the user id of the client's socket from the answer to `question`. None means: it has none.

    If the connection has ended, the system names a socket that listens on the client's port: it may be any user's.
    """
    at = _HEADER.size + _FIRST.size
    if len(answer) < at + _PORTS.size + 2 * _ADDRESS_BYTES + _BEHIND.size + _LAST.size:
        return None
    _, state, _, _ = _FIRST.unpack_from(answer, _HEADER.size)
    uid, inode = _LAST.unpack_from(answer, at + _PORTS.size + 2 * _ADDRESS_BYTES + _BEHIND.size)[3:]
    is_it = _HEADER.unpack_from(answer)[1] == QUESTION_KIND and _PORTS.unpack_from(answer, at) == (client[1], server[1])
    return uid if is_it and state != _LISTENS and inode else None
