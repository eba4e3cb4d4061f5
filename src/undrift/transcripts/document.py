"""Splits a file that is one JSON document into its members, even if it is damaged. Pure; never raises on content.

The clients that keep a session in one document keep its messages in one long array. The document is not decoded as a
whole: its brackets are matched, and each member and each element of that array is decoded for itself, so that damage
costs the message that it is in, and a file that ends too early costs its last message.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.lines import MALFORMED, decode

__all__ = ["CUT", "DAMAGED", "LONGEST_CHARACTERS", "OUTSIDE", "members", "outline"]

CUT = "cut end of the document"
DAMAGED = "malformed part of the document"
OUTSIDE = "text outside the document"

LONGEST_CHARACTERS = 256 << 20
"""Far beyond any recorded session; what is longer is counted, since a document has to be held in memory whole."""

_OUTLINE_CHARACTERS = 1 << 20
_OUTLINE_DEPTH = 3
# a string (to the end of the text if it is cut), or what gives a document its shape
_TOKEN = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)

_Span = tuple[str, str, int, int, bool]
"""The bracket that it stands in (none outside of the document), the array's key, begin, end, and whether it ends there."""


def members(
    collector: Collector, lines: Iterable[str], arrays: Sequence[str], *, longest: int = LONGEST_CHARACTERS
) -> Iterator[tuple[str, RecordPlace, Any]]:
    """Yield each member of the document with its key and place; arrays in `arrays` are yielded element by element.

    The collector counts what cannot be decoded, and a document without its end.

    `arrays`: keys whose value, if it is an array, is given element by element under the same key.
    """
    text = _joined(collector, lines, longest)
    line, seen, number = 1, 0, 0
    for holder, key, start, end, complete in _spans(text, frozenset(arrays)):
        piece = text[start:end].strip()
        begin = text.find(piece, start)
        if not holder and piece:
            collector.skip(OUTSIDE)
        elif piece:
            newlines = text.count("\n", seen, begin)
            line, seen, number = line + newlines, begin, 0 if newlines else number + 1
            found, failed = decode(f"{{{piece}}}" if holder == "{" else f'{{"":{piece}}}')
            if failed and complete:
                collector.skip(DAMAGED if failed == MALFORMED else failed)
            elif failed:
                collector.cut(CUT)
            else:
                name, value = next(iter(found[0].items()))
                yield key if holder == "[" else name, RecordPlace(line, number), value
        if not complete:
            collector.cut(None)


def _joined(collector: Collector, lines: Iterable[str], longest: int) -> str:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > longest:
            collector.skip(f"beyond {longest:,} characters")
            break
        kept.append(line.removesuffix("\n"))
    return "\n".join(kept).removeprefix("\ufeff")


def _spans(text: str, arrays: frozenset[str]) -> Iterator[_Span]:
    """Match the brackets; `level` is the depth whose commas part the pieces."""
    depth = level = start = 0
    root = key = name = ""
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if mark in "[{":
            depth += 1
            if depth == 1:
                yield "", "", 0, token.start(), True
                root, level, start = mark, 1, token.end()
            elif depth == 2 and level == 1 and root == "{" and mark == "[" and key in arrays:
                level, start = 2, token.end()
        elif mark == '"':
            name = token[0][1:-1]
        elif mark == ":":
            key = name if depth == 1 else key
        elif depth:
            if depth == level:
                yield root if level == 1 else "[", key if level == 2 else "", start, token.start(), True
                start = token.end()
            if mark != ",":
                depth -= 1
                level = min(level, depth)
                if depth == 0:
                    break
    if depth:
        yield root if level == 1 else "[", key if level == 2 else "", start, len(text), False
    else:
        yield "", "", start, len(text), True


def outline(lines: Sequence[str]) -> frozenset[str]:
    """List the first keys of a document, such as ``info.id`` or ``messages[].parts``; the text may be incomplete."""
    text = "\n".join(line.removesuffix("\n") for line in lines)[:_OUTLINE_CHARACTERS]
    paths: set[str] = set()
    stack: list[str] = []  # of each open bracket the path of what is in it; deep ones need none
    name = key = ""
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if mark in "[{":
            path = stack[-1] + key if 0 < len(stack) < _OUTLINE_DEPTH else ""
            stack.append(path + ("[]" if mark == "[" else "." if stack else ""))
            key = ""
        elif mark == '"':
            name = token[0][1:-1]
        elif mark == ":" and stack:
            key = name
            if len(stack) <= _OUTLINE_DEPTH:
                paths.add(stack[-1] + key)
        elif mark == ",":
            key = ""
        elif mark in "]}" and stack:
            stack.pop()
            key = ""
            if not stack:
                break
    return frozenset(paths)
