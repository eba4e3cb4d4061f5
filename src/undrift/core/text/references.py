"""A reference is a name or a line of code: what an agent may need again. Pure, linear in the text.

Law: the only definition. The engine weighs references by it, the measure counts them by it, and so do the restore text and
the autopsy. Each of them has its own rule for *needed* (docs/MEASURES.md).
"""

import re
from typing import Literal

__all__ = [
    "LINE_CHARACTERS",
    "NAME_CANDIDATE",
    "NameTable",
    "RARE_MENTIONS",
    "Reference",
    "decoded_call",
    "line_number",
    "lines_of",
    "name_in",
    "normal",
    "references_in",
]

Reference = tuple[Literal["identifier", "line"], str]

RARE_MENTIONS = 6
"""A reference that more entries mention turns up again by itself: to keep it, or to give it back, shows nothing."""

LINE_CHARACTERS = range(30, 301)
"""A shorter line says little; a longer one is data, not code that an agent copies."""

NAME_CANDIDATE = re.compile(r"[A-Za-z0-9_./\-]{6,120}")
"""Not ``\\w``: the characters of identifiers, paths, versions and flags in code."""

_NAME_EDGE = "./-_"
_NAME_MIN_CHARACTERS = 6
_NAME_SHAPE = re.compile(r"[_/.\d]|[a-z][A-Z]")
"""A name differs from a plain word by a joint, a digit, or a hump."""

_GUTTER = re.compile(r"\s*(\d{1,9})\s*[→|:\t]")


class NameTable(dict[str, str | None]):
    """Candidate -> the name in it, None for a plain word. It fills itself; share one among the entries of a run."""

    def __missing__(self, candidate: str) -> str | None:
        name = self[candidate] = name_in(candidate)
        return name


def name_in(candidate: str) -> str | None:
    """Return the name in a match of `NAME_CANDIDATE`, None for a plain word."""
    name = candidate.strip(_NAME_EDGE)
    return name if len(name) >= _NAME_MIN_CHARACTERS and _NAME_SHAPE.search(name) else None


def line_number(line: str) -> int | None:
    """Return the number in front of a line of a listing, None for any other line."""
    gutter = _GUTTER.match(line)
    return int(gutter[1]) if gutter else None


def normal(line: str) -> str:
    """Return a line without outer space and without the number of a listing: the form in which lines are compared."""
    stripped = line.strip()
    if stripped and stripped[0].isdigit() and (gutter := _GUTTER.match(line)):
        return line[gutter.end() :].strip()
    return stripped


def decoded_call(text: str) -> str:
    """Return the JSON of a call with its escaped newlines, tabs and quotes as written."""
    return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def lines_of(text: str) -> list[str]:
    """Return every line of a text or call in its normal form."""
    return [normal(line) for line in decoded_call(text).split("\n")]


def references_in(text: str) -> frozenset[Reference]:
    """Return every name and line of code of a text."""
    found: set[Reference] = {
        ("identifier", name) for candidate in NAME_CANDIDATE.findall(text) if (name := name_in(candidate))
    }
    found.update(("line", line) for line in lines_of(text) if len(line) in LINE_CHARACTERS)
    return frozenset(found)
