"""The text prepared for the time after a compaction: stored in the session's folder, and used while it is current.

Law: a text is given only if all that the agent did before the compaction was known when it was made.
"""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, chain
from pathlib import Path

from undrift.hooks.home import read_small, write_small
from undrift.hooks.transcript import ReadPosition, Transcript, lines_before
from undrift.values.restored import GOES_ON, RestoredContents

__all__ = ["PreparedText", "has_news", "load", "save", "split", "units"]

_NAME = "restore.json"
_MOST_TAIL_BYTES = 1 << 20
_PART_UNITS = 9_900
"""UTF-16 units, as the client counts: a text of 9,900 arrived whole, and of one of 10,500 only a preview."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text in parts that the client takes, and what stands in it. `position`: it was made from everything before."""

    position: ReadPosition
    parts: tuple[str, ...]
    contents: RestoredContents


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


def split(text: str, limit_units: int = _PART_UNITS) -> tuple[str, ...] | None:
    """Split a text into at most two parts that fit, if possible at a heading near the end. None means: two are too few."""
    if units(text) <= limit_units:
        return (text,) if text else ()
    lines = text.splitlines(keepends=True)
    starts = list(accumulate(map(units, lines), initial=0))
    most = bisect_right(starts, limit_units) - 1
    headings = [at for at in range(1, most + 1) if at < len(lines) and lines[at].startswith("#")]
    for at in (*reversed(headings), most):
        second = GOES_ON + _headings_over(lines, at) + "".join(lines[at:])
        if at and units(second) <= limit_units:
            return "".join(lines[:at]), second
    return None


def _headings_over(lines: Sequence[str], at: int) -> str:
    """The section, and the title in it, under which a line stands; a heading needs none of its own kind or above."""
    if lines[at].startswith("## "):
        return ""
    before = [line for line in lines[:at] if line.startswith("#")]
    section = next((line for line in reversed(before) if line.startswith("## ")), "")
    title = before[-1] if before and not lines[at].startswith("#") else ""
    return section + (title if title != section else "")
