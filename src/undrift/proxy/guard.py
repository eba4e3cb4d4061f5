"""Decides which requests are refused: checks the token in their headers, the host they name, and the web page they come from.

Law: deny by default. A text that two readers could read in two ways is refused. Every request passes `foreign`; every path
of the gateway's own but health passes `has_token`, the ones that do not exist as well.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from undrift.proxy.owner import is_token

__all__ = ["bearer", "climbs", "foreign", "has_token", "is_of_a_page", "malformed", "refusal"]

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::[0-9]{0,5})?", re.ASCII)
_MOST_DECODED = 4


def refusal(pairs: Sequence[tuple[str, str]], host: str, *, is_absolute: bool) -> tuple[int, str] | None:
    """Return the status and the reason to refuse a request, even the owner's. None means: there is no reason.

    `host`: on which we listen. `is_absolute`: the request names its host in its target as well.
    """
    if reason := _repeated(pairs) or foreign(dict(pairs), host):
        return (421 if reason == "host" else 403), reason
    return malformed(pairs, is_absolute=is_absolute)


def malformed(pairs: Sequence[tuple[str, str]], *, is_absolute: bool) -> tuple[int, str] | None:
    """Return the status and the reason to refuse a request that two servers could read in two ways; None: there is none.

    `is_absolute`: see `refusal`.
    """
    if reason := _repeated(pairs):
        return 400, reason
    if is_absolute:
        return 400, "path"
    return None if _is_framed(pairs) else (400, "transfer-encoding")


def _repeated(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the header, Host or Origin, that a request has more than once: servers differ in which one they use."""
    names = [name for name, _ in pairs]
    return next((name for name in ("host", "origin") if names.count(name) > 1), "")


def _is_framed(pairs: Iterable[tuple[str, str]]) -> bool:
    """Return whether every server would find the same end of the body."""
    return [value.strip().lower() for name, value in pairs if name == "transfer-encoding"] in ([], ["chunked"])


def climbs(path: str) -> bool:
    """Tell whether any server could read a path as one above the upstream's own path, as with ``..``."""
    for _ in range(_MOST_DECODED):
        if any(part.partition(";")[0] == ".." for part in path.replace("\\", "/").split("/")):
            return True
        coded, path = path, unquote(path, "latin-1")
        if path == coded:
            return False
    return True  # coded over and over, which no client does


def foreign(headers: Mapping[str, str], host: str) -> str:
    """Return the reason to refuse a request; empty if there is none.

    A name that leads here by a trick of DNS is not ours, and a web page of another origin has no business here.
    """
    if not _is_ours(_name(headers.get("host", "")), host):
        return "host"
    origin = headers.get("origin")
    if origin is None:
        return ""
    try:
        parts = urlsplit(origin)
        is_ours = parts.scheme in ("http", "https") and _is_ours(_name(parts.netloc), host)
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
    """Return the name in a Host header or an origin, without the port; empty if it is malformed."""
    found = _HOST.fullmatch(host)
    return "" if found is None else (found[1] or found[2]).lower()


def is_of_a_page(headers: Mapping[str, str]) -> bool:
    """Tell whether a page in a browser sends the request: it proves nothing that its user's browser sends it.

    A browser leaves Origin out of some requests; it marks all of them, and those that the user typed as ``none``.
    """
    return "origin" in headers or headers.get("sec-fetch-site", "none").strip().lower() != "none"


def has_token(headers: Mapping[str, str], token: str, *, is_own: bool) -> bool:
    """Tell whether a request has the token in ``x-undrift-token``.

    `is_own`: a bearer token counts as well; on a provider's route it is the provider's, and goes there.
    """
    if is_token(headers.get("x-undrift-token", ""), token):
        return True
    return is_own and is_token(bearer(headers), token)


def bearer(headers: Mapping[str, str]) -> str:
    """Return the bearer token of a request; empty if it has none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
