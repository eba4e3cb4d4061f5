"""Memories by their words: the right ones, in the right order, from any text and for any query."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import apsw
import pytest

from tests.stores.test_search import HOSTILE_QUERIES
from undrift.stores import memory_search
from undrift.stores.cleaning import wash
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_search import add, known_speakers, match, match_of_tier, places, remove, scour
from undrift.stores.memory_values import MemoryLine
from undrift.stores.migrations import migrate, transaction


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    opened = apsw.Connection(str(tmp_path / "undrift.db"))
    migrate(opened)
    yield opened
    opened.close()


def put(connection: apsw.Connection, *lines: MemoryLine) -> dict[str, int]:
    with transaction(connection):
        return add(connection, lines)


def found(connection: apsw.Connection, *words: str, limit: int = 10, only: Filter = ALL) -> list[str]:
    numbers = [hit.number for hit in match(connection, words, limit, only)]
    ids = memory_search.ids_of(connection, numbers)
    return [ids[number] for number in numbers]


def test_words_are_found_in_other_forms_and_more_of_them_rank_higher(connection: apsw.Connection):
    put(connection, *(MemoryLine(f"f{n}", "filler words") for n in range(8)))
    put(connection, MemoryLine("one", "running something"), MemoryLine("two", "Running the TESTS"))
    assert found(connection, "run", "test", "missing") == ["two", "one"]
    assert found(connection, "run", "test", limit=1) == ["two"]
    assert found(connection) == []


@pytest.mark.parametrize("query", HOSTILE_QUERIES)
def test_no_query_is_an_error(connection: apsw.Connection, query: str):
    put(connection, MemoryLine("a", "the quick brown fox"), MemoryLine("b", query))
    assert set(found(connection, query, "fox")) <= {"a", "b"}
    known_speakers(connection, [query])


def test_ids_scopes_and_texts_may_hold_anything(connection: apsw.Connection):
    odd = ["\0", "a\0b", "\ud800", "é", "", "'", "x" * 100_000]
    put(connection, *(MemoryLine(text, f"needle {text}", scope=text, source=text, type=text) for text in odd))
    assert sorted(found(connection, "needle")) == sorted(odd)
    for text in odd:
        assert found(connection, "needle", only=Filter(scopes=[text], sources=[text], types=[text])) == [text]


def test_what_is_there_already_stays(connection: apsw.Connection):
    assert list(put(connection, MemoryLine("a", "fox"))) == ["a"]
    assert put(connection, MemoryLine("a", "dog")) == {}
    assert found(connection, "fox", "dog") == ["a"]
    assert found(connection, "dog") == []


def test_what_was_removed_is_gone_and_its_number_is_not_given_out_again(connection: apsw.Connection):
    (first,) = put(connection, MemoryLine("a", "fox", speaker="ann")).values()
    with transaction(connection):
        remove(connection, [first, 999])
    assert found(connection, "fox") == []
    assert memory_search.numbers_of(connection, ["a", "b"]) == {}
    (second,) = put(connection, MemoryLine("a", "fox")).values()
    assert second > first
    assert found(connection, "fox") == ["a"]


def test_scouring_leaves_no_word_of_what_was_removed(tmp_path: Path, connection: apsw.Connection):
    connection.pragma("secure_delete", True)
    numbers = put(
        connection, MemoryLine("secretid", "zyzzyva", speaker="secretname"), MemoryLine("b", "fox", speaker="bob")
    )
    with transaction(connection):
        remove(connection, [numbers["secretid"]])
        scour(connection)
    assert wash(lambda: nullcontext(connection), "memory_text")
    connection.execute("VACUUM")
    content = (tmp_path / "undrift.db").read_bytes()
    assert not any(word in content for word in (b"zyzzyva", b"secretname", b"secretid"))
    assert found(connection, "fox") == ["b"]
    assert known_speakers(connection, ["bob", "secretname"]) == {"bob": {"bob"}}


def test_filters_hold_before_the_limit(connection: apsw.Connection):
    put(connection, *(MemoryLine(f"other{n}", "fox", scope="other") for n in range(20)))
    put(connection, MemoryLine("mine", "a fox far less to the point than those", scope="mine", type="note", seq=5))
    assert found(connection, "fox", limit=1, only=Filter(scopes=["mine"])) == ["mine"]
    assert found(connection, "fox", limit=1, only=Filter(until_seq=4, types=["note"])) == []
    assert found(connection, "fox", limit=1, only=Filter(until_seq=5, types=["note"])) == ["mine"]
    assert found(connection, "fox", only=Filter(scopes=[])) == []


def test_what_is_vouched_for_is_found_by_how_rare_a_word_is_among_it(connection: apsw.Connection):
    put(connection, MemoryLine("user", "the deploy host"), MemoryLine("wiki", "a host of pages, host"))
    put(connection, *(MemoryLine(f"tool{n}", "deploy host deploy host", tier=0) for n in range(5_001)))
    trusted = Filter(least_tier=1)
    hits = match_of_tier(connection, ["deploy", "host"], 10, trusted)
    ids = memory_search.ids_of(connection, [hit.number for hit in hits])
    assert [ids[hit.number] for hit in hits] == ["user", "wiki"]
    assert hits[0].score == pytest.approx(1.0)
    assert hits[0].score > hits[1].score > 0
    assert match_of_tier(connection, ["deploy", "host"], 1, trusted) == hits[:1]
    assert match_of_tier(connection, ["pages"], 10, Filter(types=["note"], least_tier=1)) == []
    assert match_of_tier(connection, ["?"], 10, trusted) == []
    assert match_of_tier(connection, ["deploy"], 10, Filter(least_tier=3)) == []
    assert places(connection, [1, 3], trusted).keys() == {1}


def test_neighbours_are_those_of_the_same_source_and_scope_by_their_place(connection: apsw.Connection):
    def line(name: str, seq: int, source: str = "a", scope: str = "x") -> MemoryLine:
        return MemoryLine(name, name, source, f"s{name}", seq, scope)

    given = [line("c", 3), line("a", 1), line("b", 2), line("d", 3), line("e", 9)]
    others = [line("f", 2, source="b"), line("g", 2, scope="y"), line("h", 2, source=""), line("i", 3, source="")]
    numbers = put(connection, *given, *others)
    names = {number: name for name, number in numbers.items()} | {None: None}
    at = places(connection, [numbers["c"], numbers["h"]])
    place = at[numbers["c"]]
    assert [names[one] for one in (*place.before, *place.after)] == ["b", "a", "d", "e"]
    assert {names[number] for number in at} == {"a", "b", "c", "d", "e", "h"}
    assert at[numbers["h"]].before == at[numbers["h"]].after == (None, None)
    assert at[numbers["e"]].speaker == "se"
    assert {names[number] for number in places(connection, [numbers["c"]], Filter(until_seq=3))} == {"a", "b", "c", "d"}


def test_a_speaker_is_known_by_the_whole_name_or_its_first_word(connection: apsw.Connection):
    put(connection, *(MemoryLine(name, "x", speaker=name) for name in ("mary ann", "mary", "bob", "bobby", "")))
    assert known_speakers(connection, ["mary", "ann", "bob", "mary ann", ""]) == {
        "mary": {"mary", "mary ann"},
        "mary ann": {"mary ann"},
        "bob": {"bob"},
    }


def test_words_that_are_everywhere_do_not_count_beside_rarer_ones(connection: apsw.Connection):
    put(connection, *(MemoryLine(f"e{n}", f"common also number{n}") for n in range(5_001)))
    put(connection, MemoryLine("apart", "common and special"))
    assert sorted(found(connection, "common", "number7", "special")) == ["apart", "e7"]
    newest = found(connection, "common", "also", "missing", limit=6_000)
    assert len(newest) == 5_000
    assert "e0" not in newest
    assert found(connection, "common", "also", limit=1) == ["e5000"] or found(connection, "common", limit=1)


def test_the_index_can_be_filled_anew(connection: apsw.Connection):
    put(connection, MemoryLine("a", "fox", speaker="ann"))
    with transaction(connection):
        memory_search.clear(connection)
        add(connection, [MemoryLine("b", "fox")])
    assert found(connection, "fox") == ["b"]
    assert known_speakers(connection, ["ann"]) == {}
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
