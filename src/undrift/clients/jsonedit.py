"""Adds and removes members and items of a JSON text, in its own style; the rest of the text stays unchanged. Pure."""

import json
from collections.abc import Sequence
from typing import Any

from undrift.clients.jsontext import Node, indent_of, line_end_of

__all__ = ["inserted", "item_span", "member_span", "shown"]


def item_span(array: Node, index: int) -> tuple[int, int]:
    """Return the span to cut to remove one item and its comma."""
    items = array.items
    if index:
        return items[index - 1].end, items[index].end
    return (items[0].start, items[1].start) if len(items) > 1 else (array.start + 1, array.end - 1)


def member_span(container: Node, name: str) -> tuple[int, int]:
    """Return the span to cut to remove one member of an object and its comma."""
    names = list(container.members)
    index = names.index(name)
    if index:
        return container.members[names[index - 1]].end, container.members[name].end
    if len(names) > 1:
        return container.keys[name], container.keys[names[1]]
    return container.start + 1, container.end - 1


def shown(value: Any, text: str, depth: int) -> str:
    """Return a value as JSON, indented for its depth in the style of the text."""
    unit, line_end = indent_of(text), line_end_of(text)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (line_end + unit * depth).join(lines)


def inserted(text: str, container: Node, parts: Sequence[str], depth: int) -> tuple[str, str]:
    """Append parts to a JSON object or array; return the new text and the inserted piece."""
    unit, line_end = indent_of(text), line_end_of(text)
    start = line_end + unit * depth
    body = ("," + start).join(parts)
    last = [*container.members.values(), *container.items]
    if last:
        at, piece = last[-1].end, "," + start + body
    else:
        at, piece = container.start + 1, start + body + line_end + unit * (depth - 1)
    return text[:at] + piece + text[at:], piece
