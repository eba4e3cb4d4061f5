"""The note that says what left a window whole: made when something leaves, and standing until something leaves again. No I/O.

Law: the history is being rewritten anyway when it changes, so that it never breaks the provider's cache by itself; between
two prunes it is what it was. What it says is a function of the history and the decisions that hold in it.
"""

from collections.abc import Callable, Iterable

from undrift.core.window.left import LeftCall, left_note
from undrift.values.window import Decision
from undrift.window.conversation import Conversation
from undrift.window.decisions import Decisions
from undrift.window.notes import LEFT, stale

__all__ = ["has_left", "left_text", "outdated", "standing_text"]


def has_left(decisions: Iterable[Decision]) -> bool:
    """Tell whether any of these decisions lets go of more than thinking."""
    return any(decision.kind == "pruned" and not decision.detail.get("thinking") for decision in decisions)


def standing_text(conversation: Conversation, decisions: Decisions) -> str:
    """Return the note as it stands in a history; empty where none does."""
    found = [d.detail["text"] for d in decisions.notes(conversation.numbers) if d.detail["name"] == LEFT]
    return found[-1] if found else ""


def outdated(conversation: Conversation, decisions: Decisions, text: str) -> list[Decision]:
    """Return the decisions that take out the notes of what left which say something else than `text`."""
    standing = [d for d in decisions.notes(conversation.numbers) if d.detail["name"] == LEFT]
    return conversation.taken_here(stale(standing, {LEFT: text}))


def left_text(conversation: Conversation, most_tokens: int, count: Callable[[str], int]) -> str:
    """Return the note as it is to stand: of each call of this history that left with its result, the newest last.

    Args:
        conversation: With today's decisions in force.
        most_tokens: What it may cost.
        count: The counter in force.
    """
    if most_tokens <= 0:
        return ""
    refs = {action.entry_id: action.ref for action in conversation.actions if action.kind == "pruned"}
    calls: dict[str, tuple[str, str, str]] = {}
    gone: list[LeftCall] = []
    for entry in conversation.all_entries:
        about = entry.metadata or {}
        if entry.id not in refs or not entry.pair_id:
            continue
        if about.get("kind") == "call":
            calls[entry.pair_id] = (about.get("tool_name", ""), entry.content, refs[entry.id])
        elif about.get("kind") == "result" and (call := calls.pop(entry.pair_id, None)):
            tool, given, call_ref = call
            ref = refs[entry.id] if len(entry.content) >= len(given) else call_ref
            gone.append(LeftCall(tool, given, entry.content, ref))
    return left_note(gone, most_tokens, count, names_recall=conversation.names_recall)
