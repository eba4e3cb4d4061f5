"""A prompt cache that is written at markers and found by looking back from them, as Anthropic's is.

Law: the clock is the caller's; the same requests in the same order give the same bills.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["LONG_MS", "MarkedCache", "PromptPiece", "SHORT_MS", "Taken"]

SHORT_MS = 5 * 60_000
LONG_MS = 60 * 60_000

_LOOKBACK_POSITIONS = 20
_RUNS = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """One block of a prompt.

    `digest`: of all that the block says, its marker left out. `kind`: its type; neighbours of one type ``tool_use``, or
    ``tool_result``, count as one position; ``""`` for what is no block and has none (a setting). `ttl_ms`: how long
    what ends here shall be kept; None if the block carries no marker.
    """

    digest: bytes
    tokens: int
    kind: str
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """The tokens of one prompt: read, written, uncached.

    `short_tokens`: written for five minutes. `long_tokens`: written for an hour.
    """

    fresh_tokens: int
    read_tokens: int
    short_tokens: int
    long_tokens: int


@dataclass(slots=True)
class _Entry:
    ttl_ms: int
    expires_ms: int | None


class MarkedCache:
    """The entries of one account.

    An entry holds the exact prefix up to a marked block, for one model. Each marker looks back over 20 positions,
    its own the first, for an entry that an earlier request wrote; the longest one found is read, and kept for its time
    again. The part between it and the last marker is written: for an hour up to the last marker that asks for an
    hour, else for five minutes. A marker whose prefix is shorter than the minimum does nothing.
    """

    def __init__(self) -> None:
        self._entries: dict[bytes, _Entry] = {}

    def take(
        self, model: str, pieces: Sequence[PromptPiece], *, minimum_tokens: int, now_ms: int | None = None
    ) -> Taken:
        """Read and write for one request. `now_ms`: the time; None if nothing expires."""
        chain, sums, positions = _measures(model, pieces)
        marked = [
            index for index, piece in enumerate(pieces) if piece.ttl_ms is not None and sums[index] >= minimum_tokens
        ]
        total = sums[-1] if sums else 0
        if not marked:
            return Taken(total, 0, 0, 0)
        hit = max((self._found(index, chain, positions, now_ms) for index in marked), default=-1)
        read = sums[hit] if hit >= 0 else 0
        beyond = [index for index in marked if index > hit]
        written_to = sums[beyond[-1]] if beyond else read
        longs = [sums[index] for index in beyond if pieces[index].ttl_ms == LONG_MS]
        long_to = longs[-1] if longs else read
        if hit >= 0:
            self._keep(chain[hit], None, now_ms)
        for index in marked:
            self._keep(chain[index], pieces[index].ttl_ms, now_ms)
        return Taken(total - written_to, read, written_to - long_to, long_to - read)

    def _found(self, marker: int, chain: Sequence[bytes], positions: Sequence[int], now_ms: int | None) -> int:
        """Return the index of the longest entry that one marker sees; -1 if it sees none."""
        oldest = positions[marker] - _LOOKBACK_POSITIONS + 1
        index = marker
        while index >= 0 and positions[index] >= oldest:
            entry = self._entries.get(chain[index])
            if entry is not None and not _is_over(entry, now_ms):
                return index
            index -= 1
        return -1

    def _keep(self, key: bytes, ttl_ms: int | None, now_ms: int | None) -> None:
        """Write an entry, or restart the time of the one that exists."""
        entry = self._entries.get(key)
        if entry is not None and not _is_over(entry, now_ms):
            ttl_ms = entry.ttl_ms
        if ttl_ms is not None:
            self._entries[key] = _Entry(ttl_ms, None if now_ms is None else now_ms + ttl_ms)


def _is_over(entry: _Entry, now_ms: int | None) -> bool:
    return now_ms is not None and entry.expires_ms is not None and entry.expires_ms <= now_ms


def _measures(model: str, pieces: Sequence[PromptPiece]) -> tuple[list[bytes], list[int], list[int]]:
    """Return for each piece the digest, the tokens and the position of the prefix that ends with it."""
    sha256 = hashlib.sha256
    chain: list[bytes] = []
    sums: list[int] = []
    positions: list[int] = []
    link, total, position, before = sha256(model.encode("utf-8", "surrogatepass")).digest(), 0, 0, ""
    for piece in pieces:
        link = sha256(link + piece.digest).digest()
        total += piece.tokens
        if piece.kind:
            position += piece.kind != before or piece.kind not in _RUNS
            before = piece.kind
        chain.append(link)
        sums.append(total)
        positions.append(position)
    return chain, sums, positions
