"""Parses the content of a message for all readers: texts, calls, results. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from undrift.transcripts.base import Part, RecordedBlock, Role, Skip
from undrift.transcripts.lines import decode, list_at, object_at, printable, text_at

__all__ = ["IMAGE", "arguments", "call", "contents", "dump", "flatten", "image", "result", "text"]

IMAGE = "[image]"
"""Stands where a picture stood; the picture itself is counted as ``image data``."""

_TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
_IMAGES = frozenset({"image", "input_image", "image_url"})
_MEDIA = frozenset({"media_type", "mimeType", "mime_type"})


def dump(value: Any) -> str:
    """Write a value as JSON without ASCII escapes."""
    return json.dumps(value, ensure_ascii=False)


def text(role: Role, content: str, **extra: Any) -> Part:
    """Make a text block; an empty text is only counted."""
    if not content.strip():
        return Skip("empty text")
    if role == "system":
        return RecordedBlock("text", role, content, "spec", extra)
    return RecordedBlock("text", role, content, "reasoning", extra)


def image(role: Role) -> Iterator[Part]:
    """Make an image block; the image data is counted but not stored."""
    yield RecordedBlock("image", role, IMAGE)
    yield Skip("image data")


def contents(role: Role, content: Any, **extra: Any) -> Iterator[Part]:
    """Make a block for each part of a message's content: texts and pictures."""
    if not isinstance(content, str | list) or not content:
        yield Skip("message without content")
        return
    for part in [content] if isinstance(content, str) else content:
        flat, skips = flatten(part)
        yield RecordedBlock("image", role, flat, extra=extra) if flat == IMAGE else text(role, flat, **extra)
        yield from skips


def call(call_id: Any, name: Any, given: Any) -> RecordedBlock:
    """Build the block of a tool call. Arguments that are not a JSON object become ``{"input": given}``."""
    if given is None:
        given = {}
    arguments = given if isinstance(given, dict) else {"input": given}
    tool = name if isinstance(name, str) and name else "unknown"
    extra = {**_named(call_id), "tool_name": tool, "input": arguments}
    return RecordedBlock("call", "assistant", dump(arguments), "reasoning", extra)


def arguments(given: Any) -> Any:
    """Parse the JSON object in a string; return any other value unchanged."""
    if not isinstance(given, str):
        return given
    found, failed = decode(given)
    return found[0] if len(found) == 1 and failed is None else given


def result(role: Role, call_id: Any, content: Any, *, is_error: bool) -> Iterator[Part]:
    """Make a result block from a tool's output, and count the parts without text."""
    flat, skips = flatten(content)
    yield RecordedBlock("result", role, flat, "tool_result", {**_named(call_id), "is_error": is_error})
    yield from skips


def _named(call_id: Any) -> dict[str, str]:
    return {"call_id": call_id} if isinstance(call_id, str) and call_id else {}


def flatten(content: Any) -> tuple[str, list[Skip]]:
    """Join the texts of a content (string, part or list of parts) with line ends, and count the other parts."""
    skips: list[Skip] = []
    parts = content if isinstance(content, list) else [content]
    texts = [_part(part, skips) for part in parts if part is not None]
    return "\n".join(texts), skips


def _part(part: Any, skips: list[Skip]) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return dump(part)
    kind = text_at(part, "type")
    if kind in _TEXTS:
        return text_at(part, "text")
    if kind in _IMAGES:
        skips.append(Skip("image data"))
        return IMAGE
    if kind == "tool_reference":
        return text_at(part, "tool_name")
    if kind == "document":
        return _document(part, skips)
    return dump(_readable(part, skips))


def _document(part: Mapping[str, Any], skips: list[Skip]) -> str:
    source = object_at(part, "source")
    if source.get("type") == "text":
        return text_at(source, "data")
    if list_at(source, "content"):
        inner, more = flatten(list_at(source, "content"))
        skips += more
        return inner
    skips.append(Skip("document data"))
    return f"[document {printable(part.get('title'))}]"


def _readable(value: Any, skips: list[Skip]) -> Any:
    """Copy `value` without what only a machine can read; depth is bounded by the line decoder."""
    if isinstance(value, list):
        return [_readable(item, skips) for item in value]
    if not isinstance(value, dict):
        return value
    opaque = {"encrypted_content": "encrypted content"}
    if _MEDIA & value.keys():
        opaque["data"] = "binary data"
    kept = {}
    for key, item in value.items():
        if key in opaque and isinstance(item, str):
            skips.append(Skip(opaque[key]))
        else:
            kept[key] = _readable(item, skips)
    return kept
