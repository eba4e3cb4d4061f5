"""What was acknowledged is there: after a kill at any moment, and with many writers at once."""

import hashlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import apsw
import pytest

from tests.stores.builders import add, commit, original, prune, python
from tests.stores.forks import Forks
from undrift.errors import StoreError
from undrift.stores.base import Mark
from undrift.stores.sqlite import SqliteStore

WRITER = """
import hashlib, sys
from undrift.stores.sqlite import SqliteStore
from tests.stores.builders import commit
from undrift.values.window import ContextEntry, Decision, Original
home, cycle = sys.argv[1:]
store = SqliteStore.open(home)
for number in range(10_000):
    ref, content = f"{cycle}-{number}", f"{cycle} {number} " + "words " * (number * 37 % 900)
    source = ("window", "buffer")[number % 2]
    entry = ContextEntry(ref, "tool_result", content, 1, number)
    decisions = [Decision(ref, "pruned", "why", 1, ref)] if number % 3 else []
    commit(store, "s", "add", at_ms=number, originals=[Original(ref, "s", source, entry)], decisions=decisions)
    print("ACK", ref, hashlib.sha256(content.encode()).hexdigest(), flush=True)
"""


def synchronous(store: SqliteStore) -> object:
    assert store._database._connection is not None
    return store._database._connection.pragma("synchronous")


def test_marks_do_not_wait_for_the_disk_and_all_else_does(home: Path):
    full = 2
    with SqliteStore.open(home, busy_timeout_ms=20) as store:
        seen: list[object] = []

        def look() -> bool:
            seen.append(synchronous(store))
            return False

        assert store._database._connection is not None
        store._database._connection.set_commit_hook(look)
        store.add_marks("s", [Mark("m", "turn")])
        add(store, original("a"))
        assert (seen, synchronous(store)) == ([1, full], full)
        other = apsw.Connection(str(home / "undrift.db"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError):
            store.add_marks("s", [Mark("n", "turn")])
        other.execute("ROLLBACK")
        other.close()
        add(store, original("b"))
        assert synchronous(store) == full
        assert [known.mark.text for known in store.find_marks(["m", "n"])] == ["m"]


def test_what_was_acknowledged_survives_a_kill_at_any_moment(home: Path):
    with Forks(WRITER, "import tests.stores.builders, undrift.stores.sqlite") as writers:
        killed_again_and_again(home, writers)


def killed_again_and_again(home: Path, writers: Forks) -> None:
    random, acknowledged = Random(11), 0
    for cycle in range(40):
        with writers.start(home, cycle) as writer:
            wanted, said = random.randrange(20), b""
            while said.count(b"\n") < wanted and (more := os.read(writer.stdout.fileno(), 65_536)):
                said += more
            time.sleep(random.uniform(0, 0.03 if not said else 0.006))
            writer.kill()
            while more := os.read(writer.stdout.fileno(), 65_536):  # the pipe itself: nothing is read ahead of us
                said += more
            assert writer.wait() == -signal.SIGKILL
        lines = [line for line in said.decode().splitlines(keepends=True) if line.endswith("\n")]
        acknowledged += len(lines)
        with SqliteStore.open(home) as store:
            decisions = store.decisions("s")
            for line in lines:
                _, ref, sha256 = line.split()
                content = store.original(ref).entry.content
                assert hashlib.sha256(content.encode()).hexdigest() == sha256
                assert (ref in decisions) is bool(int(ref.split("-")[1]) % 3)
            assert store.integrity() == ()
            numbers = [row.seq for row in store.operations("s")]
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) >= acknowledged
    assert acknowledged > 200


MANY = """
import sys
from undrift.stores.sqlite import SqliteStore
from tests.stores.builders import commit
from undrift.values.window import ContextEntry, Decision, Original
home, name = sys.argv[1:]
with SqliteStore.open(home, busy_timeout_ms=60_000) as store:
    for number in range(50):
        ref = f"{name}-{number}"
        one = Original(ref, "s", "window", ContextEntry(ref, "tool_result", f"of {ref}", 1, 0))
        same = Original("same", "s", "pin", ContextEntry("same", "spec", "the same", 1, 0))
        print(commit(store, "s", "add", at_ms=1, originals=[one, same], decisions=[Decision(ref, "pruned", "why", 1, ref)]))
"""


def test_four_processes_lose_and_double_nothing(home: Path):
    writers = [
        python(MANY, home, name) for name in "abcd"
    ]  # the first one creates the store, under the eyes of the others
    outcomes = [writer.communicate() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, [errors for _, errors in outcomes]
    numbers = [[int(line) for line in out.split()] for out, _ in outcomes]
    assert all(mine == sorted(mine) for mine in numbers)
    assert sorted(number for mine in numbers for number in mine) == list(range(1, 201))
    with SqliteStore.open(home) as store:
        names = {f"{name}-{number}" for name in "abcd" for number in range(50)}
        assert set(store.decisions("s")) == names
        assert all(store.original(name).entry.content == f"of {name}" for name in names)
        assert len(store.pins("s")) == 1
        assert len(store.find("of", limit=500)) == 200
        assert store.integrity() == ()


def test_threads_may_share_a_store_and_open_their_own(home: Path):
    def write(thread: int) -> list[int]:
        with SqliteStore.open(home, busy_timeout_ms=60_000) as own:
            mine = [original(f"{thread}-{number}", session=str(thread)) for number in range(20)]
            seqs = [commit(own, str(thread), "x", at_ms=1, originals=[one]) for one in mine[:10]]
            seqs += [commit(shared, str(thread), "x", at_ms=1, originals=[one], decisions=[prune(one)]) for one in mine]
            assert all(shared.original(one.ref) == one for one in mine)
        return seqs

    with SqliteStore.open(home, busy_timeout_ms=60_000) as shared, ThreadPoolExecutor(4) as threads:
        seqs = [seq for mine in threads.map(write, range(4)) for seq in mine]
        assert sorted(seqs) == list(range(1, 121))
        assert shared.integrity() == ()


def test_the_same_request_from_two_processes_is_stored_once(home: Path):
    with SqliteStore.open(home) as one, SqliteStore.open(home) as two:
        for store in (one, two):
            add(store, original("e", source="buffer"))
            commit(store, "s", "prune", at_ms=1, decisions=[prune(original("e"))])
        assert one.decisions("s") == two.decisions("s") == {"e": prune(original("e"))}
        assert one.find("text") == two.find("text")
        assert len(one.find("text")) == 1
        assert one.integrity() == two.integrity() == ()


def test_the_settings_on_which_durability_stands(home: Path):
    opened: list[apsw.Connection] = []
    apsw.connection_hooks.append(opened.append)
    try:
        with SqliteStore.open(home):
            settings = {
                name: opened[0].pragma(name) for name in ("journal_mode", "synchronous", "foreign_keys", "mmap_size")
            }
    finally:
        apsw.connection_hooks.remove(opened.append)
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "mmap_size": 0}
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 51, 3)


def test_the_import_is_light():
    code = "import sys, undrift.stores.sqlite; print(sorted({'asyncio', 'numpy'} & set(sys.modules)))"
    out, errors = python(code).communicate()
    assert out == "[]\n", errors


def test_every_setting_of_the_connection_is_in_force(home: Path):
    wanted = {
        "foreign_keys": 1,
        "synchronous": 2,
        "mmap_size": 0,
        "cell_size_check": 1,
        "trusted_schema": 0,
        "secure_delete": 2,
        "journal_size_limit": 67_108_864,
    }
    with SqliteStore.open(home) as store, store._database.using() as connection:
        assert {name: connection.pragma(name) for name in wanted} == wanted
