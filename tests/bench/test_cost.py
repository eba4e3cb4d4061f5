"""`undrift bench cost` on sessions small enough to count by hand: what is charged, to whom, and at which prices."""

import json
from pathlib import Path

import pytest

from tests.cli.builders import claude, long_session, said, undrift, written
from undrift.bench.cost import AT_THE_CLIENTS_LIMIT, OWN, SCENARIOS, Budget, measure
from undrift.bench.cost_report import CostOutcome, CostReport, CostRow
from undrift.bench.sessions import sessions_in, sessions_of
from undrift.core.autopsy.survival import SurvivalCount
from undrift.core.text.tokens import characters_per_4 as size
from undrift.errors import InputError
from undrift.recordings.replay import NativeCost

SUMMARY = "The value is computed in the parts."
COMPACTION = [
    {"type": "system", "subtype": "compact_boundary", "isSidechain": False},
    claude("user", SUMMARY, at_s=299, isCompactSummary=True),
]


def measured(path: Path, *budgets: Budget, scenarios: str = "own", fixed: int = 0) -> dict[tuple[str, str], dict]:
    chosen = [SCENARIOS[name] for name in scenarios.split(",")]
    report = measure(sessions_in(path, min_calls=0), budgets=budgets, scenarios=chosen, fixed_tokens=fixed)
    return {(row.budget, row.scenario): row.as_value() for row in report.rows}


def test_a_budget_that_is_never_reached_costs_what_everything_costs(tmp_path: Path):
    written(tmp_path / "s.jsonl", long_session(10))
    row = measured(tmp_path, "auto")["auto", "own"]
    assert (row["above"], row["ever"], row["worst"], row["worst_turn"], row["mean"], row["sum"]) == (0, 0, 1, 1, 1, 1)
    assert (row["survival"], row["sessions"], row["turns"], row["native_sessions"]) == (1.0, 1, 11, 0)


def test_a_budget_just_reached_at_the_end_costs_more_and_more_so_where_a_cache_lives_long(tmp_path: Path):
    written(tmp_path / "s.jsonl", long_session(14))
    found = measured(tmp_path, 6_500, scenarios="5m .10,1h .10,1h .025")
    shares = [found["6,500", name]["sum"] for name in ("5m .10", "1h .10", "1h .025")]
    assert 1 < shares[0] < shares[1] < shares[2]
    assert all(row["above"] == row["ever"] == 1 and row["worst_turn"] >= row["worst"] for row in found.values())


def test_native_is_the_restarted_window_and_pays_its_summary(tmp_path: Path):
    records = long_session(10)
    written(tmp_path / "s.jsonl", [*records[:-1], *COMPACTION, records[-1]])
    row = measured(tmp_path, "auto", fixed=1_000)["auto", "own"]
    texts = [records[0]["message"]["content"]]
    for record in records[1:-1]:
        block = record["message"]["content"][0]
        texts.append(block.get("content") or json.dumps(block["input"], separators=(",", ":")))
    before = sum(size(text) for text in texts)
    prompts = [1_000 + size(texts[0])]
    for call, answer in zip(texts[1::2], texts[2::2], strict=True):
        prompts.append(prompts[-1] + size(call) + size(answer))
    spent, last = 1.25 * prompts[0], prompts[0]
    for prompt in prompts[1:-1]:
        spent, last = spent + 0.1 * last + 1.25 * (prompt - last), prompt
    everything = spent + 0.1 * last + 1.25 * (prompts[-1] - last)
    summary = 0.1 * (1_000 + before) + 5 * size(SUMMARY)
    native = spent + summary + 0.1 * 1_000 + 1.25 * size(SUMMARY)
    assert row["native_sum"] == pytest.approx(native / everything, abs=1e-5)
    assert row["of_native"] == row["of_native_alone"] == pytest.approx(everything / native, abs=1e-5)
    assert (row["native_sessions"], row["above_native"]) == (1, 1)


def test_lost_needs_are_charged_to_both_sides(tmp_path: Path):
    records = long_session(30, last="It is value_0_1, computed by compute_part_0_1.")
    written(tmp_path / "s.jsonl", [*records[:-1], *COMPACTION, records[-1]])
    found = measured(tmp_path, "auto", 6_000)
    auto, fixed = found["auto", "own"], found["6,000", "own"]
    assert (auto["survival_there"], auto["native_survival"], fixed["survival_there"]) == (1.0, 0.0, 0.0)
    assert auto["of_native"] < auto["of_native_alone"]
    assert fixed["survival"] == 0.0


def test_auto_at_the_clients_limit_prunes_where_the_client_compacted(tmp_path: Path):
    records = long_session(60)
    at = 61  # records of the first thirty results
    written(tmp_path / "compacted.jsonl", [*records[:at], *COMPACTION, *records[at:]])
    written(tmp_path / "whole.jsonl", long_session(20, characters=250))
    found = measured(tmp_path, "auto", AT_THE_CLIENTS_LIMIT)
    auto, at_limit = found["auto", "own"], found[AT_THE_CLIENTS_LIMIT, "own"]
    assert (auto["sessions"], auto["native_sessions"], at_limit["sessions"]) == (2, 1, 1)
    assert auto["sum"] == 1.0
    assert at_limit["sum"] < 1.0


def test_a_small_window_that_was_compacted_is_no_limit(tmp_path: Path):
    records = long_session(30)
    written(tmp_path / "s.jsonl", [*records[:5], *COMPACTION, *records[5:]])
    assert set(measured(tmp_path, "auto", AT_THE_CLIENTS_LIMIT)) == {("auto", "own")}


def test_the_engine_is_shown_the_cache_of_the_prices(tmp_path: Path):
    late = [claude("user", "And?", at_s=200), claude("assistant", [said("Yes.")], at_s=200 + 1_500)]
    written(tmp_path / "s.jsonl", [*long_session(20, characters=1_500), *late])
    found = measured(tmp_path, 9_000, scenarios="5m .10,1h .10")
    assert found["9,000", "5m .10"]["sum"] < 1.0  # after the pause all is written again, so that less is
    assert found["9,000", "1h .10"]["sum"] == 1.0  # the cache is warm: nothing leaves


def test_a_limit_takes_the_first_sessions(tmp_path: Path):
    paths = [written(tmp_path / f"{n}.jsonl", long_session(n, last=f"{n}", tool=f"T{n}")) for n in (3, 1, 2)]
    assert sessions_of(paths, min_calls=0, limit=2).paths == sorted(paths[:2])
    assert sessions_of(paths, min_calls=2, limit=2).paths == [paths[2], paths[0]]


def test_no_session_is_an_error_that_says_why(tmp_path: Path):
    written(tmp_path / "s.jsonl", long_session(2))
    with pytest.raises(InputError, match="1 fewer than 5 answered calls"):
        measure(sessions_in(tmp_path, min_calls=5), scenarios=(OWN,))


# ------------------------------------------------------------------------------------------------------- the report


def outcome(cost: float, native: float | None, held: int = 1) -> CostOutcome:
    compacted = None
    if native is not None:
        compacted = NativeCost(1, 1, 10, 10, 10, native - 3.0, 1.0, 2.0, SurvivalCount(1, 2, 0, 0))
    return CostOutcome("s", cost, 100.0, cost / 100 + 0.1, 5, SurvivalCount(held, 2, 0, 0), compacted)


def test_rows_add_up_sessions_and_weigh_native_alike():
    value = CostRow("auto", "own", (outcome(90, None), outcome(101, 100, held=2), outcome(50, 60))).as_value()
    assert (value["above"], value["ever"], value["worst"], value["worst_turn"]) == (1, 1, 1.01, 1.11)
    assert (value["mean"], value["sum"]) == (pytest.approx(0.803333, abs=1e-6), pytest.approx(0.803333, abs=1e-6))
    assert (value["survival"], value["survival_there"], value["native_survival"]) == (0.666667, 0.75, 0.5)
    assert (value["of_native"], value["above_native"]) == (pytest.approx(151 / 160, abs=1e-6), 1)
    assert value["of_native_alone"] == pytest.approx(151 / (160 - 4), abs=1e-6)  # refetch of 2 each is not charged
    assert value["native_unreadable"] == 2
    assert value["dearer"] == [{"session": "s", "share": 1.01, "worst_turn": 1.11}]


def test_the_json_names_its_measure():
    report = CostReport([CostRow("auto", "own", (outcome(90, None),))], ["s"], {"why": 1}, 22_000, "1")
    value = json.loads(report.as_json())
    assert value["measure"] == {"tokens": "characters/4", "fixed_tokens": 22_000, "undrift": "1"}
    assert (value["rows"][0]["sum"], value["left_out"]) == (0.9, {"why": 1})


# ------------------------------------------------------------------------------------------------------ the command


def test_the_command_leads_with_the_answer_and_names_what_it_compares_with(tmp_path: Path):
    records = long_session(30)
    written(tmp_path / "in" / "s.jsonl", [*records[:-1], *COMPACTION, records[-1]])
    result = undrift("bench", "cost", tmp_path / "in", "--budget", "auto", "--budget", "6k")
    assert result.exit_code == 0
    assert result.stdout.startswith("auto: 0 of 1 session costs more than sending everything.")
    assert "Native is the client's own compaction" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "measuring 1 of 1: s.jsonl (own) ..." in result.stderr


def test_the_users_own_sessions_are_measured_when_no_file_is_named(tmp_path: Path):
    written(tmp_path / "home" / "projects" / "p" / "mine.jsonl", long_session(10))
    env = {
        name: str(tmp_path / "none")
        for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR")
    }
    result = undrift("bench", "cost", "--json", env={**env, "CLAUDE_CONFIG_DIR": str(tmp_path / "home")})
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    assert [Path(name).name for name in value["sessions"]] == ["mine.jsonl"]
    assert {row["budget"] for row in value["rows"]} == {"auto", "60,000", "100,000"}  # it holds no compaction


def test_without_a_compaction_it_says_so(tmp_path: Path):
    written(tmp_path / "in" / "s.jsonl", long_session(10))
    shown = undrift("bench", "cost", tmp_path / "in", "--budget", "auto").stdout
    assert "No recording holds a compaction of its client's own" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scenarios", "2h .10"), "is none of: own, 5m .10"),
        (("--budget", "much"), "is not a number of tokens"),
        (("--fixed", "-1"), "0 or more"),
    ],
)
def test_a_wrong_option_says_what_is_right(tmp_path: Path, words: tuple[str, str], said: str):
    written(tmp_path / "s.jsonl", long_session(10))
    result = undrift("bench", "cost", tmp_path, *words)
    assert (result.exit_code, said in " ".join(result.stderr.split())) == (2, True)
