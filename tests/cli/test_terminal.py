"""At any width every figure is whole; a stream that is closed, and Ctrl-C, end without a traceback."""

import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.builders import (
    Record,
    answered,
    called,
    claude,
    environment,
    long_session,
    on_a_terminal,
    process,
    said,
    undrift,
    waits_for_input,
    written,
)
from tests.cli.test_replay import NEEDS_POSIX
from undrift.cli.draw import Column, table
from undrift.transcripts import FORMATS

WIDTHS = [60, 80, 120]
LARGE = f"{10**12:,}"
FIGURE = re.compile(r"[$+-]?\d[\d,.]*[%k]?")


def drawn(width: int, columns: list[Column], rows: Sequence[tuple[str, ...]], **more: bool) -> str:
    return "".join(f"{line}\n" for line in table(columns, rows, width, **more))


# ------------------------------------------------------------------------------------------- widths


@pytest.mark.parametrize("width", [20, 40, *WIDTHS])
@pytest.mark.parametrize("head", [True, False])
def test_no_figure_and_no_word_of_a_table_is_ever_broken(width: int, head: bool):
    name = f"mcp__{'a_very_long_name_' * 4}"
    columns = [Column("what", words=True), Column("calls"), Column("tokens"), Column("cost"), Column("ref")]
    rows = [(name, "12", LARGE, "$12,345.67", f"{number:016x}") for number in range(3)]
    shown = drawn(width, columns, rows, head=head)
    words = shown.replace(": ", " ").replace(":\n", "\n").split()
    assert [words.count(cell) for cell in (name, "12", LARGE, "$12,345.67")] == [3, 3, 3, 3]
    assert all(row[4] in words for row in rows)
    assert max(len(line) for line in shown.splitlines() if name not in line) <= width  # a long name stands alone
    if head:
        assert "tokens" in shown  # the figures are named, however they are drawn


@pytest.mark.parametrize("width", WIDTHS)
def test_what_may_be_short_ends_in_an_ellipsis_and_takes_nothing_from_the_figures(width: int):
    columns = [Column("what", words=True), Column("tokens"), Column("ref"), Column("begins", words=True, short=True)]
    shown = drawn(width, columns, [("mcp__name", LARGE, "0123456789abcdef", "begin " + "x" * 200)])
    assert {LARGE, "0123456789abcdef", "begin"} <= set(shown.split())
    assert "…" in shown
    assert max(map(len, shown.splitlines())) <= width


def test_rows_one_below_the_other_leave_out_what_is_empty():
    assert drawn(20, [Column(""), Column("calls"), Column("tokens of all prompts")], [("1", "", "2")]) == (
        "  1: tokens of all\n  prompts 2\n"
    )
    assert drawn(9, [Column(""), Column("tokens of all prompts")], [("1", "")]) == "  1\n"


def compacted_session() -> list[Record]:
    """A session whose client compacted it, and whose agent then reads again."""
    records = long_session(40, last="It is value_0_1.")
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "",
        "uuid": "b",
        "timestamp": records[-1]["timestamp"],
    }
    boundary["compactMetadata"] = {"trigger": "auto", "preTokens": 1_234_567}
    after = [claude("user", "This session goes on.", isCompactSummary=True)]
    for number in range(40, 44):
        after.append(claude("assistant", [called(number, "Read", file_path=f"src/part_{number - 40}.py")], at_s=999))
        after.append(
            claude("user", [answered(number, records[2 + 2 * (number - 40)]["message"]["content"][0]["content"])])
        )
    return [*records, boundary, *after, claude("assistant", [said("value_1_2 and value_2_2 are used.")], at_s=1_000)]


@NEEDS_POSIX
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", ["replay", "autopsy"])
@pytest.mark.parametrize("files", [1, 2])
def test_the_reports_show_the_same_figures_at_any_width(tmp_path: Path, command: str, files: int, columns: int):
    paths = [written(tmp_path / f"{number}.jsonl", compacted_session()) for number in "ab"[:files]]
    more = ["--budget", "6000", *(["--home", str(tmp_path / "home")] if command == "replay" else [])]
    shown = on_a_terminal(command, *paths, *more, columns=columns)
    piped = undrift(command, *paths, *more).stdout
    assert sorted(FIGURE.findall(_without_excerpts(shown))) == sorted(FIGURE.findall(_without_excerpts(piped)))
    tables = [line for line in shown.splitlines() if str(tmp_path) not in line]
    assert max(map(len, tables)) <= columns


def _without_excerpts(shown: str) -> str:
    """Leave out what may be cut: the beginnings of texts, and rules between head and rows."""
    return re.sub(r"value_.*|\S*…", "", shown)


# ------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("command", ["replay", "autopsy", "restore"])
def test_the_help_names_every_format_that_is_read(command: str):
    text = " ".join(re.sub(r"-\n\s*", "-", undrift(command, "--help").stdout).split())
    assert all(f" {name}," in text or f" {name}." in text for name in FORMATS)


# ------------------------------------------------------------------------------------------- streams


def without(descriptor: int, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the program with a standard stream closed."""
    words = [sys.executable, "-m", "undrift", *map(str, arguments)]
    program = f"import os; os.close({descriptor}); os.execv({sys.executable!r}, {words!r})"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)


@NEEDS_POSIX
@pytest.mark.parametrize("command", ["replay", "autopsy", "restore", "doctor"])
def test_a_closed_stdout_is_one_line_and_exit_code_1(tmp_path: Path, command: str):
    path = [] if command == "doctor" else [written(tmp_path / "session.jsonl", long_session(1))]
    done = without(1, command, *path)
    assert (done.returncode, done.stderr) == (1, "undrift: stdout is closed; open it, as with >/dev/null\n")


@NEEDS_POSIX
@pytest.mark.parametrize("command", ["replay", "autopsy"])
def test_a_closed_stderr_changes_nothing(tmp_path: Path, command: str):
    path = written(tmp_path / "session.jsonl", long_session(1))
    home = ["--home", str(tmp_path / "home")] if command == "replay" else []
    done = without(2, command, path, *home)
    assert done.returncode == 0
    assert str(path) in done.stdout


@NEEDS_POSIX
def test_a_hook_without_stdout_does_its_work_and_says_nothing(tmp_path: Path):
    done = without(1, "hook", "PreCompact", "--home", tmp_path / "home")
    assert (done.returncode, done.stderr) == (0, "")


@NEEDS_POSIX
def test_a_full_disk_behind_stdout_is_one_line(tmp_path: Path):
    disk = Path("/dev/full")
    if not disk.exists():
        pytest.skip("needs /dev/full: Linux")
    path = written(tmp_path / "session.jsonl", long_session(1))
    with disk.open("wb") as full:
        running = process("replay", path, "--home", tmp_path / "home", stdout=full)
        _, err = running.communicate()
    assert (running.returncode, err.count(b"\n")) == (1, 1)
    assert b"undrift: the output: " in err


@NEEDS_POSIX
def test_ctrl_c_ends_a_hook_quietly(tmp_path: Path):
    before = "from undrift.__main__ import run as main; import sys; sys.exit(main()); "
    arguments = ("hook", "PreCompact", "--home", tmp_path / "home")
    with process(*arguments, before=before, stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        running.stdin.write(b" " * 9)
        running.stdin.flush()
        waits_for_input(running.stdin.fileno())
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out, err) == (130, b"", b"")
