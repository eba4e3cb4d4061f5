"""Gemini: the token costs of parts that are not text. Pure.

The bill counts pictures, pages and seconds, never the length of the base64. If the bytes stand in the request they are the
measure; a file elsewhere counts as one picture. A session's recorded usage corrects the rest.
"""

from collections.abc import Mapping
from typing import Any

from undrift.wire.gemini.names import camelled

__all__ = ["IMAGE_TOKENS", "PAGE_TOKENS", "media_tokens", "signature_tokens"]

IMAGE_TOKENS = 1_120
"""The tokens of a picture for Gemini 3 without a given resolution; older models take 258 for each tile."""

PAGE_TOKENS = 560
"""The tokens of a page of a document."""

_RESOLUTIONS = {"LOW": 280, "MEDIUM": 560, "HIGH": 1_120, "ULTRA_HIGH": 2_240}
_CHARACTERS_PER_TOKEN = {  # of base64
    "audio": 667,  # 32 tokens a second, at 128 kbit
    "video": 1_667,  # 70 for a picture a second and 32 for its sound, at a megabit
    "text": 5,
}
_DOCUMENT_CHARACTERS_PER_TOKEN = 16


def media_tokens(data: Any, part: Mapping[str, Any]) -> int:
    """Return the tokens of the data in an `inlineData` or a `fileData`."""
    found = camelled(data) if isinstance(data, Mapping) else {}
    mime, text = found.get("mimeType"), found.get("data")
    kind = mime.partition("/")[0] if isinstance(mime, str) else ""
    if kind == "image" or not isinstance(text, str):
        return _RESOLUTIONS.get(_resolution(part), IMAGE_TOKENS)
    if kind in _CHARACTERS_PER_TOKEN:
        return -(-len(text) // _CHARACTERS_PER_TOKEN[kind])
    return max(PAGE_TOKENS, len(text) // _DOCUMENT_CHARACTERS_PER_TOKEN)


def signature_tokens(part: Mapping[str, Any]) -> int:
    """Return the tokens of a thought signature that is sent back; 0 if there is none.

    The provider says that it is billed, but not how much: here four bytes a token, of base64 decoded.
    """
    signature = camelled(part).get("thoughtSignature")
    return -(-len(signature) * 3 // 16) if isinstance(signature, str) else 0


def _resolution(part: Mapping[str, Any]) -> str:
    asked = camelled(part).get("mediaResolution")
    level = asked.get("level") if isinstance(asked, Mapping) else asked
    return level.removeprefix("MEDIA_RESOLUTION_") if isinstance(level, str) else ""
