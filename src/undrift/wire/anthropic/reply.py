"""Anthropic Messages: reads an answer. Pure."""

from collections.abc import Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire.cache_life import LONG_SECONDS, SHORT_SECONDS
from undrift.wire.form import ProviderReply, ToolCall, count_at, json_text

__all__ = ["reply"]


def reply(answer: Mapping[str, Any]) -> ProviderReply:
    """Read an answer; see `Form.reply`. Input tokens include those written to the cache and read from it (A20)."""
    usage = answer.get("usage")
    written, read = count_at(usage, "cache_creation_input_tokens"), count_at(usage, "cache_read_input_tokens")
    fresh = count_at(usage, "input_tokens")
    content = answer.get("content")
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    known = [n for n in (fresh, written, read) if n is not None]
    return ProviderReply(
        input_tokens=sum(known) if known else None,
        cached_tokens=read or 0,
        written_tokens=written or 0,
        output_tokens=count_at(usage, "output_tokens") or 0,
        text="".join(p["text"] for p in parts if p.get("type") == "text" and isinstance(p.get("text"), str)),
        calls=tuple(_call(part) for part in parts if part.get("type") == "tool_use"),
        cache_seconds=(kept := _cache_seconds(usage)),
        is_promised=kept is not None,
    )


def _cache_seconds(usage: Any) -> int | None:
    """Return the lifetime of the cache that this answer has written (A16)."""
    written = usage.get("cache_creation") if isinstance(usage, Mapping) else None
    if count_at(written, "ephemeral_1h_input_tokens"):
        return LONG_SECONDS
    return SHORT_SECONDS if count_at(written, "ephemeral_5m_input_tokens") else None


def _call(part: Mapping[str, Any]) -> ToolCall:
    id_, name = part.get("id"), part.get("name")
    try:
        arguments = json_text(part["input"]) if "input" in part else ""
    except WireError:  # nothing that JSON could hold
        arguments = ""
    return ToolCall(id_ if isinstance(id_, str) else "", name if isinstance(name, str) else "", arguments)
