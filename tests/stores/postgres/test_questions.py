"""The number of questions to the server: it does not grow with the segments, the rated searches or the other sessions."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores.builders import commit, memory, original, prune, remember
from tests.stores.on_server import OnServer, skip_without_server
from undrift.stores.base import Aim, Document
from undrift.stores.documents import document_content
from undrift.values.readings import StretchReading
from undrift.window.blanking import blanked

if TYPE_CHECKING:  # the driver is an extra
    from undrift.stores.postgres.store import PostgresStore

MANY = 40
PURGED = partial(blanked, act="purged", at_ms=2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    skip_without_server()
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator["PostgresStore"]:
    with OnServer.open(home) as opened:
        yield opened


@contextmanager
def questions() -> Iterator[list[str]]:
    """Note the statements of each round trip."""
    from undrift.stores.postgres.connection import DatabaseServer

    noted: list[str] = []
    before = DatabaseServer._run
    patched: Any = DatabaseServer

    def run(server: Any, caller: Any, statements: Any, **more: Any) -> Any:
        noted.append(" ".join(text for text, _ in statements))
        return before(server, caller, statements, **more)

    patched._run = run
    try:
        yield noted
    finally:
        patched._run = before


def test_segments_are_read_together(store: "PostgresStore"):
    for number in range(MANY):
        one = original(f"e{number}", f"a text about number {number}")
        commit(store, "s", "prune", at_ms=1, originals=[one], decisions=[prune(one)])
    with questions() as asked:
        assert store.integrity() == ()
        assert len(store.find("about", limit=MANY)) == MANY
    assert sum("FROM segments" in one for one in asked) == 3  # to check, to index and to search
    assert len(asked) < 15


def test_the_ratings_of_many_sessions_are_one_question(home: Path, store: "PostgresStore"):
    for number in range(MANY):
        payload = {"returned": number % 3, "useful": 0}
        commit(store, f"s{number}", "rate_search", at_ms=number, payload=payload)
    with OnServer.open(home) as other, questions() as asked:
        assert other.ratings(3) == [(2, 0), (1, 0), (2, 0)]
    assert len(asked) == 1


def test_a_purge_reads_another_session_once(home: Path, store: "PostgresStore"):
    remember(store, memory("m"))
    for number in range(9):
        commit(store, f"other{number}", "turn", at_ms=1, payload={"about": "m" if number == 3 else "n"})
    with OnServer.open(home) as other, questions() as asked:
        done = other.purge([Aim("memory", "s", name="m", agent="main")], PURGED, at_ms=2)
    assert done is not None
    loads = [one for one in asked if "FROM sessions s LEFT JOIN operations o" in one]
    assert len(loads) <= 9 + 6


def test_what_is_written_is_packed_once_though_another_process_wrote_first(
    home: Path, store: "PostgresStore", monkeypatch: pytest.MonkeyPatch
):
    from undrift.stores import packing, readings
    from undrift.stores.postgres import changes

    packed: list[bytes] = []

    def framed(record: bytes) -> bytes:
        packed.append(record)
        return bytes(packing.framed(record))

    for module in (readings, changes):
        monkeypatch.setattr(module, "framed", framed, raising=False)
    commit(store, "s", "turn", at_ms=1)
    with OnServer.open(home) as other:
        commit(other, "s", "turn", at_ms=2)
    commit(store, "s", "turn", at_ms=3, readings=[StretchReading("k", "", "a" * 64, 1, b"record")])
    assert [one.kind for one in store.operations("s")] == ["turn"] * 3
    assert packed == [b"record"]


def test_of_many_documents_only_those_that_are_wanted_are_read(store: "PostgresStore", monkeypatch: pytest.MonkeyPatch):
    from undrift.stores.postgres import documents

    def fill(change: Any) -> None:
        for number in range(MANY):
            change.put("k", Document(("a" if number % 4 else "b", f"{number:02}"), {}, b"text"))

    store.change_documents("s", fill, at_ms=1, payload={})
    read: list[Any] = []

    def content(row: Any) -> bytes:
        read.append(row)
        return bytes(document_content(row))

    monkeypatch.setattr(documents, "document_content", content)
    with store.documents("s") as kept:
        assert [one.path for one in kept.under("k", ("b",), last=2)] == [("b", "32"), ("b", "36")]
        assert len(kept.under("k", ("b",))) == MANY / 4
    assert len(read) == 2 + MANY / 4
