"""Converts messages of chat completions, as several clients store them, to blocks. Pure.

================================================== ==========================================================
message or part                                    becomes
================================================== ==========================================================
system, developer                                  ``text``, role system, type spec
user                                               ``text`` / ``image`` per part of its content
assistant: thinking_blocks, reasoning_content,     ``thinking``; the same text twice counts once; sealed: counted
reasoning                                          "encrypted thinking"
assistant: content, refusal                        ``text``
assistant: tool_calls, function_call               ``call``; arguments that are no JSON object go under ``input``; a
                                                   function_call has no id: its name is used
tool, function                                     ``result``
parts tool_use, tool_result, thinking              as in the messages of Anthropic
function_call, function_call_output, reasoning     as in the items of the Responses interface; a message that is a whole
                                                   response: its items
audio, files                                       counted "input_audio data", "file data"
other parts, roles, items                          counted "unknown block: TYPE", "unknown role: ROLE"
================================================== ==========================================================
"""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Role, Skip
from undrift.transcripts.lines import list_at, milliseconds, object_at, printable, text_at

__all__ = ["is_message", "moment", "parts"]

_ROLES: Mapping[str, Role] = {"assistant": "assistant", "developer": "system", "system": "system", "user": "user"}
_RESULTS = frozenset({"function", "tool"})
_TEXTS = frozenset({"input_text", "output_text", "text"})
_IMAGES = frozenset({"image", "image_url", "input_image"})
_DATA = frozenset({"audio", "file", "input_audio", "input_file"})
_ITEMS = frozenset({"function_call", "function_call_output", "reasoning"})
_LATEST_S = 1 << 38
"""Thousands of years on: no time of a session."""


def is_message(value: Any) -> bool:
    """Tell whether a value is a message of a chat."""
    if not isinstance(value, dict) or not ("content" in value or "tool_calls" in value):
        return False
    return value.get("role") in (*_ROLES, *_RESULTS)


def moment(stamp: Any) -> int | None:
    """Convert a time to Unix milliseconds: ISO 8601, or Unix seconds as a number. None means: it is no time."""
    if isinstance(stamp, bool) or not isinstance(stamp, int | float):
        return milliseconds(stamp)
    return max(0, int(stamp * 1000)) if abs(stamp) < _LATEST_S else None


def parts(message: Any) -> Iterator[Part]:
    """Yield what a message falls into."""
    if not isinstance(message, dict):
        yield Skip("unknown message: (none)")
        return
    kind, role = text_at(message, "type"), text_at(message, "role")
    if kind in _ITEMS and not role:
        yield from _item(kind, message)
    elif role in _RESULTS:
        call_id = message.get("tool_call_id") or _named(message)
        yield from blocks.result("user", call_id, message.get("content"), is_error=message.get("is_error") is True)
    elif role == "assistant":
        yield from _assistant(message)
    elif role in _ROLES:
        yield from _contents(message.get("content"), _ROLES[role]) or [Skip("message without content")]
    elif list_at(message, "output"):
        for item in list_at(message, "output"):
            yield from parts(item)
    else:
        yield Skip(f"unknown role: {printable(role)}")


def _named(function: Mapping[str, Any]) -> str:
    """Name a call that has no id by its function: the message form of old knows one call at a time."""
    return f"function {text_at(function, 'name')}"


def _item(kind: str, item: Mapping[str, Any]) -> Iterator[Part]:
    if kind == "function_call":
        yield blocks.call(item.get("call_id"), item.get("name"), blocks.arguments(item.get("arguments")))
    elif kind == "function_call_output":
        yield from blocks.result("user", item.get("call_id"), item.get("output"), is_error=False)
    else:
        thoughts = [blocks.flatten(part)[0] for key in ("summary", "content") for part in list_at(item, key)]
        yield from _thoughts(thoughts) or [Skip("empty thinking")]


def _assistant(message: Mapping[str, Any]) -> Iterator[Part]:
    found: list[Part] = []
    sealed = [block for block in list_at(message, "thinking_blocks") if isinstance(block, dict)]
    for block in sealed:
        found += _contents([block], "assistant")
    known = {part.content for part in found if isinstance(part, RecordedBlock)}
    given = [text_at(message, "reasoning_content"), text_at(message, "reasoning")]
    found += _thoughts([thought for thought in dict.fromkeys(given) if thought not in known])
    found += _contents(message.get("content"), "assistant")
    if refusal := text_at(message, "refusal"):
        found.append(blocks.text("assistant", refusal))
    found += [_call(call) for call in list_at(message, "tool_calls")]
    if function := object_at(message, "function_call"):
        found.append(blocks.call(_named(function), function.get("name"), blocks.arguments(function.get("arguments"))))
    yield from found or [Skip("message without content")]


def _thoughts(texts: list[str], signature: str = "") -> list[Part]:
    extra = {"signature": signature} if signature else {}
    return [RecordedBlock("thinking", "assistant", thought, extra=extra) for thought in texts if thought.strip()]


def _call(call: Any) -> Part:
    if not isinstance(call, dict):
        return Skip("unknown block: (none)")
    function = object_at(call, "function") or object_at(call, "custom") or call
    given = function.get("arguments", function.get("input"))
    return blocks.call(call.get("id"), function.get("name"), blocks.arguments(given))


def _contents(content: Any, role: Role) -> list[Part]:
    if isinstance(content, str):
        return [blocks.text(role, content)] if content else []
    if not isinstance(content, list):
        return []
    return [found for part in content for found in _content(part, role)]


def _content(part: Any, role: Role) -> Iterator[Part]:
    if isinstance(part, str):
        yield blocks.text(role, part)
        return
    if not isinstance(part, dict):
        yield Skip("unknown block: (none)")
        return
    kind = text_at(part, "type")
    if kind in _TEXTS:
        yield blocks.text(role, text_at(part, "text"))
    elif kind == "refusal":
        yield blocks.text(role, text_at(part, "refusal"))
    elif kind in _IMAGES:
        yield from blocks.image(role)
    elif kind == "thinking":
        yield from _thoughts([text_at(part, "thinking")], text_at(part, "signature")) or [Skip("empty thinking")]
    elif kind == "redacted_thinking":
        yield Skip("encrypted thinking")
    elif kind == "tool_use":
        yield blocks.call(part.get("id"), part.get("name"), part.get("input"))
    elif kind == "tool_result":
        is_error = part.get("is_error") is True
        yield from blocks.result(role, part.get("tool_use_id"), part.get("content"), is_error=is_error)
    elif kind in _DATA:
        yield Skip(f"{kind} data")
    else:
        yield Skip(f"unknown block: {printable(kind)}")
