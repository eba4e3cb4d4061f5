"""A session is cleared: gives the new one the open work of the old one, if the user asked for it with ``undrift continue``.

Law: a text waits in one small file for a folder and its sessions. It is given once, to one session, only within an hour, and the
person sees which session it continues.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from undrift.hooks.call import HookCall
from undrift.hooks.home import folder_of, note, read_small, write_small
from undrift.hooks.reply import HookReply
from undrift.values.clock import now_ms
from undrift.values.project import Place

__all__ = ["LeftWork", "MOST_BYTES", "MOST_MINUTES", "leave", "work"]

MOST_BYTES = 9_600
"""The longest text, in UTF-8: a client takes about 10,000 characters, or bytes, from one hook."""

MOST_MINUTES = 60
"""A text that waited longer belongs to other work."""

_FOLDER = "continue"
_MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class LeftWork:
    """A text for the next session that begins by ``/clear``.

    Args:
        text: At most `MOST_BYTES`, secrets masked.
        at_ms: When it was left.
        session: The session that it continues, as the person is to see it.
        folders: It is for a session that works, or whose recording lies, in one of these.
    """

    text: str
    at_ms: int
    session: str
    folders: tuple[str, ...]


def leave(place: Place, left: LeftWork) -> None:
    """Leave a text for a project; an older one for the same folder is replaced. Raises OSError: it cannot be written."""
    from undrift.stores.files import safe_name

    folders = tuple(map(os.path.realpath, left.folders))
    file = _folder(place) / f"{safe_name(folders[0])}.json"
    write_small(file, json.dumps({**asdict(left), "folders": folders}).encode("ascii"))


def work(call: HookCall) -> HookReply:
    """Return the newest text that was left for this session's folder, and take it away."""
    if call.options.part != 1:
        return HookReply()
    here = {os.path.realpath(one) for one in (call.cwd, os.path.dirname(call.transcript)) if one}  # noqa: PTH120
    for path, left in sorted(_waiting(call.place()), key=lambda one: -one[1].at_ms):
        taken = None if here.isdisjoint(left.folders) else _take(path)
        if taken is not None:
            _keep_rules(call, taken.text)
            shown = taken.session if taken.session.isprintable() else ascii(taken.session)
            return HookReply(taken.text, f"undrift: this session continues the open work of {shown}")
    return HookReply()


def _keep_rules(call: HookCall, text: str) -> None:
    """Write down the rules in it: the client does not record the text as the person's. It is given all the same."""
    from undrift.hooks.rule_keeper import add_handoff

    try:
        add_handoff(call, text)
    except Exception as error:  # noqa: BLE001 - the text counts for more than the file with its rules
        note(call.home, f"{call.client}: the rules were not kept: {type(error).__name__}: {error}")


def _waiting(place: Place) -> Iterator[tuple[Path, LeftWork]]:
    """Yield the texts that may be given; take away those that are too old, and what is none."""
    for path in sorted(_folder(place).glob("*.json"))[:_MOST_FILES]:
        left = _left(read_small(path))
        if left is None:
            path.unlink(missing_ok=True)
        else:
            yield path, left


def _take(path: Path) -> LeftWork | None:
    """Take a file away, then read it; None if another session has it already: the system lets one rename it."""
    mine = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.rename(mine)
    except OSError:
        return None
    left = _left(read_small(mine))
    mine.unlink(missing_ok=True)
    return left


def _left(content: bytes | None) -> LeftWork | None:
    try:
        value: Any = json.loads(content or b"")
        left = LeftWork(value["text"], value["at_ms"], value["session"], tuple(value["folders"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    is_fresh = type(left.at_ms) is int and 0 <= now_ms() - left.at_ms <= MOST_MINUTES * 60_000
    if not is_fresh or not all(isinstance(one, str) for one in (left.text, left.session, *left.folders)):
        return None
    return left if len(left.text.encode("utf-8", "replace")) <= MOST_BYTES else None


def _folder(place: Place) -> Path:
    from undrift.stores.files import safe_name

    folder = folder_of(place.home, _FOLDER) / safe_name(str(place.records))
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
