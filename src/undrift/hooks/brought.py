"""The texts that a person brings back into a session that runs without the gateway: said with the next message.

Law: a text is said once, with the first message after it was asked for; one that stays is also said after each compaction. Only the
page writes here, and only a purge or the person takes away. Without the file nothing is read but its name.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from undrift.hooks import home
from undrift.hooks.call import HookCall
from undrift.hooks.reply import HookReply
from undrift.values.clock import now_ms

__all__ = ["BroughtText", "MOST_CHARACTERS", "brought_texts", "keep_brought", "work"]

_NAME = "brought.json"
_LOCK = "brought.lock"
_MOST_TEXTS = 20
_MOST_BYTES = 900_000
"""A larger file could not be read again (`home.read_small`)."""

MOST_CHARACTERS = 9_000
"""All texts of one message: the client takes about 10,000 characters, and rules may stand beside them."""

_CUT = "\n[cut here; the rest: undrift recall {ref}]"


@dataclass(frozen=True, slots=True)
class BroughtText:
    """A text that was brought back.

    Args:
        ref: The reference of its original.
        what: What it is, in a line.
        asked_ms: When the person asked for it.
        said_ms: When it was said to the agent the last time; 0: it waits.
        stays: Whether it is said again after each compaction.
    """

    ref: str
    what: str
    text: str
    asked_ms: int
    said_ms: int = 0
    stays: bool = False


def brought_texts(folder: Path) -> tuple[BroughtText, ...]:
    """Return the texts of a session, oldest first; a damaged file has none. `folder`: the session's, of the hooks."""
    try:
        value: Any = json.loads(home.read_small(folder / _NAME) or b"[]")
    except (ValueError, RecursionError):
        return ()
    return tuple(found for one in value if (found := _read(one)) is not None) if isinstance(value, list) else ()


def keep_brought(folder: Path, change: Callable[[Sequence[BroughtText]], Sequence[BroughtText]]) -> None:
    """Change the texts of a session, as they are on disk at this moment. Raises OSError: they cannot be written.

    There are at most 20. Those leave first that were said and do not stay.
    """
    with home.locked(folder / _LOCK, home.RULES_WAIT_MS):
        _write(folder, change(brought_texts(folder)))


def work(call: HookCall) -> HookReply:
    """Return what waits, or after a compaction what stays, for the agent."""
    if call.options.part != 1 or not call.has(_NAME):
        return HookReply()
    folder = call.folder()
    with home.locked(folder / _LOCK, home.RULES_WAIT_MS):
        texts, is_after = brought_texts(folder), call.source == "compact"
        due = [one for one in texts if (one.stays if is_after else not one.said_ms)]
        said = _text_of(due)
        if said:
            at_ms = now_ms()
            _write(folder, [replace(one, said_ms=at_ms) if one in due else one for one in texts])
    return HookReply(said)


def _text_of(due: Sequence[BroughtText]) -> str:
    """Return the texts as the agent gets them, cut where they are too long together."""
    if not due:
        return ""
    room, found = MOST_CHARACTERS // len(due), []
    for one in due:
        lead = f"[Brought back by the user, after it had left this window: {one.what}]\n"
        rest = _CUT.format(ref=one.ref)
        fits = len(lead) + len(one.text) <= room
        found.append(lead + (one.text if fits else one.text[: max(0, room - len(lead) - len(rest))] + rest))
    return "\n\n".join(found)


def _write(folder: Path, texts: Sequence[BroughtText]) -> None:
    kept = list(texts)
    for one in texts:
        if len(kept) > _MOST_TEXTS and one.said_ms and not one.stays:
            kept.remove(one)
    while True:
        content = json.dumps([asdict(one) for one in kept]).encode("ascii")
        if len(content) <= _MOST_BYTES or len(kept) == 1:
            break
        kept.remove(next((one for one in kept if not one.stays), kept[0]))
    home.write_small(folder / _NAME, content)


def _read(value: Any) -> BroughtText | None:
    try:
        found = BroughtText(**value)
    except TypeError:
        return None
    words = (found.ref, found.what, found.text)
    times = (found.asked_ms, found.said_ms)
    is_ours = all(isinstance(one, str) for one in words) and all(type(one) is int for one in times)
    return found if is_ours and isinstance(found.stays, bool) else None
