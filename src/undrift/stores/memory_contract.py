"""What a store promises about memories, and about the search for them. Pure: protocols, no I/O."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from undrift.stores.embed import Embedder
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine, Place, Viewer
from undrift.values.memory import MemoryEntry

__all__ = ["LinesOf", "MemoryReading", "MemorySearching", "MemoryStore", "SearchedMemories"]

LinesOf = Callable[[list[MemoryEntry]], Iterable[MemoryLine]]
"""Memories to what is searched of each; one whose words are not searched is left out."""


class MemoryReading(Protocol):
    """The memories of a store, read. Each method gives only what the viewer may see.

    Raises:
        StoreCorrupt: A record does not match its SHA-256.
    """

    def by_id(self, ids: Collection[str], viewer: Viewer | None = None) -> dict[str, MemoryEntry]:
        """Return memories by id; an id that is not found is left out. None may see all of them, as they are now."""
        ...

    def by_slot(self, keys: Iterable[tuple[str, str]], viewer: Viewer) -> list[MemoryEntry]:
        """Return memories that state something about a pair of relation and entity, oldest first: the newest 100 of each."""
        ...

    def by_relation(self, relations: Iterable[str], viewer: Viewer) -> list[MemoryEntry]:
        """Return memories that state a value for one of these relations, oldest first: at most 100 of each."""
        ...

    def by_digest(self, digest: str, viewer: Viewer) -> list[MemoryEntry]:
        """Return the memories whose content has this `content_digest`, as they are now, oldest first."""
        ...

    def seen(self, viewer: Viewer) -> list[MemoryEntry]:
        """Return every memory that a viewer may see, oldest first."""
        ...


class SearchedMemories(Protocol):
    """The index over memories while it is searched. A number stands for one memory until the search is closed."""

    @property
    def embedder(self) -> Embedder | None:
        """What makes the vectors; None for words alone."""
        ...

    def match(
        self, words: Sequence[str], limit: int, only: Filter = ALL, *, taken_back: bool = False
    ) -> list[tuple[int, float]]:
        """Return number and score of the best memories in which any of the words stands; best first.

        Args:
            words: Up to 32 of them count.
            limit: Most results.
            only: Which memories count; `Filter.vouched` weighs words by how rare they are among trusted memories.
            taken_back: Search those that rewindings took back, not the active ones.
        """
        ...

    def nearest(self, vector: Any, limit: int, only: Filter) -> list[tuple[int, float]]:
        """Return number and cosine of the nearest memories, best first; none without an embedder.

        Memories that were added without this embedder get their vectors first, as far as the store can be written.
        """
        ...

    def places(self, numbers: Collection[int], only: Filter = ALL) -> dict[int, Place]:
        """Return where memories stand, and who said their neighbours."""
        ...

    def speakers(self, keys: Sequence[str]) -> dict[str, set[str]]:
        """Return the speakers that these keys stand for, wholly or as their first word."""
        ...

    def visible(self, ids: Collection[str], viewer: Viewer) -> set[str]:
        """Return those ids whose memories a viewer may see."""
        ...


class MemorySearching(Protocol):
    """The search of one store by one embedder. All that it holds is derived: it can be rebuilt at any time."""

    embedder: Embedder | None

    def open(self) -> AbstractContextManager[SearchedMemories]:
        """Give the index for one search, with all rewindings taken into account; other threads may have to wait."""
        ...

    def rebuild(self, lines_of: LinesOf) -> int:
        """Rebuild all that is searched from the newest version of each memory; return how many memories are active."""
        ...

    def scour(self) -> None:
        """Take the last traces of destroyed memories out of what is searched, vectors included."""
        ...


class MemoryStore(Protocol):
    """The long-term memories of a scope. They are written by `OperationStore.commit`."""

    @property
    def memories(self) -> MemoryReading:
        """The memories, to read."""
        ...

    def search_memories(self, embedder: Embedder | None = None, index: str = "exact") -> MemorySearching:
        """Return the search over them.

        Args:
            embedder: Makes vectors; None searches by words alone.
            index: What searches the vectors, as the setting `vector_index` names it.

        Raises:
            StoreError: What is asked for is not installed, at once or at the first search.
        """
        ...

    def next_memory_seq(self) -> int:
        """Return a number greater than the `seq` of every memory; two who ask at once may be given the same."""
        ...

    def ratings(self, most: int) -> list[tuple[int, int]]:
        """Return how many results the newest rated searches had, and how many were of use; the newest first."""
        ...
