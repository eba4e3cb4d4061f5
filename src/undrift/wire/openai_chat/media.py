"""OpenAI Chat Completions: the token costs of pictures, sound and files. Pure; never raises."""

from collections.abc import Mapping
from typing import Any

__all__ = ["IMAGE_TOKENS", "LOW_DETAIL_TOKENS", "media_tokens"]

IMAGE_TOKENS = 1_536
"""The tokens of a large picture: at most 1,536 patches, or 85 tokens and 170 for each of 8 tiles. The bill depends on its
size and the model; both are unknown here."""

LOW_DETAIL_TOKENS = 85

_AUDIO_CHARACTERS_PER_TOKEN = 2_000  # base64; a token is 100 ms, of sound in 128 kbit/s
_FILE_CHARACTERS_PER_TOKEN = 16  # base64 of a PDF; rough, because the bill counts its pages


def media_tokens(part: Mapping[str, Any]) -> int:
    """Estimate the tokens of a part of type ``image_url``, ``input_audio`` or ``file``, rather too high."""
    type_ = part.get("type")
    inner = part.get(type_) if isinstance(type_, str) else None
    given = inner if isinstance(inner, Mapping) else {}
    if type_ == "input_audio":
        return max(1, _length(given.get("data")) // _AUDIO_CHARACTERS_PER_TOKEN)
    if type_ == "file":
        return max(IMAGE_TOKENS, _length(given.get("file_data")) // _FILE_CHARACTERS_PER_TOKEN)
    return LOW_DETAIL_TOKENS if given.get("detail") == "low" else IMAGE_TOKENS


def _length(data: Any) -> int:
    return len(data) if isinstance(data, str) else 0
