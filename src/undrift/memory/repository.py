"""The memories of a home behind one store: written, read, and found by words and vectors.

Law: nothing is cached that another process can change. What is searched is derived from the memories: it can be deleted at
any time and rebuilt.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from undrift.memory.search import Hit, MemorySearch, Remembered, line
from undrift.settings import Settings
from undrift.stores.base import Context
from undrift.stores.embed import Embedder, WordLlamaEmbedder, is_installed
from undrift.stores.memories import MemoryUpdate, Unchanged, Viewer
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_index import Making, MemoryLines, MemoryTable, embedded
from undrift.stores.sqlite import SqliteStore
from undrift.values.memory import TRUST_TIERS, MemoryEntry
from undrift.values.scope import Scope

__all__ = ["MemoryRepository", "default_embedder", "remembered", "repository_of"]


class MemoryRepository:
    """Every writing and reading of memories.

    Args:
        store: Open; not closed here. Shared with whoever else uses it.
        embedder: Makes vectors; None searches by words alone.
        making: Makes what searches them; None for the exact search.
    """

    def __init__(self, store: SqliteStore, embedder: Embedder | None = None, making: Making | None = None) -> None:
        self._store = store
        self._search = store.memories.search(embedder, making)

    @property
    def read(self) -> MemoryTable:
        """The memories as they are."""
        return self._store.memories

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
        """Write changes of memories in one commit, and make new ones searchable in it.

        Args:
            session_id: Of the operation.
            kind: Likewise.
            updates: The changes.
            at_ms: Of the operation.
            payload: Likewise.
            unless: What the changes rest on.

        Raises:
            StoreConflict: Nothing was written: a memory was changed or added meanwhile.
            StoreError: Nothing was written: the disk refused.
        """
        context = Context(Scope(session_id), at_ms)
        return self._store.commit(context, kind, (*self.searchable(updates), *unless), payload=payload)

    def searchable(self, updates: Sequence[MemoryUpdate]) -> tuple[MemoryUpdate | MemoryLines, ...]:
        """Return changes together with what makes the new memories searchable."""
        new = remembered([one.after for one in updates if one.before is None and one.after is not None])
        return (*updates, embedded(self._search.embedder, list(map(line, new))))

    def scour(self) -> None:
        """Take the last traces of forgotten memories out of what is searched."""
        with self._search.open() as index:
            index.scour()

    def find(self, query: str, viewer: Viewer, *, k: int, only: Filter = ALL) -> list[Hit]:
        """Find the memories that fit a query best, of those that a viewer may see."""
        with self._search.open() as index:
            index.settle()
            return MemorySearch(index).search(
                query, k=k, only=only, accept=lambda ids: index.visible(ids, viewer), of_the_past=viewer.seq is not None
            )

    def rebuild(self) -> int:
        """Rebuild the search from the memories; the same answers come out. Return how many are searched."""
        with self._search.open() as index:
            index.rebuild(map(line, remembered(index.ever())))
            index.settle(always=True)
            return index.count()


def default_embedder(name: str) -> Embedder | None:
    """Return the embedder that a setting names; nothing is loaded yet.

    Args:
        name: ``auto`` (the one whose model comes with its package, where that is installed), ``wordllama`` or ``none``.

    Raises:
        StoreError: It is asked for and not installed.
    """
    if name == "none" or (name == "auto" and not is_installed()):
        return None
    return WordLlamaEmbedder()


def repository_of(store: SqliteStore, settings: Settings) -> MemoryRepository:
    """Return the repository over a store that settings ask for: its embedder, and what searches its vectors.

    Raises:
        StoreError: The embedder is asked for and not installed. Without LanceDB the first reading or writing raises.
    """
    embedder = default_embedder(settings.embedder)
    if settings.vector_index == "exact":
        return MemoryRepository(store, embedder)
    from undrift.stores.lance import LanceIndex  # only who asks for it pays for it

    return MemoryRepository(store, embedder, partial(LanceIndex, folder=store.path.parent / "vectors"))


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
