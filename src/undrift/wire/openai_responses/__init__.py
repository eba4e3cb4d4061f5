"""The OpenAI Responses form; see `undrift.wire.form.Form`."""

from undrift.wire.openai_responses.editing import edit, user_item
from undrift.wire.openai_responses.meaning import digest
from undrift.wire.openai_responses.reading import beside_texts, delta, items, read, session_id
from undrift.wire.openai_responses.reply import reply
from undrift.wire.openai_responses.rules import problems

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

NAME = "openai-responses"
HISTORY = "input"
BESIDE: tuple[str, ...] = ("instructions", "tools", "text")
CACHED: tuple[str, ...] = ("instructions", "tools", "text")
ADJACENT = False
