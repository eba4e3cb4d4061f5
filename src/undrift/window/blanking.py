"""A decision whose original is destroyed: it holds in the same histories, without a word of the original. Pure.

Law: after a sweep a window has the same bytes, references included. After a purge it names no reference, and a tombstone
says no more than its task's id.
"""

from typing import Literal

from undrift.core.text.tombstone import purged_tombstone
from undrift.values.clock import day_of
from undrift.values.window import Decision

__all__ = ["blanked"]

_NOTE = "[A note that stood here was purged.]"
_NEEDED = (
    "anchor", "at", "first_send", "fold", "keep_head", "keep_tail", "name", "rows", "rules", "shown", "stays_tokens",
    "task", "thinking", "untold",
)  # fmt: skip
"""The figures of a decision that are needed to apply it again, and to decide on later turns."""


def blanked(decision: Decision, *, act: Literal["purged", "swept"], at_ms: int) -> Decision:
    """Return a decision about an original that is destroyed; its reason names the day."""
    detail = {name: decision.detail[name] for name in _NEEDED if name in decision.detail}
    if act == "swept":  # the words that stand in the window are no part of the original
        detail |= {"text": decision.detail["text"]} if "text" in decision.detail else {}
        detail.setdefault("shown", decision.ref)
    elif decision.kind == "evicted":
        text = decision.detail.get("text")
        detail["text"] = None if text is None else purged_tombstone(str(decision.detail.get("task") or "?"))
    elif decision.kind == "noted":
        detail["text"] = _NOTE
    detail |= {"gone": act, "gone_ref": decision.ref}
    reason = f"its original was {act} on {day_of(at_ms)}"
    return Decision(decision.entry_id, decision.kind, reason, decision.tokens_saved, "", detail)
