"""Decisions that a conversation takes over from another session which has seen the same beginning, as after a fork.

Law: only a decision about blocks that the request holds itself is taken over, with the texts of the request as originals.
No pin, no task, no original and no name of the other session comes along, and no note but the one that lists what left of
the common blocks. A history without an answer of the model takes nothing over. A store is a view of one scope, so no other owner's session is ever found.

See docs/adr/0014-which-session.md.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from weakref import WeakSet

from undrift.core.window.additions import note_entry
from undrift.core.window.left import LEFT, listed_in
from undrift.core.window.log import place_of, taken_at
from undrift.errors import StoreError
from undrift.stores.base import Mark
from undrift.values.window import ContextEntry, Decision
from undrift.window.context import SessionContext
from undrift.window.conversation import Conversation
from undrift.window.decisions import Decisions
from undrift.window.legal import problem_of
from undrift.window.render import Renderer
from undrift.window.reports import KINDS, Reports
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["Inheritance"]

_log = logging.getLogger("undrift.session")

_SHARED = ("pruned", "cut", "trimmed", "folded")
_OWN_WAY = ("fork", "purge", "rewind", "undo")
"""Operations after which a session without decisions is meant to have none."""
_LOOKED_AT = 2_048  # items from the end: the newest decision of a long session is nearer
_CHUNK = 512


class Inheritance:
    """Takes decisions over from other sessions, and leaves the marks by which others find this one."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._log = context.log
        self._store = context.store
        self._met: WeakSet[Conversation] = WeakSet()

    def leave(self, form: Form, place: str) -> None:
        """Store a mark for an item at which this session decided something, or stored a token count."""
        try:
            self._store.add_marks(self._context.id, [Mark(_place_mark(form, place), "place")])
        except StoreError as error:
            _log.error("session %.80r: a fork will not find its decisions: %s", self._context.id, error)

    def take(self, conversation: Conversation, request: Request, *, at_ms: int) -> None:
        """Take over the decisions about a history that is new here; nothing if this session has decided before."""
        if conversation in self._met:
            return
        self._met.add(conversation)
        try:
            if self._is_fresh(conversation) and (other := self._other(conversation)):
                self._take_from(other, conversation, request, at_ms)
        except StoreError as error:
            _log.error("session %.80r: nothing is taken over from another one: %s", self._context.id, error)

    def _is_fresh(self, conversation: Conversation) -> bool:
        """Return whether the history has an answer, and this session has no decision of its own."""
        has_answer = conversation.window.first_unseen > 0
        return has_answer and not self._log.decisions.places and not self._store.operations(self._context.id, _OWN_WAY)

    def _other(self, conversation: Conversation) -> str:
        """Return the session that decided last about this history; empty if none did."""
        ids = [*conversation.numbers][-_LOOKED_AT:]
        while ids:
            texts = {_place_mark(conversation.form, id_): number for number, id_ in enumerate(ids[-_CHUNK:])}
            known = [one for one in self._store.find_marks(list(texts)) if one.session_id != self._context.id]
            if known:
                return max(known, key=lambda one: texts[one.mark.text]).session_id
            del ids[-_CHUNK:]
        return ""

    def _take_from(self, other: str, conversation: Conversation, request: Request, at_ms: int) -> None:
        common = _common(self._store.decided(other), conversation)
        given = {e.id: e for e in _entries(common, conversation, at_ms)}
        taken = [self._own(d) for d in common if d.entry_id in given]
        if taken and (refused := _refusal(Decisions(self._context.id, taken, ()), conversation, request)):
            _log.warning("session %.80r: decisions of another one do not fit: %s", self._context.id, refused)
            taken = []
        reports = Reports(one.payload for one in self._store.operations(other, KINDS)).inherited(conversation.numbers)
        if taken or reports:
            originals = [given[entry_id] for entry_id in dict.fromkeys(d.entry_id for d in taken if d.ref)]
            self._log.inherit(taken, originals, reports, at_ms=at_ms)

    def _own(self, decision: Decision) -> Decision:
        """Return a decision under a reference of this session; its text keeps the one that the model has seen."""
        if not decision.ref:
            return decision
        shown = decision.detail.get("shown") or decision.ref
        own = self._log.decisions.ref_of(decision.entry_id)
        return replace(decision, ref=own, detail={**decision.detail, "shown": shown})


def _common(decided: Sequence[Decision], conversation: Conversation) -> list[Decision]:
    """Return the decisions that were made in this history, about blocks of it; and the notes that say what left of it."""
    numbers = conversation.numbers
    here = [d for d in decided if taken_at(d) in numbers and place_of(d.entry_id) in numbers]
    about = [d for d in here if d.kind in _SHARED and not d.is_about_our_text]
    refs = {d.detail.get("shown") or d.ref for d in about}
    has_summaries = any(d.kind == "evicted" for d in here)  # a note may repeat one
    notes = {d.entry_id for d in here if not has_summaries and _lists_only(refs, d)}
    return [d for d in here if d.entry_id in notes or (d.kind in _SHARED and not d.is_about_our_text)]


def _lists_only(refs: Collection[str], decision: Decision) -> bool:
    """Tell whether a decision places a note of what left that names nothing but these references."""
    if decision.kind != "noted" or decision.detail.get("name") != LEFT:
        return False
    return all(line.ref in refs for line in listed_in([decision.detail["text"]]).lines)


def _entries(common: Sequence[Decision], conversation: Conversation, at_ms: int) -> Iterator[ContextEntry]:
    """Yield the entries of the items that these decisions are about, and their notes."""
    items, numbers = conversation.window.items, conversation.numbers
    for number in sorted({numbers[place_of(d.entry_id)] for d in common if not d.is_about_our_text}):
        yield from items[number].entries
    for decision in common:
        if decision.kind == "noted":
            yield note_entry(decision, timestamp_ms=at_ms, count=conversation.count)


def _refusal(decisions: Decisions, conversation: Conversation, request: Request) -> str:
    """Return why the provider would refuse the window with these decisions; empty if it would not."""
    window, renderer = conversation.window_with(decisions), Renderer(conversation)
    renderer.render(window, request)
    return problem_of(window, conversation, renderer, request)


def _place_mark(form: Form, place: str) -> str:
    return f"{form.NAME} {place}"
