"""What `restore` holds of anybody's recordings: each compaction counts once and as much as any other."""

import json
import shutil
from pathlib import Path

import pytest

from bench.restore_figures import SYSTEMS, Boundary, figures_of, main, table
from tests.report.builders import compacted_session


def boundary(repository: str, needed: tuple[int, int], held: tuple[int, int]) -> Boundary:
    return Boundary("set", "codex", repository, repository, needed, dict.fromkeys(SYSTEMS, held))


def test_a_large_compaction_counts_as_much_as_a_small_one() -> None:
    found = figures_of([boundary("one", (90, 0), (0, 0)), boundary("two", (10, 4), (10, 1))])
    assert (found["compactions"], found["compactions_with_lines"], found["repositories"]) == (2, 1, 2)
    assert found["restore"]["identifiers"] == {"macro": 0.5, "low": 0.0, "high": 1.0, "pooled": 0.1}
    assert found["restore"]["lines"] == {"macro": 0.25, "low": 0.25, "high": 0.25, "pooled": 0.25}


def test_where_no_line_was_needed_there_is_no_figure_of_lines() -> None:
    found = figures_of([boundary("one", (4, 0), (1, 0))])
    assert "lines" not in found["restore"]
    assert "| none |" in table({"clients": {"codex": {"all": found}}})


def test_recordings_are_counted_once_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    compacted_session().written(folder / "one__a.jsonl")
    shutil.copy(folder / "one__a.jsonl", folder / "one__b.jsonl")  # a session that was resumed, say
    (folder / "notes.jsonl").write_text('{"type": "compacted", "no": "session"}\n', encoding="utf-8")
    assert main([str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["recordings"] == [{"name": "mine", "files": 3, "manifest_sha256": None}]
    part = told["clients"]["claude-code"]["all"]
    assert (part["compactions"], part["sessions"], part["identifiers"], part["lines"]) == (1, 1, 10, 2)
    assert part["summary"]["identifiers"]["macro"] == 0.0
    assert part["restore"]["identifiers"]["macro"] == part["both"]["lines"]["pooled"] == 1.0
    assert part == told["clients"]["claude-code"]["mine"]
    assert main([str(folder)]) == 0
    assert "claude-code, all: 1 compactions (1 with lines), 1 repositories, 10 / 2 needs" in capsys.readouterr().out


def test_the_last_tokens_are_no_more_than_the_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compacted_session().written(tmp_path / "a.jsonl")
    held = []
    for budget in ("10", "100000"):
        assert main([str(tmp_path), "--budget", budget, "--json"]) == 0
        held.append(
            json.loads(capsys.readouterr().out)["clients"]["claude-code"]["all"]["tail"]["identifiers"]["macro"]
        )
    assert held == [0.0, 1.0]


def test_a_folder_without_compactions_is_said_to_hold_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "no session below these folders was compacted" in capsys.readouterr().err
