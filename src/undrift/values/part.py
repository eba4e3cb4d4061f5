"""The name of an embedder or a re-ranker that a user brings.

Law: a name carries no secret, and sends nothing in the clear beyond this machine.
"""

import re
from dataclasses import dataclass
from typing import Literal, Self

__all__ = ["PartName"]

_LONGEST = 500
_MODEL = re.compile(r"(sentence-transformers|fastembed):([^\0- \x7f](?:[^\0-\x1f\x7f]*[^\0- \x7f])?)")
_PYTHON = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", re.ASCII)
_WEB = re.compile(r"[!-~]+", re.ASCII)

PartKind = Literal["sentence-transformers", "fastembed", "http", "python"]


@dataclass(frozen=True, slots=True)
class PartName:
    """Names a model of a package, an address, or an object of the user's own.

    Args:
        kind: What runs the part: one of two packages, a server, or a Python module.
        target: The model or its folder, the address without a model, or the module.
        detail: The model that a server is asked for, or the attribute of the module; empty if there is none.
    """

    kind: PartKind
    target: str
    detail: str = ""

    @classmethod
    def of(cls, text: object) -> Self | None:
        """Parse a name. None means: it is none."""
        if not isinstance(text, str) or len(text) > _LONGEST:
            return None
        if text.startswith(("http://", "https://")):
            address, _, model = text.partition("#")
            return cls("http", address, model) if _is_address(text) else None
        if found := _MODEL.fullmatch(text):
            return cls("fastembed" if found[1] == "fastembed" else "sentence-transformers", found[2])
        if (found := _PYTHON.fullmatch(text)) is not None:
            return cls("python", found[1], found[2])
        return None


def _is_address(text: str) -> bool:
    """Tell whether an address names a host alone, and whether its way there is safe; a model may follow after a #."""
    if not _WEB.fullmatch(text):
        return False
    from urllib.parse import urlsplit  # only here: each hook reads the settings, and few name an address

    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or port == 0 or parts.username is not None or parts.password is not None or parts.query:
        return False
    return parts.scheme == "https" or _is_this_machine(host)


def _is_this_machine(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
