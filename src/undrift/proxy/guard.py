"""Who may ask what: the names under which the gateway answers, where a page may come from, and the token of its own routes.

Law: deny by default. Every request passes `foreign`; every path of the gateway's own but health passes `has_token`, the
ones that do not exist as well.

Source: issue "Gateway", item 8; CONTRACT "HTTP"; RELIABILITY S8.
"""

import hmac
import os
import secrets
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from undrift.stores import files

__all__ = ["TOKEN_FILE", "foreign", "has_token", "token_in"]

TOKEN_FILE = "gateway-token"
"""In the home folder, readable for its owner alone."""

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_SHORTEST_TOKEN = 20


def foreign(headers: Mapping[str, str], host: str) -> str:
    """Return why a request is refused; an empty string where it is not.

    A name that leads here by a trick of DNS is not ours, and a web page of another origin has no business here.

    Args:
        headers: By lower-case name.
        host: On which the gateway listens.
    """
    if not _is_ours(_name(headers.get("host", "")), host):
        return "host"
    origin = headers.get("origin")
    if origin is None:
        return ""
    try:
        parts = urlsplit(origin)
        is_ours = parts.scheme in ("http", "https") and _is_ours((parts.hostname or "").lower(), host)
    except ValueError:
        return "origin"
    return "" if is_ours else "origin"


def _is_ours(name: str, host: str) -> bool:
    if name in _HERE or (name and name == host.lower()):
        return True
    if host in _HERE:
        return False
    try:
        ip_address(name)  # opened to a network on purpose: by its addresses, under no other name
    except ValueError:
        return False
    return True


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def has_token(headers: Mapping[str, str], token: str) -> bool:
    """Tell whether a request shows the token, as a bearer or in ``x-undrift-token``."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    shown = bearer.strip() if kind.lower() == "bearer" else headers.get("x-undrift-token", "")
    return hmac.compare_digest(shown.encode("utf-8", "replace"), token.encode("ascii"))


def token_in(home: Path) -> str:
    """Return the token of a home, made where there is none.

    Raises:
        OSError: It cannot be written, or something else stands in its place.
    """
    files.make_folder(home)
    path = home / TOKEN_FILE
    files.check_regular(path)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        path.chmod(0o600)
        known = path.read_text(encoding="ascii", errors="replace").strip()
        if len(known) >= _SHORTEST_TOKEN and known.isascii():
            return known
        path.unlink()  # a start that was killed while it wrote
        return token_in(home)
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
        file.flush()
        os.fsync(file.fileno())
    files.sync_folder(home)
    return token
