"""Every recorded session beside the checkout is examined: nothing fails, and the sums are those that are known of them."""

import json
from pathlib import Path

import pytest

from tests.cli.builders import undrift

FORMATS = ("claude-code", "codex")


@pytest.fixture(scope="module")
def files(recorded_files: tuple[Path, ...]) -> list[Path]:
    return sorted(path for path in recorded_files if path.parent.name in FORMATS and path.suffix == ".jsonl")


def test_all_sessions_are_examined_and_their_summaries_held_little(files: list[Path], tmp_path: Path):
    out = tmp_path / "page.html"
    result = undrift("autopsy", *files, "--json", "--html", out)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert len(found["sessions"]) == len(files)
    assert found["failed"] == []
    sums = found["totals"]
    used, readable = sums["used"], sums["used_readable"]
    assert sums["compactions"] >= 26
    assert sums["native"]["identifiers"] / readable["identifiers"] < 0.25
    assert sums["native"]["lines"] / readable["lines"] < 0.05
    assert sums["together"]["identifiers"] / used["identifiers"] > 0.5
    assert sums["together"]["lines"] / used["lines"] > 0.5
    again = sums["fetched_again"]
    assert again["identifiers"] / used["identifiers"] > 0.7
    assert again["tokens"] / again["calls"] > 2 * again["usual_tokens"] / again["usual_calls"]
    assert out.stat().st_size > 100_000
