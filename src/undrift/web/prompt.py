"""The view of one prompt: the blocks that were sent, and those that had left, in their order.

Law: no prompt is stored for the page. Each block is found again by its hash, in the client's recording or in the store, so what is shown
is what was sent. A block that is found nowhere is counted, never guessed; so are the reminders that a client adds when it sends. Texts are masked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.text.refs import ref_of
from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.core.text.tokens import characters_per_4
from undrift.core.window.sent_prompt import (
    ID_CHARACTERS,
    SentItem,
    SentRecord,
    hash_of,
    parts_of,
    prompt_at,
    size_of,
)
from undrift.errors import InputError
from undrift.stores.contract import Store
from undrift.stores.sent_prompts import sent_sessions
from undrift.values.usage import PromptUsage
from undrift.values.window import ContextEntry, Decision
from undrift.web.entries import entries_of, recorded_blocks
from undrift.web.left import why_of
from undrift.web.our_texts import OurTexts
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession
from undrift.window.sent_recorder import records_in, restored_in

__all__ = ["prompt"]

_PAGE = 60
_TEXT_CHARACTERS = 4_000
_WHAT_CHARACTERS = 160
_LOOKED_AT = 12
_KINDS = {"t": "text", "c": "call", "r": "result", "k": "thinking", "i": "image", "s": "reminder"}


@dataclass(frozen=True, slots=True)
class _PromptBlock:
    """One block: its mark, its recorded entry or our text, and the decision about it."""

    status: str
    mark: str = ""
    entry: ContextEntry | None = None
    decision: Decision | None = None
    text: str = ""
    reason: str = ""


def prompt(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the prompt of a turn, a page of its blocks. `query`: ``key``, ``turn`` from 1, ``from`` a block's number."""
    one = source.session(query.get("key", ""))
    prompts, given = one.figures.prompts, query.get("turn", "")
    number = int(given) if given.isdecimal() and len(given) < 9 else 0
    if not 1 <= number <= len(prompts):
        raise InputError(f"the session has turns 1 to {len(prompts):,}; {given[:20]!r} is none of them")
    found = _as_sent(source, one, number) or _as_recorded(one, prompts[number - 1], entries_of(source, one))
    rows: list[_PromptBlock] = found.pop("rows")
    since = query.get("from", "")
    start = int(since) if since.isdecimal() and len(since) < 9 else 0
    start = min(start, max(0, len(rows) - 1))
    shown = [_json(one, at, row) for at, row in enumerate(rows[start : start + _PAGE], start)]
    return {
        "turn": number,
        "turns": len(prompts),
        "from": start,
        "count": len(rows),
        "page": _PAGE,
        "left_at": [at for at, row in enumerate(rows) if row.status == "left"],
        **found,
        "rows": shown,
    }


def _as_sent(source: PageSource, one: WatchedSession, number: int) -> dict[str, Any] | None:
    """Return the prompt as undrift sent it. None means: it kept no hash of this turn."""
    place, recording = source.place_of(one), recorded_blocks(source, one)
    with source.store(place) as store:
        if store is None:
            return None
        for session_id in filter(one.is_named, sent_sessions(place.records)):
            records = records_in(place.records, session_id)
            chosen = _of_turn(records, one.figures.prompts, number, recording.first_lines)
            if chosen is not None:
                restored = restored_in(place.records, session_id).get(chosen[0].sum, 0)
                found = _found(store, session_id, *chosen, recording.by_hash, restored)
                return {**found, "tokens": one.figures.prompts[number - 1].prompt_tokens or found["tokens"]}
    return None


def _of_turn(
    records: Sequence[SentRecord], prompts: Sequence[PromptUsage], number: int, first_lines: Mapping[str, int]
) -> tuple[SentRecord, Sequence[SentItem]] | None:
    """Return the request that a turn's answer belongs to.

    Several may have been sent since the turn before. It is the one with the most texts that the recording has before the answer.
    Equals differ by size: the nearest to the answer's own count is taken. `first_lines`: see `RecordedBlocks`.
    """
    usage = prompts[number - 1]
    at_ms, before = usage.ended_ms or usage.at_ms or 0, prompts[number - 2] if number > 1 else None
    since_ms = 0 if before is None else before.at_ms or 0
    found = []
    for record in [one for one in records if since_ms <= one.at_ms <= at_ms][-_LOOKED_AT:]:
        items = prompt_at(records, record.sum)
        if items is not None:
            marks = (mark for item in items for mark in item.given or ())
            known = sum(first_lines.get(hash_of(parts_of(mark)[0]), usage.line) < usage.line for mark in marks)
            found.append((known, -abs(record.tokens - usage.prompt_tokens), record, items))
    best = max(found, key=lambda one: one[:2], default=None)
    return None if best is None else best[2:]


def _found(
    store: Store,
    session_id: str,
    record: SentRecord,
    items: Sequence[SentItem],
    known: Mapping[str, ContextEntry],
    restored: int,
) -> dict[str, Any]:
    """Return the prompt. `known`: the recorded blocks by their hash. `restored`: how many notes of the client the gateway replaced by their files behind the count."""
    about = {_short(d.entry_id): d for d in store.decisions(session_id).values()}
    rows = list(_rows(items, known, about, OurTexts(store, session_id)))
    unread = sum(item.marks is None for item in items)
    unseen = [row for row in rows if row.status == "unseen"]
    counts = _counts(rows)
    return {
        "session_id": session_id,
        "is_checked": True,
        "is_whole": not (unseen or unread or restored),
        "sum": record.sum,
        "at_ms": record.at_ms,
        "tokens": record.tokens,
        "beside_tokens": record.fixed_tokens,
        "counts": counts | {"unseen": counts["unseen"] + restored},
        "unseen_characters": sum(size_of(row.mark) for row in unseen),
        "added_characters": sum(_added(row.mark) for row in rows if row.status != "left"),
        "unread_messages": unread,
        "rows": rows,
    }


def _added(mark: str) -> int:
    """Return the characters of the reminders in a block."""
    return sum(map(size_of, parts_of(mark)[1]))


def _short(entry_id: str) -> str:
    """Return an entry's id with the beginning of its chain id alone."""
    chain, dot, rest = entry_id.partition(".")
    return f"{chain[:ID_CHARACTERS]}.{rest}" if dot else entry_id[:ID_CHARACTERS]


def _rows(
    items: Sequence[SentItem],
    known: Mapping[str, ContextEntry],
    about: Mapping[str, Decision],
    ours: OurTexts,
) -> Iterator[_PromptBlock]:
    for item in items:
        sent = [*(item.marks or ())]
        for number, mark in enumerate(item.given or ()):
            own = parts_of(mark)[0]
            entry, decision = known.get(hash_of(own)), about.get(f"{item.id}.{number}")
            if mark in sent:
                sent.remove(mark)
                yield _PromptBlock("added" if not own else "unseen" if entry is None else "sent", mark, entry)
            else:
                yield _PromptBlock("left", mark, entry, decision)
        texts = ours.of_item(item.id) if sent else {}
        for mark in sent:
            own = parts_of(mark)[0]
            text, decision = texts.get(hash_of(own), ("", None))
            entry = known.get(hash_of(own))
            status = "ours" if text else "added" if not own else "unseen" if entry is None else "sent"
            yield _PromptBlock(status, mark, entry, decision, text)


def _as_recorded(one: WatchedSession, usage: PromptUsage, entries: Sequence[ContextEntry]) -> dict[str, Any]:
    """Return the prompt as the client's recording has it: undrift did not send it, or kept no hash of it."""
    cuts = [boundary.line for boundary in one.figures.boundaries if boundary.line < usage.line]
    rows = []
    for entry in entries:
        line = entry.meta("line")
        if not isinstance(line, int) or line >= usage.line:
            continue
        gone = next((number for number, cut in enumerate(cuts, 1) if line < cut), 0)
        reason = f"compaction {gone} of the client removed it" if gone else ""
        rows.append(_PromptBlock("left" if gone else "recorded", "", entry, reason=reason))
    return {
        "session_id": one.client_id,
        "is_checked": False,
        "is_whole": False,
        "sum": "",
        "at_ms": usage.at_ms,
        "tokens": usage.prompt_tokens,
        "beside_tokens": 0,
        "counts": _counts(rows),
        "unseen_characters": 0,
        "added_characters": 0,
        "unread_messages": 0,
        "rows": rows,
    }


def _counts(rows: Sequence[_PromptBlock]) -> dict[str, int]:
    found = dict.fromkeys(("sent", "ours", "left", "added", "unseen", "recorded"), 0)
    for row in rows:
        found[row.status] += 1
    return found


def _json(one: WatchedSession, number: int, row: _PromptBlock) -> dict[str, Any]:
    entry, decision = row.entry, row.decision
    text = row.text or ("" if entry is None else entry.content)
    tokens = decision.tokens_saved if decision is not None and row.status == "left" else characters_per_4(text)
    about = {} if entry is None else entry.metadata or {}
    return {
        "number": number,
        "status": row.status,
        "kind": _KINDS.get(row.mark[:1], str(about.get("kind") or "text")),
        "role": str(about.get("role") or ""),
        "what": "" if entry is None else label(entry.what, _WHAT_CHARACTERS),
        "text": mask(text[: 2 * _TEXT_CHARACTERS]).text[:_TEXT_CHARACTERS],
        "characters": size_of(row.mark) or len(text),
        "added_characters": _added(row.mark),
        "tokens": tokens,
        "reason": row.reason or ("" if decision is None else decision.reason),
        "why": "" if decision is None else why_of(decision),
        "ref": _ref(one, row),
        "usd_a_turn": one.usd_of(tokens, is_cold=False) if row.status == "left" else None,
    }


def _ref(one: WatchedSession, row: _PromptBlock) -> str:
    """Return the reference by which a block is brought back: of the store, or of the recording as `left` has it."""
    if row.decision is not None:
        return row.decision.ref or ""
    is_removed = row.status == "left" and row.entry is not None and not row.mark
    return ref_of(one.client_id, row.entry.id) if is_removed and row.entry is not None else ""
