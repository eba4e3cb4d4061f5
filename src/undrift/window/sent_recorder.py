"""Notes what each request of a session sent, so that it can be shown and checked later.

Law: it never stands in a request's way: what fails is logged, and costs the note alone. Only marks are kept, no text.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

from undrift.core.window.sent_prompt import ID_CHARACTERS, PURGED_MARK, SentRecord, block_mark, edits_at
from undrift.core.window.window import Window
from undrift.stores.sent_prompts import append_sent, has_sent, sent_lines
from undrift.values.items import outlined
from undrift.values.window import Sent
from undrift.window.context import SessionContext
from undrift.window.conversation import Conversation
from undrift.window.render import Renderer
from undrift.wire.form import View

__all__ = ["RESTORED", "SentRecorder", "records_in", "restored_in"]

_log = logging.getLogger("undrift.window")

RESTORED = "restored"
"""The field of a line that says how many blocks of a request were replaced after it was noted."""

_MOST_READ_BYTES = 1 << 20
"""A restart reads no more, as a request waits for it: 0.1 s."""

_MOST_KNOWN = 40
"""So many of the newest requests can be followed after a restart."""

_NO_EDITS: Mapping[int, Sent] = {}


@dataclass(frozen=True, slots=True)
class _Noted:
    """The newest noted request of a history: its sum, the chain id of its newest item, and what replaced which items.

    `edits`: the numbers of the replaced items. `sent`: their replacements; empty if an earlier process noted them.
    """

    sum: str = ""
    last: str = ""
    edits: frozenset[int] = frozenset()
    sent: Mapping[int, Sent] = field(default_factory=dict)


class SentRecorder:
    """Notes the requests of one session."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._noted: WeakKeyDictionary[Conversation, _Noted] = WeakKeyDictionary()
        self._past: dict[str, _Noted] | None = None  # what an earlier process noted, by the last item of each request
        self._edits: dict[str, dict[int, tuple[str, ...]] | None] = {}
        self._newest = ""

    def note(self, conversation: Conversation, renderer: Renderer, *, is_edited: bool, tokens: tuple[int, int]) -> None:
        """Note the newest request; never raises.

        `is_edited`: the window was sent, not the unchanged body. `tokens`: all of the request, and those beside its history.
        """
        place = self._context.place
        if place is None:
            return
        try:
            if not has_sent(place.records, self._context.id):  # new, purged or full: nothing in it can be followed
                self._noted.clear()
                self._past = {}
            window = conversation.window
            sent = window.sent if is_edited else _NO_EDITS
            noted = self._noted.get(conversation) or self._earlier(place.records, window)
            record = self._record(conversation, renderer, noted, sent, tokens)
            append_sent(place.records, self._context.id, {**asdict(record), "edits": _named(record.edits)})
            self._noted[conversation] = _Noted(record.sum, record.last, frozenset(sent), sent)
            self._newest = record.sum
        except Exception as error:  # noqa: BLE001 - a note that is missing is shown as missing
            self._noted[conversation] = _Noted()
            _log.info("session %.80r: what was sent could not be noted: %s", self._context.id, error)

    def note_restored(self, count: int) -> None:
        """Note that so many blocks of the newest request were replaced by their files after it was noted; never raises."""
        place = self._context.place
        if place is None or not self._newest:
            return
        try:
            append_sent(place.records, self._context.id, {RESTORED: count, "sum": self._newest})
        except OSError as error:
            _log.info("session %.80r: what was sent could not be noted: %s", self._context.id, error)

    def _record(
        self,
        conversation: Conversation,
        renderer: Renderer,
        noted: _Noted,
        sent: Mapping[int, Sent],
        tokens: tuple[int, int],
    ) -> SentRecord:
        window = conversation.window
        at = window.numbers.get(noted.last)  # each id depends on those before it, so the beginning is the same
        follows = at is not None
        kept, unknown = (at + 1, 0) if at is not None else (0, _unread(window))
        numbers = range(max(kept, unknown), len(window.items))
        before = noted if follows else _Noted()
        edits: dict[int, tuple[str, ...] | None] = {
            number: _marks(renderer.views_of(number, one))
            for number, one in sent.items()
            if before.sent.get(number) is not one
        }
        edits |= dict.fromkeys(number for number in before.edits if number not in sent)
        return SentRecord(
            at_ms=self._context.clock.now_ms,
            tokens=tokens[0],
            fixed_tokens=tokens[1],
            before=before.sum,
            kept=kept,
            new=tuple(self._given(window.items[n].id, conversation.messages[n].view) for n in numbers),
            ids=tuple(window.items[n].id[:ID_CHARACTERS] for n in numbers),
            edits=edits,
            last=window.newest_id,
            unknown=unknown,
        ).summed()

    def _given(self, item_id: str, view: View) -> tuple[str, ...]:
        """Return the marks of an item as the client gave it. A purged text has none: a short text can be guessed from it."""
        marks, decisions = _marks((view,)), self._context.log.decisions
        return tuple(
            PURGED_MARK
            if any(d.detail.get("gone") == "purged" for d in decisions.about(f"{item_id}.{place}"))
            else mark
            for place, mark in enumerate(marks)
        )

    def _earlier(self, records: Path, window: Window) -> _Noted:
        """Return what an earlier process noted of this history; an empty value if it noted nothing of it, or too much to read now."""
        if self._past is None:
            self._past = {}
            if has_sent(records, self._context.id, most_bytes=_MOST_READ_BYTES):
                found = records_in(records, self._context.id)
                self._past = {one.last: _Noted(one.sum, one.last) for one in found}
                self._edits = {one.last: edits_at(found, one.sum) for one in found[-_MOST_KNOWN:]}
        for last, noted in reversed(self._past.items()):
            if last in window.numbers and (edits := self._edits.get(last)) is not None:
                return _Noted(noted.sum, last, frozenset(edits))
        return _Noted()


def records_in(folder: Path, session_id: str) -> list[SentRecord]:
    """Return the noted requests of a session, oldest first; damaged ones are passed over.

    `folder`: that of the project's store.
    """
    found = []
    for line in sent_lines(folder, session_id):
        try:
            found.append(SentRecord.of(line))
        except ValueError:
            continue
    return found


def restored_in(folder: Path, session_id: str) -> Mapping[str, int]:
    """Return how many blocks of which request were replaced after it was noted, by its sum. `folder`: as for `records_in`."""
    found = {}
    for line in sent_lines(folder, session_id):
        if isinstance(line, dict) and type(line.get(RESTORED)) is int and isinstance(line.get("sum"), str):
            found[line["sum"]] = line[RESTORED]
    return found


def _named(edits: Mapping[int, tuple[str, ...] | None]) -> dict[str, tuple[str, ...] | None]:
    return {str(number): marks for number, marks in edits.items()}


def _marks(views: tuple[View, ...]) -> tuple[str, ...]:
    return tuple(block_mark(block.kind, block.text) for view in views for block in view.blocks)


def _unread(window: Window) -> int:
    """Return how many items at the beginning would have to be read again for their marks."""
    numbers = range(len(window.items) - 1, -1, -1)
    return next((number + 1 for number in numbers if outlined(window.items, number) is not None), 0)
