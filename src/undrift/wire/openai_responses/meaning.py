"""OpenAI Responses: compares items by their meaning, in any notation. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Any

from undrift.wire import raw
from undrift.wire.openai_responses.reading import type_of

__all__ = ["digest"]


def digest(item: Any) -> bytes:
    """Return 32 bytes that are equal for items with the same meaning; see `Form.digest`.

    Null is as good as absent, a lone text is a string or a part, cache breakpoints move, and clients give ids to what
    they say themselves; the model sees none of it. The ids of what the model made
    bind it together (R3), so they count.
    """
    type_ = type_of(item)
    meaning = {name: value for name, value in item.items() if value is not None}
    meaning["type"] = type_
    if meaning.get("status") == "completed":
        del meaning["status"]
    if type_ == "message":
        spoken = "output_text" if item.get("role") == "assistant" else "input_text"
        if spoken == "input_text":
            meaning.pop("id", None)
        _normalise(meaning, "content", spoken)
    elif isinstance(type_, str) and type_.endswith("_output"):
        if "call_id" in meaning:
            meaning.pop("id", None)
        _normalise(meaning, "output", "input_text")
    return hashlib.sha256(raw.encode(meaning, ordered=True)).digest()


def _normalise(meaning: dict[str, Any], name: str, spoken: str) -> None:
    value = meaning.get(name)
    if isinstance(value, str):
        meaning[name] = [{"type": spoken, "text": value}]
    elif isinstance(value, list):
        meaning[name] = [_bare(part) for part in value]


def _bare(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    bare = {name: value for name, value in part.items() if value is not None and name != "prompt_cache_breakpoint"}
    for name in ("annotations", "logprobs"):
        if bare.get(name) == []:
            del bare[name]
    return bare
