"""Gives the rules of a session to a history that begins with a client's summary, after a compaction of its own.

Law: what was typed is written down once the model has answered it, so a client's own prompt, such as that for a summary, is
none of it. A history gets its rules once, as a pin: the text is on disk first, and stays in its place. A fault costs the rules
of a turn, never the turn.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from undrift.core.text.refs import ref_of
from undrift.core.window.standing_rules import (
    RULES,
    SAYINGS,
    has_summary,
    lacking_words,
    rules_text,
    said_in,
    sayings_of,
    typed_in,
)
from undrift.core.window.window import Window
from undrift.errors import StoreError
from undrift.profiles import profile_of
from undrift.stores.rule_book import added_rules, is_removed
from undrift.values.items import outlined
from undrift.values.rule import Rule
from undrift.values.window import ContextEntry
from undrift.window.context import SessionContext
from undrift.window.conversation import Conversation

__all__ = ["StandingRules"]

_log = logging.getLogger("undrift.session")


@dataclass(slots=True)
class _SearchedHistory:
    """The items of a history that were read.

    Args:
        count: The number of items that were searched for a summary.
        heard: The number of those that were searched for rules.
        last: Chain id of the last item that was searched for a summary.
        summary_at: The number of the item with the client's summary; None: there is none.
        is_given: Whether that history has its rules.
    """

    count: int = 0
    heard: int = 0
    last: str = ""
    summary_at: int | None = None
    is_given: bool = False


class StandingRules:
    """The rules of one session, for the windows of its histories."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._log = context.log
        self._read: WeakKeyDictionary[Conversation, _SearchedHistory] = WeakKeyDictionary()

    def follow(self, conversation: Conversation, client: str, *, budget_tokens: int) -> tuple[tuple[str, str], ...]:
        """Return the pin with the rules that this history lacks, and the chain id of its place; empty if nothing is due.

        `client`: the user agent of the request; empty if no person types in this conversation.
        """
        profile = profile_of(client) if client else None
        if profile is None or not (profile.is_typed and conversation.offers_tools):
            return ()
        reading = self._reading(conversation)
        window = conversation.window
        self._look(reading, window)
        if reading.is_given or (reading.summary_at is None and window.first_unseen):
            return ()
        reading.is_given = _is_given(window, reading.summary_at or 0)
        anchor = _anchor(window, reading.summary_at or 0)
        if reading.is_given or anchor is None:
            return ()
        try:
            for other in list(self._read):
                self._hear(other)
            ref = self._pin(conversation, budget_tokens, is_new=reading.summary_at is not None)
        except (StoreError, OSError) as error:
            _log.error("session %.80r: a new history gets no rules: %s", self._context.id, error)
            return ()
        reading.is_given = not ref
        return ((ref, anchor),) if ref else ()

    def answered(self, conversation: Conversation | None) -> None:
        """Write down what was typed about rules, up to the newest answer in a history; never raises."""
        try:
            self._hear(conversation)
        except StoreError as error:
            _log.error("session %.80r: rules could not be written down: %s", self._context.id, error)

    def _reading(self, conversation: Conversation) -> _SearchedHistory:
        """Return what is known of a history; nothing if the client has changed what was read."""
        reading = self._read.get(conversation)
        if reading is None or (reading.count and conversation.numbers.get(reading.last) != reading.count - 1):
            reading = self._read[conversation] = _SearchedHistory()
        return reading

    def _look(self, reading: _SearchedHistory, window: Window) -> None:
        """Search for an item with a summary; items that an earlier process has read are passed over."""
        for number in range(reading.count, len(window.items)):
            if outlined(window.items, number) is None and has_summary(window.items[number]):
                reading.summary_at, reading.is_given = number, False
        reading.count = len(window.items) - 1  # the newest one may stand otherwise in the next request
        reading.last = window.items[-2].id if reading.count else ""

    def _pin(self, conversation: Conversation, budget_tokens: int, *, is_new: bool) -> str:
        """Return the reference of the pin with the rules that a history lacks; empty if it lacks none."""
        pins, place, window = self._log.decisions.pins, self._context.place, conversation.window
        said = sayings_of(pins.values()) if is_new else ()
        added: tuple[Rule, ...] = () if place is None else added_rules(place, self._context.id)
        if not said and not added:
            return ""
        removed = frozenset[str]() if place is None else is_removed(place, self._context.id)
        ours = [entry.content for entry in window.entries if entry.meta("made_of") == RULES]
        texts = (e.content for e in window.given if e.meta("role") == "user" and e.meta("kind") == "text")
        lacking = lacking_words(said, added, removed, [*texts, *ours])
        text = rules_text(lacking, budget_tokens=budget_tokens, count=conversation.count)
        return self._written(f"rules:{ref_of(RULES, text)}", text, {"made_of": RULES}) if text else ""

    def _hear(self, conversation: Conversation | None) -> None:
        """Write down what was typed about rules and has been answered. Raises StoreError."""
        reading = None if conversation is None else self._read.get(conversation)
        if conversation is None or reading is None:
            return
        window = conversation.window
        for number in range(reading.heard, window.first_unseen):
            if outlined(window.items, number) is None:
                before = window.items[number - 1] if number else None
                for entry in typed_in(window.items[number], before):
                    self._write_down(entry)
            reading.heard = number + 1

    def _write_down(self, entry: ContextEntry) -> None:
        if said := said_in(entry.content):
            about = {"made_of": SAYINGS, "kinds": [one.kind for one in said]}
            self._written(f"said:{ref_of(SAYINGS, entry.content)}", "\n".join(one.text for one in said), about)

    def _written(self, id_: str, text: str, about: Mapping[str, object]) -> str:
        at_ms = self._context.clock.now_ms
        entry = ContextEntry(id_, "requirements", text, self._context.count(text), at_ms, about)
        return self._log.pin(entry, at_ms=at_ms)


def _is_given(window: Window, first: int) -> bool:
    """Tell whether a text with rules stands in the history from an item on."""
    placed = (d for anchor, found in window.placed.items() if window.numbers[anchor] >= first for d in found)
    return any(
        (pin := window.pins.get(d.detail.get("pin", ""))) is not None and pin.meta("made_of") == RULES for d in placed
    )


def _anchor(window: Window, first: int) -> str | None:
    """Return the chain id of the item that gets the rules: the first of the user's from an item on that was not answered."""
    first = max(first, window.first_unseen)
    spoken = (item.id for item in window.items[first:] if item.role == "user" and not item.is_replaced)
    return next(spoken, window.anchor)
