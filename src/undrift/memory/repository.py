"""The memories of a home behind one store: written, read, and found by words and vectors.

Law: shares the store's connection and its lock; nothing is cached that another process can change. What is searched is
derived from the memories: it can be deleted at any time and made anew.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import apsw

from undrift.errors import StoreConflict
from undrift.memory.search import Hit, MemorySearch, Remembered
from undrift.settings import Settings
from undrift.stores import memories, memory_search, timeline
from undrift.stores.embed import Embedder, WordLlamaEmbedder, is_installed
from undrift.stores.memories import MemoryUpdate, Viewer
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.migrations import transaction
from undrift.stores.sqlite import SqliteStore
from undrift.stores.vectors import VectorIndex, VectorTable
from undrift.values.memory import TRUST_TIERS, MemoryEntry

__all__ = ["MemoryRepository", "default_embedder", "remembered", "repository_of"]


class MemoryRepository:
    """Every writing and reading of memories.

    Args:
        store: Open; not closed here. Shared with whoever else uses it: its lock and its connection are used.
        embedder: Makes vectors; None searches by words alone.
        index: Another place to search vectors; None for the exact one.
    """

    def __init__(
        self,
        store: SqliteStore,
        embedder: Embedder | None = None,
        index: Callable[[VectorTable], VectorIndex] | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._made: tuple[apsw.Connection, MemorySearch] | None = None

    def write(
        self,
        session_id: str,
        kind: str,
        updates: Sequence[MemoryUpdate],
        *,
        at_ms: int,
        payload: Mapping[str, Any],
        still: Callable[[apsw.Connection], bool] | None = None,
    ) -> int:
        """Write changes of memories in one transaction, and make new ones searchable in it.

        Args:
            session_id: Of the operation.
            kind: Likewise.
            updates: The changes.
            at_ms: Of the operation.
            payload: Likewise.
            still: Tells in the transaction whether what the changes rest on is still so; see `unchanged`.

        Raises:
            StoreConflict: Nothing was written: a memory was changed or added meanwhile.
            StoreError: Nothing was written: the disk refused.
        """
        also = self.searchable(updates, still)
        return self._store.commit(session_id, kind, at_ms=at_ms, memories=updates, payload=payload, also=also)

    def searchable(
        self, updates: Sequence[MemoryUpdate], still: Callable[[apsw.Connection], bool] | None = None
    ) -> Callable[[apsw.Connection], None]:
        """Return what makes changes searchable in the transaction that writes them; see `write`."""
        new = remembered([one.after for one in updates if one.before is None and one.after is not None])
        gone = {one.before.id: one.before.content for one in updates if one.after is None and one.before is not None}

        def also(connection: apsw.Connection) -> None:
            if still is not None and not still(connection):
                raise StoreConflict(
                    "another agent has remembered something about the same meanwhile; nothing was written. Repeat it"
                )
            self._search(connection).add(new)
            numbers = memory_search.numbers_of(connection, gone)
            memory_search.take_back(connection, {number: gone[one] for one, number in numbers.items()})

        return also

    def forget(self, connection: apsw.Connection, ids: Iterable[str]) -> None:
        """Take memories out of the search, in the caller's transaction."""
        self._search(connection).remove(ids)

    def scour(self) -> None:
        """Take the last traces of forgotten memories out of what is searched."""
        with self._store.using() as connection:
            self._search(connection).scour()

    def by_id(self, ids: Collection[str], viewer: Viewer | None = None) -> dict[str, MemoryEntry]:
        """Return those of the memories that a viewer may see; see `memories.by_id`."""
        with self._store.using() as connection:
            return memories.by_id(connection, ids, viewer)

    def by_slot(self, keys: Iterable[tuple[str, str]], viewer: Viewer) -> list[MemoryEntry]:
        """Return the memories that state something about one of these pairs of relation and entity."""
        with self._store.using() as connection:
            return memories.by_slot(connection, keys, viewer)

    def by_relation(self, relations: Iterable[str], viewer: Viewer) -> list[MemoryEntry]:
        """Return the memories that state a value for one of these relations."""
        with self._store.using() as connection:
            return memories.by_relation(connection, relations, viewer)

    def seen(self, viewer: Viewer) -> list[MemoryEntry]:
        """Return every memory that a viewer may see, oldest first."""
        with self._store.using() as connection:
            return memories.seen(connection, viewer)

    @staticmethod
    def unchanged(
        digest: str,
        same: Collection[str],
        keys: Collection[tuple[str, str]],
        alike: Collection[str],
        viewer: Viewer,
    ) -> Callable[[apsw.Connection], bool]:
        """Return what tells in a transaction that no process has added a memory which a new one had to be compared with.

        Args:
            digest: Of the new one's content.
            same: Ids of those with this content, the new one's included.
            keys: Pairs of relation and entity that the new one states something about.
            alike: Ids of those about one of them, the new one's included.
            viewer: Who remembers.
        """

        def still(connection: apsw.Connection) -> bool:
            found = {one.id for one in memories.by_digest(connection, digest, viewer)}
            stated = {one.id for one in memories.by_slot(connection, keys, viewer)}
            return found.issubset(same) and stated.issubset(alike)

        return still

    def same(self, digest: str, viewer: Viewer) -> list[MemoryEntry]:
        """Return the memories whose content has this digest."""
        with self._store.using() as connection:
            return memories.by_digest(connection, digest, viewer)

    def history(self, memory_id: str) -> list[MemoryEntry]:
        """Return every version of a memory, oldest first."""
        with self._store.using() as connection:
            return memories.history(connection, memory_id)

    def find(self, query: str, viewer: Viewer, *, k: int, only: Filter = ALL) -> list[Hit]:
        """Find the memories that fit a query best, of those that a viewer may see."""
        with self._store.using() as connection:
            self._settle(connection)
            return self._search(connection).search(
                query,
                k=k,
                only=only,
                accept=lambda ids: memories.visible(connection, ids, viewer),
                of_the_past=viewer.seq is not None,
            )

    def rebuild(self) -> int:
        """Make the search anew from the memories; the same answers come out. Return how many are searched."""
        with self._store.using() as connection:
            self._search(connection).rebuild(remembered(memories.ever(connection)))
            self._settle(connection, always=True)
            return len(memories.every(connection))

    def _settle(self, connection: apsw.Connection, *, always: bool = False) -> None:
        """Let the search know what rewindings took back; where it cannot be written, another search does it."""
        newest = timeline.newest(connection)
        if always or newest > memory_search.settled(connection):
            with suppress(apsw.BusyError, apsw.ReadOnlyError, apsw.FullError), transaction(connection):
                taken, back = memories.not_settled(connection)
                texts = {entry.id: entry.content for entry in memories.ever(connection, {*taken, *back})}
                memory_search.take_back(connection, {number: texts[one] for one, number in taken.items()})
                memory_search.bring_back(connection, {number: texts[one] for one, number in back.items()})
                memory_search.set_settled(connection, timeline.newest(connection))

    def _search(self, connection: apsw.Connection) -> MemorySearch:
        """The search over a connection; after a fault of the disk the store opens another one."""
        if self._made is None or self._made[0] is not connection:

            def texts(ids: Collection[str]) -> dict[str, str]:
                return {one: entry.content for one, entry in memories.by_id(connection, ids).items()}

            self._made = (connection, MemorySearch(connection, self._embedder, index=self._index, texts=texts))
        return self._made[1]


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
