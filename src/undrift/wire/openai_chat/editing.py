"""OpenAI Chat Completions: an edited message. Pure.

Law: what no edit names is the very object that was given, and no message is left without content and without calls.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from undrift.wire.form import Edit
from undrift.wire.openai_chat.reading import REASONING, RESULT_ROLES, Slot, slots

__all__ = ["edit", "user_item"]

_SEPARATOR = "\n\n"
_CALLS = ("tool_calls", "function_call")


def edit(item: Any, edits: Mapping[int, Edit], appended: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return a copy of a message with `edits` and texts `appended`; see `Form.edit`.

    Reasoning alone says nothing, so it leaves with the rest. A string stays a string, as not every provider behind
    this form takes parts. Calls, reasoning and audio have no place for another text, and leave as a whole.
    """
    places = slots(item)
    named = {slot: edits[number] for number, slot in enumerate(places) if number in edits}
    left = [slot for slot in places if slot[0] != "reasoning" and not _leaves(slot, named)]
    if edits and not left and not appended:
        return None
    out = dict(item)
    for name in {name for name, _ in named}:
        if name == "reasoning":
            for field in REASONING:
                out.pop(field, None)
        elif name == "tool_calls":
            out[name] = [call for number, call in enumerate(item[name]) if (name, number) not in named]
            if not out[name]:
                del out[name]
        elif name == "refusal" and (name, 0) in left:
            out[name] = named[name, 0].text
        elif name != "content":
            del out[name]
    if appended or any(name == "content" for name, _ in named):
        out["content"] = (
            _result(item, named, appended) if item["role"] in RESULT_ROLES else _content(item, named, appended)
        )
    is_called = any(name in _CALLS for name, _ in left)
    if out.get("content") is None and not is_called and any(name in ("content", *_CALLS) for name, _ in named):
        out["content"] = ""  # null is legal only beside calls
    return out


def user_item(text: str) -> dict[str, Any]:
    """Return a message in which the user says `text`; see `Form.user_item`."""
    return {"role": "user", "content": text}


def _leaves(slot: Slot, named: Mapping[Slot, Edit]) -> bool:
    found = named.get(slot)
    return found is not None and (found.text is None or slot[0] not in ("content", "refusal"))


def _result(item: Mapping[str, Any], named: Mapping[Slot, Edit], appended: Sequence[str]) -> Any:
    """Return the content of a tool message, which is a single block."""
    found, content = named.get(("content", 0)), item.get("content")
    if found is None and isinstance(content, list):
        return [*content, *map(_part, appended)]
    return _joined(content if found is None else found.text, appended)


def _content(item: Mapping[str, Any], named: Mapping[Slot, Edit], appended: Sequence[str]) -> Any:
    """Return the content of a message with its edits. None means: nothing remains."""
    content = item.get("content")
    if not isinstance(content, list):
        found = named.get(("content", 0))
        return _joined(content if found is None else found.text, appended)
    kept: list[Any] = []
    for number, part in enumerate(content):
        found = named.get(("content", number))
        if found is None:
            kept.append(part)
        elif found.text is not None:
            kept.append(_rewritten(part, found.text))
    kept.extend(map(_part, appended))
    return kept or None


def _joined(text: str | None, appended: Sequence[str]) -> str | None:
    texts = [*([text] if text else []), *appended]
    return _SEPARATOR.join(texts) if texts else text


def _part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _rewritten(part: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a part with another text; a part that is no text becomes a text."""
    type_ = part["type"]
    return {**part, type_: text} if type_ in ("text", "refusal") else _part(text)
