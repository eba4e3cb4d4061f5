"""Vectors of memories, stored in the database next to the memories.

Law: writes run inside a transaction that the caller opened; numpy is loaded on first use. For any index, the scores are
computed here, from the stored vectors.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from undrift.errors import DimensionError
from undrift.stores.memory_filter import ALL, Filter, in_sqlite
from undrift.stores.rows import key

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Batch",
    "Scored",
    "VectorIndex",
    "VectorState",
    "VectorTable",
    "best",
    "clear",
    "cosines",
    "create",
    "remove",
]

Scored = list[tuple[int, float]]
"""Number of a memory and its cosine, above 0; best first, among equals the newest first."""

_MOST_OF_A_BYTE = 127.0
_LEAST = 1e-9
_ROUNDING = 1e-7
"""A length this near to 1 is 1: a float32 holds no more."""

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
_NEWER = """SELECT v.entry, v.number, l.seq, l.tier, CAST(l.scope AS BLOB), CAST(l.source AS BLOB), CAST(l.type AS BLOB),
    substr(v.vector, 1, ?)
    FROM memory_vectors v CROSS JOIN memory_lines l ON l.number = v.number
    WHERE v.entry > ? AND +v.embedder = ? ORDER BY v.entry"""  # +: only the newer rows are read, not all of an embedder
_NUMBERS = "SELECT number FROM memory_vectors WHERE embedder = ?"
_OF_FILTER = "SELECT l.number FROM memory_lines l WHERE {} ORDER BY l.number DESC LIMIT ?"
_COUNT_NEWER = "SELECT count(*) FROM (SELECT 1 FROM memory_vectors WHERE entry > ? AND +embedder = ? LIMIT ?)"
_SOME = """SELECT number, substr(vector, 1, ?) FROM memory_vectors
    WHERE embedder = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number"""
_PASSAGES = """SELECT number, substr(vector, ?1 + 1) FROM memory_vectors
    WHERE embedder = ?2 AND number IN (SELECT value FROM json_each(?3)) AND length(vector) > ?1 ORDER BY number"""
_SEQ = """SELECT coalesce(max(l.seq), 0) FROM memory_vectors v CROSS JOIN memory_lines l ON l.number = v.number
    WHERE v.embedder = ?"""
_MISSING = """SELECT l.number FROM memory_lines l
    WHERE l.number > ? AND NOT EXISTS (
        SELECT 1 FROM memory_vectors v WHERE v.embedder = ? AND v.number = l.number)
    ORDER BY l.number LIMIT ?"""


@dataclass(frozen=True, slots=True)
class VectorState:
    """The state of one embedder's vectors; see the table. All zeros before the first vector."""

    key: int = 0
    dimension: int = 0
    removals: int = 0
    indexed_until: int = 0
    indexed_removals: int = 0
    indexed_rows: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Some stored vectors with their columns, in the order in which they were added."""

    entries: Sequence[int]
    numbers: Sequence[int]
    seqs: Sequence[int]
    tiers: Sequence[int]
    scopes: Sequence[bytes]
    sources: Sequence[bytes]
    types: Sequence[bytes]
    vectors: "NDArray[Any]"


class VectorIndex(Protocol):
    """The search for the nearest vectors of one embedder; it finds vectors that any process has added."""

    @property
    def seq(self) -> int:
        """The newest operation whose memories the search finds; 0 if there is none."""
        ...

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Store the vectors of memories, by their numbers; a memory with a vector keeps it.

        Raises DimensionError: a vector has another length.
        """
        ...

    def remove(self, numbers: Collection[int]) -> None:
        """Forget memories, with their vectors by any other embedder."""
        ...

    def search(self, query: Any, k: int, only: Filter = ALL) -> Scored:
        """Return the k nearest memories. Raises DimensionError: the query has another length.

        `query`: (dimension,) of any length above 0; all zeros find nothing.
        """
        ...

    def rebuild(self) -> None:
        """Rebuild the data that is derived from the stored vectors; outside of a transaction."""
        ...

    def scour(self) -> None:
        """Remove the last traces of removed memories from the derived data; outside of a transaction."""
        ...


def create(connection: apsw.Connection) -> None:
    """Make the tables."""
    connection.execute(_CREATE)


def remove(connection: apsw.Connection, numbers: Collection[int]) -> None:
    """Drop the vectors of memories, by every embedder."""
    owners: list[Any] = connection.execute("SELECT key FROM memory_embedders").fetchall()
    for (owner,) in owners:
        before = connection.total_changes()
        connection.executemany(_REMOVE, [(owner, number) for number in numbers])
        if connection.total_changes() > before:
            connection.execute(_REMOVED, (owner,))


def clear(connection: apsw.Connection) -> None:
    """Drop all vectors, to rebuild them."""
    connection.execute("DELETE FROM memory_vectors; UPDATE memory_embedders SET removals = removals + 1")


class VectorTable:
    """The stored vectors of one embedder."""

    def __init__(self, connection: apsw.Connection, embedder: str, dimension: int) -> None:
        self.connection = connection
        self.embedder = embedder
        self.dimension = dimension

    @property
    def state(self) -> VectorState:
        """The present state of the vectors.

        Raises DimensionError: an embedder of the same name has made vectors of another length.
        """
        found: list[Any] = self.connection.execute(_STATE, (key(self.embedder),)).fetchall()
        state = VectorState(*found[0]) if found else VectorState(dimension=self.dimension)
        if state.dimension != self.dimension:
            raise DimensionError(
                f"embedder {self.embedder!r:.80}: its vectors have length {self.dimension}, those that are kept "
                f"{state.dimension}; give the embedder another id"
            )
        return state

    @property
    def seq(self) -> int:
        """The newest operation with a memory that has a vector."""
        return int(self._rows(_SEQ, self.state.key)[0][0])

    def save(self, state: VectorState) -> None:
        """Store the state of the derived index."""
        values = (state.indexed_until, state.indexed_removals, state.indexed_rows, state.generation, state.key)
        self.connection.execute(_SAVE, values)

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Store vectors, scaled to length 1; of several rows, the first is the text's, and the others its passages'."""
        owner = self.state.key or self._owner()
        for number, vector in vectors:
            self.connection.execute(_ADD, (owner, number, self.stored(vector)))

    def newer(self, entry: int, state: VectorState) -> Batch:
        """Read the vectors of all rows after row `entry`."""
        import numpy as np

        rows = self._rows(_NEWER, self._bytes, entry, state.key)
        entries, numbers, seqs, tiers, scopes, sources, types, blobs = zip(*rows, strict=True) if rows else [()] * 8
        vectors = np.frombuffer(b"".join(blobs), "<f4").reshape(len(rows), self.dimension)
        return Batch(entries, numbers, seqs, tiers, scopes, sources, types, vectors)

    def count_newer(self, entry: int, state: VectorState, most: int) -> int:
        """Count the vectors after row `entry`, at most `most`."""
        return int(self._rows(_COUNT_NEWER, entry, state.key, most)[0][0])

    def numbers(self, state: VectorState) -> list[int]:
        """Return the numbers of all memories with a vector."""
        return [number for (number,) in self._rows(_NUMBERS, state.key)]

    def numbers_in(self, only: Filter, most: int) -> list[int]:
        """Return the numbers of the memories in a filter that has a condition, the newest first, at most `most`."""
        condition, bindings = in_sqlite(only, "l")
        return [number for (number,) in self._rows(_OF_FILTER.format(condition), *bindings, most)]

    def missing(self, after: int, limit: int) -> list[int]:
        """Return the numbers above `after` of memories that have no vector, ascending."""
        return [number for (number,) in self._rows(_MISSING, after, self.state.key, limit)]

    def scores(self, query: Any, numbers: Collection[int], k: int, state: VectorState) -> Scored:
        """Return the best of some memories by cosine; memories without a vector are skipped."""
        import numpy as np

        rows = self._rows(_SOME, self._bytes, state.key, json.dumps(sorted(numbers)))
        vectors = np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(len(rows), self.dimension)
        return best([number for number, _ in rows], cosines(vectors, query).tolist(), k)

    def passages(self, query: Any, numbers: Collection[int]) -> dict[int, tuple[int, float]]:
        """Return for long texts the number of the passage that is nearest to a vector, and its cosine.

        A memory without vectors of passages is skipped: its text is short, or was embedded whole.
        """
        import numpy as np

        rows = self._rows(_PASSAGES, self._bytes, self.state.key, json.dumps(sorted(numbers)))
        if not rows:
            return {}
        counts = [len(blob) // self.dimension for _, blob in rows]
        joined = b"".join(blob[: count * self.dimension] for (_, blob), count in zip(rows, counts, strict=True))
        vectors = np.frombuffer(joined, np.int8).reshape(-1, self.dimension).astype(np.float32)
        lengths = np.sqrt((vectors * vectors).sum(axis=1))
        scores = cosines(vectors, self.unit(query)) / np.where(lengths > 0.0, lengths, 1.0)
        found, start = {}, 0
        for (number, _), count in zip(rows, counts, strict=True):
            nearest = int(scores[start : start + count].argmax())
            found[number] = (nearest, float(scores[start + nearest]))
            start += count
        return found

    def unit(self, vector: Any) -> "NDArray[Any]":
        """Scale a vector to length 1; values that are not finite count as zero.

        Raises DimensionError: it has another length than the index.
        """
        import numpy as np

        given = np.asarray(vector, np.float32)
        if given.shape != (self.dimension,):
            raise DimensionError(
                f"embedder {self.embedder!r:.80}: a vector of shape {given.shape}, its index has length {self.dimension}"
            )
        finite = np.nan_to_num(given.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        length = float(np.sqrt(np.sum(finite * finite)))
        is_unit = abs(length - 1.0) <= _ROUNDING  # scaled before, as in a home that was moved: it stays as it is
        return (finite if is_unit or not length else finite / length).astype(np.float32)

    @property
    def _bytes(self) -> int:
        """The bytes of the vector of a whole text; those of its passages follow."""
        return 4 * self.dimension

    def stored(self, vector: Any) -> bytes:
        """Return the bytes of a vector; a passage's numbers take a byte each, as only the best of a few is looked for."""
        import numpy as np

        rows = np.asarray(vector, np.float32)
        whole, *passages = rows if rows.ndim == 2 and len(rows) else [rows]
        units = [self.unit(one) for one in passages]
        small = [
            np.rint(one * (_MOST_OF_A_BYTE / max(float(np.abs(one).max()), _LEAST))).astype(np.int8) for one in units
        ]
        return bytes(self.unit(whole).astype("<f4").tobytes() + b"".join(one.tobytes() for one in small))

    def _owner(self) -> int:
        add = "INSERT INTO memory_embedders(id, dimension) VALUES(?, ?) RETURNING key"
        return int(self._rows(add, key(self.embedder), self.dimension)[0][0])

    def _rows(self, sql: str, *bindings: Any) -> list[Any]:
        return self.connection.execute(sql, bindings).fetchall()


def cosines(vectors: "NDArray[Any]", query: "NDArray[Any]") -> "NDArray[Any]":
    """Compute cosines one vector at a time: a matrix product would round differently in another batch."""
    scores: NDArray[Any] = (vectors * query).sum(axis=1)
    return scores


def best(numbers: Iterable[int], scores: Iterable[float], k: int) -> Scored:
    """Sort by score, equal scores by the newest; scores of 0 or less are dropped."""
    found = [(score, number) for number, score in zip(numbers, scores, strict=True) if score > 0.0]
    return [(number, score) for score, number in sorted(found, reverse=True)[:k]]
