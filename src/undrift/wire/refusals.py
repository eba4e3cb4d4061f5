"""Reads a provider's refusal of a too long prompt: its length, and the limit. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw

__all__ = ["REFUSAL_STATUSES", "TooLong", "too_long"]

REFUSAL_STATUSES = (400, 413, 422)
"""The HTTP codes by which a provider refuses a prompt for its length."""

_MOST_BYTES = 64 << 10  # a refusal is a sentence; what is longer is something else
_NUMBER = r"([0-9][0-9,_]{0,14})"
_WORDINGS = (
    # (pattern, group of what was sent, group of the limit)
    (re.compile(rf"prompt is too long: {_NUMBER} tokens > {_NUMBER}"), 1, 2),
    (re.compile(rf"maximum context length is {_NUMBER} tokens[^0-9]{{1,120}}{_NUMBER}"), 2, 1),
    (re.compile(rf"input token count \({_NUMBER}\) exceeds the maximum number of tokens allowed \({_NUMBER}\)"), 1, 2),
    (re.compile(rf"input token count is {_NUMBER} but model only supports up to {_NUMBER}"), 1, 2),
    (re.compile(rf"input length and `max_tokens` exceed context limit: {_NUMBER} \+ [0-9,]+ > {_NUMBER}"), 1, 2),
)
_WORDS = ("prompt is too long", "context_length_exceeded", "exceeds the context window", "input is too long")


@dataclass(frozen=True, slots=True)
class TooLong:
    """The length of a refused prompt and the limit, in the provider's tokens; None if the refusal does not say."""

    sent_tokens: int | None = None
    limit_tokens: int | None = None


def too_long(status: int, body: bytes) -> TooLong | None:
    """Read a refusal of a too long prompt. None means: the refusal has another reason."""
    if status not in REFUSAL_STATUSES or len(body) > _MOST_BYTES:
        return None
    try:
        text = " ".join(_texts_of(raw.decode(body)))
    except WireError:
        return None
    for pattern, sent, limit in _WORDINGS:
        if found := pattern.search(text):
            return TooLong(_count(found[sent]), _count(found[limit]))
    return TooLong() if any(words in text.lower() for words in _WORDS) else None


def _texts_of(answer: Any) -> list[str]:
    error = answer.get("error") if isinstance(answer, Mapping) else None
    fields = error if isinstance(error, Mapping) else answer if isinstance(answer, Mapping) else {}
    return [
        value for value in (fields.get("message"), fields.get("code"), fields.get("type")) if isinstance(value, str)
    ]


def _count(digits: str) -> int | None:
    number = int(digits.replace(",", "").replace("_", ""))
    return number or None
