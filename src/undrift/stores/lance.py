"""LanceDB as a second index of the stored vectors; it can be deleted and rebuilt at any time.

Law: a write goes only to SQLite. The newest rows are compared one by one until there are enough of them for one append;
rows carry entry and seq. An index that is missing, stale or damaged is rebuilt from SQLite, and until then every vector is
compared. LanceDB's errors do not leave this module.
"""

import shutil
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

from undrift.errors import StoreError
from undrift.stores import files
from undrift.stores.exact_index import Copy
from undrift.stores.memory_filter import ALL, Filter, in_lance, plain
from undrift.stores.migrations import transaction
from undrift.stores.vectors import Batch, Scored, VectorState, VectorTable, best, remove
from undrift.values.extras import command_for

__all__ = ["LanceIndex"]

_BATCH = 256
"""Rows of one append. One row per append left 3,003 files after 1,000, and a query took 27 times as long (PERFORMANCE 5)."""
_MOST_OF_TIER = 5_000
"""Memories of some tiers of trust that are compared one by one, without LanceDB."""
_MOST_REMOVALS = 64
"""Up to this number, removed rows are only skipped."""
_MOST_FRAGMENTS = 8
_SLICE = 10_000
_KEPT_VERSIONS = timedelta(minutes=10)
"""Far longer than any search of another process, which reads a version until it is done."""
_SPARE = 16


class LanceIndex:
    """Searches vectors with LanceDB; computes the scores from the rows in SQLite.

    `folder`: the folder of the index, created with 0700 if absent. Nothing else may be in it. Raises StoreError: the
    package lancedb is not installed.
    """

    def __init__(self, table: VectorTable, folder: Path) -> None:
        try:
            import lancedb
        except ImportError as error:
            raise StoreError(f"this index needs the package lancedb ({error}): {command_for('lancedb')}") from error
        self._lancedb: Any = lancedb
        self._table = table
        self._folder = folder
        self._opened: tuple[str, Any] | None = None

    @property
    def seq(self) -> int:
        """The newest operation with a memory that the search finds."""
        return self._table.seq

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Store vectors; a later search adds them to LanceDB, many at a time."""
        self._table.add(vectors)

    def remove(self, numbers: Collection[int]) -> None:
        """Remove memories; LanceDB removes them later, or at once with `scour`."""
        remove(self._table.connection, numbers)

    def search(self, query: Any, k: int, only: Filter = ALL) -> Scored:
        """Return the k nearest memories, exactly: LanceDB compares every row too.

        With `only.least_tier` or `only.is_active` the result may hold others, if more than 5,000 memories fulfil these conditions.
        """
        state, unit = self._table.state, self._table.unit(query)
        if not state.key or k <= 0:
            return []
        if only.least_tier or only.is_active:  # LanceDB's rows do not have these
            numbers = self._table.numbers_in(only, _MOST_OF_TIER + 1)
            if len(numbers) <= _MOST_OF_TIER:
                return self._table.scores(unit, numbers, k, state)
        for remedy in (self._forget, self._rebuilt):
            try:
                state = self._settled(state)
                return self._nearest(state, unit, k, only)
            except apsw.Error:
                raise
            except Exception:  # noqa: BLE001 - for any error of LanceDB, the answer is in SQLite
                state = _tried(remedy, state)
        with suppress(Exception):
            return self._nearest(state, unit, k, only)
        return self._by_hand(replace(state, indexed_until=0), unit, k, only)

    def rebuild(self) -> None:
        """Rebuild the index from the stored vectors. Do not call it inside a transaction."""
        self._rebuilt(self._table.state)

    def scour(self) -> None:
        """Delete the remains of removed memories from LanceDB's files. Do not call it inside a transaction.

        A search by another process at this moment may have to begin again; it does so by itself.
        """
        self.rebuild()

    # ------------------------------------------------------------------------------------------------------ the tail

    def _settled(self, state: VectorState) -> VectorState:
        """Append the newest rows to LanceDB if they are many enough and no other process holds the lock."""
        if not self._is_behind(state) or self._table.connection.in_transaction:
            return state
        with suppress(apsw.BusyError), transaction(self._table.connection):
            state = self._table.state  # another process may have been first
            if self._is_behind(state):
                state = self._hand_over(state)
        return state

    def _is_behind(self, state: VectorState) -> bool:
        if state.removals - state.indexed_removals >= _MOST_REMOVALS:
            return True
        return self._table.count_newer(state.indexed_until, state, _BATCH) >= _BATCH

    def _hand_over(self, state: VectorState) -> VectorState:
        lance = self._lance(state)
        if lance is None:
            return self._written(state)
        leftover = f"entry > {state.indexed_until}"  # from an append whose transaction was rolled back
        if lance.count_rows(leftover):
            lance.delete(leftover)
        if state.removals != state.indexed_removals:
            _delete(lance, set(_numbers(lance)) - set(self._table.numbers(state)))
        batch = self._table.newer(state.indexed_until, state)
        _append(lance, batch)
        if lance.stats().fragment_stats.num_fragments > _MOST_FRAGMENTS:
            lance.optimize(cleanup_older_than=_KEPT_VERSIONS)
        return self._save(state, lance, batch)

    def _save(self, state: VectorState, lance: Any, batch: Batch) -> VectorState:
        until = batch.entries[-1] if len(batch.entries) else state.indexed_until
        state = replace(state, indexed_until=until, indexed_removals=state.removals, indexed_rows=lance.count_rows())
        self._table.save(state)
        return state

    # ----------------------------------------------------------------------------------------------------- searching

    def _nearest(self, state: VectorState, unit: Any, k: int, only: Filter) -> Scored:
        """Merge LanceDB's best rows, with exact scores, and the best of the rows that LanceDB does not have yet."""
        found: Scored = []
        lance = self._lance(state) if state.indexed_until else None
        if state.indexed_until and lance is None:
            raise LookupError("the index is missing, or it is of another time than the database")
        wanted = k + _SPARE
        while lance is not None:
            numbers = _search(lance, unit, wanted, state, only)
            found = self._table.scores(unit, numbers, k, state)
            if len(found) >= k or len(numbers) < wanted:
                break
            wanted *= 4  # too many of them were removed
        return best_of(found, self._by_hand(state, unit, k, only), k)

    def _by_hand(self, state: VectorState, unit: Any, k: int, only: Filter) -> Scored:
        batch = self._table.newer(state.indexed_until, state)
        if not len(batch.numbers):
            return []
        copy = Copy(self._table.dimension)
        copy.append(batch)
        return copy.best(unit, k, only)

    # --------------------------------------------------------------------------------------------- opening, repairing

    def _lance(self, state: VectorState) -> Any:
        """Open the index for the database's state. None means: the index is absent or incomplete."""
        name = _name(state)
        if self._opened is None or self._opened[0] != name:
            if not (self._folder / f"{name}.lance").is_dir():
                return None
            lance = self._connected().open_table(name)
            if lance.count_rows(f"entry <= {state.indexed_until}") != state.indexed_rows:
                return None
            self._opened = (name, lance)
        return self._opened[1]

    def _connected(self) -> Any:
        files.make_folder(self._folder)
        return self._lancedb.connect(str(self._folder), read_consistency_interval=timedelta(0))

    def _forget(self, state: VectorState) -> VectorState:
        """Open the index again, because another process may have deleted this version of it."""
        self._opened = None
        del state
        return self._table.state

    def _rebuilt(self, state: VectorState) -> VectorState:
        """Rebuild the index, unless another process has rebuilt it in the meantime."""
        self._opened = None
        if self._table.connection.in_transaction:
            return state
        with transaction(self._table.connection):
            now = self._table.state
            state = self._written(now) if now.generation == state.generation else now
        for folder in self._folder.glob(f"of_{state.key}_*.lance"):
            if folder.name != f"{_name(state)}.lance":
                shutil.rmtree(folder, ignore_errors=True)
        return state

    def _written(self, state: VectorState) -> VectorState:
        """Write all rows into an index with a new name; processes that read the old index keep it."""
        state = replace(state, generation=state.generation + 1, indexed_until=0)
        name = _name(state)
        shutil.rmtree(self._folder / f"{name}.lance", ignore_errors=True)  # from a transaction that was rolled back
        lance = self._connected().create_table(name, schema=_schema(self._table.dimension))
        batch = self._table.newer(0, state)
        _append(lance, batch)
        state = self._save(state, lance, batch)
        self._opened = (name, lance)
        return state


def _tried(remedy: Callable[[VectorState], VectorState], state: VectorState) -> VectorState:
    """Try to repair the index; if that fails, return the state unchanged."""
    try:
        return remedy(state)
    except apsw.BusyError:
        return state
    except apsw.Error:
        raise
    except Exception:  # noqa: BLE001 - see above
        return state


def best_of(first: Scored, second: Scored, k: int) -> Scored:
    """Merge two rankings of different memories into the best `k`."""
    numbers, scores = [number for number, _ in first + second], [score for _, score in first + second]
    return best(numbers, scores, k)


def _name(state: VectorState) -> str:
    return f"of_{state.key}_{state.generation}"


def _schema(dimension: int) -> Any:
    import pyarrow as pa

    whole = [(name, pa.int64()) for name in ("entry", "number", "seq")]
    texts = [(name, pa.string()) for name in ("scope", "source", "type")]
    return pa.schema([*whole, *texts, ("vector", pa.list_(pa.float32(), dimension))])


def _append(lance: Any, batch: Batch) -> None:
    """Append rows, one append for each slice of them."""
    import pyarrow as pa

    for start in range(0, len(batch.numbers), _SLICE):
        part = slice(start, start + _SLICE)
        flat = pa.array(batch.vectors[part].reshape(-1))
        columns = [pa.array(column[part], pa.int64()) for column in (batch.entries, batch.numbers, batch.seqs)]
        columns += [
            pa.array([plain(text.decode("utf-8", "surrogatepass")) for text in column[part]], pa.string())
            for column in (batch.scopes, batch.sources, batch.types)
        ]
        columns.append(pa.FixedSizeListArray.from_arrays(flat, batch.vectors.shape[1]))
        lance.add(pa.Table.from_arrays(columns, schema=lance.schema))


def _search(lance: Any, unit: Any, wanted: int, state: VectorState, only: Filter) -> list[int]:
    """Return the numbers of the nearest rows; the dot product of unit vectors is their cosine."""
    condition = " AND ".join(filter(None, (f"entry <= {state.indexed_until}", in_lance(only))))
    query = lance.search(unit).distance_type("dot").where(condition, prefilter=True)
    found: list[int] = query.select(["number", "_distance"]).limit(wanted).to_arrow()["number"].to_pylist()
    return found


def _numbers(lance: Any) -> list[int]:
    found: list[int] = lance.search().select(["number"]).limit(lance.count_rows()).to_arrow()["number"].to_pylist()
    return found


def _delete(lance: Any, numbers: Collection[int]) -> None:
    listed = sorted(numbers)
    for start in range(0, len(listed), _SLICE):
        lance.delete(f"number IN ({', '.join(map(str, listed[start : start + _SLICE]))})")
