"""Memories of two homes side by side: which versions one of them lacks, and when each version is active. Pure.

Law: a version is known by its operation, in any fork of its session. The version that is active follows from the versions in the order of a
home and from the rewinds of its sessions: it is what the last version that counts made of the memory.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from undrift.stores.moving.proof import Identities, Identity
from undrift.stores.moving.values import LogPlace, MovedMemory, MovedVersion, Span
from undrift.stores.timeline import stretches

__all__ = ["Key", "Rewind", "keyed", "moments_of", "with_spans"]

_EVER = 2**62


class Key(NamedTuple):
    """A version by its operation and the kind of that; `number`: 0, or more among several of one operation."""

    at: Identity
    act: bytes
    number: int = 0


class Rewind(NamedTuple):
    """A rewind, and the operation of its session that it went back to."""

    at: LogPlace
    to: int


def keyed(memory: MovedMemory, known: Identities) -> dict[Key, MovedVersion]:
    """Return the versions of a memory by their operations, in their order. `known`: all operations of its home."""
    found: dict[Key, MovedVersion] = {}
    for one in memory.versions:
        key = Key(known[one.at], one.act)
        while key in found:
            key = key._replace(number=key.number + 1)
        found[key] = one
    return found


def with_spans(
    before: MovedMemory,
    lacking: Iterable[MovedVersion],
    rewinds: Iterable[Rewind],
    order: Callable[[LogPlace], int],
    is_old: Callable[[LogPlace], bool],
) -> MovedMemory:
    """Return a memory of a home with versions that it lacked, and with the times in which each is active there.

    Times until now stay as they are: an older undrift may have seen rewinds of several sessions in another way.

    Args:
        before: The memory as the home has it; without versions if it has none.
        rewinds: All rewinds of the home.
        order: The place of an operation in the home's time.
        is_old: Tells whether the home had an operation before.
    """
    placed = sorted((*before.versions, *lacking), key=lambda one: order(one.at))
    sessions = {one.at.session for one in placed}
    points: list[tuple[int, int, LogPlace, Rewind | None]] = [
        (order(one.at), number, one.at, None) for number, one in enumerate(placed)
    ]
    points += [(order(one.at), -1, one.at, one) for one in rewinds if one.at.session in sessions]
    points.sort(key=lambda point: point[:2])
    olds = [is_old(moment) for _, _, moment, _ in points]
    known = sum(olds)
    if any(olds[known:]):
        known = 0  # something new stands before something old: all is found again
    line = _Timeline(placed, before if known else MovedMemory(before.id, ()))
    for place, (_, number, moment, back) in enumerate(points):
        line.add(number, moment, back, is_known=place < known)
    return MovedMemory(before.id, line.versions())


class _Timeline:
    """The times of the versions of one memory, as its operations and the rewinds follow each other."""

    def __init__(self, placed: Sequence[MovedVersion], before: MovedMemory) -> None:
        self._placed = placed
        self._spans: dict[int, list[Span]] = {}
        self._moves: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._seen = 0
        self._active, self._since = -1, LogPlace("", 0)
        spans = {one.at: one.spans for one in before.versions}
        for number, one in enumerate(placed):
            self._spans[number] = list(spans.get(one.at, ()))
            if self._spans[number] and self._spans[number][-1].end is None:
                self._active, self._since = number, self._spans[number].pop().start

    def add(self, number: int, moment: LogPlace, back: Rewind | None, *, is_known: bool) -> None:
        """Add a version by its number, or a rewind. `is_known`: what it made is there."""
        if back is None:
            self._seen, chosen = number + 1, number
        else:
            self._moves[moment.session].append((moment.seq, back.to))
            chosen = -1 if is_known else _last_counting(self._placed[: self._seen], self._moves)
        now = chosen if chosen >= 0 and self._placed[chosen].row is not None else -1
        if is_known or now == self._active:
            return
        self._end(moment)
        self._active, self._since = now, moment

    def versions(self) -> tuple[MovedVersion, ...]:
        """Return the versions with their times."""
        self._end(None)
        return tuple(one._replace(spans=tuple(self._spans.get(number, ()))) for number, one in enumerate(self._placed))

    def _end(self, moment: LogPlace | None) -> None:
        if self._active >= 0:
            self._spans.setdefault(self._active, []).append(Span(self._since, moment))


def moments_of(memory: MovedMemory) -> Iterator[LogPlace]:
    """Yield the operations at which a memory changed."""
    for version in memory.versions:
        yield version.at
        for span in version.spans:
            yield span.start
            if span.end is not None:
                yield span.end


def _last_counting(versions: Sequence[MovedVersion], moves: Mapping[str, Sequence[tuple[int, int]]]) -> int:
    """Return the number of the last version whose operation counts; -1 if none does."""
    for number in range(len(versions) - 1, -1, -1):
        at = versions[number].at
        if any(one.first <= at.seq <= one.last for one in stretches(moves.get(at.session, ()), _EVER)):
            return number
    return -1
