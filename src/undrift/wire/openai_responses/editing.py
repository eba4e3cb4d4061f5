"""OpenAI Responses: an edited input item. Pure.

Law: what no edit names is the very object that was given.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from undrift.wire.form import Edit

__all__ = ["edit", "user_item"]


def edit(item: Any, edits: Mapping[int, Edit], appended: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return a copy of an item with `edits` and texts `appended`; see `Form.edit`.

    Only a message takes `appended`, and only a message and an output another text.
    """
    if "content" in item and item.get("type") in (None, "message"):
        return _message(item, edits, appended)
    found = edits.get(0)
    if found is None:
        return dict(item)
    if found.text is None:
        return None
    return {**item, "output": found.text} if "output" in item else dict(item)


def _message(item: Mapping[str, Any], edits: Mapping[int, Edit], appended: Sequence[str]) -> dict[str, Any] | None:
    content = item["content"]
    spoken = "output_text" if item.get("role") == "assistant" else "input_text"
    parts: list[Any] = [_part(spoken, content)] if isinstance(content, str) else list(content)
    kept: list[Any] = []
    for number, part in enumerate(parts):
        found = edits.get(number)
        if found is None:
            kept.append(part)
        elif found.text is not None:
            kept.append({**part, ("refusal" if part["type"] == "refusal" else "text"): found.text})
    kept.extend(_part(spoken, text) for text in appended)
    if not kept:
        return None
    if isinstance(content, str) and len(kept) == 1:
        return {**item, "content": kept[0]["text"]}
    return {**item, "content": kept}


def user_item(text: str) -> dict[str, Any]:
    """Return an item in which the user says `text`; see `Form.user_item`."""
    return {"type": "message", "role": "user", "content": [_part("input_text", text)]}


def _part(type_: str, text: str) -> dict[str, Any]:
    return {"type": type_, "text": text}
