"""`undrift store move`: a home goes to a server and back, and the command says whether anything was lost."""

import json
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from tests.stores.builders import add, original, remember
from tests.stores.builders import memory as made
from tests.stores.on_server import address_of, skip_without_server
from undrift.stores.opening import open_store
from undrift.stores.served import home_path
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_server()
    monkeypatch.setenv("HOME", str(tmp_path))


def filled(folder: Path) -> str:
    with SqliteStore.open(folder) as store:
        add(store, original("e", "kept text"), prune_them=True)
        remember(store, made("m1", "Use SQLite"))
    return original("e").ref


def test_a_home_of_one_project_goes_to_a_server_and_back(tmp_path: Path):
    home, back, address = tmp_path / "home", tmp_path / "back", address_of(tmp_path)
    ref = filled(home)
    done = undrift("store", "move", "--to", address, "--home", home)
    assert done.exit_code == 0, done.output
    assert "Both are equal: nothing was lost." in done.stdout
    assert "undrift_schema" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert undrift("recall", ref, "--home", address).stdout == "kept text"
    told = json.loads(undrift("store", "move", "--to", back, "--home", address, "--all-projects", "--json").stdout)
    assert told["is_proved"]
    assert told["sha256"]["old"] == told["sha256"]["new"]
    assert told["projects"][0]["moved"] == ["s"]
    assert undrift("recall", ref, "--home", back).stdout == "kept text"
    assert SqliteStore.is_there(home)


def test_every_project_of_a_shared_home_goes_where_it_belongs(tmp_path: Path):
    home, address = tmp_path / "home", address_of(tmp_path)
    roots = [tmp_path / name for name in ("one", "two")]
    for root in roots:
        root.mkdir()
        remembered = undrift("memory", "remember", f"The port of {root.name} is 80", "--home", home, "--project", root)
        assert remembered.exit_code == 0, remembered.output
    with SqliteStore.open(home / "user") as store:
        remember(store, made("m2", "I like tabs", scope="user"))
    done = json.loads(undrift("store", "move", "--to", address, "--home", home, "--all-projects", "--json").stdout)
    assert done["is_proved"]
    assert sorted(one["project"] for one in done["projects"]) == ["one", "two", "user"]
    for root, other in (roots, roots[::-1]):
        listed = undrift("memory", "list", "--home", address, "--project", root).stdout
        assert f"port of {root.name}" in listed
        assert f"port of {other.name}" not in listed
    with open_store(home_path(address) / "user", Scope(), create=False) as store:
        assert [one.content for one in store.memories.seen(None)] == ["I like tabs"]


def test_a_conflict_is_named_and_the_exit_code_says_so(tmp_path: Path):
    home, address = tmp_path / "home", address_of(tmp_path)
    filled(home)
    with open_store(home_path(address), Scope()) as store:
        add(store, original("other", "other text"), prune_them=True)
    done = undrift("store", "move", "--to", address, "--home", home)
    assert done.exit_code == 1
    assert "stays behind: session 's'" in done.stdout
    assert "The old home has all of it" in done.stdout


def test_a_server_that_is_away_is_named_and_nothing_is_made(tmp_path: Path):
    filled(tmp_path / "home")
    done = undrift("store", "move", "--to", "postgresql://nobody@127.0.0.1:1/none", "--home", tmp_path / "home")
    assert done.exit_code == 1
    assert "127.0.0.1" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_home_is_not_moved_into_itself(tmp_path: Path):
    filled(tmp_path / "home")
    done = undrift("store", "move", "--to", tmp_path / "home", "--home", tmp_path / "home")
    assert done.exit_code == 1
    assert "the home itself" in done.stderr


def test_an_empty_home_has_nothing_to_move(tmp_path: Path):
    done = undrift("store", "move", "--to", tmp_path / "other", "--home", address_of(tmp_path))
    assert done.exit_code == 1
    assert not (tmp_path / "other").exists()


def test_two_machines_sync_over_a_server_and_what_waits_is_shown(tmp_path: Path):
    one, two, address = tmp_path / "one", tmp_path / "two", address_of(tmp_path)
    root = tmp_path / "root"
    root.mkdir()
    for home, words in ((one, "The port is 80"), (two, "Use tabs for indentation")):
        assert undrift("memory", "remember", words, "--home", home, "--project", root).exit_code == 0
        done = undrift("store", "sync", "--with", address, "--home", home, "--project", root)
        assert done.exit_code == 0, done.output
    again = json.loads(undrift("store", "sync", "--home", one, "--project", root, "--json").stdout)
    assert again["projects"][0]["problems"] == []
    for home in (one, two):
        listed = undrift("memory", "list", "--home", home, "--project", root).stdout
        assert "The port is 80" in listed
        assert "Use tabs" in listed
    status = ("status", "--home", one, "--project", root, "--json")
    assert json.loads(undrift(*status).stdout)["waiting"] == []
    assert undrift("memory", "remember", "Tests run in parallel", "--home", one, "--project", root).exit_code == 0
    assert len(json.loads(undrift(*status).stdout)["waiting"]) == 1
    assert "1 session to sync" in undrift(*status[:-1]).stdout


def test_a_sync_without_its_server_changes_nothing_and_says_so(tmp_path: Path):
    home, root = tmp_path / "home", tmp_path / "root"
    root.mkdir()
    assert undrift("memory", "remember", "The port is 80", "--home", home, "--project", root).exit_code == 0
    asked = undrift("store", "sync", "--home", home, "--project", root)
    assert (asked.exit_code, asked.stderr.count("\n")) == (1, 1)
    assert "--with postgresql://" in asked.stderr
    away = ("store", "sync", "--with", "postgresql://nobody@127.0.0.1:1/none", "--home", home, "--project", root)
    done = undrift(*away)
    assert done.exit_code == 1
    assert "waits for the next sync" in done.stderr
    assert "The port is 80" in undrift("memory", "list", "--home", home, "--project", root).stdout
