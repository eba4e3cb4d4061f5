"""`undrift recall`: the bytes that left, found in the home's own store or in its replays."""

import json
import os
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
from tests.cli.test_replay_command import NEEDS_POSIX
from undrift import Session, Settings

ODD = "first line\r\n\x1b[2Jsecond\x00 line \u2028 caf\u00e9 \U0001f600\n\nlast line without an end"


def replayed_with(tmp_path: Path, text: str) -> str:
    """Replay a session whose first tool result is `text`; return the reference under which it left."""
    records = long_session(30)
    records[2]["message"]["content"] = [answered(0, text)]
    replayed(written(tmp_path / "session.jsonl", records), tmp_path / "home")
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
        assert b"send it to a file for the exact bytes" in running.stderr.read()
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
    assert "no line of it holds all of: nowhere" in nothing.stderr


def test_what_left_is_found_by_its_words(tmp_path: Path):
    replayed(written(tmp_path / "session.jsonl", long_session(30)), tmp_path / "home")
    result = undrift("recall", "--find", "compute_part_3_1", "--home", tmp_path / "home")
    ref = result.stdout.split()[0]
    assert undrift("recall", ref, "--home", tmp_path / "home").stdout == listing(3)
    nothing = undrift("recall", "--find", "nowhere", "--home", tmp_path / "home")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "nothing that left holds any of these words" in nothing.stderr


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
    assert "nothing was recorded there yet; run `undrift replay` or `undrift install`, or give --home" in nowhere.stderr
    assert not (tmp_path / "home").exists()
    replayed(written(tmp_path / "session.jsonl", long_session(30)), tmp_path / "home")
    for unknown in ("0123456789abcdef", "no such entry \x1b[2J"):
        result = undrift("recall", unknown, "--home", tmp_path / "home")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert "nothing is known under" in result.stderr
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
