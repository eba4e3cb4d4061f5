"""The OpenAI Chat Completions form; see `undrift.wire.form.Form`."""

from undrift.wire.openai_chat.editing import edit, user_item
from undrift.wire.openai_chat.reading import beside_texts, delta, digest, items, read, session_id
from undrift.wire.openai_chat.reply import reply
from undrift.wire.openai_chat.rules import problems

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

NAME = "openai-chat"
HISTORY = "messages"
BESIDE: tuple[str, ...] = ("tools", "functions", "response_format")
CACHED: tuple[str, ...] = ("tools", "functions", "response_format")
ADJACENT = True
