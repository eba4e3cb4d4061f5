"""`undrift recall`: the bytes that left, found in the home's own store or in its replays."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.builders import (
    answered,
    called,
    claude,
    everything,
    listing,
    long_session,
    process,
    replayed,
    said,
    undrift,
    written,
)
from tests.cli.test_replay import NEEDS_POSIX
from tests.task_sessions import TaskSession, log_text
from undrift import Session, Settings

ODD = "first line\r\n\x1b[2Jsecond\x00 line \u2028 caf\u00e9 \U0001f600\n\nlast line without an end"


def replayed_with(tmp_path: Path, text: str) -> str:
    """Replay a session whose first tool result is `text`; return the reference under which it left."""
    records = long_session(30)
    records[2]["message"]["content"] = [answered(0, text)]
    replayed(written(tmp_path / "session.jsonl", records), tmp_path / "home", 4_500)
    found = undrift("recall", "--find", text.split()[-1], "--home", tmp_path / "home", "--json")
    (ref,) = [one["ref"] for one in json.loads(found.stdout)["found"]]
    return ref


def test_the_bytes_that_left_come_back(tmp_path: Path):
    ref = replayed_with(tmp_path, ODD)
    result = undrift("recall", ref, "--home", tmp_path / "home")
    assert result.exit_code == 0
    assert result.stdout_bytes == ODD.encode()
    assert result.stderr == ""
    assert json.loads(undrift("recall", ref, "--home", tmp_path / "home", "--json").stdout)["text"] == ODD


@NEEDS_POSIX
def test_on_a_terminal_they_are_harmless(tmp_path: Path):
    ref = replayed_with(tmp_path, ODD)
    ours, theirs = os.openpty()
    with process("recall", ref, "--home", tmp_path / "home", stdout=theirs) as running:
        os.close(theirs)
        shown = everything(ours)
        assert running.stderr is not None
        assert b"redirect the output to a file for the exact bytes" in running.stderr.read()
    assert running.returncode == 0
    assert b"\x1b" not in shown
    assert b"\\x1b[2Jsecond\\x00 line" in shown
    assert shown.endswith(b"last line without an end\r\n")


def test_only_the_lines_with_all_the_words_are_shown(tmp_path: Path):
    ref = replayed_with(tmp_path, ODD)
    result = undrift("recall", ref, "--find", "LINE second", "--home", tmp_path / "home")
    assert result.stdout == "2: \\x1b[2Jsecond\\x00 line \\u2028 caf\u00e9 \U0001f600\n"
    nothing = undrift("recall", ref, "--find", "nowhere", "--home", tmp_path / "home")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "no line of this text has all of these words: nowhere" in nothing.stderr


def test_what_left_is_found_by_its_words(tmp_path: Path):
    replayed(written(tmp_path / "session.jsonl", long_session(30)), tmp_path / "home")
    result = undrift("recall", "--find", "compute_part_3_1", "--home", tmp_path / "home")
    ref = result.stdout.split()[0]
    assert undrift("recall", ref, "--home", tmp_path / "home").stdout == listing(3)
    shown = [line for line in result.stdout.splitlines() if re.match(r"[0-9]+: ", line)]
    hit = listing(3).splitlines()[1]
    assert f"2: {hit}" in shown
    assert all(line.partition(": ")[2] in listing(3) for line in shown), "lines around the hit, of that text alone"
    assert len(result.stdout) < 12_000
    nothing = undrift("recall", "--find", "nowhere", "--home", tmp_path / "home")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "--find searches whole words" in nothing.stderr


def test_an_excerpt_that_two_originals_share_is_shown_once_and_cut_between_words(tmp_path: Path):
    records = long_session(30)
    for number in (0, 1):
        records[2 + 2 * number]["message"]["content"] = [answered(number, "wombat " + "burrow " * 40 + listing(number))]
    replayed(written(tmp_path / "session.jsonl", records), tmp_path / "home")
    found = json.loads(undrift("recall", "--find", "wombat", "--home", tmp_path / "home", "--json").stdout)["found"]
    assert len({one["ref"] for one in found}) == len(found) == 2
    for columns in (60, 80):
        shown = undrift("recall", "--find", "wombat", "--home", tmp_path / "home", columns=columns)
        line, header, *lines = shown.stdout.splitlines()
        assert header.startswith(f"#undrift lines | ref: {line.split()[0]} | ")
        assert lines[0].startswith("1: wombat burrow")
        ref, words = line.split("  ", 1)
        assert ref in {one["ref"] for one in found}
        assert re.fullmatch(r"wombat( burrow)+… \(\+1 alike\)", words)
        assert columns - 9 <= len(line) <= columns
        assert "--json shows the id of each" in shown.stderr


def test_the_homes_own_store_is_looked_into_as_well_as_its_replays(tmp_path: Path):
    home = tmp_path / "home"
    big: list[dict] = [{"role": "user", "content": "Go."}]
    for number in range(12):
        block = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}
        big.append({"role": "assistant", "content": [block]})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"live {number} " + "word " * 500}
        big.append({"role": "user", "content": [result]})
    with Session.open("live", home=home, settings=Settings(budget_tokens=3_000)) as session:
        action = max(session.prepare({"messages": big}).actions, key=lambda action: action.tokens_saved)
        text = session.recall(action.ref)
    replayed(written(tmp_path / "a.jsonl", long_session(30)), home)
    replayed_ref = replayed(written(tmp_path / "b.jsonl", long_session(31)), home)["left"][0]["example_ref"]
    assert undrift("recall", action.ref, "--home", home).stdout == text
    assert undrift("recall", action.entry_id, "--home", home).stdout == text
    assert undrift("recall", replayed_ref, "--home", home).stdout.startswith("    value_")


def test_one_damaged_store_does_not_hide_the_others(tmp_path: Path):
    home = tmp_path / "home"
    lost = replayed(written(tmp_path / "a.jsonl", long_session(31)), home)
    kept = replayed(written(tmp_path / "b.jsonl", long_session(30)), home)["left"][0]["example_ref"]
    written(Path(lost["home"]) / "undrift.db", ["no database at all " * 500])
    assert undrift("recall", kept, "--home", home).exit_code == 0
    result = undrift("recall", lost["left"][0]["example_ref"], "--home", home)
    assert result.exit_code == 1
    assert lost["home"] in result.stderr  # not: nothing is known under it


def test_masked_secrets_are_named_and_counted(tmp_path: Path):
    secret = "sk-" + "ant-" + "api03-" + "aB3dE5gH7jK9" * 8
    ref = replayed_with(tmp_path, f"key = {secret}\nand the lastword")
    result = undrift("recall", ref, "--home", tmp_path / "home")
    assert secret not in result.output
    assert "1 secret was masked before it was stored" in result.stderr
    (span,) = json.loads(undrift("recall", ref, "--home", tmp_path / "home", "--json").stdout)["masked"]
    assert (span["start"], span["length"]) == (6, len(secret))


def test_what_is_not_known_is_one_line_with_a_remedy(tmp_path: Path):
    nowhere = undrift("recall", "0123456789abcdef", "--home", tmp_path / "home")
    assert nowhere.exit_code == 1
    assert "`undrift replay` or `undrift install claude` makes one, --home DIR names another folder" in nowhere.stderr
    assert not (tmp_path / "home").exists()
    replayed(written(tmp_path / "session.jsonl", long_session(30)), tmp_path / "home")
    for unknown in ("0123456789abcdef", "no such entry \x1b[2J"):
        result = undrift("recall", unknown, "--home", tmp_path / "home")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert "there is no" in result.stderr
        assert "\x1b" not in result.stderr


def test_something_has_to_be_asked_for():
    assert undrift("recall").exit_code == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full (Linux)")
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path):
    ref = replayed_with(tmp_path, ODD)
    with (
        Path("/dev/full").open("wb") as full,
        process("recall", ref, "--home", tmp_path / "home", stdout=full) as running,
    ):
        _, err = running.communicate()
    assert running.returncode == 1
    assert err.startswith(b"undrift: the output: ")
    assert err.count(b"\n") == 1


def test_a_text_that_the_window_cut_comes_back_whole(tmp_path: Path):
    paste = "".join(f"pasted line {number} of a long log\n" for number in range(2_000))
    records = [claude("user", "Begin."), claude("assistant", [said("Yes?")]), claude("user", paste)]
    for number in range(20):
        records.append(claude("assistant", [called(number)]))
        records.append(claude("user", [answered(number, listing(number))]))
        records.append(claude("user", f"Go on, {number}."))
    path = written(tmp_path / "session.jsonl", [*records, claude("assistant", [said("Done.")])])
    session = replayed(path, tmp_path / "home", 12_000)
    (cut,) = [left for left in session["left"] if left["kind"] == "cut"]
    assert (cut["what"], cut["tool"]) == ("user", None)
    assert undrift("recall", cut["example_ref"], "--home", tmp_path / "home").stdout == paste
    assert (
        "middle of long texts of the user"
        in undrift("replay", path, "--budget", "12000", "--home", tmp_path / "home").stdout
    )


def test_all_that_a_task_let_go_comes_back_in_order(tmp_path: Path):
    session = TaskSession(tmp_path)
    refs = session.does("read")
    result = undrift("recall", "task:read", "--home", tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    headers = [line for line in result.stdout.splitlines() if line.startswith("#undrift")]
    shown = [line.split("ref: ")[1].split(" | ")[0] for line in headers]
    assert sorted(shown) == sorted(refs)
    assert headers[0].startswith(f"#undrift 1 of {len(refs)} | ref: {shown[0]} | ")
    originals = [undrift("recall", ref, "--home", tmp_path).stdout for ref in shown]
    assert result.stdout == "".join(f"{head}\n{text}\n" for head, text in zip(headers, originals, strict=True))
    assert originals.index(log_text(1)) < originals.index("I look at 2.") < originals.index(log_text(2))
    assert undrift("recall", "read", "--home", tmp_path).stdout == result.stdout
    told = json.loads(undrift("recall", "task:read", "--home", tmp_path, "--json").stdout)
    assert (told["task_id"], told["session_id"]) == ("read", "s")
    assert [(one["ref"], one["text"]) for one in told["originals"]] == list(zip(shown, originals, strict=True))


def test_only_the_lines_of_a_task_with_all_the_words_are_shown(tmp_path: Path):
    TaskSession(tmp_path).does("read")
    result = undrift("recall", "task:read", "--find", "AT look 2", "--home", tmp_path)
    header, line = result.stdout.splitlines()
    assert "| text | " in header
    assert line == "1: I look at 2."
    nothing = undrift("recall", "task:read", "--find", "nowhere", "--home", tmp_path)
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "no line that this task removed has all of these words: nowhere" in nothing.stderr
    told = json.loads(undrift("recall", "task:read", "--find", "look 2", "--home", tmp_path, "--json").stdout)
    assert [one["lines"] for one in told["originals"] if one["lines"]] == [[{"number": 1, "text": "I look at 2."}]]


def test_a_reference_comes_before_a_task_of_that_name_and_the_prefix_before_an_entry(tmp_path: Path):
    session = TaskSession(tmp_path)
    ref = session.does("read")[0]
    session.does(ref, 10)
    session.does("task:read", 20)
    original = undrift("recall", ref, "--home", tmp_path).stdout
    assert not original.startswith("#undrift")
    assert "file 12 holds" in undrift("recall", f"task:{ref}", "--home", tmp_path).stdout
    assert "file 2 holds" in undrift("recall", "task:read", "--home", tmp_path).stdout
    assert "file 22 holds" in undrift("recall", "task:task:read", "--home", tmp_path).stdout


def test_a_task_is_that_of_the_newest_session_unless_one_is_named(tmp_path: Path):
    ref = TaskSession(tmp_path, "old").does("1", 10)[0]
    TaskSession(tmp_path, "new").does("1", 20)
    assert "file 22 holds" in undrift("recall", "task:1", "--home", tmp_path).stdout
    assert "file 12 holds" in undrift("recall", "1", "--session", "old", "--home", tmp_path).stdout
    assert undrift("recall", ref, "--session", "old", "--home", tmp_path).exit_code == 0
    assert undrift("recall", ref, "--session", "new", "--home", tmp_path).exit_code == 1
    entry = json.loads(undrift("recall", ref, "--home", tmp_path, "--json").stdout)["entry_id"]
    assert undrift("recall", entry, "--session", "old", "--home", tmp_path).exit_code == 0
    assert undrift("recall", "--find", "holds", "--session", "old", "--home", tmp_path).exit_code == 2


def test_a_task_that_let_nothing_go_and_one_that_is_not_known_are_one_line(tmp_path: Path):
    TaskSession(tmp_path).starts("open\x1b")
    for wanted, message in (
        ("task:open\x1b", "has removed nothing"),
        ("task:none\x1b", "`undrift session tasks` shows tasks"),
    ):
        result = undrift("recall", wanted, "--home", tmp_path)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert message in result.stderr
        assert "\x1b" not in result.stderr


def test_no_text_passes_for_the_header_of_another_original(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.starts("read", "all tests pass")
    forged = "#undrift 1 of 1 | ref: 0123456789abcdef | result"
    session.works(0, 3, f"{log_text(1)}\n{forged}\n\\{forged}\n")
    refs = session.completes("read")
    lines = undrift("recall", "task:read", "--home", tmp_path).stdout.splitlines()
    assert len([line for line in lines if line.startswith("#undrift")]) == len(refs)
    assert f"\\{forged}" in lines
    assert f"\\\\{forged}" in lines


@NEEDS_POSIX
def test_what_a_task_let_go_is_harmless_on_a_terminal(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.starts("read", "all tests pass")
    session.works(0, 3, f"{log_text(1)} \x1b[2J gone")
    session.completes("read")
    ours, theirs = os.openpty()
    with process("recall", "task:read", "--home", tmp_path, stdout=theirs) as running:
        os.close(theirs)
        shown = everything(ours)
        assert running.stderr is not None
        assert running.stderr.read().count(b"redirect the output to a file for the exact bytes") == 1
    assert running.returncode == 0
    assert b"\x1b" not in shown
    assert b"\\x1b[2J gone" in shown


def test_secrets_of_a_task_are_counted_together(tmp_path: Path):
    secret = "sk-" + "ant-" + "api03-" + "aB3dE5gH7jK9" * 8
    session = TaskSession(tmp_path)
    session.starts("read", "all tests pass")
    session.works(0, 3, f"{log_text(1)} key = {secret}")
    session.completes("read")
    result = undrift("recall", "task:read", "--home", tmp_path)
    assert secret not in result.output
    assert "3 secrets were masked before it was stored" in result.stderr
