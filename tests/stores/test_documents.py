"""Documents of frameworks: found by their paths, kept in every version, taken back in time, never given out damaged."""

from pathlib import Path

import apsw
import pytest

from tests.stores.builders import database
from undrift import Session, Settings
from undrift.errors import InputError, StoreCorrupt
from undrift.integrations.documents import DocumentChange, Documents
from undrift.stores.base import Document


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


def test_a_change_keeps_the_version_before_it_and_the_same_again_writes_nothing(documents: Documents, home: Path):
    for content in (b"1", b"1", b"2"):
        put(documents, ("a",), content=content)
    with documents.reading("s") as kept:
        assert [one.content for one in kept.under("k")] == [b"2"]
    connection = apsw.Connection(str(database(home)))
    rows = connection.execute("SELECT content, to_seq FROM documents ORDER BY number").fetchall()
    assert rows == [(b"1", 3), (b"2", None)]


def test_a_session_without_a_name_is_refused(documents: Documents):
    with pytest.raises(InputError, match="non-empty"):
        put(documents, ("a",), session="")


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
