"""Searches memories by words, by vectors and by their neighbours, in one ranking.

Law: ranks what the index of the store finds, and keeps nothing. Without an embedder the words decide alone.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from undrift.core.memory.merging import rarity
from undrift.core.memory.quotas import STRONG, HitStanding, stratum_of, within_quotas
from undrift.core.memory.relevance import Asked, asked_of
from undrift.core.memory.retrieve import (
    WEIGHTS,
    Query,
    Ranked,
    Weights,
    damping,
    factors,
    is_question,
    parse,
    rank,
    speaker_keys,
    worded,
)
from undrift.core.text.words import speaker_key
from undrift.stores.embed import vector_of
from undrift.stores.memory_contract import SearchedMemories
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_index import MemoryIndex
from undrift.stores.memory_values import MemoryLine, MemoryPlace
from undrift.values.memory import TRUST_TIERS

__all__ = ["Hit", "MemorySearch", "OwnSearch", "Remembered", "line"]

_POOL = 50
"""Hits of each kind that are ranked, or the wanted number if that is more. So the first ten hits are the same for a search
of ten and of fifty."""
_LEAST_TOTAL = 200
"""A home of fewer memories has the rarity of words of one with so many. Else a word that one of two memories holds would
weigh a fifth of a word that none holds."""
_MORE = 4
_MOST_OF_OTHERS = 16
"""Times the pool: the nearest vectors that are searched for memories of a tier, where an index does not know tiers."""
_TRUSTED, _USERS = (TRUST_TIERS[name] for name in ("assistant", "user"))

Accept = Callable[[Sequence[str]], Collection[str]]
"""Which of these ids may be seen; called with many at once."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory as the search uses it.

    `source`: where it comes from, such as a document or a conversation: memories of one source are neighbours. `scope`:
    the owner: a session, an agent, a project. Neighbours are of one scope. `tier`: the tier of trust; 0: no trust.
    """

    id: str
    text: str
    source: str = ""
    speaker: str = ""
    seq: int = 0
    scope: str = ""
    type: str = ""
    tier: int = 1


class Hit(NamedTuple):
    """A found memory; `score` is 0 to 1 and comparable within one search, `why` has its parts (`core.retrieve`).

    `why["held"]`: of a user's statement, the share of the question's words, weighed by their rarity in such statements, and less in a long text.
    `why["nearest"]`: the number of the passage of a long text that is nearest by its vector.
    """

    id: str
    score: float
    why: Mapping[str, Any]


class _Found(NamedTuple):
    """Hits by words and by vectors, the number of each with its score; and where these and their neighbours stand."""

    lexical: Mapping[int, float]
    dense: Mapping[int, float]
    places: Mapping[int, MemoryPlace]
    nearest: Mapping[int, int] = MappingProxyType({})
    """The passage of a long text that is nearest by its vector."""

    @property
    def held(self) -> Mapping[int, float]:
        """The share of the question that each hit by words holds, of a tier; a long text holds up to half as much."""
        return {number: share * (1 + damping(self.places[number])) / 2 for number, share in self.lexical.items()}

    def beside(self, trusted: "_Found") -> "_Found":
        """Return both together.

        If tools fill half of the hits by words, they also decide which words are rare. Then trusted memories are scored
        among themselves, and their best is as good as the best of all.
        """
        tools = sum(not self.places[number].tier for number in self.lexical)
        is_flood = 2 * tools >= len(self.lexical)
        most = (max if is_flood else min)(self.lexical.values(), default=1.0)
        scale = most / max(trusted.lexical.values(), default=1.0)
        scaled = {number: score * scale for number, score in trusted.lexical.items()}
        lexical = {**self.lexical, **scaled} if is_flood else {**scaled, **self.lexical}
        nearest = {**trusted.nearest, **self.nearest}
        return _Found(lexical, {**trusted.dense, **self.dense}, {**trusted.places, **self.places}, nearest)


_NOTHING = _Found({}, {}, {})


class MemorySearch:
    """Searches an index of memories."""

    def __init__(self, index: SearchedMemories, *, weights: Weights = WEIGHTS) -> None:
        self._index = index
        self._weights = weights

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        only: Filter = ALL,
        accept: Accept | None = None,
        of_the_past: bool = False,
        has_others: bool = False,
    ) -> list[Hit]:
        """Find the k memories that fit a query best.

        Args:
            k: Most results; below 1 there are none.
            accept: Any further filter. A hidden memory has no part in the ranking, not even as a neighbour.
            of_the_past: Whether memories that a rewind removed are searched as well.
            has_others: Whether the hits are merged with others, so that each user's hit needs its `held`.

        Returns:
            Best first, of equals the newest first.

        Raises:
            StoreError: The embedder cannot be loaded, the store refuses, or the index is damaged: `rebuild` helps.
        """
        if k < 1:
            return []
        asked = self._parsed(query)
        find = partial(self._found, asked, self._vector(query, asked), max(_POOL, k), accept, of_the_past)
        found = find(only)
        tiers = {place.tier for place in found.places.values()}
        if 0 in tiers and not only.least_tier:
            found = found.beside(find(replace(only, least_tier=_TRUSTED)))
        ranked, users = self._ranked(found, asked), _NOTHING
        if (has_others or min(tiers, default=_USERS) < _USERS) and not only.least_tier:
            users = find(replace(only, least_tier=_USERS))
            ranked = _with_users(ranked, self._ranked(users, asked), users.held)
        places = {**users.places, **found.places}

        def standing(one: Ranked) -> HitStanding:
            place = places[one.number]
            return HitStanding(stratum_of(place.tier), place.source, one.why.get("held", 0.0) >= STRONG)

        best = within_quotas(ranked, standing, k)
        nearest = {**users.nearest, **found.nearest}
        whys = [{**one.why, "nearest": nearest[one.number]} if one.number in nearest else one.why for one in best]
        return [Hit(places[one.number].id, one.score, why) for one, why in zip(best, whys, strict=True)]

    def similar(self, text: str, *, k: int, accept: Accept) -> list[Hit]:
        """Find memories that say something similar to a statement, the most similar first; for writing, not for answers.

        Only their own words and vectors count: a neighbour contradicts nothing. The work does not grow with the memories,
        but for the comparison of vectors.
        """
        asked, fetched = parse(text), k
        vector = self._vector(text, asked)
        while True:
            hits = {one.number: one.score for one in self._index.like(asked.words, fetched)}
            near = dict(self._index.nearest(vector, fetched, ALL))
            ids = self._index.ids({*hits, *near})
            seen = set(accept(list(ids.values()))) if ids else set()
            if len(seen) >= k or max(len(hits), len(near)) < fetched or fetched > k * _MORE:
                break
            fetched *= _MORE  # too many of them are hidden
        share = self._weights.dense if self._index.embedder is not None else 0.0
        most, nearest = max(hits.values(), default=1.0), max(near.values(), default=1.0)
        own = {
            number: (1.0 - share) * hits.get(number, 0.0) / most + share * near.get(number, 0.0) / nearest
            for number, one in ids.items()
            if one in seen
        }
        best = sorted(own, key=lambda number: (-own[number], -number))[:k]
        return [Hit(ids[one], own[one], {"similarity": near[one]} if one in near else {}) for one in best]

    def judged(self, query: str) -> Asked:
        """Return a query as it is judged whether anything fits it: its words, each with its rarity among the memories."""
        parsed = self._parsed(query)
        total, found = self._index.frequencies(parsed.words)
        counts = dict(zip(parsed.words, found, strict=True))
        weights = rarity(max(total, _LEAST_TOTAL), counts)
        names, by_words = bool(parsed.speakers), self._index.embedder is None
        return asked_of(query, weights, counts, total, names_speaker=names, by_words=by_words)

    # ------------------------------------------------------------------------------------------------------- the parts

    def _found(
        self, asked: Query, vector: Any, pool: int, accept: Accept | None, of_the_past: bool, only: Filter
    ) -> "_Found":
        """Return the best hits of each kind among those that may be seen, and where they stand."""
        fetched = pool
        while True:
            lexical = self._index.match(asked.words, fetched, only)
            if of_the_past:
                more = self._index.match(asked.words, fetched, only, taken_back=True)
                lexical = sorted([*lexical, *more], key=lambda one: -one.score)
            worth = [(one.number, worded(one.score, one.together, self._weights)) for one in lexical]
            dense = self._index.nearest(vector, fetched, only, taken_back=of_the_past)
            places = self._index.places({number for number, _ in (*worth, *dense)}, only)
            if accept is not None and places:
                accepted = set(accept([place.id for place in places.values()]))
                places = {number: place for number, place in places.items() if place.id in accepted}
            seen = [[(number, score) for number, score in hits if number in places] for hits in (worth, dense)]
            if all(len(some) >= pool or len(hits) < fetched for some, hits in zip(seen, (worth, dense), strict=True)):
                break
            if only.least_tier and fetched >= pool * _MOST_OF_OTHERS:
                break
            fetched *= _MORE  # too many of them are hidden
        by_words, by_vectors = (dict(hits[:pool]) for hits in seen)
        passages = self._index.passages(vector, by_vectors) if by_vectors else {}
        by_passages = {number: passages.get(number, (0, score))[1] for number, score in by_vectors.items()}
        return _Found(by_words, by_passages, places, {number: nearest for number, (nearest, _) in passages.items()})

    def _ranked(self, found: "_Found", asked: Query) -> list[Ranked]:
        vectored = found.dense if self._index.embedder is not None else None
        many = len(found.places)
        meant = factors(asked, self._weights)
        return rank(found.lexical, vectored, found.places, meant, k=many, weights=self._weights)

    def _parsed(self, query: str) -> Query:
        """Take the query apart; a speaker is named by the whole name or by its first word."""
        known = self._index.speakers(speaker_keys(query))
        asked = parse(query, known)
        return replace(asked, speakers=frozenset().union(*known.values()))

    def _vector(self, query: str, asked: Query) -> Any:
        embedder = self._index.embedder
        return None if embedder is None else vector_of(embedder, asked.text if embedder.adds_words else query)


class OwnSearch(MemorySearch):
    """A search of memories that also maintains its own index."""

    _index: MemoryIndex

    def add(self, memories: Iterable[Remembered]) -> None:
        """Make memories searchable; known ones are skipped. It raises the same errors as `MemoryIndex.add`."""
        self._index.add(map(line, memories))

    def remove(self, ids: Iterable[str]) -> None:
        """Remove memories from the search; unknown ids are skipped."""
        self._index.remove(ids)

    def rebuild(self, memories: Iterable[Remembered]) -> None:
        """Rebuild the whole search from these memories."""
        self._index.rebuild(map(line, memories))


def line(memory: Remembered) -> MemoryLine:
    """Return the indexed parts of a memory."""
    return MemoryLine(
        memory.id,
        memory.text,
        source=memory.source,
        speaker=speaker_key(memory.speaker),
        seq=memory.seq,
        scope=memory.scope,
        type=memory.type,
        asks=is_question(memory.text),
        tier=memory.tier,
    )


def _with_users(ranked: Sequence[Ranked], users: Sequence[Ranked], held: Mapping[int, float]) -> list[Ranked]:
    """Say in each hit of a user how much of the question it holds, and add those that others left no place.

    The score of no hit changes: an added one gets its share of the best score if it is strong, else less than the last.
    """
    known = {one.number for one in ranked}
    most, least = (ranked[0].score, ranked[-1].score) if ranked else (1.0, 1.0)
    added = [
        replace(one, score=most * share if (share := held.get(one.number, 0.0)) >= STRONG else least * one.score)
        for one in users
        if one.number not in known
    ]
    return [
        replace(one, why={**one.why, "held": held[one.number]}) if one.number in held else one
        for one in (*ranked, *added)
    ]
