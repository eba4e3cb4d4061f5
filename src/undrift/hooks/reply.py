"""The reply of a hook to its client: one JSON object, or nothing. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["HookReply", "output"]


@dataclass(frozen=True, slots=True)
class HookReply:
    """The words of one piece of work; by itself nothing.

    Args:
        context: For the model: what the client adds to the window.
        sentence: For the person alone; it does not reach the model.
        fields: Further fields of the event's own output, such as a decision about a call.
    """

    context: str = ""
    sentence: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


def output(event: str, replies: Iterable[HookReply]) -> str:
    """Return the output of a hook, a line; empty if nothing was said. The last reply counts where two set one field."""
    found = tuple(replies)
    context = "\n".join(one.context for one in found if one.context)
    sentence = " ".join(one.sentence for one in found if one.sentence)
    fields = {name: value for one in found for name, value in one.fields.items()}
    shown: dict[str, Any] = {"systemMessage": sentence} if sentence else {}
    if context:
        fields["additionalContext"] = context
    if fields:
        shown["hookSpecificOutput"] = {"hookEventName": event, **fields}
    return json.dumps(shown, ensure_ascii=False) + "\n" if shown else ""
