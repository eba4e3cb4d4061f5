"""Gemini: an edited content. Pure.

Law: what no edit names is the very object that was given; parts are never merged.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from undrift.wire.form import Edit
from undrift.wire.gemini.names import data_of, parts_of

__all__ = ["edit", "user_item"]


def edit(item: Any, edits: Mapping[int, Edit], appended: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return a copy of a content with `edits` and texts `appended`; see `Form.edit`.

    Only a text and a response take another text; a call with other arguments would not be what was signed (G1).
    """
    kept: list[Any] = []
    for number, part in enumerate(parts_of(item)):
        found = edits.get(number)
        if found is None:
            kept.append(part)
        elif found.text is not None:
            short = _shortened(part, found.text)
            is_word = found.is_tombstone and data_of(part)[0] == "text"
            kept.append({**_signature(parts_of(item)), "text": found.text, "thought": True} if is_word else short)
    kept.extend({"text": text} for text in appended)
    return {**item, "parts": kept} if kept else None


def user_item(text: str) -> dict[str, Any]:
    """Return a content in which the user says `text`; see `Form.user_item`."""
    return {"role": "user", "parts": [{"text": text}]}


def _signature(parts: Sequence[Any]) -> dict[str, Any]:
    """Return the first signature in a turn; the turn's tombstone needs it."""
    for part in parts:
        for name in ("thoughtSignature", "thought_signature"):
            if part.get(name):
                return {name: part[name]}
    return {}


def _shortened(part: Mapping[str, Any], text: str) -> Any:
    kind, name, data = data_of(part)
    if kind == "text":
        return {**part, name: text}
    if kind == "functionResponse":  # the text replaces its media as well
        kept = {field: value for field, value in data.items() if field != "parts"}
        return {**part, name: {**kept, "response": {"output": text}}}
    return part
