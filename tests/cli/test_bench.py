"""`undrift session drift` is tried in tests/bench; here: where the measures of undrift itself are now, and that they run."""

import pytest

from bench import overhead, store
from bench.figures import Claim, Figure, Report, ratio_claim
from tests.cli.builders import undrift


@pytest.mark.parametrize("name", ["overhead", "store"])
def test_the_older_spelling_says_where_the_measure_is_now(name: str):
    result = undrift("bench", name, "--rounds", "1", "--json")
    assert result.exit_code == 1
    assert f"python -m bench.run {name}" in result.stderr
    assert name not in undrift("bench", "--help").stdout.split()


def test_the_store_is_measured_beside_plain_sqlite():
    report = store.measure(1, 1_000)
    names = {figure.name for figure in report.figures}
    assert len(names) == len(report.figures) == 15
    assert all(claim.value > 0 and claim.unit == "x" for claim in report.claims)
    assert {claim.limit for claim in report.claims} == {None, 2.0, 25.0}
    assert "| claim |" in report.as_markdown()


def test_a_turn_is_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overhead, "MESSAGES", 60)
    monkeypatch.setattr(overhead, "CHARACTERS", 60_000)
    assert "| prepare, dict, below the budget, only the last turn new |" in overhead.measure(1).as_markdown()


def test_a_claim_is_kept_or_missed_and_says_so():
    assert ratio_claim("a", Figure("x", "us", (4.0, 6.0, 5.0)), Figure("y", "us", (2.5,)), limit=2.0).verdict == "kept"
    assert Claim("b", 2.1, limit=2.0).verdict == "MISSED"
    assert Claim("c", 9.0, least=10.0).verdict == "MISSED"
    assert Claim("d", 9.0).verdict == ""
    shown = Report(claims=[Claim("b", 2.1, limit=2.0)], skipped=["a peer is not installed"]).as_markdown()
    assert "| b | 2.1x | at most 2x | MISSED |" in shown
    assert "SKIPPED: a peer is not installed" in shown
