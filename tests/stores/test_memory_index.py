"""The search follows rewinds: by moving the few memories that changed, or by an exchange of its two tables."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.stores.builders import commit, memory
from tests.stores.vector_builders import numpy
from undrift.stores import memories, memory_index, memory_moves
from undrift.stores.base import Context
from undrift.stores.memory_filter import ALL
from undrift.stores.memory_index import MemoryIndex
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate
from undrift.stores.sqlite import SqliteStore
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

WORDS = ("fox", "dog", "owl", "elk")


class OfWords:
    """One number for each word."""

    id, dimension, adds_words = "of words", len(WORDS), True

    def embed(self, texts: Any) -> Any:
        return numpy().array([[text.count(word) for word in WORDS] for text in texts], numpy().float32)


EMBEDDER = OfWords()


def lines_of(entries: list[MemoryEntry]) -> list[MemoryLine]:
    return [MemoryLine(one.id, one.content, source="talk", seq=one.seq) for one in entries]


def remember(store: SqliteStore, entries: list[MemoryEntry]) -> int:
    lines = lines_of(entries)
    given = MemoryLines(lines, EMBEDDER.id, EMBEDDER.dimension, EMBEDDER.embed([one.text for one in lines]))
    updates = [MemoryUpdate(None, one) for one in entries]
    return commit(store, "s", "remember", at_ms=1, memories=updates, lines=[given])


def rewind(store: SqliteStore, to: int) -> None:
    store.rewind(Context(Scope("s"), 1), to, "rewind", payload={"to": to})


def answers(index: MemoryIndex) -> list[object]:
    """All that the index answers about a word, with the memories by their ids."""
    found: list[object] = []
    for word in WORDS:
        vector = EMBEDDER.embed([word])[0]
        for taken_back in (False, True):
            for hits in (
                index.match([word], 99, taken_back=taken_back),
                index.nearest(vector, 99, ALL, taken_back=taken_back),
            ):
                places = index.places([number for number, *_ in hits])
                sides = [[places[n].before, places[n].after] for n, *_ in hits]
                names = [[[n and places[n].id for n in side] for side in both] for both in sides]
                found.append(
                    sorted(zip([places[n].id for n, *_ in hits], [s for _, s, *_ in hits], names, strict=True))
                )
    return [*found, index.frequencies(WORDS)]


@pytest.mark.parametrize("seed", range(3))
def test_after_any_rewinds_the_search_is_as_if_it_were_made_new(home: Path, seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory_index, "_FEW", 0)
    chance = Random(seed)
    exchanged: list[object] = []
    exchange = memory_moves.exchange
    monkeypatch.setattr(memory_moves, "exchange", lambda connection: exchanged.append(exchange(connection)))
    with SqliteStore.open(home) as store, SqliteStore.open(home) as other:
        seqs, count = [0], 0
        found: list[list[object]] = []
        searches = [one.search_memories(EMBEDDER) for one in (store, other)]
        for _ in range(25):
            if chance.random() < 0.6:
                some = [
                    memory(f"m{count + n}", " ".join(chance.choices(WORDS, k=3)), seq=count + n)
                    for n in range(chance.randint(1, 4))
                ]
                seqs.append(remember(store, some))
                count += len(some)
            else:
                rewind(store, chance.choice(seqs))
            found = []
            for search in searches:
                with search.open() as index:
                    found.append(answers(index))
            assert found[0] == found[1]
        store.search_memories(EMBEDDER).rebuild(lines_of)
        with store.search_memories(EMBEDDER).open() as index:
            assert answers(index) == found[0]
        assert store.integrity() == ()
    assert exchanged


def test_a_rewind_of_everything_reads_no_text(home: Path, monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    ever = memories.ever

    def counted(connection: Any, ids: Any = None) -> Any:
        read.extend(ids)
        return ever(connection, ids)

    monkeypatch.setattr(memories, "ever", counted)
    with SqliteStore.open(home) as store:
        first = remember(store, [memory("first", "fox")])
        last = remember(store, [memory(f"m{n}", "dog", seq=n) for n in range(1_200)])
        search = store.search_memories(EMBEDDER)
        for to, count in ((first, 0), (last, 1_200), (0, 0), (last, 1_200)):
            rewind(store, to)
            with search.open() as index:
                assert len(index.match(["dog"], 9_999)) == len(index.nearest([0, 1, 0, 0], 9_999, ALL)) == count
    assert set(read) == {"first"}  # it stayed, or came back, while the others went
