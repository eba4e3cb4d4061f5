"""The ways a text can be read: without colours, one layer decoded, wrapped lines joined, base64 opened. Pure, and linear.

Each reading knows where its characters come from, so that what is found in it is masked in the text. It holds only what
stands around a code: a code costs what stands beside it, not the text. One layer of each kind is read, and base64 inside
the others.
"""

import binascii
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from undrift.core.text.pieces import pieces
from undrift.core.text.secret_values import is_mixed

__all__ = ["TextReading", "readings"]

_TOKEN = "A-Za-z0-9+/=_.:~-"  # the characters of keys
_TOKEN_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.:~-")
_STRIPPED = "".join(sorted(_TOKEN_CHARACTERS))
_OF_KEY = "".join(sorted(_TOKEN_CHARACTERS - {":", "="}))
_AROUND = 320  # characters of a reading on each side of a code; the rest of a run comes with them
_RUN_CHARACTERS = 16_384
_NARROWEST, _WIDEST = 16, 76  # characters of a wrapped line
_BETWEEN = "\n\0\n"  # between two pieces that stand apart: nothing is found across it
_LONGEST_CODE = 600

_PARAMETERS = r"\[[0-9;:?]{0,32}+[A-Za-z]"
_ESCAPE = re.compile(
    rf"\x1b(?:{_PARAMETERS}|\][^\x07\x1b\n]{{0,512}}+(?:\x07|\x1b\\))"
    rf"|\\\\{{0,3}}(?:(?:u001[bB]|x1[bB]|033|e){_PARAMETERS}|(?:u00|x)([2-7][0-9a-fA-F]|0[aAdD9])|(/))"
    rf"|\^\[{_PARAMETERS}"
    r"|%(?:25)?([2-7][0-9a-fA-F]|0[aAdD9])"
)
_ESCAPE_SIGNS = ("\x1b", "\\", "%", "^[[")
# A line break between characters of keys, sixteen of them before it; as itself, or as a JSON string has it.
_BREAK = re.compile(
    rf"(?:\n(?<=[{_TOKEN}]{{16}}\n|[{_TOKEN}]{{15}}\r\n)|\\\\?n(?<=[{_TOKEN}]{{16}}\\n|[{_TOKEN}]{{15}}\\\\n))"
    rf"[ \t]{{0,8}}(?=[{_TOKEN}])"
)
_LINE_ENDS = "\r\n\"'`<\\,;)}]"
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+(?![A-Za-z0-9+/_-])")
_RUN_END = re.compile(r"[\s\"'`<>,;]")
_STANDARD = {45: "+", 95: "/"}  # the alphabet of URLs as the other one
_TEXT_BYTES = bytes([9, 10, 13, *range(32, 127), *range(128, 256)])
_SPACES = {9: " ", 10: " ", 13: " "}

_Kind = Literal["same", "whole", "base64"]
_Change = tuple[int, int, str]  # where a code begins and ends, and what it is read as


@dataclass(frozen=True, slots=True)
class TextReading:
    """A text as it can be read, with the way back.

    Args:
        text: What is read.
        starts: Where each piece begins in `text`, in order.
        sources: For each piece where it comes from, and how: character by character, as a whole, or from base64.
        inner_of: The reading that the sources are places of; None if they are places of the text itself.
    """

    text: str
    starts: list[int]
    sources: list[tuple[int, int, _Kind]]
    inner_of: "TextReading | None" = None

    def source(self, start: int, end: int) -> tuple[int, int] | None:
        """Say which part of the text a part of this reading comes from; None if its ends stand apart."""
        if "\0" in self.text[start:end]:
            return None
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        begin, _, kind = self.sources[first]
        offset = start - self.starts[first]
        begin += {"same": offset, "whole": 0, "base64": offset * 4 // 3}[kind]
        last_begin, stop, kind = self.sources[last]
        offset = end - self.starts[last]
        stop = {"same": last_begin + offset, "whole": stop, "base64": min(stop, last_begin - (-offset * 4 // 3))}[kind]
        return (begin, stop) if self.inner_of is None else self.inner_of.source(begin, stop)


def readings(text: str, known: Iterable[tuple[int, int]] = ()) -> Iterator[TextReading]:
    """Yield the readings of a text in which more may be found than in the text.

    Args:
        known: What was found in the text as it stands: where one ends or begins, a line break is no part of a key.
    """
    codes, colours = _codes(text)
    for changes in (codes, _joints(text, colours, known)):
        if changes:
            reading = _rewritten(text, changes)
            yield reading
            yield from _opened(reading.text, reading)
    yield from _opened(text, None)


def _matches(expression: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches in order, piece by piece; none is longer than `_LONGEST_CODE`."""
    last = 0
    for start, end in pieces(text):
        for match in expression.finditer(text, max(start, last), min(len(text), end + _LONGEST_CODE)):
            if match.start() >= end:
                break
            last = match.end()
            yield match


def _codes(text: str) -> tuple[list[_Change], list[_Change]]:
    """Give what is read as another character, a colour as a space; and the colours alone, those side by side as one."""
    codes: list[_Change] = []
    colours: list[_Change] = []
    if not any(sign in text for sign in _ESCAPE_SIGNS):
        return codes, colours
    for match in _matches(_ESCAPE, text):
        start, end = match.span()
        sign = match[1] or match[3]
        if sign or match[2]:
            codes.append((start, end, chr(int(sign, 16)) if sign else "/"))
            continue
        codes.append((start, end, " "))
        if colours and colours[-1][1] == start:
            start = colours.pop()[0]
        colours.append((start, end, " "))
    return codes, colours


def _joints(text: str, colours: list[_Change], known: Iterable[tuple[int, int]]) -> list[_Change]:
    """Give what may stand inside a key and is none of it, colours and line breaks, and the other colours near one."""
    joints = [(start, end, "") for start, end, _ in colours if _is_inside(text, start, end)]
    joints += _wraps(text, known)
    joints += _lines_of_one_length(text, known)
    if not joints:
        return []
    joints = sorted(set(joints))
    places = [joint[0] for joint in joints]
    for colour in colours:
        at = bisect_left(places, colour[0])
        is_near = any(abs(places[i] - colour[0]) <= _AROUND for i in (at - 1, at) if 0 <= i < len(places))
        if is_near and not (at < len(places) and places[at] == colour[0]):
            joints.append(colour)
    return sorted(joints)


def _is_inside(text: str, start: int, end: int) -> bool:
    return start > 0 and text[start - 1] in _TOKEN_CHARACTERS and text[end : end + 1] in _TOKEN_CHARACTERS


def _wraps(text: str, known: Iterable[tuple[int, int]]) -> Iterator[_Change]:
    """Yield the line breaks in wrapped runs: the next line is nothing but a run, and no longer.

    Two lines of one length are a wrapped text. Behind a secret, a shorter second line belongs to it only if no one writes it by hand.
    """
    begins: set[int] | None = None
    ends: set[int] = set()
    line_start = line_width = -1  # the line behind the break before, and the length of the one in front of it
    for match in _matches(_BREAK, text):
        start, end = match.span()
        start -= text[start - 1] == "\r"
        before = text[max(0, start - _WIDEST - 2) : start]
        width = len(before) - len(before.rstrip(_STRIPPED))
        if line_start >= start - width:
            width = start - line_start
        elif text[start - width - 1 : start - width + 1] in ("\\n", "\\t", "\\r"):
            width -= 1  # a letter of an escape
        size = _size_of_line(text, end, width + 3)
        if not (_NARROWEST <= width <= _WIDEST and 0 < size <= width):
            continue
        if begins is None:
            begins, ends = {start for start, _ in known}, {end for _, end in known}
        is_sure = size == width or (line_start == start - width and line_width == width)
        if end not in begins and (is_sure or start not in ends or is_mixed(text[end : end + size])):
            yield (start, end, "")
            line_start, line_width = end, width


def _lines_of_one_length(text: str, known: Iterable[tuple[int, int]]) -> Iterator[_Change]:
    """Yield the line breaks of a terminal of few columns: inside a word, between lines of one length or before the last."""
    edges: set[int] | None = None
    start = before = 0
    is_wrapped = False
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        size = end - start - text.endswith("\r", start, end)
        is_next = _NARROWEST <= before <= _WIDEST + 4 and (size == before or (is_wrapped and 0 < size < before))
        is_wrapped = is_next and size == before
        if is_next and text[start] in _TOKEN_CHARACTERS:
            first = start - 1 - (text[start - 2] == "\r")
            if text[first - 1] in _TOKEN_CHARACTERS:
                if edges is None:
                    edges = {place for span in known for place in span}
                if first not in edges and start not in edges:
                    yield (first, start, "")
        before, start = size, end + 1


def _size_of_line(text: str, start: int, most: int) -> int:
    """Say how long a line is that holds nothing but the rest of a key; 0 if it holds more."""
    line = text[start : start + most]
    size = len(line) - len(line.lstrip(_OF_KEY))
    size += len(line[size:]) - len(line[size:].lstrip("="))
    return size if line[size : size + 1] in _LINE_ENDS else 0


def _rewritten(text: str, changes: list[_Change]) -> TextReading:
    """Make the reading of what stands around the changes."""
    parts: list[str] = []
    starts: list[int] = []
    sources: list[tuple[int, int, _Kind]] = []
    size = 0

    def add(part: str, start: int, end: int, kind: _Kind) -> None:
        nonlocal size
        if part:
            parts.append(part)
            starts.append(size)
            sources.append((start, end, kind))
            size += len(part)

    read_to = _first_of_run(text, changes[0][0] - _AROUND, 0)
    for start, end, put in changes:
        if start - read_to > 2 * _AROUND:
            stop = _end_of_run(text, read_to + _AROUND, start)
            begin = _first_of_run(text, start - _AROUND, stop)
            if begin > stop:
                add(text[read_to:stop], read_to, stop, "same")
                add(_BETWEEN, stop, begin, "whole")
                read_to = begin
        add(text[read_to:start], read_to, start, "same")
        add(put, start, end, "whole")
        read_to = end
    stop = _end_of_run(text, read_to + _AROUND, len(text))
    add(text[read_to:stop], read_to, stop, "same")
    return TextReading("".join(parts), starts, sources)


def _end_of_run(text: str, at: int, most: int) -> int:
    """Say where the run ends in which a place stands."""
    if at >= most:
        return most
    found = _RUN_END.search(text, at, min(most, at + _RUN_CHARACTERS))
    return found.start() if found else min(most, at + _RUN_CHARACTERS)


def _first_of_run(text: str, at: int, least: int) -> int:
    """Say where the run begins in which a place stands; it is not looked for far."""
    if at <= least:
        return least
    begin = max(least, at - _AROUND)
    return max(begin, *(text.rfind(sign, begin, at) + 1 for sign in " \n\"'"))


def _opened(text: str, inner_of: TextReading | None) -> Iterator[TextReading]:
    """Yield what the base64 in a text holds, if any of it is text: one reading for all."""
    parts: list[str] = []
    starts: list[int] = []
    sources: list[tuple[int, int, _Kind]] = []
    size = 0
    for begin, stop in pieces(text):
        for run in _BASE64.finditer(text, begin, stop):
            plain = _plain(run[0])
            if plain:
                parts += (plain, _BETWEEN)
                starts += (size, size + len(plain))
                sources += ((run.start(), run.end(), "base64"), (run.end(), run.end(), "whole"))
                size += len(plain) + len(_BETWEEN)
    if parts:
        yield TextReading("".join(parts), starts, sources, inner_of)


def _plain(run: str) -> str:
    """Decode base64 of either alphabet, a character for a byte; empty if it is no text."""
    standard = run.translate(_STANDARD) if "-" in run or "_" in run else run
    try:
        if binascii.a2b_base64(standard[:24]).translate(None, _TEXT_BYTES):
            return ""
        rest = len(standard) % 4
        raw = binascii.a2b_base64(standard[:-1] if rest == 1 else standard + "=" * (-rest % 4))
        plain = raw.decode()
    except ValueError:
        return ""
    return raw.decode("latin-1") if plain.translate(_SPACES).isprintable() else ""
