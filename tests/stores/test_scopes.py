"""Every record carries whose it is; a home of the layout before that is brought up to date, and gives the same windows."""

import gzip
import json
import random
import signal
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.stores.builders import add, database, original, python, raw
from undrift import Session, Settings
from undrift.errors import InputError, StoreError, StoreVersionError
from undrift.stores.base import Context
from undrift.stores.migrations import MIGRATIONS, identify
from undrift.stores.sqlite import SqliteStore
from undrift.stores.tables import TABLES
from undrift.values.scope import Scope

OLD = Path(__file__).parents[1] / "data" / "home_of_version_12"
TURN = json.loads((OLD / "turn.json").read_text(encoding="utf-8"))
"""The history of its session, and the window that the version which wrote it gave."""


def written(home: Path) -> Path:
    home.mkdir(mode=0o700)
    database(home).write_bytes(gzip.decompress((OLD / "undrift.db.gz").read_bytes()))
    database(home).chmod(0o600)
    return home


@pytest.fixture
def old(home: Path) -> Path:
    return written(home)


def window(home: Path) -> Any:
    settings = Settings(budget_tokens=1500, embedder="none")
    with Session.open("old", home=home, settings=settings, clock=lambda: 1_700_000_100_000) as session:
        body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": TURN["history"]}
        return session.prepare(body).body


def test_an_older_home_gives_the_same_window_and_is_kept_as_it_was(old: Path):
    before = database(old).read_bytes()
    assert json.dumps(window(old)["messages"]) == json.dumps(TURN["window"])
    kept = apsw.Connection(str(old / "undrift.db.of-version-12"), flags=apsw.SQLITE_OPEN_READONLY)
    assert identify(kept) == 12
    kept.close()
    with SqliteStore.open(old) as store:
        assert store.integrity() == ()
        assert store.sessions()[0].session_id == "old"
    assert database(old).read_bytes() != before


def test_every_record_carries_its_scope(old: Path):
    SqliteStore.open(old).close()
    connection = raw(old)
    assert connection.execute("SELECT * FROM scopes").fetchall() == [(1, "local", "local", "local")]
    for table in (one.name for one in TABLES if one.columns):
        columns = connection.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchall()
        assert ("scope_number",) in columns, f"{table}: every record has to say whose it is; see `add_scopes`"
        assert connection.execute(f"SELECT count(*) FROM {table} WHERE scope_number <> 1").fetchall() == [(0,)]
    connection.close()


def test_older_code_refuses_the_newer_home_by_name(old: Path):
    SqliteStore.open(old).close()
    connection = raw(old)
    with pytest.raises(StoreVersionError, match=f"version {len(MIGRATIONS)}.*up to version 12") as raised:
        identify(connection, 12)
    assert str(database(old)) in str(raised.value)
    connection.close()


def test_an_update_that_is_killed_at_any_moment_is_done_by_the_next_one(tmp_path: Path):
    chance = random.Random(5)
    code = (
        "import sys; from undrift.stores.sqlite import SqliteStore; print(1, flush=True); SqliteStore.open(sys.argv[1])"
    )
    for number in range(12):
        old = written(tmp_path / f"home{number}")
        with python(code, old) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.uniform(0, 0.06))
            child.kill()
            assert child.wait() in (0, -signal.SIGKILL)
        assert json.dumps(window(old)["messages"]) == json.dumps(TURN["window"])
        with SqliteStore.open(old) as store:
            assert store.integrity() == ()


def test_a_home_with_records_of_somebody_else_is_refused_whole(home: Path):
    """Reads do not filter by scope, so there must be nothing to filter."""
    SqliteStore.open(home).close()
    connection = raw(home)
    connection.execute("INSERT INTO scopes VALUES(2, 'local', 'ann', 'local')")
    connection.close()
    for create in (True, False):
        with pytest.raises(StoreError, match="records of a named organisation, person or project"):
            SqliteStore.open(home, create=create)


def test_a_rewinding_of_another_scope_is_refused(home: Path):
    with SqliteStore.open(home) as store:
        add(store, original("e"))
        with pytest.raises(InputError, match="opened for"):
            store.rewind(Context(Scope("s", person="ann"), 1), 0, "rewind", payload={"to": 0})
        assert len(store.operations("s")) == 1
