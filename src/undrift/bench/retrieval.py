"""The share of questions whose answer a search finds: by words, by vectors, and with parts of the user's own.

Law: it measures what a user gets: the searches of a session, with its deadlines. The texts lie in a home of its own, which is
deleted; no home of the user's is changed. A search that went without a part is counted, not hidden.
"""

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from undrift.bench.questions import AskedTexts
from undrift.memory.parts import load_part
from undrift.memory.repository import repository_of
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.embed import is_installed
from undrift.stores.opening import open_store
from undrift.values.part import PartName
from undrift.values.scope import Scope

__all__ = ["AT", "RetrievalDifference", "RetrievalReport", "RetrievalRow", "configurations", "measure"]

AT = (1, 5, 10)
_Z = 1.96


@dataclass(frozen=True, slots=True)
class RetrievalRow:
    """One way to search, on all questions.

    Args:
        found: For each question, whether an answer is among the first 1, 5 and 10 hits.
        cpu_ms: The median of the processor's time for a search, in this process alone.
        wait_ms: The median of the time that a search took, servers included.
        without: The number of searches that went without a part of the user's own.
        fault: The reason of the last of them; empty if there is none.
    """

    name: str
    found: Sequence[tuple[bool, ...]]
    cpu_ms: float
    wait_ms: float
    without: int = 0
    fault: str = ""

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of questions that are answered among the first 1, 5 and 10 hits."""
        return tuple(sum(row) / max(len(self.found), 1) for row in zip(*self.found, strict=True))


@dataclass(frozen=True, slots=True)
class RetrievalDifference:
    """A row against another one, question by question, with the 95% interval; each as a share."""

    name: str
    against: str
    by: Sequence[tuple[float, float, float]]
    """The difference, its lower and its upper bound, at 1, 5 and 10 hits."""


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """The rows of one set of questions."""

    title: str
    texts: int
    questions: int
    rows: Sequence[RetrievalRow]

    @property
    def differences(self) -> list[RetrievalDifference]:
        """Each row with a part of the user's own against the one that it adds to; vectors against words."""
        pairs = [(row, self.rows[max(place - 1, 0)]) for place, row in enumerate(self.rows)][1:]
        return [RetrievalDifference(row.name, base.name, _paired(row.found, base.found)) for row, base in pairs]

    def as_value(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        rows = []
        for row in self.rows:
            shares = dict(zip(("any@1", "any@5", "any@10"), row.shares, strict=True))
            rows.append({**{k: v for k, v in asdict(row).items() if k != "found"}, **shares})
        return {
            "title": self.title,
            "texts": self.texts,
            "questions": self.questions,
            "rows": rows,
            "differences": [asdict(one) for one in self.differences],
        }


def configurations(settings: Settings) -> list[tuple[str, Settings]]:
    """Return the ways to search with their names: words, vectors, and the parts that the settings name."""
    plain = replace(settings, embedder="none", reranker=None)
    found = [("words", plain)]
    if is_installed() and settings.embedder != "none":
        found.append(("vectors", replace(plain, embedder="wordllama")))
    if PartName.of(settings.embedder) is not None:
        found.append(("your embedder", replace(plain, embedder=settings.embedder)))
    if settings.reranker not in (None, "none"):
        found.append(("your re-ranker", settings))
    return found


def measure(
    title: str,
    asked: Sequence[AskedTexts],
    settings: Settings,
    *,
    may_download: bool = False,
    progress: Callable[[str], None],
) -> RetrievalReport:
    """Ask every question in every way.

    Args:
        may_download: Whether a model that is not on this machine is fetched.

    Raises:
        PartError: A part of the user's own cannot be loaded.
    """
    chosen = configurations(settings)
    for use, name in (("embedder", settings.embedder), ("reranker", settings.reranker)):
        if PartName.of(name) is not None:
            progress(f"loading {name}")
            load_part(str(name), "embedder" if use == "embedder" else "reranker", may_download=may_download)
    tries: list[list[_Tries]] = [[] for _ in chosen]
    for number, one in enumerate(asked, 1):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            home, part = Path(folder), f"{title}, part {number} of {len(asked)}: "
            progress(f"{part}remembering {len(one.texts):,} texts")
            places = _remembered(home, one, chosen[0][1])
            for row, (name, own) in zip(tries, chosen, strict=True):
                progress(f"{part}asking {len(one.questions):,} questions, {name}")
                row.append(_asked(home, one, own, places))
    rows = [_row(name, some) for (name, _), some in zip(chosen, tries, strict=True)]
    texts, questions = sum(len(one.texts) for one in asked), sum(len(one.questions) for one in asked)
    return RetrievalReport(title, texts, questions, rows)


# ----------------------------------------------------------------------------------------------------------- the steps


@dataclass(slots=True)
class _Tries:
    found: list[tuple[bool, ...]]
    cpu_s: list[float]
    wait_s: list[float]
    without: int = 0
    fault: str = ""


def _session(home: Path, settings: Settings) -> Session:
    return Session.open("bench", home=home, settings=settings, keeps_notes=False)


def _remembered(home: Path, asked: AskedTexts, settings: Settings) -> dict[str, set[int]]:
    """Store the texts; return the places of each memory's texts, as equal texts are one memory."""
    places: dict[str, set[int]] = {}
    with _session(home, settings) as session:
        for place, one in enumerate(asked.texts):
            entry = session.remember(one.text, source=one.source, speaker=one.speaker or None, trust=one.trust)
            places.setdefault(entry.id, set()).add(place)
    return places


def _asked(home: Path, asked: AskedTexts, settings: Settings, places: dict[str, set[int]]) -> _Tries:
    if settings.embedder != "none":
        with open_store(home, Scope()) as store:
            repository_of(store, settings).rebuild()  # so that no search waits for vectors of texts
    tries = _Tries([], [], [])
    with _session(home, settings) as session:
        session.search("warm up")
        for question, right in asked.questions:
            cpu_s, wait_s = time.process_time(), time.monotonic()
            hits = session.search(question, k=max(AT))
            tries.cpu_s.append(time.process_time() - cpu_s)
            tries.wait_s.append(time.monotonic() - wait_s)
            tries.found.append(tuple(any(places.get(hit.entry.id, set()) & right for hit in hits[:k]) for k in AT))
            if faults := session.memory.warnings():
                tries.without += 1
                tries.fault = faults[-1]
    return tries


def _row(name: str, tries: Sequence[_Tries]) -> RetrievalRow:
    found = [row for one in tries for row in one.found]
    fault = next((one.fault for one in reversed(tries) if one.fault), "")
    cpu_ms, wait_ms = (
        1e3 * median(second for some in kind for second in some)
        for kind in ([one.cpu_s for one in tries], [one.wait_s for one in tries])
    )
    return RetrievalRow(name, found, cpu_ms, wait_ms, sum(one.without for one in tries), fault)


def _paired(found: Sequence[tuple[bool, ...]], base: Sequence[tuple[bool, ...]]) -> list[tuple[float, float, float]]:
    """Compare two rows question by question; the interval is the normal one of the mean of the pairs."""
    compared = []
    for place in range(len(AT)):
        pairs = [int(one[place]) - int(other[place]) for one, other in zip(found, base, strict=True)]
        mean = sum(pairs) / len(pairs)
        spread = sum((one - mean) ** 2 for one in pairs) / max(len(pairs) - 1, 1)
        half = _Z * math.sqrt(spread / len(pairs))
        compared.append((mean, mean - half, mean + half))
    return compared
