"""`undrift replay`: the story, the table, the JSON; and every way in which it may fail."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import records_of
from tests.cli.builders import (
    Record,
    answered,
    called,
    claude,
    codex_session,
    environment,
    everything,
    long_session,
    process,
    replayed,
    said,
    undrift,
    waits_for_input,
    written,
)
from tests.transcripts.samples import COPILOT, GEMINI, OPENCODE, PI, SWE_AGENT, document
from undrift.recordings.replay import replay_folder

NEEDS_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX: signals, limits and terminals")
HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\r\u202e\x9b31m"
"""Sets the clipboard, clears the screen, goes back to the line's start, turns the writing round."""


def flat(text: str) -> str:
    """The words of an output, however they were broken into lines."""
    return " ".join(text.split())


def controls(text: str) -> list[str]:
    """What a terminal would obey."""
    return re.findall(r"[^\x20-\x7e\xa0-\u2029\u202f-\U0010ffff\n]", text)


def failure(stdout: str, stderr: str, exit_code: int) -> str:
    """The one line of a failed command."""
    assert exit_code == 1
    assert stdout == ""
    assert stderr.startswith("undrift: ")
    assert stderr.count("\n") == 1
    return stderr


# ------------------------------------------------------------------------------------------- what it tells


def test_one_session_is_told_as_a_story(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30, last="It is value_0_1."))
    home = tmp_path / "the home"
    result = undrift("replay", path, "--budget", "6000", "--home", home)
    session = replayed(path, home)
    assert result.exit_code == 0
    assert result.stderr == ""
    story = flat(result.stdout)
    (left,) = session["left"]
    assert story.startswith(f"{path} claude-code · claude-opus-4-6 · 31 turns")
    assert f"{left['blocks']} blocks removed or shortened on {len(session['prunes'])} of 31 turns" in story
    assert "to keep the prompt within 6,000 tokens (as set)" in story
    assert re.search(rf"Read \(tool\) {left['blocks']} {left['tokens']:,} {left['example_ref']} value_", story)
    low = [prune["target_tokens"] for prune in session["prunes"]]
    assert {prune["moment"] for prune in session["prunes"]} == {"budget"}
    assert f"Prunes start at 6,000 tokens and stop at {min(low):,}" in story
    assert f"{session['tokens_before']:,} {session['tokens_after']:,}" in story
    assert f"largest prompt {session['peak_before']:,} {session['peak_after']:,}" in story
    assert "If the agent fetches again what it lost, that adds $" in story
    assert "0 of 1 identifier (0.0%)" in story
    assert f"undrift recall {left['example_ref']} --home '{home}'" in story  # to be typed as it stands


def test_a_session_on_which_pruning_does_not_pay_is_told_so(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(14))
    budget = replayed(path, tmp_path / "home", 10**9)["peak_before"] - 200
    story = flat(undrift("replay", path, "--budget", str(budget), "--home", tmp_path / "home").stdout)
    change = replayed(path, tmp_path / "home", budget)["cost"]
    assert change["after"] > change["before"]
    percent = f"{change['after'] / change['before'] - 1:.1%}"
    assert f"Pruning did not pay: it costs {percent} more than sending everything" in story


def test_a_session_on_which_pruning_pays_is_told_so(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(100))
    story = flat(undrift("replay", path, "--budget", "15000", "--home", tmp_path / "home").stdout)
    change = replayed(path, tmp_path / "home", 15_000)["cost"]
    assert change["after"] < change["before"]
    percent = f"{1 - change['after'] / change['before']:.1%}"
    assert f"Pruning paid: it costs {percent} less than sending everything." in story  # and nothing was fetched again


def test_a_session_within_its_budget_gets_a_smaller_one_suggested(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    story = flat(undrift("replay", path, "--home", tmp_path / "home").stdout)
    assert "Nothing was removed: the largest prompt is" in story
    assert "the budget 150,000 (75% of the window of 200,000 tokens of claude-opus-4-6)" in story
    found = re.search(r"undrift replay \S+ --budget (\d+)", story)
    assert found
    assert replayed(path, tmp_path / "home", int(found[1]))["prunes"]  # and that one does prune


COMPACTION = [
    {"type": "system", "subtype": "compact_boundary", "isSidechain": False},
    claude("user", "The value is computed in the parts.", at_s=299, isCompactSummary=True),
]


def compacted(path: Path) -> Path:
    records = long_session(30)
    records[1]["message"]["usage"] = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 900,
        "cache_creation": {"ephemeral_1h_input_tokens": 900},
    }
    return written(path, [*records[:-1], *COMPACTION, records[-1]])


def test_the_clients_own_compaction_stands_beside_sending_everything(tmp_path: Path):
    path = compacted(tmp_path / "session.jsonl")
    result = undrift("replay", path, "--budget", "6000", "--home", tmp_path / "home")
    text = " ".join(result.stdout.split())
    assert "everything sent as compacted managed change" in text
    assert "As compacted: its client compacted once." in text
    assert "The cache lives an hour, as recorded." in text
    assert "The price of this budget: 6,000 costs " in text
    value = json.loads(undrift("replay", path, "--budget", "6000", "--home", tmp_path / "home", "--json").stdout)
    cost = value["sessions"][0]["cost"]
    assert (cost["cache_seconds"], cost["cache_recorded"], cost["write_price"]) == (3_600, True, 2.0)
    assert 0 < cost["native_summaries"] < cost["native"] < cost["before"]
    assert (cost["native_compactions"], cost["native_unreadable"], cost["native_refetch"]) == (1, 0, 0)
    assert value["sessions"][0]["survival"]["native"]["needs"] == value["sessions"][0]["survival"]["needs"]


def test_without_a_compaction_of_the_clients_own_a_replay_says_so(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    result = undrift("replay", path, "--budget", "6000", "--home", tmp_path / "home")
    assert "The recording holds no compaction of its client's own" in " ".join(result.stdout.split())
    value = json.loads(undrift("replay", path, "--home", tmp_path / "home", "--json").stdout)["sessions"][0]
    assert (value["cost"]["native"], value["survival"]["native"]) == (None, None)


def test_several_sessions_are_compared_together(tmp_path: Path):
    paths = [compacted(tmp_path / "a.jsonl"), written(tmp_path / "b.jsonl", long_session(12))]
    text = " ".join(undrift("replay", *paths, "--budget", "6k", "--home", tmp_path / "home").stdout.split())
    assert "The price of this budget: 6,000 costs " in text
    assert "1 session was compacted by the client: the managed windows cost " in text
    auto = " ".join(undrift("replay", paths[1], paths[1], "--home", tmp_path / "home").stdout.split())
    assert "The price of this budget" not in auto
    assert "No recording holds a compaction of its client's own" in auto


def test_the_json_has_the_names_that_programs_rely_on(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    result = undrift("replay", path, "--budget", "6000", "--home", tmp_path / "home", "--json")
    whole = json.loads(result.stdout)
    assert set(whole) == {"sessions", "failed"}
    (session,) = whole["sessions"]
    assert {"path", "format", "turns", "tokens_before", "tokens_after", "cost", "survival", "actions"} <= set(session)
    assert {"warnings", "budget_tokens", "skipped", "over_budget_turns"} <= set(session)
    assert {"model", "read_price", "before", "after"} <= set(session["cost"])
    assert {"identifiers", "lines", "needs"} <= set(session["survival"])
    assert (session["path"], session["format"], session["turns"]) == (str(path), "claude-code", 31)
    assert session["cost"]["model"] == "claude-opus-4-6"
    assert session["cost"]["read_price"] == 0.1
    assert session["cost"]["usd_before"] == pytest.approx(session["cost"]["before"] * 5 / 1e6, abs=1e-5)
    assert session["actions"] == {"pruned": session["left"][0]["blocks"]}
    assert session["survival"]["unmanaged"]["all"] == 1.0


def test_several_files_make_a_table_with_each_path_in_one_piece(tmp_path: Path):
    paths = [
        written(tmp_path / "first.jsonl", long_session(30)),
        written(tmp_path / ("long-" * 30 + "name.jsonl"), codex_session(2)),
    ]
    result = undrift("replay", *paths, "--budget", "6000", "--home", tmp_path / "home")
    assert result.exit_code == 0
    assert all(str(path) in result.stdout for path in paths)
    assert "still there" in result.stdout
    where = f"--home {tmp_path / 'home'}"
    assert f"The full report of one:\n  undrift replay {paths[0]} --budget 6000 {where}\n" in result.stdout
    assert "1 session without a prune: no prompt was larger than the budget." in flat(result.stdout)
    peak = replayed(paths[1], tmp_path / "home")["peak_before"]
    smaller = f"undrift replay {paths[1]} --budget {max(1_000, peak // 2 // 1_000 * 1_000)} {where}\n"
    assert f"What a smaller budget would prune:\n  {smaller}" in result.stdout
    folder = records_of(tmp_path / "home") / "replays"
    assert result.stdout.endswith(f"Remove that copy:\n  rm -r {folder}\n")
    assert re.search(rf"secrets masked, is kept for `undrift recall`: 0\.\d MiB in {folder}", flat(result.stdout))


def test_a_cut_last_line_is_counted_and_no_failure(tmp_path: Path):
    path = written(tmp_path / "live.jsonl", [*long_session(2), '{"type": "user", "mess'])
    result = undrift("replay", path, "--home", tmp_path / "home")
    assert result.exit_code == 0
    assert "skipped in the file: cut last line (1)" in flat(result.stdout)
    session = replayed(path, tmp_path / "home")
    assert session["unfinished"] is True
    assert session["skipped"]["cut last line"] == 1


def test_the_other_conversations_of_a_file_are_counted(tmp_path: Path):
    talk = [{"role": "user", "content": "Add it."}, {"role": "assistant", "content": "Done."}]
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"messages": talk}] * 3))
    result = undrift("replay", path, "--home", tmp_path / "home")
    assert result.exit_code == 0, result.output
    assert "Note: skipped in the file: message of another conversation (4)" in result.stdout


def test_more_tools_than_a_screen_holds_are_summed_up(tmp_path: Path):
    records = [claude("user", "Try them all.")]
    for number in range(30):
        records.append(claude("assistant", [called(number, f"tool_{number}")]))
        records.append(claude("user", [answered(number, "x" * 40 * (60 - number))]))
    path = written(tmp_path / "session.jsonl", [*records, claude("assistant", [said("Done.")])])
    result = undrift("replay", path, "--budget", "4000", "--home", tmp_path / "home")
    left = replayed(path, tmp_path / "home", 4_000)["left"]
    assert f"{len(left) - 12} more" in result.stdout
    assert result.stdout.count("(tool)") == 12


# ------------------------------------------------------------------------------------------- whose sessions


def homes(tmp_path: Path) -> dict[str, str | None]:
    return {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CODEX_HOME": str(tmp_path / "codex"),
        "GEMINI_CLI_HOME": str(tmp_path),
        "COPILOT_HOME": str(tmp_path / "copilot"),
        "PI_CODING_AGENT_DIR": str(tmp_path / "pi"),
    }


def test_without_a_file_the_users_own_newest_sessions_are_taken_and_only_read(tmp_path: Path):
    folder = tmp_path / "claude" / "projects" / "repo"
    own: dict[str, list] = {
        "newest": long_session(3),
        "titles": ["{}\n"],
        "older": long_session(2),
        "oldest": long_session(1),
    }
    for age_s, name in enumerate(own):
        os.utime(written(folder / f"{name}.jsonl", own[name]), (10**9 - age_s, 10**9 - age_s))
    os.utime(
        written(tmp_path / "codex" / "sessions" / "2026" / "rollout.jsonl", codex_session()), (10**9 - 9, 10**9 - 9)
    )
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(tmp_path.rglob("*.jsonl"))}
    arguments = ("replay", "--limit", "2", "--home", tmp_path / "home")
    result = undrift(*arguments, env=homes(tmp_path))
    assert result.exit_code == 0
    assert [name for name in ("newest", "titles", "older", "oldest", "rollout") if name in result.stdout] == [
        "newest",
        "older",
    ]
    assert result.stdout.index("newest") < result.stdout.index("older")
    assert "titles.jsonl: not a recorded session" in result.stderr
    assert "2 older sessions of yours are not shown" in result.stdout
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before
    assert sorted(tmp_path.rglob("*.jsonl")) == sorted(before)
    found = json.loads(undrift(*arguments, "--json", env=homes(tmp_path)).stdout)
    assert (found["found"], len(found["sessions"]), len(found["failed"])) == (5, 2, 1)


def test_a_user_without_sessions_is_told_where_they_were_looked_for(tmp_path: Path):
    result = undrift("replay", env=homes(tmp_path))
    message = failure(result.stdout, result.stderr, result.exit_code)
    for place in ("claude/projects", "codex/sessions", ".gemini/tmp", "copilot/session-state", "pi/sessions"):
        assert str(tmp_path / place) in message
    assert "name a file: undrift replay FILE" in message


@NEEDS_POSIX
def test_a_user_without_a_home_folder_is_asked_for_a_file(monkeypatch: pytest.MonkeyPatch):
    def unknown(_uid: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    result = undrift("replay")
    message = failure(result.stdout, result.stderr, result.exit_code)
    assert message == "undrift: ~/.undrift: your home folder is not known; set HOME, or UNDRIFT_HOME to a folder\n"


def test_every_clients_own_sessions_are_replayed(tmp_path: Path):
    written(tmp_path / ".gemini" / "tmp" / "0a1b" / "chats" / "session-1.json", document(GEMINI))
    written(tmp_path / "copilot" / "session-state" / "s" / "events.jsonl", COPILOT)
    written(tmp_path / "pi" / "sessions" / "--repo--" / "s.jsonl", PI)
    result = undrift("replay", "--json", "--home", tmp_path / "home", env=homes(tmp_path))
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert sorted(session["format"] for session in found["sessions"]) == ["copilot-cli", "gemini-cli", "pi"]


@pytest.mark.parametrize(("name", "value"), [("opencode", OPENCODE), ("swe-agent", SWE_AGENT), ("gemini-cli", GEMINI)])
def test_a_document_is_replayed_like_a_file_of_lines(tmp_path: Path, name: str, value: Record):
    session = replayed(written(tmp_path / "session.json", document(value)), tmp_path / "home")
    assert (session["format"], session["turns"] >= 2) == (name, True)


# ------------------------------------------------------------------------------------------- what goes wrong


def test_each_bad_file_is_one_line_and_exit_code_1(tmp_path: Path):
    with_hole = written(tmp_path / "hole.jsonl", long_session(1))
    with with_hole.open("r+b") as file:
        file.truncate(100_000_000)
    for path, sentence in (
        (tmp_path / "gone.jsonl", "there is no such file"),
        (tmp_path, "is a folder"),
        (written(tmp_path / "empty.jsonl", []), "is empty"),
        (written(tmp_path / "notes.txt", ["Dear diary,\n"]), "not a recorded session"),
        (with_hole, "is longer than 64 MiB"),
    ):
        result = undrift("replay", path, "--home", tmp_path / "home")
        message = failure(result.stdout, result.stderr, result.exit_code)
        assert str(path) in message
        assert sentence in message
    assert not (tmp_path / "home").exists()


def test_a_bad_file_among_good_ones_does_not_stop_them(tmp_path: Path):
    good, bad = written(tmp_path / "good.jsonl", long_session(1)), tmp_path / "gone.jsonl"
    result = undrift("replay", bad, good, "--home", tmp_path / "home")
    assert result.exit_code == 1
    assert str(good) in result.stdout
    assert str(bad) in result.stderr
    whole = json.loads(undrift("replay", bad, good, "--home", tmp_path / "home", "--json").stdout)
    assert [session["path"] for session in whole["sessions"]] == [str(good)]
    assert [failed["path"] for failed in whole["failed"]] == [str(bad)]


def test_a_damaged_beginning_is_passed_over_where_the_format_is_named(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", ["?\n" * 100, *long_session(1)])
    assert "name the format" in undrift("replay", path, "--home", tmp_path / "home").stderr
    result = undrift("replay", path, "--home", tmp_path / "home", "--format", "claude-code")
    assert result.exit_code == 0
    assert "malformed line (100)" in flat(result.stdout)


@pytest.mark.parametrize(
    "arguments", [["--budget", "0"], ["--budget", "many"], ["--format", "word"], ["--limit", "0"], ["--no-such-option"]]
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]):
    assert undrift("replay", "session.jsonl", *arguments).exit_code == 2


def test_a_wrong_setting_is_exit_code_1_and_named(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(1))
    result = undrift("replay", path, env={"UNDRIFT_KEEP_TOOL_RESULTS": "none"})
    assert "UNDRIFT_KEEP_TOOL_RESULTS" in failure(result.stdout, result.stderr, result.exit_code)


def test_settings_count_where_no_option_is_given(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    env: dict[str, str | None] = {"UNDRIFT_BUDGET_TOKENS": "6000", "UNDRIFT_HOME": str(tmp_path / "mine")}
    (session,) = json.loads(undrift("replay", path, "--json", env=env).stdout)["sessions"]
    assert (session["budget_tokens"], session["home"]) == (
        6_000,
        str(replay_folder(records_of(tmp_path / "mine"), path)),
    )
    (session,) = json.loads(undrift("replay", path, "--json", "--budget", "7000", env=env).stdout)["sessions"]
    assert session["budget_tokens"] == 7_000


def test_a_home_where_nothing_can_be_made_is_one_line(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(1))
    home = written(tmp_path / "file", ["in the way"]) / "home"
    result = undrift("replay", path, "--home", home)
    assert "choose another --home" in failure(result.stdout, result.stderr, result.exit_code)


def test_a_read_only_home_is_one_line(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(1))
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    if os.access(home, os.W_OK):
        pytest.skip("needs a user whom permissions bind: this one writes everywhere (root, or Windows)")
    result = undrift("replay", path, "--home", home)
    assert "check its owner and permissions" in failure(result.stdout, result.stderr, result.exit_code)
    assert list(home.iterdir()) == []


@NEEDS_POSIX
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(60, characters=20_000))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)); "
    arguments = ("replay", path, "--home", tmp_path / "home", "--budget", "60000")
    with process(*arguments, before=limit) as running:
        out, err = running.communicate()
    message = failure(out.decode(), err.decode(), running.returncode)
    assert str(replay_folder(records_of(tmp_path / "home"), path)) in message
    assert "--home" in message
    assert not (records_of(tmp_path / "home") / "replays").exists()


# ------------------------------------------------------------------------------------------- on a terminal


def test_nothing_of_a_recording_reaches_the_terminal_as_a_command(tmp_path: Path):
    records = long_session(30, tool=f"Read{HOSTILE}", last=HOSTILE)
    for number, record in enumerate(records):
        if number and record["type"] == "user":
            record["message"]["content"][0]["content"] = f"{HOSTILE}{number}\n" + "x\n" * 900
        if record["type"] == "assistant":
            record["message"]["model"] = f"claude{HOSTILE}"
    path = written(tmp_path / "session\x1b[2J.jsonl", [*records, HOSTILE])
    for arguments in (
        ["replay", path],
        ["replay", path, path],
        ["replay", f"{path}{HOSTILE}"],
        ["replay", path, "--json"],
    ):
        result = undrift(*arguments, "--budget", "6000", "--home", tmp_path / "home")
        assert "\\x1b" in result.output or "\\u001b" in result.output  # it is shown, and
        assert controls(result.stdout + result.stderr) == []  # harmless


@NEEDS_POSIX
def test_a_progress_bar_is_drawn_where_stderr_is_a_terminal_and_only_there(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    for arguments, drawn in (((), True), (("--json",), False)):
        ours, theirs = os.openpty()
        with process("replay", path, "--home", tmp_path / "home", *arguments, stderr=theirs) as running:
            os.close(theirs)
            shown = everything(ours)
            assert running.stdout is not None
            out = running.stdout.read()
        assert running.returncode == 0
        assert (b"session.jsonl" in shown and b"31/31" in shown) is drawn
        assert b"31 turns" in out or json.loads(out)
        assert b"\x1b" not in out


@NEEDS_POSIX
def test_the_turns_of_a_progress_bar_are_not_cut_by_a_long_name(tmp_path: Path):
    path = written(tmp_path / ("long-" * 30 + "name.jsonl"), long_session(30))
    ours, theirs = os.openpty()
    with process("replay", path, "--home", tmp_path / "home", stderr=theirs, columns=60) as running:
        os.close(theirs)
        shown = everything(ours)
        running.communicate()
    assert b"31/31" in shown


@NEEDS_POSIX
def test_ctrl_c_ends_it_quietly(tmp_path: Path):
    with process("replay", "/dev/stdin", "--home", tmp_path / "home", stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        running.stdin.write(b"{}\n")
        running.stdin.flush()
        waits_for_input(running.stdin.fileno())
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 1
    assert out == b""
    assert err.strip() == b"Aborted!"
    assert not (tmp_path / "home").exists()


@NEEDS_POSIX
def test_a_reader_that_has_enough_ends_it_quietly(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    with process("replay", path, "--home", tmp_path / "home", "--budget", "6000") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1


# ------------------------------------------------------------------------------------------- the program


def test_the_program_runs_by_itself_and_without_rich_where_nothing_is_drawn(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(3))
    program = (
        "import sys; from undrift.cli import main\n"
        f"try: main(['replay', {str(path)!r}, '--home', {str(tmp_path / 'home')!r}, '--json'])\n"
        "except SystemExit as end: sys.exit(end.code or int('rich' in sys.modules) * 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["sessions"][0]["turns"] == 4
