"""The usage of single prompts that a provider reported, and other events of their cache. Frozen."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["CacheEvent", "FIVE_MINUTES_S", "HOUR_S", "OURS", "PromptUsage"]

FIVE_MINUTES_S = 300
HOUR_S = 3_600

OURS = "undrift"
"""The `changed` of a prompt whose beginning undrift itself changed."""


@dataclass(frozen=True, slots=True)
class PromptUsage:
    """The provider's counts for one prompt.

    Args:
        line: Where its answer stands in a recording, from 1.
        at_ms: When its answer began.
        written_tokens: Of these, written to a cache of five minutes, or of an unknown time.
        written_long_tokens: Of these, written to a cache of one hour.
        ended_ms: When the last part of its answer came; None if it is not known.
        life_seconds: For how long the provider keeps what was written; None: the answer does not say.
        changed: The part of the prompt that the client changed, as in ``tools``; `OURS`; empty: no change was seen.
        changed_byte: The byte of the request from which it was changed; 0: unknown.
        answer_tokens: The tokens of its answer; 0: unknown.
    """

    line: int
    at_ms: int | None
    prompt_tokens: int
    cached_tokens: int
    written_tokens: int = 0
    written_long_tokens: int = 0
    model: str = ""
    ended_ms: int | None = None
    life_seconds: int | None = None
    changed: str = ""
    changed_byte: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CacheEvent:
    """A thing beside the answers that changes what is known about the cache.

    `compacted`: the client replaced its history, so the next prompt is another one. `request`: the client sent a request
    whose answer is not recorded, because the user interrupted it or because it was the client's own; it read the cache.
    """

    line: int
    at_ms: int | None
    kind: Literal["compacted", "request"]
