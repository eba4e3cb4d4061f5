"""Who may ask what: the names under which the gateway answers, where a page may come from, and the token of its own routes.

Law: deny by default. Every request passes `foreign`; every path of the gateway's own but health passes `has_token`, the
ones that do not exist as well.

Source: issue "Gateway", item 8; CONTRACT "HTTP"; RELIABILITY S8.
"""

import hmac
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

__all__ = ["foreign", "has_token"]

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


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
