"""Memories found again: at once, in one ranking that explains itself, with vectors or without."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.stores.test_search import HOSTILE_QUERIES
from undrift.memory.search import OwnSearch, Remembered
from undrift.stores import embed
from undrift.stores.embed import Embedder, WordLlamaEmbedder
from undrift.stores.memory_filter import Filter
from undrift.stores.memory_index import MemoryIndex
from undrift.stores.migrations import migrate

TALK = [
    ("Ann", "Which database shall we use?"),
    ("Bob", "The one with the elephant."),
    ("Ann", "Fine by me."),
    ("Bob", "Lunch now?"),
    ("Ann", "Yes, noodles."),
    ("Bob", "The build is green again."),
]


class Letters:
    """A tiny embedder: how often each letter stands in a text."""

    dimension = 26
    adds_words = True

    def __init__(self, name: str = "letters") -> None:
        self.id = name

    def embed(self, texts: Sequence[str]) -> Any:
        np = pytest.importorskip("numpy", reason="needs the extra `vectors`")
        return np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    opened = apsw.Connection(str(tmp_path / "undrift.db"))
    migrate(opened)
    yield opened
    opened.close()


@pytest.fixture(params=["words", "words and vectors"])
def memory_search(request: pytest.FixtureRequest, connection: apsw.Connection) -> OwnSearch:
    if request.param == "words":
        return OwnSearch(MemoryIndex(connection))
    pytest.importorskip("numpy", reason="needs the extra `vectors`")
    return OwnSearch(MemoryIndex(connection, Letters()))


def talk(**fields: Any) -> list[Remembered]:
    return [
        Remembered(str(n), text, speaker=name, seq=n, **({"source": "chat"} | fields))
        for n, (name, text) in enumerate(TALK)
    ]


def ids(memory_search: OwnSearch, query: str, **options: Any) -> list[str]:
    return [hit.id for hit in memory_search.search(query, **options)]


def test_a_long_text_is_compared_by_its_nearest_passage(connection: apsw.Connection):
    search = OwnSearch(MemoryIndex(connection, Letters()))
    search.add([Remembered("long", "abba cede. " * 60 + "zzzzz yyyyy. " * 24), Remembered("short", "zy ab.")])
    first, second = search.search("yz")
    assert (first.id, second.id) == ("long", "short")
    assert first.why["similarity"] == pytest.approx(1.0, abs=0.01)
    assert first.why["nearest"] == 3
    assert "nearest" not in second.why


def test_what_was_added_is_found_by_the_very_next_search(memory_search: OwnSearch):
    assert memory_search.search("noodles") == []
    for one in talk():
        memory_search.add([one])
        assert ids(memory_search, one.text, k=1) == [one.id]
    assert ids(memory_search, "noodles", k=0) == []


def test_the_answer_to_a_question_is_found_through_it(connection: apsw.Connection):
    memory_search = OwnSearch(MemoryIndex(connection))
    memory_search.add(talk())
    hits = memory_search.search("what did Bob say about the database", k=3)
    assert hits[0].id == "1"
    assert hits[0].why["neighbours"] > 0
    assert hits[0].why["speaker"] > 1
    assert "lexical" not in hits[0].why
    assert {hit.id: hit for hit in hits}["0"].why["statement"] < 1


def test_a_long_text_is_not_found_for_what_stands_beside_it(connection: apsw.Connection):
    memory_search = OwnSearch(MemoryIndex(connection))
    asked = "I am moving the billing service to another database, which one shall I take? "
    memory_search.add([
        Remembered("told", asked * 10, "chat", "user", 1),
        Remembered("answer", "It depends on what you need. " * 100, "chat", "assistant", 2),
        Remembered("apart", "Billing has a database.", "other", "user", 3),
    ])  # fmt: skip
    memory_search.add(Remembered(f"filler {n}", "Other words.", seq=n) for n in range(9))
    assert ids(memory_search, "billing service database") == ["told", "apart", "answer"]


def test_memories_without_a_source_have_no_neighbours(connection: apsw.Connection):
    memory_search = OwnSearch(MemoryIndex(connection))
    memory_search.add(talk(source=""))
    assert ids(memory_search, "database") == ["0"]


@pytest.mark.parametrize("query", HOSTILE_QUERIES)
def test_no_query_and_no_memory_is_an_error(memory_search: OwnSearch, query: str):
    memory_search.add([*talk(), Remembered(query, query, query, query, 7, query, query)])
    found = memory_search.search(query, only=Filter(scopes=[query, ""]))
    assert all(0 < hit.score <= 1 for hit in found)


def test_the_first_hits_do_not_depend_on_how_many_are_asked_for(memory_search: OwnSearch):
    memory_search.add(Remembered(str(n), f"fox {'dog ' * (n % 7)}", "s", "ann", n) for n in range(60))
    assert ids(memory_search, "fox dog", k=5) == ids(memory_search, "fox dog", k=50)[:5]
    assert len(ids(memory_search, "fox dog", k=60)) == 60


def test_what_may_not_be_seen_has_no_part_in_the_ranking(connection: apsw.Connection):
    memory_search = OwnSearch(MemoryIndex(connection))
    memory_search.add(talk())
    assert "1" in ids(memory_search, "database")
    assert ids(memory_search, "database", accept=lambda _: ()) == []
    assert ids(memory_search, "database", accept=lambda found: [one for one in found if one != "0"]) == []
    assert set(ids(memory_search, "database", accept=lambda found: [one for one in found if one != "1"])) == {"0", "2"}
    assert ids(memory_search, "database", only=Filter(until_seq=0)) == ["0"]
    assert ids(memory_search, "database", only=Filter(scopes=["other"])) == []


def test_hits_behind_many_that_may_not_be_seen_are_found(memory_search: OwnSearch):
    memory_search.add(Remembered(f"hidden{n}", "fox") for n in range(900))
    memory_search.add([Remembered("seen", "a fox and much else that makes it a worse match")])
    assert ids(memory_search, "fox", accept=lambda found: {"seen"} & set(found)) == ["seen"]


def test_what_was_removed_is_not_found_and_leaves_no_trace(tmp_path: Path, memory_search: OwnSearch):
    memory_search.add([*talk(), Remembered("secret", "zyzzyva", speaker="Nobody")])
    memory_search.remove(["secret", "unknown"])
    assert "secret" not in ids(memory_search, "zyzzyva")
    connection = memory_search._index._connection
    connection.pragma("secure_delete", True)
    memory_search._index.scour()
    connection.execute("VACUUM")
    content = (tmp_path / "undrift.db").read_bytes()
    assert not any(word in content for word in (b"zyzzyva", b"nobody", b"secret"))
    assert ids(memory_search, "noodles")[0] == "4"


def test_it_takes_part_in_the_caller_s_transaction(memory_search: OwnSearch):
    connection = memory_search._index._connection
    connection.execute("BEGIN IMMEDIATE")
    memory_search.add(talk())
    assert ids(memory_search, "noodles")[0] == "4"
    connection.execute("ROLLBACK")
    assert memory_search.search("noodles") == []
    memory_search.add(talk())
    assert ids(memory_search, "noodles")[0] == "4"


def test_it_can_be_made_anew(memory_search: OwnSearch):
    memory_search.add([*talk(), Remembered("other", "noodles")])
    memory_search.rebuild(talk())
    fresh = memory_search.search("noodles for lunch")
    assert fresh
    assert "other" not in [hit.id for hit in fresh]


def test_an_embedder_that_came_later_gets_its_vectors_at_the_next_search(connection: apsw.Connection):
    pytest.importorskip("numpy", reason="needs the extra `vectors`")
    OwnSearch(MemoryIndex(connection)).add(talk())
    known = {one.id: one.text for one in talk()}

    def texts(wanted: Sequence[str]) -> Mapping[str, str]:
        return {one: known[one] for one in wanted if one != "3"}

    later = OwnSearch(MemoryIndex(connection, Letters("other"), texts=texts))
    assert "dense" in later.search("xyz oodlesn")[0].why
    assert ids(later, "nodleso")[0] == "4"
    OwnSearch(MemoryIndex(connection)).add([Remembered("new", "quux")])
    known["new"] = "quux"
    assert ids(later, "uxuq")[0] == "new"


def test_the_same_memories_give_the_same_scores(tmp_path: Path, connection: apsw.Connection):
    pytest.importorskip("numpy", reason="needs the extra `vectors`")
    one = OwnSearch(MemoryIndex(connection, Letters()))
    one.add(talk())
    second = apsw.Connection(str(tmp_path / "second.db"))
    migrate(second)
    other = OwnSearch(MemoryIndex(second, Letters()))
    for memory in talk():
        other.add([memory])
    assert one.search("lunch with Ann") == other.search("lunch with Ann")
    second.close()


@pytest.fixture
def wordllama() -> Embedder:
    if not embed.is_installed():
        pytest.skip("needs the extra `vectors`")
    return WordLlamaEmbedder()


def test_the_model_of_the_package_finds_what_has_no_word_in_common(connection: apsw.Connection, wordllama: Embedder):
    memory_search = OwnSearch(MemoryIndex(connection, wordllama))
    memory_search.add(
        [
            Remembered("pet", "My kitten sleeps all day"),
            Remembered("car", "The engine needs oil"),
            Remembered("db", "SQL tables"),
        ]
    )
    assert ids(memory_search, "which cat")[0] == "pet"
    assert wordllama.id.startswith("wordllama/l2_supercat/256/")


def test_the_model_takes_any_text_and_leaves_logging_alone(wordllama: Embedder):
    import logging

    before = (list(logging.getLogger().handlers), logging.getLogger().level)
    vectors = wordllama.embed(["", "\ud800\0", "word " * 100_000, "cat", " "])
    assert vectors.shape == (5, 256)
    assert not vectors[0].any()
    assert (vectors[3] == wordllama.embed(["cat"])[0]).all()
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before


def test_no_network_is_needed(wordllama: Embedder, monkeypatch: pytest.MonkeyPatch, connection: apsw.Connection):
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    memory_search = OwnSearch(MemoryIndex(connection, wordllama))
    memory_search.add(talk())
    assert ids(memory_search, "noodles")
