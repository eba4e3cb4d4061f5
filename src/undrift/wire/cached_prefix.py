"""Finds the first field before the history that a client changed since an earlier request. Pure; never raises.

Law: a change counts only if it surely breaks the provider's prompt cache. Cache markers, the order of keys, deferred tools
and the billing header of Claude Code do not: a warm cache that is taken for a cold one costs money.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw

__all__ = ["first_change", "offset_of"]

_BILLING = "x-anthropic-billing-header:"
"""The beginning of a block of the system prompt that Claude Code changes with each request. Anthropic's cache skips it."""

_NOT_CACHED = ("cache_control", "verbosity")


def first_change(before: Mapping[str, bytes], now: Mapping[str, bytes]) -> tuple[str, int] | None:
    """Return the name of the first field with another meaning, and the first byte in it that differs.

    `before`, `now`: the fields as JSON, in the order in which the provider reads them. None means: none has changed.
    """
    for name, data in now.items():
        if data != before.get(name, b"") and (at := _difference(before.get(name, b""), data)) is not None:
            return name, at
    return None


def offset_of(body: bytes, name: str, data: bytes) -> int | None:
    """Return the offset of a field's value in a body. None means: it is not written there as clients write it."""
    key = json.dumps(name).encode("ascii")
    for middle in (b":", b": "):
        at = body.find(key + middle + data)
        if at >= 0:
            return at + len(key + middle)
    return None


def _difference(before: bytes, now: bytes) -> int | None:
    """Return the first byte of a value from which its meaning differs; None if it does not."""
    try:
        old, new = _parts(before), _parts(now)
    except WireError:  # no JSON: the provider refuses it
        return None
    if [bare for bare, _, _ in old] == [bare for bare, _, _ in new]:
        return None
    start = 0
    for number, (bare, part, start) in enumerate(new):
        if number >= len(old):
            return start
        if bare != old[number][0]:
            return start + _shared(old[number][1], part)
    return start


def _shared(one: bytes, other: bytes) -> int:
    """Return how many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _parts(data: bytes) -> list[tuple[bytes, bytes, int]]:
    """Return the meaning of each element of a value, its bytes and their place; a value that is no list is one element."""
    if not data:
        return []
    elements = [data]
    with suppress(WireError):
        elements = [bytes(part) for part in raw.split(data, "")]
    found, end = [], 0
    for part in elements:
        start = max(data.find(part, end), end)
        end = start + len(part)
        found += [(raw.encode(bare, ordered=True), part, start) for bare in _meaning(raw.decode(part))]
    return found


def _meaning(part: Any) -> Iterator[Any]:
    """Yield an element without what the cache does not look at; nothing if it says nothing."""
    if isinstance(part, str):
        part = {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        return
    text = part.get("text")
    if isinstance(text, str) and text.startswith(_BILLING):
        return
    if part.get("type") in ("auto", "disabled"):  # the default of a choice of tools, and of thinking
        return
    if _is_deferred(part):
        return
    bare = {name: value for name, value in part.items() if name not in _NOT_CACHED and value is not None}
    if isinstance(inner := bare.get("tools"), list):  # a group of tools
        bare["tools"] = [tool for tool in inner if not _is_deferred(tool)]
    yield bare


def _is_deferred(tool: Any) -> bool:
    """Tell if a tool comes into the prompt only where the model has found it."""
    return isinstance(tool, Mapping) and tool.get("defer_loading") is True
