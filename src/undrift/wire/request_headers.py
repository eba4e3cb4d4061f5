"""The headers of a provider's request that a change of its body must respect. Pure."""

from collections.abc import Mapping

__all__ = ["LISTS", "is_signed", "joined"]

LISTS = frozenset({"anthropic-beta"})
"""The headers that are lists: a client's own entries stay in them."""


def is_signed(headers: Mapping[str, str], query: str = "") -> bool:
    """Tell whether a request carries a signature of Amazon's over its body, so that no other body may be sent.

    `headers`: by lower-case name.
    """
    return headers.get("authorization", "").lstrip().startswith("AWS4-") or "x-amz-signature=" in query.lower()


def joined(name: str, given: str, added: str) -> str:
    """Return the value of a header that a client sends already, with what an edited body needs.

    A list keeps the client's entries before the missing ones; any other header gets the new value. `name`: in lower case.
    """
    if name not in LISTS or not given:
        return added
    present = {one.strip() for one in given.split(",")}
    return ",".join([given, *(one for one in map(str.strip, added.split(",")) if one not in present)])
