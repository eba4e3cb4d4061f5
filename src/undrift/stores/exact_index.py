"""The exact search over the vectors of memories: it compares all vectors, from a copy in memory. It is the default.

Law: numpy is loaded on first use; the copy follows the table, and is read again if a transaction may have rolled back.
"""

from collections.abc import Collection, Iterable
from typing import Any

from undrift.stores import memory_moves
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.rows import raw
from undrift.stores.vectors import Batch, Scored, VectorState, VectorTable, best, cosines, remove

__all__ = ["Copy", "ExactIndex"]

_LARGE = 20_000
"""Vectors; from here on their signs choose what is compared: 3.2 MB are read for 100,000 of them, not 102."""
_CHOSEN = 2_000
"""By their signs, at least; then 10 times as many as are wanted. docs/memory-retrieval.md has the recall."""


class ExactIndex:
    """Compares a query with every vector, from a copy in memory: 107 MB for 100,000 vectors of length 256."""

    def __init__(self, table: VectorTable) -> None:
        self._table = table
        self._copy: Copy | None = None
        self._may_roll_back = False

    @property
    def seq(self) -> int:
        """The newest operation with a memory that the search finds."""
        return self._table.seq

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Store vectors of memories."""
        self._table.add(vectors)

    def remove(self, numbers: Collection[int]) -> None:
        """Remove the vectors of memories."""
        remove(self._table.connection, numbers)

    def rebuild(self) -> None:
        """Forget the copy, so that the next search reads all vectors again."""
        self._copy = None

    def scour(self) -> None:
        """Delete the copy in memory, which may still contain removed memories."""
        self._copy = None

    def search(self, query: Any, k: int, only: Filter = ALL) -> Scored:
        """Return the k nearest memories."""
        state, unit = self._table.state, self._table.unit(query)
        return self._followed(state).best(unit, k, only) if k > 0 else []

    def _followed(self, state: VectorState) -> "Copy":
        """Update the copy from the table. Rows from an open transaction are read again, because it may be rolled back."""
        copy = self._copy
        if copy is None or self._may_roll_back or (copy.removals != state.removals and not self._forget(copy, state)):
            copy = self._copy = Copy(self._table.dimension)
        self._may_roll_back = self._table.connection.in_transaction
        copy.removals = state.removals
        moves = memory_moves.moves(self._table.connection)
        if copy.moves != moves:
            copy.moves = moves
            copy.hide(memory_moves.inactive(self._table.connection))
        if self._table.count_newer(copy.until, state, 1):
            copy.append(self._table.newer(copy.until, state))
        return copy

    def _forget(self, copy: "Copy", state: VectorState) -> bool:
        """Skip the removed rows; return False if there are so many that reading all again is better."""
        copy.keep(self._table.numbers(state))
        return 2 * copy.living > copy.size


class Copy:
    """All vectors in memory, in arrays that double when they are full."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self._np: Any = np
        self.size = self.living = self.until = self.removals = 0
        self.moves = -1
        self._hidden: Any = np.zeros(0, np.int64)
        self._columns: dict[str, Any] = {
            "vectors": np.zeros((0, dimension), np.float32),
            "signs": np.zeros((0, -(-dimension // 64)), np.uint64),
            "numbers": np.zeros(0, np.int64),
            "seqs": np.zeros(0, np.int64),
            "tiers": np.zeros(0, np.int8),
            "alive": np.zeros(0, np.bool_),
            "active": np.zeros(0, np.bool_),
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
        """Add the rows after `until`."""
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
            "tiers": batch.tiers, "alive": True,
            "active": ~np.isin(np.asarray(batch.numbers, np.int64), self._hidden),
        }  # fmt: skip
        for name, value in values.items():
            self._columns[name][start:end] = value
        self.size, self.until = end, batch.entries[-1]
        self.living += len(batch.numbers)

    def keep(self, numbers: Collection[int]) -> None:
        """Limit all later searches to the memories with these numbers."""
        alive = self._np.isin(self.numbers, self._np.fromiter(numbers, self._np.int64, len(numbers)))
        self._columns["alive"][: self.size] = alive
        self.living = int(alive.sum())

    def hide(self, numbers: Collection[int]) -> None:
        """Mark the memories with these numbers as inactive, and no others."""
        self._hidden = self._np.fromiter(numbers, self._np.int64, len(numbers))
        self._columns["active"][: self.size] = ~self._np.isin(self.numbers, self._hidden)

    def best(self, query: Any, k: int, only: Filter) -> Scored:
        """Return the k nearest to a vector of length 1."""
        rows = self._near(query, k, only)
        return best(self.numbers[rows].tolist(), cosines(self.vectors[rows], query).tolist(), k)

    def _near(self, query: Any, k: int, only: Filter) -> Any:
        """Return rows that contain the k nearest: always in a small index, nearly always beyond `_LARGE` rows."""
        np, spare = self._np, 16  # rows with equal scores at the edge are sorted later, not by chance
        everyone = only == ALL and self.living == self.size
        rows = None if everyone else np.flatnonzero(self._mask(only))
        count = self.size if rows is None else len(rows)
        chosen = max(_CHOSEN, 10 * k)
        if count > max(_LARGE, chosen):
            signs = self._columns["signs"][: self.size] if rows is None else self._columns["signs"][rows]
            nearest = self._most_alike(signs, self._signs(query[None]), chosen)
            rows, count = nearest if rows is None else rows[nearest], len(nearest)
        # One product for each row: a product of matrices uses every processor, and took twice the time on a busy machine.
        scores = np.vecdot(self.vectors if rows is None else self.vectors[rows], query)
        if count <= k + spare:
            return np.arange(count) if rows is None else rows
        nearest = np.argpartition(-scores, k + spare)[: k + spare]
        return nearest if rows is None else rows[nearest]

    def _most_alike(self, signs: Any, query: Any, chosen: int) -> Any:
        """Return the rows with the fewest signs that differ: `chosen`, and those as near as the last of them."""
        np = self._np
        differing = np.zeros(len(signs), np.uint16)
        for column in range(signs.shape[1]):  # not all at once: 100,000 rows of four numbers do not fit into a cache
            differing += np.bitwise_count(signs[:, column] ^ query[0, column])
        counts = np.cumsum(np.bincount(differing))
        return np.flatnonzero(differing <= np.searchsorted(counts, chosen))

    def _mask(self, only: Filter) -> Any:
        mask = self._columns["alive"][: self.size]
        if only.is_active:
            mask = mask & self._columns["active"][: self.size]
        for column, texts in only.parts:
            codes = [self._codes[column][raw(text)] for text in texts if raw(text) in self._codes[column]]
            mask = mask & self._np.isin(self._columns[column][: self.size], codes)
        if only.until_seq is not None:
            mask = mask & (self._columns["seqs"][: self.size] <= only.until_seq)
        if only.least_tier:
            mask = mask & (self._columns["tiers"][: self.size] >= only.least_tier)
        return mask

    def _code(self, column: str, text: bytes) -> int:
        codes = self._codes[column]
        return codes.setdefault(text, len(codes))

    def _signs(self, vectors: Any) -> Any:
        """Pack the signs of vectors into 64-bit words."""
        np = self._np
        packed = np.packbits(vectors > 0.0, axis=1)
        padded = np.zeros((len(packed), 8 * (-(-packed.shape[1] // 8))), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)
