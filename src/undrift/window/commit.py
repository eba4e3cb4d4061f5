"""Carries out a turn: plans the window, renders and checks it, and writes the decisions before they count.

Law: nothing counts that is not on disk. If the provider would refuse a window, an older one is sent, step by step. If
the store fails, nothing leaves.
"""

import logging
from dataclasses import dataclass, replace
from typing import Any

from undrift.core.window.additions import note_entry
from undrift.core.window.fetched import places_left
from undrift.core.window.log import place_of
from undrift.core.window.plan import decided
from undrift.core.window.turn import Past, Turn
from undrift.core.window.window import Window
from undrift.errors import StoreError
from undrift.values.window import Decision
from undrift.window.conversation import Conversation
from undrift.window.ledgers import LEFT_PLACES
from undrift.window.legal import last_legal
from undrift.window.render import Renderer
from undrift.window.request import Request
from undrift.window.session_log import SessionLog

__all__ = ["Carried", "Committer", "past_of"]

_log = logging.getLogger("undrift.window")

_ACTS = (("evicted", "evict"), ("folded", "fold"))
_TRIES = 3
"""Attempts: another process may decide twice about the same session while one turn is planned."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The result of a turn.

    Args:
        items: The items to send; None to send the body unchanged.
        written: The decisions, on disk.
        warning: The part that failed; empty if nothing did.
    """

    window: Window
    items: list[Any] | None
    written: tuple[Decision, ...] = ()
    warning: str = ""


class Committer:
    """Carries out the turns of one session."""

    def __init__(self, session_id: str, log: SessionLog) -> None:
        self._session_id = session_id
        self._log = log

    def carry_out(self, turn: Turn, conversation: Conversation, renderer: Renderer, request: Request) -> Carried:
        """Plan, render, check and write one turn."""
        for tries_left in reversed(range(_TRIES)):
            steps = decided(conversation.window, turn)
            chosen, items, refused = last_legal(steps, turn, conversation, renderer, request)
            if items is None:
                _log.error("session %.80r: an edit would have been refused: %s", self._session_id, refused)
                warning = f"sent unchanged: earlier edits would have been refused ({refused})"
                return Carried(conversation.window, None, warning=warning)
            try:
                self._write(chosen, turn)
            except StoreError as error:
                if tries_left and self._reloaded():  # another process has decided since: plan again with its decisions
                    turn = _renewed(turn, conversation, self._log)
                    continue
                _log.error("session %.80r: nothing left the window: %s", self._session_id, error)
                items = renderer.render(conversation.window, request)
                warning = f"nothing left the window, because it could not be stored first: {error}"
                return Carried(conversation.window, items, warning=warning)
            if refused:
                _log.error("session %.80r: an edit would have been refused: %s", self._session_id, refused)
                refused = f"some entries stayed that should have left: the edit would have been refused ({refused})"
            conversation.keep(chosen)
            return Carried(chosen, items, chosen.new, refused)
        raise AssertionError("the last try returns")

    def _write(self, window: Window, turn: Turn) -> None:
        if not window.new:
            return
        named = {d.entry_id for d in window.new}
        numbers = sorted({n for d in window.new if (n := window.numbers.get(place_of(d.entry_id))) is not None})
        originals = [e for number in numbers for e in window.items[number].entries if e.id in named]
        at_ms = turn.now_ms
        originals += [
            note_entry(d, timestamp_ms=at_ms, count=turn.tools.count) for d in window.new if d.kind == "noted"
        ]
        payload: dict[str, Any] = {"at": window.place}
        if window.plan is not None:
            payload |= {"tokens": window.plan.total_tokens, "target": window.plan.target_tokens}
        if left := places_left(window, window.new):
            payload[LEFT_PLACES] = [*left]
        kinds = {decision.kind for decision in window.new}
        act = "prune" if window.plan else next((act for kind, act in _ACTS if kind in kinds), "place")
        self._log.write(act, window.new, originals, at_ms=at_ms, payload=payload)

    def _reloaded(self) -> bool:
        try:
            return self._log.reload()
        except StoreError:
            return False


def past_of(log: SessionLog, conversation: Conversation) -> Past:
    """Return the decisions of earlier turns that apply to this conversation's history."""
    decisions = log.decisions
    return Past(
        partial_prunes=lambda: decisions.partial_prunes(conversation.numbers),
        is_furthest=lambda: decisions.is_furthest(conversation.numbers),
        refs_of=decisions.evicted_by,
        has_evicted=bool(decisions.tasks),
    )


def _renewed(turn: Turn, conversation: Conversation, log: SessionLog) -> Turn:
    """Return the turn with the changes that another process wrote in the meantime."""
    return replace(turn, tasks=log.tasks, pins=log.decisions.pinned, past=past_of(log, conversation))
