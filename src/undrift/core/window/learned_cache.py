"""One model's prompt cache as a session has learned it, from its own requests and from the usage in their answers. Pure.

Law: a warm cache is never taken for a cold one. The life that the traffic names counts. One reading after its end makes
it longer. Only several misses make it shorter, and only if no answer has promised it. A broken usage changes nothing, nor
does a provider that never reports reading.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = ["Expected", "LearnedCache", "Reported", "checked", "learned_from"]

_LEAST_TOKENS = 2_048
"""A shorter kept history proves nothing: the provider rounds, and caches no short prefix."""

_READ_SHARE, _MISSED_SHARE = 0.5, 0.1
"""The least share of a kept history that was read if it was in the cache, and the most if it was not."""

_MISSES = 3
"""Misses in a row until a life counts as shorter. One proves nothing: providers drop caches early under load."""

_LEAST_PAUSE_S = 60
"""After a shorter pause a miss has another cause than the pause."""

_MOST_SECONDS = 1_000_000
_MOST_BYTES = 2**40
_MOST_PARTS = 8
_PART_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Reported:
    """The tokens of a prompt by its answer's usage: all of them, and those that were read from the cache."""

    input_tokens: int | None
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Expected:
    """The cache's state at a request, as far as it was known before the answer; tokens by our own count.

    Args:
        total_tokens: The prompt.
        fixed_tokens: Of these, the parts beside the history: other sessions may keep them in the cache.
        kept_tokens: The history's beginning that is sent again as it was sent before.
        idle_seconds: The least time since the request before; None if unknown.
        is_cold: Whether the pause was taken for the end of the cache.
        part: The part of the prompt that the client has changed, so that all of the history is written again; empty
            without one. `byte`: the place of the change in the body; None: unknown.
    """

    total_tokens: int
    fixed_tokens: int
    kept_tokens: int
    idle_seconds: int | None = None
    is_cold: bool = False
    part: str = ""
    byte: int | None = None


@dataclass(frozen=True, slots=True)
class LearnedCache:
    """The knowledge of one model's cache.

    Args:
        said_seconds: The life that a request asks for, or that an answer reports; None: neither says one.
        is_promised: Whether an answer promises it as the least: then misses do not make it shorter.
        was_read: Whether an answer has ever reported reading.
        read_after_seconds: The longest pause after which the history was still read.
        missed_seconds: The newest pauses after which nothing of it was read, though it was taken for warm.
        cold_but_read: How often the cache was taken for cold, and was read.
        warm_but_missed: How often it was taken for warm, and nothing of the history was read.
        harmless: Parts that the client changed, and the history was read all the same.
        rewritten: How many prompts the provider wrote again because the client changed a part of them.
        rewritten_part, rewritten_byte: The newest such part, and the byte of the request from which it was changed; 0:
            unknown.
    """

    said_seconds: int | None = None
    is_promised: bool = False
    was_read: bool = False
    read_after_seconds: int = 0
    missed_seconds: tuple[int, ...] = ()
    cold_but_read: int = 0
    warm_but_missed: int = 0
    harmless: tuple[str, ...] = ()
    rewritten: int = 0
    rewritten_part: str = ""
    rewritten_byte: int = 0

    def seconds(self, asked: int | None, usual: int) -> int:
        """Return for how long the cache keeps a prefix.

        `asked`: seconds that the request asks for; None: it does not say. `usual`: seconds if neither requests nor answers say any.
        """
        found = max(asked or 0, usual if self.said_seconds is None else self.said_seconds)
        if len(self.missed_seconds) >= _MISSES and not self.is_promised:
            found = min(found, max(self.missed_seconds))
        return max(found, self.read_after_seconds)

    def decides_otherwise_than(self, other: "LearnedCache", usual: int) -> bool:
        """Return whether another life or another change of the client counts now. `usual`: see `seconds`."""
        facts = [(one.seconds(None, usual), one.harmless, one.missed_seconds) for one in (self, other)]
        return facts[0] != facts[1]

    @property
    def payload(self) -> dict[str, Any]:
        """The fields that differ from knowing nothing, as JSON values."""
        unknown = LearnedCache()
        names = {name: "cache_seconds" if name == "said_seconds" else name for name in self.__dataclass_fields__}
        found = {
            stored: getattr(self, name)
            for name, stored in names.items()
            if getattr(self, name) != getattr(unknown, name)
        }
        return {stored: list(value) if isinstance(value, tuple) else value for stored, value in found.items()}


def learned_from(payload: Mapping[str, Any]) -> LearnedCache:
    """Return what a stored operation says; broken fields are left out."""

    def count(value: Any, most: int = _MOST_SECONDS) -> int:
        return value if type(value) is int and 0 < value <= most else 0

    def values(name: str) -> list[Any]:
        given = payload.get(name)
        return given if isinstance(given, list) else []

    return LearnedCache(
        said_seconds=count(payload.get("cache_seconds")) or None,
        is_promised=payload.get("is_promised") is True,
        was_read=payload.get("was_read") is True,
        read_after_seconds=count(payload.get("read_after_seconds")),
        missed_seconds=tuple(n for n in map(count, values("missed_seconds")) if n)[-_MISSES:],
        cold_but_read=count(payload.get("cold_but_read")),
        warm_but_missed=count(payload.get("warm_but_missed")),
        harmless=tuple(str(name)[:_PART_CHARACTERS] for name in values("harmless"))[:_MOST_PARTS],
        rewritten=count(payload.get("rewritten")),
        rewritten_part=str(payload.get("rewritten_part") or "")[:_PART_CHARACTERS],
        rewritten_byte=count(payload.get("rewritten_byte"), _MOST_BYTES),
    )


def checked(known: LearnedCache, expected: Expected, reported: Reported) -> LearnedCache:
    """Return what is known after the answer: the verdict of the request is compared with what was read."""
    if reported.cached_tokens > 0 and not known.was_read:
        known = replace(known, was_read=True)
    found, idle = _evidence(expected, reported), expected.idle_seconds or 0
    if found == "read":
        # It contradicts the misses after pauses that were no longer.
        known = replace(known, missed_seconds=tuple(pause for pause in known.missed_seconds if pause > idle))
        if expected.part and expected.part not in known.harmless and len(known.harmless) < _MOST_PARTS:
            return replace(known, harmless=(*known.harmless, expected.part[:_PART_CHARACTERS]))
        if idle >= _LEAST_PAUSE_S:
            known = replace(known, read_after_seconds=max(known.read_after_seconds, min(idle, _MOST_SECONDS)))
        return replace(known, cold_but_read=known.cold_but_read + 1) if expected.is_cold else known
    if found == "missed" and known.was_read and not expected.is_cold:
        if expected.part:
            return replace(
                known,
                rewritten=known.rewritten + 1,
                rewritten_part=expected.part[:_PART_CHARACTERS],
                rewritten_byte=expected.byte or 0,
            )
        known = replace(known, warm_but_missed=known.warm_but_missed + 1)
        if idle >= _LEAST_PAUSE_S:
            known = replace(known, missed_seconds=(*known.missed_seconds, min(idle, _MOST_SECONDS))[-_MISSES:])
    return known


def _evidence(expected: Expected, reported: Reported) -> Literal["", "read", "missed"]:
    """Tell whether the kept history was read from the cache; empty if that is not clear."""
    prompt, cached = reported.input_tokens or 0, reported.cached_tokens
    if not 0 <= cached <= prompt or expected.kept_tokens < max(_LEAST_TOKENS, expected.fixed_tokens):
        return ""
    scale = prompt / max(expected.total_tokens, 1)
    if not 0.25 < scale < 4:  # it is not the usage of this request
        return ""
    share = (cached - scale * expected.fixed_tokens) / (scale * expected.kept_tokens)
    return "read" if share >= _READ_SHARE else "missed" if share <= _MISSED_SHARE else ""
