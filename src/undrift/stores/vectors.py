"""Vectors of memories, kept in the database beside the truth; and the exact search over them, the embedded default.

Law: writes run inside a transaction that the caller opened; numpy is loaded on first use; whichever index answers, the
scores are computed here, from the vectors that are kept.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from undrift.errors import DimensionError
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.rows import key, raw

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Batch",
    "Copy",
    "ExactIndex",
    "Scored",
    "State",
    "VectorIndex",
    "VectorTable",
    "best",
    "clear",
    "cosines",
    "create",
    "remove",
]

Scored = list[tuple[int, float]]
"""Number of a memory and its cosine, above 0; best first, of equals the newest first."""

_CREATE = """
CREATE TABLE memory_embedders(
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL,
    removals INTEGER NOT NULL DEFAULT 0,  -- grows with every removal: what is cached elsewhere is looked at again
    indexed_until INTEGER NOT NULL DEFAULT 0,  -- entries up to this one are in the derived index, if there is one
    indexed_removals INTEGER NOT NULL DEFAULT 0,
    indexed_rows INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE memory_vectors(
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    embedder INTEGER NOT NULL REFERENCES memory_embedders(key),
    number INTEGER NOT NULL,  -- of the memory
    vector BLOB NOT NULL  -- float32, little-endian, of length 1; all zeros where a text has no meaning
);
CREATE UNIQUE INDEX memory_vectors_of_memory ON memory_vectors(embedder, number);
"""
_STATE = """SELECT key, dimension, removals, indexed_until, indexed_removals, indexed_rows, generation
    FROM memory_embedders WHERE id = ?"""
_ADD = """INSERT INTO memory_vectors(embedder, number, vector) VALUES(?, ?, ?)
    ON CONFLICT(embedder, number) DO NOTHING"""
_REMOVE = "DELETE FROM memory_vectors WHERE embedder = ? AND number = ?"
_REMOVED = "UPDATE memory_embedders SET removals = removals + 1 WHERE key = ?"
_SAVE = """UPDATE memory_embedders SET indexed_until = ?, indexed_removals = ?, indexed_rows = ?, generation = ?
    WHERE key = ?"""
_NEWER = """SELECT v.entry, v.number, l.seq, CAST(l.scope AS BLOB), CAST(l.source AS BLOB), CAST(l.type AS BLOB), v.vector
    FROM memory_vectors v CROSS JOIN memory_lines l ON l.number = v.number
    WHERE v.entry > ? AND v.embedder = ? ORDER BY v.entry"""
_NUMBERS = "SELECT number FROM memory_vectors WHERE embedder = ?"
_COUNT_NEWER = "SELECT count(*) FROM (SELECT 1 FROM memory_vectors WHERE entry > ? AND embedder = ? LIMIT ?)"
_SOME = """SELECT number, vector FROM memory_vectors
    WHERE embedder = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number"""
_SEQ = """SELECT coalesce(max(l.seq), 0) FROM memory_vectors v CROSS JOIN memory_lines l ON l.number = v.number
    WHERE v.embedder = ?"""
_MISSING = """SELECT l.number FROM memory_lines l
    WHERE l.number > ? AND NOT EXISTS (
        SELECT 1 FROM memory_vectors v WHERE v.embedder = ? AND v.number = l.number)
    ORDER BY l.number LIMIT ?"""

_LARGE = 20_000
"""Vectors; from here on their signs choose what is compared: 3.2 MB are read for 100,000 of them, not 102."""
_CHOSEN = 2_000
"""By their signs, at least; then 10 times as many as are wanted. docs/memory-retrieval.md has the recall."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known of one embedder's vectors; see the table. All zeros before the first vector."""

    key: int = 0
    dimension: int = 0
    removals: int = 0
    indexed_until: int = 0
    indexed_removals: int = 0
    indexed_rows: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Vectors as they were kept, in the order in which they came; one element of each column a vector."""

    entries: Sequence[int]
    numbers: Sequence[int]
    seqs: Sequence[int]
    scopes: Sequence[bytes]
    sources: Sequence[bytes]
    types: Sequence[bytes]
    vectors: "NDArray[Any]"


class VectorIndex(Protocol):
    """Nearest vectors of one embedder; what was added is found by the very next search, also by other processes."""

    @property
    def seq(self) -> int:
        """The newest operation of which a memory is found; 0 when there is none."""
        ...

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Keep the vectors of memories, by their numbers; a memory that has one keeps it.

        Raises:
            DimensionError: One has another length.
        """
        ...

    def remove(self, numbers: Collection[int]) -> None:
        """Forget memories, with the vectors that any other embedder made of them."""
        ...

    def search(self, query: Any, k: int, only: Filter = ALL) -> Scored:
        """Return the k nearest memories.

        Args:
            query: (dimension,) of any length above 0; all zeros find nothing.
            k: Most results.
            only: Which memories count.

        Raises:
            DimensionError: The query has another length.
        """
        ...

    def rebuild(self) -> None:
        """Make anew what is derived from the vectors that are kept; outside of a transaction."""
        ...

    def scour(self) -> None:
        """Take the last traces of removed memories out of what is derived; outside of a transaction."""
        ...


def create(connection: apsw.Connection) -> None:
    """Make the tables."""
    connection.execute(_CREATE)


def remove(connection: apsw.Connection, numbers: Collection[int]) -> None:
    """Drop the vectors of memories, those of every embedder."""
    owners: list[Any] = connection.execute("SELECT key FROM memory_embedders").fetchall()
    for (owner,) in owners:
        before = connection.total_changes()
        connection.executemany(_REMOVE, [(owner, number) for number in numbers])
        if connection.total_changes() > before:
            connection.execute(_REMOVED, (owner,))


def clear(connection: apsw.Connection) -> None:
    """Drop all vectors, to make them anew."""
    connection.execute("DELETE FROM memory_vectors; UPDATE memory_embedders SET removals = removals + 1")


class VectorTable:
    """The vectors of one embedder, as they are kept.

    Args:
        connection: Of the store.
        embedder: Its id.
        dimension: Its length.
    """

    def __init__(self, connection: apsw.Connection, embedder: str, dimension: int) -> None:
        self.connection = connection
        self.embedder = embedder
        self.dimension = dimension

    @property
    def state(self) -> State:
        """What is known of them at this moment.

        Raises:
            DimensionError: An embedder of the same name made vectors of another length before.
        """
        found: list[Any] = self.connection.execute(_STATE, (key(self.embedder),)).fetchall()
        state = State(*found[0]) if found else State(dimension=self.dimension)
        if state.dimension != self.dimension:
            raise DimensionError(
                f"embedder {self.embedder!r:.80}: its vectors have length {self.dimension}, those that are kept "
                f"{state.dimension}; give the embedder another id"
            )
        return state

    @property
    def seq(self) -> int:
        """The newest operation of which a memory has a vector."""
        return int(self._rows(_SEQ, self.state.key)[0][0])

    def save(self, state: State) -> None:
        """Write down how far the derived index is."""
        values = (state.indexed_until, state.indexed_removals, state.indexed_rows, state.generation, state.key)
        self.connection.execute(_SAVE, values)

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Keep vectors, brought to length 1."""
        owner = self.state.key or self._owner()
        for number, vector in vectors:
            self.connection.execute(_ADD, (owner, number, self.unit(vector).astype("<f4").tobytes()))

    def newer(self, entry: int, state: State) -> Batch:
        """Read the vectors that were kept after an entry."""
        import numpy as np

        rows = self._rows(_NEWER, entry, state.key)
        entries, numbers, seqs, scopes, sources, types, blobs = zip(*rows, strict=True) if rows else [()] * 7
        vectors = np.frombuffer(b"".join(blobs), "<f4").reshape(len(rows), self.dimension)
        return Batch(entries, numbers, seqs, scopes, sources, types, vectors)

    def count_newer(self, entry: int, state: State, most: int) -> int:
        """Count the vectors that were kept after an entry, up to a number of them."""
        return int(self._rows(_COUNT_NEWER, entry, state.key, most)[0][0])

    def numbers(self, state: State) -> list[int]:
        """Return the numbers of all memories that have one."""
        return [number for (number,) in self._rows(_NUMBERS, state.key)]

    def missing(self, after: int, limit: int) -> list[int]:
        """Return numbers of memories that have none yet, ascending, those above one number."""
        return [number for (number,) in self._rows(_MISSING, after, self.state.key, limit)]

    def scores(self, query: Any, numbers: Collection[int], k: int, state: State) -> Scored:
        """Compute the cosines of some memories, and return the best; who has no vector is left out."""
        import numpy as np

        rows = self._rows(_SOME, state.key, json.dumps(sorted(numbers)))
        vectors = np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(len(rows), self.dimension)
        return best([number for number, _ in rows], cosines(vectors, query).tolist(), k)

    def unit(self, vector: Any) -> "NDArray[Any]":
        """Bring a vector to length 1; what is not finite counts as zero.

        Raises:
            DimensionError: It has another length than the index.
        """
        import numpy as np

        given = np.asarray(vector, np.float32)
        if given.shape != (self.dimension,):
            raise DimensionError(
                f"embedder {self.embedder!r:.80}: a vector of shape {given.shape}, its index has length {self.dimension}"
            )
        finite = np.nan_to_num(given.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        length = float(np.sqrt(np.sum(finite * finite)))
        return (finite / length if length else finite).astype(np.float32)

    def _owner(self) -> int:
        add = "INSERT INTO memory_embedders(id, dimension) VALUES(?, ?) RETURNING key"
        return int(self._rows(add, key(self.embedder), self.dimension)[0][0])

    def _rows(self, sql: str, *bindings: Any) -> list[Any]:
        return self.connection.execute(sql, bindings).fetchall()


def cosines(vectors: "NDArray[Any]", query: "NDArray[Any]") -> "NDArray[Any]":
    """Compute the cosines of unit vectors, each by itself: a product of matrices rounds by what else is in it."""
    scores: NDArray[Any] = (vectors * query).sum(axis=1)
    return scores


def best(numbers: Iterable[int], scores: Iterable[float], k: int) -> Scored:
    """Order by score, of equals the newest first; what is not above 0 is left out."""
    found = [(score, number) for number, score in zip(numbers, scores, strict=True) if score > 0.0]
    return [(number, score) for score, number in sorted(found, reverse=True)[:k]]


class ExactIndex:
    """Every vector compared, from a copy in memory that follows the table; 100,000 of length 256 take 107 MB.

    Args:
        table: The vectors.
    """

    def __init__(self, table: VectorTable) -> None:
        self._table = table
        self._copy: Copy | None = None
        self._may_roll_back = False

    @property
    def seq(self) -> int:
        """The newest operation of which a memory is found."""
        return self._table.seq

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Keep vectors."""
        self._table.add(vectors)

    def remove(self, numbers: Collection[int]) -> None:
        """Forget memories."""
        remove(self._table.connection, numbers)

    def rebuild(self) -> None:
        """Read everything anew at the next search."""
        self._copy = None

    def scour(self) -> None:
        """Let the copy go, with what it holds of removed memories."""
        self._copy = None

    def search(self, query: Any, k: int, only: Filter = ALL) -> Scored:
        """Return the k nearest memories."""
        state, unit = self._table.state, self._table.unit(query)
        return self._followed(state).best(unit, k, only) if k > 0 else []

    def _followed(self, state: State) -> "Copy":
        """Bring the copy up to date. What was read inside a transaction is read again: it may not have happened."""
        copy = self._copy
        if copy is None or self._may_roll_back or (copy.removals != state.removals and not self._forget(copy, state)):
            copy = self._copy = Copy(self._table.dimension)
        self._may_roll_back = self._table.connection.in_transaction
        copy.removals = state.removals
        if self._table.count_newer(copy.until, state, 1):
            copy.append(self._table.newer(copy.until, state))
        return copy

    def _forget(self, copy: "Copy", state: State) -> bool:
        """Pass over the rows that are gone; False when they are so many that reading all anew is better."""
        copy.keep(self._table.numbers(state))
        return 2 * copy.living > copy.size


class Copy:
    """All vectors in memory: columns that double when they are full."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self._np: Any = np
        self.size = self.living = self.until = self.removals = 0
        self._columns: dict[str, Any] = {
            "vectors": np.zeros((0, dimension), np.float32),
            "signs": np.zeros((0, -(-dimension // 64)), np.uint64),
            "numbers": np.zeros(0, np.int64),
            "seqs": np.zeros(0, np.int64),
            "alive": np.zeros(0, np.bool_),
        } | {name: np.zeros(0, np.int32) for name in ("scope", "source", "type")}
        self._codes: dict[str, dict[bytes, int]] = {"scope": {}, "source": {}, "type": {}}

    @property
    def vectors(self) -> Any:
        """(size, dimension) float32."""
        return self._columns["vectors"][: self.size]

    @property
    def numbers(self) -> Any:
        """(size,) int64."""
        return self._columns["numbers"][: self.size]

    def append(self, batch: Batch) -> None:
        """Take in what came after `until`."""
        np, start, end = self._np, self.size, self.size + len(batch.numbers)
        for name, column in self._columns.items():
            if len(column) < end:
                self._columns[name] = np.concatenate(
                    [column[:start], np.zeros((max(2 * start, end) - start, *column.shape[1:]), column.dtype)]
                )
        texts = {"scope": batch.scopes, "source": batch.sources, "type": batch.types}
        coded = {name: [self._code(name, text) for text in values] for name, values in texts.items()}
        values = coded | {
            "vectors": batch.vectors, "signs": self._signs(batch.vectors), "numbers": batch.numbers, "seqs": batch.seqs,
            "alive": True,
        }  # fmt: skip
        for name, value in values.items():
            self._columns[name][start:end] = value
        self.size, self.until = end, batch.entries[-1]
        self.living += len(batch.numbers)

    def keep(self, numbers: Collection[int]) -> None:
        """Pass over all others from now on."""
        alive = self._np.isin(self.numbers, self._np.fromiter(numbers, self._np.int64, len(numbers)))
        self._columns["alive"][: self.size] = alive
        self.living = int(alive.sum())

    def best(self, query: Any, k: int, only: Filter) -> Scored:
        """Return the k nearest to a vector of length 1."""
        rows = self._near(query, k, only)
        return best(self.numbers[rows].tolist(), cosines(self.vectors[rows], query).tolist(), k)

    def _near(self, query: Any, k: int, only: Filter) -> Any:
        """Return rows, among which are the k nearest: exactly, or beyond `_LARGE` as nearly always."""
        np, spare = self._np, 16  # equals at the edge are sorted by others than by chance
        everyone = only == ALL and self.living == self.size
        rows = None if everyone else np.flatnonzero(self._mask(only))
        count = self.size if rows is None else len(rows)
        chosen = max(_CHOSEN, 10 * k)
        if count > max(_LARGE, chosen):
            signs = self._columns["signs"][: self.size] if rows is None else self._columns["signs"][rows]
            differing = np.bitwise_count(signs ^ self._signs(query[None])) @ np.ones(signs.shape[1], np.uint16)
            nearest = np.argpartition(differing, chosen)[:chosen]
            rows, count = nearest if rows is None else rows[nearest], chosen
        scores = (self.vectors if rows is None else self.vectors[rows]) @ query
        if count <= k + spare:
            return np.arange(count) if rows is None else rows
        nearest = np.argpartition(-scores, k + spare)[: k + spare]
        return nearest if rows is None else rows[nearest]

    def _mask(self, only: Filter) -> Any:
        mask = self._columns["alive"][: self.size]
        for column, texts in only.parts:
            codes = [self._codes[column][raw(text)] for text in texts if raw(text) in self._codes[column]]
            mask = mask & self._np.isin(self._columns[column][: self.size], codes)
        if only.until_seq is not None:
            mask = mask & (self._columns["seqs"][: self.size] <= only.until_seq)
        return mask

    def _code(self, column: str, text: bytes) -> int:
        codes = self._codes[column]
        return codes.setdefault(text, len(codes))

    def _signs(self, vectors: Any) -> Any:
        """Pack the signs into whole words of 64 bits."""
        np = self._np
        packed = np.packbits(vectors > 0.0, axis=1)
        padded = np.zeros((len(packed), 8 * (-(-packed.shape[1] // 8))), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)
