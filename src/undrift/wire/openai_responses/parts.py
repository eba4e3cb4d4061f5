"""OpenAI Responses: parts of a content, an output or a reasoning, and their tokens. Pure.

Images, files and encrypted texts are not billed by the length of their base64. They count as the provider's own client
estimates them; a session's recorded usage corrects the rest.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw
from undrift.wire.form import Block, json_text, string_at
from undrift.wire.offered import offered_tools

__all__ = ["IMAGE_TOKENS", "LOW_IMAGE_TOKENS", "block", "loaded_tools", "reasoning_tokens", "texts"]

IMAGE_TOKENS = 1_844
"""The tokens of an image; Codex CLI counts 7,373 bytes at four a token. Models differ by a factor of two."""

LOW_IMAGE_TOKENS = 85
"""The tokens of an image with ``detail: low``."""

_FILE_CHARACTERS_PER_TOKEN = 16  # base64 of a PDF; rough, because the bill counts its pages
_AUDIO_CHARACTERS_PER_TOKEN = 2_000  # base64 of an MP3 with 128 kbit a second, ten tokens a second; rough
_ENVELOPE_BYTES = 650
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def block(part: Any, path: str) -> Block:
    """Read one part of a message's content. Raises WireError: it has the wrong shape."""
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise WireError("a content part must be an object with a string `type`", path=path)
    type_, marker = part["type"], _marker(part)
    if type_ in _TEXTS:
        return Block("text", string_at(part, "text", path), marker=marker)
    if type_ == "refusal":
        return Block("text", string_at(part, "refusal", path), marker=marker)
    tokens = _tokens(part)
    if tokens is None:
        return Block("other", json_text(part, path), marker=marker)
    return Block("image", json_text(part, path), extra_tokens=tokens, counted="", marker=marker)


def texts(value: Any, path: str) -> tuple[str, str, int]:
    """Return the text for recall, the billed text, and the tokens of parts that are not text.

    Raises WireError: it is something else.
    """
    if isinstance(value, str):
        return value, value, 0
    parts = [value] if isinstance(value, Mapping) else value
    if not isinstance(parts, list):
        raise WireError(f"must be a string or an array, not {type(value).__name__}", path=path)
    found, extra, plain = [], 0, len(parts) == 1
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            found.append(part["text"])
            continue
        plain = False
        tokens = _tokens(part) if isinstance(part, Mapping) else None
        if tokens is None:
            found.append(json_text(part, path))
        else:
            extra += tokens
    counted = "\n".join(found)
    return counted if plain else json_text(value, path), counted, extra


def reasoning_tokens(encrypted: Any) -> int:
    """Return the tokens of an encrypted reasoning or compaction; 0 if there is none.

    Base64 takes four characters for three bytes, and an envelope of 650 bytes is no text: Codex CLI counts so.
    """
    length = len(encrypted) if isinstance(encrypted, str) else 0
    return -(-max(0, length * 3 // 4 - _ENVELOPE_BYTES) // 4)


def loaded_tools(item: Mapping[str, Any], path: str) -> tuple[tuple[str, str], ...]:
    """Return the tools whose definitions an output of a tool search holds, each with a hash of its definition."""
    tools = item.get("tools")
    found: list[tuple[str, str]] = []
    for tool in tools if isinstance(tools, list) else ():
        definition = hashlib.sha256(raw.encode(tool, f"{path}.tools", ordered=True)).hexdigest()
        found += ((name, definition) for name in offered_tools({"tools": [tool]}).names)
    return tuple(found)


def _tokens(part: Mapping[str, Any]) -> int | None:
    """Return the tokens of a part that is not text. None means: it is billed as JSON text."""
    type_ = part.get("type")
    if type_ in ("input_image", "computer_screenshot"):
        return LOW_IMAGE_TOKENS if part.get("detail") == "low" else IMAGE_TOKENS
    if type_ == "input_file":
        return max(IMAGE_TOKENS, _length(part.get("file_data")) // _FILE_CHARACTERS_PER_TOKEN)
    if type_ == "input_audio":
        audio = part.get("input_audio")
        return _length(audio.get("data") if isinstance(audio, Mapping) else None) // _AUDIO_CHARACTERS_PER_TOKEN
    if type_ == "encrypted_content":  # what a tool says to the model alone; 9 bytes of text in 16 characters
        return -(-_length(part.get("encrypted_content")) * 9 // 64)
    return None


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else 0


def _marker(part: Mapping[str, Any]) -> str | None:
    marker = part.get("prompt_cache_breakpoint")
    if not isinstance(marker, Mapping):
        return None
    return "12h" if marker.get("ttl") == "12h" else "30m"
