"""`undrift remember`, `search`, `conflicts`, `rebuild` and the commands of going back and of destroying."""

import json
from pathlib import Path

import pytest

from tests.builders import body, opened, records_of, rounds, user
from tests.cli.builders import Record, undrift
from tests.task_sessions import TaskSession

HOSTILE = "evil\x1b[2J\nid\u202e \x07 text"


def told(*arguments: object, code: int = 0) -> Record:
    result = undrift(*map(str, arguments), "--json")
    assert result.exit_code == code, result.output
    assert result.stdout.isascii()
    value: Record = json.loads(result.stdout)
    return value


def ran(*arguments: object, code: int = 0) -> str:
    result = undrift(*map(str, arguments))
    assert result.exit_code == code, result.output
    return result.output


def home_with_two(tmp_path: Path) -> list[str]:
    """A home in which one statement has superseded another."""
    facts = ("The main database is PostgreSQL.", "Actually, the main database is SQLite.")
    return [told("remember", one, "--trust", "user", "--home", tmp_path)["memory"]["id"] for one in facts]


def test_what_is_remembered_is_found_current_first(tmp_path: Path):
    old, new = home_with_two(tmp_path)
    found = told("search", "main database", "--home", tmp_path)
    assert found["session_id"] == "notes"
    assert [one["id"] for one in found["found"]] == [new, old]
    assert found["found"][1]["contradicted_by_entry_id"] == new
    assert set(found["found"][0]) >= {"content", "score", "raw_score", "why", "trust", "valid_from_ms", "created_at_ms"}
    assert found["precision"] == {"samples": 0, "value": None, "window": 20, "alert": False}
    assert [one["id"] for one in told("search", "main database", "--valid", "--home", tmp_path)["found"]] == [new]
    shown = ran("search", "main database", "--home", tmp_path).splitlines()
    assert new in shown[0]
    assert f"superseded by {new}" in " ".join("\n".join(shown).split())
    assert len(told("search", "main database", "--limit", "1", "--home", tmp_path)["found"]) == 1


def test_remember_says_what_it_means_for_what_is_there(tmp_path: Path):
    first = told("remember", "We use PostgreSQL for the cache.", "--trust", "user", "--home", tmp_path)["memory"]
    given = told("remember", "We use SQLite for the cache.", "--trust", "assistant", "--home", tmp_path)
    assert (given["superseded"], given["conflicts"]) == ([], [first["id"]])
    again = told("remember", "We use SQLite for the cache.", "--trust", "assistant", "--home", tmp_path)
    assert again["memory"] == given["memory"]
    pairs = told("conflicts", "--home", tmp_path)["conflicts"]
    assert [(one["older"]["id"], one["newer"]["id"]) for one in pairs] == [(first["id"], given["memory"]["id"])]
    shown = " ".join(ran("conflicts", "--home", tmp_path).split())
    assert "These two exclude each other (90% sure). Both stay active: the newer one is trusted less." in shown
    assert shown.index(first["id"]) < shown.index(given["memory"]["id"])  # the one with more trust
    for command in ("undrift memory forget ID_OF_THE_OTHER", "undrift memory remember"):
        assert f"{command}" in shown


def test_a_conflict_is_marked_in_a_search_and_the_trusted_one_comes_first(tmp_path: Path):
    first = told("remember", "We use Redis for the cache.", "--home", tmp_path)["memory"]["id"]
    second = told("remember", "We use Memcached for the cache.", "--trust", "assistant", "--home", tmp_path)["memory"][
        "id"
    ]
    told("remember", "The port is 8080.", "--home", tmp_path)
    found = told("search", "cache", "--home", tmp_path)["found"]
    assert [(one["id"], one["why"].get("disputes")) for one in found[:2]] == [(first, [second]), (second, [first])]
    shown = ran("search", "cache", "--home", tmp_path)
    assert f"IN CONFLICT with {second}" in shown
    assert shown.index(f"IN CONFLICT with {second}") < shown.index(f"IN CONFLICT with {first}")
    assert shown.count("IN CONFLICT") == 2


def test_what_a_person_types_has_the_trust_of_a_user(tmp_path: Path):
    assert told("remember", "The port is 8080.", "--home", tmp_path)["memory"]["trust"] == "user"
    assert typed(tmp_path, "The host is a.")["memory"]["trust"] == "user"
    given = told("remember", "The region is b.", "--trust", "assistant", "--home", tmp_path)
    assert given["memory"]["trust"] == "assistant"


def typed(home: Path, text: str, *more: str) -> Record:
    result = undrift("remember", "-", "--home", str(home), "--json", *more, stdin=text)
    assert result.exit_code == 0, result.output
    value: Record = json.loads(result.stdout)
    return value


def test_a_text_of_several_statements_becomes_several_memories(tmp_path: Path):
    lines = "The cache is Redis.\nWe deploy on Mondays.\nUse tabs\n"
    given = typed(tmp_path, lines)
    assert [one["content"] for one in given["memories"]] == ["The cache is Redis.", "We deploy on Mondays.", "Use tabs"]
    assert given["memory"] == given["memories"][0]
    assert len(told("memory", "list", "--home", tmp_path)["memories"]) == 3
    shown = ran("remember", "* Never push to main\n* Always run the tests", "--home", tmp_path)
    assert "Stored 2 memories, one for each statement; --whole stores the text as one." in shown
    whole = typed(tmp_path, lines, "--whole")
    assert [one["content"] for one in whole["memories"]] == [lines]


def test_text_from_stdin_and_the_session_that_is_named(tmp_path: Path):
    from click.testing import CliRunner

    from undrift.cli import main

    arguments = ["remember", "-", "--session", "s", "--scope", "session", "--home", str(tmp_path), "--json"]
    result = CliRunner().invoke(main, arguments, input="The port is 8080.\n")
    assert json.loads(result.stdout)["session_id"] == "s"
    assert told("search", "port", "--session", "s", "--home", tmp_path)["found"]
    told("remember", "The host is a.", "--session", "other", "--home", tmp_path)
    found = told("search", "port", "--home", tmp_path)["found"]  # the newest session is the other one
    assert all("8080" not in one["content"] for one in found)


def test_going_back_undoing_and_the_difference(tmp_path: Path):
    old, new = home_with_two(tmp_path)
    at = told("checkpoint", "here", "--home", tmp_path)["seq"]
    third = told("remember", "The port is 8080.", "--home", tmp_path)["memory"]["id"]
    assert told("diff", "here", "--home", tmp_path)["added"] == {"memories": [third]}
    assert "added: memories\n" in ran("diff", "0", "--home", tmp_path)
    assert told("search", "port", "--known-at", "here", "--home", tmp_path)["found"] == []
    back = told("rewind", "here", "--home", tmp_path)
    assert (back["to_seq"], back["closed"]) == (at, {"memories": 1})
    assert told("search", "port", "--home", tmp_path)["found"] == []
    assert told("undo", "--home", tmp_path)["opened"] == {"memories": 1}
    assert told("search", "port", "--home", tmp_path)["found"]
    told("rewind", "1", "--home", tmp_path)
    assert [one["id"] for one in told("search", "database", "--home", tmp_path)["found"]] == [old]
    kinds = [one["kind"] for one in told("history", "--home", tmp_path)["operations"]]
    assert kinds == ["remember", "remember", "checkpoint", "remember", "rewind", "undo", "rewind"]
    shown = ran("history", "--home", tmp_path)
    assert "label here" in shown
    assert new in shown
    assert "to operation 1" in ran("rewind", "1", "--home", tmp_path)


def test_rebuild_makes_the_same_answers(tmp_path: Path):
    home_with_two(tmp_path)
    before = told("search", "main database", "--home", tmp_path)
    assert told("rebuild", "--home", tmp_path)["memories"] == 2
    assert told("search", "main database", "--home", tmp_path) == before
    assert "2 memories." in ran("rebuild", "--home", tmp_path)


def test_purge_asks_and_then_destroys(tmp_path: Path):
    old, new = home_with_two(tmp_path)
    assert "nothing was purged" in ran("purge", new, "--home", tmp_path, code=1)
    assert len(told("search", "database", "--home", tmp_path)["found"]) == 2
    done = told("purge", new, "--yes", "--home", tmp_path)
    assert done == {
        "session_id": "notes",
        "kind": "memory",
        "removed": {"memories": 1},
        "traces": [],
        "copies": [],
        "remains": "",
        "unsearched": [],
    }
    assert [one["id"] for one in told("search", "database", "--home", tmp_path)["found"]] == [old]
    assert "the files were cleaned" in ran("purge", new, "--yes", "--home", tmp_path, code=1)
    (records_of(tmp_path) / "copy.txt").write_text("The main database is PostgreSQL.")
    assert "A trace is left in copy.txt" in ran("purge", old, "--yes", "--home", tmp_path, code=1)


def test_a_purge_finds_copies_at_the_top_of_the_home(tmp_path: Path):
    old, _ = home_with_two(tmp_path)
    copy = tmp_path / "hooks" / "prepared"
    copy.parent.mkdir()
    copy.write_text("The main database is PostgreSQL.")
    assert str(copy) in "".join(ran("purge", old, "--yes", "--home", tmp_path, code=1).split())


def test_a_reference_or_a_task_finds_its_session(tmp_path: Path):
    session = opened(tmp_path, "first", budget_tokens=900)
    refs = [one.ref for one in session.prepare(body(user("Go."), *rounds(12))).actions]
    session.close()
    tasks = TaskSession(tmp_path, "second")
    tasks.does("read")
    tasks.close()
    told("remember", "The port is 8080.", "--session", "third", "--home", tmp_path)
    assert told("purge", refs[0], "--yes", "--home", tmp_path)["session_id"] == "first"
    assert told("purge", "task:read", "--yes", "--home", tmp_path)["session_id"] == "second"
    for what in ("session", "document:notes.md"):
        assert "--session ID" in ran("purge", what, "--yes", "--home", tmp_path, code=2)
    assert told("purge", "session", "--yes", "--session", "first", "--home", tmp_path)["kind"] == "session"


@pytest.mark.parametrize(
    "arguments",
    [("search", "x"), ("conflicts",), ("history",), ("checkpoint",), ("rewind", "1"), ("undo",), ("diff", "1"), ("rebuild",),
     ("purge", "x", "--yes")],
)  # fmt: skip
def test_where_there_is_no_store_nothing_is_made(tmp_path: Path, arguments: tuple[str, ...]):
    home = tmp_path / "none"
    assert "no store in" in ran(*arguments, "--home", home, code=1)
    assert not home.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rewind", "nowhere"), "neither a checkpoint nor a task"),
        (("rewind", "99"), "no operation 99"),
        (("undo",), "no rewind to undo"),
        (("history", "--session", "other"), "no session 'other'"),
        (("remember", "[Remembered: x"), "undrift's own"),
        (("remember", " "), "something in it"),
        (("purge", "0123456789abcdef", "--yes"), "nothing under"),
    ],
)
def test_what_is_not_there_is_one_line_and_exit_code_1(tmp_path: Path, arguments: tuple[str, ...], message: str):
    home_with_two(tmp_path)
    shown = ran(*arguments, "--home", tmp_path, code=1)
    assert shown.startswith("undrift: ")
    assert message in shown
    assert shown.count("\n") == 1


def test_hostile_texts_never_reach_a_terminal_raw(tmp_path: Path):
    with opened(tmp_path, HOSTILE) as session:
        entry = session.remember(f"We use PostgreSQL {HOSTILE}", speaker=HOSTILE, source=HOSTILE, trust="user")
        session.remember(f"We use SQLite {HOSTILE}", speaker=HOSTILE)
        session.checkpoint(HOSTILE)
        session.start_task(HOSTILE)
    commands = (
        ("search", "PostgreSQL"), ("conflicts",), ("history",), ("diff", "0"), ("remember", f"We use MySQL {HOSTILE}"),
        ("rewind", HOSTILE), ("purge", entry.id, "--yes"), ("purge", HOSTILE, "--yes"), ("rewind", HOSTILE + "x"),
    )  # fmt: skip
    for arguments in commands:
        shown = undrift(*arguments, "--home", str(tmp_path))
        assert shown.output
        assert isinstance(shown.exception, SystemExit | None)
        assert all(c.isprintable() or c == "\n" for c in shown.output), arguments


@pytest.mark.parametrize(
    ("word", "type_"),
    [
        ("lesson", "lesson_learned"),
        ("decision", "architectural_decision"),
        ("Preference", "user_preference"),
        ("note", "note"),
    ],
)
def test_a_type_is_named_by_a_word_of_it(tmp_path: Path, word: str, type_: str):
    assert told("remember", "Words.", "--type", word, "--home", tmp_path)["memory"]["type"] == type_


def test_a_word_of_no_type_or_of_several_is_refused(tmp_path: Path):
    for word in ("lessons", "x"):
        assert "lesson_learned" in ran("remember", "Words.", "--type", word, "--home", tmp_path, code=2)
