"""Memories found again: by their words, by what is true of them at a moment, and where they stand beside each other."""

from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import Opener, commit, memory
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import DimensionError
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

ME = Viewer("main", "s")


class Letters:
    """Makes a vector of how often three letters stand in a text."""

    id, dimension, adds_words = "letters", 3, False

    def embed(self, texts: Any) -> list[list[float]]:
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def put(store: Store, *lines: MemoryLine, session: str = "s") -> int:
    """Remember lines and make them searchable, in one commit."""
    new = [
        MemoryUpdate(None, memory(line.id or "-", line.text or "-", seq=line.seq, source=line.source)) for line in lines
    ]
    return commit(store, session, "remember", at_ms=1, memories=new, lines=[MemoryLines(lines)])


def found(store: Store, *words: str, limit: int = 10, only: Filter = ALL, taken_back: bool = False) -> list[str]:
    with store.search_memories().open() as index:
        numbers = [hit.number for hit in index.match(words, limit, only, taken_back=taken_back)]
        places = index.places(numbers)
        return [places[number].id for number in numbers]


def test_words_are_found_in_other_forms_and_more_of_them_rank_higher(store: Store):
    put(store, *(MemoryLine(f"f{n}", "filler words") for n in range(8)))
    put(store, MemoryLine("one", "running something"), MemoryLine("two", "Running the TESTS"))
    assert found(store, "run", "test", "missing") == ["two", "one"]
    assert found(store, "run", "test", limit=1) == ["two"]
    assert found(store) == found(store, "missing") == found(store, "") == []


def test_what_is_written_is_found_by_the_next_search_of_another(open_store: Opener, store: Store, home: Path):
    with open_store(home) as other:
        assert found(other, "fox") == []
        put(store, MemoryLine("a", "the quick fox"))
        assert found(other, "fox") == ["a"]


def test_a_hit_says_what_share_of_the_words_stands_together(store: Store):
    put(store, *(MemoryLine(f"f{n}", "filler words") for n in range(8)))
    put(store, MemoryLine("near", "x " * 50 + "deploy the host"), MemoryLine("far", "deploy " + "x " * 50 + "host"))
    with store.search_memories().open() as index:
        hits = {index.places([hit.number])[hit.number].id: hit.together for hit in index.match(["deploy", "hosts"], 9)}
    assert hits == {"near": pytest.approx(1.0), "far": pytest.approx(0.5)}


@pytest.mark.parametrize("query", ["'", '"', "NEAR(", "a AND", "*", "col:", "\0", "\ud800", "x" * 100_000, "-", "%"])
def test_no_query_is_an_error(store: Store, query: str):
    put(store, MemoryLine("a", "the quick brown fox"), MemoryLine("b", f"x {query}"))
    assert set(found(store, query, "fox")) <= {"a", "b"}
    with store.search_memories().open() as index:
        assert index.speakers([query]) == {}


def test_a_filter_lets_through_what_it_names(store: Store):
    put(
        store,
        MemoryLine("plan", "fox", source="plan", scope="s", type="note", seq=1),
        MemoryLine("talk", "fox", source="talk", type="lesson_learned", seq=2),
        MemoryLine("tool", "fox", type="note", seq=3, tier=0),
    )
    for only, ids in (
        (ALL, {"plan", "talk", "tool"}),
        (Filter(sources={"plan"}), {"plan"}),
        (Filter(scopes={""}), {"talk", "tool"}),
        (Filter(types={"note"}), {"plan", "tool"}),
        (Filter(types={"note"}, least_tier=1), {"plan"}),
        (Filter(least_tier=3), set()),
        (Filter(until_seq=2), {"plan", "talk"}),
        (Filter(sources=set()), set()),
    ):
        assert set(found(store, "fox", only=only)) == ids


def test_memories_of_a_tier_are_weighed_among_themselves_for_any_flood_below_them(store: Store):
    said = [MemoryLine("both", "the deploy host", tier=3), MemoryLine("one", "a host of guests", tier=3)]
    put(store, *said, MemoryLine("agent", "deploy host host", tier=1))
    words, users = ["deploy", "host", "staging"], Filter(least_tier=3)
    with store.search_memories().open() as index:
        before = index.match(words, 10, users)
        shares = {index.places([hit.number])[hit.number].id: hit.score for hit in before}
        assert list(shares) == ["both", "one"]
        assert 0 < shares["one"] < shares["both"] < 1
        (whole,) = index.match(["deploy"], 10, users)
        assert whole.score == pytest.approx(1.0)
    put(store, *(MemoryLine(f"tool{n}", "deploy host staging", tier=n % 3) for n in range(200)))
    with store.search_memories().open() as index:
        assert index.match(words, 10, users) == before
        assert len(index.match(words, 500, Filter(least_tier=1))) == 3 + 133


def test_the_nearest_of_a_tier_are_found_behind_a_flood_of_nearer_vectors(store: Store):
    embedder: Any = Letters()
    put(store, MemoryLine("said", "aab", tier=3))
    put(store, *(MemoryLine(f"tool{n}", "a" * (n + 1), tier=n % 3) for n in range(200)))
    with store.search_memories(embedder).open() as index:
        near = [number for number, _ in index.nearest([1.0, 0.0, 0.0], 200, Filter(least_tier=3))]
        assert "said" in {place.id for place in index.places(near, Filter(least_tier=3)).values()}


def test_what_is_true_at_a_moment_is_seen_then(store: Store):
    first = put(store, MemoryLine("one", "fox"))
    second = put(store, MemoryLine("two", "fox"))
    third = commit(store, "s", "forget", at_ms=1, memories=[MemoryUpdate(memory("one", "fox"), None)])
    for seq, there in ((first, {"one"}), (second, {"one", "two"}), (third, {"two"}), (None, {"two"})):
        with store.search_memories().open() as index:
            assert index.visible(["one", "two", "three"], Viewer("main", "s", seq)) == there


def test_what_was_taken_back_is_searched_apart(store: Store):
    then = put(store, MemoryLine("one", "fox"))
    last = put(store, MemoryLine("two", "fox"))
    store.rewind(Context(Scope("s"), 1), then, "rewind", payload={"to": then})
    assert (found(store, "fox"), found(store, "fox", taken_back=True)) == (["one"], ["two"])
    store.rewind(Context(Scope("s"), 1), last, "rewind", payload={"to": last})
    assert set(found(store, "fox")) == {"one", "two"}
    assert found(store, "fox", taken_back=True) == []


def test_what_was_closed_is_searched_apart(store: Store):
    put(store, MemoryLine("one", "fox"), MemoryLine("two", "fox"))
    commit(store, "s", "forget", at_ms=1, memories=[MemoryUpdate(memory("one", "fox"), None)])
    assert (found(store, "fox"), found(store, "fox", taken_back=True)) == (["two"], ["one"])


def test_neighbours_are_of_one_source_and_scope_and_in_their_order(store: Store):
    lines = [MemoryLine(str(n), f"word{n}", source="talk", speaker=f"ann {n}", seq=n, asks=n == 2) for n in range(5)]
    put(store, *lines, MemoryLine("alone", "word2"), MemoryLine("other", "x", source="talk", scope="t", seq=2))
    with store.search_memories().open() as index:
        numbers = [hit.number for hit in index.match(["word2"], 10)]
        places = index.places(numbers)
        (place,) = (places[number] for number in numbers if places[number].id == "2")
        names = [[None if one is None else places[one].id for one in side] for side in (place.before, place.after)]
        assert names == [["1", "0"], ["3", "4"]]
        assert (place.speaker, place.asks, place.length, place.tier, place.source) == ("ann 2", True, 5, 1, "talk")
        (alone,) = (places[number] for number in numbers if places[number].id == "alone")
        assert alone.before == alone.after == (None, None)
        assert {one.id for one in places.values()} == {"0", "1", "2", "3", "4", "alone"}


def test_speakers_are_known_by_their_whole_name_or_its_first_word(store: Store):
    then = put(store, MemoryLine("a", "x", speaker="ann lee"), MemoryLine("b", "x", speaker="ann"))
    put(store, MemoryLine("c", "x", speaker="anna"), session="t")
    with store.search_memories().open() as index:
        assert index.speakers(["ann", "ann lee", "lee", "anna"]) == {
            "ann": {"ann", "ann lee"}, "ann lee": {"ann lee"}, "anna": {"anna"},
        }  # fmt: skip
    assert then
    store.rewind(Context(Scope("s"), 1), 0, "rewind", payload={"to": 0})
    with store.search_memories().open() as index:
        assert index.speakers(["ann", "anna"]) == {"anna": {"anna"}}


def test_vectors_are_near_by_what_they_mean_and_a_missing_one_is_made(store: Store):
    embedder: Any = Letters()
    lines = [MemoryLine("a", "aaa"), MemoryLine("b", "bbb"), MemoryLine("nothing", "xyz")]
    put(store, lines[0])
    new = [MemoryUpdate(None, memory(line.id, line.text)) for line in lines[1:]]
    vectors = MemoryLines(lines[1:], embedder.id, 3, embedder.embed([line.text for line in lines[1:]]))
    commit(store, "s", "remember", at_ms=1, memories=new, lines=[vectors])
    with store.search_memories(embedder).open() as index:
        near = index.nearest([1.0, 0.5, 0.0], 9, ALL)
        assert [index.places([number])[number].id for number, _ in near] == ["a", "b"]
        assert [round(score, 3) for _, score in near] == [0.894, 0.447]
        assert index.embedder is embedder
    with store.search_memories().open() as index:
        assert index.nearest([1.0, 0.0, 0.0], 9, ALL) == []


def test_a_vector_of_another_length_is_refused_and_nothing_is_written(store: Store):
    with pytest.raises(DimensionError):
        commit(store, "s", "remember", at_ms=1, lines=[MemoryLines([MemoryLine("a", "fox")], "letters", 3, [[1.0]])])
    assert found(store, "fox") == []
    assert store.operations("s") == ()


def test_it_can_be_rebuilt_from_the_memories(store: Store):
    def lines(entries: list[MemoryEntry]) -> list[MemoryLine]:
        return [MemoryLine(one.id, one.content, seq=one.seq) for one in entries]

    then = put(store, MemoryLine("one", "fox"))
    put(store, MemoryLine("two", "fox"))
    put(store, MemoryLine("three", "dog"), session="t")
    store.rewind(Context(Scope("s"), 1), then, "rewind", payload={"to": then})
    assert store.search_memories().rebuild(lines) == 2
    assert (found(store, "fox"), found(store, "fox", taken_back=True), found(store, "dog")) == (
        ["one"],
        ["two"],
        ["three"],
    )
    store.search_memories().scour()
    assert found(store, "fox") == ["one"]


def test_the_next_place_is_behind_all(store: Store):
    first = store.next_memory_seq()
    put(store, MemoryLine("one", "fox", seq=first))
    assert store.next_memory_seq() > first
    assert store.next_memory_seq() == store.next_memory_seq()


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_ids_are_only_names(store: Store, hostile: str):
    line = MemoryLine(hostile, f"needle {hostile}", source=hostile, speaker=hostile, scope=hostile, type=hostile)
    put(store, line, MemoryLine("other", "needle"))
    assert set(found(store, "needle")) == {hostile, "other"}
    assert found(store, "needle", only=Filter(scopes=[hostile], sources=[hostile], types=[hostile])) == [hostile]
    with store.search_memories().open() as index:
        assert index.visible([hostile, "other"], ME) == {hostile, "other"}
