"""Folds repeated and noisy lines of a tool's result, and keeps every distinct line. Pure; in linear time.

Noise is: a terminal's escape codes; text overwritten after a carriage return; lines equal to the line before. The
consecutive numbers of a listing are noise too, and so are long runs of encoded data, except their beginning.

Law: line by line. A line keeps its number whether it is folded or not, so that ranges of lines mean the same in both
forms. The same text always gives the same bytes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq
from typing import Literal

__all__ = ["Fold", "Folded", "fold_lines", "lines_without_noise"]

Fold = Literal["noise", "all"]
"""The extent of a fold: all noise but the numbers of a listing, or those as well."""

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[()*+#%][0-~]|[@-OQ-WYZ\\`-~=>78])"
)
_ERASE = re.compile(r"\x1b\[[02]?K")
_TO_LINE_START = re.compile(r"\r|\x1b\[[01]?G")
_NUMBER = re.compile(r"[ \t]*([0-9]{1,7})(→|\t| ?\|)")
_DATA = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{256,}={0,2}")
_DATA_LINE = re.compile(r"[A-Za-z0-9+/]{60,100}={0,2}")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")

_LEAST_NUMBERED = 4  # lines with consecutive numbers; two may be consecutive by chance
_LEAST_DATA_LINES = 8
_DATA_CHARACTERS = 256
_DATA_HEAD = 24
_LEAST_DISTINCT = 11  # more than the digits alone
_LEAST_SAVED = 24  # characters that a mark must save beyond its own


@dataclass(frozen=True, slots=True)
class Folded:
    """A text whose noisy lines are folded.

    Args:
        plain: Each line without escape codes, overwritten text and data; with its number.
        lines: The same lines in sequence: without a consecutive number; None if only a mark replaces the line.
        data: Numbers of the lines that a mark replaces because they are data; others repeat the line before.
    """

    plain: Sequence[str]
    lines: Sequence[str | None]
    data: frozenset[int]
    what: tuple[str, ...]

    def lengths(self) -> list[int]:
        """Return the characters of each line with its newline; 0 for a line that a marker replaces."""
        return [0 if line is None else len(line) + 1 for line in self.lines]

    def shown(self, start: int, end: int) -> list[str]:
        """Return the folded lines of a range."""
        found, number = [], start
        while number < end:
            line = self.lines[number]
            found.append(self.plain[number] if line is None else line)
            number += 1
            if hidden := self._hidden(number, end):
                kind = "lines of data" if number in self.data else "lines like it"
                found.append(f"[{hidden:,} more {kind}]")
                number += hidden
        return found

    def _hidden(self, start: int, end: int) -> int:
        """Count the lines, from a number on, that one marker replaces."""
        number, is_data = start, start in self.data
        while number < end and self.lines[number] is None and (number in self.data) == is_data:
            number += 1
        return number - start


def fold_lines(text: str, fold: Fold) -> Folded:
    """Fold the noisy lines of a text; if there is no noise, no line changes and `what` is empty."""
    lines = text.split("\n")
    what: list[str] = []
    if "\r" in text or "\x1b" in text:
        lines = _without_codes(text, lines, what)
    data = _without_data(lines, what)
    shown: list[str | None] = [*lines]
    for number in data:
        shown[number] = None
    _without_repeats(lines, shown, what)
    if fold == "all":
        _without_numbers(lines, shown, what)
    return Folded(lines, shown, frozenset(data), tuple(what))


def lines_without_noise(text: str) -> Sequence[str | None]:
    """Return the lines of a text without noise, each with its number; None for a repeated line."""
    return fold_lines(text, "noise").lines


def _without_codes(text: str, lines: list[str], what: list[str]) -> list[str]:
    """Return each line as a terminal shows it in the end, without control codes."""
    found = [_final(line) if "\r" in line or "\x1b" in line else line for line in lines]
    if "\x1b" in text and found != lines:
        what.append("escape codes")
    if "\r" in text:
        what.append("overwritten text" if "\r" in text.replace("\r\n", "\n") else "carriage returns")
    return found


def _final(line: str) -> str:
    """Return the text that a terminal shows for a line in the end: later characters overwrite earlier ones."""
    out = ""
    for part in reversed(_TO_LINE_START.split(line)):
        written = _ESCAPE.sub("", part) if "\x1b" in part else part
        if len(written) > len(out):
            out += written[len(out) :]
        if out and written is not part and _ERASE.search(part):
            break
    return out


def _without_data(lines: list[str], what: list[str]) -> set[int]:
    """Shorten encoded data in lines; return the numbers of lines in which data of the line before continues."""
    found: set[int] = set()
    run: list[int] = []
    for number in [n for n, line in enumerate(lines) if len(line) >= _DATA_CHARACTERS or _may_be_data(line)]:
        line = lines[number]
        if len(line) >= _DATA_CHARACTERS:
            lines[number] = _DATA.sub(_shortened_data, line)
            if lines[number] is not line and lines[number] != line and "long data" not in what:
                what.append("long data")
        elif _DATA_LINE.fullmatch(line):
            if run and run[-1] != number - 1:
                run = []
            run.append(number)
            if len(run) == _LEAST_DATA_LINES and _is_mixed("".join(lines[n] for n in run)):
                found.update(run[1:])
                if "long data" not in what:
                    what.append("long data")
            elif len(run) > _LEAST_DATA_LINES and number - 1 in found:
                found.add(number)
    return found


def _may_be_data(line: str) -> bool:
    return 60 <= len(line) <= 102 and " " not in line


def _shortened_data(match: re.Match[str]) -> str:
    run = match.group()
    if not _is_data(run[:_DATA_CHARACTERS]):
        return run
    return f"{run[:_DATA_HEAD]}[{len(run) - _DATA_HEAD:,} more characters of data]"


def _is_data(text: str) -> bool:
    """Return whether a text is encoded data, not a word, path or pattern."""
    return _is_mixed(text) or (len(set(text)) >= _LEAST_DISTINCT and _HEX.fullmatch(text) is not None)


def _is_mixed(text: str) -> bool:
    """Return whether a text has upper and lower case and digits, and many different characters."""
    if len(set(text)) < _LEAST_DISTINCT:
        return False
    return any(map(str.isdigit, text)) and any(map(str.isupper, text)) and any(map(str.islower, text))


def _without_repeats(lines: Sequence[str], shown: list[str | None], what: list[str]) -> None:
    if not any(map(eq, lines, lines[1:])):
        return
    start = 0
    for number in range(1, len(lines) + 1):
        is_shown = number < len(lines) and shown[number] is not None and shown[start] is not None
        if is_shown and lines[number] == lines[start]:
            continue
        again = number - start - 1
        if again * (len(lines[start]) + 1) > 2 * _LEAST_SAVED:
            shown[start + 1 : number] = [None] * again
            if "repeated lines" not in what:
                what.append("repeated lines")
        start = number


def _without_numbers(lines: Sequence[str], shown: list[str | None], what: list[str]) -> None:
    """Remove consecutive line numbers of a listing, except the first of each run."""
    run: list[tuple[int, int]] = []  # number of a line, and where its text begins
    last: tuple[int, str] = (-2, "")

    def close() -> None:
        if len(run) >= _LEAST_NUMBERED:
            shown[run[0][0]] = lines[run[0][0]].lstrip(" \t")
            for number, begins in run[1:]:
                shown[number] = lines[number][begins:]
            if "line numbers" not in what:
                what.append("line numbers")
        run.clear()

    for number, line in enumerate(lines):
        found = _NUMBER.match(line) if shown[number] is not None else None
        if found is None:
            if run:
                close()
            continue
        counted, mark = int(found.group(1)), found.group(2)
        if run and (counted, mark) != (last[0] + 1, last[1]):
            close()
        last = (counted, mark)
        run.append((number, found.end()))
    close()
