"""`undrift why`: what it was, why it left, with which figures, in which operation."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.builders import answered, called, long_session, replayed, undrift, written
from tests.task_sessions import SUMMARY, TaskSession
from undrift import Session, Settings
from undrift.cli.why import _figures
from undrift.stores.sqlite import SqliteStore
from undrift.values.window import Decision


def test_a_result_that_left_is_explained(tmp_path: Path):
    home = tmp_path / "home"
    session = replayed(written(tmp_path / "session.jsonl", long_session(30)), home)
    (left,) = session["left"]
    result = undrift("why", left["example_ref"], "--home", home, columns=900)
    assert result.exit_code == 0
    what, begins, reason, figures, moment, operation, _, _, back = result.stdout.splitlines()
    assert what.startswith(f"{left['example_ref']}: a result of Read, ")
    assert begins == f"Begins with: {left['example']}"
    assert reason == f"It left the window: {left['reason']}"
    number = r"\d[\d,]*"
    assert re.fullmatch(
        rf"The window was {number} tokens, and {number} of them had to stay. The budget was 6,000 tokens, the prune stopped "
        rf"at {number} tokens, and this freed {number} tokens?.",
        figures,
    )
    assert moment == "Why at that moment: the window exceeded the budget."
    assert "(prune) at 2026-03-01 10:0" in operation  # the recording's own time
    assert back == f"  undrift recall {left['example_ref']} --home {home}"


def test_where_the_budget_was_not_the_reason_it_is_not_named():
    detail = {"total_tokens": 900, "protected_tokens": 100, "budget_tokens": 900, "target_tokens": 400}
    decisions = [
        Decision("a", "pruned", "old", 500, "ref", detail={**detail, "moment": moment})
        for moment in ("pause", "budget")
    ]
    said = [_figures(decision)[0] for decision in decisions]
    assert said[0] == (
        "The window was 900 tokens, and 100 of them had to stay. The prune stopped at 400 tokens, and this freed 500 tokens."
    )
    assert "The budget was 900 tokens, the prune stopped" in said[1]


def test_the_json_agrees_with_the_store(tmp_path: Path):
    home = tmp_path / "home"
    session = replayed(written(tmp_path / "session.jsonl", long_session(30)), home)
    ref = session["left"][0]["example_ref"]
    told = json.loads(undrift("why", ref, "--home", home, "--json").stdout)
    with SqliteStore.open(session["home"], create=False) as store:
        original, decision = store.original(ref), store.decision(ref)
        operations = store.operations(original.session_id)
    assert decision is not None
    assert told["decision"] == {
        "kind": "pruned",
        "reason": decision.reason,
        "tokens_saved": decision.tokens_saved,
        "figures": dict(decision.detail),
    }
    assert told["operation"]["seq"] in {operation.seq for operation in operations}
    assert (told["ref"], told["entry_id"], told["tool"]) == (ref, original.entry.id, "Read")
    assert (told["kind"], told["role"], told["tokens"]) == ("result", "user", original.entry.token_count)
    by_entry = undrift("why", original.entry.id, "--home", home, "--json")
    assert json.loads(by_entry.stdout) == told


def test_a_call_is_told_from_its_result(tmp_path: Path):
    home = tmp_path / "home"
    replayed(written(tmp_path / "session.jsonl", long_session(30)), home)
    found = json.loads(undrift("recall", "--find", "file_path", "--home", home, "--json").stdout)["found"]
    told = undrift("why", found[0]["ref"], "--home", home).stdout
    assert ": a call of Read, " in told


def test_results_of_calls_made_together_are_told_apart(tmp_path: Path):
    home = tmp_path / "home"
    records = long_session(30)
    records[1]["message"]["content"] = [called(0, "Grep"), called(100, "Bash")]
    records[2]["message"]["content"] = [answered(0, "found by grep " * 50), answered(100, "printed by bash " * 50)]
    replayed(written(tmp_path / "session.jsonl", records), home, budget=4_500)
    for words, tool in (("grep", "Grep"), ("bash", "Bash")):
        (found,) = json.loads(undrift("recall", "--find", words, "--home", home, "--json").stdout)["found"]
        assert json.loads(undrift("why", found["ref"], "--home", home, "--json").stdout)["tool"] == tool


def test_a_pin_did_not_leave(tmp_path: Path):
    with Session.open("live", home=tmp_path / "home", settings=Settings()) as session:
        ref = session.pin("requirements", "It must be fast.")
    told = undrift("why", ref, "--home", tmp_path / "home")
    assert "a pinned text (requirements)" in told.stdout
    assert "undrift did not remove it" in told.stdout
    assert json.loads(undrift("why", ref, "--home", tmp_path / "home", "--json").stdout)["decision"] is None


def test_what_is_not_known_is_one_line(tmp_path: Path):
    replayed(written(tmp_path / "session.jsonl", long_session(2)), tmp_path / "home")
    result = undrift("why", "0123456789abcdef", "--home", tmp_path / "home")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "`undrift replay` shows references" in result.stderr


def test_an_entry_has_to_be_named():
    assert undrift("why").exit_code == 2


def test_what_left_because_of_a_task_tells_of_the_task(tmp_path: Path):
    session = TaskSession(tmp_path)
    ref = session.does("read", content="Read the files")[0]
    told = undrift("why", ref, "--home", tmp_path, columns=900)
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    assert (
        "It was evicted, and a tombstone took its place: task read was completed; its summary stands in for the raw logs"
        in lines
    )
    at = next(number for number, line in enumerate(lines) if line.startswith("Its task: "))
    assert lines[at].startswith("Its task: read (Read the files), completed 2023-11-14 22:13:")
    assert lines[at + 1 : at + 3] == ["Its summary:", f"  {SUMMARY}"]
    assert lines[at + 4] == "  \u2705 [Sigma Validation] All criteria met (Score: 1.00)"
    assert any(line.startswith("Operation ") and " (evict) at 2023-11-14" in line for line in lines)
    task = json.loads(undrift("why", ref, "--home", tmp_path, "--json").stdout)["task"]
    assert (task["id"], task["status"], task["score"]) == ("read", "completed", 1.0)
    assert ref in task["refs"]


@pytest.mark.parametrize("wanted", ["task:read", "read"])
def test_a_task_is_explained(tmp_path: Path, wanted: str):
    session = TaskSession(tmp_path)
    refs = session.does("read", content="Read the files")
    first, *summary, _, left, _, _, back = undrift("why", wanted, "--home", tmp_path, columns=900).stdout.splitlines()
    assert first.startswith("Task read (Read the files), completed 2023-11-14 22:13:")
    assert first.endswith(" UTC, in session s")
    assert summary[:2] == ["Its summary:", f"  {SUMMARY}"]
    told = json.loads(undrift("why", wanted, "--home", tmp_path, "--json").stdout)
    assert left == (
        f"{len(refs)} blocks left a window because this task ended and its summary is in their place; "
        f"that frees {told['tokens_saved']:,} tokens."
    )
    assert back == f"  undrift recall task:read --home {tmp_path}"
    assert (told["id"], told["session_id"], told["home"]) == ("read", "s", str(tmp_path))
    listed = json.loads(undrift("tasks", "--home", tmp_path, "--json").stdout)["tasks"]
    assert [{**one, "session_id": "s", "home": str(tmp_path)} for one in listed] == [told]


def test_an_open_task_has_let_nothing_go_and_a_session_can_be_named(tmp_path: Path):
    TaskSession(tmp_path, "old").does("1")
    TaskSession(tmp_path, "new").starts("1")
    assert undrift("why", "task:1", "--home", tmp_path, columns=900).stdout.splitlines() == [
        "Task 1, in progress, in session new",
        "Nothing of it is removed yet: its log is removed at a request after the task is completed.",
    ]
    old = undrift("why", "task:1", "--session", "old", "--home", tmp_path).stdout.splitlines()
    assert old[-1] == f"  undrift recall task:1 --home {tmp_path} --session old"


def test_the_task_is_told_also_where_its_tombstone_has_left_since(tmp_path: Path):
    session = TaskSession(tmp_path, budget_tokens=900)
    refs = session.does("read")
    session.works(20, 12)
    gone = [ref for ref in refs if "It left the window" in undrift("why", ref, "--home", tmp_path).stdout]
    assert gone
    assert "Its task: read" in undrift("why", gone[0], "--home", tmp_path).stdout


def test_nothing_of_a_task_reaches_the_terminal_as_such(tmp_path: Path):
    session = TaskSession(tmp_path)
    hostile = "evil\x1b[2J\nIts task: forged"
    session.starts(hostile, "all tests pass", content="title\x1b]0;x\x07")
    session.works(0, 3)
    refs = session.completes(hostile, f"{SUMMARY}\nIts task: another one\x1b[2J")
    for wanted in (f"task:{hostile}", refs[0]):
        result = undrift("why", wanted, "--home", tmp_path)
        assert result.exit_code == 0
        assert not set("\x1b\x07") & set(result.stdout)
        assert len([line for line in result.stdout.splitlines() if line.startswith("Its task: ")]) <= 1
    assert "undrift recall task:" not in undrift("why", f"task:{hostile}", "--home", tmp_path).stdout
