"""Search over what left the windows: the right answers, no surprise from any query, and always possible to rebuild."""

from pathlib import Path

import pytest

from tests.stores.builders import Opener, add, commit, original, prune, raw
from undrift.errors import RecallError, StoreCorrupt
from undrift.stores.contract import Store

HOSTILE_QUERIES = [
    "", " ", '"', '""', "'", "*", "NEAR(", "NEAR(a b, 2)", "(" * 2000, ")" * 2000, "\0", "fox\0", "a\0b", "don't", "C++",
    "foo-bar", "text:fox", "session:fox", "AND", "OR", "NOT", "fox AND", "^fox", "fox*", "{", "-fox", "\ud800", "\ud83d\ude00",
    "x" * 100_000, "a " * 50_000, "'; DROP TABLE originals; --", "fox\n\r\t", "é", "日本語", "fox + dog", '"fox', 'fo"x', "%", "\\",
]  # fmt: skip


def found(store: Store, query: str, **options) -> list[str]:
    return [hit.entry_id for hit in store.find(query, **options)]


@pytest.mark.parametrize("query", HOSTILE_QUERIES)
def test_no_query_is_an_error(store: Store, query: str):
    add(store, original("a", "the quick brown fox"), original("b", "nothing of that kind"))
    assert set(found(store, query)) <= {"a", "b"}
    assert found(store, query, session_id="other") == []


def test_operators_in_a_query_are_words(store: Store):
    add(store, original("a", "fox"), original("b", "not near"))
    assert sorted(found(store, "fox NOT fox")) == ["a", "b"]
    assert found(store, "session:73") == []
    assert found(store, "fo*") == []


def test_words_are_found_in_other_forms(store: Store):
    add(store, original("a", "Running the tests"), original("b", "a café"))
    assert found(store, "run test") == ["a"]
    assert found(store, "CAFE") == ["b"]


def test_a_word_with_punctuation_is_a_phrase(store: Store):
    add(store, original("a", "see src/app.py there"), original("b", "the app in src, a py file"))
    assert found(store, "src/app.py") == ["a"]


def test_more_words_of_the_query_rank_higher(store: Store):
    filler = [original(f"f{i}", "other words") for i in range(8)]
    add(store, *filler, original("one", "alpha something else"), original("two", "alpha beta else"))
    hits = store.find("alpha beta missing")
    assert [hit.entry_id for hit in hits] == ["two", "one"]
    assert hits[0].score > hits[1].score > 0
    assert found(store, "alpha beta", limit=1) == ["two"]
    assert found(store, "alpha beta", limit=0) == []


def test_a_hit_names_the_original_and_shows_where(store: Store):
    text = "start " + "filler " * 200 + "the needle is here " + "filler " * 200
    add(store, original("e", text, type="reasoning"))
    (hit,) = store.find("needle")
    assert (hit.ref, hit.session_id, hit.entry_id, hit.type) == (original("e").ref, "s", "e", "reasoning")
    assert "the needle is here" in hit.snippet
    assert len(hit.snippet) < 300


def test_of_a_long_text_a_hit_shows_the_place_of_its_first_match(store: Store):
    add(
        store,
        original("a", "much hay " * 5_000 + "the golden-needle is here " + "much hay " * 5_000 + "a golden needle"),
    )
    for question in ("needle", "golden-needle"):
        (hit,) = store.find(question)
        assert "golden-needle is here" in hit.snippet


def test_content_behind_nul_and_lone_surrogates_is_found(store: Store):
    add(store, original("e", "\ud800 first \0 behind \udfff last"))
    (hit,) = store.find("behind")
    assert "first" in hit.snippet
    assert found(store, "last") == ["e"]


def test_only_what_left_its_window_is_found(store: Store):
    add(store, original("buffered", "needle", source="buffer"), original("pin", "needle", source="pin"))
    assert found(store, "needle") == []
    commit(store, "s", "prune", at_ms=1, decisions=[prune(original("buffered", source="buffer"))])
    assert found(store, "needle") == ["buffered"]
    add(store, original("left", "needle"), original("both", "needle", source="buffer"), prune_them=True)
    assert sorted(found(store, "needle")) == ["both", "buffered", "left"]
    assert store.integrity() == ()


def test_a_session_sees_only_its_own(store: Store):
    for session in ("a", "A", "aa", "b"):
        add(store, original("e", "needle", session=session))
    assert [hit.session_id for hit in store.find("needle", session_id="a")] == ["a"]
    assert found(store, "needle", session_id="") == []
    assert len(store.find("needle")) == 4


def test_words_that_are_everywhere_do_not_count_beside_rarer_ones(store: Store):
    many = [original(f"e{i}", f"common also number{i}") for i in range(5_001)]
    add(store, *many, original("apart", "common and special"))
    add(store, original("e", "common", session="t"))
    assert sorted(found(store, "common number7 special")) == ["apart", "e7"]
    assert found(store, "common also", limit=2) == ["e5000", "e4999"]
    assert found(store, "common also missing", limit=2) == ["e5000", "e4999"]
    assert store.find("common", limit=1)[0].score == 0.0
    assert found(store, "common", session_id="t") == ["e"]
    assert store.find("common", session_id="t")[0].score >= 0.0


BREAKS = [
    "DELETE FROM search_data", "DELETE FROM search_docsize", "DROP TABLE search", "DROP VIEW searchable", "DROP TABLE search_config",
    "DROP TABLE search_data", "DROP TABLE search_idx", "UPDATE search_data SET block = x'00'", "UPDATE search_config SET v = 99",
]  # fmt: skip


@pytest.mark.parametrize("damage", BREAKS)
def test_a_broken_index_is_reported_and_made_anew(open_store: Opener, store: Store, home: Path, damage: str):
    add(store, original("a", "the quick fox"), original("b", "a lazy dog and a fox"))
    before = store.find("fox quick")
    store.close()
    connection = raw(home)
    connection.execute(damage)
    connection.close()
    with open_store(home) as again:
        rebuilt_by_itself = damage in {"DROP TABLE search", "DROP VIEW searchable"}
        assert bool(again.integrity()) is not rebuilt_by_itself
        if damage == "DELETE FROM search_data":
            with pytest.raises(StoreCorrupt, match=r"search index .* rebuild_search"):
                again.find("fox")
        again.rebuild_search()
        assert again.find("fox quick") == before
        assert again.integrity() == ()


@pytest.mark.parametrize("damage", [damage for damage in BREAKS if damage != "DROP TABLE search_idx"])
def test_a_broken_index_does_not_stand_in_the_way_of_a_commit(store: Store, home: Path, damage: str):
    add(store, original("a", "the quick fox"))
    connection = raw(home)
    connection.execute(damage)
    connection.close()
    add(store, original("b", "a lazy dog"))
    assert store.original(original("b").ref).entry.content == "a lazy dog"
    store.rebuild_search()
    assert sorted(found(store, "fox dog")) == ["a", "b"]
    assert store.integrity() == ()


def test_damage_that_may_be_of_the_file_stops_commits_until_the_index_is_made_anew(store: Store, home: Path):
    add(store, original("a", "the quick fox"))
    connection = raw(home)
    connection.execute("DROP TABLE search_idx")
    connection.close()
    with pytest.raises(StoreCorrupt, match="rebuild_search"):
        add(store, original("b", "a lazy dog"))
    with pytest.raises(RecallError):
        store.original(original("b").ref)
    store.rebuild_search()
    add(store, original("b", "a lazy dog"))
    assert sorted(found(store, "fox dog")) == ["a", "b"]


def test_what_leaves_together_is_indexed_together(home: Path, open_store: Opener):
    windows = [original(f"w{number}", f"window {number}") for number in range(200)]
    buffered = [original(f"b{number}", f"buffered {number}", source="buffer") for number in range(4)]
    with open_store(home) as store:
        add(store, *buffered[:3])
        gone = [buffered[0], buffered[3]]  # one that was stored before, one that comes and goes at once
        decisions = [prune(one) for one in (*windows, *gone)]
        kept = [*windows, buffered[3], original("p", "pinned", source="pin")]
        commit(store, "s", "add", at_ms=2, originals=kept, decisions=decisions)
        assert sorted(found(store, "buffered")) == ["b0", "b3"]
        assert len(found(store, "window", limit=500)) == 200
        assert found(store, "pinned") == []
    database = raw(home)
    # One for all: FTS5 makes a segment of each statement, and merging them is what a commit would cost.
    assert database.execute("SELECT count(DISTINCT segid) FROM search_idx").fetchall() == [(1,)]
    database.close()
