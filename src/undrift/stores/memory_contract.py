"""The contract of a store about memories and their search. Pure: protocols, no I/O."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from undrift.stores.embed import Embedder
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine, MemoryPlace, Viewer, WordHit
from undrift.values.memory import MemoryEntry

__all__ = ["LinesOf", "MemoryReading", "MemorySearching", "MemoryStore", "SearchedMemories"]

LinesOf = Callable[[list[MemoryEntry]], Iterable[MemoryLine]]
"""Memories to their searched lines; a memory whose words are not searched is left out."""


class MemoryReading(Protocol):
    """Reads the memories of a store. Each method returns only memories that the viewer may see.

    Raises StoreCorrupt: a record does not match its SHA-256.
    """

    def by_id(self, ids: Collection[str], viewer: Viewer | None = None) -> dict[str, MemoryEntry]:
        """Return memories by id; unknown ids are skipped. Without a viewer, all memories in their newest version."""
        ...

    def by_slot(self, keys: Iterable[tuple[str, str]], viewer: Viewer) -> list[MemoryEntry]:
        """Return memories about these pairs of relation and entity, oldest first: the newest 100 of each pair."""
        ...

    def by_relation(self, relations: Iterable[str], viewer: Viewer) -> list[MemoryEntry]:
        """Return memories about these relations, oldest first: at most 100 of each relation."""
        ...

    def by_digest(self, digest: str, viewer: Viewer) -> list[MemoryEntry]:
        """Return the current memories with this `content_digest`, oldest first."""
        ...

    def is_forgotten(self, digest: str) -> bool:
        """Tell whether the last change of the memories with this digest, of any agent, is the operation ``forget``.

        Changes that a rewind undid do not count.
        """
        ...

    def count_learned(self, start: str) -> int:
        """Return the number of active, searchable memories for all agents that were learned, by the start of their source.

        Those have ``learned`` in their record: anyone can write a source.
        """
        ...

    def seen(self, viewer: Viewer | None) -> list[MemoryEntry]:
        """Return every memory that a viewer may see, oldest first. None means: all that are not forgotten."""
        ...

    def disputing(self, viewer: Viewer) -> list[MemoryEntry]:
        """Return every memory that a viewer may see and that records conflicts, oldest first; others may be among them."""
        ...


class SearchedMemories(Protocol):
    """The memory index during one search. A memory keeps its number until the search is closed."""

    @property
    def embedder(self) -> Embedder | None:
        """The embedder that computes the vectors. None means: the search uses words alone."""
        ...

    def match(self, words: Sequence[str], limit: int, only: Filter = ALL, *, taken_back: bool = False) -> list[WordHit]:
        """Return the memories with any of the words, the highest scores first.

        Args:
            words: Up to 32 of them count.
            only: Selects memories. With `Filter.least_tier`, `together` is 1 and a score is the share of the words that a memory holds, above 0
                and at most 1, each weighed by its rarity among the memories of these tiers.
            taken_back: Search the memories that rewinds have closed, not the active ones.
        """
        ...

    def like(self, words: Sequence[str], limit: int) -> list[WordHit]:
        """Return active memories with the rarest of the words, the highest scores first.

        Up to 32 words count. The work has a limit: a common word counts only without rarer ones, in the newest memories.
        """
        ...

    def ids(self, numbers: Collection[int]) -> Mapping[int, str]:
        """Return the ids of memories by their numbers."""
        ...

    def nearest(self, vector: Any, limit: int, only: Filter, *, taken_back: bool = False) -> list[tuple[int, float]]:
        """Return the numbers and cosines of the memories with the nearest vectors, best first; none without an
        embedder.

        Memories that were added without this embedder get their vectors first, if the store can be written. An index may
        ignore `Filter.least_tier`; `places` does not. `taken_back`: find also the memories that rewinds have closed; an
        index may find them always.
        """
        ...

    def passages(self, vector: Any, numbers: Collection[int]) -> Mapping[int, tuple[int, float]]:
        """Return for some memories the number of the passage that is nearest to a vector, and its cosine.

        The passages are those of `passages_of`. A memory is skipped if the index has only the vector of its whole text.
        """
        ...

    def places(self, numbers: Collection[int], only: Filter = ALL) -> dict[int, MemoryPlace]:
        """Return the place of each memory among its neighbours, and the neighbours' speakers."""
        ...

    def frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        """Return the number of searched memories, and for each word the number of those that hold it, to some thousands."""
        ...

    def speakers(self, keys: Sequence[str]) -> dict[str, set[str]]:
        """Return the speakers for these keys; a key is the whole name or its first word."""
        ...

    def visible(self, ids: Collection[str], viewer: Viewer) -> set[str]:
        """Return those ids whose memories the viewer may see."""
        ...


class MemorySearching(Protocol):
    """The memory search of one store with one embedder. It can be rebuilt from the memories at any time."""

    embedder: Embedder | None

    def open(self) -> AbstractContextManager[SearchedMemories]:
        """Lock the index for one search, after all rewinds are applied; other threads may have to wait."""
        ...

    def rebuild(self, lines_of: LinesOf) -> int:
        """Rebuild the search from the newest version of each memory; return the number of active memories."""
        ...

    def scour(self) -> None:
        """Delete the remains of destroyed memories from the search index, vectors included."""
        ...


class MemoryStore(Protocol):
    """The long-term memories of a scope. `OperationStore.commit` writes them."""

    @property
    def memories(self) -> MemoryReading:
        """The reader of the memories."""
        ...

    def search_memories(self, embedder: Embedder | None = None, index: str = "exact") -> MemorySearching:
        """Return the search of these memories.

        `embedder`: makes vectors; None searches by words alone. `index`: the index over the vectors, as the setting
        `vector_index` names it. Raises StoreError: the index or the embedder is not installed; raised at once or at the
        first search.
        """
        ...

    def next_memory_seq(self) -> int:
        """Return a number greater than the `seq` of every memory; two callers at once may get the same."""
        ...

    def ratings(self, most: int) -> list[tuple[int, int]]:
        """Return the numbers of all results and of useful results, for each of the newest rated searches, newest first."""
        ...
