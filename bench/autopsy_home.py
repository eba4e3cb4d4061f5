"""Writes a home folder with many recorded sessions, copied from a few: other ids, other times, as the clients lay them out.

Law: deterministic: the same recordings give the same files, byte for byte, with the same times.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from undrift import transcripts
from undrift.errors import TranscriptError

__all__ = ["FILES", "fill"]

FILES = 1_320

_HEAD_LINES = 64
_DAYS_APART = 14
"""Each copy is older than the one before it by this much."""

_ID = re.compile(rb"\b([0-9a-f]{8})(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)")
_STAMP = re.compile(rb'(?<=")20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d')
_FORMAT = "%Y-%m-%dT%H:%M:%S"


def fill(home: Path, recordings: Sequence[Path], files: int = FILES) -> int:
    """Write the sessions of Claude Code and Codex that lie below some folders, until there are as many files.

    Returns:
        The bytes that were written.
    """
    sources = [(path, form) for path in sorted(_below(recordings)) if (form := _format_of(path))]
    if not sources:
        raise SystemExit("no session of Claude Code or Codex lies there; name a folder of recordings")
    written = 0
    for number in range(files):
        path, form = sources[number % len(sources)]
        copy = number // len(sources)
        content = _changed(path.read_bytes(), copy)
        target = home / _place(form, content, f"{path.name}:{copy}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        at_s = _last_moment(content).timestamp() + number / 1_000  # no two files are equally new
        os.utime(target, (at_s, at_s))
        written += len(content)
    return written


def _below(recordings: Sequence[Path]) -> set[Path]:
    return {path for folder in recordings for path in folder.rglob("*.jsonl")}


def _format_of(path: Path) -> str:
    """Return the format of a session of the two clients; empty for any other file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            found = transcripts.read(list(islice(file, _HEAD_LINES))).format
    except TranscriptError:
        return ""
    return found if found in ("claude-code", "codex") else ""


def _changed(content: bytes, copy: int) -> bytes:
    """Return the session with other ids and earlier times; copy 0 is the session itself."""
    if not copy:
        return content
    mask = int.from_bytes(hashlib.blake2b(b"%d" % copy, digest_size=4).digest())
    earlier = timedelta(days=_DAYS_APART * copy)
    known: dict[bytes, bytes] = {}

    def other(match: re.Match[bytes]) -> bytes:
        return b"%08x" % (int(match[1], 16) ^ mask)

    def before(match: re.Match[bytes]) -> bytes:
        if match[0] not in known:
            try:
                known[match[0]] = (_moment(match[0]) - earlier).strftime(_FORMAT).encode()
            except ValueError:  # it only looks like a time
                known[match[0]] = match[0]
        return known[match[0]]

    return _STAMP.sub(before, _ID.sub(other, content))


def _place(form: str, content: bytes, seed: str) -> Path:
    """Return where a client keeps such a session: Claude Code by its folder, Codex by its day."""
    number = hashlib.blake2b(seed.encode(), digest_size=16).hexdigest()
    name = f"{number[:8]}-{number[8:12]}-{number[12:16]}-{number[16:20]}-{number[20:]}"
    if form == "codex":
        at = _last_moment(content)
        return Path(f".codex/sessions/{at:%Y/%m/%d}/rollout-{at:%Y-%m-%dT%H-%M-%S}-{name}.jsonl")
    cwd = re.search(rb'"cwd": ?"([^"\\]{1,200})"', content)
    project = re.sub(r"[^A-Za-z0-9]", "-", cwd[1].decode("utf-8", "replace") if cwd else "/repo")
    return Path(f".claude/projects/{project}/{name}.jsonl")


def _moment(stamp: bytes) -> datetime:
    """Read a time. Raises ValueError: it only looks like one."""
    return datetime.strptime(stamp.decode(), _FORMAT).replace(tzinfo=UTC)


def _last_moment(content: bytes) -> datetime:
    for match in reversed(_STAMP.findall(content[-200_000:]) or _STAMP.findall(content)):
        try:
            return _moment(match)
        except ValueError:
            continue
    return datetime(2026, 1, 1, tzinfo=UTC)
