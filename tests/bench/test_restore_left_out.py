"""A repository is judged by tables that never saw it, and by the counting that `undrift bench restore` has."""

import json
from pathlib import Path

import pytest

from bench.restore_data import recorded_below
from bench.restore_fit import Models, fit_each_left_out
from bench.restore_left_out import main
from tests.bench.test_fit_restore import reading
from tests.bench.test_restore import judged
from tests.report.builders import compacted_session
from undrift.bench.restore import bag_of_names, measure
from undrift.bench.restore_report import JudgedCompaction, RestoreReport
from undrift.core.autopsy.steps import steps_of
from undrift.core.restore import weights
from undrift.core.text.tokens import characters_per_4
from undrift.recordings.files import open_recording


def one(repository: str, held: tuple[int, int], tail: tuple[int, int], tokens: int = 50) -> JudgedCompaction:
    found = judged(repository, (2, 2), held)
    return JudgedCompaction(
        found.folder, found.client, found.version, repository, repository, found.needed,
        {"tail@50": tail, "bag@50": (0, 0), "restore@50": held}, {"tail@50": 50, "restore@50": tokens},
    )  # fmt: skip


def test_repositories_that_the_last_tokens_serve_better_are_named() -> None:
    report = RestoreReport(
        (one("a", (2, 0), (0, 1)), one("a", (2, 0), (0, 1)), one("b", (0, 0), (2, 2), tokens=51)), (50,), {}
    )
    checks = report.as_value()["clients"]["codex"]["checks"]
    assert checks["below_tail"] == [
        {"repository": "a", "text": "restore@50", "kind": "lines", "restore": 0.0, "tail": 0.5}
    ]
    assert (checks["texts"], checks["over_size"], checks["repositories"]) == (
        3,
        1,
        1,
    )  # one compaction says nothing of b
    assert "1 of 3 texts are over their size; a bag of names holds 0." in report.as_markdown()
    assert (
        "last tokens hold more in 1 of the 1 repositories with at least 2 compactions: a (lines, 50)."
        in report.as_markdown()
    )
    assert "bag@50" not in report.as_value()["clients"]["codex"]["all"]["texts"]


def test_the_tables_of_a_repository_are_fitted_to_the_others_alone(tmp_path: Path) -> None:
    from bench.fit_restore import lessons_by_owner

    reading(range(15, 35)).write(tmp_path / "one__a.jsonl")
    reading(range(20, 40, 3)).write(tmp_path / "two__b.jsonl")
    reading(range(16, 30, 2)).write(tmp_path / "three__c.jsonl")
    lessons = lessons_by_owner(recorded_below(tmp_path, every_calls=10)[0])
    fold = fit_each_left_out(lessons, ["two"])
    without = fit_each_left_out({"none": lessons["two"], "one": lessons["one"], "three": lessons["three"]}, ["none"])
    assert fold["two"] == without["none"]
    assert fold["two"] != fit_each_left_out(lessons, ["one"])["one"]


def test_a_compaction_is_judged_by_the_tables_of_its_repository(tmp_path: Path) -> None:
    from bench.fit_restore import using

    compacted_session().written(tmp_path / "one__a.jsonl")
    seen: list[object] = []

    def written(*_: object) -> str:
        seen.append(weights.NAMES)
        return ""

    mine = Models((1.0, ((0.0,),)), (1.0, ((0.0,),)))
    before = weights.NAMES
    measure([tmp_path], budgets=[50], restored=written, judging={"one": using(mine)}.__getitem__)
    assert seen
    assert all(table == mine.names for table in seen)
    assert weights.NAMES is before


def test_a_bag_of_names_keeps_its_size(tmp_path: Path) -> None:
    path = compacted_session().written(tmp_path / "one__a.jsonl")
    steps = steps_of(open_recording(path).entries)
    assert 0 < characters_per_4(bag_of_names(steps, 20)) <= 20


def test_one_repository_cannot_be_judged_by_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compacted_session().written(tmp_path / "one__a.jsonl")
    assert main([str(tmp_path)]) == 1
    assert "sessions of two repositories" in capsys.readouterr().err
    reading(range(15, 35)).write(tmp_path / "two__b.jsonl")
    wanted = [str(tmp_path), "--json", "--budget", "500", "--tables", str(tmp_path / "tables.json")]
    assert main(wanted) == 0
    found = capsys.readouterr().out
    assert json.loads(found)["clients"]["claude-code"]["repositories"].keys() == {"one"}
    assert main(wanted) == 0
    again = capsys.readouterr()
    assert again.out == found
    assert "tables are those of" in again.err
    assert "fitting" not in again.err
    reading(range(15, 36)).write(tmp_path / "two__b.jsonl")
    assert main(wanted) == 0
    assert "fitting again" in capsys.readouterr().err
