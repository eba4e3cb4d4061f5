"""The memories of a home: writes them, reads them, and finds them by words and vectors.

Law: nothing is cached that another process can change. The search index is derived from the memories: it can be deleted at
any time and rebuilt.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from undrift.memory.search import Hit, MemorySearch, Remembered, line
from undrift.settings import Settings
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.embed import Embedder, WordLlamaEmbedder, embedded, is_installed
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLines, MemoryUpdate, Unchanged, Viewer
from undrift.values.memory import TRUST_TIERS, MemoryEntry

__all__ = ["MemoryRepository", "default_embedder", "remembered", "repository_of"]


class MemoryRepository:
    """Reads, writes and searches the memories of one store.

    `store`: the open store; it is shared, and not closed here. `embedder`: makes vectors; None searches by words alone.
    """

    def __init__(self, store: Store, embedder: Embedder | None = None, index: str = "exact") -> None:
        self._store = store
        self._search = store.search_memories(embedder, index)
        self.read = store.memories
        self.scour = self._search.scour

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
        return (*updates, embedded(self._search.embedder, list(map(line, new))))

    def find(
        self,
        query: str,
        viewer: Viewer,
        *,
        k: int,
        only: Filter = ALL,
        has_others: bool = False,
        explains: bool = False,
    ) -> list[Hit]:
        """Find the memories that fit a query best, among those that a viewer may see; see `MemorySearch.search`.

        `explains`: whether each hit says which passage of its text fits best; see `MemorySearch.explained`.
        """
        with self._search.open() as index:
            search = MemorySearch(index)
            hits = search.search(
                query,
                k=k,
                only=only,
                accept=lambda ids: index.visible(ids, viewer),
                of_the_past=viewer.seq is not None,
                has_others=has_others,
            )
            return search.explained(query, hits) if explains else hits

    def frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        """Return the number of memories that can be found, and for each word the number of those that hold it."""
        with self._search.open() as index:
            return index.frequencies(words)

    def rebuild(self) -> int:
        """Rebuild the search from the memories; results stay the same. Return the number of active memories."""
        return self._search.rebuild(lambda entries: map(line, remembered(entries)))


def default_embedder(name: str) -> Embedder | None:
    """Return the embedder that a setting names; its model is loaded later.

    `name`: ``auto`` (the one whose model comes with its package, where that is installed), ``wordllama`` or ``none``.
    Raises StoreError: it is asked for and not installed.
    """
    if name == "none" or (name == "auto" and not is_installed()):
        return None
    return WordLlamaEmbedder()


def repository_of(store: Store, settings: Settings) -> MemoryRepository:
    """Return the memories of a store, with the embedder and the vector index that the settings name.

    Raises StoreError: the embedder is asked for and not installed. Without LanceDB the first reading or writing raises.
    """
    return MemoryRepository(store, default_embedder(settings.embedder), settings.vector_index)


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
