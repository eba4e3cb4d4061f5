"""A record of each compaction and of the text given back: a small file in the session's folder, for reports.

Law: it holds counts, times and the names of session and folder, never text of the session. Every value is checked when it is read.
"""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from undrift.hooks.call import CLIENTS, HookCall
from undrift.hooks.home import read_small, write_small
from undrift.hooks.prepared import PreparedText
from undrift.values.clock import now_ms
from undrift.values.restored import RestoredContents

__all__ = ["GivenText", "given_back", "record_given"]

_NAME = "given.json"
_MOST_RECORDS = 200
"""The most records of a session; the newest stay."""

_MOST_SESSIONS = 20_000
_LONGEST_CHARACTERS = 4_096
_MOST_MS = 1 << 53


@dataclass(frozen=True, slots=True)
class GivenText:
    """One compaction that a session lived through with the hooks.

    Args:
        folder: The folder that the client worked in; empty if it did not say.
        contents: All zero if there was nothing to give back.
        mark: Names the text, so that one that is asked for again is recorded once.
    """

    at_ms: int
    client: str
    session_id: str
    folder: str
    contents: RestoredContents
    mark: str = ""

    @classmethod
    def of(cls, value: Any) -> "GivenText":
        """Read a record from JSON. Raises ValueError: it is none of ours."""
        if not isinstance(value, dict):
            raise ValueError("a record is an object")
        texts = [value.get(name) for name in ("client", "session_id", "folder", "mark")]
        at_ms = value.get("at_ms")
        if type(at_ms) is not int or not 0 <= at_ms < _MOST_MS:
            raise ValueError("the record has no time")
        if not all(isinstance(text, str) and len(text) <= _LONGEST_CHARACTERS for text in texts):
            raise ValueError("the record has no names")
        client, session_id, folder, mark = map(str, texts)
        if client not in CLIENTS:
            raise ValueError("the record is of no client")
        return cls(at_ms, client, session_id, folder, RestoredContents.of(value.get("contents")), mark)


def record_given(call: HookCall, prepared: PreparedText) -> None:
    """Write down what a session got after a compaction; the same text once. Raises OSError: it cannot be written."""
    path = call.folder() / _NAME
    found = _records(path)
    mark = f"{prepared.position.offset}:{prepared.position.proof}"
    if found and found[-1].mark == mark:
        return
    found.append(GivenText(now_ms(), call.client, call.session_id, call.cwd, prepared.contents, mark))
    write_small(path, json.dumps([asdict(one) for one in found[-_MOST_RECORDS:]]).encode("ascii"))


def given_back(home: Path) -> Iterator[GivenText]:
    """Yield all records of a home, in no order; what is damaged, or no file of ours, is passed over."""
    try:
        names = sorted(os.listdir(home / "hooks"))[:_MOST_SESSIONS]  # noqa: PTH208 - names alone
    except OSError:
        return
    for name in names:
        folder = home / "hooks" / name
        try:
            if stat.S_ISDIR(folder.lstat().st_mode):
                yield from _records(folder / _NAME)
        except OSError:
            continue


def _records(path: Path) -> list[GivenText]:
    try:
        value: Any = json.loads(read_small(path) or b"[]")
        return [GivenText.of(one) for one in value] if isinstance(value, list) else []
    except (ValueError, RecursionError):
        return []
