"""Anthropic Messages: read a message into blocks, and compare messages by their meaning. Pure."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw
from undrift.wire.form import Block, View, json_text, marker_of, string_at

__all__ = ["IMAGE_TOKENS", "beside_texts", "delta", "digest", "items", "read", "session_id"]

IMAGE_TOKENS = 1_600
"""The tokens of a full-size image; the provider bills width x height / 750 and scales larger ones down to this."""

_DOCUMENT_CHARACTERS_PER_TOKEN = 16  # base64 of a PDF; rough, because the bill counts its pages


def items(history: Any) -> list[Any]:
    """Return the messages; see `Form.items`."""
    if not isinstance(history, list):
        raise WireError(f"must be an array, not {type(history).__name__}", path="messages")
    return history


def delta(body: Mapping[str, Any]) -> str | None:
    """Return ``thread`` if the provider stores the history of this message thread; see `Form.delta`."""
    return "thread" if body.get("thread") is not None else None


def session_id(body: Mapping[str, Any]) -> str | None:
    """Return the session from ``metadata.user_id``, where Claude Code writes it; see `Form.session_id`."""
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    if not isinstance(user, str) or not user.startswith("{"):
        return None
    try:
        given = raw.decode(user.encode("utf-8", "replace"))
    except WireError:
        return None
    found = given.get("session_id") if isinstance(given, Mapping) else None
    return found if isinstance(found, str) and found else None


def beside_texts(beside: Mapping[str, Any]) -> Iterator[str]:
    """Yield system prompt and tools; see `Form.beside_texts`."""
    system = beside.get("system")
    if isinstance(system, str):
        yield system
    elif isinstance(system, list):
        for part in system:
            text = part.get("text") if isinstance(part, Mapping) else None
            yield text if isinstance(text, str) else json_text(part, "system")
    tools = beside.get("tools")
    if tools:
        yield json_text(tools, "tools")


def read(item: Any, path: str) -> View:
    """Read one message; see `Form.read`."""
    if not isinstance(item, Mapping):
        raise WireError(f"a message must be an object, not {type(item).__name__}", path=path)
    role, content = item.get("role"), item.get("content")
    if not isinstance(role, str):
        raise WireError(f"must be a string, not {type(role).__name__}", path=f"{path}.role")
    if isinstance(content, str):
        return View(role, (Block("text", content),), is_empty=not content)
    if not isinstance(content, list):
        raise WireError(f"must be a string or an array, not {type(content).__name__}", path=f"{path}.content")
    blocks = tuple(_block(part, f"{path}.content[{i}]") for i, part in enumerate(content))
    return View(role, blocks, is_empty=not content)


def _block(part: Any, path: str) -> Block:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise WireError("a content block must be an object with a string `type`", path=path)
    type_, marker = part["type"], marker_of(part)
    if type_ == "text":
        return Block("text", string_at(part, "text", path), marker=marker)
    if type_ == "tool_use":
        name = part.get("name")
        tool_name = name if isinstance(name, str) else None
        given = json_text(part.get("input"), f"{path}.input")
        return Block("call", given, string_at(part, "id", path), tool_name=tool_name, marker=marker)
    if type_ == "tool_result":
        content = part.get("content")
        text, counted, extra = _result(content, f"{path}.content")
        call_id, loads = string_at(part, "tool_use_id", path), _referred_tools(content)
        return Block("result", text, call_id, True, extra_tokens=extra, counted=counted, marker=marker, loads=loads)
    if type_ in ("thinking", "redacted_thinking"):
        text = part["thinking"] if isinstance(part.get("thinking"), str) else json_text(part, path)
        return Block("thinking", text, marker=marker, is_signed=True)
    if type_ in ("image", "document"):
        counted, extra = _media(part, path)
        return Block("image", json_text(part, path), extra_tokens=extra, counted=counted, marker=marker)
    if type_ == "compaction":  # signed, and sent back unchanged
        is_failed = part.get("content") is None and part.get("encrypted_content") is None
        return Block("other", json_text(part, path), is_pinned=True, marker=marker, replaces="" if is_failed else "all")
    answered = part.get("tool_use_id")  # server tools: call and result may both stand in one message
    other_id = part.get("id") if answered is None else answered
    known = other_id if isinstance(other_id, str) else None
    found = part.get("content")  # of the provider's own search
    loads = _referred_tools(found.get("tool_references")) if isinstance(found, Mapping) else ()
    return Block("other", json_text(part, path), known, answered is not None, marker=marker, loads=loads)


def _referred_tools(content: Any) -> tuple[tuple[str, str], ...]:
    """Return the deferred tools that a result refers to; the provider expands each reference to the tool's schema."""
    parts = content if isinstance(content, list) else ()
    found = (p.get("tool_name") for p in parts if isinstance(p, Mapping) and p.get("type") == "tool_reference")
    return tuple((name, "") for name in found if isinstance(name, str))


def _result(content: Any, path: str) -> tuple[str, str, int]:
    """Return a result's text for recall, its billed text, and the tokens of its other parts."""
    if content is None or isinstance(content, str):
        return content or "", content or "", 0
    if not isinstance(content, list):
        raise WireError(f"must be a string or an array, not {type(content).__name__}", path=path)
    texts, extra, plain = [], 0, len(content) == 1
    for number, part in enumerate(content):
        if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
            continue
        plain = False
        if isinstance(part, Mapping) and part.get("type") in ("image", "document"):
            text, tokens = _media(part, f"{path}[{number}]")
            texts += [text] if text else []
            extra += tokens
        else:
            texts.append(json_text(part, f"{path}[{number}]"))
    counted = "\n".join(texts)
    return counted if plain else json_text(content, path), counted, extra


def _media(part: Mapping[str, Any], path: str) -> tuple[str, int]:
    """Return the billed text of an image or document, and the tokens of everything else in it."""
    source = part.get("source")
    if part.get("type") != "document" or not isinstance(source, Mapping):
        return "", IMAGE_TOKENS
    data, content = source.get("data"), source.get("content")
    if source.get("type") == "text" and isinstance(data, str):
        return data, 0
    if source.get("type") == "content" and isinstance(content, str):
        return content, 0
    if source.get("type") == "content" and isinstance(content, list):
        texts = [json_text(p, path) for p in content if not (isinstance(p, Mapping) and p.get("type") == "image")]
        return "\n".join(texts), IMAGE_TOKENS * (len(content) - len(texts))
    pages = len(data) // _DOCUMENT_CHARACTERS_PER_TOKEN if isinstance(data, str) else 0
    return "", max(IMAGE_TOKENS, pages)


def digest(item: Any) -> bytes:
    """Return 32 bytes that are equal for messages with the same meaning; see `Form.digest`.

    The client moves its cache markers from turn to turn, writes a lone text now as a string and now as a block, leaves
    a field out or says null, and orders keys as it likes; none of that makes another message (WIRE section 10, trap 4).
    """
    meaning = _bare(item)
    _plain(meaning)
    for part in meaning["content"] if isinstance(meaning.get("content"), list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_result":
            _plain(part)
    return hashlib.sha256(raw.encode(meaning, ordered=True)).digest()


def _plain(holder: dict[str, Any]) -> None:
    """Convert the content of a message or result to plain blocks; content of another shape stays unchanged."""
    content = holder.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if isinstance(content, list):
        holder["content"] = [_bare(part) for part in content]


def _bare(part: Any) -> Any:
    """Return a copy of an object without its cache marker and without null values."""
    if not isinstance(part, Mapping):
        return part
    return {name: value for name, value in part.items() if name != "cache_control" and value is not None}
