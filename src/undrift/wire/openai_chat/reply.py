"""OpenAI Chat Completions: reads an answer. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.wire.cache_life import retention_of
from undrift.wire.form import ProviderReply, ToolCall, count_at

__all__ = ["reply"]


def reply(answer: Mapping[str, Any]) -> ProviderReply:
    """Read the first choice of an answer; see `Form.reply`. Input tokens include cached ones (C5).

    DeepSeek counts what was cached as ``prompt_cache_hit_tokens``.
    """
    usage = answer.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, Mapping) else None
    cached = count_at(details, "cached_tokens")
    if cached is None:
        cached = count_at(usage, "prompt_cache_hit_tokens")
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    found = first.get("message") if isinstance(first, Mapping) else None
    message: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    return ProviderReply(
        input_tokens=count_at(usage, "prompt_tokens"),
        cached_tokens=cached or 0,
        written_tokens=count_at(details, "cache_write_tokens") or 0,
        output_tokens=count_at(usage, "completion_tokens") or 0,
        cache_seconds=retention_of(answer),
        text=_text_of(message.get("content")) or _text(message.get("refusal")),
        calls=tuple(_calls(message)),
    )


def _text_of(content: Any) -> str:
    if not isinstance(content, list):
        return _text(content)
    return "".join(_text(p.get("text")) for p in content if isinstance(p, Mapping) and p.get("type") == "text")


def _calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            continue
        function, custom = call.get("function"), call.get("custom")
        if isinstance(function, Mapping):
            yield ToolCall(_text(call.get("id")), _text(function.get("name")), _text(function.get("arguments")))
        elif isinstance(custom, Mapping):
            yield ToolCall(_text(call.get("id")), _text(custom.get("name")), _text(custom.get("input")))
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        yield ToolCall("", _text(legacy.get("name")), _text(legacy.get("arguments")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
