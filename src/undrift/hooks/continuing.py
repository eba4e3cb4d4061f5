"""A session is cleared: gives the new one the open work of the old one, if the user asked for it with ``undrift continue``.

Law: the text waits in one small file of the project, is given once, and only within an hour.
"""

import contextlib
import json
from pathlib import Path

from undrift.hooks.call import HookCall
from undrift.hooks.home import folder_of, read_small, write_small
from undrift.hooks.reply import HookReply
from undrift.values.clock import now_ms
from undrift.values.project import Place

__all__ = ["MOST_BYTES", "MOST_MINUTES", "leave", "work"]

MOST_BYTES = 9_600
"""The longest text, in UTF-8: a client takes about 10,000 characters, or bytes, from one hook."""

MOST_MINUTES = 60
"""A text that waited longer belongs to other work."""

_FOLDER = "continue"


def leave(place: Place, text: str, at_ms: int) -> None:
    """Leave a text for the next session that begins by ``/clear`` in this project; an older one is replaced.

    `text`: at most `MOST_BYTES`, secrets masked. Raises OSError: it cannot be written.
    """
    write_small(_file(place), json.dumps({"at_ms": at_ms, "text": text}).encode("ascii"))


def work(call: HookCall) -> HookReply:
    """Return the text that was left for this project, and take it away."""
    if call.options.part != 1:
        return HookReply()
    path = _file(call.place())
    given = read_small(path)
    if given is None:
        return HookReply()
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    try:
        value = json.loads(given)
        at_ms, text = value["at_ms"], value["text"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return HookReply()
    is_fresh = type(at_ms) is int and 0 <= now_ms() - at_ms <= MOST_MINUTES * 60_000
    if not is_fresh or not isinstance(text, str) or len(text.encode("utf-8", "replace")) > MOST_BYTES:
        return HookReply()
    return HookReply(text)


def _file(place: Place) -> Path:
    from undrift.stores.files import safe_name

    return folder_of(place.home, _FOLDER) / f"{safe_name(str(place.records))}.json"
