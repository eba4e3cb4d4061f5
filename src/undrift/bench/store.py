"""What the store costs above plain SQLite: the same rows through it and through apsw alone, in one run.

Law: the plain side has the same durability (WAL, synchronous=FULL) and keeps the same row, once; the store also keeps
the operation, the decision, the hashes and the search index.
"""

import itertools
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import apsw

from undrift.bench.figures import Claim, Figure, Report, cpu_ms, interleaved, ratio_claim, wall_ms
from undrift.core.refs import ref_of
from undrift.stores.sqlite import SqliteStore
from undrift.types import ContextEntry, Decision, Original

__all__ = ["measure"]

ROWS = 100_000
BATCH = 1_000
SINGLE = 20  # commits a round: each of them waits for the disk
READS = 200
QUERIES = 20
SESSION = "bench"
_WORDS = 5_000
_MOST_COMMON = 3  # words of a query that stand in nearly every text
_TABLE = """CREATE TABLE plain(ref TEXT PRIMARY KEY, session_id TEXT, entry_id TEXT, type TEXT, token_count INTEGER,
    timestamp INTEGER, content BLOB)"""
_INSERT = "INSERT INTO plain VALUES(?, ?, ?, ?, ?, ?, ?)"
_SEARCH = "SELECT rowid, -rank, snippet(words, 0, '', '', '', 24) FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"


def measure(rounds: int = 5, rows: int = ROWS) -> Report:
    """Measure single and batched writes, reads and searches, each beside plain apsw.

    Args:
        rounds: Of each figure.
        rows: Originals that the store holds before.

    Source: PERFORMANCE section 4.
    """
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        texts = _texts(rows)
        with SqliteStore.open(home) as store, closing(_plain(Path(scratch, "plain.db"))) as plain:
            _fill(store, plain, texts)
            pair = _Pair(store, plain, rows)
            _writes(report, pair, rounds)
            _reads(report, pair, rounds)
            _searches(report, pair, rounds)
    return report


class _Pair:
    """A store and a plain database with the same rows, and new ones for both."""

    def __init__(self, store: SqliteStore, plain: apsw.Connection, rows: int) -> None:
        self.store, self.plain, self.rows = store, plain, rows
        self._numbers = itertools.count(rows)
        self._random = Random(3)

    def fresh(self, count: int) -> list[Original]:
        numbers = list(itertools.islice(self._numbers, count))
        return [_original(number, text) for number, text in zip(numbers, _texts(count, seed=numbers[0]), strict=True)]

    def refs(self, count: int) -> list[str]:
        return [ref_of(SESSION, f"e{self._random.randrange(self.rows)}") for _ in range(count)]


def _writes(report: Report, pair: _Pair, rounds: int) -> None:
    """One evicted entry, then a batch of them; wall time, as the caller waits for the disk."""

    def through_store(count: int, batch: int, clock: Callable[[Callable[[], object]], float]) -> Callable[[], float]:
        def once() -> float:
            fresh = pair.fresh(count)
            parts = [fresh[start : start + batch] for start in range(0, count, batch)]
            return 1_000 * clock(lambda: _each(lambda part: _commit(pair.store, part), parts)) / count

        return once

    def plainly(
        count: int, batch: int, clock: Callable[[Callable[[], object]], float], *, indexed: bool = False
    ) -> Callable[[], float]:
        def once() -> float:
            fresh = [_row(one) for one in pair.fresh(count)]
            parts = [fresh[start : start + batch] for start in range(0, count, batch)]
            return 1_000 * clock(lambda: _each(lambda part: _insert(pair.plain, part, indexed), parts)) / count

        return once

    names = ("an evicted entry, wall", "an evicted entry, CPU", f"an entry in a batch of {BATCH:,}, CPU")
    shapes = ((SINGLE, 1, wall_ms), (SINGLE, 1, cpu_ms), (BATCH, BATCH, cpu_ms))
    measures = {f"{name}: store": through_store(*shape) for name, shape in zip(names, shapes, strict=True)}
    measures |= {f"{name}: plain insert": plainly(*shape) for name, shape in zip(names, shapes, strict=True)}
    indexed = "plain insert and full-text row"
    measures |= {f"{name}: {indexed}": plainly(*shape, indexed=True) for name, shape in zip(names, shapes, strict=True)}
    found = interleaved(rounds, measures, "us")
    _claim(report, found, names, "plain insert", (2.0, None, 2.0))
    _claim(report, found, names, indexed, (None, None, None))


def _reads(report: Report, pair: _Pair, rounds: int) -> None:
    def through_store() -> float:
        refs = pair.refs(READS)
        return 1_000 * cpu_ms(lambda: [pair.store.original(ref) for ref in refs]) / READS

    def plainly() -> float:
        refs = pair.refs(READS)
        sql = "SELECT * FROM plain WHERE ref = ?"
        return 1_000 * cpu_ms(lambda: [pair.plain.execute(sql, (ref,)).fetchall() for ref in refs]) / READS

    name = "a read by reference"
    measures = {f"{name}: store": through_store, f"{name}: plain select": plainly}
    _claim(report, interleaved(rounds, measures, "us"), (name,), "plain select", (2.0,))


def _searches(report: Report, pair: _Pair, rounds: int) -> None:
    """Three words of middling frequency; then words that stand in nearly every text, which must not cost the earth."""
    random = Random(5)
    middling = [[f"w{random.randrange(200, 800)}" for _ in range(3)] for _ in range(QUERIES)]
    common = [[f"w{random.randrange(_MOST_COMMON)}" for _ in range(3)] for _ in range(QUERIES)]

    def through_store(queries: list[list[str]]) -> Callable[[], float]:
        return lambda: cpu_ms(lambda: [pair.store.find(" ".join(words)) for words in queries]) / QUERIES

    def plainly() -> float:
        return cpu_ms(lambda: [pair.plain.execute(_SEARCH, (" OR ".join(w),)).fetchall() for w in middling]) / QUERIES

    name, dear = f"a search of three words among {pair.rows:,}", "a search of the commonest words: store"
    measures = {f"{name}: store": through_store(middling), f"{name}: plain FTS5": plainly, dear: through_store(common)}
    found = interleaved(rounds, measures, "ms")
    _claim(report, found, (name,), "plain FTS5", (2.0,))
    cheap, dearest = found[0], found[2]
    report.claims.append(ratio_claim(f"{dear}, against {name}", dearest, cheap, limit=25.0))


def _claim(
    report: Report, found: list[Figure], names: tuple[str, ...], other: str, limits: tuple[float | None, ...]
) -> None:
    by_name = {figure.name: figure for figure in found}
    report.figures += [figure for figure in found if figure not in report.figures]
    report.claims += [
        Claim(
            f"{name}: store against {other}",
            by_name[f"{name}: store"].median / by_name[f"{name}: {other}"].median,
            limit=limit,
        )
        for name, limit in zip(names, limits, strict=True)
    ]


# ----------------------------------------------------------------------------------------------------------------- the rows


def _texts(count: int, *, seed: int = 1) -> list[str]:
    """Texts of about 200 characters; word n stands in about one of n texts, the first few in nearly every one."""
    random = Random(seed)
    words = [f"w{number}" for number in range(_WORDS)]
    weights = list(itertools.accumulate(1 / (number + 1) for number in range(_WORDS)))
    return [" ".join(random.choices(words, cum_weights=weights, k=45)) for _ in range(count)]


def _original(number: int, text: str) -> Original:
    entry = ContextEntry(f"e{number}", "tool_result", text, 50, number)
    return Original(ref_of(SESSION, entry.id), SESSION, "window", entry)


def _row(of: Original) -> tuple[str | int | bytes, ...]:
    entry = of.entry
    return of.ref, SESSION, entry.id, entry.type, entry.token_count, entry.timestamp, entry.content.encode()


def _commit(store: SqliteStore, originals: list[Original]) -> None:
    decisions = [Decision(one.entry.id, "pruned", "over budget", 50, one.ref) for one in originals]
    store.commit(SESSION, "prune", at_ms=1, originals=originals, decisions=decisions)


def _each(act: Callable[[Any], object], items: list[Any]) -> None:
    for item in items:
        act(item)


def _insert(plain: apsw.Connection, rows: list[tuple[str | int | bytes, ...]], indexed: bool = False) -> None:
    plain.execute("BEGIN IMMEDIATE")
    plain.executemany(_INSERT, rows)
    if indexed:
        plain.executemany("INSERT INTO words VALUES(?)", [(bytes(row[-1]).decode(),) for row in rows])  # type: ignore[arg-type]
    plain.execute("COMMIT")


def _plain(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(_TABLE)
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")
    return connection


def _fill(store: SqliteStore, plain: apsw.Connection, texts: list[str]) -> None:
    for start in range(0, len(texts), 10_000):
        part = [_original(start + number, text) for number, text in enumerate(texts[start : start + 10_000])]
        _commit(store, part)
        _insert(plain, [_row(one) for one in part], indexed=True)
