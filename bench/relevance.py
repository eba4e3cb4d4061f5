"""Learns the floor below which nothing fits a question: ``python -m bench.relevance LOCOMO.json BEAM_DIR [--aside]``.

Each conversation is a home: one memory for each turn. Three kinds of questions are asked: those that it answers, those of other
conversations, and those about a thing that is mentioned but nowhere explained (``--nothing FILE``: JSON lines with ``corpus``,
``conversation`` and ``q``). A question counts as answered if its evidence is among the first ten hits without a floor. The
floor is learned on the first two LoCoMo conversations and the odd ones of BEAM; ``--aside`` judges it on the others. Run it
again after a change of the ranking, and put the printed floors into `core.memory.relevance.Floor`.
"""

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import apsw

from undrift.bench.questions import AskedTexts, asked_in
from undrift.core.memory.passages import explained
from undrift.core.memory.relevance import ENOUGH, LOOKED_AT, Floor, fit, is_relevant
from undrift.memory.search import MemorySearch, OwnSearch, Remembered
from undrift.stores.embed import Embedder, WordLlamaEmbedder
from undrift.stores.memory_index import MemoryIndex
from undrift.stores.migrations import migrate
from undrift.values.memory import TRUST_TIERS

__all__ = ["main"]

_CHOSEN_ON = 2
_FOREIGN = 100
"""Questions of other conversations that each conversation is asked."""
_SHARES = (0.02, 0.04, 0.05, 0.06, 0.08, 0.1)
_LOST = 0.05
_ANSWERED, _FOREIGN_KIND, _NEVER = "answered", "of another conversation", "only mentioned"


@dataclass(frozen=True, slots=True)
class _Talk:
    corpus: str
    name: str
    asked: AskedTexts
    never: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Judged:
    """One question: what it is, and its fit without a floor. `least`: the floor at which it is just kept."""

    talk: _Talk
    kind: str
    least: float
    is_kept: bool


def _talks(locomo: Path, beam: Path, nothing: Path | None, *, aside: bool) -> list[_Talk]:
    lines = [] if nothing is None else [json.loads(line) for line in nothing.read_text(encoding="utf-8").splitlines()]
    never = defaultdict(list)
    for line in lines:
        never[line["corpus"], line["conversation"]].append(line["q"])
    names = [sample["sample_id"] for sample in json.loads(locomo.read_text(encoding="utf-8"))]
    found = [
        ("locomo", *one, (place < _CHOSEN_ON)) for place, one in enumerate(zip(names, asked_in(locomo), strict=True))
    ]
    folders = sorted((one.parent for one in beam.rglob("chat.json")), key=lambda one: int(one.name))
    found += [("beam", one.name, asked_in(one)[0], int(one.name) % 2 == 1) for one in folders]
    return [_Talk(*one, never[one[0], one[1]]) for *one, is_chosen in found if is_chosen != aside]


def _questions(talk: _Talk, talks: Sequence[_Talk]) -> Iterator[tuple[str, str, frozenset[int]]]:
    for question, gold in talk.asked.questions:
        yield _ANSWERED, question, gold
    others = [
        one for other in talks if other.corpus == talk.corpus and other != talk for one, _ in other.asked.questions
    ]
    for question in Random(talk.name).sample(others, min(_FOREIGN, len(others))):
        yield _FOREIGN_KIND, question, frozenset()
    for question in talk.never:
        yield _NEVER, question, frozenset()


def _judged(talk: _Talk, talks: Sequence[_Talk], embedder: Embedder | None) -> Iterator[_Judged]:
    turns = [
        Remembered(str(place), one.text, one.source, one.speaker, place, tier=TRUST_TIERS[one.trust])
        for place, one in enumerate(talk.asked.texts)
    ]
    texts = {one.id: one.text for one in turns}
    with tempfile.TemporaryDirectory() as folder:
        connection = apsw.Connection(str(Path(folder) / "undrift.db"))
        migrate(connection)
        index = MemoryIndex(connection, embedder)
        OwnSearch(index).add(turns)
        search = MemorySearch(index)
        bare = replace(Floor(), words=0.0, vectors=0.0)
        scale = min(1.0, len(turns) / ENOUGH)
        for kind, question, gold in _questions(talk, talks):
            asked = search.judged(question)
            fitting = [hit for hit in search.search(question, k=2 * LOOKED_AT) if is_relevant(hit.why)]
            if kind == _ANSWERED and gold.isdisjoint(int(hit.id) for hit in fitting[:LOOKED_AT]):
                continue
            pairs = [(explained(texts[hit.id], hit.why, asked.words), texts[hit.id]) for hit in fitting]
            yield _Judged(talk, kind, fit(asked, pairs, bare) / scale, fit(asked, pairs) >= 0.0)
        connection.close()


def _floor(rows: Sequence[_Judged], share: float) -> float:
    """Return the highest floor that loses at most this share of the answered questions of each corpus."""
    floors = []
    for corpus in sorted({one.talk.corpus for one in rows}):
        answered = sorted(one.least for one in rows if one.talk.corpus == corpus and one.kind == _ANSWERED)
        floors.append(answered[int(share * len(answered))])
    return min(floors)


def _line(rows: Sequence[_Judged], empty: Sequence[bool]) -> str:
    parts = []
    for corpus in ("locomo", "beam"):
        shares = []
        for kind in (_ANSWERED, _FOREIGN_KIND, _NEVER):
            some = [
                is_empty
                for one, is_empty in zip(rows, empty, strict=True)
                if (one.talk.corpus, one.kind) == (corpus, kind)
            ]
            shares.append(sum(some) / len(some) if some else 0.0)
        lost, other, never = shares
        parts.append(
            f"{corpus}: {25 * (other + never):.1f} empty (of others {25 * other:.1f}, only mentioned {25 * never:.1f}), {50 * lost:.1f} lost"
        )
    return "; ".join(parts)


def _report(rows: Sequence[_Judged], *, aside: bool) -> Iterator[str]:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for one in rows:
        counts[one.talk.corpus, one.kind] += 1
    yield f"  questions: {dict(counts)}"
    yield f"  the floor as it is: {_line(rows, [not one.is_kept for one in rows])}"
    if aside:
        return
    for share in _SHARES:
        floor = _floor(rows, share)
        yield f"  at most {share:.0%} lost, floor {floor:.3f}: {_line(rows, [one.least < floor for one in rows])}"
    empty = [one.least < _floor([x for x in rows if x.talk != one.talk], _LOST) for one in rows]
    yield f"  each conversation by the floor of the others, {_LOST:.0%}: {_line(rows, empty)}"


def main(arguments: list[str]) -> int:
    """Print how many of 50 questions that nothing answers get no hit, and how many of 50 answered ones are lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("beam", type=Path)
    parser.add_argument("--nothing", type=Path, help="questions about things that are only mentioned")
    parser.add_argument("--aside", action="store_true", help="the conversations that nothing was learned on")
    wanted = parser.parse_args(arguments)
    talks = _talks(wanted.locomo, wanted.beam, wanted.nothing, aside=wanted.aside)
    for name, embedder in (("by words", None), ("with vectors", WordLlamaEmbedder())):
        print(name, flush=True)
        rows = [row for talk in talks for row in _judged(talk, talks, embedder)]
        for line in _report(rows, aside=wanted.aside):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
