"""LangChain's messages as a Chat Completions history, and the prepared history as messages again.

Law: a message that was not rewritten is the very object that came in. In a rewritten one only content and calls change:
id, name, artifact and metadata stay.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from undrift.wire.openai_chat.reading import REASONING

__all__ = ["back", "history", "without_signed_thinking"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_IMAGES = ("image", "image_url")
_FILES = ("file", "document", "audio", "input_audio", "video")
_LISTS = ("tool_calls", "invalid_tool_calls")
_MARK = "undrift"
"""A field of every item: an empty object of its own. It says the same in each, and an edited copy still holds that object."""
_PLACE = "place"
_SIGNED = ("thinking", "redacted_thinking")


def history(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return one item for each message; equal messages give equal items."""
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    return [_item(message, answered) for message in messages]


def back(messages: Sequence[Any], given: Sequence[dict[str, Any]], prepared: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the messages of a prepared history."""
    places = {id(item[_MARK]): place for place, item in enumerate(given)}
    found: list[Any] = []
    for item in prepared:
        place = places.get(id(item.get(_MARK)))
        if place is None:
            found.append(HumanMessage(content=item["content"]))
        elif item is given[place]:
            found.append(messages[place])
        else:
            found.append(_edited(messages[place], item))
    return found


def without_signed_thinking(messages: Sequence[Any], sent: Sequence[Any]) -> list[Any]:
    """Remove signed thinking after the first rewritten message: its signature covers the old text."""
    same = next((n for n, (one, other) in enumerate(zip(messages, sent, strict=False)) if one is not other), len(sent))
    return [*sent[:same], *map(_without_thinking, sent[same:])]


def _item(message: Any, answered: set[str]) -> dict[str, Any]:
    role = _ROLES.get(message.type) or getattr(message, "role", "user")
    content = message.content
    item: dict[str, Any] = {
        "role": role,
        "content": content if isinstance(content, str) else _parts(message),
        _MARK: {},
    }
    if isinstance(message, ToolMessage):
        item["tool_call_id"] = message.tool_call_id
    elif role == "function":
        item["name"] = message.name
    elif isinstance(message, AIMessage):
        calls = [*message.tool_calls, *(one for one in message.invalid_tool_calls if one["id"] in answered)]
        if calls:
            item["tool_calls"] = [_call(call) for call in calls]
            item["content"] = item["content"] or None
        elif not item["content"]:
            item["content"] = ""
        item.update(
            {name: message.additional_kwargs[name] for name in REASONING if message.additional_kwargs.get(name)}
        )
    return item


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    given = call["args"]
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    return {
        "id": call["id"] or "",
        "type": "function",
        "function": {"name": call["name"] or "", "arguments": arguments},
    }


def _parts(message: Any) -> list[dict[str, Any]]:
    """The parts of a content as this form has them; calls stand beside it, and are counted there."""
    calls = _calls(message)
    return [_part(place, part) for place, part in enumerate(message.content) if not _is_one_of(part, calls)]


def _part(place: int, part: Any) -> dict[str, Any]:
    """One part, with the place that it has in its message: so it is known again when it comes back."""
    if isinstance(part, str):
        return {"type": "text", "text": part, _PLACE: place}
    type_ = str(part.get("type"))
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"], _PLACE: place}
    if type_ in _IMAGES:
        return {**part, "type": "image_url", _PLACE: place}
    if type_ in _FILES:
        data = part.get("base64") or part.get("data") or ""
        kept = {name: value for name, value in part.items() if value is not data}
        return {**kept, "type": "file", "file": {"file_data": data}, _PLACE: place}
    return {**part, "type": type_, _PLACE: place}


def _calls(message: Any) -> set[str]:
    """The ids of a message's calls, some of which its content may hold once more."""
    return {_id(call) for name in _LISTS for call in getattr(message, name, ())}


def _is_one_of(part: Any, calls: Collection[str]) -> bool:
    return isinstance(part, Mapping) and part.get("type") not in ("text", *_SIGNED) and _id(part) in {*calls} - {""}


def _edited(message: Any, item: Mapping[str, Any]) -> Any:
    """A copy of a message with the content and the calls that are left of it."""
    if not isinstance(message, AIMessage):
        return message.model_copy(update={"content": _content(message, item, ())})
    left = {call["id"] for call in item.get("tool_calls", ())}
    kept = {name: [call for call in getattr(message, name) if _id(call) in left] for name in _LISTS}
    beside = {name: value for name, value in message.additional_kwargs.items() if name not in REASONING or name in item}
    if "tool_calls" in beside:
        beside["tool_calls"] = [call for call in beside["tool_calls"] if _id(call) in left]
    content = _content(message, item, left)
    return message.model_copy(update={"content": content, "additional_kwargs": beside, **kept})


def _content(message: Any, item: Mapping[str, Any], left: Collection[str]) -> Any:
    """The content with its edits, and after it the parts of the calls that stay."""
    given, content = message.content, item["content"]
    if isinstance(given, str) or not isinstance(content, list):
        calls = [] if isinstance(given, str) else [part for part in given if _is_one_of(part, left)]
        said = content or ""
        return [*([{"type": "text", "text": said}] if said else []), *calls] if calls else said
    parts = [_restored(given, part) for part in content]
    return [*parts, *(part for part in given if _is_one_of(part, left))]


def _restored(given: Sequence[Any], part: Mapping[str, Any]) -> Any:
    """A part as LangChain had it; with another text where that was edited."""
    if _PLACE not in part:
        return part
    before = given[part[_PLACE]]
    if isinstance(before, str):
        return part["text"]
    return before if part.get("text") == before.get("text") else {**before, "text": part["text"]}


def _id(call: Mapping[str, Any]) -> str:
    return str(call.get("call_id") or call.get("id") or "")


def _without_thinking(message: Any) -> Any:
    if not isinstance(message, AIMessage) or not isinstance(message.content, list):
        return message
    kept = [part for part in message.content if not (isinstance(part, Mapping) and part.get("type") in _SIGNED)]
    return message if len(kept) == len(message.content) else message.model_copy(update={"content": kept})
