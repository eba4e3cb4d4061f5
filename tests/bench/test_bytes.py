"""The measure of bytes for each token: both ways lead to one home each, and every byte of it is counted."""

from pathlib import Path

import pytest

from bench import bytes as measure
from tests.cli.builders import written
from tests.hooks.builders import session


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(measure, "_SIZES", range(1, 1_000_000))
    monkeypatch.setattr(measure, "BUDGET_TOKENS", 2_000)
    for number in range(2):
        written(tmp_path / "recorded" / f"s{number}.jsonl", session(30 + number))
    return tmp_path / "recorded"


def test_every_byte_of_a_home_is_in_one_part(folder: Path, tmp_path: Path):
    sessions = measure.sessions_below([str(folder)])
    tokens = measure.seen_tokens(sessions.values())
    measure.by_hooks(sessions, tmp_path / "hooks", tmp_path)
    measure.by_gateway(sessions, tmp_path / "gateway")
    for way in ("hooks", "gateway"):
        disk = measure.weigh(tmp_path / way, tokens)
        files = [path for path in (tmp_path / way).rglob("*") if path.is_file() and "undrift.db-" not in path.name]
        assert disk.parts.total() == sum(path.stat().st_size for path in files)
        assert disk.by_token == pytest.approx(disk.parts.total() / tokens)
        assert disk.parts["texts and metadata"] > 0


def test_without_recordings_it_says_that_nothing_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert measure.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("skipped: ")
