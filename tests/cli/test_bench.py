"""`undrift bench`: one table, one JSON, ratios of one run. What they are is not asserted: a busy machine is not wrong."""

import json
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from undrift.bench import overhead
from undrift.bench.figures import Claim, Figure, Report, ratio_claim


def test_the_store_is_measured_beside_plain_sqlite(tmp_path: Path):
    result = undrift("bench", "store", "--rounds", "1", "--rows", "1000", "--json", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert json.loads((tmp_path / "bench.json").read_text())["claims"] == told["claims"]
    assert "| claim |" in (tmp_path / "bench.md").read_text()
    names = {figure["name"] for figure in told["figures"]}
    assert len(names) == len(told["figures"]) == 18
    assert all(claim["value"] > 0 and claim["unit"] == "x" for claim in told["claims"])
    assert {claim["limit"] for claim in told["claims"]} == {None, 2.0, 25.0}


def test_a_turn_is_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overhead, "MESSAGES", 60)
    monkeypatch.setattr(overhead, "CHARACTERS", 60_000)
    result = undrift("bench", "overhead", "--rounds", "1")
    assert result.exit_code == 0, result.output
    assert "| prepare, dict, below the budget, only the last turn new |" in result.stdout


def test_a_claim_is_kept_or_missed_and_says_so():
    assert ratio_claim("a", Figure("x", "us", (4.0, 6.0, 5.0)), Figure("y", "us", (2.5,)), limit=2.0).verdict == "kept"
    assert Claim("b", 2.1, limit=2.0).verdict == "MISSED"
    assert Claim("c", 9.0, least=10.0).verdict == "MISSED"
    assert Claim("d", 9.0).verdict == ""
    shown = Report(claims=[Claim("b", 2.1, limit=2.0)], skipped=["a peer is not installed"]).as_markdown()
    assert "| b | 2.1x | at most 2x | MISSED |" in shown
    assert "SKIPPED: a peer is not installed" in shown
