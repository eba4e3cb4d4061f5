"""LanceDB is disposable: missing, stale or damaged, the answers stay the same, and few files stay behind."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.stores.builders import python
from tests.stores.vector_builders import drop, found, made, put, truth
from undrift.errors import StoreError
from undrift.stores.lance import LanceIndex
from undrift.stores.migrations import migrate, transaction
from undrift.stores.vectors import VectorTable

pytest.importorskip("lancedb", reason="needs the extra `lancedb`: make lance")


def opened(home: Path) -> LanceIndex:
    connection = apsw.Connection(str(home / "undrift.db"))
    connection.set_busy_timeout(60_000)
    connection.pragma("journal_mode", "wal")
    migrate(connection)
    return LanceIndex(VectorTable(connection, "e", 64), home / "vectors")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LanceIndex]:
    made_index = opened(tmp_path)
    yield made_index
    made_index._table.connection.close()


def files(home: Path) -> list[Path]:
    return [path for path in (home / "vectors").rglob("*") if path.is_file()]


def truncate(paths: list[Path]) -> None:
    for path in paths:
        path.write_bytes(b"")


def newest(paths: list[Path]) -> list[Path]:
    return [max(paths, key=lambda path: path.stat().st_mtime_ns)]


def delete(paths: list[Path]) -> None:
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def scramble(paths: list[Path]) -> None:
    for path in paths:
        path.write_bytes(os.urandom(path.stat().st_size))


def data(home: Path) -> list[Path]:
    return [path for path in files(home) if path.suffix == ".lance"]


def manifests(home: Path) -> list[Path]:
    return [path for path in files(home) if path.suffix == ".manifest"]


DAMAGE: dict[str, Callable[[Path], None]] = {
    "all gone": lambda home: delete([home / "vectors"]),
    "an empty folder": lambda home: delete(list((home / "vectors").iterdir())),
    "empty data": lambda home: truncate(data(home)),
    "an empty manifest": lambda home: truncate(newest(manifests(home))),
    "no manifest": lambda home: delete(manifests(home)),
    "noise": lambda home: scramble(files(home)),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("open_again", [False, True])
def test_a_damaged_index_is_made_anew(index: LanceIndex, tmp_path: Path, damage: str, open_again: bool):
    given = made(900)
    put(index, given)
    before = index.search(given[1], 30)
    DAMAGE[damage](tmp_path)
    again = opened(tmp_path) if open_again else index
    assert again.search(given[1], 30) == before
    put(again, made(300, seed=8), first=900)
    assert again.search(given[1], 5)[0] == before[0]
    assert again.search(given[1], 30) == again.search(given[1], 30)
    assert files(tmp_path)
    again._table.connection.close()


def test_an_index_that_is_older_or_newer_than_the_database_is_not_believed(index: LanceIndex, tmp_path: Path):
    given = made(1_200)
    numbers = put(index, given[:600])
    found(index, given[0])
    shutil.copytree(tmp_path / "vectors", tmp_path / "older")
    database = (tmp_path / "undrift.db").read_bytes() if index._table.connection.wal_checkpoint() else b""
    numbers += put(index, given[600:], first=600)
    query = made(1, seed=9)[0]
    before = found(index, query, 30)
    assert before == truth(given, numbers, query, 30)
    index._table.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    index._table.connection.close()
    shutil.move(tmp_path / "vectors", tmp_path / "newer")
    shutil.move(tmp_path / "older", tmp_path / "vectors")
    older = opened(tmp_path)
    assert found(older, query, 30) == before
    older._table.connection.close()
    for name in ("undrift.db-wal", "undrift.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "undrift.db").write_bytes(database)
    shutil.rmtree(tmp_path / "vectors")
    shutil.move(tmp_path / "newer", tmp_path / "vectors")
    newer = opened(tmp_path)
    assert found(newer, query, 30) == truth(given[:600], numbers[:600], query, 30)
    other = made(300, seed=10)
    more = put(newer, other, first=600)
    assert found(newer, other[5], 1) == [more[5]]
    newer._table.connection.close()


def test_where_lancedb_cannot_write_every_vector_is_compared(tmp_path: Path):
    (tmp_path / "vectors").write_text("in the way")
    index = opened(tmp_path)
    given = made(600)
    numbers = put(index, given)
    query = made(1, seed=11)[0]
    assert found(index, query, 10) == truth(given, numbers, query, 10)
    index._table.connection.close()


def test_many_single_writes_leave_few_files(index: LanceIndex, tmp_path: Path):
    given = made(3_000)
    for n in range(0, 3_000, 2):
        put(index, given[n : n + 2], first=n)
        if n % 100 == 0:
            found(index, given[n], 1)
    assert len(files(tmp_path)) <= 200
    payload = 3_000 * 64 * 4
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 3 * payload


def test_no_trace_of_what_was_removed_stays_after_scouring(index: LanceIndex, tmp_path: Path):
    given = made(600)
    numbers = put(index, given, scope="secretscope")
    others = put(index, made(300, seed=12), first=600, scope="kept")
    found(index, given[0])
    drop(index, numbers)
    vector = index._table.unit(given[7]).tobytes()
    index.scour()
    content = b"".join(path.read_bytes() for path in files(tmp_path))
    assert b"secretscope" not in content
    assert vector not in content
    assert len(found(index, made(1, seed=12)[0], 5)) == 5
    assert set(found(index, made(1, seed=12)[0], 5)) <= set(others)


WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from tests.stores.test_lance import found, made, opened, put
index = opened(Path(sys.argv[1]))
which = int(sys.argv[2])
given = made(200, seed=which)
for n in range(200):
    put(index, given[n:n + 1], first=1_000 * which + n)
    if n % 20 == 0:
        assert found(index, given[n], 1)
index._table.connection.close()
"""


def test_four_writers_lose_nothing(tmp_path: Path):
    opened(tmp_path)._table.connection.close()
    paths = [path for path in sys.path if path]
    runs = [python(WRITER.replace("-W error", ""), tmp_path, which, *paths) for which in range(1, 5)]
    for run in runs:
        _, errors = run.communicate(timeout=300)
        assert run.returncode == 0, errors
    index = opened(tmp_path)
    for which in range(1, 5):
        given = made(200, seed=which)
        for vector in given[::20]:
            assert index.search(vector, 1)[0][1] == pytest.approx(1.0, abs=1e-5)
    with transaction(index._table.connection):
        state = index._table.state
    assert len(index._table.numbers(state)) == 800
    assert index.search(made(1)[0], 800)
    index._table.connection.close()


def test_without_the_package_there_is_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(StoreError, match=r"undrift\[lancedb\]"):
        opened(tmp_path)
