"""Replaces a client's note "this file has not changed" by the file, if the window does not contain the file any more.

Law: pure; a function of what came in and what is about to be sent, so that the same history gives the same bytes on each
later request and after a restart. Only the note's own result is edited.

A client that keeps what it read answers a second reading of an unchanged file by a sentence that points to the first one.
It does not know that the first one has left the window, so the agent's natural way back would be closed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw
from undrift.wire.form import Edit, Form, View

__all__ = ["may_have_note", "restored"]

_HINTS = (b"nchanged since", b"already in your context")
_STUB = re.compile(
    r"file (?:is )?unchanged since (?:your |the )?last read|\A<system-reminder>This file is already in your context",
    re.IGNORECASE,
)
_LONGEST_STUB = 400
_FILE = ("file_path", "path", "absolute_path", "filePath")
_RANGE = ("offset", "limit", "pages")


@dataclass(frozen=True, slots=True)
class _Result:
    item: int
    block: int
    call_id: str
    text: str
    is_plain: bool  # one text, nothing else


def may_have_note(body: bytes) -> bool:
    """Tell whether a body may contain such a note; other bodies need no search."""
    return any(hint in body for hint in _HINTS)


def restored(form: Form, came: Sequence[Any], sent: Sequence[Any]) -> dict[int, Any]:
    """Return the items that replace some of `sent`, by number; empty if there are none.

    A note is answered with the newest reading of the same place before it, unless that is still unchanged in the window.
    """
    given = list(_results(form, came))
    stubs = {one.call_id: one for one in given if _is_stub(one.text)}
    if not stubs:
        return {}
    places = _places(form, came)
    shown = list(_results(form, sent))
    standing = {(one.call_id, one.text) for one in shown}
    edits: dict[int, dict[int, Edit]] = {}
    for one in shown:
        if one.call_id not in stubs or not _is_stub(one.text):
            continue
        earlier = _earlier(stubs[one.call_id], given, places)
        if earlier is not None and (earlier.call_id, earlier.text) not in standing:
            edits.setdefault(one.item, {})[one.block] = Edit(earlier.text)
    edited = {number: form.edit(sent[number], changes, ()) for number, changes in edits.items()}
    return {number: item for number, item in edited.items() if item is not None}


def _earlier(stub: _Result, given: Sequence[_Result], places: dict[str, tuple[str | None, ...]]) -> _Result | None:
    """Return the newest earlier result with the content of the file that the note is about."""
    place = places.get(stub.call_id)
    if place is None:
        return None
    before = (one for one in reversed(given) if (one.item, one.block) < (stub.item, stub.block))
    same = (one for one in before if places.get(one.call_id) == place and not _is_note(one.text))
    return next((one for one in same if one.is_plain), None)


def _is_stub(text: str) -> bool:
    return len(text) <= _LONGEST_STUB and _STUB.search(text) is not None


def _is_note(text: str) -> bool:
    """Return whether a text is not a file's content: a note, or a client's text for a cleared result."""
    return _is_stub(text) or text.startswith("[Old tool result content cleared") or not text.strip()


def _results(form: Form, items: Sequence[Any]) -> Iterator[_Result]:
    for number, view in _views(form, items):
        for place, block in enumerate(view.blocks):
            if block.kind == "result" and block.call_id:
                is_plain = block.counted in (None, block.text) and not block.extra_tokens
                yield _Result(number, place, block.call_id, block.text, is_plain)


def _places(form: Form, items: Sequence[Any]) -> dict[str, tuple[str | None, ...]]:
    """Return for each call id the tool, and the part of the file that the call reads."""
    found: dict[str, tuple[str | None, ...]] = {}
    for _, view in _views(form, items):
        for block in view.blocks:
            if block.kind == "call" and block.call_id and (where := _where(block.text)):
                found[block.call_id] = (block.tool_name, *where)
    return found


def _where(call: str) -> tuple[str, ...] | None:
    """Return the file and the part that a call reads, from its arguments. None means: it names no file."""
    try:
        given = raw.decode(call.encode("utf-8", "surrogatepass"))
    except WireError:
        return None
    if not isinstance(given, dict) or not any(isinstance(given.get(name), str) for name in _FILE):
        return None
    return tuple(repr(given.get(name)) for name in (*_FILE, *_RANGE))


def _views(form: Form, items: Sequence[Any]) -> Iterator[tuple[int, View]]:
    for number, item in enumerate(items):
        try:
            yield number, form.read(item, f"{form.HISTORY}[{number}]")
        except WireError:
            continue
