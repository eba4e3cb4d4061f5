"""The search over memories: every line is looked at, and weighed as BM25 weighs it."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log, sqrt
from typing import Any

from tests.stores.dictionary.memories import active, sees
from tests.stores.dictionary.records import Home
from undrift.errors import DimensionError
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryPlace, Viewer, WordHit
from undrift.stores.nearness import together
from undrift.values.memory import MemoryEntry

__all__ = ["DictionarySearch", "SearchedLines", "forget_lines", "keep_lines", "words_of"]

_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "e", "y")


class DictionarySearch:
    """The search over the memories of a home.

    Args:
        home: Gives its records; raises where the store is closed.
        embedder: Makes vectors; None searches by words alone.
    """

    def __init__(self, home: Callable[[], Home], embedder: Any) -> None:
        self.embedder = embedder
        self._home = home

    @contextmanager
    def open(self) -> Iterator["SearchedLines"]:
        home = self._home()
        missing = [line for _, line in home.lines.values() if (self._id, line.id) not in home.vectors]
        if self.embedder is not None and missing:
            made = self.embedder.embed([line.text for line in missing])
            home.vectors |= {(self._id, line.id): vector for line, vector in zip(missing, made, strict=True)}
        yield SearchedLines(home, self.embedder)

    def rebuild(self, lines_of: Callable[[list[MemoryEntry]], Iterable[MemoryLine]]) -> int:
        home = self._home()
        newest = {event.id: event.entry for event in home.events if event.entry is not None}
        home.lines, home.vectors = {}, {}
        keep_lines(home, MemoryLines(list(lines_of(sorted(newest.values(), key=lambda one: one.seq)))))
        return sum(event.entry is not None for event in active(home).values())

    def scour(self) -> None:
        assert self._home() is not None

    @property
    def _id(self) -> str:
        return "" if self.embedder is None else str(self.embedder.id)


class SearchedLines:
    """What is searched of a home, at one moment.

    Args:
        home: Its lines.
        embedder: Makes vectors; None searches by words alone.
    """

    def __init__(self, home: Home, embedder: Any = None) -> None:
        self.embedder = embedder
        self._home = home
        there = {name for name, event in active(home).items() if event.entry is not None}
        gone = {event.id for event in home.events} - there
        self._lines: dict[int, MemoryLine] = dict(home.lines.values())
        self._there = {number for number, line in self._lines.items() if line.id not in gone}

    def match(self, words: Sequence[str], limit: int, only: Filter = ALL, *, taken_back: bool = False) -> list[WordHit]:
        texts = {
            number: Counter(words_of(line.text))
            for number, line in self._lines.items()
            if (number in self._there) is not taken_back and line.tier >= only.least_tier
        }
        mean = sum(sum(text.values()) for text in texts.values()) / max(1, len(texts)) or 1.0
        scores: dict[int, float] = {}
        phrases = [words_of(word[:64]) for word in words[:32]]
        if only.least_tier:
            scores = _shares(texts, [phrase for phrase in phrases if phrase])
        for phrase in phrases if not only.least_tier else ():
            hits = {number: text[phrase[0]] for number, text in texts.items() if phrase and _holds(text, phrase)}
            weight = max(log((len(texts) - len(hits) + 0.5) / (len(hits) + 0.5)), 1e-6)
            for number, times in hits.items():
                length = sum(texts[number].values())
                share = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean))
                scores[number] = scores.get(number, 0.0) + weight * share
        near = {} if only.least_tier else self._together(scores, phrases)
        found = [
            WordHit(number, score, near.get(number, 1.0))
            for number, score in scores.items()
            if _passes(self._lines[number], only)
        ]
        return sorted(found, key=lambda one: -one.score)[:limit]

    def _together(self, numbers: Iterable[int], phrases: Sequence[Sequence[str]]) -> dict[int, float]:
        texts = {number: words_of(line.text) for number, line in self._lines.items()}
        known = [phrase[0] for phrase in phrases if phrase and any(phrase[0] in text for text in texts.values())]
        counts = [sum(word in text for text in texts.values()) for word in known]
        rarities = [log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for count in counts]
        places = {
            one: [[n for n, word in enumerate(texts[one]) if word == sought] for sought in known] for one in numbers
        }
        return {number: together(some, rarities) for number, some in places.items()}

    def like(self, words: Sequence[str], limit: int) -> list[WordHit]:
        return self.match(words, limit)

    def ids(self, numbers: Collection[int]) -> dict[int, str]:
        return {number: self._lines[number].id for number in numbers if number in self._lines}

    def nearest(self, vector: Any, limit: int, only: Filter, *, taken_back: bool = False) -> list[tuple[int, float]]:
        if self.embedder is None:
            return []
        found = []
        for number, line in self._lines.items():
            other = self._home.vectors.get((self.embedder.id, line.id))
            if other is not None and _passes(line, only) and (taken_back or number in self._there):
                found.append((number, _cosine(vector, other)))
        return sorted((one for one in found if one[1] > 0), key=lambda one: (-one[1], -one[0]))[:limit]

    def passages(self, vector: Any, numbers: Collection[int]) -> dict[int, tuple[int, float]]:
        return {}

    def places(self, numbers: Collection[int], only: Filter = ALL) -> dict[int, MemoryPlace]:
        wanted = [number for number in numbers if number in self._lines]
        found = {number: self._place(number) for number in wanted if _passes(self._lines[number], only)}
        around = {one for place in found.values() for one in (*place.before, *place.after) if one is not None}
        alone = {number for number in around - found.keys() if _passes(self._lines[number], only)}
        return found | {number: self._place(number)._replace(before=(None,) * 2, after=(None,) * 2) for number in alone}

    def frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        texts = [Counter(words_of(self._lines[number].text)) for number in self._there]
        phrases = [words_of(word[:64]) for word in words]
        return len(texts), [sum(bool(phrase) and _holds(text, phrase) for text in texts) for phrase in phrases]

    def speakers(self, keys: Sequence[str]) -> dict[str, set[str]]:
        known = {self._lines[number].speaker for number in self._there} - {""}
        found = {key: {one for one in known if one == key or one.startswith(f"{key} ")} for key in keys}
        return {key: some for key, some in found.items() if some}

    def visible(self, ids: Collection[str], viewer: Viewer) -> set[str]:
        events = active(self._home, viewer.session_id, viewer.seq)
        entries = [events[one].entry for one in ids if one in events]
        return {one.id for one in entries if one is not None and sees(viewer, one)}

    def _place(self, number: int) -> MemoryPlace:
        line = self._lines[number]
        beside = sorted(
            (other.seq, n)
            for n, other in self._lines.items()
            if line.source and (other.scope, other.source) == (line.scope, line.source)
            if (n in self._there) is (number in self._there)
        )
        at = beside.index((line.seq, number)) if beside else 0
        before, after = ([*(n for _, n in some), None, None] for some in (beside[:at][::-1], beside[at + 1 :]))
        figures = (line.speaker, line.asks, len(line.text), line.tier, line.source)
        return MemoryPlace(number, line.id, *figures, (before[0], before[1]), (after[0], after[1]))


def keep_lines(home: Home, new: MemoryLines) -> None:
    """Make memories searchable; those that are there already stay."""
    vectors: Iterator[Any] = iter(new.vectors)
    for line in new.lines:
        vector = next(vectors) if new.embedder else None
        if vector is not None and len(vector) != new.dimension:
            raise DimensionError(f"a vector of {len(vector)} numbers, not {new.dimension}")
        if line.id not in home.lines:
            home.lines[line.id] = (home.number(), line)
            if vector is not None:
                home.vectors[new.embedder, line.id] = vector


def forget_lines(home: Home, ids: Iterable[str]) -> None:
    """Take memories out of the search."""
    gone = set(ids)
    home.lines = {one: line for one, line in home.lines.items() if one not in gone}
    home.vectors = {key: vector for key, vector in home.vectors.items() if key[1] not in gone}


def words_of(text: str) -> list[str]:
    """Return the words of a text, without case and endings."""
    return [_stem(word) for word in _WORD.findall(text.casefold())]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word


def _holds(text: Counter[str], phrase: Sequence[str]) -> bool:
    return all(text[word] for word in phrase)


def _shares(texts: Mapping[int, Counter[str]], phrases: Sequence[Sequence[str]]) -> dict[int, float]:
    """Return the share of the phrases that each text holds, each weighed by its rarity."""
    held = [{number for number, text in texts.items() if _holds(text, phrase)} for phrase in phrases]
    weights = [log(1 + (len(texts) - len(some) + 0.5) / (len(some) + 0.5)) for some in held if some]
    weights += [max(weights, default=1.0)] * (len(held) - len(weights))
    pairs = list(zip(sorted(held, key=lambda some: not some), weights, strict=True))
    found = {number for some in held for number in some}
    return {number: sum(x for some, x in pairs if number in some) / sum(weights) for number in found}


def _passes(line: MemoryLine, only: Filter) -> bool:
    if line.tier < only.least_tier:
        return False
    if only.until_seq is not None and line.seq > only.until_seq:
        return False
    return all(getattr(line, name) in values for name, values in only.parts)


def _cosine(one: Any, other: Any) -> float:
    lengths = sqrt(sum(float(x) ** 2 for x in one)) * sqrt(sum(float(x) ** 2 for x in other))
    return sum(float(x) * float(y) for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0
