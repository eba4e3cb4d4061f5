"""Gemini: compares contents by their meaning, in any notation. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Any

from undrift.wire import raw
from undrift.wire.gemini.names import camelled, parts_of

__all__ = ["digest"]


def digest(item: Any) -> bytes:
    """Return 32 bytes that are equal for contents with the same meaning; see `Form.digest`.

    Names are camelCase or snake_case, null is as good as absent, no role is the user's, and both alphabets of base64
    spell the same bytes. Arguments and results of the client's tools are compared as they stand.
    """
    meaning = camelled(item)
    meaning["role"] = meaning.get("role") or "user"
    parts = parts_of(item)
    meaning["parts"] = [_part(part) for part in parts] if isinstance(parts, list) else parts
    return hashlib.sha256(raw.encode(meaning, ordered=True)).digest()


def _part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    meaning = camelled(part)
    if meaning.get("thought") is False:
        del meaning["thought"]
    _spelled_alike(meaning, "thoughtSignature")
    for name, value in meaning.items():
        if isinstance(value, Mapping) and name != "partMetadata":
            meaning[name] = _data(name, value)
    return meaning


def _data(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    meaning = camelled(value)
    if meaning.get("id") == "":
        del meaning["id"]
    if name == "functionCall":
        meaning.setdefault("args", {})
    elif name == "functionResponse" and isinstance(meaning.get("parts"), list):
        meaning["parts"] = [_part(part) for part in meaning["parts"]]
    elif name == "inlineData":
        _spelled_alike(meaning, "data")
    return meaning


def _spelled_alike(meaning: dict[str, Any], name: str) -> None:
    value = meaning.get(name)
    if value == "":
        del meaning[name]
    elif isinstance(value, str):
        meaning[name] = value.rstrip("=").replace("-", "+").replace("_", "/")
