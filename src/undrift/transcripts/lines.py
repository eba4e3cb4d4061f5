"""Decodes the JSON objects on a line of any text. Pure; never raises on content.

The values are safe to hand on: no NaN or infinity (null instead), no integer beyond 64 bits (a float instead, as the
JavaScript clients themselves would read it), no lone surrogate (U+FFFD instead), no nesting beyond `MAX_DEPTH`. If a
key stands twice, the last counts.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = [
    "MALFORMED",
    "MAX_DEPTH",
    "TOO_DEEP",
    "clean",
    "decode",
    "decode_at",
    "epoch_ms",
    "list_at",
    "milliseconds",
    "object_at",
    "printable",
    "text_at",
]

MAX_DEPTH = 200
"""Far beyond any recorded tool input; far below what the recursive readers of JSON further on can bear (about 1,000)."""

MALFORMED = "malformed line"
TOO_DEEP = "nested too deeply"

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DIGITS = 20
_YEAR_10000_MS = 253_402_300_800_000


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _integer(text: str) -> int | float | None:
    # int() itself refuses more than 4,300 digits
    value = int(text) if len(text) <= _MAX_DIGITS else 1 << 64
    return value if -(1 << 63) <= value < 1 << 64 else _finite(text)


# strict=False: a raw tab inside a string is a slip of the writer, not a reason to lose the record
_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_integer, parse_constant=lambda _: None, strict=False)


def decode(line: str) -> tuple[list[dict[str, Any]], str | None]:
    """Decode the objects on a line; if there is an unreadable rest, return the reason.

    Two processes that append to one file leave two records on one line; both are taken.
    """
    text = clean(line)
    repaired = False
    found: list[dict[str, Any]] = []
    at = 0
    while at < len(text):
        value, end, failed = decode_at(text, at)
        if failed == MALFORMED and not repaired and "\\" in text:
            text, repaired = text[:at] + _with_true_escapes(text[at:]), True
            continue
        if failed is not None:
            return found, failed
        if not isinstance(value, dict):
            return found, "line is not an object"
        found.append(value)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return found, None


def decode_at(text: str, at: int) -> tuple[Any, int, str | None]:
    """Decode one JSON value of any type that begins at a position.

    `at`: where the value begins, in characters; not on white space.
    """
    try:
        value, end = _DECODER.raw_decode(text, at)
    except RecursionError:
        return None, at, TOO_DEEP
    except json.JSONDecodeError as error:
        return None, error.pos, MALFORMED
    if _brackets(text, at, end) > MAX_DEPTH and not _shallow(value):
        return None, at, TOO_DEEP
    # a surrogate that stands alone can only come from an escape, of which most files hold none
    escaped = text.find("\\ud", at, end) >= 0 or text.find("\\uD", at, end) >= 0
    return (_laundered(value) if escaped else value), end, None


def clean(text: str) -> str:
    """Replace lone surrogates by U+FFFD, and strip white space and a byte order mark."""
    return (text if text.isascii() else _SURROGATE.sub("\ufffd", text)).strip("\ufeff \t\r\n")


def _with_true_escapes(text: str) -> str:
    """Double the backslashes that begin no escape: what masks secrets in a file may cut an escape in two."""
    return _ESCAPE.sub(lambda found: found[0] if len(found[0]) > 1 else "\\\\", text)


def _brackets(text: str, start: int, end: int) -> int:
    return text.count("{", start, end) + text.count("[", start, end)


def _shallow(value: Any) -> bool:
    """Say whether `value` nests no deeper than `MAX_DEPTH`; iterative, since depth is what it guards against."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return True
    return False


def _laundered(value: Any) -> Any:
    """Replace lone surrogates in keys and strings; the escapes of a pair were joined when the line was decoded."""
    text = json.dumps(value, ensure_ascii=False)
    return _DECODER.decode(_SURROGATE.sub("\ufffd", text)) if _SURROGATE.search(text) else value


def text_at(record: Mapping[str, Any], key: str) -> str:
    """Return the string at `key`, or an empty string."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def object_at(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object at `key`, or an empty one."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def list_at(record: Mapping[str, Any], key: str) -> list[Any]:
    """Return the array at `key`, or an empty one."""
    value = record.get(key)
    return value if isinstance(value, list) else []


def printable(value: Any, limit_characters: int = 40) -> str:
    """Return `value` as a name that fits on a report's line."""
    if not isinstance(value, str) or not value:
        return "(none)"
    text = "".join(c if c.isprintable() else "?" for c in value[: limit_characters + 1])
    return text if len(text) <= limit_characters else text[: limit_characters - 3] + "..."


def milliseconds(stamp: Any) -> int | None:
    """Convert an ISO 8601 string to Unix milliseconds (UTC without a zone; at least 0). None means: it is no time."""
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return max(0, since // timedelta(milliseconds=1))


def epoch_ms(value: Any) -> int | None:
    """Return a whole number of Unix milliseconds, at least 0. None means: it is something else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < _YEAR_10000_MS:
        return None
    return max(0, int(value))
