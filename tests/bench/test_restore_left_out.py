"""A repository is judged by tables that never saw it, each compaction once, beside a tail and a bag of names of the same size."""

from pathlib import Path

import pytest

from bench.restore_data import recorded_below
from bench.restore_fit import Models, fit_each_left_out
from bench.restore_left_out import Judged, bag_of_names, judged, main, report
from tests.bench.test_fit_restore import reading
from tests.report.builders import compacted_session
from undrift.core.restore import weights
from undrift.core.text.references import Reference
from undrift.core.text.tokens import characters_per_4

NAME: Reference = ("identifier", "parse_field_7")
LINE: Reference = ("line", "value_7 = parse_field_7(record, strict_7)")


def one(repository: str, held: set[Reference], tail: set[Reference], tokens: int = 90) -> Judged:
    texts: dict[str, set[Reference]] = {
        "restore": held,
        "tail": tail,
        "today": set(),
        "both": held,
        "aware": held,
        "bag": set(),
    }
    return Judged(
        "codex", repository, 100, frozenset({NAME, LINE}), {k: frozenset(v) for k, v in texts.items()}, tokens
    )


def test_each_compaction_counts_the_same_and_the_worst_repository_is_named() -> None:
    shown = report([one("a", {NAME}, {LINE}), one("a", {NAME}, {LINE}), one("b", {NAME, LINE}, set(), tokens=101)])
    assert (
        "| codex, 3 compactions (3 with lines), 2 repositories | 100 | the restore text | 1.00 (1.00 to 1.00), 1.00 |"
        in shown
    )
    assert "| a | codex | 100 | 2 | 1.00 / 0.00 | 0.00 / 1.00 | line |" in shown
    assert "| b |" not in shown  # one compaction says nothing of a repository
    assert "1 of 3 texts over their size; held by a bag of names: 0" in shown


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


def test_a_compaction_is_judged_by_all_texts_of_its_size(tmp_path: Path) -> None:
    compacted_session().written(tmp_path / "one__a.jsonl")
    sessions, _ = recorded_below(tmp_path, every_calls=10)
    models = {"one": Models(weights.NAMES, weights.LINES)}
    found = list(judged(sessions, models, [300, 3_000]))
    assert [each.budget for each in found] == [300, 3_000]
    for each in found:
        assert each.tokens <= each.budget
        assert each.held["both"] == each.held["today"] | each.held["restore"]
        assert not each.held["bag"]
    steps = sessions[0].steps
    assert 0 < characters_per_4(bag_of_names(steps, 20)) <= 20


def test_one_repository_cannot_be_judged_by_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compacted_session().written(tmp_path / "one__a.jsonl")
    assert main([str(tmp_path)]) == 1
    assert "sessions of two repositories" in capsys.readouterr().err
