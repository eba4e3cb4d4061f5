"""Costs of memory as it grows, beside bare means on the same data: ``python -m bench.memory_scale [--homes FOLDER]``.

Law: every claim is a ratio of CPU times of one run, but for the first search after a rewind, which has a promise in milliseconds.
The memories are made up: short ones of 12 words, long ones of 250.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from bench.figures import Claim, Figure, Report, cpu_ms, interleaved, ratio_claim
from undrift import Session, Settings
from undrift.core.memory.retrieve import parse
from undrift.memory.parts import embedder_of
from undrift.memory.repository import MemoryRepository
from undrift.stores.embed import Embedder
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.opening import open_store
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

__all__ = ["main", "measure"]

MEMORIES = 100_000
QUERIES = 40
LIMIT = 1.5
REWIND_MS = 300.0
K = 10
_LEAST = 1_000
_SHORT, _LONG = 12, 250  # words
_POOL = 50  # hits of each kind that the bare means return
_AT_ONCE = 5_000
_VOCABULARY = 20_000
_WRITES = 30
_CONFLICTS = 20
_USERS = 10  # of a hundred memories
_NEEDS = "memories found by meaning: needs the extra `vectors`"


@dataclass(frozen=True, slots=True)
class _Home:
    """A filled home, its texts, and the name of its embedder."""

    path: Path
    texts: Sequence[str]
    embedder: str


@dataclass(frozen=True, slots=True)
class _Bare:
    """The same words asked of FTS5 alone, and the same vectors compared one by one; nothing is made of the hits."""

    store: Any  # the file's own store: its connection is used as it is

    def words(self, query: str) -> object:
        words = " OR ".join(f'"{word}"' for word in parse(query).words)
        sql = "SELECT rowid, rank FROM memory_text WHERE memory_text MATCH ? ORDER BY rank LIMIT ?"
        with self.store._database.using() as connection:
            found: list[Any] = connection.execute(sql, (words, _POOL)).fetchall()
        return found

    def scanning(self, embedder: Embedder) -> Callable[[str], object]:
        """Return a scan of all vectors, which are read once."""
        import numpy as np

        with self.store._database.using() as connection:
            sql = """SELECT substr(vector, 1, ?) FROM memory_vectors
                WHERE embedder = (SELECT key FROM memory_embedders WHERE id = ?) ORDER BY entry"""
            own = (4 * embedder.dimension, embedder.id)  # passages stand behind a text's own vector
            rows: list[Any] = connection.execute(sql, own).fetchall()
        matrix = np.frombuffer(b"".join(blob for (blob,) in rows), "<f4").reshape(len(rows), embedder.dimension)

        def scan(query: str) -> object:
            scores = np.vecdot(matrix, np.asarray(embedder.embed([query])[0], np.float32))
            nearest = np.argpartition(-scores, _POOL)[:_POOL]
            return nearest[np.argsort(-scores[nearest])]

        return scan


def measure(rounds: int = 5, memories: int = MEMORIES, homes: Path | None = None) -> Report:
    """Measure searches, writes, conflicts, rewinds and purges in a small and in a large home.

    `homes`: a folder that keeps the filled homes for the next run.
    """
    report = Report()
    ways = {"words": "none", "words and vectors": "wordllama"}
    if not (find_spec("wordllama") and find_spec("numpy")):
        report.skipped.append(_NEEDS)
        del ways["words and vectors"]
    with tempfile.TemporaryDirectory() as folder:
        place = homes or Path(folder)
        for way, name in ways.items():
            small = _home(place, name, _LEAST, _SHORT)
            large = _home(place, name, memories, _SHORT)
            _searches(report, large, f"{way}, {memories:,} short memories", rounds)
            _searches(report, _home(place, name, memories, _LONG), f"{way}, {memories:,} long memories", rounds)
            _growth(report, small, large, way, rounds)
            _rewinds(report, large, way)
    return report


def _searches(report: Report, home: _Home, name: str, rounds: int) -> None:
    """Compare searches with bare means."""
    chance = Random(11)
    queries = [" ".join(chance.choice(home.texts).split()[:5]) + "?" for _ in range(QUERIES)]
    with open_store(home.path, Scope()) as store, _session(home) as session:
        measures = {f"search by {name}": _each(queries, lambda query: session.search(query, k=K))}
        bare, embedder = _Bare(store), embedder_of(home.embedder)
        measures[f"bare FTS5, {name}"] = _each(queries, bare.words)
        if embedder is not None:
            measures[f"bare scan, {name}"] = _each(queries, bare.scanning(embedder))
        search, words, *scans = found = interleaved(rounds, measures, "ms")
        processors = _processors(lambda: [session.search(query, k=K) for query in queries])
    report.figures += found
    if scans:
        both = Figure("", "ms", tuple(one + other for one, other in zip(words.samples, scans[0].samples, strict=True)))
        report.claims.append(ratio_claim(f"search by {name} / bare scan and FTS5", search, both, limit=LIMIT))
        report.claims.append(ratio_claim(f"search by {name} / bare scan alone", search, scans[0], limit=LIMIT))
    else:
        report.claims.append(ratio_claim(f"search by {name} / bare FTS5", search, words, limit=LIMIT))
    report.claims.append(Claim(f"CPU time / wall time of the search by {name}", processors, limit=1.1))


def _growth(report: Report, small: _Home, large: _Home, way: str, rounds: int) -> None:
    """Compare what is written and read in a small and in a large home."""
    found: dict[str, list[list[float]]] = {}
    for _ in range(rounds):
        for place, home in enumerate((small, large)):
            with _copied(home) as copy, _session(copy) as session:
                for name, spent in _changes(session).items():
                    found.setdefault(name, [[], []])[place].append(spent)
    for name, both in found.items():
        few, many = (
            Figure(f"{name}, {way}, {len(home.texts):,} memories", "ms", tuple(samples))
            for home, samples in zip((small, large), both, strict=True)
        )
        report.figures += [few, many]
        report.claims.append(ratio_claim(f"{name}, {way}: large home / small home", many, few, limit=LIMIT))


def _changes(session: Session) -> Mapping[str, float]:
    """Write new statements, short and long, with conflicts among them; return the CPU milliseconds of each act."""
    chance, names = Random(13), _vocabulary(Random(7))
    session.remember("the first write loads what is needed")
    session.search("the first search too")
    short, long = ([_text(chance, names, count) for _ in range(_WRITES)] for count in (_SHORT, _LONG))
    spent = {
        "remember a short text": _median(session.remember, short),
        "remember a long text": _median(session.remember, long),
    }
    for number in range(_CONFLICTS):
        session.remember(f"Server {names[number]} listens on port {4_000 + number}", trust="user")
        session.remember(f"Server {names[number]} listens on port {5_000 + number}", trust="assistant")
    assert len(session.conflicts()) >= _CONFLICTS
    spent["conflicts"] = _median(lambda _: session.conflicts(), range(5))
    victims = [session.remember(text).id for text in (_text(chance, names, _SHORT) for _ in range(3))]
    return spent | {"purge of a memory": _median(session.purge, victims)}


def _rewinds(report: Report, home: _Home, way: str) -> None:
    """Measure the first search after a rewind of everything, and after its undo."""
    with _copied(home) as copy, _session(copy) as session:
        session.search("what was there before")
        steps: dict[str, Callable[[], object]] = {
            "rewind of everything": lambda: session.rewind(1),
            "first search after a rewind of everything": lambda: session.search("what was there before"),
            "second search after a rewind of everything": lambda: session.search("what was there before"),
            "undo of it": session.undo_rewind,
            "first search after the undo": lambda: session.search("what was there before"),
            "rewind of the later half": lambda: session.rewind(1 + len(home.texts) // _AT_ONCE // 2),
            "first search after a rewind of the later half": lambda: session.search("what was there before"),
        }
        spent = {f"{name}, {way}, {len(home.texts):,} memories": cpu_ms(step) for name, step in steps.items()}
    report.figures += [Figure(name, "ms", (value,)) for name, value in spent.items()]
    report.claims += [
        Claim(name, value, "ms", limit=REWIND_MS) for name, value in spent.items() if name.startswith("first")
    ]


@contextmanager
def _session(home: _Home) -> Iterator[Session]:
    with Session.open("s", home=home.path, settings=Settings(embedder=home.embedder)) as session:
        yield session


@contextmanager
def _copied(home: _Home) -> Iterator[_Home]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        shutil.copytree(home.path, copy)
        yield _Home(copy, home.texts, home.embedder)


def _home(folder: Path, embedder: str, memories: int, words: int) -> _Home:
    """Fill a home, unless it is there from an earlier run."""
    chance = Random(7)
    names = _vocabulary(chance)
    texts = [_text(chance, names, words) for _ in range(memories)]
    path = folder / f"{embedder}-{memories}-{words}"
    if not path.exists():
        with open_store(path, Scope()) as store:
            _fill(MemoryRepository(store, embedder_of(embedder)), texts)
    return _Home(path, texts, embedder)


def _vocabulary(chance: Random) -> list[str]:
    syllables = ["ba", "ko", "ti", "ren", "lus", "mar", "vi", "do", "sha", "pel", "gun", "ne"]
    made = ("".join(chance.choice(syllables) for _ in range(chance.randint(2, 5))) for _ in range(3 * _VOCABULARY))
    return list(dict.fromkeys(made))[:_VOCABULARY]


def _text(chance: Random, names: list[str], words: int) -> str:
    """Some words are common and most are rare, as in any language."""
    return " ".join(names[int(len(names) * chance.random() ** 3)] for _ in range(words))


def _fill(repository: MemoryRepository, texts: list[str]) -> None:
    """Write all texts; a tenth of them is said by a user. The first commit has one, so that a rewind finds a beginning."""
    starts = [0, *range(1, len(texts), _AT_ONCE)]
    for start, end in zip(starts, [*starts[1:], len(texts)], strict=True):
        updates = [
            MemoryUpdate(None, MemoryEntry(f"m{number}", text, source=f"talk {number // 25}", seq=number,
                         trust="user" if number % 100 < _USERS else "assistant"))
            for number, text in enumerate(texts[start:end], start)
        ]  # fmt: skip
        repository.write("s", "remember", updates, at_ms=1, payload={})


def _each(queries: Sequence[str], search: Callable[[str], object]) -> Callable[[], float]:
    """Return a measure of the median query, in CPU milliseconds; the first round is not counted."""

    def once() -> float:
        return _median(search, queries)

    once()
    return once


def _median(act: Callable[[Any], object], given: Sequence[Any]) -> float:
    spent = []
    for one in given:
        started = time.process_time_ns()
        act(one)
        spent.append((time.process_time_ns() - started) / 1e6)
    return median(spent)


def _processors(act: Callable[[], object]) -> float:
    """Return how many processors an act keeps busy."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    act()
    return (time.process_time_ns() - cpu) / (time.perf_counter_ns() - wall)


def main(arguments: list[str]) -> int:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--homes", type=Path, help="a folder that keeps the filled homes")
    wanted = parser.parse_args(arguments)
    print(measure(wanted.rounds, wanted.memories, wanted.homes).as_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
