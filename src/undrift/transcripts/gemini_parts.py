"""Parses the parts of a message in Gemini's form, as Gemini CLI and Qwen Code store them. Pure.

================================================== ==========================================================
part                                               becomes
================================================== ==========================================================
text                                               ``text``; with thought true ``thinking``; of the user, with a state
                                                   snapshot: ``summary``
functionCall                                       ``call``; one that is known already: counted "repeated call"
functionResponse                                   ``result``: what it holds under output or error, else the whole as
                                                   JSON; error where it holds one; a known one: counted "repeated result"
inlineData                                         ``image`` "[image]"; counted "image data"
anything else                                      ``other``, as JSON
================================================== ==========================================================
"""

from collections.abc import Collection, Iterator
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Role, Skip
from undrift.transcripts.lines import list_at, object_at, text_at

__all__ = ["contents", "texts", "thinking"]

_SNAPSHOT = "<state_snapshot>"


def thinking(thought: str) -> Part:
    """Make a thinking block; an empty thought is only counted."""
    return RecordedBlock("thinking", "assistant", thought) if thought.strip() else Skip("empty thinking")


def contents(role: Role, content: Any, called: Collection[str] = ()) -> Iterator[Part]:
    """Yield what the parts of a message become. `called`: ids of calls that stand elsewhere, with their results."""
    if not isinstance(content, str | list | dict) or not content:
        yield Skip("message without content")
        return
    for part in content if isinstance(content, list) else [content]:
        yield from _part(role, part, called)


def _part(role: Role, part: Any, called: Collection[str]) -> Iterator[Part]:
    if isinstance(part, str):
        yield _text(role, part, thought=False)
    elif not isinstance(part, dict):
        yield Skip("unknown part: (none)")
    elif isinstance(part.get("text"), str):
        yield _text(role, part["text"], thought=part.get("thought") is True)
    elif isinstance(part.get("functionCall"), dict):
        call = part["functionCall"]
        if text_at(call, "id") in called:
            yield Skip("repeated call")
        else:
            yield blocks.call(call.get("id"), call.get("name"), call.get("args"))
    elif isinstance(part.get("functionResponse"), dict):
        response = part["functionResponse"]
        if text_at(response, "id") in called:
            yield Skip("repeated result")
        else:
            failed = "error" in object_at(response, "response")
            yield from blocks.result("user", response.get("id"), texts(part), is_error=failed)
    else:
        flat, skips = blocks.flatten(texts(part))
        yield RecordedBlock("image" if flat == blocks.IMAGE else "other", role, flat)
        yield from skips


def _text(role: Role, text: str, *, thought: bool) -> Part:
    if role == "user" and text.lstrip().startswith(_SNAPSHOT):
        return RecordedBlock("summary", role, text, "summary")
    return thinking(text) if thought else blocks.text(role, text)


def texts(part: Any) -> list[Any]:
    """Bring one part of Gemini's form into what `blocks.flatten` reads."""
    if not isinstance(part, dict):
        return [part]
    if isinstance(part.get("functionResponse"), dict):
        held = part["functionResponse"]
        response = held.get("response")
        if isinstance(response, dict) and len(response) == 1:
            response = response.get("output", response.get("error", response))
        return [response, *(item for inner in list_at(held, "parts") for item in texts(inner))]
    if isinstance(part.get("text"), str):
        return [part["text"]]
    data = object_at(part, "inlineData")
    return [{"type": "image"}] if text_at(data, "mimeType").startswith("image/") else [part]
