"""Vectors for the tests of their indexes, and what the right answer is; numpy is needed once one of these is called."""

from typing import Any

import apsw
import pytest

from undrift.stores import memory_search
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine
from undrift.stores.migrations import transaction
from undrift.stores.vectors import VectorIndex

__all__ = ["DIMENSION", "connection_of", "drop", "found", "made", "numpy", "put", "truth"]

DIMENSION = 64


def numpy() -> Any:
    return pytest.importorskip("numpy", reason="needs the extra `vectors`")


def made(count: int, seed: int = 1) -> Any:
    return numpy().random.default_rng(seed).standard_normal((count, DIMENSION)).astype(numpy().float32)


def connection_of(index: Any) -> apsw.Connection:
    return index._table.connection


def put(index: VectorIndex, given: Any, *, first: int = 0, **fields: Any) -> list[int]:
    """Add memories with these vectors; the n-th is recorded by operation n."""
    with transaction(connection_of(index)):
        lines = [MemoryLine(f"m{first + n}", "text", seq=first + n, **fields) for n in range(len(given))]
        numbers = list(memory_search.add(connection_of(index), lines).values())
        index.add(zip(numbers, given, strict=True))
    return numbers


def drop(index: VectorIndex, numbers: list[int]) -> None:
    with transaction(connection_of(index)):
        memory_search.remove(connection_of(index), numbers)
        index.remove(numbers)


def truth(given: Any, numbers: list[int], query: Any, k: int) -> list[int]:
    """Compute the nearest with 64 bits, one by one."""

    def cosine(vector: Any) -> float:
        a, b = vector.astype(numpy().float64), query.astype(numpy().float64)
        return float(a @ b / numpy().sqrt((a @ a) * (b @ b)))

    scored = [(cosine(vector), number) for vector, number in zip(given, numbers, strict=True)]
    return [number for score, number in sorted(scored, reverse=True)[:k] if score > 0]


def found(index: VectorIndex, query: Any, k: int = 10, only: Filter = ALL) -> list[int]:
    return [number for number, _ in index.search(query, k, only)]
