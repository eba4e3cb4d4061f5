"""The view of what left a session's window: each block with the reason, what its leaving saved, and whether it was used again.

Law: the store's decisions and the client's own compactions are shown as they are; nothing is guessed. Texts are masked and cut to their
first line.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from undrift.core.text.refs import ref_of
from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.core.window.log import PLACED
from undrift.errors import RecallError, StoreError
from undrift.stores.contract import Store
from undrift.values.window import ContextEntry, Decision
from undrift.web.brought_back import Brought, HookTexts
from undrift.web.entries import entries_of, recorded_blocks
from undrift.web.source import PageSource
from undrift.web.used_again import UsedAgain
from undrift.web.watching import WatchedSession

__all__ = ["left", "left_rows", "rows_in", "stored_entry", "why_of"]

_WHY: Mapping[str, str] = {
    "budget": "The window had reached its budget{budget}. This was least likely to be needed again, of all that may leave.",
    "pause": "After a pause the provider had to read the prompt again anyway, so removing this cost nothing.",
    "change": "The client had changed the prompt before this place, so removing it cost nothing.",
    "task": "A task had ended and its log was replaced by a summary, so removing this cost nothing.",
    "bank": "The session had saved enough to pay for a smaller window.",
}
"""The cause in plain words, by the moment of the decision; its reason has the figures."""

_WHY_KIND: Mapping[str, str] = {
    "evicted": "Its task had ended: a summary stands in its place.",
    "compacted": "The client compacted its window itself.",
}
_MOST_ROWS = 2_000
_LINE_CHARACTERS = 160


def left(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what left a session's window, the newest first. `query`: ``key``."""
    one = source.session(query.get("key", ""))
    entries = entries_of(source, one)
    used = UsedAgain(one, entries)
    place = source.place_of(one)
    with source.store(place) as store:
        managed = [] if store is None else rows_in(store, one)
        rows = [*managed, *_compacted(one, entries)][:_MOST_ROWS]
        brought = {} if store is None else {id_: Brought(store, id_) for id_ in {row["session_id"] for row in rows}}
        recording = recorded_blocks(source, one)
        for row in rows:
            entry = row.pop("entry", None)
            recorded = entry
            if entry is None and store is not None:
                entry = stored_entry(store, row["ref"])
                recorded = None if entry is None else recording.of(entry)
            row |= _shown(entry)
            row["place"] = "" if recorded is None else label(used.place(recorded), _LINE_CHARACTERS)
            row["pair"] = None if recorded is None else (recorded.pair_id, recorded.meta("kind"))
            row["used_again_turn"] = None if recorded is None else used.turn(recorded, row["at_ms"])
            row["usd_a_turn"] = one.usd_of(row["tokens_saved"], is_cold=False)
            row |= brought[row["session_id"]].state(row["ref"], entry) if row["session_id"] in brought else Brought.NONE
    rows = _joined(rows)
    times = [prompt.at_ms or 0 for prompt in one.figures.prompts]
    for row in rows:
        row["left_turn"] = min(bisect_left(times, row["at_ms"]) + 1, len(times)) if row["at_ms"] and times else None
    hooks = HookTexts(source, one)
    for row in rows:
        row |= hooks.state(row["ref"]) if row["by"] == "client" else {}
    return {
        "rows": rows,
        "count": len(rows),
        "tokens": sum(row["tokens_saved"] for row in rows),
        "used_again": sum(row["used_again_turn"] is not None for row in rows),
        "project_key": place.records.name,
        "can_bring_back": hooks.is_here or any(row["by"] == "undrift" for row in rows),
    }


def _joined(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without the calls whose results left too: the row of the result is that of both, with the tokens of both."""
    results = {row["pair"][0]: row for row in rows if row["pair"] and row["pair"][1] == "result" and row["pair"][0]}
    found = []
    for row in rows:
        pair = row["pair"]
        result = results.get(pair[0]) if pair and pair[1] == "call" else None
        if result is None:
            found.append(row)
        else:
            result["tokens_saved"] += row["tokens_saved"]
    for row in rows:
        del row["pair"]
    return found


def left_rows(source: PageSource, one: WatchedSession) -> list[dict[str, Any]]:
    """Return what undrift removed from a session's window, the newest first; none if it does not manage it."""
    with source.store(source.place_of(one)) as store:
        return [] if store is None else rows_in(store, one)


def rows_in(store: Store, one: WatchedSession) -> list[dict[str, Any]]:
    """Return what a store says was removed from a session's window, the newest first."""
    found: list[dict[str, Any]] = []
    for session_id in one.ids_in(store):
        times = _times(store, session_id)
        found += [
            _row(decision, session_id, times.get(str(decision.detail.get("at", "")), 0))
            for decision in store.decisions(session_id).values()
            if decision.kind not in PLACED
        ]
    return sorted(found, key=lambda row: -row["at_ms"])


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
        "by": "undrift",
        "ref": decision.ref,
        "session_id": session_id,
        "kind": decision.kind,
        "reason": decision.reason,
        "tokens_saved": decision.tokens_saved,
        "at_ms": at_ms,
        "why": why_of(decision),
    }


def why_of(decision: Decision) -> str:
    """Return what happened when a block left, in plain words; empty if its reason says all."""
    tokens = decision.detail.get("budget_tokens")
    budget = f" of {tokens:,} tokens" if isinstance(tokens, int) else ""
    why = _WHY_KIND.get(decision.kind) or _WHY.get(str(decision.detail.get("moment", "")), "")
    return why.replace("{budget}", budget)


def _compacted(one: WatchedSession, entries: Sequence[ContextEntry]) -> list[dict[str, Any]]:
    """Return what the client's own compactions removed, the newest first; of what was removed twice, the last time."""
    rows = []
    session_id = one.client_id
    bounds = list(enumerate(one.figures.boundaries, 1))
    for entry in reversed(entries):
        line = entry.meta("line")
        cut = next(((n, bound) for n, bound in bounds if isinstance(line, int) and line < bound.line), None)
        if cut is None or entry.meta("meta") or not entry.content.strip():
            continue
        number, bound = cut
        rows.append(
            {
                "by": "client",
                "ref": ref_of(session_id, entry.id),
                "session_id": session_id,
                "kind": "compacted",
                "reason": f"compaction {number} of the client replaced it by a summary",
                "tokens_saved": entry.token_count,
                "at_ms": bound.at_ms or 0,
                "why": _WHY_KIND["compacted"],
                "entry": entry,
            }
        )
        if len(rows) >= _MOST_ROWS:
            break
    return rows


def stored_entry(store: Store, ref: str) -> ContextEntry | None:
    """Return the original of a block; None if it was destroyed, or is damaged."""
    try:
        return store.original(ref).entry if ref else None
    except (RecallError, StoreError):
        return None


def _shown(entry: ContextEntry | None) -> dict[str, str]:
    """Return what a block is and its first line; a destroyed or damaged one has none."""
    if entry is None:
        return {"what": "no longer stored", "line": ""}
    line = next((text for text in entry.content.splitlines() if text.strip()), "")
    return {
        "what": label(entry.what, _LINE_CHARACTERS),
        "line": label(mask(line[:4_000]).text, _LINE_CHARACTERS),
    }
