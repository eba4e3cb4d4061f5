"""The view of what left a session's window: each block with the reason, and what its leaving saved.

Law: the store's decisions are shown as they are; nothing is guessed. Texts are masked and cut to their first line.
"""

from collections.abc import Mapping
from typing import Any

from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.errors import RecallError, StoreError
from undrift.stores.contract import Store
from undrift.values.window import Decision
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["left", "left_rows"]

_AWAY = frozenset({"pruned", "cut", "trimmed", "folded", "evicted"})
_MOST_ROWS = 2_000
_LINE_CHARACTERS = 160


def left(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what left a session's window, the newest first. `query`: ``key``."""
    one = source.session(query.get("key", ""))
    rows = left_rows(source, one)
    with source.store(source.place(one.folder)) as store:
        if store is not None:
            for row in rows[:_MOST_ROWS]:
                row["what"], row["line"] = _shown(store, row["ref"])
    return {"rows": rows[:_MOST_ROWS], "count": len(rows), "tokens": sum(row["tokens_saved"] for row in rows)}


def left_rows(source: PageSource, one: WatchedSession) -> list[dict[str, Any]]:
    """Return the decisions about a session, the newest first; none if undrift does not manage it."""
    found: list[dict[str, Any]] = []
    with source.store(source.place(one.folder)) as store:
        if store is None:
            return []
        for session_id in _ids(store, one):
            times = _times(store, session_id)
            for decision in store.decisions(session_id).values():
                at = str(decision.detail.get("at", ""))
                found.append(_row(decision, session_id, times.get(at, 0)))
    return sorted(found, key=lambda row: -row["at_ms"])


def _ids(store: Store, one: WatchedSession) -> list[str]:
    """Return our ids of a client's session: that of the hooks, and that of the gateway."""
    return [row.session_id for row in store.sessions() if one.is_named(row.session_id)]


def _times(store: Store, session_id: str) -> dict[str, int]:
    """Return when the decisions of each moment were made; they name the message at which they were."""
    found: dict[str, int] = {}
    for operation in store.operations(session_id):
        at = operation.payload.get("at") if operation.payload else None
        if isinstance(at, str):
            found.setdefault(at, operation.at_ms)
    return found


def _row(decision: Decision, session_id: str, at_ms: int) -> dict[str, Any]:
    return {
        "ref": decision.ref,
        "session_id": session_id,
        "kind": decision.kind,
        "reason": decision.reason,
        "tokens_saved": decision.tokens_saved,
        "at_ms": at_ms,
        "is_away": decision.kind in _AWAY,
        "moment": str(decision.detail.get("moment", "")),
    }


def _shown(store: Store, ref: str) -> tuple[str, str]:
    """Return what a block is and its first line; a destroyed or damaged one has none."""
    try:
        entry = store.original(ref).entry
    except (RecallError, StoreError):
        return "no longer stored", ""
    line = next((text for text in entry.content.splitlines() if text.strip()), "")
    return label(entry.what, _LINE_CHARACTERS), label(mask(line[:4_000]).text, _LINE_CHARACTERS)
