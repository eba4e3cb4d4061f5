"""The implicit prompt caches of OpenAI and Gemini: the longest beginning of a prompt that was sent before.

Law: no clock and no randomness; the time comes with the request, and the same requests give the same counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from undrift.testing.simulators.base import Count, canonical, characters_by_four, tokens_of

__all__ = ["PrefixCache", "Split"]

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Split:
    """A prompt's tokens: those that the cache held, and all that came after them."""

    read_tokens: int
    rest_tokens: int

    @property
    def total_tokens(self) -> int:
        """The whole prompt, as OpenAI and Gemini report it (C5, G11)."""
        return self.read_tokens + self.rest_tokens


class PrefixCache:
    """Remembers every beginning of every prompt, at the granularity of the pieces that it is given.

    `ttl_ms`: how long a beginning stays after its last use, in milliseconds; None keeps it for ever. It takes effect
    only between requests that say what time it is.
    """

    def __init__(self, *, ttl_ms: int | None = None, count: Count = characters_by_four) -> None:
        self._ttl_ms = ttl_ms
        self._count = count
        self._tokens: dict[bytes, int] = {}
        self._used_at_ms: dict[bytes, int | None] = {}

    def send(self, scope: str, pieces: Iterable[Any], minimum_tokens: int, now_ms: int | None = None) -> Split:
        """Return how much of the prompt the cache held, and hold all of it from now on.

        `scope`: what shares nothing with other scopes: the model. `pieces`: the prompt in its order, tools and
        instructions first; each a JSON value. `now_ms`: the time, in milliseconds; None says nothing about it. Raises
        ValueError: a piece has no JSON; nothing is remembered.
        """
        encoded = [canonical(piece) for piece in pieces]
        chain = blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
        read_tokens = total_tokens = 0
        held = True
        for data in encoded:
            digest = blake2b(data, digest_size=_DIGEST_BYTES).digest()
            chain.update(digest)
            total_tokens += self._tokens_of(digest, data)
            beginning = chain.digest()
            held = held and self._holds(beginning, now_ms)
            if held:
                read_tokens = total_tokens
            self._used_at_ms[beginning] = now_ms
        if read_tokens < minimum_tokens:
            read_tokens = 0
        return Split(read_tokens, total_tokens - read_tokens)

    def _holds(self, beginning: bytes, now_ms: int | None) -> bool:
        if beginning not in self._used_at_ms:
            return False
        used_at_ms = self._used_at_ms[beginning]
        if self._ttl_ms is None or now_ms is None or used_at_ms is None:
            return True
        return now_ms - used_at_ms <= self._ttl_ms

    def _tokens_of(self, digest: bytes, data: bytes) -> int:
        tokens = self._tokens.get(digest)
        if tokens is None:
            tokens = self._tokens[digest] = tokens_of(data, self._count)
        return tokens
