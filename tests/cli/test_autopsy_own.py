"""``undrift autopsy`` over a user's own sessions: the newest first, then all of them, and nothing is read twice."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.cli.builders import Record, environment, everything, undrift
from tests.cli.test_replay import NEEDS_POSIX
from tests.report.builders import Session, compacted_session, work
from tests.warm.started import Started
from undrift.cli.autopsy_own import OwnSessions
from undrift.recordings.index import AutopsyIndex
from undrift.stores.autopsies import FOLDER


def sessions(place: Path, compacted: int = 4, plain: int = 2) -> list[str]:
    """Sessions of Claude Code, each of a year of its own, the plain ones oldest; return the options that find them."""
    for number in range(compacted + plain):
        made = compacted_session() if number < compacted else work(Session().user("Go."))
        for record in made.records:
            record["timestamp"] = record["timestamp"].replace("2026", str(2025 - number))
        path = made.written(place / "claude" / "projects" / "p" / f"{number}.jsonl")
        os.utime(path, (2_000_000_000 - number, 2_000_000_000 - number))
    others = [word for name in ("codex", "gemini", "copilot", "pi") for word in (f"--{name}-home", str(place / name))]
    return ["--claude-home", str(place / "claude"), *others, "--home", str(place / "home")]


def asked(place: Path, *arguments: str) -> Record:
    result = undrift("autopsy", "--json", *arguments)
    assert result.exit_code == 0, result.output
    found: Record = json.loads(result.stdout)
    return found


def unread(found: Record) -> tuple[int, int, int]:
    return found["all"]["files"], found["all"]["unread"], found["all"]["sessions"]


def test_the_report_is_about_the_newest_and_says_what_is_not_read(tmp_path: Path):
    options = sessions(tmp_path)
    result = undrift("autopsy", "--limit", "2", *options)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("2 compactions removed 40k tokens, and with them")
    assert "These are your 2 newest sessions with a compaction. 4 of 6 recordings are not read yet." in flat(lines)
    assert re.findall(r"^(20\d\d)-03-01", result.stdout, re.M) == ["2025", "2024"]
    assert "  undrift autopsy --all\n" in result.stdout
    assert result.stderr == ""


def flat(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_all_of_them_are_read_once_and_the_next_run_knows_them(tmp_path: Path):
    options = sessions(tmp_path)
    whole = undrift("autopsy", "--all", *options)
    assert whole.stdout.startswith("4 compactions removed 80k tokens")
    assert "4 sessions with a compaction, in 6 recordings that your clients keep." in whole.stdout
    assert undrift("autopsy", *options).stdout == whole.stdout
    (tmp_path / "home" / FOLDER / "index.db").unlink()
    assert undrift("autopsy", "--all", *options).stdout == whole.stdout


def test_a_limit_is_kept_to_when_all_are_known(tmp_path: Path):
    options = sessions(tmp_path)
    undrift("autopsy", "--all", *options)
    limited = undrift("autopsy", "--limit", "1", *options)
    assert limited.stdout.startswith("1 compaction removed 20k tokens")
    assert "This is your newest session with a compaction.\n" in limited.stdout


def test_json_has_the_newest_with_all_texts_and_the_sums_of_all(tmp_path: Path):
    options = sessions(tmp_path)
    first = asked(tmp_path, "--limit", "2", *options)
    assert unread(first) == (6, 4, 2)
    whole = asked(tmp_path, "--limit", "2", "--all", *options)
    assert unread(whole) == (6, 0, 4)
    assert whole["all"]["totals"]["compactions"] == 4
    assert whole["all"]["totals"]["headline"].startswith("4 compactions removed 80k tokens")
    assert whole["sessions"] == first["sessions"] == asked(tmp_path, "--limit", "2", *options)["sessions"]
    fetch = whole["sessions"][0]["compactions"][0]["fetched_again"]["results"][0]
    assert fetch["what"] == "/repo/src/client.py"
    assert whole["sessions"][0]["timeline"]["points"]
    assert whole["totals"]["compactions"] == 2


def test_a_page_of_known_sessions_has_their_texts(tmp_path: Path):
    options = sessions(tmp_path)
    undrift("autopsy", "--all", *options)
    out = tmp_path / "page.html"
    assert undrift("autopsy", *options, "--html", out).exit_code == 0
    assert "client.py" in out.read_text(encoding="utf-8")


def test_a_changed_session_is_read_again_and_a_removed_one_does_not_count(tmp_path: Path):
    options = sessions(tmp_path)
    undrift("autopsy", "--all", *options)
    folder = tmp_path / "claude" / "projects" / "p"
    (folder / "0.jsonl").unlink()
    again = compacted_session().compaction("Again.", preTokens=30_000).call("Read", "x", file_path="/y")
    again.written(folder / "1.jsonl")
    assert asked(tmp_path, *options)["all"]["totals"]["compactions"] == 4
    assert unread(asked(tmp_path, *options)) == (5, 0, 3)


def test_files_that_are_named_are_not_kept(tmp_path: Path):
    path = compacted_session().written(tmp_path / "s.jsonl")
    assert undrift("autopsy", path, "--home", tmp_path / "home").exit_code == 0
    assert not (tmp_path / "home").exists()


def test_a_home_that_cannot_be_written_is_named_and_changes_no_figure(tmp_path: Path):
    options = sessions(tmp_path)
    expected = undrift("autopsy", "--all", *options).stdout
    (tmp_path / "file").write_text("in the way")
    result = undrift("autopsy", "--all", *options[:-1], tmp_path / "file")
    assert (result.exit_code, result.stdout) == (0, expected)
    assert "the next run must read the sessions again" in result.stderr


def test_when_the_time_is_over_one_session_is_enough_and_none_is_lost(tmp_path: Path):
    sessions(tmp_path)
    paths = sorted((tmp_path / "claude" / "projects" / "p").iterdir())
    own = OwnSessions(AutopsyIndex(tmp_path / "home"), paths, quiet=True)
    with own.opened():
        assert [one.path for one in own.newest(3, within_s=0)] == [str(paths[0])]
        assert own.unread == 5
        assert len(own.newest(3)) == 3
        assert len(own.all()) == 4


# ------------------------------------------------------------------------------------------- at a terminal


class Terminal:
    """The program at a terminal of 80 columns, and what it has shown so far."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = os.openpty()
        env = environment(COLUMNS="80", TERM="dumb")
        self.process = Started(["autopsy", *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)

    def ended(self) -> str:
        """Wait for the end; return all that was shown, without colours."""
        shown = everything(self._ours).decode()
        self.process.wait()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n")


@NEEDS_POSIX
def test_at_a_terminal_the_others_are_read_after_the_report(tmp_path: Path):
    options = sessions(tmp_path, compacted=22)
    shown = Terminal(*options).ended()
    report, _, rest = shown.partition(
        "Now reading the other "
    )  # how many depends on the machine: the report does not wait
    assert re.search(r"\d+ compactions? removed \d+k tokens", report)
    assert re.search(r"\d+ of 24 recordings are not read yet", flat([report]))
    assert re.match(r"\d+ recordings, once\. Ctrl-C stops it and loses nothing\.", rest)
    assert "All 22 sessions with a compaction: 22 compactions removed 440k tokens" in shown
    assert unread(asked(tmp_path, *options)) == (24, 0, 22)
    assert "Now reading" not in Terminal(*options).ended()


@NEEDS_POSIX
def test_a_limit_ends_with_the_report(tmp_path: Path):
    options = sessions(tmp_path)
    assert "Now reading" not in Terminal("--limit", "1", *options).ended()
    assert unread(asked(tmp_path, "--limit", "1", *options)) == (6, 5, 1)


MANY = 60
"""More than a run reads between the 25th session, at which it is ended, and the moment at which it ends."""


@pytest.fixture(scope="module")
def read_at_once(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """The figures of many sessions that nothing interrupted."""
    place = tmp_path_factory.mktemp("at-once")
    totals: Record = asked(place, "--all", *sessions(place, compacted=MANY, plain=0))["all"]["totals"]
    return totals


@NEEDS_POSIX
@pytest.mark.no_cover
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_broken_off_loses_nothing(tmp_path: Path, ended_by: signal.Signals, read_at_once: Record):
    options = sessions(tmp_path, compacted=MANY, plain=0)
    running = Terminal(*options)
    database = tmp_path / "home" / FOLDER / "index.db"
    while running.process.poll() is None and rows(database) < 25:
        time.sleep(0.01)
    running.process.send_signal(ended_by)
    shown = running.ended()
    before = rows(database)
    assert 25 <= before < MANY
    if ended_by == signal.SIGINT:
        assert running.process.returncode == 130
        assert f"Stopped. Not read yet: {MANY - before} recordings; the next undrift autopsy continues." in flat(
            [shown]
        )
    assert unread(asked(tmp_path, *options)) == (MANY, MANY - before, before)
    assert asked(tmp_path, "--all", *options)["all"]["totals"] == read_at_once


def rows(database: Path) -> int:
    try:
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        return len(connection.execute("SELECT 1 FROM found").fetchall())
    except apsw.Error:
        return 0


@NEEDS_POSIX
def test_two_runs_at_once_lose_nothing(tmp_path: Path):
    options = sessions(tmp_path, compacted=30)
    both: list[Any] = [Terminal(*options), Terminal(*options)]
    for one in both:
        assert "All 30 sessions with a compaction" in one.ended()
    assert unread(asked(tmp_path, *options)) == (32, 0, 30)
