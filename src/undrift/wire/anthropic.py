"""Anthropic Messages: blocks out of messages, edited messages back, and what the provider refuses. Pure.

Law: an untouched message is never rebuilt; an edited one keeps every field and block that no edit names.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from undrift.errors import WireError
from undrift.types import ContextEntry, EntryType
from undrift.wire import raw

__all__ = ["Block", "Edit", "blocks", "digest", "entry_of", "fixed_texts", "problems", "render"]

Kind = Literal["text", "call", "result", "thinking", "image", "other"]

IMAGE_TOKENS = 1_600
"""What a full-size image costs; the provider bills width x height / 750 and scales larger ones down to this."""

_DOCUMENT_CHARACTERS_PER_TOKEN = 16  # base64 of a PDF; rough, as the bill goes by its pages


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a message, read.

    Args:
        kind: What it is to the window.
        text: What `recall` gives back: its text, else its JSON.
        call_id: Id of the call that it makes or answers.
        answers: Whether it answers a call, of the kinds `result` and `other`.
        tool_name: The tool that it calls.
        extra_tokens: What its images and documents cost.
        counted: The part of `text` that is billed as text.
    """

    kind: Kind
    text: str
    call_id: str | None = None
    answers: bool = False
    tool_name: str | None = None
    extra_tokens: int = 0
    counted: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """What becomes of one block: `text` in its place, or nothing when it is None."""

    text: str | None = None


def fixed_texts(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is sent beside the messages: system prompt and tools."""
    system = body.get("system")
    if isinstance(system, str):
        yield system
    elif isinstance(system, list):
        for part in system:
            yield part["text"] if isinstance(part, Mapping) and isinstance(part.get("text"), str) else _json(part)
    tools = body.get("tools")
    if tools:
        yield _json(tools)


def blocks(message: Any, path: str = "messages[?]") -> tuple[str, tuple[Block, ...]]:
    """Read one message into its role and blocks.

    Raises:
        WireError: It has the wrong shape; `path` leads to the place.
    """
    if not isinstance(message, Mapping):
        raise WireError(f"a message must be an object, not {type(message).__name__}", path=path)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str):
        raise WireError(f"must be a string, not {type(role).__name__}", path=f"{path}.role")
    if isinstance(content, str):
        return role, (Block("text", content),)
    if not isinstance(content, list):
        raise WireError(f"must be a string or an array, not {type(content).__name__}", path=f"{path}.content")
    return role, tuple(_block(part, f"{path}.content[{i}]") for i, part in enumerate(content))


def _block(part: Any, path: str) -> Block:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise WireError("a content block must be an object with a string `type`", path=path)
    type_: str = part["type"]
    if type_ == "text":
        return Block("text", _string(part, "text", path))
    if type_ == "tool_use":
        name = part.get("name")
        tool_name = name if isinstance(name, str) else None
        return Block("call", _json(part.get("input")), _string(part, "id", path), tool_name=tool_name)
    if type_ == "tool_result":
        text, counted, extra = _result(part.get("content"), f"{path}.content")
        return Block("result", text, _string(part, "tool_use_id", path), True, extra_tokens=extra, counted=counted)
    if type_ in ("thinking", "redacted_thinking"):
        return Block("thinking", part["thinking"] if isinstance(part.get("thinking"), str) else _json(part))
    if type_ in ("image", "document"):
        return Block("image", _json(part), extra_tokens=_media_tokens(part), counted="")
    call_id = part.get("tool_use_id", part.get("id"))  # server tools: call and result both stand in one message
    return Block("other", _json(part), call_id if isinstance(call_id, str) else None, "tool_use_id" in part)


def _result(content: Any, path: str) -> tuple[str, str, int]:
    """Text to recall, text that is billed, tokens of what is not text."""
    if content is None or isinstance(content, str):
        return content or "", content or "", 0
    if not isinstance(content, list):
        raise WireError(f"must be a string or an array, not {type(content).__name__}", path=path)
    texts, extra, plain = [], 0, len(content) == 1
    for part in content:
        if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
            continue
        plain = False
        if isinstance(part, Mapping) and part.get("type") in ("image", "document"):
            extra += _media_tokens(part)
        else:
            texts.append(_json(part))
    counted = "\n".join(texts)
    return counted if plain else _json(content), counted, extra


def _media_tokens(part: Mapping[str, Any]) -> int:
    source = part.get("source")
    data = source.get("data") if isinstance(source, Mapping) else None
    if part.get("type") == "document" and isinstance(data, str):
        return max(IMAGE_TOKENS, len(data) // _DOCUMENT_CHARACTERS_PER_TOKEN)
    return IMAGE_TOKENS


def _string(part: Mapping[str, Any], name: str, path: str) -> str:
    value = part.get(name)
    if not isinstance(value, str):
        raise WireError(f"must be a string, not {type(value).__name__}", path=f"{path}.{name}")
    return value


def _json(value: Any) -> str:
    return raw.encode(value).decode("utf-8")


def entry_of(
    block: Block,
    role: str,
    *,
    message_id: str,
    place: int,
    pair_id: str | None,
    count: Callable[[str], int],
    at: tuple[int, int],
) -> ContextEntry:
    """Make the entry of one block: system text is `spec`, a tool result `tool_result`, all else `reasoning` (A2-12).

    Args:
        block: From `blocks`.
        role: Of its message.
        message_id: Of its message; the entry's id is this and the place, joined by a point.
        place: Of the block in its message.
        pair_id: What call and result share, if any.
        count: The token counter in force.
        at: Unix milliseconds and running number.
    """
    type_: EntryType = "reasoning"
    if role == "system":
        type_ = "spec"
    elif block.kind == "result":
        type_ = "tool_result"
    metadata: dict[str, str] = {"role": role, "kind": block.kind, "message": message_id}
    if pair_id is not None:
        metadata["pair_id"] = pair_id
    if block.tool_name is not None:
        metadata["tool_name"] = block.tool_name
    tokens = count(block.text if block.counted is None else block.counted) + block.extra_tokens
    return ContextEntry(f"{message_id}.{place}", type_, block.text, tokens, at[0], metadata, seq=at[1])


def digest(message: Any) -> bytes:
    """Return 32 bytes that two messages share when they mean the same.

    The client moves its cache markers from turn to turn, writes a lone text now as a string and now as a block, and
    orders keys as it likes; none of that makes another message (WIRE section 10, trap 4).
    """
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    elif isinstance(content, list):
        content = [_bare(part) for part in content]
    meaning = {**message, "content": content}
    meaning.pop("cache_control", None)
    return hashlib.sha256(raw.encode(meaning, ordered=True)).digest()


def _bare(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    bare = {name: value for name, value in part.items() if name != "cache_control"}
    if bare.get("type") == "tool_result" and isinstance(bare.get("content"), list):
        bare["content"] = [_bare(inner) for inner in bare["content"]]
    return bare


def render(
    message: Mapping[str, Any], edits: Mapping[int, Edit], appended: Sequence[str] = ()
) -> dict[str, Any] | None:
    """Return a copy of `message` with `edits` by block number and text blocks `appended`, or None when nothing is left.

    Blocks that no edit names are the very objects of `message`.
    """
    content = message["content"]
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    kept: list[Any] = []
    for number, part in enumerate(parts):
        edit = edits.get(number)
        if edit is None:
            kept.append(part)
        elif edit.text is not None:
            kept.append({**part, "text": edit.text})
    kept.extend({"type": "text", "text": text} for text in appended)
    if not kept:
        return None
    if isinstance(content, str) and len(kept) == 1:
        return {**message, "content": kept[0]["text"]}
    return {**message, "content": kept}


def problems(messages: Sequence[Any]) -> tuple[str, ...]:
    """Say what the provider would refuse in these messages, in its words; () when nothing.

    Source: WIRE A1, A2, A3, A6, A7.
    """
    found: list[str] = []
    open_ids: list[str] = []
    seen: set[str] = set()
    for number, role, read, content in _merged(messages):
        if number == 0 and role != "user":
            found.append(f"messages.{number}: the first message must have the role user, not {role}")
        if role == "system":
            if open_ids:
                found.append(f"messages.{number}: a system message stands between a tool_use and its tool_result")
            continue
        found.extend(_answers(number, role, read, open_ids))
        found.extend(_empty(number, role, read, content))
        calls = [b.call_id for b in read if b.kind == "call" and b.call_id is not None]
        open_ids = calls if role == "assistant" else []
        for id_ in open_ids:
            if id_ in seen:
                found.append(f"messages.{number}: `tool_use` ids must be unique: {id_}")
            seen.add(id_)
    if open_ids:
        found.append(_unanswered(len(messages) - 1, open_ids))
    return tuple(found)


def _merged(messages: Sequence[Any]) -> Iterator[tuple[int, str, tuple[Block, ...], Any]]:
    """Messages as the provider sees them: neighbours of one role are one (WIRE A4). Number, role, blocks, contents."""
    group: tuple[int, str, tuple[Block, ...], tuple[Any, ...]] | None = None
    for number, message in enumerate(messages):
        role, read = blocks(message, f"messages[{number}]")
        if group is not None and group[1] == role and role != "system":
            group = (group[0], role, group[2] + read, (*group[3], message["content"]))
            continue
        if group is not None:
            yield group
        group = (number, role, read, (message["content"],))
    if group is not None:
        yield group


def _unanswered(number: int, ids: Sequence[str]) -> str:
    return (
        f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _answers(number: int, role: str, read: Sequence[Block], open_ids: Sequence[str]) -> Iterator[str]:
    answered = [b.call_id for b in read if b.kind == "result"] if role == "user" else []
    missing = [id_ for id_ in open_ids if id_ not in answered]
    if missing:
        yield _unanswered(number - 1, missing)
    for id_ in answered:
        if id_ not in open_ids:
            yield f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}"


def _empty(number: int, role: str, read: Sequence[Block], contents: Sequence[Any]) -> Iterator[str]:
    if role == "user" and any(content in ("", []) for content in contents):
        yield f"messages.{number}: user messages must have non-empty content"
        return
    for block in read:
        if block.kind == "text" and not block.text.strip() and not (role == "assistant" and contents == ("",)):
            yield f"messages.{number}: text content blocks must contain non-whitespace text"
