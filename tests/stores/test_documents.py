"""Documents of frameworks: found by their paths, kept in every version, taken back in time, never given out damaged."""

from pathlib import Path

import apsw
import pytest

from tests.stores.builders import database
from undrift import Session, Settings
from undrift.errors import InputError, StoreCorrupt
from undrift.integrations.documents import DocumentChange, Documents
from undrift.stores.documents import Document

HOSTILE = ("", "..", "a/b", 'quote"', "\\", "\0", "\ud800", "日本", "[", '"]', "a\nb", "%", "x" * 10_000)


@pytest.fixture
def documents(home: Path):
    with Documents.open(home, settings=Settings(), clock=lambda: 7) as opened:
        yield opened


def put(documents: Documents, *paths: tuple[str, ...], content: bytes = b"x", session: str = "s", kind: str = "k"):
    def act(change: DocumentChange):
        for path in paths:
            change.put(kind, Document(path, {"n": 1}, content))

    documents.change(session, act, about="test")


def paths(documents: Documents, prefix: tuple[str, ...] = (), session: str = "s", **how):
    with documents.reading(session) as kept:
        return [one.path for one in kept.under("k", prefix, **how)]


def test_a_document_is_found_by_its_path_session_and_kind(documents: Documents):
    put(documents, ("a", "b"), content=b"\0\xff")
    with documents.reading("s") as kept:
        found = kept.find("k", ("a", "b"))
        assert found is not None
        assert (found.path, found.record, found.content) == (("a", "b"), {"n": 1}, b"\0\xff")
        assert kept.find("k", ("a",)) is None
        assert kept.find("other", ("a", "b")) is None
    with documents.reading("other") as kept:
        assert kept.find("k", ("a", "b")) is None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_prefix_finds_what_is_under_it_and_nothing_else(documents: Documents, name: str):
    inside = [(name,), (name, "a"), (name, "a", "b")]
    put(documents, *inside, (f"{name}x",), (f"{name}x", "a"), ("other", name))
    assert sorted(paths(documents, (name,))) == sorted(inside)
    assert sorted(paths(documents, (name, "a"))) == sorted(inside[1:])
    assert len(paths(documents)) == 6
    assert paths(documents, (name, "zz")) == []


def test_the_last_ones_come_in_their_order(documents: Documents):
    put(documents, *[(f"{n:03}",) for n in range(9)])
    assert paths(documents, last=3) == [("006",), ("007",), ("008",)]
    assert paths(documents, last=0) == []


def test_a_change_keeps_the_version_before_it_and_the_same_again_writes_nothing(documents: Documents, home: Path):
    for content in (b"1", b"1", b"2"):
        put(documents, ("a",), content=content)
    with documents.reading("s") as kept:
        assert [one.content for one in kept.under("k")] == [b"2"]
    connection = apsw.Connection(str(database(home)))
    rows = connection.execute("SELECT content, to_seq FROM documents ORDER BY number").fetchall()
    assert rows == [(b"1", 3), (b"2", None)]


def test_what_is_raised_in_a_change_undoes_it(documents: Documents):
    def act(change: DocumentChange):
        change.put("k", Document(("a",), {}, b"1"))
        raise KeyError("stop")

    with pytest.raises(KeyError):
        documents.change("s", act, about="test")
    assert paths(documents) == []
    put(documents, ("b",))
    assert paths(documents) == [("b",)]


def test_a_session_without_a_name_is_refused(documents: Documents):
    with pytest.raises(InputError, match="non-empty"):
        put(documents, ("a",), session="")


def test_owners_are_those_who_have_something(documents: Documents):
    put(documents, ("a",), session="one")
    put(documents, ("a",), session="tw\ud800")
    documents.change("one", lambda change: change.close(change.under("k")), about="test")
    assert documents.owners("k") == ["tw\ud800"]


def test_a_rewinding_of_the_session_takes_documents_back_and_an_undo_brings_them_again(
    documents: Documents, home: Path
):
    put(documents, ("a",), content=b"1")
    with Session.open("s", home=home, settings=Settings(), clock=lambda: 8) as session:
        then = session.checkpoint("before")
        put(documents, ("a",), content=b"2")
        put(documents, ("b",))
        put(documents, ("c",), session="other")
        session.rewind(then)
        with documents.reading("s") as kept:
            assert [(one.path, one.content) for one in kept.under("k")] == [(("a",), b"1")]
        assert paths(documents, session="other") == [("c",)]
        session.undo_rewind()
        with documents.reading("s") as kept:
            assert [(one.path, one.content) for one in kept.under("k")] == [(("a",), b"2"), (("b",), b"x")]


@pytest.mark.parametrize("column", ["content", "record", "name", "sha256"])
def test_a_damaged_document_is_not_given_out(documents: Documents, home: Path, column: str):
    put(documents, ("a",))
    connection = apsw.Connection(str(database(home)))
    connection.execute(f"UPDATE documents SET {column} = CAST(replace(CAST({column} AS TEXT), 'x', 'y') AS BLOB)")
    if column != "content":
        connection.execute(f"UPDATE documents SET {column} = x'00'")
    with pytest.raises(StoreCorrupt, match=r"SHA-256|damaged"), documents.reading("s") as kept:
        kept.under("k")
    with Session.open("s", home=home, settings=Settings()) as session:
        assert any("document" in line for line in session._store.integrity())


def test_two_processes_lose_no_change_of_the_other(home: Path):
    with Documents.open(home, settings=Settings()) as one, Documents.open(home, settings=Settings()) as other:

        def count(change: DocumentChange):
            found = change.find("k", ("n",))
            number = 0 if found is None else int(found.content)
            change.put("k", Document(("n",), {}, b"%d" % (number + 1)))

        for _ in range(10):
            one.change("s", count, about="test")
            other.change("s", count, about="test")
        with one.reading("s") as kept:
            assert [document.content for document in kept.under("k")] == [b"20"]
