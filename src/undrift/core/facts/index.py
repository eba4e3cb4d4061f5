"""An index of the words of facts: the same answers as `undrift.core.facts.retrieve`, at 100,000 facts as at 100. Pure.

Each fact has a place; places grow with recency, so that among equals the highest place wins. A rare word keeps a list of
places, a common one a set of bits: the word "task" stands in nearly every fact, and 100,000 bits are added up as one
integer. Facts that come in out of order wait beside the index and are searched one by one, until it is rebuilt.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from undrift.core.facts.retrieve import Wanted, text_of, within_budget
from undrift.core.facts.words import stems, telling_words
from undrift.values.facts import FactVersion, SessionFact

__all__ = ["FactIndex"]

_MOST_WAITING = 256
"""Out of order: a look at each costs about as much as the index saves beyond that."""
_FEWEST_FOR_BITS = 256
_SPARSE = 64
"""A word in more than 1 of so many facts is kept as bits: these then take no more room than its list would."""

_Key = tuple[int, int]


class _Bits:
    """A set of places that grows."""

    __slots__ = ("_bytes",)

    def __init__(self, places: Iterable[int] = ()) -> None:
        self._bytes = bytearray()
        for place in places:
            self.add(place)

    def add(self, place: int) -> None:
        where = place >> 3
        if where >= len(self._bytes):
            self._bytes.extend(bytes(where + 1 - len(self._bytes) + (len(self._bytes) >> 3)))
        self._bytes[where] |= 1 << (place & 7)

    def remove(self, place: int) -> None:
        self._bytes[place >> 3] &= ~(1 << (place & 7))

    def as_int(self) -> int:
        return int.from_bytes(self._bytes, "little")


class FactIndex:
    """The words of the valid facts of a book. `versions`: the facts to begin with, in any order."""

    def __init__(self, versions: Iterable[FactVersion] = ()) -> None:
        self._facts: dict[int, SessionFact] = {}
        for version in versions:
            self._facts[version.sequence] = version.fact
        self._build()

    def __len__(self) -> int:
        return len(self._facts)

    def add(self, version: FactVersion) -> None:
        """Put in a fact, or one that was seen again in the place of what it was."""
        self.discard(version.sequence)
        self._facts[version.sequence] = version.fact
        key = _key(version.sequence, version.fact)
        if self._keys and key < self._keys[-1]:
            self._waiting[version.sequence] = frozenset(stems(telling_words(text_of(version.fact))))
            if len(self._waiting) > _MOST_WAITING:
                self._build()
        else:
            self._append(version.sequence, version.fact, key)

    def discard(self, sequence: int) -> None:
        """Take out a fact; one that is not in it is none to take out."""
        if self._facts.pop(sequence, None) is None or self._waiting.pop(sequence, None) is not None:
            return
        self._live.remove(self._places.pop(sequence))
        if len(self._keys) > 2 * len(self._places) + _MOST_WAITING:  # most places are dead ones
            self._build()

    def best(self, want: Wanted) -> list[SessionFact]:
        """Return what `retrieve` returns for the facts of the index."""
        query = want.query
        if query.max_facts <= 0:
            return []
        counts: Counter[int] = Counter()
        planes: list[int] = []
        for word, weight in want.weights.items():
            if (bits := self._common.get(word)) is not None:
                _add_to(planes, bits.as_int(), weight)
            elif weight == 1:
                counts.update(self._rare.get(word, ()))
            else:
                counts.update(dict.fromkeys(self._rare.get(word, ()), weight))
        by_weight: dict[int, list[int]] = {}
        for place, weight in counts.items():
            by_weight.setdefault(weight, []).append(place)
        for weight, places in by_weight.items():
            _add_to(planes, _Bits(places).as_int(), weight)
        best = _highest(self._mask(want), planes, query.max_facts)
        ranked = [(weight, *self._keys[place]) for place, weight in best]
        ranked += self._waiting_ranked(want)
        ranked.sort(reverse=True)
        found = [self._facts[sequence] for weight, _, sequence in ranked[: query.max_facts] if want.passes(weight)]
        return within_budget(found, query)

    def _waiting_ranked(self, want: Wanted) -> Iterator[tuple[int, int, int]]:
        query = want.query
        for sequence, words in self._waiting.items():
            fact = self._facts[sequence]
            if fact.source_task_id == query.task_id or (
                query.tags is not None and not set(query.tags) & set(fact.tags)
            ):
                continue
            yield (sum(want.weights.get(word, 0) for word in words), *_key(sequence, fact))

    def _mask(self, want: Wanted) -> int:
        """The places of the facts that may be given at all."""
        query = want.query
        mask = self._live.as_int()
        if query.tags is not None:
            tagged = 0
            for tag in set(query.tags):
                if tag in self._tags:
                    tagged |= self._tags[tag].as_int()
            mask &= tagged
        if query.task_id in self._tasks:
            mask &= ~_Bits(self._tasks[query.task_id]).as_int()
        return mask

    def _build(self) -> None:
        """Rebuild everything, in order of recency."""
        self._keys: list[_Key] = []  # of each place: when it was seen, and its sequence
        self._places: dict[int, int] = {}
        self._live = _Bits()
        self._rare: dict[str, list[int]] = {}
        self._common: dict[str, _Bits] = {}
        self._tags: dict[str, _Bits] = {}
        self._tasks: dict[str, list[int]] = {}
        self._waiting: dict[int, frozenset[str]] = {}
        for key, fact in sorted(((_key(sequence, fact), fact) for sequence, fact in self._facts.items()), key=_first):
            self._append(key[1], fact, key)

    def _append(self, sequence: int, fact: SessionFact, key: _Key) -> None:
        place = len(self._keys)
        self._keys.append(key)
        self._places[sequence] = place
        self._live.add(place)
        self._tasks.setdefault(fact.source_task_id, []).append(place)
        for tag in fact.tags:
            self._tags.setdefault(tag, _Bits()).add(place)
        for word in set(stems(telling_words(text_of(fact)))):
            if (bits := self._common.get(word)) is not None:
                bits.add(place)
                continue
            places = self._rare.setdefault(word, [])
            places.append(place)
            if len(places) > max(_FEWEST_FOR_BITS, place // _SPARSE):
                self._common[word] = _Bits(self._rare.pop(word))


def _key(sequence: int, fact: SessionFact) -> _Key:
    return fact.seen, sequence


def _first(pair: tuple[_Key, SessionFact]) -> _Key:
    return pair[0]


def _add_to(planes: list[int], bits: int, weight: int) -> None:
    """Add a weight to the count of each place in `bits`; the counts stand in the planes, one binary digit in each."""
    for digit in range(weight.bit_length()):
        if not weight >> digit & 1:
            continue
        carry, n = bits, digit
        while carry:
            while len(planes) <= n:
                planes.append(0)
            planes[n], carry = planes[n] ^ carry, planes[n] & carry
            n += 1


def _highest(mask: int, planes: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the highest counts, and these; of equal ones the highest places."""
    while mask and most > 0:
        best, weight = mask, 0
        for n in reversed(range(len(planes))):
            if higher := best & planes[n]:
                best, weight = higher, weight | 1 << n
        mask &= ~best
        while best and most > 0:
            place = best.bit_length() - 1
            yield place, weight
            best ^= 1 << place
            most -= 1
