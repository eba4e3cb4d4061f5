"""`undrift bench restore` on anybody's recordings: each compaction counts once and as much as any other."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from tests.report.builders import compacted_session
from undrift.bench.restore import measure
from undrift.bench.restore_report import JudgedCompaction, RestoreReport, figures_of, restore_tables


def judged(repository: str, needed: tuple[int, int], held: tuple[int, int], version: str = "1.0") -> JudgedCompaction:
    return JudgedCompaction(
        "set", "codex", version, repository, repository, needed, {"summary": (0, 0), "restore@50": held}, {"summary": 9, "restore@50": 50}
    )  # fmt: skip


def test_a_large_compaction_counts_as_much_as_a_small_one() -> None:
    found = figures_of([judged("one", (90, 0), (0, 0)), judged("two", (10, 4), (10, 1))])
    assert (found["compactions"], found["compactions_with_lines"], found["repositories"]) == (2, 1, 2)
    row = found["texts"]["restore@50"]
    assert row["identifiers"] == {"macro": 0.5, "low": 0.0, "high": 1.0, "pooled": 0.1}
    assert row["lines"] == {"macro": 0.25, "low": 0.25, "high": 0.25, "pooled": 0.25}
    assert (row["mean_tokens"], row["most_tokens"]) == (50, 50)


def test_a_text_has_a_price_in_each_prompt_and_holds_what_was_read_again() -> None:
    one = JudgedCompaction(
        "set", "codex", "1", "a", "a", (4, 0), {"summary": (1, 0)}, {"summary": 100}, turns=11, read_again=(3, 900), spared={"summary": (2, 500)}
    )  # fmt: skip
    report = RestoreReport((one,), (50,), {})
    row = report.as_value()["clients"]["codex"]["all"]["texts"]["summary"]
    assert (row["mean_cost_tokens"], row["spared"]) == (225, {"calls": 2.0, "tokens": 500})
    assert (
        "price of 11 prompts, in plain tokens | read again: 3.0 results, 900 tokens; of these held |"
        in report.as_markdown()
    )
    assert "| the client's own summary | 100 | 225 | 2.0, 500 |" in report.as_markdown()


def test_where_no_line_was_needed_there_is_no_figure_of_lines() -> None:
    report = RestoreReport((judged("one", (4, 0), (1, 0)),), (50,), {})
    assert "lines" not in report.as_value()["clients"]["codex"]["all"]["texts"]["restore@50"]
    assert "| the restore text of 50 | 0.25 (0.25 to 0.25), 0.25 | none | 50 |" in report.as_markdown()


def test_neighbouring_versions_stand_together_until_they_are_enough() -> None:
    versions = ["0.9.0", "0.10.0", "0.10.0", "0.10.2-alpha", "0.11.0", "0.100.1"]
    found = tuple(judged("one", (4, 4), (1, 2), version) for version in reversed(versions))
    value = RestoreReport(found, (50,), {}).as_value()
    assert {name: one["compactions"] for name, one in value["clients"]["codex"]["versions"].items()} == {
        "0.9.0 to 0.11.0": 5,
        "0.100.1": 1,
    }
    assert "| 0.9.0 to 0.11.0 | 5 | 0.00 / 0.00 | 0.25 / 0.50 |" in restore_tables(value)


def test_recordings_are_counted_once_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    compacted_session().written(folder / "one__a.jsonl")
    shutil.copy(folder / "one__a.jsonl", folder / "one__b.jsonl")  # a session that was resumed, say
    (folder / "notes.jsonl").write_text('{"type": "compacted", "no": "session"}\n', encoding="utf-8")
    result = undrift("bench", "restore", folder, "--json")
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert value["budgets"] == [5_000, 10_000]
    assert value["left_out"] == {"no recorded session": 1}
    part = value["clients"]["claude-code"]["all"]
    assert (part["compactions"], part["sessions"], part["needs"]) == (1, 1, {"identifiers": 10, "lines": 2})
    assert part["texts"]["summary"]["identifiers"]["macro"] == 0.0
    assert part["texts"]["restore@5000"]["identifiers"]["macro"] == 1.0
    assert part["texts"]["today_restore@5000"]["lines"]["pooled"] == 1.0
    assert (
        part["read_again"]["calls"]
        == part["texts"]["restore@5000"]["spared"]["calls"]
        > part["texts"]["summary"]["spared"]["calls"]
    )
    assert part == value["clients"]["claude-code"]["repositories"]["one"]
    shown = undrift("bench", "restore", folder, "--budget", "5k").stdout
    assert "claude-code, all: 1 compactions (1 with lines), 1 repositories, 10 / 2 needs" in shown


@pytest.mark.parametrize(("budget", "held"), [(10, 0), (100_000, 10)])
def test_the_last_tokens_are_no_more_than_the_budget(tmp_path: Path, budget: int, held: int) -> None:
    compacted_session().written(tmp_path / "a.jsonl")
    (found,) = measure([tmp_path], budgets=[budget]).found
    assert found.held[f"tail@{budget}"][0] == held


def test_a_bag_of_names_holds_nothing(tmp_path: Path) -> None:
    compacted_session().written(tmp_path / "a.jsonl")

    def names(entries: object, tokens: int, *_: object) -> str:
        return " ".join(word for entry in entries for word in entry.content.split())  # type: ignore[attr-defined]

    (found,) = measure([tmp_path], budgets=[50], restored=names).found
    assert found.held["restore@50"] == found.held["bag@50"] == (0, 0)


def test_a_folder_without_compactions_is_said_to_hold_none(tmp_path: Path) -> None:
    result = undrift("bench", "restore", tmp_path)
    assert result.exit_code == 1
    assert "was compacted after 15 calls or more" in result.stderr
