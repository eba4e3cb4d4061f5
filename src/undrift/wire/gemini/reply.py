"""Gemini: reads an answer. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.wire.form import ProviderReply, ToolCall, count_at, json_or_empty
from undrift.wire.gemini.names import camelled, data_of, parts_of

__all__ = ["reply"]


def reply(answer: Mapping[str, Any]) -> ProviderReply:
    """Read a response; see `Form.reply`.

    The input includes what was read from the cache; the thoughts are not in the candidates' tokens.
    """
    given = camelled(answer).get("usageMetadata")
    usage = camelled(given) if isinstance(given, Mapping) else None
    said, thought = count_at(usage, "candidatesTokenCount"), count_at(usage, "thoughtsTokenCount")
    parts = list(_parts(answer))
    return ProviderReply(
        input_tokens=count_at(usage, "promptTokenCount"),
        cached_tokens=count_at(usage, "cachedContentTokenCount") or 0,
        output_tokens=(said or 0) + (thought or 0),
        text="".join(_texts(parts)),
        calls=tuple(_calls(parts)),
    )


def _parts(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    candidates = answer.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, Mapping) else None
    parts = parts_of(content) if isinstance(content, Mapping) else []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping):
            yield part


def _texts(parts: list[Mapping[str, Any]]) -> Iterator[str]:
    """Return the answer's text, without summaries of thoughts."""
    for part in parts:
        kind, _, text = data_of(part)
        if kind == "text" and isinstance(text, str) and part.get("thought") is not True:
            yield text


def _calls(parts: list[Mapping[str, Any]]) -> Iterator[ToolCall]:
    for part in parts:
        kind, _, call = data_of(part)
        if kind == "functionCall" and isinstance(call, Mapping):
            id_, name, given = call.get("id"), call.get("name"), call.get("args")
            yield ToolCall(
                id_ if isinstance(id_, str) else "",
                name if isinstance(name, str) else "",
                json_or_empty({} if given is None else given),
            )
