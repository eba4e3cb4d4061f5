"""`undrift bench outcomes`: where outcomes are found, and what is compared."""

import json
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from undrift.bench.outcomes import graded_in, measure
from undrift.bench.outcomes_report import JudgedRun, OutcomesReport
from undrift.errors import InputError


def conversation(turns: int = 2) -> list[dict[str, str]]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": f"words {n}"} for n in range(2 * turns)]


def trajectory(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    history = [{"role": one["role"], "content": one["content"], "agent": "primary"} for one in conversation()]
    (folder / f"{name}.traj").write_text(
        json.dumps({"environment": "e", "trajectory": [], "history": history, "info": {}})
    )


def test_a_reward_is_an_outcome(tmp_path: Path):
    runs = [{"task_id": n, "reward": reward, "info": {}, "traj": conversation()} for n, reward in enumerate((0.0, 1.0))]
    (tmp_path / "airline.json").write_text(json.dumps(runs))
    assert [(one.task, one.solved) for one in graded_in(tmp_path)] == [("0", False), ("1", True)]


def test_resolved_is_an_outcome_beside_the_messages_or_in_their_report(tmp_path: Path):
    runs = [
        {"instance_id": "a", "resolved": True, "messages": conversation()},
        {"instance_id": "b", "report": {"resolved": False}, "messages": json.dumps(conversation())},
    ]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    assert [(one.task, one.solved) for one in graded_in(tmp_path)] == [("a", True), ("b", False)]


def test_a_file_of_results_names_the_solved_tasks_of_its_run_alone(tmp_path: Path):
    for run, solved in (("one", ["a.b__c-1"]), ("two", [])):
        for task in ("a.b__c-1", "a__c-2"):
            trajectory(tmp_path / run / "trajs", task)
        (tmp_path / run / "results").mkdir()
        (tmp_path / run / "results" / "results.json").write_text(json.dumps({"resolved": solved}))
    trajectory(tmp_path / "three", "a__c-3")
    assert [(one.name, one.solved) for one in graded_in(tmp_path)] == [
        ("one/trajs/a.b__c-1.traj", True),
        ("one/trajs/a__c-2.traj", False),
        ("three/a__c-3.traj", None),
        ("two/trajs/a.b__c-1.traj", False),
        ("two/trajs/a__c-2.traj", False),
    ]


def test_runs_in_which_nothing_old_was_needed_have_no_part(tmp_path: Path):
    runs = [{"task_id": n, "reward": 1.0, "info": {}, "traj": conversation()} for n in range(3)]
    (tmp_path / "airline.json").write_text(json.dumps(runs))
    trajectory(tmp_path / "other", "a__c-3")
    report = measure(tmp_path)
    assert report.left_out == {"in which nothing old was needed": 3, "without an outcome": 1}
    result = undrift("bench", "outcomes", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Nothing is compared: that needs 10 runs of each outcome" in result.stdout
    assert json.loads(undrift("bench", "outcomes", tmp_path, "--json").stdout)["rows"] == []


def test_a_survival_that_is_needed_is_measured(tmp_path: Path):
    """A name is learned at the start, and used after more than twenty messages."""
    talk = [{"role": "user", "content": "The order is ORD_4711_X. Wait."}, *conversation(14)[1:]]
    talk.append({"role": "user", "content": "Go on."})
    talk.append({"role": "assistant", "content": "The order ORD_4711_X is done."})
    (tmp_path / "airline.json").write_text(json.dumps([{"task_id": 7, "reward": 1.0, "info": {}, "traj": talk}]))
    (judged,) = measure(tmp_path, fraction=0.5).runs
    assert (judged.task, judged.solved, judged.survival["undrift"]) == ("7", True, 1.0)


def test_the_figures_have_intervals_and_tasks_are_compared_with_themselves():
    runs = [  # hard tasks have a low survival; within a task the solved run has .2 more
        JudgedRun("r", str(task), solved, 30, {"undrift": task / 40 + 0.2 * solved})
        for task in range(20)
        for solved in (True, False)
    ]
    runs += [JudgedRun("r", "easy", True, 10, {"undrift": 0.9})] * 5
    (row,) = OutcomesReport(tuple(runs), 0.25, {}).as_value()["rows"]
    assert row["mixed_tasks"] == 20
    assert row["within_task"] == pytest.approx([0.2, 0.2, 0.2])
    difference, low, high = row["difference"]
    assert low < difference < high
    assert difference == pytest.approx(0.2 + (0.9 - 0.4375) * 5 / 25, abs=1e-4)
    assert 0 < row["correlation"][1] < row["correlation"][0] < row["correlation"][2] < 1
    same = [JudgedRun("r", str(n), n % 2 == 0, 30, {"undrift": 0.5}) for n in range(40)]
    (row,) = OutcomesReport(tuple(same), 0.25, {}).as_value()["rows"]
    assert (row["correlation"], row["difference"]) == (None, [0.0, 0.0, 0.0])


def test_a_fraction_out_of_range_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        measure(tmp_path, fraction=0)
