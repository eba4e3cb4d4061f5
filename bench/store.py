"""What the store costs above plain SQLite: the same rows through it and through apsw alone, in one run.

Law: every side has the same durability (WAL, synchronous=FULL), and what it takes is ready before the clock runs. Beside
the store stand: a row kept once, in one table (what is promised is measured against it), and that and a full-text row.
"""

import hashlib
import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import apsw

from bench.figures import Figure, Report, cpu_ms, interleaved, ratio_claim, wall_ms
from undrift.core.text.refs import ref_of
from undrift.stores.base import Context
from undrift.stores.rows import Row
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original

__all__ = ["measure"]

ROWS = 100_000
BATCH = 1_000
SINGLE = 20  # commits a round: each of them waits for the disk
READS = 200
QUERIES = 20
SESSION = "bench"
_WORDS = 5_000
_MOST_COMMON = 3  # words of a query that stand in nearly every text
_FILLED_AT_ONCE = 10_000
_TABLES = """CREATE TABLE plain(ref TEXT PRIMARY KEY, session_id TEXT, entry_id TEXT, type TEXT, token_count INTEGER,
    timestamp INTEGER, content BLOB);
CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')"""
_INSERT = "INSERT INTO plain VALUES(?, ?, ?, ?, ?, ?, ?)"
_INSERT_WORDS = "INSERT INTO words VALUES(?)"
_SELECT = "SELECT * FROM plain WHERE ref = ?"
_SEARCH = "SELECT rowid, -rank, snippet(words, 0, '', '', '', 24) FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"

Clock = Callable[[Callable[[], object]], float]


class _TurnBatch(NamedTuple):
    """Entries that leave their window together, in the form that each side takes."""

    originals: list[Original]
    decisions: list[Decision]
    plain: list[Row]
    words: list[Row]


def measure(rounds: int = 5, rows: int = ROWS) -> Report:
    """Measure single and batched writes, reads and searches, each beside plain apsw.

    Args:
        rounds: Of each figure.
        rows: Originals that each side holds before.

    Source: PERFORMANCE section 4.
    """
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with (
            SqliteStore.open(folder / "home") as store,
            closing(_database(folder / "plain.db")) as plain,
        ):
            plain.execute(_TABLES)
            sides = _Sides(store, plain, rows)
            _writes(report, sides, rounds)
            _reads(report, sides, rounds)
            _searches(report, sides, rounds)
    return report


class _Sides:
    """A store and a plain database, filled with the same rows, and new ones for all."""

    def __init__(self, store: SqliteStore, plain: apsw.Connection, rows: int) -> None:
        self.store, self.plain, self.rows = store, plain, rows
        self._number = 0
        self._random = Random(3)
        for start in range(0, rows, _FILLED_AT_ONCE):
            batch = self.fresh(min(_FILLED_AT_ONCE, rows - start))
            self.commit(batch)
            self.insert_with_words(batch)

    def fresh(self, count: int) -> _TurnBatch:
        """Make entries that no side has; the numbers are those of the rows where all sides take all of them."""
        first = self._number + 1
        self._number += count
        texts = _texts(count, seed=first)
        originals = [_original(number, text) for number, text in enumerate(texts, first)]
        decisions = [Decision(one.entry.id, "pruned", "over budget", 50, one.ref) for one in originals]
        return _TurnBatch(
            originals,
            decisions,
            [_row(one) for one in originals],
            [(text,) for text in texts],
        )

    def refs(self, count: int) -> list[str]:
        return [ref_of(SESSION, f"e{self._random.randrange(self.rows) + 1}") for _ in range(count)]

    def commit(self, batch: _TurnBatch) -> None:
        self.store.commit(Context(Scope(SESSION), 1), "prune", [*batch.originals, *batch.decisions])

    def insert(self, batch: _TurnBatch) -> None:
        with _transaction(self.plain):
            self.plain.executemany(_INSERT, batch.plain)

    def insert_with_words(self, batch: _TurnBatch) -> None:
        with _transaction(self.plain):
            self.plain.executemany(_INSERT, batch.plain)
            self.plain.executemany(_INSERT_WORDS, batch.words)


def _writes(report: Report, sides: _Sides, rounds: int) -> None:
    """One evicted entry, then a batch of them; wall time as well, as the caller waits for the disk."""
    shapes: dict[str, tuple[int, int, Clock, float | None]] = {
        "an evicted entry, wall": (SINGLE, 1, wall_ms, 2.0),
        "an evicted entry, CPU": (SINGLE, 1, cpu_ms, None),
        f"an entry in a batch of {BATCH:,}, CPU": (1, BATCH, cpu_ms, 2.0),
    }
    ways = {
        "store": sides.commit,
        "plain insert": sides.insert,
        "plain insert and full-text row": sides.insert_with_words,
    }

    def once(act: Callable[[_TurnBatch], None], commits: int, size: int, clock: Clock) -> float:
        batches = [sides.fresh(size) for _ in range(commits)]

        def all_of_them() -> None:
            for batch in batches:
                act(batch)

        return 1_000 * clock(all_of_them) / (commits * size)

    for name, (commits, size, clock, limit) in shapes.items():
        measures = {f"{name}: {way}": partial(once, act, commits, size, clock) for way, act in ways.items()}
        _claim(report, name, interleaved(rounds, measures, "us"), limit)


def _reads(report: Report, sides: _Sides, rounds: int) -> None:
    def hashed(ref: str) -> None:
        (row,) = sides.plain.execute(_SELECT, (ref,)).fetchall()
        hashlib.sha256(row[-1]).digest()  # type: ignore[arg-type]

    ways: dict[str, Callable[[str], object]] = {
        "store": sides.store.original,
        "plain select": lambda ref: sides.plain.execute(_SELECT, (ref,)).fetchall(),
        "plain select, its content hashed": hashed,
    }

    def once(read: Callable[[str], object]) -> float:
        refs = sides.refs(READS)
        return 1_000 * cpu_ms(lambda: [read(ref) for ref in refs]) / READS

    name = "a read by reference"
    measures = {f"{name}: {way}": partial(once, read) for way, read in ways.items()}
    _claim(report, name, interleaved(rounds, measures, "us"), 2.0)


def _searches(report: Report, sides: _Sides, rounds: int) -> None:
    """Three words of middling frequency; then words that stand in nearly every text, which must not cost the earth."""
    random = Random(5)
    middling = [[f"w{random.randrange(200, 800)}" for _ in range(3)] for _ in range(QUERIES)]
    common = [[f"w{random.randrange(_MOST_COMMON)}" for _ in range(3)] for _ in range(QUERIES)]

    def through_store(queries: list[list[str]]) -> float:
        return cpu_ms(lambda: [sides.store.find(" ".join(words)) for words in queries]) / QUERIES

    def plainly() -> float:
        queries = [" OR ".join(words) for words in middling]
        return cpu_ms(lambda: [sides.plain.execute(_SEARCH, (query,)).fetchall() for query in queries]) / QUERIES

    name, dear = f"a search of three words among {sides.rows:,}", "a search of the commonest words: store"
    measures: dict[str, Callable[[], float]] = {
        f"{name}: store": partial(through_store, middling),
        f"{name}: plain FTS5": plainly,
        dear: partial(through_store, common),
    }
    ours, plain, dearest = interleaved(rounds, measures, "ms")
    _claim(report, name, [ours, plain], 2.0)
    report.figures.append(dearest)
    report.claims.append(ratio_claim(f"{dear}, against {name}", dearest, ours, limit=25.0))


def _claim(report: Report, name: str, found: list[Figure], limit: float | None) -> None:
    """Set the store, which comes first, against each of the others; the limit is on the first of them."""
    report.figures += found
    ours, *others = found
    for number, other in enumerate(others):
        way = other.name.removeprefix(f"{name}: ")
        report.claims.append(ratio_claim(f"{name}: store against {way}", ours, other, limit=None if number else limit))


# ----------------------------------------------------------------------------------------------------------------- the rows


def _texts(count: int, *, seed: int) -> list[str]:
    """Texts of about 200 characters; word n stands in about five of n texts, the first few in nearly every one."""
    random = Random(seed)
    words = [f"w{number}" for number in range(_WORDS)]
    weights = list(itertools.accumulate(1 / (number + 1) for number in range(_WORDS)))
    return [" ".join(random.choices(words, cum_weights=weights, k=45)) for _ in range(count)]


def _original(number: int, text: str) -> Original:
    entry = ContextEntry(f"e{number}", "tool_result", text, 50, number)
    return Original(ref_of(SESSION, entry.id), SESSION, "window", entry)


def _row(of: Original) -> Row:
    entry = of.entry
    return of.ref, SESSION, entry.id, entry.type, entry.token_count, entry.timestamp, entry.content.encode()


def _database(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    return connection


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("COMMIT")
