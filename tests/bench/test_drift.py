"""`undrift bench drift` on sessions small enough to reckon by hand: what is kept, what it costs, what is said of peers."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.builders import answered, called, claude, long_session, said, undrift, written
from undrift.bench.drift import measure
from undrift.bench.drift_report import DriftReport, Outcome, Row
from undrift.bench.sessions import Case, sessions_in
from undrift.core.autopsy.survival import SurvivalCount
from undrift.errors import InputError
from undrift.recordings.files import open_recording

NEEDED = "compute_part_0_3(source, target)"
"""Stands in the first result of `long_session`, and in nothing after it until the agent's last word."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path / "a" / "long.jsonl", long_session(30, last=f"It is value_0_3 = {NEEDED}."))
    written(tmp_path / "short.jsonl", long_session(2, last="Nothing."))
    (tmp_path / "SOURCE.txt").write_text("where they come from")
    return tmp_path


def rows(report: DriftReport) -> dict[tuple[float | int, str], Row]:
    return {(row.budget, row.system): row for row in report.rows}


# ------------------------------------------------------------------------------------------------------- the table


def test_every_system_is_measured_at_every_budget(folder: Path):
    lines: list[str] = []
    report = measure(folder, fractions=(0.5, 0.25), budgets=(5_000,), min_calls=20, progress=lines.append)
    found = rows(report)
    assert {(b, s) for b, s in found} >= {
        (b, s) for b in (0.5, 0.25, 5_000) for s in ("unmanaged", "recency", "undrift")
    }
    assert lines == ["1 of 1: a/long.jsonl"]
    assert report.sessions == ["a/long.jsonl"]
    assert report.left_out == {"fewer than 20 answered calls": 1, "no recorded session": 1}
    whole = found[0.5, "unmanaged"]
    assert (whole.held.share, whole.tokens, whole.total_cost(0), whole.total_cost(1)) == (1.0, 1.0, 1.0, 1.0)
    assert whole.held.needs > 0
    assert 0 < whole.over_budget < whole.turns == 31
    for budget in (0.5, 0.25, 5_000):
        for system in ("recency", "undrift"):
            row = found[budget, system]
            assert row.over_budget == 0
            assert row.tokens < 1
            assert row.total_cost(0) >= row.cost(0)
            assert row.held.needs == whole.held.needs


def test_what_is_needed_late_is_lost_by_recency_and_costs_a_return(folder: Path):
    found = rows(measure(folder, fractions=(0.25,), min_calls=20))
    recency = found[0.25, "recency"]
    assert recency.held.share == 0
    assert recency.total_cost(1) > recency.cost(1)


def test_a_session_that_hardly_reaches_a_budget_has_no_part_in_it(folder: Path):
    report = measure(folder, fractions=(), budgets=(1_000_000,), min_calls=0)
    assert report.rows == []
    assert len(report.sessions) == 2


@pytest.mark.parametrize("bad", [{"fractions": (0.0,)}, {"fractions": (1.5,)}, {"budgets": (0,)}])
def test_a_budget_out_of_range_is_refused(folder: Path, bad: dict):
    with pytest.raises(InputError, match="a fraction must be above 0"):
        measure(folder, **bad)


def test_a_folder_without_sessions_says_what_is_in_it(folder: Path):
    with pytest.raises(InputError, match=r"2 fewer than 60 answered calls, 1 no recorded session"):
        measure(folder)


# ------------------------------------------------------------------------------------------------------ the sessions


def test_a_copy_and_a_continuation_count_once(folder: Path):
    shutil.copy(folder / "a" / "long.jsonl", folder / "copy.jsonl")
    written(folder / "longer.jsonl", long_session(40))
    found = sessions_in(folder, min_calls=20)
    assert [path.name for path in found.paths] == ["longer.jsonl"]
    assert found.left_out["begins as a longer one does"] == 2


def test_every_nth_session_is_taken(folder: Path):
    found = sessions_in(folder, min_calls=0, every=2)
    assert len(found.paths) == 1
    assert found.left_out["passed over by --every 2"] == 1


def test_a_conversation_of_many_files_is_one_session(tmp_path: Path):
    """OpenHands keeps a file for each event; all of them stand for the same conversation."""
    for name in ("base_state.json", "events/event-00000-a.json", "events/event-00001-b.json"):
        written(tmp_path / "state" / name, ["{}"])
    for name in ("event-00000-a.json", "event-00001-b.json"):
        written(tmp_path / "events" / name, ["{}"])
    found = sessions_in(tmp_path, min_calls=0)
    assert found.left_out == {"no recorded session": 2}


def test_what_must_stay_is_counted_with_its_calls(tmp_path: Path):
    records = [
        claude("user", "a" * 40_000),  # of a long paste 2,000 tokens
        claude("assistant", [called(number) for number in range(7)]),
        claude("user", [answered(number, "b" * 400) for number in range(7)]),
        claude("assistant", [said("Done.")]),
    ]
    case = Case("s", open_recording(written(tmp_path / "s.jsonl", records)))
    calls = case.everything(case.history.turns[1])[1:8]
    assert case.must_stay(case.history.turns[0]) == 2_000
    assert case.must_stay(case.history.turns[1]) == 2_000 + 7 * 100 + sum(
        tokens for _, tokens in calls
    )  # none was seen yet


# --------------------------------------------------------------------------------------------------------- the report


def test_sums_weigh_sessions_by_what_they_need_and_cost():
    def outcome(held: int, needed: int, cost: float, size: int) -> Outcome:
        return Outcome(SurvivalCount(held, needed, 0, 0), (size,), (cost, cost), (0.0, cost), 1)

    row = Row(0.5, "x", (outcome(1, 1, 10, 5), outcome(0, 3, 30, 10)), (outcome(1, 1, 20, 10), outcome(3, 3, 60, 20)))
    value = row.as_value()
    assert (value["survival"], value["identifiers"], value["lines"]) == (0.25, 0.25, None)
    assert (value["tokens"], value["turns"], value["over_budget_turns"], value["sessions"]) == (0.5, 2, 2, 2)
    assert value["costs"][0] == {"read_price": 0.1, "prompts": 0.5, "total": 0.5}
    shown = DriftReport(rows=[row], sessions=["a", "b"], versions={"undrift": "1"}, skipped=["y: not installed"])
    assert "| 0.5 | x | 0.250 | 0.250 | none needed | 4 | 0.500 | 0.500 | 0.500 | 2 of 2 |" in shown.as_markdown()
    assert "SKIPPED: y: not installed" in shown.as_markdown()


# -------------------------------------------------------------------------------------------------------- the command


def test_the_command_prints_one_table_and_writes_both(folder: Path, tmp_path: Path):
    out = tmp_path / "out"
    result = undrift("bench", "drift", folder, "--fractions", "0.5", "--min-calls", "20", "--json", "--out", out)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert json.loads((out / "drift.json").read_text()) == told
    assert [row["system"] for row in told["rows"]][:3] == ["unmanaged", "recency", "undrift"]
    assert {row["budget"] for row in told["rows"]} == {0.5}
    assert told["measure"]["read_prices"] == [0.1, 0.05]
    assert "measuring 1 of 1: a/long.jsonl" in result.stderr
    assert "| budget | system | survival | identifiers | lines |" in (out / "drift.md").read_text()


def test_a_budget_in_tokens_takes_the_place_of_the_usual_shares(folder: Path):
    result = undrift("bench", "drift", folder, "--budget", "5000", "--min-calls", "20", "--json")
    assert {row["budget"] for row in json.loads(result.stdout)["rows"]} == {5_000}


@pytest.mark.parametrize("value", ["half", "0", "1.5", "0.5,,", "nan", ""])
def test_shares_that_are_none_are_wrong_usage(folder: Path, value: str):
    result = undrift("bench", "drift", folder, "--fractions", value)
    assert result.exit_code == 2
    assert "is not a list of numbers above 0 and at most 1" in result.stderr


# ---------------------------------------------------------------------------------------------------------- the peers

STUB = """
def compress(messages, model, model_limit, kompress_model):
    assert kompress_model == "disabled"
    print("noise that is no answer")
    {act}
    return type("Result", (), {{"messages": messages}})
"""


def stub(root: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    """Install a package that looks like the peer's, for the process that is started as well."""
    written(root / "headroom" / "__init__.py", [STUB.format(act=act)])
    written(
        root / "headroom_ai-9.9.dist-info" / "METADATA", ["Metadata-Version: 2.1\nName: headroom-ai\nVersion: 9.9\n"]
    )
    monkeypatch.syspath_prepend(root)


def test_a_peer_in_a_process_of_its_own_is_measured(folder: Path, tmp_path_factory, monkeypatch: pytest.MonkeyPatch):
    shorten = "messages = [{**m, 'content': 'gone'} if i == 2 else m for i, m in enumerate(messages)]"
    stub(tmp_path_factory.mktemp("site"), monkeypatch, shorten)
    report = measure(folder, fractions=(0.5,), min_calls=20)
    row = rows(report)[0.5, "headroom compress"]
    assert report.versions["headroom-ai"] == "9.9"
    assert row.tokens < 1
    assert row.held.share < 1  # the result that held it is the one that it left out
    assert row.over_budget > 0


@pytest.mark.parametrize("act", ["raise ValueError('no')", "import os; os._exit(3)"])
def test_a_peer_that_breaks_is_named_and_the_others_go_on(folder: Path, tmp_path_factory, monkeypatch, act: str):
    stub(tmp_path_factory.mktemp("site"), monkeypatch, act)
    report = measure(folder, fractions=(0.5, 0.25), min_calls=20)
    assert "headroom compress" not in {row.system for row in report.rows}
    assert (0.25, "undrift") in rows(report)
    assert sum("headroom compress 9.9 failed in a/long.jsonl" in reason for reason in report.skipped) == 1


def test_langchains_ways_are_measured_where_installed(folder: Path):
    pytest.importorskip("langchain_core.messages")
    found = rows(measure(folder, fractions=(0.25,), min_calls=20))
    assert found[0.25, "LangChain trim_messages"].tokens < 1
    pytest.importorskip("langchain.agents.middleware.context_editing")
    assert found[0.25, "LangChain ClearToolUsesEdit"].held.share == 0
