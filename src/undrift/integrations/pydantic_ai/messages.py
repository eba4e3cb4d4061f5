"""Pydantic AI's messages as a Responses history, one item for each part, and the prepared history as messages again.

Law: a part that was not rewritten is the very object that came in, and so is a message all of whose parts are. In a
rewritten part only its content changes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelRequest, UserPromptPart

__all__ = ["back", "history"]

_MARK = "undrift"
"""A field of every item: an empty object of its own. It says the same in each, and an edited copy still holds that object."""
_PLACE = "place"
_RESULTS = ("tool-return", "retry-prompt")


def history(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return one item for each part of each message; equal parts give equal items."""
    return [{**_item(part), _MARK: {}} for message in messages for part in message.parts]


def back(messages: Sequence[Any], given: Sequence[dict[str, Any]], prepared: Sequence[dict[str, Any]]) -> list[Any]:
    """Convert a prepared history back into messages."""
    parts = [(number, part) for number, message in enumerate(messages) for part in message.parts]
    places = {id(item[_MARK]): place for place, item in enumerate(given)}
    kept: dict[int, list[Any]] = {number: [] for number, message in enumerate(messages) if not message.parts}
    for item in prepared:
        place = places.get(id(item.get(_MARK)))
        if place is None:
            _say(messages, kept, item)
        else:
            number, part = parts[place]
            kept.setdefault(number, []).append(part if item is given[place] else _edited(part, item))
    return [_with_parts(messages[number], kept[number]) for number in sorted(kept)]


def _with_parts(message: Any, parts: list[Any]) -> Any:
    same = len(parts) == len(message.parts) and all(
        one is other for one, other in zip(parts, message.parts, strict=True)
    )
    return message if same else replace(message, parts=parts)


def _say(messages: Sequence[Any], kept: dict[int, list[Any]], item: Mapping[str, Any]) -> None:
    """Put what undrift says into the request that it stands in; it is only ever said behind one."""
    number = max((n for n in kept if isinstance(messages[n], ModelRequest)), default=0)
    text = "\n\n".join(part["text"] for part in item["content"])
    kept.setdefault(number, []).append(UserPromptPart(text))


# ------------------------------------------------------------------------------------------------------------- the parts


def _item(part: Any) -> dict[str, Any]:
    kind = part.part_kind
    if kind == "user-prompt":
        return {"type": "message", "role": "user", "content": _content(part.content)}
    if kind == "text":
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": part.content}]}
    if kind == "thinking":
        summary = [{"type": "summary_text", "text": part.content}] if part.content else []
        return {"type": "reasoning", "summary": summary, "encrypted_content": part.signature}
    if kind == "tool-call":
        # Calls of a kind that Pydantic AI itself looks into have to stay, and so do their returns.
        call = {"call_id": part.tool_call_id, "name": part.tool_name, "arguments": part.args_as_json_str()}
        return {"type": "function_call" if part.tool_kind is None else "tool_search_call", **call}
    if kind in _RESULTS and (kind == "tool-return" or part.tool_name is not None):
        stays = getattr(part, "tool_kind", None) is not None
        result = {"call_id": part.tool_call_id, "output": _returned(part)}
        return {"type": "tool_search_output" if stays else "function_call_output", **result}
    if kind == "builtin-tool-call":
        return {"type": "native_call", "call_id": part.tool_call_id, "arguments": part.args_as_json_str()}
    if kind == "builtin-tool-return":
        return {"type": "native_output", "call_id": part.tool_call_id, "execution": "server", "output": _returned(part)}
    if kind == "compaction":
        return {"type": "compaction", "text": str(part.content)}
    if kind in ("file", "speech"):
        return {"type": "input_file", "text": kind}
    return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": _own_text(part)}]}


def _content(content: Any) -> list[dict[str, Any]]:
    """The parts of a user's text, each with its place: so each is known again when it comes back."""
    if isinstance(content, str):
        return [{"type": "input_text", "text": content, _PLACE: 0}]
    return [{**_user_part(part), _PLACE: place} for place, part in enumerate(content)]


def _user_part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    kind = part.kind
    if kind in ("text-content", "structured-content"):
        return {"type": "input_text", "text": part.content}
    url = getattr(part, "url", None)
    if kind == "image-url" or getattr(part, "is_image", False):
        return {"type": "input_image", "image_url": url or part.base64}
    if kind == "binary":
        return {"type": "input_file", "file_data": part.base64}
    if kind == "cache-point":
        return {"type": "cache_point"}
    return {"type": "input_file", "file_url": url or kind}


def _returned(part: Any) -> Any:
    """The result of a tool, as the model sees it; pictures and files next to the text."""
    if part.part_kind == "retry-prompt":
        return part.model_response()
    files = list(part.files)
    text = part.model_response_str()
    return [{"type": "input_text", "text": text}, *map(_user_part, files)] if files else text


def _own_text(part: Any) -> str:
    """The text of the application's own part, not the user's: it is only counted, and never edited."""
    content = getattr(part, "content", None)
    return content if isinstance(content, str) else json.dumps(content, default=str)


def _edited(part: Any, item: Mapping[str, Any]) -> Any:
    """A copy of a part with another content."""
    kind = part.part_kind
    if kind == "user-prompt":
        return replace(part, content=_restored(part.content, item["content"]))
    if kind == "text":
        text = "\n\n".join(one["text"] for one in item["content"])
        return replace(part, content=text, id=None)  # under its id, the provider would take its own copy of the text
    if kind in (*_RESULTS, "builtin-tool-return"):
        return replace(part, content=item["output"])
    return part


def _restored(content: Any, parts: Sequence[Mapping[str, Any]]) -> Any:
    given = [content] if isinstance(content, str) else content
    texts = [_user_text(given, part) for part in parts]
    return texts[0] if isinstance(content, str) and len(texts) == 1 else texts


def _user_text(given: Sequence[Any], part: Mapping[str, Any]) -> Any:
    if _PLACE not in part:
        return part["text"]
    before = given[part[_PLACE]]
    if isinstance(before, str):
        return part["text"]
    return before if getattr(before, "content", None) == part.get("text") else replace(before, content=part["text"])
