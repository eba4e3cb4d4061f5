"""The worth of each ingredient of the search: ``python -m bench.retrieval_parts LOCOMO.json [BEAM] [--large N]``.

Reads LoCoMo conversations (a JSON list of samples), one memory for each dialogue turn, and one query for each question that
names its evidence; and BEAM's folders, one memory for each message. The parameters of `core.retrieve.Weights` were chosen
on the first two LoCoMo conversations and on BEAM's odd ones; the others were read once, when the choice stood. any@k is
the share of questions with at least one turn of the evidence among the first k hits. With ``--users 0.5`` half of the
turns, by a hash of their ids, are said by a user and the others by an agent. With ``--large`` it times N memories made of
the same sentences, beside a bare numpy scan and a bare FTS5 query; with BEAM also of its long messages.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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

__all__ = ["Conversation", "Variant", "conversations", "main", "messages", "variants"]

_CHOSEN_ON = 2
_KS = (1, 5, 10)
_ADVERSARIAL = 5
_SESSION = re.compile(r"session_(\d+)")
_MARK = re.compile(r"->->.*$")


@dataclass(frozen=True, slots=True)
class Conversation:
    """Its turns as memories, and its questions with the ids of the turns that hold the answer.

    `is_chosen`: whether the parameters were chosen on it.
    """

    turns: Sequence[Remembered]
    questions: Sequence[tuple[str, frozenset[str]]]
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: how a query is taken apart, what each ingredient counts, and whether there are vectors."""

    name: str
    parsed: Callable[[OwnSearch, str], Query] | None
    weights: Weights
    dense: bool = False
    has_passages: bool = True


class _WholeTexts(MemoryIndex):
    """An index that has no vectors of passages."""

    def passages(self, *_: Any) -> Mapping[int, tuple[int, float]]:
        return {}


class _Trial(OwnSearch):
    """The search with another way to take a query apart."""

    def __init__(self, connection: apsw.Connection, variant: Variant, embedder: Embedder | None) -> None:
        index = (MemoryIndex if variant.has_passages else _WholeTexts)(connection, embedder if variant.dense else None)
        super().__init__(index, weights=variant.weights)
        self._variant = variant

    def _parsed(self, query: str) -> Query:
        own = self._variant.parsed
        return super()._parsed(query) if own is None else own(self, query)


def conversations(path: Path) -> Iterator[Conversation]:
    """Read the conversations of a LoCoMo file; questions without evidence and adversarial ones are left out."""
    for place, sample in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        talk = sample["conversation"]
        turns: list[Remembered] = []
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
        yield Conversation(turns, questions, place < _CHOSEN_ON)


def messages(folder: Path) -> Iterator[Conversation]:
    """Read BEAM's conversations, each a folder with a number; questions without evidence are left out."""
    for place in sorted((one for one in folder.iterdir() if one.name.isdigit()), key=lambda one: int(one.name)):
        turns: list[Remembered] = []
        for number, block in enumerate(json.loads((place / "chat.json").read_text(encoding="utf-8"))):
            for said in chain.from_iterable(block["turns"]):
                if text := _MARK.sub("", said["content"]).strip():
                    turns.append(Remembered(str(said["id"]), text, f"session {number}", said["role"], len(turns)))
        known = {turn.id for turn in turns}
        asked = json.loads((place / "probing_questions.json").read_text(encoding="utf-8"))
        questions = [
            (one["question"], gold)
            for one in chain.from_iterable(asked.values())
            if (gold := frozenset(map(str, _numbers(one.get("source_chat_ids")))) & known)
        ]
        yield Conversation(turns, questions, int(place.name) % 2 == 1)


def _numbers(value: Any) -> set[int]:
    """Return all numbers in a nested value."""
    if isinstance(value, int):
        return set() if isinstance(value, bool) else {value}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(_numbers, inner))


def variants() -> list[Variant]:
    """Return the rows: each adds one ingredient to the one before; the last ones take one away or stand alone."""
    bare = Weights(
        dense=WEIGHTS.dense, together=0.0, after=0.0, after_question=0.0, before=0.0, second_after=0.0,
        second_before=0.0, speaker=1.0, user=1.0, question=1.0,
    )  # fmt: skip
    alone = replace(bare, dense=1.0)
    near = replace(
        bare, after=WEIGHTS.after, after_question=WEIGHTS.after, before=WEIGHTS.before,
        second_after=WEIGHTS.second_after, second_before=WEIGHTS.second_before,
    )  # fmt: skip
    answers = replace(near, after_question=WEIGHTS.after_question)
    speaker = replace(answers, speaker=WEIGHTS.speaker)
    statement = replace(speaker, question=WEIGHTS.question)
    user = replace(statement, user=WEIGHTS.user)
    without = {
        "neighbours": replace(bare, together=WEIGHTS.together, speaker=WEIGHTS.speaker,
            user=WEIGHTS.user, question=WEIGHTS.question),
        "the speaker's prior": replace(WEIGHTS, speaker=1.0, user=1.0),
        "the statements' prior": replace(WEIGHTS, question=1.0),
        "the first person": replace(WEIGHTS, user=1.0),
        "words that stand together": replace(WEIGHTS, together=0.0),
    }  # fmt: skip
    rows = [
        Variant("words alone, every word of the query", lambda _, query: _all_words(query), bare),
        Variant("+ stop list", lambda _, query: parse(query), bare),
        Variant("+ the named speaker is not searched", None, bare),
        Variant("+ neighbours within the source", None, near),
        Variant("+ the text after a question answers it", None, answers),
        Variant("+ prior for the named speaker", None, speaker),
        Variant("+ prior for statements", None, statement),
        Variant("+ a question in the first person is a user's", None, user),
        Variant("+ words that stand together (the base install)", None, WEIGHTS),
        Variant("+ vectors of whole texts (extra `vectors`)", None, WEIGHTS, dense=True, has_passages=False),
        Variant("+ vectors of passages (all)", None, WEIGHTS, dense=True),
        *(Variant(f"all but {name}", None, weights, dense=True) for name, weights in without.items()),
        Variant("vectors alone, every word of the query", lambda _, query: replace(_all_words(query), words=()), alone,
                dense=True, has_passages=False),
        Variant("vectors alone, words with meaning", lambda trial, query: replace(
                OwnSearch._parsed(trial, query), words=()), alone, dense=True, has_passages=False),
        Variant("vectors alone, of passages", lambda trial, query: replace(
                OwnSearch._parsed(trial, query), words=()), alone, dense=True),
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


def _table(corpora: Mapping[str, Sequence[Conversation]]) -> Iterator[str]:
    """Yield the rows, each with the halves to choose by and the halves kept aside."""
    embedder = WordLlamaEmbedder() if is_installed() else None
    halves = [(name, is_chosen) for name in corpora for is_chosen in (True, False)]
    heads = [f"{name}, {'to choose by' if is_chosen else 'kept aside'}" for name, is_chosen in halves]
    yield f"| any@1 / @5 / @10 | {' | '.join(heads)} | CPU ms p50 |"
    yield f"| --- |{' --- |' * (len(heads) + 1)}"
    for variant in variants():
        found: dict[tuple[str, bool], list[list[bool]]] = {half: [] for half in halves}
        seconds: list[float] = []
        for name, talks in corpora.items():
            for talk in talks:
                with _opened() as connection:
                    trial = _Trial(connection, variant, embedder)
                    trial.add(talk.turns)
                    trial.search("warm up")
                    found[name, talk.is_chosen] += _judged(trial, talk, seconds)
        p50 = 1e3 * sorted(seconds)[len(seconds) // 2]
        yield f"| {variant.name} | {' | '.join(_shares(found[half], *_KS) for half in halves)} | {p50:.1f} |"
    counts = [sum(len(talk.questions) for talk in corpora[name] if talk.is_chosen is chosen) for name, chosen in halves]
    yield f"\n{', '.join(f'{head}: {count} questions' for head, count in zip(heads, counts, strict=True))}"


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
    parser.add_argument("beam", type=Path, nargs="?", help="the folder with BEAM's conversations")
    parser.add_argument("--users", type=float, default=0.0, metavar="SHARE", help="the share of turns of a user")
    parser.add_argument(
        "--large", type=int, default=0, metavar="N", help="time N made-up memories instead of the table"
    )
    wanted = parser.parse_args(arguments)
    corpora = {"LoCoMo": [_of_users(talk, wanted.users) for talk in conversations(wanted.path)]}
    if wanted.beam:
        corpora["BEAM"] = [_of_users(talk, wanted.users) for talk in messages(wanted.beam)]
    for name, talks in corpora.items() if wanted.large else ():
        print(f"\nmade of {name}:", *_large(talks, wanted.large), sep="\n", flush=True)
    for line in _table(corpora) if not wanted.large else ():
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
