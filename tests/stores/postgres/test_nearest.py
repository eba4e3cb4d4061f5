"""The server's index of vectors: it finds what comparing all finds, for its own project alone, and forgets with the lines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores.on_server import OnServer, address_of, server, skip_without_server
from undrift.errors import StoreError
from undrift.stores.base import Context
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

if TYPE_CHECKING:  # numpy is an extra
    from numpy.typing import NDArray

DIMENSION = 16
COUNT = 300
FIRST, SECOND = Scope(project="first"), Scope(project="second")


class Dice:
    """Makes a vector that follows from the text."""

    id, dimension, adds_words = "dice", DIMENSION, False

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        import numpy as np

        return np.array([[random.gauss(0, 1) for _ in range(DIMENSION)] for random in map(Random, texts)])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    skip_without_server()
    pytest.importorskip("numpy", reason="needs the extra `vectors`")
    with owner(tmp_path) as connection:
        if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchall():
            pytest.skip("needs pgvector on the server")
    return tmp_path / "home"


@contextmanager
def owner(home: Path) -> Iterator[Any]:
    import psycopg

    from undrift.stores.postgres.address import ServerAddress

    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute(f"SET search_path TO {ServerAddress.parsed(address_of(home)).schema}, public")
        yield connection


def fill(store: Any, first: int = 0) -> None:
    entries = [
        MemoryEntry(f"m{n}", f"text {n}", scope="user", session_id="s", seq=n) for n in range(first, first + COUNT)
    ]
    lines = [MemoryLine(one.id, one.content, source="even" if one.seq % 2 else "odd", seq=one.seq) for one in entries]
    vectors = Dice().embed([one.content for one in entries])
    changes = [*(MemoryUpdate(None, one) for one in entries), MemoryLines(lines, "dice", DIMENSION, vectors)]
    store.commit(Context(store.scope.of("s"), 1), "remember", changes)


def search_of(store: Any, *, exact: int = 0) -> Any:
    """Return a search whose vectors the server chooses from `exact` vectors on."""
    from undrift.stores.postgres.memory_search import ServerMemorySearch
    from undrift.stores.postgres.nearest import ServerVectors

    def making(table: Any) -> ServerVectors:
        return ServerVectors(table, lambda: store._home, exact=exact)

    return ServerMemorySearch(lambda: store._home, store.memories, Dice(), making)


def nearest(search: Any, text: str, only: Filter = ALL, k: int = 10) -> list[tuple[str, float]]:
    with search.open() as index:
        found = index.nearest(Dice().embed([text])[0], k, only)
        ids = index.ids([number for number, _ in found])
        return [(ids[number], score) for number, score in found]


@pytest.mark.parametrize("only", [ALL, Filter(sources=["even"]), Filter(until_seq=150)], ids=["all", "source", "until"])
def test_it_finds_what_comparing_all_finds_with_the_same_scores(home: Path, only: Filter):
    with OnServer.open(home, FIRST) as store, OnServer.open(home, SECOND) as other:
        fill(store)
        fill(other, COUNT)
        by_index, by_hand = search_of(store), search_of(store, exact=COUNT)
        shares = []
        for number in range(20):
            found, right = nearest(by_index, f"query {number}", only), nearest(by_hand, f"query {number}", only)
            assert {score for one, score in found if one in dict(right)} <= {score for _, score in right}
            shares.append(len(dict(found).keys() & dict(right).keys()) / len(right))
        assert sum(shares) / len(shares) >= 0.95
    with owner(home) as connection:
        assert connection.execute("SELECT count(*) FROM memory_vectors_hnsw").fetchone() == (COUNT,)


def test_the_rows_go_with_the_lines_and_come_again(home: Path):
    with OnServer.open(home, FIRST) as store, owner(home) as connection:
        fill(store)
        search = search_of(store)
        right = nearest(search, "query")
        connection.execute("DELETE FROM memory_lines WHERE name = %s", (right[0][0].encode(),))
        assert connection.execute("SELECT count(*) FROM memory_vectors_hnsw").fetchone() == (COUNT - 1,)
        assert nearest(search_of(store), "query", k=9) == right[1:]
        with search.open() as index:
            index._index.rebuild()
        assert connection.execute("SELECT count(*) FROM memory_vectors_hnsw").fetchone() == (0,)
        assert nearest(search_of(store), "query", k=9) == right[1:]


def test_no_other_organisation_sees_the_rows(home: Path):
    with OnServer.open(home, FIRST) as store, OnServer.open(home, Scope(organisation="rival")) as other:
        fill(store)
        nearest(search_of(store), "query")
        count = "SELECT count(*) FROM memory_vectors_hnsw", ()
        assert store._home.server.read(store._home.caller, count) == [[(COUNT,)]]
        assert other._home.server.read(other._home.caller, count) == [[(0,)]]


def test_an_index_that_is_gone_costs_only_time(home: Path):
    with OnServer.open(home, FIRST) as store, owner(home) as connection:
        fill(store)
        search = search_of(store)
        right = nearest(search, "query")
        connection.execute("DROP TABLE memory_vectors_hnsw")
        assert nearest(search, "query") == right


def test_without_pgvector_it_is_said_what_to_do(home: Path):
    with OnServer.open(home, FIRST) as store, owner(home) as connection:
        connection.execute("CREATE ROLE undrift_test_plain LOGIN")
        try:
            fill(store)
            connection.execute("GRANT undrift_app TO undrift_test_plain")
            plain = address_of(home).replace("postgresql://postgres@", "postgresql://undrift_test_plain@")
            from undrift.stores.postgres.opening import PostgresEngine

            with PostgresEngine.open(plain, FIRST) as poor, pytest.raises(StoreError, match="CREATE EXTENSION vector"):
                nearest(search_of(poor), "query")
        finally:
            connection.execute("DROP OWNED BY undrift_test_plain")
            connection.execute("DROP ROLE undrift_test_plain")
