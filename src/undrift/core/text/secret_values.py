"""Tells the value of a secret from a placeholder, a name or a place: its characters are mixed. Pure."""

import binascii
import math
import re
from collections import Counter

from undrift.core.text.patterns import compiled

__all__ = [
    "is_assigned_secret",
    "is_authorization",
    "is_basic",
    "is_bearer",
    "is_given",
    "is_key_block",
    "is_mixed",
    "is_named_token",
    "is_password",
    "is_token",
    "is_url_password",
]

_PLACEHOLDER = (
    r"(?i)x{4}|\*{3}|\.{3}|^\$|\$(?:[({_]|(?-i:[A-Z]{2}))|\{\{|%[(s{]|[<>]|c(?:hange.?me|onfig\.)|your|e(?:xample|nviron)|d(?:ummy|efault)"
    r"|p(?:laceholder|rocess\.)|re(?:dact|place)|masked|in(?:sert|valid)|s(?:ample|ecrets?\.)|getenv|undefined|1234567"
    r"|abcdef[^0-9]|fixme|^passw(?:or)?d[0-9]{0,3}$"
)
_LONG_PART = 20
_CHUNKS = r"[A-Za-z0-9]{1,4096}"
_LETTER_DIGIT = r"[A-Za-z](?=[0-9+#&*])|[0-9](?=[A-Za-z+#&*])|[+#&*](?=[A-Za-z0-9])"
_CLASS_CHANGE = r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])"
_STRONG_SYMBOL = r"[!@#$%^&*+=/?~]"
_LOCATION = r"#[0-9a-fA-F]{3,8}$|[a-z]{2,10}:|\.{0,2}/|~/|[A-Za-z0-9_-]{1,64}\.[a-z]{2,5}$"


def is_mixed(value: str) -> bool:
    """A long value that no one would write by hand: letters and digits change places, and its characters vary."""
    if len(value) < 10 or compiled(_PLACEHOLDER).search(value) or compiled(_LOCATION).match(value):
        return False
    if not any(map(str.isdigit, value)) or _entropy(value) < 3.0:
        return False
    # Between digits, capitals and small letters a random run changes at every second character, HumpedNames2 at every
    # third; a short hexadecimal one may by chance stay below, but has more digits beside letters than any name.
    changes = len(compiled(_LETTER_DIGIT).findall(value))
    return changes >= max(3, len(value) // 12) or len(compiled(_CLASS_CHANGE).findall(value)) >= 0.4 * len(value)


def is_password(value: str) -> bool:
    """A password that a human chose: letters with digits or symbols, six characters or more."""
    if len(value) < 6 or compiled(_PLACEHOLDER).search(value) or compiled(_LOCATION).match(value):
        return False
    kinds = (any(map(str.islower, value)), any(map(str.isupper, value)), any(map(str.isdigit, value)))
    letters = kinds[0] or kinds[1]
    return letters and (kinds[2] or (kinds[0] and kinds[1] and compiled(_STRONG_SYMBOL).search(value) is not None))


def is_token(match: re.Match[str]) -> bool:
    """A token with a vendor's prefix, neither a placeholder nor a long word: a digit stands in it, or letters of both cases."""
    value = match[match.lastindex or 0]
    if compiled(_PLACEHOLDER).search(value):
        return False
    return any(map(str.isdigit, value[4:])) or (
        len(value) >= 36 and value[4:] not in (value[4:].lower(), value[4:].upper())
    )


def is_named_token(match: re.Match[str]) -> bool:
    """A value behind a vendor's name that no one would write by hand."""
    return is_mixed(match[1])


def is_given(value: str) -> bool:
    """A value that stands where only a password stands, and is no placeholder or variable."""
    return (
        len(value) >= 3
        and value.lower() not in _EXAMPLE_PASSWORDS
        and not compiled(_PLACEHOLDER).search(value)
        and not compiled(r"[<{(%@&|\[]|-$").match(value)
    )


def _entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def is_key_block(match: re.Match[str]) -> bool:
    """A block that holds key material, not dots or a sentence."""
    body = match[match.lastindex or 0]
    return sum(map(len, compiled(_CHUNKS).findall(body))) >= 24 and "..." not in body


def is_url_password(match: re.Match[str]) -> bool:
    """A password in a URL that is neither a template nor the word itself."""
    value = match[2]
    return value.lower() not in _EXAMPLE_PASSWORDS and value != match[1] and not compiled(_PLACEHOLDER).search(value)


_EXAMPLE_PASSWORDS = frozenset(
    {"password", "passwd", "pass", "pwd", "pw", "secret", "token", "user", "x", "port", "key"}
)


def is_authorization(match: re.Match[str]) -> bool:
    """The credentials of a header: of Basic what decodes to user:password, else letters with digits."""
    if (match[1] or "").lower() == "basic":
        return is_basic(match[2])
    return is_password(match[2]) and any(map(str.isdigit, match[2]))


def is_basic(value: str) -> bool:
    try:
        return b":" in binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return False


def is_bearer(match: re.Match[str]) -> bool:
    return is_mixed(match[1])


def is_assigned_secret(match: re.Match[str]) -> bool:
    """A value that no human writes; under the name of a password also one that a human may choose.

    An unquoted value is code more often than not: joints of a name or of a call may be in it only beside a long part
    that no human writes.
    """
    bare = match.lastindex != 1
    value = match[match.lastindex or 0]
    if bare and "." in value:
        return any(len(part) >= _LONG_PART and is_mixed(part) for part in value.split("."))
    if is_mixed(value):
        return True
    if match[0][:2].lower() not in ("pa", "pw") or not is_password(value):
        return False
    return not bare or (any(map(str.isdigit, value)) and "_" not in value and "/" not in value)
