"""Every record carries whose it is; a home of each earlier layout is brought up to date, and gives the same windows."""

import gzip
import json
import random
import signal
import time
from pathlib import Path

import apsw
import pytest

from tests.stores.builders import add, database, original, raw
from tests.stores.forks import Forks
from undrift import Session, Settings
from undrift.errors import InputError, StoreError, StoreVersionError
from undrift.stores.base import Context
from undrift.stores.migrations import MIGRATIONS, identify
from undrift.stores.sqlite import SqliteStore
from undrift.stores.tables import TABLES
from undrift.values.scope import Scope

DATA = Path(__file__).parents[1] / "data"
VERSIONS = (12, 13, 14, 15, 16, 17)
"""Layouts of which a small home stands there, as a session wrote it: its history, and the window that it got."""
KILLS = 12


class Old:
    """A home as code of an earlier layout left it."""

    def __init__(self, home: Path, version: int) -> None:
        self.home, self.version = home, version
        source = DATA / f"home_of_version_{version}"
        turn = json.loads((source / "turn.json").read_text(encoding="utf-8"))
        self.history, self.window = turn["history"], json.dumps(turn["window"])
        home.mkdir(mode=0o700)
        database(home).write_bytes(gzip.decompress((source / "undrift.db.gz").read_bytes()))
        database(home).chmod(0o600)

    def sent(self, as_bytes: bool = False) -> str:
        """The window that today's code gives."""
        body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": self.history}
        settings = Settings(budget_tokens=1500, embedder="none")
        with Session.open("old", home=self.home, settings=settings, clock=lambda: 1_700_000_100_000) as session:
            found = session.prepare(json.dumps(body).encode() if as_bytes else body).body
        return json.dumps((json.loads(found) if as_bytes else found)["messages"])

    def kept_version(self) -> int:
        """The layout of the file that is kept beside the one that was brought up to date."""
        kept = apsw.Connection(
            str(self.home / f"undrift.db.of-version-{self.version}"), flags=apsw.SQLITE_OPEN_READONLY
        )
        try:
            return identify(kept)
        finally:
            kept.close()


@pytest.fixture(params=VERSIONS)
def old(home: Path, request: pytest.FixtureRequest) -> Old:
    return Old(home, request.param)


def test_a_home_of_each_earlier_layout_stands_here():
    assert VERSIONS[-1] == len(MIGRATIONS) - 1, "a new layout: record a small home of the one before it"


def test_an_older_home_gives_the_same_window_and_is_kept_as_it_was(old: Old):
    before = database(old.home).read_bytes()
    assert old.sent() == old.window
    for _ in range(2):  # the first writes down what it read, where the history is long enough; the second takes it over
        assert old.sent(as_bytes=True) == old.window
    assert old.kept_version() == old.version
    with SqliteStore.open(old.home) as store:
        assert store.integrity() == ()
        assert "old" in {one.session_id for one in store.sessions()}
        assert store.find(
            {12: "number", 13: "garden", 14: "harbour", 15: "pond", 16: "pond", 17: "lake"}[old.version],
            session_id="old",
        )
    assert database(old.home).read_bytes() != before


def test_conflicts_of_a_home_of_version_17_are_found_as_before(home: Path):
    with Session.open("old", home=Old(home, 17).home, settings=Settings(embedder="none")) as session:
        (found,) = session.conflicts()
        assert [one.content[-5:] for one in (found.older, found.newer)] == ["8080.", "9090."]
        assert session.search("otters") == ()  # they were taken back


def test_the_originals_of_an_older_home_are_packed_in_steps_and_give_the_same_windows(old: Old):
    with SqliteStore.open(old.home) as store:
        kept = [store.original(ref) for ref in (one.ref for one in store.decisions("old").values()) if ref]
        steps = list(iter(lambda: store.pack(5_000), 0))
        assert sum(steps) >= sum(one.source == "window" for one in kept) > 0
        assert [store.original(one.ref) for one in kept] == kept
        assert [store.by_entry("old", one.entry.id) for one in kept] == kept
        assert store.integrity() == ()
    connection = raw(old.home)
    assert connection.execute(
        "SELECT count(*) FROM originals WHERE source = 'window' AND segment IS NULL"
    ).fetchall() == [(0,)]
    connection.close()
    assert old.sent() == old.window


def test_every_record_carries_its_scope(old: Old):
    SqliteStore.open(old.home).close()
    connection = raw(old.home)
    assert connection.execute("SELECT * FROM scopes").fetchall() == [(1, "local", "local", "local")]
    for table in (one.name for one in TABLES if one.columns):
        columns = connection.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchall()
        assert ("scope_number",) in columns, f"{table}: every record has to say whose it is; see `add_scopes`"
        assert connection.execute(f"SELECT count(*) FROM {table} WHERE scope_number <> 1").fetchall() == [(0,)]
    connection.close()


def test_older_code_refuses_the_newer_home_by_name(old: Old):
    SqliteStore.open(old.home).close()
    connection = raw(old.home)
    with pytest.raises(StoreVersionError, match=f"version {len(MIGRATIONS)}.*up to version {old.version}") as raised:
        identify(connection, old.version)
    assert str(database(old.home)) in str(raised.value)
    connection.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_update_that_is_killed_at_any_moment_is_done_by_the_next_one(tmp_path: Path, version: int):
    code = (
        "import sys; from undrift.stores.sqlite import SqliteStore; print(1, flush=True)\n"
        "store = SqliteStore.open(sys.argv[1])\nwhile store.pack(5_000): pass"
    )
    with Forks(code, "import undrift.stores.sqlite") as children:
        killed_again_and_again(tmp_path, version, children)


def killed_again_and_again(tmp_path: Path, version: int, children: Forks) -> None:
    chance = random.Random(version)
    for number in range(KILLS):
        old = Old(tmp_path / f"home{number}", version)
        with children.start(old.home) as child:
            child.stdout.readline()
            time.sleep(chance.uniform(0, 0.06))
            child.kill()
            assert child.wait() in (0, -signal.SIGKILL)
        assert old.sent() == old.window
        assert old.kept_version() == version
        with SqliteStore.open(old.home) as store:
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
