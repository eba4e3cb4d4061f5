"""Two machines and a server: whatever they do apart, each has all of it after the syncs, once."""

import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.long_form import sized
from tests.stores.builders import add, commit, memory, original, prune, python, raw, remember
from tests.stores.moving.homes import server_home
from tests.stores.moving.plays import Play, answers
from tests.stores.on_server import OnServer, address_of, skip_without_server
from undrift.errors import RecallError
from undrift.stores.base import Aim
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer
from undrift.stores.moving.sync import Synced, sync
from undrift.stores.moving.sync_state import SyncState
from undrift.stores.sqlite import SqliteStore
from undrift.values.memory import MemoryEntry
from undrift.window.blanking import blanked

BLANK = partial(blanked, act="purged", at_ms=9)


class Fleet:
    """Machines with a home each, and one server."""

    def __init__(self, folder: Path, *machines: str) -> None:
        self.folder = folder
        self.machines = machines
        self.now_ms = 1_800_000_000_000

    def home(self, machine: str) -> Path:
        return self.folder / machine

    def open(self, machine: str) -> SqliteStore:
        return SqliteStore.open(self.home(machine))

    def sync(self, machine: str) -> Synced:
        self.now_ms += 1_000
        with server_home(self.folder) as home:
            return sync(self.home(machine), home, machine, BLANK, at_ms=self.now_ms)

    def settle(self) -> list[Synced]:
        return [self.sync(one) for _ in range(2) for one in self.machines]

    def everywhere(self) -> dict[str, Store]:
        return {**{one: self.open(one) for one in self.machines}, "server": OnServer.open(self.folder)}


def told(store: Store) -> dict[str, Any]:
    """Return what a home says, its own numbers apart."""
    found: dict[str, Any] = {}
    for row in store.sessions():
        given = answers(store, row.session_id)
        log = [one for one in store.operations(row.session_id) if one.kind not in ("purge", "sweep")]
        given["operations"] = [(one.kind, one.at_ms) for one in log]
        for name in ("memories then", "states", "facts then"):
            del given[name]
        for name in ("memories", "conflicts"):
            given[name] = sorted(given[name], key=lambda one: one.id)
        found[row.session_id] = given
    return found


def agree(fleet: Fleet) -> dict[str, Any]:
    stores = fleet.everywhere()
    said = {name: told(store) for name, store in stores.items()}
    for name, store in stores.items():
        assert store.integrity() == (), name
        store.close()
    server = said["server"]
    for name, found in said.items():
        assert found.keys() == server.keys(), name
        for session, given in found.items():
            for part, value in given.items():
                assert value == server[session][part], (name, session, part)
    return server


def test_what_one_machine_did_is_on_the_other_after_their_syncs(tmp_path: Path):
    fleet = Fleet(tmp_path, "a", "b")
    with fleet.open("a") as store:
        add(store, original("e", "text of a"), prune_them=True)
        remember(store, memory("m1", "Use tabs"))
    fleet.sync("a")
    fleet.sync("b")
    with fleet.open("b") as store:
        assert store.original(original("e").ref).entry.content == "text of a"
        commit(store, "s", "turn", at_ms=7)
        remember(store, memory("m2", "Use spaces"), session="t")
    fleet.settle()
    server = agree(fleet)
    assert [one.id for one in server["s"]["memories"]] == ["m1", "m2"]
    assert server["s"]["operations"] == [("add", 1), ("remember", 1), ("turn", 7)]
    assert fleet.sync("a") == Synced()


def test_a_session_that_both_continued_parts_and_nothing_of_it_is_lost(tmp_path: Path):
    fleet = Fleet(tmp_path, "a", "b")
    first = original("e", "shared " * 40)
    with fleet.open("a") as store:
        add(store, first, prune_them=True)
    fleet.settle()
    for number, machine in enumerate(fleet.machines):
        with fleet.open(machine) as store:
            own = original("own" if number else "e2", f"text of {machine}")
            commit(store, "s", "prune", at_ms=10 + number, originals=[own], decisions=[prune(own)])
            remember(store, memory(f"m{machine}", f"said on {machine}"))
    assert fleet.sync("a").forks == {}
    assert fleet.sync("b").forks == {"s": "s@b"}
    fleet.settle()
    server = agree(fleet)
    assert server.keys() == {"s", "s@b"}
    texts = {name: sorted(one.entry.content for one in given["originals"]) for name, given in server.items()}
    assert texts == {"s": sorted(["shared " * 40, "text of a"]), "s@b": sorted(["shared " * 40, "text of b"])}
    assert sorted(one.id for one in server["s"]["memories"]) == ["ma", "mb"]
    assert [one for one in fleet.settle() if one.forks or one.pushed or one.pulled] == []


def superseded(store: Store, machine: str, by: str) -> None:
    before = store.memories.by_id(["m1"])["m1"]
    new = memory(by, f"The port is 80{len(by)} says {machine}", seq=store.next_memory_seq())
    after = MemoryEntry(**{**_fields(before), "contradicted_by_entry_id": by, "contradiction_rule": "value"})
    lines = MemoryLines([MemoryLine(by, new.content)])
    commit(
        store,
        machine,
        "remember",
        at_ms=len(by),
        memories=[MemoryUpdate(before, after), MemoryUpdate(None, new)],
        lines=[lines],
    )


def _fields(entry: MemoryEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in entry.__slots__}


def test_two_machines_that_replaced_one_memory_leave_an_open_conflict(tmp_path: Path):
    fleet = Fleet(tmp_path, "a", "b")
    with fleet.open("a") as store:
        remember(store, memory("m1", "The port is 80"))
    fleet.settle()
    for machine in fleet.machines:
        with fleet.open(machine) as store:
            superseded(store, machine, "mx" if machine == "a" else "myy")
    fleet.sync("a")
    assert fleet.sync("b").disputed == ["m1"]
    fleet.settle()
    server = agree(fleet)
    by_id = {one.id: one for one in server["a"]["memories"]}
    assert by_id.keys() == {"m1", "mx", "myy"}
    assert by_id["m1"].is_contradicted
    assert [one["with"] for one in by_id["myy"].metadata["conflicts"]] == ["mx"]
    assert [one.id for one in server["a"]["conflicts"]] == ["myy"]


def test_a_memory_that_one_forgot_and_the_other_changed_stands(tmp_path: Path):
    fleet = Fleet(tmp_path, "a", "b")
    with fleet.open("a") as store:
        remember(store, memory("m1", "The port is 80"))
    fleet.settle()
    with fleet.open("a") as store:
        before = store.memories.by_id(["m1"])["m1"]
        commit(store, "a", "forget", at_ms=3, memories=[MemoryUpdate(before, None)])
    with fleet.open("b") as store:
        superseded(store, "b", "mx")
    fleet.settle()
    server = agree(fleet)
    assert {one.id for one in server["a"]["memories"]} == {"m1", "mx"}


@pytest.mark.parametrize("where", ["a", "server"])
def test_a_purge_reaches_every_machine_and_wins_over_what_was_written_without_knowing(tmp_path: Path, where: str):
    fleet = Fleet(tmp_path, "a", "b")
    secret, other = original("secret", "the secret words " * 20), original("other", "other words " * 20)
    with fleet.open("a") as store:
        add(store, secret, other, prune_them=True)
        remember(store, memory("m1", "the secret words too"))
        remember(store, memory("m2", "harmless"), session="t")
    fleet.settle()
    with fleet.open("b") as store:
        again = prune(secret, kind="trimmed", detail={"at": "later"})
        commit(store, "s", "prune", at_ms=20, decisions=[again])
        before = store.memories.by_id(["m1"])["m1"]
        commit(
            store,
            "t",
            "remember",
            at_ms=21,
            memories=[MemoryUpdate(before, MemoryEntry(**{**_fields(before), "pinned": True}))],
        )
    purging: Store = fleet.open("a") if where == "a" else OnServer.open(tmp_path)
    with purging:
        assert purging.purge([Aim("original", "s", secret.ref)], BLANK, at_ms=30)
        assert purging.purge([Aim("memory", "s", "m1")], BLANK, at_ms=31)
    fleet.settle()
    fleet.settle()
    server = agree(fleet)
    for home in fleet.everywhere().values():
        with home, pytest.raises(RecallError):
            home.original(secret.ref)
        assert "secret words" not in repr(server)
    assert server["s"]["operations"][-1] == ("prune", 20)
    for machine in fleet.machines:
        held = (fleet.home(machine) / "undrift.db").read_bytes()
        assert b"secret words" not in held


def test_a_damaged_session_is_named_by_every_sync_until_it_is_mended(tmp_path: Path):
    fleet = Fleet(tmp_path, "a")
    with fleet.open("a") as store:
        add(store, original("e", "words " * 9), prune_them=True)
        commit(store, "t", "turn", at_ms=2)
    assert fleet.sync("a").problems == []
    with fleet.open("a") as store:
        kept = original("later", "words " * 9, source="pin")
        commit(store, "s", "add", at_ms=3, originals=[kept])
        commit(store, "t", "turn", at_ms=4)
    file, damage = raw(fleet.home("a")), "UPDATE originals SET content = ? WHERE source = 'pin'"
    before: list[Any] = file.execute("SELECT content FROM originals WHERE source = 'pin'").fetchall()
    file.execute(damage, (b"",))
    done = [fleet.sync("a") for _ in range(3)]
    assert [one.pushed for one in done] == [["t"], [], []]
    assert [["SHA-256" in problem for problem in one.problems] for one in done] == [[True], [True], [True]]
    assert SyncState.read(fleet.home("a")).sessions.keys() == {"t"}
    file.execute(damage, before[0])
    file.close()
    mended = fleet.sync("a")
    assert (mended.pushed, mended.problems) == (["s"], [])
    agree(fleet)


@pytest.mark.parametrize("seed", range(sized(2, 30)))
def test_random_play_of_two_machines_loses_nothing_and_doubles_nothing(tmp_path: Path, seed: int):
    fleet, random = Fleet(tmp_path, "a", "b"), Random(seed)
    plays = {}
    done: dict[str, set[tuple[str, int]]] = {"a": set(), "b": set()}
    for turn in range(8):
        machine = random.choice(fleet.machines)
        with fleet.open(machine) as store:
            if machine not in plays:
                sessions = ("s", "t", f"only {machine}")
                plays[machine] = Play(
                    store, seed, sessions, prefix=f"{machine} ", offset=1 + fleet.machines.index(machine)
                )
            played = plays[machine]
            played.store = store
            known = {(one.kind, one.at_ms) for row in store.sessions() for one in store.operations(row.session_id)}
            played.plays(random.randrange(2, 12))
            done[machine] |= {
                (one.kind, one.at_ms) for row in store.sessions() for one in store.operations(row.session_id)
            } - known
        for one in random.sample(fleet.machines, random.randrange(3)):
            assert fleet.sync(one).problems == [], turn
    assert [one.problems for one in fleet.settle()] == [[], [], [], []]
    server = agree(fleet)
    acknowledged = done["a"] | done["b"]
    logs = {name: Counter(given["operations"]) for name, given in server.items()}
    assert all(count == 1 for log in logs.values() for count in log.values())
    assert acknowledged <= {one for log in logs.values() for one in log}
    loud = {one for log in logs.values() for one in log if one[0] != "sync"}
    assert loud == acknowledged
    with fleet.open("a") as store:
        assert len(store.memories.seen(Viewer("main", "s"))) == len(server["s"]["memories"])


_SYNC = """
import sys
from functools import partial
from pathlib import Path
from undrift.stores.moving.homes import Pair, sync_pair
from undrift.stores.served import home_path
from undrift.values.project import Place
from undrift.window.blanking import blanked
target = home_path(sys.argv[2])
print("begun", flush=True)
done = sync_pair(Pair("p", Path(sys.argv[1]), Place(target, target, target)), sys.argv[3],
    partial(blanked, act="purged", at_ms=9), at_ms=int(sys.argv[4]))
assert not done.problems, done
"""


@pytest.mark.parametrize("seed", range(sized(1, 2)))
def test_a_sync_that_is_killed_goes_on_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int):
    skip_without_server()
    monkeypatch.setenv("HOME", str(tmp_path))
    fleet, random = Fleet(tmp_path, "a", "b"), Random(seed)
    plays = {}
    for number, machine in enumerate(fleet.machines):
        with fleet.open(machine) as store:
            plays[machine] = Play(store, seed, ("s", "t", f"only {machine}"), prefix=f"{machine} ", offset=number)
            plays[machine].plays(20)
    killed = 0
    for turn in range(4):
        for machine in fleet.machines:
            process = python(_SYNC, fleet.home(machine), address_of(tmp_path), machine, 1_900_000_000_000 + turn)
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n", process.communicate()
            try:
                process.wait(random.uniform(0.1, 1.2))
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
            _, errors = process.communicate()
            assert process.returncode in (0, -9), errors
            with fleet.open(machine) as store:
                assert store.integrity() == ()
                plays[machine].store = store
                plays[machine].plays(4)
    assert killed
    acknowledged = set()
    for machine in fleet.machines:
        with fleet.open(machine) as store:
            acknowledged |= {
                (one.kind, one.at_ms) for row in store.sessions() for one in store.operations(row.session_id)
            }
    fleet.now_ms += 200_000_000_000
    assert [one.problems for one in (*fleet.settle(), *fleet.settle())] == [[]] * 8
    logs = {name: Counter(given["operations"]) for name, given in agree(fleet).items()}
    assert acknowledged <= {one for log in logs.values() for one in log}
    assert all(count == 1 for log in logs.values() for count in log.values())
