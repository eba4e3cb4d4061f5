"""README's figures are those that its commands print, or, of recordings that cannot be shipped, those of docs/figures.json."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.restore_figures import table
from tests.cli.builders import undrift
from tests.report.builders import compacted_session

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESTORE = (ROOT / "docs" / "restore.md").read_text(encoding="utf-8")
FIGURES: dict[str, Any] = json.loads((ROOT / "docs" / "figures.json").read_text(encoding="utf-8"))
WIDE: dict[str, str | None] = {"COLUMNS": "150"}
BUDGETS = ((0.5, "half of the session"), (0.25, "a quarter"), (0.125, "an eighth"), (60_000, "60,000 tokens"))


def flat(text: str) -> str:
    return " ".join(text.split())


def block_with(words: str) -> list[str]:
    """The lines of README's fenced block that holds the words, without what was left out at an ellipsis."""
    (block,) = [block for block in re.findall(r"^```\n(.*?)^```", README, re.M | re.S) if words in block]
    return [line for line in (flat(line).rstrip("… ") for line in block.splitlines()) if line]


def not_printed(lines: list[str], printed: str) -> list[str]:
    """The lines with which no line that was printed begins."""
    told = [flat(line) for line in printed.splitlines()]
    return [line for line in lines if not any(one.startswith(line) for one in told)]


def percent(share: float) -> int:
    """A share as the documents round it: .385 is .39 in a table and 39% beside a bar."""
    return round(float(f"{share:.2f}") * 100)


def in_percent(value: Mapping[str, float]) -> str:
    return "{}% ({} to {})".format(*(percent(value[part]) for part in ("macro", "low", "high")))


def bar_line(name: str, row: Mapping[str, Mapping[str, float]]) -> str:
    cells = ["█" * round(v["macro"] * 20) + " " + in_percent(v) for v in (row["identifiers"], row["lines"])]
    return f"{name:<28}{cells[0]:<35}{cells[1]}"


def short(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `make demo` prints, its home elsewhere."""
    home = tmp_path_factory.mktemp("demo")
    budget = re.search(r"^DEMO_BUDGET \?= (\d+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert budget
    session = ROOT / "examples" / "demo-session.jsonl"
    result = undrift("replay", session, "--budget", budget[1], "--home", home, env=WIDE)
    assert result.exit_code == 0, result.output
    return result.stdout.replace(str(home), "build/demo")


def test_the_replay_in_readme_is_what_make_demo_prints(demo: str) -> None:
    lines = block_with("blocks left on")
    assert len(lines) >= 10
    assert not not_printed(lines, demo), f"README.md must say what `make demo` prints:\n{demo}"


def test_the_autopsy_in_readme_is_what_the_command_prints(tmp_path: Path) -> None:
    result = undrift("autopsy", compacted_session().written(tmp_path / "session.jsonl"), env=WIDE)
    lines = block_with("Compaction 1")
    assert len(lines) >= 10
    assert not not_printed(lines, result.stdout), f"README.md must say what `undrift autopsy` prints:\n{result.stdout}"


def test_a_line_that_is_not_printed_is_found() -> None:
    assert not_printed(["a 1", "b 2"], " a   1  more\nb 3\n") == ["b 2"]


def test_what_restore_holds_is_in_readme_as_it_was_measured() -> None:
    claude, codex = (FIGURES["restore"]["clients"][client] for client in ("claude-code", "codex"))
    both: tuple[dict[str, Any], dict[str, Any]] = claude["all"], codex["all"]
    for name, system in (
        ("the client's own summary", "summary"),
        ("the last 5,000 tokens", "tail"),
        ("undrift restore, 5,000", "restore"),
    ):
        assert bar_line(name, both[0][system]) in README
    said = flat(README)
    ours = [in_percent(both[1]["restore"][kind]) for kind in ("identifiers", "lines")]
    fitted = claude["transcripts"]["compactions"], codex["transcripts"]["compactions"]
    for sentence in (
        "On {compactions} recorded compactions of Claude Code in {repositories} repositories".format(**both[0]),
        "On {compactions} of Codex in {repositories} repositories".format(**both[1]) + f" it held {' and '.join(ours)}",
        f"fitted to {fitted[0]} of the {both[0]['compactions']} and {fitted[1]} of the {both[1]['compactions']}",
    ):
        assert sentence in said


def test_what_independent_runs_gave_stands_beside_it() -> None:
    independent = FIGURES["independent"]
    said = flat(README)
    assert independent["date"] in said
    for runs in independent["clients"].values():
        shares = " and ".join(f"{percent(run['identifiers'])}% / {percent(run['lines'])}%" for run in runs)
        compactions = " and ".join(str(run["compactions"]) for run in runs)
        assert f"{shares} on {compactions} " in said
        for run in runs:
            assert "{identifiers:.2f} / {lines:.2f} (n={compactions})".format(**run) in flat(RESTORE)


def test_the_page_of_restore_has_the_same_figures() -> None:
    assert table(FIGURES["restore"]) in RESTORE, "copy what python -m bench.restore_figures prints of docs/figures.json"
    said = flat(RESTORE)
    for client in FIGURES["outside"]["clients"].values():
        shares = ["{macro:.2f} ({low:.2f} to {high:.2f})".format(**client[kind]) for kind in ("identifiers", "lines")]
        assert f"{' and '.join(shares)} for the {client['compactions']}" in said


def test_the_table_of_windows_is_in_readme_as_it_was_measured() -> None:
    rows = {(row["budget"], row["system"]): row for row in FIGURES["windows"]["rows"]}
    for budget, name in BUDGETS:
        cells = [
            f"{short(row['survival'])} ({short(row['lines'])}), {short(row['cost'])}"
            for row in (rows[budget, system] for system in ("recency", "undrift"))
        ]
        assert f"| {name} | {' | '.join(cells)} | {rows[budget, 'undrift']['over_budget_turns']} |" in README
    counted = "({sessions} Claude Code and Codex sessions, {turns:,} turns, {needs:,} needs;".format(
        **rows[0.5, "undrift"]
    )
    assert f"{counted} at 60,000 tokens the {rows[60_000, 'undrift']['sessions']} sessions" in flat(README)
    kept_aside = [f"{short(row['survival'])} ({short(row['lines'])})" for row in FIGURES["independent"]["windows"]]
    assert "gave {} and {} at a quarter, recency {} and {} (2026-11-22;".format(*kept_aside) in flat(README)


def test_each_figure_says_how_when_and_on_what_it_was_measured() -> None:
    for name, figure in FIGURES.items():
        assert figure["command"], name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", figure["date"]), name
    for name in ("restore", "windows"):
        for recordings in FIGURES[name]["recordings"]:
            assert re.fullmatch("[0-9a-f]{64}", recordings["manifest_sha256"]), name
