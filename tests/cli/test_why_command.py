"""`undrift why`: what it was, why it left, with which figures, in which operation."""

import json
from pathlib import Path

from tests.cli.builders import answered, called, long_session, replayed, undrift, written
from undrift import Session, Settings
from undrift.stores.sqlite import SqliteStore


def test_a_result_that_left_is_explained(tmp_path: Path):
    home = tmp_path / "home"
    session = replayed(written(tmp_path / "session.jsonl", long_session(30)), home)
    (left,) = session["left"]
    result = undrift("why", left["example_ref"], "--home", home)
    assert result.exit_code == 0
    what, begins, reason, figures, operation, back = result.stdout.splitlines()
    assert what.startswith(f"{left['example_ref']}: a result of Read, ")
    assert begins == f"begins with: {left['example']}"
    assert reason == f"it left the window: {left['reason']}"
    assert "the budget was 6,000" in figures
    assert "(prune) of 2026-03-01 10:0" in operation  # the recording's own time
    assert back == f"get it back: undrift recall {left['example_ref']} --home {home}"


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
    replayed(written(tmp_path / "session.jsonl", records), home)
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
    assert "what never left a window is not stored" in result.stderr


def test_an_entry_has_to_be_named():
    assert undrift("why").exit_code == 2
