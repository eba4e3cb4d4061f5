"""What a search costs among 100,000 memories, beside a bare numpy scan plus FTS5 on the same data."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from random import Random
from statistics import median
from typing import Any

from bench.figures import Report, interleaved, ratio_claim
from undrift import Session, Settings
from undrift.core.memory.retrieve import parse
from undrift.memory.repository import MemoryRepository, default_embedder
from undrift.stores.contract import Store
from undrift.stores.embed import Embedder
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.opening import open_store
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

__all__ = ["measure"]

MEMORIES = 100_000
QUERIES = 40
LIMIT = 1.5
K = 10
_POOL = 50  # hits of each kind that the search ranks
_AT_ONCE = 5_000
_VOCABULARY = 20_000
_NEEDS = "memories found by meaning among 100,000: needs the extra `vectors`"


@dataclass(frozen=True, slots=True)
class _Bare:
    """The same words asked of FTS5 alone, and the same vectors compared by one product; nothing is made of the hits."""

    store: Store
    embedder: Embedder | None
    matrix: Any

    def search(self, query: str) -> object:
        words = " OR ".join(f'"{word}"' for word in parse(query).words)
        sql = "SELECT rowid, rank FROM memory_text WHERE memory_text MATCH ? ORDER BY rank LIMIT ?"
        with self.store._database.using() as connection:
            found: list[Any] = connection.execute(sql, (words, _POOL)).fetchall()
        if self.embedder is None:
            return found
        import numpy as np

        scores = self.matrix @ np.asarray(self.embedder.embed([query])[0], np.float32)
        nearest = np.argpartition(-scores, _POOL)[:_POOL]
        return [*nearest[np.argsort(-scores[nearest])], *found]


def measure(rounds: int = 5, memories: int = MEMORIES) -> Report:
    """Measure `Session.search` by words, and by words and vectors, each beside the bare means."""
    report = Report()
    chance = Random(7)
    names = _vocabulary(chance)
    texts = [_text(chance, names) for _ in range(memories)]
    queries = [" ".join(chance.choice(texts).split()[:5]) + "?" for _ in range(QUERIES)]
    ways = {"words": "none"}
    if find_spec("wordllama") and find_spec("numpy"):
        ways["words and vectors"] = "wordllama"
    else:
        report.skipped.append(_NEEDS)
    for way, name in ways.items():
        with tempfile.TemporaryDirectory() as home, open_store(home, Scope()) as store:
            embedder = default_embedder(name)
            _fill(MemoryRepository(store, embedder), texts)
            bare = _Bare(store, embedder, None if embedder is None else _matrix(embedder, texts))
            with Session.open("s", home=home, settings=Settings(embedder=name)) as session:
                measures = {
                    f"search by {way}, {memories:,} memories": _each(queries, lambda q: session.search(q, k=K)),
                    f"bare means for {way}, {memories:,} memories": _each(queries, bare.search),
                }
                found = interleaved(rounds, measures, "ms")
        report.figures += found
        report.claims.append(ratio_claim(f"search by {way} against the bare means", *found, limit=LIMIT))
    return report


def _vocabulary(chance: Random) -> list[str]:
    syllables = ["ba", "ko", "ti", "ren", "lus", "mar", "vi", "do", "sha", "pel", "gun", "ne"]
    made = ("".join(chance.choice(syllables) for _ in range(chance.randint(2, 5))) for _ in range(3 * _VOCABULARY))
    return list(dict.fromkeys(made))[:_VOCABULARY]


def _text(chance: Random, names: list[str]) -> str:
    """Twelve words, of which some are common and most are rare, as in any language."""
    return " ".join(names[int(len(names) * chance.random() ** 3)] for _ in range(12))


def _fill(repository: MemoryRepository, texts: list[str]) -> None:
    for start in range(0, len(texts), _AT_ONCE):
        updates = [
            MemoryUpdate(None, MemoryEntry(f"m{number}", text, source=f"talk {number // 25}", seq=number))
            for number, text in enumerate(texts[start : start + _AT_ONCE], start)
        ]
        repository.write("s", "remember", updates, at_ms=1, payload={})


def _matrix(embedder: Embedder, texts: list[str]) -> Any:
    import numpy as np

    parts = [np.asarray(embedder.embed(texts[start : start + 1_000])) for start in range(0, len(texts), 1_000)]
    return np.concatenate(parts).astype(np.float32)


def _each(queries: list[str], search: Callable[[str], object]) -> Callable[[], float]:
    """The median of the queries, in CPU milliseconds; the first round is not counted."""

    def once() -> float:
        spent = []
        for query in queries:
            started = time.process_time_ns()
            search(query)
            spent.append((time.process_time_ns() - started) / 1e6)
        return median(spent)

    once()
    return once
