"""What facts cost: to read them out of a result, to find them again among many, and to keep those of 20 tasks."""

import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random

from bench.figures import Claim, Figure, Report, cpu_ms, interleaved
from undrift import (
    FactQuery,
    ImplementerResult,
    InMemorySessionFactStore,
    KeywordFactRetriever,
    RanTest,
    ReviewerResult,
    ReviewIssue,
    RuleBasedFactExtractor,
    SessionFact,
    Settings,
    SqliteSessionFactStore,
    create_fact_id,
)
from undrift.core.facts.retrieve import retrieve, wanted

__all__ = ["measure"]

SIZES = (1_000, 100_000)
EXTRACTION_MS, RETRIEVAL_MS = 5.0, {1_000: 10.0, 100_000: 25.0}
TASKS, MOST_BYTES = 20, 1_000_000
QUERY_WORDS = 60

_PROSE = (
    "task file src login token session parser cache error test config schema store index retry budget window client server "
    "request response header format naming convention pattern style module export import type value field record table row "
    "column migration upgrade release build lint check review fix change add remove rename move split merge read write open "
    "close start stop load save encode decode hash sign verify mask log trace count limit size time clock zone date user "
    "group role right rule path folder link name text line word letter number list map set queue stack tree graph node edge"
)
_WORDS = _PROSE.split()
_FREQUENCIES = [1 / (n + 1) for n in range(len(_WORDS))]
"""As in prose, a few words stand nearly everywhere."""


def measure(rounds: int = 9) -> Report:
    """Measure one call of each, on new data each time."""
    report = Report()
    extraction = {"extract an implementer's and a reviewer's result": _extraction()}
    report.figures += interleaved(rounds, extraction, "ms")
    report.claims.append(Claim("extraction of two results", report.figures[0].median, "ms", limit=EXTRACTION_MS))
    for size in SIZES:
        store = _filled(size)
        names = {
            f"retrieve among {size:,} facts": _retrieval(store),
            f"retrieve among {size:,} facts, one new since": _retrieval(store, adds=True),
            f"add a batch of 10 to {size:,} facts": _addition(store),
        }
        found = interleaved(rounds, names, "ms")
        report.figures += found
        for figure in found[:2]:
            report.claims.append(Claim(figure.name, figure.median, "ms", limit=RETRIEVAL_MS[size]))
    report.figures += interleaved(3, {f"the plain form among {SIZES[0]:,} facts": _plain(_filled(SIZES[0]))}, "ms")
    for name, kept in (("in memory", _bytes_in_memory()), ("on disk", _bytes_on_disk())):
        text = f"facts of {TASKS} tasks, implemented and reviewed, {name}"
        report.figures.append(Figure(text, "kB", (kept / 1_000,)))
        report.claims.append(Claim(text, kept / 1_000, "kB", limit=MOST_BYTES / 1_000))
    return report


def _sentence(random: Random, words: int) -> str:
    return " ".join(random.choices(_WORDS, _FREQUENCIES, k=words))


def _path(random: Random) -> str:
    return "src/" + "/".join(random.choices(_WORDS, k=2)) + f"_{random.randrange(10_000)}.py"


def _implemented(random: Random, task: str) -> ImplementerResult:
    return ImplementerResult(
        task,
        "completed",
        _sentence(random, 30),
        files_changed=tuple(_path(random) for _ in range(10)),
        tests=tuple(RanTest(f"pytest tests/{_sentence(random, 1)}", n != 3) for n in range(5)),
        follow_up_actions=tuple(_sentence(random, 15) for _ in range(4)),
        conventions=(_sentence(random, 12),),
        blockers=(),
    )


def _reviewed(random: Random, task: str) -> ReviewerResult:
    issues = (ReviewIssue(_sentence(random, 15), "important", _path(random), _sentence(random, 10)) for _ in range(5))
    return ReviewerResult(task, "needs_changes", (), tuple(issues), tuple(_sentence(random, 12) for _ in range(3)))


def _fact(random: Random, number: int) -> SessionFact:
    triple = (_path(random), ("issue", "requires", "modified_by")[number % 3], f"{number} {_sentence(random, 10)}")
    return SessionFact(create_fact_id(*triple), *triple, ("decision",), number, source_task_id=str(number // 20))


def _filled(size: int) -> InMemorySessionFactStore:
    random = Random(size)
    store = InMemorySessionFactStore(clock=lambda: 0)
    for start in range(0, size, 100):
        store.add([_fact(random, number) for number in range(start, start + 100)])
    if store.count() < 0.99 * size:
        raise AssertionError(f"{store.count()} facts are valid, not about {size}")
    return store


def _query(random: Random) -> FactQuery:
    return FactQuery(_sentence(random, QUERY_WORDS) + " " + _path(random), "none")


def _extraction() -> Callable[[], float]:
    random, extractor = Random(1), RuleBasedFactExtractor()

    def measure_once() -> float:
        implemented, reviewed = _implemented(random, "1"), _reviewed(random, "1")
        return cpu_ms(
            lambda: (
                extractor.extract_from_implementer(implemented, "1"),
                extractor.extract_from_reviewer(reviewed, "1"),
            )
        )

    measure_once()
    return measure_once


def _retrieval(store: InMemorySessionFactStore, *, adds: bool = False) -> Callable[[], float]:
    random, retriever = Random(2), KeywordFactRetriever(store)
    numbers = iter(range(10**6, 10**9))

    def measure_once() -> float:
        if adds:
            store.add([_fact(random, next(numbers))])
        query = _query(random)
        return cpu_ms(lambda: retriever.retrieve(query))

    measure_once()  # the first one makes the index
    return measure_once


def _addition(store: InMemorySessionFactStore) -> Callable[[], float]:
    random, numbers = Random(3), iter(range(2 * 10**6, 10**9))

    def measure_once() -> float:
        batch = [_fact(random, next(numbers)) for _ in range(10)]
        return cpu_ms(lambda: store.add(batch))

    return measure_once


def _plain(store: InMemorySessionFactStore) -> Callable[[], float]:
    random = Random(4)

    def measure_once() -> float:
        want = wanted(_query(random))
        return cpu_ms(lambda: retrieve(store.get_valid(), want))

    return measure_once


def _tasks(store: InMemorySessionFactStore | SqliteSessionFactStore) -> None:
    random, extractor = Random(5), RuleBasedFactExtractor()
    for number in range(TASKS):
        task = str(number)
        store.add(extractor.extract_from_implementer(_implemented(random, task), task))
        store.add(extractor.extract_from_reviewer(_reviewed(random, task), task))
        KeywordFactRetriever(store).retrieve(_query(random))


def _bytes_in_memory() -> int:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    store = InMemorySessionFactStore()
    _tasks(store)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    if not store.count():
        raise AssertionError("no fact was kept")
    return kept


def _bytes_on_disk() -> int:
    with tempfile.TemporaryDirectory() as folder:
        empty, filled = (Path(folder) / name for name in ("empty", "filled"))
        SqliteSessionFactStore(empty, settings=Settings()).close()
        with SqliteSessionFactStore(filled, settings=Settings()) as store:
            _tasks(store)
        return (filled / "undrift.db").stat().st_size - (empty / "undrift.db").stat().st_size
