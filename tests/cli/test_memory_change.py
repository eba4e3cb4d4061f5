"""`undrift memory edit` and `forget`."""

import sys
from pathlib import Path

import pytest

from tests.builders import opened, records_of
from tests.cli.builders import undrift
from tests.cli.test_memory import ran, told


def remembered(home: Path, *texts: str) -> list[str]:
    return [told("remember", one, "--home", home)["memory"]["id"] for one in texts]


def test_an_edit_prints_the_new_id_and_names_the_old_one(tmp_path: Path):
    (old,) = remembered(tmp_path, "The port is 8080.")
    shown = undrift("memory", "edit", old[:6], "--text", "The port is 9090.", "--home", tmp_path)
    new = shown.stdout.strip()
    assert f"supersedes {old}: The port is 8080." in shown.stderr
    entries = {one["id"]: one for one in told("memory", "list", "--all", "--home", tmp_path)["memories"]}
    assert (entries[new]["trust"], entries[old]["contradicted_by_entry_id"]) == ("user", new)
    same = undrift("memory", "edit", new, "--text", "The port is 9090.", "--home", tmp_path)
    assert (same.stdout, same.stderr) == ("", "The words are the same; nothing was changed.\n")
    assert "edit that one" in ran("memory", "edit", old, "--text", "x y", "--home", tmp_path, code=1)


def test_an_edit_opens_the_editor_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (old,) = remembered(tmp_path / "home", "The port is 8080.")
    assert "--text" in ran("memory", "edit", old, "--home", tmp_path / "home", code=1)  # there is no terminal
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('8080', '9090'))\n"
        "import os; os.utime(path, (1, path.stat().st_mtime + 9))\n"
    )
    monkeypatch.setattr("undrift.cli.memory_change.at_terminal", lambda _: True)
    env: dict[str, str | None] = {"VISUAL": f"{sys.executable} {script}"}
    shown = undrift("memory", "edit", old, "--home", tmp_path / "home", "--json", env=env)
    assert shown.exit_code == 0, shown.output
    assert '"content": "The port is 9090."' in shown.stdout
    kept: dict[str, str | None] = {"VISUAL": f"{sys.executable} -c pass"}
    unsaved = undrift("memory", "edit", old, "--home", tmp_path / "home", env=kept)
    assert "the editor did not save the text" in unsaved.stderr


def test_forgetting_asks_shows_and_can_be_taken_back(tmp_path: Path):
    first, second = remembered(tmp_path, "The port is 8080.", "The host is a.")
    refused = ran("memory", "forget", first, "--home", tmp_path, code=1)
    assert "The port is 8080." in refused
    assert "nothing was removed; --yes does it without asking" in refused
    assert told("search", "port", "--home", tmp_path)["found"]
    done = undrift("memory", "forget", first, second, first[:8], "--yes", "--home", tmp_path)
    assert done.stdout == "Forgot 2 memories: no agent sees them any more.\n"
    assert told("memory", "list", "--all", "--home", tmp_path)["memories"] == []
    command = done.stderr.strip().rpartition("To bring them back: undrift ")[2]
    assert undrift(*command.split()).exit_code == 0
    assert len(told("memory", "list", "--home", tmp_path)["memories"]) == 2


def test_a_person_says_yes_at_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (first,) = remembered(tmp_path, "The port is 8080.")
    monkeypatch.setattr("undrift.cli.memory_change.at_terminal", lambda _: True)
    assert undrift("memory", "forget", first, "--home", tmp_path, stdin="n\n").exit_code == 1
    assert undrift("memory", "forget", first, "--home", tmp_path, stdin="y\n").exit_code == 0
    assert told("memory", "list", "--home", tmp_path)["memories"] == []


def test_what_a_forgotten_one_superseded_stays_so_and_is_named(tmp_path: Path):
    old, new = remembered(tmp_path, "The main database is PostgreSQL.", "Actually, the main database is SQLite.")
    shown = undrift("memory", "forget", new, "--yes", "--home", tmp_path)
    assert f"{old} stays superseded: The main database is PostgreSQL." in shown.stderr
    assert "remember it again" in shown.stderr


def test_a_memory_of_a_session_is_changed_by_its_session(tmp_path: Path):
    with opened(tmp_path, "own") as session:
        private = session.remember("The port is 8080.", scope="session")
    remembered(tmp_path, "The host is a.")
    told("remember", "The region is b.", "--session", "newest", "--home", tmp_path)
    edited = told("memory", "edit", private.id, "--text", "The port is 9090.", "--home", tmp_path)
    assert edited["session_id"] == "own"
    done = told("memory", "forget", edited["memory"]["id"], private.id, "--yes", "--home", tmp_path)["forgotten"]
    assert [(one["session_id"], len(one["ids"])) for one in done] == [("own", 2)]


def test_a_purge_destroys_for_good(tmp_path: Path):
    first, second = remembered(tmp_path, "The port is 8080 of ornithopter.", "The host is a.")
    assert "--yes" in ran("memory", "forget", first, "--purge", "--home", tmp_path, code=1)
    done = told("memory", "forget", first, "--purge", "--yes", "--home", tmp_path)["purged"]
    assert [(one["id"], one["kind"], one["removed"]) for one in done] == [(first, "memory", {"memories": 1})]
    assert b"ornithopter" not in (records_of(tmp_path) / "undrift.db").read_bytes()
    assert [one["id"] for one in told("memory", "list", "--home", tmp_path)["memories"]] == [second]
    (tmp_path / "copy.txt").write_text("The host is a, as in the copy: The host is a.")
    assert "Purged (memory)" in ran("memory", "forget", second, "--purge", "--yes", "--home", tmp_path, code=1)


def test_an_id_that_names_none_or_several_says_so(tmp_path: Path):
    remembered(tmp_path, "The port is 8080.")
    for words in (("edit", "mffffff", "--text", "x"), ("forget", "mffffff"), ("forget", "m")):
        assert "there is no memory" in ran("memory", *words, "--home", tmp_path, code=1)


def test_a_beginning_of_two_ids_names_neither():
    from undrift.cli.memory_view import memory_named, short_ids
    from undrift.errors import InputError
    from undrift.values.memory import MemoryEntry

    entries = [MemoryEntry(one, "words") for one in ("maaaaaaaaaaaaaaaa", "maaaaaaaaaabbbbbb", "mcc")]
    with pytest.raises(InputError, match="the beginning of 2 ids"):
        memory_named(entries, "maaaaaaaaaa")
    assert memory_named(entries, "mcc").id == "mcc"
    assert short_ids(entries) == {
        "maaaaaaaaaaaaaaaa": "maaaaaaaaaaa",
        "maaaaaaaaaabbbbbb": "maaaaaaaaaab",
        "mcc": "mcc",
    }
