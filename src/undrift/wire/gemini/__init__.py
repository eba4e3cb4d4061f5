"""The Gemini `generateContent` form; see `undrift.wire.form.Form`."""

from undrift.wire.gemini.editing import edit, user_item
from undrift.wire.gemini.meaning import digest
from undrift.wire.gemini.reading import beside_texts, delta, items, read, session_id
from undrift.wire.gemini.reply import reply
from undrift.wire.gemini.rules import problems

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

NAME = "gemini"
HISTORY = "contents"
BESIDE: tuple[str, ...] = ("systemInstruction", "system_instruction", "tools", "config")
"""``config`` is how Google's SDK takes the others; the provider's own JSON does not have it."""
CACHED: tuple[str, ...] = (
    "cachedContent",
    "cached_content",
    "systemInstruction",
    "system_instruction",
    "tools",
    "config",
)
ADJACENT = True
