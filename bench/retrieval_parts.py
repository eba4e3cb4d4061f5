"""What each ingredient of the search is worth: ``python -m bench.retrieval_parts LOCOMO.json [--large N]``.

Reads LoCoMo conversations (a JSON list of samples), one memory for each dialogue turn, one query for each question that
names its evidence. The parameters of `core.retrieve.Weights` were chosen on the first two conversations; the others were
not looked at before. any@k is the share of questions with at least one turn of the evidence among the first k hits. With
``--users 0.5`` half of the turns, by a hash of their ids, are said by a user and the others by an agent. With
``--large`` it times N memories made of the same sentences, beside a bare numpy scan and a bare FTS5 query.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import apsw

from undrift.core.memory.retrieve import WEIGHTS, Query, Weights, parse
from undrift.core.text.words import words_of
from undrift.memory.search import OwnSearch, Remembered
from undrift.stores.embed import Embedder, WordLlamaEmbedder, is_installed
from undrift.stores.memory_index import MemoryIndex
from undrift.stores.migrations import migrate
from undrift.values.memory import TRUST_TIERS

__all__ = ["Conversation", "Variant", "conversations", "main", "variants"]

_CHOSEN_ON = 2
_KS = (1, 5, 10, 20)
_ADVERSARIAL = 5
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Conversation:
    """Its turns as memories, and its questions with the ids of the turns that hold the answer."""

    turns: Sequence[Remembered]
    questions: Sequence[tuple[str, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: how a query is taken apart, what each ingredient counts, and whether there are vectors."""

    name: str
    parsed: Callable[[OwnSearch, str], Query] | None
    weights: Weights
    dense: bool = False


class _Trial(OwnSearch):
    """The search with another way to take a query apart."""

    def __init__(self, connection: apsw.Connection, variant: Variant, embedder: Embedder | None) -> None:
        super().__init__(MemoryIndex(connection, embedder if variant.dense else None), weights=variant.weights)
        self._variant = variant

    def _parsed(self, query: str) -> Query:
        own = self._variant.parsed
        return super()._parsed(query) if own is None else own(self, query)


def conversations(path: Path) -> Iterator[Conversation]:
    """Read the conversations of a LoCoMo file; questions without evidence and adversarial ones are left out."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        talk, turns = sample["conversation"], []
        sessions = sorted((int(match[1]), name) for name in talk if (match := _SESSION.fullmatch(name)))
        for number, name in sessions:
            for turn in talk[name]:
                picture = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                text = (turn.get("text") or "") + picture
                turns.append(Remembered(turn["dia_id"], text, f"session {number}", turn["speaker"], len(turns)))
        known = {turn.id for turn in turns}
        questions = []
        for question in sample["qa"]:
            named = re.split(r"[;, ]+", " ".join(question.get("evidence") or []))
            gold = frozenset(named) & known
            if gold and question["category"] != _ADVERSARIAL:
                questions.append((question["question"], gold))
        yield Conversation(turns, questions)


def variants() -> list[Variant]:
    """Return the rows: each adds one ingredient to the one before; the last ones take one away or stand alone."""
    bare = Weights(
        dense=0.0,
        after=0.0,
        after_question=0.0,
        before=0.0,
        second_after=0.0,
        second_before=0.0,
        speaker=1.0,
        question=1.0,
    )
    near = replace(
        bare, after=WEIGHTS.after, after_question=WEIGHTS.after, before=WEIGHTS.before,
        second_after=WEIGHTS.second_after, second_before=WEIGHTS.second_before,
    )  # fmt: skip
    answers = replace(near, after_question=WEIGHTS.after_question)
    speaker = replace(answers, speaker=WEIGHTS.speaker)
    rows = [
        Variant("words alone, every word of the query", lambda _, query: _all_words(query), bare),
        Variant("+ stop list", lambda _, query: parse(query), bare),
        Variant("+ the named speaker is no word to look for", None, bare),
        Variant("+ neighbours within the source", None, near),
        Variant("+ what follows a question answers it", None, answers),
        Variant("+ prior for the named speaker", None, speaker),
        Variant("+ prior for statements (the base install)", None, WEIGHTS),
        Variant("+ vectors (extra `vectors`)", None, WEIGHTS, dense=True),
        Variant("all but neighbours", None, replace(bare, dense=WEIGHTS.dense, speaker=WEIGHTS.speaker,
                question=WEIGHTS.question), dense=True),
        Variant("all but the speaker's prior", None, replace(WEIGHTS, speaker=1.0), dense=True),
        Variant("all but the statements' prior", None, replace(WEIGHTS, question=1.0), dense=True),
        Variant("vectors alone, of every word of the query", lambda _, query: replace(_all_words(query), words=()),
                replace(bare, dense=1.0), dense=True),
        Variant("vectors alone, of the words that carry meaning", lambda trial, query: replace(
                OwnSearch._parsed(trial, query), words=()), replace(bare, dense=1.0), dense=True),
    ]  # fmt: skip
    return [row for row in rows if not row.dense or is_installed()]


def _of_users(talk: Conversation, share: float) -> Conversation:
    """Give a share of the turns the trust of a user, and the others that of an agent."""
    user, agent = TRUST_TIERS["user"], TRUST_TIERS["assistant"]
    turns = [replace(one, tier=user if crc32(one.id.encode()) % 1_000 < 1_000 * share else agent) for one in talk.turns]
    return replace(talk, turns=turns)


def _all_words(query: str) -> Query:
    return Query(tuple(dict.fromkeys(words_of(query))), frozenset(), query)


@contextmanager
def _opened() -> Iterator[apsw.Connection]:
    with tempfile.TemporaryDirectory() as folder:
        connection = apsw.Connection(str(Path(folder) / "undrift.db"))
        connection.pragma("journal_mode", "wal")
        migrate(connection)
        yield connection
        connection.close()


def _judged(trial: OwnSearch, talk: Conversation, seconds: list[float]) -> list[list[bool]]:
    """Ask every question; return for each whether the first 1, 5, 10, 20 hits hold evidence."""
    rows = []
    for question, gold in talk.questions:
        start = time.process_time()
        found = [hit.id for hit in trial.search(question, k=max(_KS))]
        seconds.append(time.process_time() - start)
        rows.append([not gold.isdisjoint(found[:k]) for k in _KS])
    return rows


def _table(talks: Sequence[Conversation]) -> Iterator[str]:
    embedder = WordLlamaEmbedder() if is_installed() else None
    yield f"| | {_CHOSEN_ON} to choose by: any@5 / @10 | {len(talks) - _CHOSEN_ON} left out: any@1 / @5 / @10 / @20 | all: any@5 / @10 | CPU ms p50 |"
    yield "| --- | --- | --- | --- | --- |"
    for variant in variants():
        rows: list[list[list[bool]]] = []
        seconds: list[float] = []
        for talk in talks:
            with _opened() as connection:
                trial = _Trial(connection, variant, embedder)
                trial.add(talk.turns)
                trial.search("warm up")
                rows.append(_judged(trial, talk, seconds))
        chosen, left_out = (list(chain.from_iterable(part)) for part in (rows[:_CHOSEN_ON], rows[_CHOSEN_ON:]))
        p50 = 1e3 * sorted(seconds)[len(seconds) // 2]
        yield (
            f"| {variant.name} | {_shares(chosen, 5, 10)} | {_shares(left_out, *_KS)} "
            f"| {_shares(chosen + left_out, 5, 10)} | {p50:.1f} |"
        )
    counts = [len(talk.questions) for talk in talks]
    yield f"\nn = {sum(counts[:_CHOSEN_ON])} questions to choose by, {sum(counts[_CHOSEN_ON:])} left out; {sum(len(talk.turns) for talk in talks)} turns."


def _shares(rows: Sequence[Sequence[bool]], *ks: int) -> str:
    return " / ".join(f"{sum(row[_KS.index(k)] for row in rows) / max(len(rows), 1):.3f}" for k in ks)


def _many(talks: Sequence[Conversation], count: int) -> Iterator[Remembered]:
    """Make up memories: half of one sentence and half of another, 25 to a source."""
    chance = Random(7)
    texts = [turn.text.split() for talk in talks for turn in talk.turns]
    for number in range(count):
        first, second = chance.choice(texts), chance.choice(texts)
        text = " ".join(first[: len(first) // 2] + second[len(second) // 2 :])
        yield Remembered(str(number), text, f"session {number // 25}", f"speaker{number % 40}", number)


def _p50(work: Callable[[str], object], queries: Sequence[str]) -> float:
    """Return the median of CPU time: other processes' turns do not count."""
    work(queries[0])
    spent = []
    for query in queries:
        start = time.process_time()
        work(query)
        spent.append(time.process_time() - start)
    return 1e3 * sorted(spent)[len(spent) // 2]


def _large(talks: Sequence[Conversation], count: int) -> Iterator[str]:
    embedder = WordLlamaEmbedder() if is_installed() else None
    queries = [question for talk in talks for question, _ in talk.questions][:: max(1, count // 50_000)][:200]
    with _opened() as connection:
        whole = OwnSearch(MemoryIndex(connection, embedder))
        start = time.process_time()
        whole.add(_many(talks, count))
        yield f"\n{count:,} memories, {len(queries)} queries; added in {time.process_time() - start:.1f} s of CPU. CPU ms p50:"
        words = _p50(partial(OwnSearch(MemoryIndex(connection)).search, k=10), queries)
        fts = _p50(lambda query: _fts5(connection, query), queries)
        yield f"- words: {words:.2f}; bare FTS5 of the same words: {fts:.2f}"
        if embedder is None:
            return
        start = time.process_time()
        whole.search("warm up")
        first = time.process_time() - start
        both, scan = _p50(partial(whole.search, k=10), queries), _p50(_scan(whole, embedder), queries)
        yield f"- words and vectors: {both:.2f}; bare numpy scan: {scan:.2f}; ratio to scan and FTS5: {both / (scan + fts):.2f}"
        yield f"- the first search, which reads the vectors: {first:.2f} s"
        recalls = [f"{_recall(whole, embedder, queries, k):.4f}" for k in (10, 50)]
        yield f"- recall of the sign bits against the scan, 10 and 50 nearest: {' and '.join(recalls)}"


def _fts5(connection: apsw.Connection, query: str) -> list[Any]:
    words = " OR ".join(f'"{word}"' for word in parse(query).words)
    return connection.execute(
        "SELECT rowid FROM memory_text WHERE memory_text MATCH ? ORDER BY rank LIMIT 10", (words,)
    ).fetchall()


def _scan(whole: OwnSearch, embedder: Embedder) -> Callable[[str], Any]:
    import numpy as np

    index: Any = whole._index._index
    matrix = np.ascontiguousarray(index._copy.vectors)

    def scan(query: str) -> Any:
        scores = matrix @ embedder.embed([parse(query).text])[0]
        nearest = np.argpartition(-scores, 10)[:10]
        return nearest[np.argsort(-scores[nearest])]

    return scan


def _recall(whole: OwnSearch, embedder: Embedder, queries: Sequence[str], k: int) -> float:
    import numpy as np

    index: Any = whole._index._index
    found = 0
    for query in queries:
        scores = index._copy.vectors @ index._table.unit(embedder.embed([parse(query).text])[0])
        least = np.sort(scores)[-k] - 1e-6  # of equals any will do
        at = dict(zip(index._copy.numbers.tolist(), scores.tolist(), strict=True))
        near = index.search(embedder.embed([parse(query).text])[0], k)
        found += sum(at[number] >= least for number, _ in near)
    return found / (k * len(queries))


def main(arguments: list[str]) -> int:
    """Print the table, and with ``--large`` the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--users", type=float, default=0.0, metavar="SHARE", help="the share of turns of a user")
    parser.add_argument(
        "--large", type=int, default=0, metavar="N", help="time N made-up memories instead of the table"
    )
    wanted = parser.parse_args(arguments)
    talks = [_of_users(talk, wanted.users) for talk in conversations(wanted.path)]
    for line in _large(talks, wanted.large) if wanted.large else _table(talks):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
