"""The view of where a text is: still in the window, gone from it, or never read in this session.

Law: the recording says what was read; what left is that of the view of what left. A text counts if it has all the words.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from undrift.core.text.safe_lines import label
from undrift.web.entries import entries_of, recorded_blocks
from undrift.web.left import rows_in, stored_entry
from undrift.web.source import PageSource
from undrift.web.used_again import UsedAgain
from undrift.web.watching import WatchedSession

__all__ = ["whereabouts"]

_MOST = 5
_WHAT_CHARACTERS = 160
_MOST_WORDS = 32
_MOST_CHARACTERS = 1_000


def whereabouts(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the newest texts of a session that have all the words, and whether each is in the window. `query`: ``key``, ``q``.

    ``turn`` is the first prompt with it; null: it was not sent yet.
    """
    one = source.session(query.get("key", ""))
    words = query.get("q", "")[:_MOST_CHARACTERS].lower().split()[:_MOST_WORDS]
    entries = entries_of(source, one)
    used, found = UsedAgain(one, entries), []
    cut = one.figures.boundaries[-1].line if one.figures.boundaries else 0
    lines = [prompt.line for prompt in one.figures.prompts]
    gone = _removed(source, one) if words else frozenset()
    for entry in reversed(entries) if words else ():
        line, place = entry.meta("line"), used.place(entry)
        text = f"{entry.what} {place}\n{entry.content}".lower()
        if entry.meta("kind") == "call" or not isinstance(line, int) or not all(word in text for word in words):
            continue
        found.append(
            {
                "what": label(entry.what, _WHAT_CHARACTERS),
                "place": label(place, _WHAT_CHARACTERS),
                "turn": turn if (turn := bisect_right(lines, line) + 1) <= len(lines) else None,
                "is_here": line > cut and entry.id not in gone,
            }
        )
        if len(found) == _MOST:
            break
    return {"found": found, "turns": len(lines)}


def _removed(source: PageSource, one: WatchedSession) -> frozenset[str]:
    """Return the ids of the recorded blocks that undrift removed as a whole."""
    recording = recorded_blocks(source, one)
    with source.store(source.place_of(one)) as store:
        if store is None:
            return frozenset()
        rows = [row for row in rows_in(store, one) if row["kind"] in ("pruned", "evicted")]
        stored = [entry for row in rows if (entry := stored_entry(store, row["ref"])) is not None]
    return frozenset(found.id for entry in stored if (found := recording.of(entry)) is not None)
