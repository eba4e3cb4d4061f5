"""Conversion of records to rows and back: any text survives, and every record has a SHA-256. Pure.

SQLite has no checksum of its own: 267 of 400 flipped bits gave a wrong answer without an error. So a row is read as
bytes, compared with its hash, and only then decoded.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from undrift.errors import InputError

__all__ = [
    "ENCODE_SORTED",
    "FORGED",
    "IN_LIST",
    "REMEDY",
    "Row",
    "check_integers",
    "digest",
    "dump",
    "key",
    "listed",
    "load",
    "raw",
    "shown",
    "shown_text",
    "stored",
    "text_from",
]

Row = tuple[Any, ...]

_SIZES = tuple(b"%d:" % size for size in range(256))
"""The prefixes of hashed values, made once: each original needs eleven of them."""

IN_LIST = "(SELECT CASE type WHEN 'array' THEN unhex(value ->> 0) ELSE value END FROM json_each({}))"
"""SQL, to be formatted with the name of a binding that `listed` has made: its texts, each as `key` gives it."""

REMEDY = (
    "it is not returned, everything else still is. `undrift doctor` lists the damage, "
    "`undrift store restore` puts a backup in the store's place"
)

FORGED = (AttributeError, InputError, RecursionError, TypeError, ValueError)
"""The errors of a record that matches its hash and is not ours, as in a forged backup."""


def raw(text: str) -> bytes:
    """Return a string as bytes; lone surrogates, which JSON allows, survive."""
    return text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass")


def key(text: str) -> str | bytes:
    """Return a string as SQLite can store it: unchanged, or as bytes."""
    if text.isascii():  # nearly all: nothing has to be tried
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return raw(text)
    return text


def stored(value: str | bytes) -> bytes:
    """Return what `key` gave as bytes, as `raw` gives them."""
    return value if isinstance(value, bytes) else value.encode()


def listed(texts: Iterable[str | bytes]) -> str:
    """Return texts as one bound value for `IN_LIST`; texts that SQLite cannot store are in hexadecimal."""
    keys = (key(one) if isinstance(one, str) else one for one in texts)
    return json.dumps([one if isinstance(one, str) else [one.hex()] for one in keys])


def shown_text(value: Any) -> str:
    """Return a text only for display: damaged parts become replacement characters."""
    data = bytes(value)
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def digest(*parts: bytes | str | int | None) -> bytes:
    """Hash values together with their lengths, so that different values never give the same input."""
    pieces = []
    for part in parts:
        if part is None:
            pieces.append(b"-")
            continue
        data = part if isinstance(part, bytes) else str(part).encode()
        size = len(data)
        pieces.append(_SIZES[size] + data if size < len(_SIZES) else b"%d:%b" % (size, data))
    return hashlib.sha256(b",".join(pieces)).digest()


def check_integers(whose: str, *of: str, **values: int) -> None:
    for name, value in values.items():
        if type(value) is not int or not -(2**63) <= value < 2**63:
            raise InputError(f"{whose % of}{name}: must be an integer of at most 64 bits, not {value!r}")


def dump(value: Any, name: str, *of: str, encode: Callable[[Any], str] | None = None) -> str | None:
    """Return JSON in ASCII; a value that JSON cannot hold is the caller's mistake."""
    if value is None:
        return None
    try:
        return (encode or _ENCODE)(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name % of}: must consist of JSON values: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is none")


# Made once: `json.dumps` with options makes an encoder for each value, and `json.loads` guesses the encoding of bytes.
_DECODE = json.JSONDecoder().decode
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain).encode
ENCODE_SORTED = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain, sort_keys=True).encode


def load(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:  # it does not know every JSON that Python writes, such as half of a pair of surrogates
        return _DECODE(value.decode())


def text_from(value: bytes) -> str:
    return value.decode() if value.isascii() else value.decode("utf-8", "surrogatepass")


def shown(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
