"""The sections of the scratchpad: finds Markdown headings, and removes a section. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

__all__ = ["sections", "without_section"]

_HEADING = re.compile(r" {0,3}(#{1,2})(?=[ \t]|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)")


def sections(text: str) -> tuple[str, ...]:
    """Return the titles of the sections ``## title`` of a Markdown text, in order; fenced code has none."""
    return tuple(title for level, title, _ in _headings(text.splitlines(keepends=True)) if level == 2)


def without_section(text: str, title: str) -> str:
    """Return a Markdown text without the sections of this title; all other bytes stay the same."""
    lines = text.splitlines(keepends=True)
    headings = [*_headings(lines), (1, "", len(lines))]
    kept = lines[: headings[0][2]]
    for (level, found, start), (_, _, end) in pairwise(headings):
        if level != 2 or found != title.strip():
            kept += lines[start:end]
    return "".join(kept)


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str, int]]:
    fence = ""
    for number, line in enumerate(lines):
        if opened := _FENCE.match(line):
            run = opened.group(1)
            if not fence:
                fence = run
            elif run.startswith(fence) and not line[opened.end() :].strip():
                fence = ""
        elif not fence and (found := _HEADING.match(line.rstrip())):
            title = line[found.end() :].strip()
            closed = title.rstrip("#")
            yield len(found.group(1)), closed.strip() if closed[-1:] in {"", " ", "\t"} else title, number
