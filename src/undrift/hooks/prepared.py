"""The text prepared for the time after a compaction: stored in the session's folder, and used while it is current.

Law: a text is given only if all that the agent did before the compaction was known when it was made.
"""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, chain
from pathlib import Path

from undrift.hooks.home import read_small, write_small
from undrift.hooks.transcript import ReadPosition, Transcript, lines_before
from undrift.values.restored import MOST_PARTS, RestoredContents, goes_on

__all__ = ["PartLimits", "PreparedText", "has_news", "load", "save", "split", "units"]

_NAME = "restore.json"
_MOST_TAIL_BYTES = 1 << 20
_BETWEEN = 200
_PART = 9_900
"""In UTF-16 units, as Claude Code counts: a text of 9,900 arrived whole, and of one of 10,500 only a preview. In bytes, as Codex counts:
of one of 12,000 the middle was gone."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text in parts that the client takes, and what stands in it. `position`: it was made from everything before."""

    position: ReadPosition
    parts: tuple[str, ...]
    contents: RestoredContents


@dataclass(frozen=True, slots=True)
class PartLimits:
    """The limits of a text: into how many parts it may be cut, and how long each may be.

    `in_bytes`: a length is that in UTF-8; else it is as JavaScript counts.
    """

    parts: int = MOST_PARTS
    in_bytes: bool = False
    each: int = _PART

    @property
    def tokens(self) -> int:
        """The most characters / 4 that may fit: some place goes to the lines between the parts."""
        return self.parts * (self.each - _BETWEEN) // 4

    def length(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass")) if self.in_bytes else units(text)


_LIMITS = PartLimits()


def save(folder: Path, prepared: PreparedText) -> None:
    """Store a text for the hook that asks for it."""
    value = {"mark": asdict(prepared.position), "parts": prepared.parts, "contents": asdict(prepared.contents)}
    write_small(folder / _NAME, json.dumps(value).encode("ascii"))


def load(folder: Path, transcript: Transcript, format_name: str) -> PreparedText | None:
    """Return a text that is still current. None means: there is none."""
    try:
        value = json.loads(read_small(folder / _NAME) or b"null")
        position, parts = ReadPosition(**value["mark"]), tuple(value["parts"])
        contents = RestoredContents.of(value.get("contents"))
    except (ValueError, TypeError, KeyError):
        return None
    if not all(isinstance(part, str) for part in parts) or not transcript.knows(position):
        return None
    return None if has_news(transcript, position, format_name) else PreparedText(position, parts, contents)


def has_news(transcript: Transcript, position: ReadPosition, format_name: str) -> bool:
    """Tell whether the agent or the user did anything between the position and the next compaction."""
    if transcript.size == position.offset:
        return False
    if transcript.size - position.offset > _MOST_TAIL_BYTES:
        return True
    from undrift import transcripts
    from undrift.errors import TranscriptError

    lines = (line.text for line in transcript.lines(position.offset))
    try:
        recording = transcripts.read(chain(lines_before(position.lines), lines), format=format_name)
    except TranscriptError:
        return False  # records of the client alone
    before = recording.compactions[-1] if recording.compactions else len(recording.entries)
    return any(_is_work(entry.metadata or {}) for entry in recording.entries[:before])


def _is_work(metadata: object) -> bool:
    if not isinstance(metadata, dict) or metadata.get("meta"):
        return False
    return metadata.get("kind") in ("call", "result") or metadata.get("role") == "assistant"


def units(text: str) -> int:
    """Return the length of a text as JavaScript counts it."""
    return len(text) + sum(1 for c in text if ord(c) > 0xFFFF)


def split(text: str, limits: PartLimits = _LIMITS) -> tuple[str, ...] | None:
    """Split a text into parts that fit, if possible at headings. None means: so many parts are too few."""
    lines = text.splitlines(keepends=True)
    found = _parts(lines, list(accumulate(map(limits.length, lines), initial=0)), 0, limits)
    if found is None:
        return None
    return tuple(
        goes_on(number, len(found)) + part if number > 1 else part for number, part in enumerate(found, 1) if part
    )


def _parts(lines: Sequence[str], starts: Sequence[int], at: int, limits: PartLimits) -> list[str] | None:
    """Return the parts from a line on, without their first lines. `starts`: the length of all lines before each."""
    above = _headings_over(lines, at) if at else ""
    room = limits.each - (limits.length(goes_on(MOST_PARTS, MOST_PARTS) + above) if at else 0)
    if starts[-1] - starts[at] <= room:
        return [above + "".join(lines[at:])]
    if limits.parts == 1:
        return None
    most = bisect_right(starts, starts[at] + room) - 1
    heading = next((place for place in range(most, at, -1) if lines[place].startswith("#")), most)
    for end in dict.fromkeys((heading, most)):  # a cut at a heading may leave too much for the rest
        if end > at and (rest := _parts(lines, starts, end, replace(limits, parts=limits.parts - 1))) is not None:
            return [above + "".join(lines[at:end]), *rest]
    return None


def _headings_over(lines: Sequence[str], at: int) -> str:
    """The section, and the title in it, under which a line stands; a heading needs none of its own kind or above."""
    if lines[at].startswith("## "):
        return ""
    before = [line for line in lines[:at] if line.startswith("#")]
    section = next((line for line in reversed(before) if line.startswith("## ")), "")
    title = before[-1] if before and not lines[at].startswith("#") else ""
    return section + (title if title != section else "")
