"""A search inside a project behind the server's index of vectors: ``python -m bench.server_vectors [--json PATH] [--short]``.

A project of 200 memories stands among 20,000 of other projects: a filter of 1%. The same queries are answered by comparing
all, by an HNSW index as it is set by default, and by the index as undrift asks it: it continues until the filter has let
enough through, and what it found is sorted again. All rows are read as the engine reads them, behind its policies.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg

from bench.figures import Claim, Figure, Report
from tests.postgres_server import PostgresServer
from undrift.stores.postgres.nearest import SEARCH, SETTINGS, create
from undrift.stores.postgres.opening import PostgresEngine
from undrift.values.scope import Scope

__all__ = ["measure"]

DIMENSION = 256
LEAST_RECALL = 0.95
_K = 10
_TOPICS = 400
_PUT_LINES = """INSERT INTO memory_lines(project, name, organisation, person, is_shared, line)
    SELECT %s, convert_to('m' || n, 'utf8'), %s, %s, false, '' FROM generate_series(%s::int, %s::int) n"""
_PUT = """COPY memory_vectors_hnsw(project, name, organisation, person, is_shared, embedder, dimension, embedding) FROM STDIN"""
_DEFAULTS = "SELECT set_config('hnsw.iterative_scan', 'off', true), set_config('hnsw.ef_search', '40', true)"
_NO_OTHER_WAY = "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)"
_ONLY_EXACT = "SELECT set_config('enable_indexscan', 'off', true)"


def vectors(count: int, seed: int) -> Any:
    """Return vectors of length 1 around common topics, as those of texts are."""
    topics = np.random.default_rng(0).standard_normal((_TOPICS, DIMENSION))
    random = np.random.default_rng(seed)
    found = topics[random.integers(0, _TOPICS, count)] + 0.8 * random.standard_normal((count, DIMENSION))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def measure(*, others: int = 20_000, own: int = 200, queries: int = 100) -> Report:
    """Measure recall and time of the three ways, and the time of each by the size of a project that is searched whole."""
    report = Report()
    with PostgresServer.start() as server:
        url = f"{server.url()}&undrift_schema=bench"
        with (
            PostgresEngine.open(url, Scope(project="own")) as store,
            PostgresEngine.open(url, Scope(project="other")) as other,
        ):
            create(store._home, DIMENSION)
            mine, theirs = vectors(own, 1), vectors(others, 2)
            with _owner(server) as connection:
                connection.execute("DROP INDEX memory_vectors_hnsw_256")
                _fill(connection, store._home, mine, 0)
                _fill(connection, other._home, theirs, own)
            create(store._home, DIMENSION)
            with _owner(server) as connection:
                connection.execute("ANALYZE memory_vectors_hnsw")
            asked = vectors(queries, 3)
            _ways(report, store, asked, mine, f"{own} of {own + others:,}", 0)
            _ways(report, other, asked, theirs, f"{others:,} of {own + others:,}", own)
    return report


def _ways(report: Report, store: Any, asked: Any, stored: Any, name: str, first: int) -> None:
    right = [set((first + np.argsort(-(stored @ one))[:_K]).tolist()) for one in asked]
    ways: dict[str, Sequence[str]] = {
        "all compared": (_ONLY_EXACT,),
        "HNSW as it is by default": (_NO_OTHER_WAY, _DEFAULTS),
        "HNSW, relaxed order and sorted": (_NO_OTHER_WAY, SETTINGS),
        "as the planner chooses": (SETTINGS,),
    }
    for way, settings in ways.items():
        ask = _asker(store, settings)
        ask(asked[0])
        spent, shares = [], []
        for one, wanted in zip(asked, right, strict=True):
            began = time.perf_counter()
            found = ask(one)
            spent.append(1_000 * (time.perf_counter() - began))
            shares.append(len(wanted & set(found[:_K])) / len(wanted))
        report.figures.append(Figure(f"{name}: {way}, wall", "ms", (median(spent),)))
        least = LEAST_RECALL if way in ("HNSW, relaxed order and sorted", "as the planner chooses") else None
        report.claims.append(Claim(f"{name}: {way}, recall of {_K}", float(np.mean(shares)), "of 1", least=least))
        report.figures.append(
            Figure(
                f"{name}: {way}, plan uses the index",
                "",
                (float("memory_vectors_hnsw_256" in _plan(store, settings, asked[0])),),
            )
        )


def _asker(store: Any, settings: Sequence[str]) -> Callable[[Any], list[int]]:
    home = store._home

    def ask(query: Any) -> list[int]:
        found = home.server.read(home.caller, *((one, ()) for one in settings), (_search(), _values(home, query)))[-1]
        return [int(bytes(name)[1:]) for (name,) in found]

    return ask


def _plan(store: Any, settings: Sequence[str], query: Any) -> str:
    home = store._home
    found = home.server.read(
        home.caller, *((one, ()) for one in settings), ("EXPLAIN " + _search(), _values(home, query))
    )[-1]
    return "\n".join(str(line) for (line,) in found)


def _search() -> str:
    return SEARCH.replace("{dimension}", str(DIMENSION))


def _values(home: Any, query: Any) -> dict[str, Any]:
    return {"query": _text(query), "project": home.project, "embedder": "e", "most": _K}


def _fill(connection: psycopg.Connection[Any], home: Any, given: Any, first: int) -> None:
    who = (home.project, *home.caller)
    connection.execute(_PUT_LINES, (*who, first, first + len(given) - 1))
    with connection.cursor().copy(_PUT) as copy:
        for number, one in enumerate(given, first):
            name = b"m%d" % number
            copy.write_row((home.project, name, *home.caller, False, "e", DIMENSION, _text(one)))


def _text(vector: Any) -> str:
    return "[" + ",".join(f"{number:.9g}" for number in vector.tolist()) + "]"


@contextmanager
def _owner(server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("SET search_path TO bench, public")
        yield connection


def main(arguments: list[str]) -> int:
    """Measure, print, and write the report as JSON if a path is given; 1 if the recall is too low."""
    parser = argparse.ArgumentParser(prog="python -m bench.server_vectors", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="PATH")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--others", type=int, default=20_000)
    chosen = parser.parse_args(arguments)
    report = measure(others=2_000 if chosen.short else chosen.others, own=20 if chosen.short else chosen.others // 100)
    if chosen.json:
        chosen.json.write_text(report.as_json(), encoding="utf-8")
    print(report.as_markdown())
    return int(any(one.verdict == "MISSED" for one in report.claims))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
