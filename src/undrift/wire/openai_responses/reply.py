"""OpenAI Responses: reads an answer. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.wire.cache_life import retention_of
from undrift.wire.form import ProviderReply, ToolCall, count_at, json_or_empty

__all__ = ["reply"]


def reply(answer: Mapping[str, Any]) -> ProviderReply:
    """Read an answer; see `Form.reply`. Input tokens include those read from the cache and written to it (R8)."""
    usage = answer.get("usage")
    details = usage.get("input_tokens_details") if isinstance(usage, Mapping) else None
    output = answer.get("output")
    items = [item for item in output if isinstance(item, Mapping)] if isinstance(output, list) else []
    return ProviderReply(
        input_tokens=count_at(usage, "input_tokens"),
        cached_tokens=count_at(details, "cached_tokens") or 0,
        written_tokens=count_at(details, "cache_write_tokens") or 0,
        output_tokens=count_at(usage, "output_tokens") or 0,
        cache_seconds=retention_of(answer),
        text="".join(_texts(items)),
        calls=tuple(_calls(items)),
    )


def _texts(items: list[Mapping[str, Any]]) -> Iterator[str]:
    for item in items:
        content = item.get("content") if item.get("type") == "message" else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") in ("output_text", "refusal"):
                said = part.get("refusal" if part["type"] == "refusal" else "text")
                if isinstance(said, str):
                    yield said


def _calls(items: list[Mapping[str, Any]]) -> Iterator[ToolCall]:
    """Return the calls that the client must answer."""
    for item in items:
        type_, call_id, name = item.get("type"), item.get("call_id"), item.get("name")
        if not isinstance(type_, str) or not type_.endswith("_call"):
            continue
        if not isinstance(call_id, str) and type_ not in ("function_call", "custom_tool_call"):
            continue  # the provider runs it itself
        given = item.get("input" if type_ == "custom_tool_call" else "arguments")
        yield ToolCall(
            call_id if isinstance(call_id, str) else "",
            name if isinstance(name, str) else "" if type_ == "function_call" else type_.removesuffix("_call"),
            given if isinstance(given, str) else json_or_empty(item),
        )
