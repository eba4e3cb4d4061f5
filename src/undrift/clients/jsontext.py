"""JSON text with the places of its values, so that it can be edited without being rewritten. Pure.

Comments and trailing commas, as some clients allow them, are passed over where `comments` says so.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from undrift.errors import InputError

__all__ = ["Node", "indent_of", "line_end_of", "parse"]

_MOST_DEPTH = 100
_SPACE = re.compile(r"[ \t\r\n]*")
_SPACE_AND_COMMENTS = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?>(?:[^"\\\x00-\x1f]|\\.)*)"|-?\d[\d.eE+-]*|true|false|null')
_INDENT = re.compile(r'^([ \t]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place in the text."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    value: Any
    keys: dict[str, int] = field(default_factory=dict)
    members: dict[str, "Node"] = field(default_factory=dict)
    items: tuple["Node", ...] = ()


def parse(text: str, *, comments: bool = False) -> Node:
    """Read one JSON document.

    Raises InputError: it is malformed, names a key twice, or nests too deeply; the message says where.
    """
    scanner = _Scanner(text, _SPACE_AND_COMMENTS if comments else _SPACE, comments)
    start = scanner.past_space(1 if text.startswith("\ufeff") else 0)
    node = scanner.value(start, 0)
    if (end := scanner.past_space(node.end)) != len(text):
        raise scanner.fault(end)
    return node


class _Scanner:
    def __init__(self, text: str, space: re.Pattern[str], lenient: bool) -> None:
        self._text = text
        self._space = space
        self._lenient = lenient

    def past_space(self, at: int) -> int:
        match = self._space.match(self._text, at)
        return match.end() if match else at

    def fault(self, at: int, what: str = "is not valid JSON") -> InputError:
        line = self._text.count("\n", 0, at) + 1
        return InputError(f"line {line} {what}")

    def value(self, at: int, depth: int) -> Node:
        opening = self._text[at : at + 1]
        if depth > _MOST_DEPTH:
            raise self.fault(at, "nests too deeply")
        if opening == "{":
            return self._object(at, depth)
        if opening == "[":
            return self._array(at, depth)
        match = _SCALAR.match(self._text, at)
        if not match:
            raise self.fault(at)
        try:
            return Node("scalar", at, match.end(), json.loads(match.group()))
        except ValueError as error:
            raise self.fault(at) from error

    def _object(self, start: int, depth: int) -> Node:
        keys, members = dict[str, int](), dict[str, Node]()
        at = self.past_space(start + 1)
        while self._text[at : at + 1] != "}":
            key = self.value(at, depth + 1) if self._text[at : at + 1] == '"' else None
            if key is None:
                raise self.fault(at)
            if key.value in members:
                raise self.fault(at, f"names {key.value!r} a second time")
            colon = self.past_space(key.end)
            if self._text[colon : colon + 1] != ":":
                raise self.fault(colon)
            keys[key.value] = at
            members[key.value] = member = self.value(self.past_space(colon + 1), depth + 1)
            at = self._past_comma(member.end, "}")
        value = {name: node.value for name, node in members.items()}
        return Node("object", start, at + 1, value, keys, members)

    def _array(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        at = self.past_space(start + 1)
        while self._text[at : at + 1] != "]":
            items.append(self.value(at, depth + 1))
            at = self._past_comma(items[-1].end, "]")
        return Node("array", start, at + 1, [node.value for node in items], items=tuple(items))

    def _past_comma(self, at: int, closing: str) -> int:
        at = self.past_space(at)
        if self._text[at : at + 1] == closing:
            return at
        if self._text[at : at + 1] != ",":
            raise self.fault(at)
        after = self.past_space(at + 1)
        if self._text[after : after + 1] == closing and not self._lenient:
            raise self.fault(at)
        return after


def indent_of(text: str) -> str:
    """Return the indentation of one level: that of the first indented member, else two spaces."""
    match = _INDENT.search(text)
    return match.group(1) if match else "  "


def line_end_of(text: str) -> str:
    """Return the line end that the text uses."""
    return "\r\n" if "\r\n" in text else "\n"
