"""OpenAI Chat Completions: read a message into blocks, and compare messages by their meaning. Pure.

The blocks of a message stand in several of its fields; `slots` says in which, and in which order, to all who need it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw
from undrift.wire.form import Block, Bundle, View, json_text, marker_of, string_at, unique_id
from undrift.wire.openai_chat.media import media_tokens

__all__ = [
    "LEGACY",
    "REASONING",
    "RESULT_ROLES",
    "Slot",
    "beside_texts",
    "delta",
    "digest",
    "is_legacy",
    "items",
    "read",
    "session_id",
    "slots",
]

RESULT_ROLES = ("tool", "function")

REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
"""The fields for the model's reasoning; providers of this form want it back with the answer that it led to."""

_REASONING = frozenset(REASONING)

LEGACY = "function "
"""The id of an old ``function_call``, before the function's name: the call has no id of its own."""

_NO_ID = "(empty)"  # an empty id is one all the same: call and result stay together
_MEDIA = ("image_url", "input_audio", "file")
_MARKERS = ("cache_control", "prompt_cache_breakpoint")  # clients move them from turn to turn
_ROLES = {"developer": "system", "function": "tool"}

Slot = tuple[str, int]
"""A field of a message, and the number within it, where the field holds several."""


def items(history: Any) -> list[Any]:
    """Return the messages; see `Form.items`."""
    if not isinstance(history, list):
        raise WireError(f"must be an array, not {type(history).__name__}", path="messages")
    return history


def delta(body: Mapping[str, Any]) -> str | None:  # noqa: ARG001 - the interface of all forms
    """Return None: a request of this form always contains the whole history; see `Form.delta`."""
    return None


def session_id(body: Mapping[str, Any]) -> str | None:
    """Return the session id, if the client writes one; see `Form.session_id`.

    ``session_id`` is OpenRouter's, ``metadata.session_id`` what gateways log by; several agents put the id of their
    session into ``prompt_cache_key``. ``user`` names a person.
    """
    metadata = body.get("metadata")
    inner = metadata.get("session_id") if isinstance(metadata, Mapping) else None
    for found in (body.get("session_id"), inner, unique_id(body.get("prompt_cache_key"))):
        if isinstance(found, str) and found:
            return found
    return None


def beside_texts(beside: Mapping[str, Any]) -> Iterator[str]:
    """Yield tools, functions and the answer's schema; see `Form.beside_texts`."""
    for name in ("tools", "functions"):
        if beside.get(name):
            yield json_text(beside[name])
    wanted = beside.get("response_format")
    if isinstance(wanted, Mapping) and wanted.get("json_schema"):
        yield json_text(wanted["json_schema"])


def slots(item: Mapping[str, Any]) -> list[Slot]:
    """Return the places of a message's blocks, in order.

    An empty text beside calls is none: some clients write it where others write null.
    """
    if item.get("role") in RESULT_ROLES:
        return [("content", 0)]
    content, calls = item.get("content"), item.get("tool_calls")
    before: list[Slot] = [("reasoning", 0)] if _reasoning(item) else []
    after: list[Slot] = [(name, 0) for name in ("refusal", "audio") if item.get(name)]
    after += [("tool_calls", number) for number in range(len(calls) if isinstance(calls, list) else 0)]
    if item.get("function_call") is not None:
        after.append(("function_call", 0))
    count = len(content) if isinstance(content, list) else int(isinstance(content, str))
    if content == "" and (before or after):
        count = 0
    return [*before, *(("content", number) for number in range(count)), *after]


def is_legacy(block: Block) -> bool:
    """Tell whether a call or result uses the old ``function_call``."""
    return block.call_id is not None and block.call_id.startswith(LEGACY)


def read(item: Any, path: str) -> View:
    """Read one message; see `Form.read`."""
    if not isinstance(item, Mapping):
        raise WireError(f"a message must be an object, not {type(item).__name__}", path=path)
    role, content = string_at(item, "role", path), item.get("content")
    if content is not None and not isinstance(content, (str, list)):
        raise WireError(f"must be a string or an array, not {type(content).__name__}", path=f"{path}.content")
    is_empty = content in ("", [])
    if role in RESULT_ROLES:
        return View("tool", (_result(item, path),), is_empty=is_empty)
    calls, call = item.get("tool_calls"), item.get("function_call")
    if calls is not None and not isinstance(calls, list):
        raise WireError(f"must be an array, not {type(calls).__name__}", path=f"{path}.tool_calls")
    if call is not None and not isinstance(call, Mapping):
        raise WireError(f"must be an object, not {type(call).__name__}", path=f"{path}.function_call")
    blocks = tuple(_block(item, slot, path) for slot in slots(item))
    return View(_ROLES.get(role, role), blocks, bundle=_bundle(item, blocks), is_empty=is_empty)


def _bundle(item: Mapping[str, Any], blocks: tuple[Block, ...]) -> Bundle:
    """Return which blocks must be removed together: a part with its signature, an answer with its reasoning.

    DeepSeek refuses an answer in a tool loop without its ``reasoning_content``, and OpenRouter's ``reasoning_details``
    name the calls that they belong to.
    """
    if _reasoning(item):
        return "run"
    return "item" if any(block.kind == "call" and block.is_signed for block in blocks) else ""


def _reasoning(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the model's reasoning that are not empty."""
    if item.get("role") != "assistant":
        return {}
    return {name: item[name] for name in item if name in _REASONING and item[name]}


def _block(item: Mapping[str, Any], slot: Slot, path: str) -> Block:
    name, number = slot
    if name == "content":
        content = item["content"]
        return (
            Block("text", content) if isinstance(content, str) else _part(content[number], f"{path}.content[{number}]")
        )
    if name == "tool_calls":
        return _call(item[name][number], f"{path}.tool_calls[{number}]")
    if name == "function_call":
        tool_name = string_at(item[name], "name", f"{path}.function_call")
        given = _text_of(item[name].get("arguments"), f"{path}.function_call.arguments")
        return Block("call", given, LEGACY + tool_name, tool_name=tool_name)
    if name == "reasoning":
        fields = _reasoning(item)
        words = [value for value in fields.values() if isinstance(value, str)]  # the same is often said in two fields
        text = words[0] if words and len(fields) == 1 else json_text(fields, path)
        return Block("other", text, counted=words[0] if words else None)
    value = item[name]
    return Block("text" if name == "refusal" else "other", _text_of(value, f"{path}.{name}"))


def _part(part: Any, path: str) -> Block:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise WireError("a content part must be an object with a string `type`", path=path)
    type_, marker = part["type"], marker_of(part)
    if type_ in ("text", "refusal"):
        return Block("text", string_at(part, type_, path), marker=marker)
    if type_ in _MEDIA:
        return Block("image", json_text(part, path), extra_tokens=media_tokens(part), counted="", marker=marker)
    return Block("other", json_text(part, path), marker=marker)


def _call(call: Any, path: str) -> Block:
    if not isinstance(call, Mapping):
        raise WireError(f"a call must be an object, not {type(call).__name__}", path=path)
    call_id = string_at(call, "id", path) or _NO_ID
    for kind, given in (("function", "arguments"), ("custom", "input")):
        inner = call.get(kind)
        if isinstance(inner, Mapping) and call.get("type", kind) == kind:
            name = inner.get("name")
            text = _text_of(inner.get(given), f"{path}.{kind}.{given}")
            tool_name = name if isinstance(name, str) else None
            return Block("call", text, call_id, tool_name=tool_name, is_signed=_is_signed(call))
    return Block("call", json_text(call, path), call_id, is_signed=_is_signed(call))


def _is_signed(call: Mapping[str, Any]) -> bool:
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    return isinstance(google, Mapping) and bool(google.get("thought_signature"))


def _result(item: Mapping[str, Any], path: str) -> Block:
    if item["role"] == "function":
        call_id = LEGACY + string_at(item, "name", path)
    else:
        call_id = string_at(item, "tool_call_id", path) or _NO_ID
    content = item.get("content")
    if content is None or isinstance(content, str):
        return Block("result", content or "", call_id, True)
    texts, extra, plain = [], 0, len(content) == 1
    for number, part in enumerate(content):
        block = _part(part, f"{path}.content[{number}]")
        extra += block.extra_tokens
        plain = plain and block.kind == "text"
        if block.kind != "image":
            texts.append(block.text)
    counted = "\n".join(texts)
    text = counted if plain else json_text(content, f"{path}.content")
    return Block("result", text, call_id, True, extra_tokens=extra, counted=counted)


def _text_of(value: Any, path: str) -> str:
    return value if isinstance(value, str) else json_text(value, path)


def digest(item: Any) -> bytes:
    """Return 32 bytes that are equal for messages with the same meaning; see `Form.digest`.

    A lone text is a string or a part, what is absent may be null, no text beside calls may be the empty one, and cache
    markers move; none of that makes another message.
    """
    meaning = _bare(item)
    content, calls = item.get("content"), item.get("tool_calls")
    if content == "" and ("content", 0) not in slots(item):
        del meaning["content"]
    elif isinstance(content, list):
        parts = [_bare(part) for part in content]
        lone = parts[0] if len(parts) == 1 else None
        is_text = isinstance(lone, Mapping) and lone.keys() == {"type", "text"} and lone["type"] == "text"
        meaning["content"] = lone["text"] if is_text and isinstance(lone, Mapping) else parts
    if isinstance(calls, list):
        meaning["tool_calls"] = [_bare(call) for call in calls]
    return hashlib.sha256(raw.encode(meaning, ordered=True)).digest()


def _bare(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {name: value for name, value in part.items() if value is not None and name not in _MARKERS}
