"""The table of attacks in short: rows that cost little hold, and a row that fails or cannot run is seen."""

from pathlib import Path

import pytest

from tests.attack import table
from tests.attack.cuts import cuts, verdict_of
from tests.attack.rows import Outcome, Row, Skipped, of_program, of_tests
from tests.proof.test_proofs import NEEDS_STRACE


def needs_a_moon(is_short: bool) -> Outcome:
    raise Skipped("needs a moon")


def breaks(is_short: bool) -> Outcome:
    raise ValueError("it broke")


def test_rows_that_cost_little_hold(capsys: pytest.CaptureFixture[str]):
    assert table.main(["--short", "clock", "three", '"remember"']) == 0
    assert "ok: 3 rows, 0 failed, 0 skipped" in capsys.readouterr().out


def test_a_row_that_fails_or_cannot_run_is_seen_and_stands_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    half = Row("half | held", "-", lambda _: Outcome(4, 2))
    rows = (Row("held", "-", lambda _: Outcome(1, 1)), half, Row("moon", "-", needs_a_moon), Row("broken", "-", breaks))
    monkeypatch.setattr(table, "ROWS", rows)
    assert table.main([f"--write={tmp_path / 'table.md'}"]) == 1
    assert "FAILED: 4 rows, 2 failed, 1 skipped" in capsys.readouterr().out
    names = [line.split(" | ")[0] for line in (tmp_path / "table.md").read_text().splitlines()[2:]]
    assert names == ["| half / held", "| broken", "| moon", "| held"]


def test_tests_that_are_not_there_and_a_program_that_says_nothing_do_not_pass():
    with pytest.raises(Skipped, match="not there"):
        of_tests("tests/none.py")(False)
    assert of_program("tests.proof.check", "", "", r"(?P<attempts>\d+) (?P<failed>\d+)")(False).failed == 1


def test_no_two_rows_have_one_name():
    names = [row.name for row in table.ROWS]
    assert len(set(names)) == len(names)


@NEEDS_STRACE
def test_a_power_cut_loses_no_task():
    found = cuts("tasks", 6, 1, operations=12)
    assert found["cuts"] == found["whole"] == 6


def test_a_state_that_was_not_acknowledged_is_lost_or_half_done():
    empty = {"decided": [], "tasks": "a", "memories": "a", "pins": "a", "facts": "a", "history": "a"}
    states = [{**empty, "tasks": name, "history": name} for name in "bcd"]
    lines = [{"act": "start", "done": one, "settled": one} for one in states]
    assert verdict_of(states[1], lines, 2) == verdict_of(states[2], lines, 2) == "whole"
    assert verdict_of(states[0], lines, 2) == "lost"
    assert verdict_of({**states[1], "history": "d"}, lines, 2) == "half"
    assert verdict_of({**states[1], "history": "d"}, [*lines[:2], {**lines[2], "act": "turn"}], 2) == "whole"
