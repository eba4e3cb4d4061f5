"""The Anthropic Messages form; see `undrift.wire.form.Form`."""

from undrift.wire.anthropic.editing import edit, user_item
from undrift.wire.anthropic.reading import beside_texts, delta, digest, items, read, session_id
from undrift.wire.anthropic.reply import reply
from undrift.wire.anthropic.rules import problems

__all__ = [
    "ADJACENT",
    "BESIDE",
    "CACHED",
    "HISTORY",
    "NAME",
    "beside_texts",
    "delta",
    "digest",
    "edit",
    "items",
    "problems",
    "read",
    "reply",
    "session_id",
    "user_item",
]

NAME = "anthropic"
HISTORY = "messages"
BESIDE: tuple[str, ...] = ("system", "tools")
CACHED: tuple[str, ...] = ("tools", "system", "tool_choice", "thinking")
ADJACENT = True
