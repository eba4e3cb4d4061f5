"""The search data derived from memories (words, vectors, neighbours), and the reader of memories.

Law: all derived data can be deleted and rebuilt; the next search finds added memories. Nothing is ranked here.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any, Self

import apsw

from undrift.stores import memories, memory_moves, memory_search, timeline, vectors
from undrift.stores.cleaning import wash
from undrift.stores.database import Database
from undrift.stores.embed import Embedder, embedded, vectors_of
from undrift.stores.exact_index import ExactIndex
from undrift.stores.memory_contract import LinesOf
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryPlace, Viewer, WordHit
from undrift.stores.migrations import transaction
from undrift.stores.table import Table, Writing
from undrift.values.memory import MemoryEntry

__all__ = ["Making", "MemoryIndex", "StoredMemories", "TABLE", "forget", "write_lines"]

_EMBEDDED_AT_ONCE = 256
_FEW = 1_000
"""Memories that are moved one by one in any case: it takes less than to rename the tables."""

Making = Callable[[vectors.VectorTable], vectors.VectorIndex]
"""Makes the index over the vectors of one embedder."""


def write_lines(connection: apsw.Connection, new: MemoryLines) -> None:
    """Make memories searchable, inside the caller's transaction; known memories are skipped.

    Raises DimensionError: a vector has another length than its embedder says.
    """
    numbers = memory_search.add(connection, new.lines)
    if new.embedder:
        pairs = zip(new.lines, new.vectors, strict=True)
        table = vectors.VectorTable(connection, new.embedder, new.dimension)
        table.add((numbers.pop(line.id), vector) for line, vector in pairs if line.id in numbers)


class MemoryIndex:
    """`SearchedMemories` that can also be filled; the caller holds the connection.

    Args:
        connection: A connection to the store, of today's version.
        embedder: Makes the vectors; None for words alone.
        making: Makes the index over them; None for the exact search.
        texts: Returns the texts of known memories by id. With it, memories that were added without this embedder get
            their vectors at the next search.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        embedder: Embedder | None = None,
        *,
        making: Making | None = None,
        texts: Callable[[Sequence[str]], Mapping[str, str]] | None = None,
    ) -> None:
        self.embedder = embedder
        self._connection = connection
        self._texts = texts
        self._complete_until = 0
        self._table: vectors.VectorTable | None = None
        self._index: vectors.VectorIndex | None = None
        if embedder is not None:
            self._table = vectors.VectorTable(connection, embedder.id, embedder.dimension)
            self._index = (making or ExactIndex)(self._table)

    @classmethod
    def in_memory(
        cls,
        embedder: Embedder | None,
        *,
        making: Making | None = None,
        texts: Callable[[Sequence[str]], Mapping[str, str]] | None = None,
    ) -> Self:
        """Return an empty index that exists only in memory."""
        connection = apsw.Connection(":memory:")
        memory_search.create(connection)
        memory_search.add_lengths(connection)
        memory_search.add_tiers(connection)
        memory_moves.add_moves(connection)
        vectors.create(connection)
        return cls(connection, embedder, making=making, texts=texts)

    def add(self, lines: Iterable[MemoryLine]) -> None:
        """Make memories searchable, in the caller's transaction or a new one; known memories are skipped.

        Raises:
            StoreError: The embedder cannot be loaded.
            DimensionError: Its vectors have another length than its `dimension`.
            apsw.Error: SQLite refuses.
        """
        new = embedded(self.embedder, list(lines))  # before the lock is taken
        with self._writing():
            write_lines(self._connection, new)

    def put(self, new: MemoryLines) -> None:
        """Make memories searchable whose vectors come later, or never; known memories are skipped."""
        with self._writing():
            write_lines(self._connection, new)

    def put_vectors(self, ids: Sequence[str], given: Iterable[Any]) -> None:
        """Add the vectors of known memories, as this index's embedder made them."""
        if self._table is not None:
            numbers = memory_search.numbers_of(self._connection, ids)
            with self._writing():
                self._table.add(
                    (numbers[one], vector) for one, vector in zip(ids, given, strict=True) if one in numbers
                )

    def follow(self, active: Mapping[str, bool], texts: Callable[[Collection[str]], Mapping[str, str]]) -> None:
        """Make known memories active, or not; `texts` returns those of the memories that change."""
        numbers = memory_search.numbers_of(self._connection, active)
        there = {place.id: place.number for place in self.places(numbers.values(), Filter(is_active=True)).values()}
        for wanted, move in ((False, memory_moves.take_back), (True, memory_moves.bring_back)):
            changed = [one for one in numbers if active[one] is wanted and (one in there) is not wanted]
            if changed:
                found = texts(changed)
                with self._writing():
                    move(self._connection, {numbers[one]: found[one] for one in changed if one in found})

    def remove(self, ids: Iterable[str]) -> None:
        """Remove memories from the search; unknown ids are skipped."""
        with self._writing():
            forget(self._connection, ids)

    def scour(self) -> None:
        """Delete the remains of removed memories from the indexes. Do not call it inside a transaction.

        The caller cleans SQLite's free pages and its log: `PRAGMA secure_delete`, `VACUUM`, a checkpoint.
        """
        for index in memory_search.INDEXES:
            wash(lambda: nullcontext(self._connection), index)
        with self._writing():
            memory_search.scour(self._connection)
        if self._index is not None:
            self._index.scour()

    def rebuild(self, lines: Iterable[MemoryLine]) -> None:
        """Rebuild the whole search from these lines. Do not call it inside a transaction."""
        with self._writing():
            memory_search.clear(self._connection)
            vectors.clear(self._connection)
            self.add(lines)
        if self._index is not None:
            self._index.rebuild()

    def rebuild_all(self, lines_of: LinesOf) -> int:
        """Rebuild the whole search from the stored memories; return the number of active ones."""
        self.rebuild(lines_of(memories.ever(self._connection)))
        self.settle(always=True)
        return len(memories.every(self._connection))

    def settle(self, *, always: bool = False) -> None:
        """Apply rewinds to the search; if the file cannot be written now, a later search tries again.

        `always`: compare all memories, though there was no rewind.
        """
        connection = self._connection
        if always or timeline.newest(connection) > memory_moves.settled(connection):
            with suppress(apsw.BusyError, apsw.ReadOnlyError, apsw.FullError), transaction(connection):
                since = None if always else memory_moves.settled(connection)
                taken, back = memories.not_settled(connection, since)
                if 2 * (len(taken) + len(back)) > max(memory_moves.of_all(connection), _FEW):
                    memory_moves.exchange(connection)
                    taken, back = memories.not_settled(connection)
                texts = {entry.id: entry.content for entry in memories.ever(connection, {*taken, *back})}
                for moved, move in ((taken, memory_moves.take_back), (back, memory_moves.bring_back)):
                    if moved:
                        move(connection, {number: texts[one] for one, number in moved.items() if one in texts})
                memory_moves.set_settled(connection, timeline.newest(connection))

    def _complete(self) -> None:
        """Compute missing vectors of memories, added earlier without this embedder; or leave it to a later search."""
        if self._table is None or self._texts is None:
            return
        newest = memory_search.newest(self._connection)
        if newest == self._complete_until:
            return
        at_once = getattr(self.embedder, "at_once", _EMBEDDED_AT_ONCE)
        with suppress(apsw.BusyError, apsw.ReadOnlyError, apsw.FullError):  # words find them until then
            while numbers := self._table.missing(self._complete_until, at_once):
                ids = memory_search.ids_of(self._connection, numbers)
                texts = self._texts(list(ids.values()))
                found = {number: texts[one] for number, one in ids.items() if one in texts}
                made = vectors_of(self.embedder, list(found.values())) if self.embedder is not None and found else ()
                with self._writing():
                    self._table.add(zip(found, made, strict=True))
                self._complete_until = numbers[-1]
            if not self._connection.in_transaction:  # else the numbers may be used again
                self._complete_until = newest

    def match(self, words: Sequence[str], limit: int, only: Filter = ALL, *, taken_back: bool = False) -> list[WordHit]:
        found = memory_search.match_of_tier if only.least_tier else memory_search.match
        return found(self._connection, words, limit, only, taken_back=taken_back)

    def like(self, words: Sequence[str], limit: int) -> list[WordHit]:
        return memory_search.like(self._connection, words, limit)

    def ids(self, numbers: Collection[int]) -> Mapping[int, str]:
        return memory_search.ids_of(self._connection, numbers)

    def nearest(self, vector: Any, limit: int, only: Filter, *, taken_back: bool = False) -> list[tuple[int, float]]:
        """Return the numbers and cosines of the nearest memories, best first; none without an embedder."""
        self._complete()
        if self._index is None:
            return []
        if not taken_back and memory_moves.has_inactive(self._connection):
            only = replace(only, is_active=True)
        return self._index.search(vector, limit, only)

    def passages(self, vector: Any, numbers: Collection[int]) -> Mapping[int, tuple[int, float]]:
        return {} if self._table is None else self._table.passages(vector, numbers)

    def places(self, numbers: Collection[int], only: Filter = ALL) -> dict[int, MemoryPlace]:
        return memory_search.places(self._connection, numbers, only)

    def frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        return memory_search.frequencies(self._connection, words)

    def speakers(self, keys: Sequence[str]) -> dict[str, set[str]]:
        return memory_search.known_speakers(self._connection, keys)

    def visible(self, ids: Collection[str], viewer: Viewer) -> set[str]:
        return memories.visible(self._connection, ids, viewer)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Use the caller's transaction, or start one."""
        if self._connection.in_transaction:
            yield
        else:
            with transaction(self._connection):
                yield


def forget(connection: apsw.Connection, ids: Iterable[str]) -> None:
    """Remove memories and their vectors from the search, inside the caller's transaction."""
    numbers = memory_search.numbers_of(connection, ids).values()
    memory_search.remove(connection, numbers)
    vectors.remove(connection, numbers)


class StoredMemories:
    """The memories of one file, `MemoryReading`; with an embedder also their search, `MemorySearching`.

    Args:
        embedder: Makes vectors; None searches by words alone.
        making: Makes the index over them; None for the exact search.
    """

    def __init__(self, database: Database, embedder: Embedder | None = None, making: Making | None = None) -> None:
        self.embedder = embedder
        self.making = making
        self._database = database
        self._opened: tuple[apsw.Connection, MemoryIndex] | None = None

    def by_id(self, ids: Collection[str], viewer: Viewer | None = None) -> dict[str, MemoryEntry]:
        return self._database.ask(memories.by_id, ids, viewer)

    def by_slot(self, keys: Iterable[tuple[str, str]], viewer: Viewer) -> list[MemoryEntry]:
        return self._database.ask(memories.by_slot, keys, viewer)

    def by_relation(self, relations: Iterable[str], viewer: Viewer) -> list[MemoryEntry]:
        return self._database.ask(memories.by_relation, relations, viewer)

    def by_digest(self, digest: str, viewer: Viewer) -> list[MemoryEntry]:
        return self._database.ask(memories.by_digest, digest, viewer)

    def is_forgotten(self, digest: str) -> bool:
        return self._database.ask(memories.is_forgotten, digest)

    def count_learned(self, start: str) -> int:
        return self._database.ask(memories.count_learned, start)

    def seen(self, viewer: Viewer | None) -> list[MemoryEntry]:
        return self._database.ask(memories.seen, viewer)

    def disputing(self, viewer: Viewer) -> list[MemoryEntry]:
        return self._database.ask(memories.disputing, viewer)

    @contextmanager
    def open(self) -> Iterator[MemoryIndex]:
        """Lock the index for one search; other threads of this process wait."""
        with self._index() as index:
            index.settle()
            yield index

    def rebuild(self, lines_of: LinesOf) -> int:
        with self._index() as index:
            return index.rebuild_all(lines_of)

    def scour(self) -> None:
        with self._index() as index:
            index.scour()

    @contextmanager
    def _index(self) -> Iterator[MemoryIndex]:
        with self._database.using() as connection:
            if self._opened is None or self._opened[0] is not connection:  # after a fault there is another connection

                def texts(ids: Sequence[str]) -> dict[str, str]:
                    return {one: entry.content for one, entry in memories.by_id(connection, ids).items()}

                index = MemoryIndex(connection, self.embedder, making=self.making, texts=texts)
                self._opened = (connection, index)
            yield self._opened[1]


def _as_they_are(_: str, changes: Sequence[Any]) -> Sequence[Any]:
    return changes


def _write(writing: Writing, changes: Sequence[MemoryLines]) -> None:
    for one in changes:
        write_lines(writing.connection, one)


TABLE = Table("memory_lines", changes=(MemoryLines,), prepare=_as_they_are, write=_write, of_session=False)
