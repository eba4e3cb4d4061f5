"""The memories of a home: writes them, reads them, and finds them by words and vectors.

Law: nothing is cached that another process can change. The search index is derived from the memories: it can be deleted at
any time and rebuilt.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from undrift.core.memory.relevance import Asked
from undrift.core.memory.reorder import reordered
from undrift.core.memory.restated import in_other_words
from undrift.errors import PartError
from undrift.memory.parts import OwnEmbedder, OwnReranker, embedder_of, reranker_of
from undrift.memory.search import Hit, MemorySearch, Remembered, line
from undrift.settings import Settings
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.embed import Embedder, embedded
from undrift.stores.memory_contract import SearchedMemories
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLines, MemoryUpdate, Unchanged, Viewer
from undrift.values.memory import TRUST_TIERS, MemoryEntry, ScoredMemoryEntry

__all__ = ["MemoryRepository", "remembered", "repository_of"]

_RERANKED = 50
"""The first hits of a search, which a re-ranker reorders."""
_TEXT_CHARACTERS = 1_000
"""A re-ranker reads so much of a long text, around the passage that fits best: models read about 500 words at most."""

T = TypeVar("T")


class MemoryRepository:
    """Reads, writes and searches the memories of one store.

    Args:
        store: The open store; it is shared, and not closed here.
        embedder: Makes vectors; None searches by words alone.
        index: The index of the vectors.
        reranker: Reorders the first hits; None: the ranking stands.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None = None,
        index: str = "exact",
        reranker: OwnReranker | None = None,
    ) -> None:
        self._store = store
        self._reranker = reranker
        self._search = store.search_memories(embedder, index)
        self._by_words = store.search_memories(None) if isinstance(embedder, OwnEmbedder) else self._search
        self._faults: dict[str, str] = {}
        self.read = store.memories

    def write(
        self,
        session_id: str,
        kind: str,
        updates: Sequence[MemoryUpdate],
        *,
        at_ms: int,
        payload: Mapping[str, Any],
        unless: Sequence[Unchanged] = (),
    ) -> int:
        """Write changes of memories in one commit; new memories become searchable in it.

        Raises StoreConflict: nothing was written: a memory was changed or added meanwhile. Raises StoreError: nothing
        was written: the disk refused.
        """
        context = Context(self._store.scope.of(session_id), at_ms)
        return self._store.commit(context, kind, (*self.searchable(updates), *unless), payload=payload)

    def searchable(self, updates: Sequence[MemoryUpdate]) -> tuple[MemoryUpdate | MemoryLines, ...]:
        """Return the changes with the data that makes new memories searchable."""
        new = remembered([one.after for one in updates if one.before is None and one.after is not None])
        lines = list(map(line, new))
        new_lines = self._with_parts(lambda embedder: embedded(embedder, lines)) if lines else MemoryLines(lines)
        return (*updates, new_lines)

    def find(
        self, query: str, viewer: Viewer, *, k: int, only: Filter = ALL, has_others: bool = False
    ) -> tuple[list[Hit], Asked]:
        """Find the memories that fit a query best, among those that a viewer may see; see `MemorySearch.search`.

        Returns the query as well, as it is judged whether anything fits it.
        """

        def found(index: SearchedMemories) -> tuple[list[Hit], Asked]:
            search = MemorySearch(index)
            hits = search.search(
                query,
                k=k,
                only=only,
                accept=lambda ids: index.visible(ids, viewer),
                of_the_past=viewer.seq is not None,
                has_others=has_others,
            )
            return hits, search.judged(query)

        return self._asked(found)

    def like(self, text: str, viewer: Viewer, *, k: int) -> list[Hit]:
        """Find the memories that are most like a new one; see `MemorySearch.similar`."""
        return self._asked(
            lambda index: MemorySearch(index).similar(text, k=k, accept=lambda ids: index.visible(ids, viewer))
        )

    def like_in_other_words(self, text: str, viewer: Viewer, *, k: int) -> list[Hit]:
        """Find memories by words that mean the same as those of a new one; vectors find them anyway."""
        words = in_other_words(text) if self._search.embedder is None else ""
        return self.like(words, viewer, k=k) if words else []

    def frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        """Return the number of memories that can be found, and for each word the number of those that hold it."""
        with self._by_words.open() as index:
            return index.frequencies(words)

    def most_ranked(self, k: int) -> int:
        """Return how many hits to rank, so that the re-ranker has all that it reorders."""
        return k if self._reranker is None else max(k, _RERANKED)

    def reranked(self, query: str, hits: Sequence[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
        """Give the first hits new scores by the re-ranker, if there is one and it answers in time."""
        self._faults.pop("reranker", None)
        if self._reranker is None or not query.strip() or len(hits) < 2:
            return list(hits)
        best = sorted(hits, key=lambda one: -one.raw_score)
        first, texts = best[:_RERANKED], [_shown(one) for one in best[:_RERANKED]]
        try:
            given = self._reranker.scores(query, texts)
        except PartError as error:
            self._fault(self._reranker, error)
            return list(hits)
        new = reordered([one.raw_score for one in first], given)
        scored = [
            replace(one, raw_score=score, why={**one.why, "reranked": raw})
            for one, score, raw in zip(first, new, given, strict=True)
        ]
        return [*scored, *best[_RERANKED:]]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults of own parts in the newest search or write, a sentence for each; the work continued without them."""
        return tuple(self._faults.values())

    def scour(self) -> None:
        """Delete the remains of destroyed memories from the search; an embedder that fails does not hinder it."""
        try:
            self._search.scour()
        except PartError:
            self._by_words.scour()

    def _asked(self, ask: Callable[[SearchedMemories], T]) -> T:
        """Ask the index; without its vectors if the embedder fails."""

        def work(embedder: Embedder | None) -> T:
            with (self._by_words if embedder is None else self._search).open() as index:
                return ask(index)

        return self._with_parts(work)

    def _with_parts(self, work: Callable[[Embedder | None], T]) -> T:
        """Do a work with the embedder; without it if it is the user's own and fails."""
        embedder = self._search.embedder
        if not isinstance(embedder, OwnEmbedder):
            return work(embedder)
        try:
            with embedder.patiently():
                done = work(embedder)
        except PartError as error:
            self._fault(embedder, error)
            return work(None)
        self._faults.pop("embedder", None)
        return done

    def _fault(self, own: OwnEmbedder | OwnReranker, error: PartError) -> None:
        is_embedder = isinstance(own, OwnEmbedder)
        self._faults["embedder" if is_embedder else "reranker"] = str(error)
        own.part.say(str(error))

    def rebuild(self) -> int:
        """Rebuild the search from the memories; results stay the same. Return the number of active memories."""
        return self._search.rebuild(lambda entries: map(line, remembered(entries)))


def repository_of(store: Store, settings: Settings) -> MemoryRepository:
    """Return the memories of a store, with the embedder, the vector index and the re-ranker that the settings name.

    Raises StoreError: the embedder is asked for and not installed. Without LanceDB the first reading or writing raises.
    """
    embedder, reranker = embedder_of(settings.embedder), reranker_of(settings.reranker)
    return MemoryRepository(store, embedder, settings.vector_index, reranker)


def remembered(entries: Iterable[MemoryEntry]) -> list[Remembered]:
    """Return memories as they are searched."""
    return [
        Remembered(
            one.id,
            one.content,
            source=one.source,
            speaker=one.speaker,
            seq=one.seq,
            scope={"agent": one.agent, "session": one.session_id}.get(one.scope, ""),
            type=one.type,
            tier=TRUST_TIERS[one.trust],
        )
        for one in entries
    ]


def _shown(hit: ScoredMemoryEntry) -> str:
    """Return the text that a re-ranker reads: who said it, and of a long text the part that fits best."""
    text, place = hit.entry.content, hit.why.get("passage")
    if len(text) > _TEXT_CHARACTERS:
        middle = (place[0] + place[1]) // 2 if place else 0
        start = max(0, min(middle - _TEXT_CHARACTERS // 2, len(text) - _TEXT_CHARACTERS))
        text = text[start : start + _TEXT_CHARACTERS]
    return f"{hit.entry.speaker}: {text}" if hit.entry.speaker else text
