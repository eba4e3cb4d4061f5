"""Pins and notes, the texts that undrift adds to a history. Pure.

Law: a text is only added after everything that was sent, and then stays in its place. So neither the provider's cache
nor a signature is touched. A pin stays for good, unless it is loose: then it leaves with the next prune. A note stays until a newer
note of its name follows it and something before it is rewritten anyway. The budget may prune a note like any other summary.
"""

from collections.abc import Callable
from dataclasses import replace

from undrift.core.text.refs import ref_of
from undrift.values.window import ContextEntry, Decision

__all__ = ["BACK", "is_loose", "loosened", "note_decision", "note_entry", "pin_decision", "pin_text", "without_pin"]

BACK = "back"
"""Value of ``made_of`` in a pin's metadata: a text that had left, and that a person brought back."""

_REASONS = {
    "scratchpad": "the agent's notes, as they were when they last changed",
    "finished": "the finished tasks whose tombstones have left",
    "memory": "what is remembered about the user's newest words",
}


_PINNED_BECAUSE = {
    "rules": "the user's rules, which the client's new history lacks",
    BACK: "brought back by the user, after it had left",
}


def pin_text(pin: ContextEntry) -> str:
    """Return a pin's text in the window: a line that names the pin, then the pinned text; rules say what they are."""
    if pin.meta("made_of"):
        return pin.content
    return f"[Pinned {pin.meta('pinned_as') or pin.type}: it holds for the whole session]\n{pin.content}"


def loosened(pin: ContextEntry) -> ContextEntry:
    """Return a pin that stays in its place until the next prune: its text is the same, its type one that may leave."""
    about = {**(pin.metadata or {}), "kind": "note", "role": "user", "loose": True, "pinned_as": pin.type}
    return replace(pin, type="summary", metadata=about)


def is_loose(pin: ContextEntry | None) -> bool:
    """Tell whether a pin leaves with the next prune; None, which is no pin, does not."""
    return pin is not None and bool(pin.meta("loose"))


def pin_decision(ref: str, pin: ContextEntry, *, anchor: str, count: Callable[[str], int]) -> Decision:
    """Return the decision that puts a pin into the item with the chain id `anchor`."""
    detail = {"anchor": anchor, "pin": ref}
    reason = _PINNED_BECAUSE.get(pin.meta("made_of"), f"pinned as {pin.type}")
    return Decision(f"{anchor}:{ref}", "pinned", reason, -count(pin_text(pin)), ref, detail)


def without_pin(placed: Decision) -> Decision:
    """Return the decision that removes a loose pin from its place."""
    reason = "it is not pinned any more, and left with a prune"
    return Decision(placed.entry_id, "pruned", reason, -placed.tokens_saved, placed.ref)


def note_decision(
    name: str, text: str, *, anchor: str, count: Callable[[str], int], ref_of_entry: Callable[[str], str]
) -> Decision:
    """Return the decision that puts a note into an item. `name`: a newer note of the same name supersedes this one."""
    entry_id = f"{anchor}:note:{name}:{ref_of(name, text)}"
    detail = {"anchor": anchor, "name": name, "text": text}
    return Decision(entry_id, "noted", _REASONS.get(name, name), -count(text), ref_of_entry(entry_id), detail)


def note_entry(decision: Decision, *, timestamp_ms: int, count: Callable[[str], int]) -> ContextEntry:
    """Return a note as an entry of type summary; it is in the user's message but is not the user's words."""
    text = decision.detail["text"]
    metadata = {"role": "user", "kind": "note", "message": decision.detail["anchor"]}
    return ContextEntry(decision.entry_id, "summary", text, count(text), timestamp_ms, metadata)
