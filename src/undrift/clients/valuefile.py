"""One value in a settings file: put in, and taken out so that the bytes from before come back. Pure.

A value that stands there already is replaced, and its text is kept to be put back. Changes of the user elsewhere in the file
stay.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from undrift.clients.jsonedit import inserted, item_span, member_span, shown
from undrift.clients.jsontext import Node, line_end_of, parse
from undrift.errors import InputError

__all__ = ["BLANK", "JsonValues", "ValueFile", "ValueNote", "inherited", "noted"]

BLANK = "\ufeff \t\r\n"


@dataclass(frozen=True, slots=True)
class ValueNote:
    """The memory of a value that was put in.

    Args:
        key: The path of the value.
        piece: The text that was put in; empty if the value replaced another one.
        former: The text of the replaced value; None if there was none.
        new_objects: How many objects on the path, counted from the innermost, were added for the value.
        item: The item that was added to the list at the path; empty if the value is no list with others' items.
    """

    key: tuple[str, ...]
    piece: str = ""
    former: str | None = None
    new_objects: int = 0
    item: str = ""


def noted(record: Mapping[str, Any]) -> ValueNote:
    """Return a note from its JSON. Raises InputError: it is none."""
    try:
        key, item = tuple(map(str, record["key"])), str(record.get("item", ""))
        former = None if record["former"] is None else str(record["former"])
        if item and former is not None:
            json.loads(former)
        return ValueNote(key, str(record["piece"]), former, int(record["new_objects"]), item)
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"the note on what undrift added cannot be read ({error!r})") from error


def inherited(note: ValueNote, first: ValueNote) -> ValueNote:
    """Return the note on an item of a list that was made for a first item, which was removed: the list goes with this one."""
    if first.former is not None or note.key != first.key or note.former is None or not first.item:
        return note
    if json.loads(note.former) != [first.item]:
        return note
    piece = first.piece.replace(json.dumps(first.item), json.dumps(note.item))
    return replace(first, piece=piece, item=note.item)


class ValueFile(Protocol):
    """The form of a settings file. Each method raises InputError if the text is malformed, or the value cannot be there."""

    def value(self, text: str, key: Sequence[str]) -> Any:
        """Return the value of a key. None means: it is not set."""
        ...

    def put(self, text: str, key: Sequence[str], value: Any) -> tuple[str, ValueNote]:
        """Set a value; return the new text, and what `take` needs."""
        ...

    def take(self, text: str, key: Sequence[str], kept: ValueNote | None) -> str:
        """Remove a value, or put the former one in its place; `kept`: None if nothing is remembered."""
        ...


@dataclass(frozen=True, slots=True)
class JsonValues:
    """A JSON file; `comments`: the client allows comments in it."""

    comments: bool = False

    def value(self, text: str, key: Sequence[str]) -> Any:
        """See `ValueFile`."""
        if not text.strip(BLANK):
            return None
        nodes = self._nodes(text, key)
        return nodes[-1].value if len(nodes) > len(key) else None

    def put(self, text: str, key: Sequence[str], value: Any) -> tuple[str, ValueNote]:
        """See `ValueFile`."""
        if not text.strip(BLANK):
            document = json.dumps(_nested(key, value), indent=2, ensure_ascii=False) + "\n"
            return text + document, ValueNote(tuple(key), document, new_objects=len(key) - 1)
        nodes = self._nodes(text, key)
        depth = len(nodes)
        if depth > len(key):
            start, end = nodes[-1].start, nodes[-1].end
            return text[:start] + shown(value, text, len(key)) + text[end:], ValueNote(
                tuple(key), former=text[start:end]
            )
        part = f"{json.dumps(key[depth - 1])}: {shown(_nested(key[depth:], value), text, depth)}"
        after, piece = inserted(text, nodes[-1], [part], depth)
        return after, ValueNote(tuple(key), piece, new_objects=len(key) - depth)

    def take(self, text: str, key: Sequence[str], kept: ValueNote | None) -> str:
        """See `ValueFile`."""
        if not text.strip(BLANK):
            return text
        nodes = self._nodes(text, key)
        if len(nodes) <= len(key):
            return text
        if kept is not None and kept.former is not None:
            return text[: nodes[-1].start] + kept.former + text[nodes[-1].end :]
        made = kept.new_objects if kept else 0
        wanted = _without(nodes[0].value, key, made)
        for piece in _forms_of(kept.piece, text, len(key) - made) if kept else ():
            exact = text.replace(piece, "") if text.count(piece) == 1 else text
            if exact != text and self._is(exact, wanted):
                return exact
        for depth in range(len(key) - 1, -1, -1):
            nodes = self._nodes(text, key[: depth + 1])
            if depth < len(key) - 1 and (made <= 0 or nodes[-1].members):
                break
            made -= depth < len(key) - 1
            start, end = member_span(nodes[depth], key[depth])
            text = text[:start] + text[end:]
        return text

    def add(self, text: str, key: Sequence[str], item: str) -> tuple[str, ValueNote]:
        """Add an item to a list, which is made if it is not there; return the new text, and what `drop` needs."""
        nodes = self._nodes(text, key) if text.strip(BLANK) else []
        if len(nodes) <= len(key):
            text, kept = self.put(text, key, [item])
            return text, replace(kept, item=item)
        if nodes[-1].kind != "array":
            raise InputError(f"{'.'.join(key)} is not a list")
        former = text[nodes[-1].start : nodes[-1].end]
        after, _ = inserted(text, nodes[-1], [json.dumps(item)], len(nodes))
        return after, ValueNote(tuple(key), former=former, item=item)

    def drop(self, text: str, kept: ValueNote) -> str:
        """Remove an item that `add` has put in. Items that others have added since stay, and their list with them."""
        found = self.value(text, kept.key)
        if not isinstance(found, list) or kept.item not in found:
            return text
        former = [] if kept.former is None else json.loads(kept.former)
        if found == [*former, kept.item]:
            return self.take(text, kept.key, kept)
        start, end = item_span(self._nodes(text, kept.key)[-1], found.index(kept.item))
        return text[:start] + text[end:]

    def _is(self, text: str, wanted: Any) -> bool:
        """Return whether a text has exactly this value; a blank text has none."""
        if not text.strip(BLANK):
            return not wanted
        try:
            return bool(parse(text, comments=self.comments).value == wanted)
        except InputError:
            return False

    def _nodes(self, text: str, key: Sequence[str]) -> list[Node]:
        """Return the nodes on the way to a value, the root first; the value is the last one if it is there."""
        nodes = [parse(text, comments=self.comments)]
        if nodes[0].kind != "object":
            raise InputError("is not a JSON object")
        for number, name in enumerate(key):
            found = nodes[-1].members.get(name)
            if found is None:
                break
            if number < len(key) - 1 and found.kind != "object":
                raise InputError(f"keeps something else under {name!r}")
            nodes.append(found)
        return nodes


def _nested(key: Sequence[str], value: Any) -> Any:
    for name in reversed(key):
        value = {name: value}
    return value


def _without(value: Any, key: Sequence[str], new_objects: int) -> Any:
    """Return a copy of a document without a value, and without the empty objects that were added for it."""
    name, rest = key[0], key[1:]
    out = dict(value)
    if rest:
        out[name] = _without(out[name], rest, new_objects)
    if not rest or (not out[name] and len(rest) <= new_objects):
        del out[name]
    return out


def _forms_of(piece: str, text: str, depth: int) -> tuple[str, ...]:
    """Return a piece as it was put in, and as it stands if the member in front of it was taken out since."""
    end = line_end_of(text)
    unit = piece.removeprefix(",").removeprefix(end)
    indent = unit[: len(unit) - len(unit.lstrip(" \t"))]
    outer = indent[: len(indent) * (depth - 1) // depth] if depth else ""
    return (piece, f"{piece[1:]}{end}{outer}") if piece.startswith(",") else (piece,)
