"""Memories found again: by their words, by their vectors, by what stands beside them, in one ranking.

Law: everything here is derived from the memories themselves and can be made anew; what is added is found by the very next
search; nothing touches the network. Without an embedder the words decide alone.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import apsw

from undrift.core.memory.quotas import within_quotas
from undrift.core.memory.retrieve import WEIGHTS, Query, Weights, is_question, parse, rank, speaker_key, speaker_keys
from undrift.stores import memory_search, vectors
from undrift.stores.cleaning import wash
from undrift.stores.embed import Embedder
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.migrations import transaction

__all__ = ["Hit", "MemorySearch", "Remembered"]

_POOL = 50
"""Hits of each kind that are ranked, or as many as are wanted where that is more: the first ten of a search are the same
whether ten or fifty are asked for."""
_MORE = 4
_MOST_OF_TOOLS = 16
"""Times the pool: nearest vectors that are looked through for what somebody vouches for. By words the index tells at once."""
_EMBEDDED_AT_ONCE = 256

Accept = Callable[[Sequence[str]], Collection[str]]
"""Which of these ids may be seen; called with many at once."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory as it is searched.

    Args:
        id: Of the memory; nothing else is given back.
        text: What is searched.
        source: Where it comes from, such as a document or a conversation: memories of one source are neighbours.
        speaker: Name of who said it, empty when nobody did.
        seq: Its place in the order of all memories.
        scope: To whom it belongs: a session, an agent, a project. Neighbours are of one scope.
        type: As filters name it.
        tier: Of trust; 0: nobody vouches for it.
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
    """A memory that was found; `score` is 0 to 1 and comparable within one search, `why` are its parts (`core.retrieve`)."""

    id: str
    score: float
    why: Mapping[str, float]


class _Found(NamedTuple):
    """Hits by words and by vectors, the number of each with its score; and where these and their neighbours stand."""

    lexical: Mapping[int, float]
    dense: Mapping[int, float]
    places: Mapping[int, memory_search.Place]

    def beside(self, vouched: "_Found") -> "_Found":
        """Return both together.

        Where tools fill half of the hits by words, they also decide which words are rare: then what is vouched for has its
        scores from among its like, and the best of it is as good as the best of all.
        """
        tools = sum(not self.places[number].tier for number in self.lexical)
        is_flood = 2 * tools >= len(self.lexical)
        most = (max if is_flood else min)(self.lexical.values(), default=1.0)
        scale = most / max(vouched.lexical.values(), default=1.0)
        scaled = {number: score * scale for number, score in vouched.lexical.items()}
        lexical = {**self.lexical, **scaled} if is_flood else {**scaled, **self.lexical}
        return _Found(lexical, {**vouched.dense, **self.dense}, {**vouched.places, **self.places})


class MemorySearch:
    """The search over memories.

    Args:
        connection: Of the store, of today's version.
        embedder: Makes the vectors; None for words alone.
        index: Searches them; None for the exact one.
        texts: Gives the texts of memories by id, of those that it knows. With it, memories that were added without this
            embedder get their vectors at the next search.
        weights: What each ingredient counts.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        embedder: Embedder | None = None,
        *,
        index: Callable[[vectors.VectorTable], vectors.VectorIndex] | None = None,
        texts: Callable[[Sequence[str]], Mapping[str, str]] | None = None,
        weights: Weights = WEIGHTS,
    ) -> None:
        self._connection = connection
        self._embedder = embedder
        self._index: vectors.VectorIndex | None = None
        self._table: vectors.VectorTable | None = None
        self._texts = texts
        self._weights = weights
        self._complete_until = 0
        if embedder is not None:
            self._table = vectors.VectorTable(connection, embedder.id, embedder.dimension)
            self._index = (index or vectors.ExactIndex)(self._table)

    def add(self, memories: Iterable[Remembered]) -> None:
        """Make memories searchable, in the caller's transaction or one of its own; those that are there already stay.

        Raises:
            StoreError: The embedder cannot be loaded.
            DimensionError: It gives vectors of another length than it says.
            apsw.Error: SQLite refuses.
        """
        given = list(memories)
        made = self._embed([one.text for one in given])  # before the lock is taken
        with self._writing():
            numbers = memory_search.add(self._connection, map(_line, given))
            if self._index is not None:
                pairs = zip(given, made, strict=True)
                self._index.add((numbers.pop(one.id), vector) for one, vector in pairs if one.id in numbers)

    def remove(self, ids: Iterable[str]) -> None:
        """Take memories out of the search; ids that are not in it are passed over."""
        with self._writing():
            numbers = memory_search.numbers_of(self._connection, ids).values()
            memory_search.remove(self._connection, numbers)
            vectors.remove(self._connection, numbers)

    def scour(self) -> None:
        """Take the last traces of removed memories out of the indexes; outside of a transaction.

        What SQLite keeps in free pages and in its log is the caller's: `PRAGMA secure_delete`, `VACUUM`, a checkpoint.
        """
        for index in memory_search.INDEXES:
            wash(lambda: nullcontext(self._connection), index)  # in short steps, so that little is left to do in one
        with self._writing():
            memory_search.scour(self._connection)
        if self._index is not None:
            self._index.scour()

    def rebuild(self, memories: Iterable[Remembered]) -> None:
        """Make the whole search anew from these memories; outside of a transaction."""
        with self._writing():
            memory_search.clear(self._connection)
            vectors.clear(self._connection)
            self.add(memories)
        if self._index is not None:
            self._index.rebuild()

    def search(
        self, query: str, *, k: int = 10, only: Filter = ALL, accept: Accept | None = None, of_the_past: bool = False
    ) -> list[Hit]:
        """Find the k memories that fit a query best.

        Args:
            query: Anything.
            k: Most results; below 1 there are none.
            only: Which memories may be seen, by what is indexed of them.
            accept: Which may be seen, by anything else. What it hides has no part in the ranking, not even as a neighbour.
            of_the_past: Whether memories that a rewinding took back are looked at as well.

        Returns:
            Best first, of equals the newest first.

        Raises:
            StoreError: The embedder cannot be loaded.
            apsw.Error: SQLite refuses, or the index is damaged: `rebuild` helps.

        Source: issue 7 part 2.
        """
        if k < 1:
            return []
        self._complete()
        asked = self._parsed(query)
        find = partial(self._found, asked, self._vector(query, asked), max(_POOL, k), accept, of_the_past)
        found = find(only)
        has_tools = not only.vouched and not all(place.tier for place in found.places.values())
        if has_tools:
            found = found.beside(find(replace(only, vouched=True)))
        vectored = None if self._index is None else found.dense
        wanted = len(found.places) if has_tools else k
        ranked = rank(found.lexical, vectored, found.places, asked.speakers, k=wanted, weights=self._weights)
        best = within_quotas(ranked, lambda one: found.places[one.number].untrusted, k)
        return [Hit(found.places[one.number].id, one.score, one.why) for one in best]

    # ------------------------------------------------------------------------------------------------------- the parts

    def _found(
        self, asked: Query, vector: Any, pool: int, accept: Accept | None, of_the_past: bool, only: Filter
    ) -> "_Found":
        """Return the best hits of each kind among those that may be seen, and where they stand."""
        fetched = pool
        match = memory_search.match_vouched if only.vouched else memory_search.match
        while True:
            lexical = match(self._connection, asked.words, fetched, only)
            if of_the_past:
                more = match(self._connection, asked.words, fetched, only, taken_back=True)
                lexical = sorted([*lexical, *more], key=lambda one: -one[1])
            dense = [] if self._index is None else self._index.search(vector, fetched, only)
            places = memory_search.places(self._connection, {number for number, _ in (*lexical, *dense)}, only)
            if accept is not None and places:
                accepted = set(accept([place.id for place in places.values()]))
                places = {number: place for number, place in places.items() if place.id in accepted}
            seen = [[(number, score) for number, score in hits if number in places] for hits in (lexical, dense)]
            if all(len(some) >= pool or len(hits) < fetched for some, hits in zip(seen, (lexical, dense), strict=True)):
                break
            if only.vouched and fetched >= pool * _MOST_OF_TOOLS:
                break
            fetched *= _MORE  # too many of them are hidden
        by_words, by_vectors = (dict(hits[:pool]) for hits in seen)
        return _Found(by_words, by_vectors, places)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write inside the caller's transaction where there is one."""
        if self._connection.in_transaction:
            yield
        else:
            with transaction(self._connection):
                yield

    def _parsed(self, query: str) -> Query:
        """Take the query apart; a speaker is named by the whole name or by its first word."""
        known = memory_search.known_speakers(self._connection, speaker_keys(query))
        asked = parse(query, known)
        return replace(asked, speakers=frozenset().union(*known.values()))

    def _vector(self, query: str, asked: Query) -> Any:
        embedder = self._embedder
        return None if embedder is None else embedder.embed([asked.text if embedder.adds_words else query])[0]

    def _complete(self) -> None:
        """Make the vectors of memories that were added without this embedder; another search does it, if not this one."""
        if self._table is None or self._texts is None:
            return
        newest = memory_search.newest(self._connection)
        if newest == self._complete_until:
            return
        with suppress(apsw.BusyError, apsw.ReadOnlyError, apsw.FullError):  # they are found by words until then
            while numbers := self._table.missing(self._complete_until, _EMBEDDED_AT_ONCE):
                ids = memory_search.ids_of(self._connection, numbers)
                texts = self._texts(list(ids.values()))
                found = {number: texts[one] for number, one in ids.items() if one in texts}
                made = self._embed(list(found.values()))
                with self._writing():
                    self._table.add(zip(found, made, strict=True))
                self._complete_until = numbers[-1]
            if not self._connection.in_transaction:  # else the numbers may be given out again
                self._complete_until = newest

    def _embed(self, texts: Sequence[str]) -> Iterable[Any]:
        return self._embedder.embed(texts) if self._embedder is not None and texts else ()


def _line(memory: Remembered) -> memory_search.MemoryLine:
    return memory_search.MemoryLine(
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
