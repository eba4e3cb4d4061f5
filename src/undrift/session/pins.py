"""The pins of a session: texts that stay in its windows, and texts that had left and are brought back.

Law: a pin is on disk before it counts. An undone pin stays where it was sent until the next prune, so that it costs no
rewrite of the prompt.
"""

from undrift.core.text.refs import ref_of
from undrift.core.text.safe_lines import label
from undrift.core.window.additions import BACK
from undrift.core.window.log import place_of
from undrift.errors import InputError, RecallError
from undrift.settings.model_table import lookup, read_models
from undrift.values.closing import in_turn
from undrift.values.window import PINNED_TYPES, ContextEntry, EntryType
from undrift.window.context import SessionContext
from undrift.window.conversation import Conversation
from undrift.window.originals import original_of

__all__ = ["SessionPins", "due_in"]

_MOST_SHARE = 1 / 3
_WHAT_CHARACTERS = 160


class SessionPins:
    """The pins of one session: their methods are methods of the session."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._sharing = context.sharing
        self._log = context.log

    @in_turn
    def pin(self, type: EntryType, text: str) -> str:
        """Pin a text: every window from now on contains it byte for byte. Return its reference.

        Before the first answer it goes into the first user message, else to the tail, and stays there. The same type
        and text again is the same pin.

        Args:
            type: One of `PINNED_TYPES`.
            text: Not empty. A secret in it is masked in the window and on disk (setting `mask_secrets`).

        Raises:
            InputError: Another type, or an empty text.
            StoreError: It could not be written; nothing is pinned.

        >>> ref = session.pin("requirements", "All public names carry units.")
        >>> session.recall(ref)
        'All public names carry units.'
        """
        if type not in PINNED_TYPES:
            raise InputError(f"a pin's type must be one of {sorted(PINNED_TYPES)}, not {type!r}")
        if not isinstance(text, str) or not text.strip():
            raise InputError("a pin's text must be a string with something in it")
        at_ms = self._context.clock.tick()
        entry = ContextEntry(f"pin:{ref_of(type, text)}", type, text, self._context.count(text), at_ms)
        return self._log.pin(entry, at_ms=at_ms)

    @in_turn
    def unpin(self, ref: str) -> None:
        """Undo a pin, or the bringing back of a text.

        If no window has it yet, none will. Else it stays where it is until the next prune, so that the provider's cache
        still holds. `pin` of the same text pins it again.

        Args:
            ref: What `pin` or `bring_back` returned.

        Raises:
            RecallError: The session has no such pin.
            StoreError: It could not be written; nothing has changed.

        >>> ref = session.pin("spec", "The port is 8080.")
        >>> session.unpin(ref)
        """
        at_ms = self._context.clock.tick()
        self._log.follow()
        pin = self._log.decisions.pins.get(ref)
        if pin is None or pin.meta("made_of") not in (None, BACK):
            raise RecallError(f"session {self._context.id[:64]!r} has no pin {ref[:64]!r}")
        if ref not in self._log.decisions.unpinned:
            self._log.unpin(ref, at_ms=at_ms)

    @in_turn
    def bring_back(self, ref: str, *, model: str = "") -> str:
        """Put the text of an entry that left into the next request of its conversation; return the pin's reference.

        It stays there until the next prune. A text that was brought back and not sent yet is not brought twice.

        Args:
            ref: The reference of an action.
            model: The model of the session, whose window limits what can be brought back.

        Raises:
            InputError: The text is larger than a third of the budget.
            RecallError: Nothing is known under it, or it was purged or swept.
            StoreError: It could not be written; nothing is brought back.

        >>> action = session.prepare(long_body).new[1]
        >>> back = session.bring_back(action.ref)
        >>> "src/part0.py, line 1" in session.recall(back)
        True
        """
        at_ms = self._context.clock.tick()
        self._log.follow()
        found = original_of(self._context.store, self._context.id, ref)
        settings = self._context.settings
        budget_tokens = settings.budget_for(lookup(model or None, read_models(settings.models_file)).window_tokens)
        if found.entry.token_count > _MOST_SHARE * budget_tokens:
            raise InputError(
                f"{found.entry.token_count:,} tokens are more than a third of the budget of {budget_tokens:,}: recall {ref[:64]}, "
                "and give the agent the part that it needs"
            )
        decisions = self._log.decisions
        earlier = [(one, pin) for one, pin in decisions.pins.items() if pin.meta("of") == ref]
        waiting = [one for one, _ in earlier if one not in decisions.placed_pins and one not in decisions.unpinned]
        if waiting:
            return waiting[-1]
        about = {"made_of": BACK, "of": ref, "from": found.entry.id, "kind": "note", "role": "user", "loose": True}
        lead = f"[Brought back by the user, after it had left this window: {label(found.entry.what, _WHAT_CHARACTERS)}]"
        text = f"{lead}\n{found.entry.content}"
        id_ = f"back:{ref_of(ref, str(len(earlier)))}"
        return self._log.pin(ContextEntry(id_, "summary", text, self._context.count(text), at_ms, about), at_ms=at_ms)


def due_in(context: SessionContext, conversation: Conversation, client: str) -> tuple[tuple[str, str], ...]:
    """Return the pins with what was brought back and has not been sent: the reference of each, and the chain id of its place.

    `client`: the user agent of the request; empty if no person types in this conversation. One in which a person types
    also gets what left an earlier history of the session.
    """
    decisions = context.log.decisions
    waiting = [
        (ref, pin)
        for ref, pin in decisions.pins.items()
        if pin.meta("made_of") == BACK and ref not in decisions.placed_pins and ref not in decisions.unpinned
    ]
    anchor = conversation.window.anchor if waiting else None
    if anchor is None:
        return ()
    is_main = bool(client) and conversation.offers_tools
    here = [ref for ref, pin in waiting if is_main or place_of(str(pin.meta("from"))) in conversation.numbers]
    return tuple((ref, anchor) for ref in here)
