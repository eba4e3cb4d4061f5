"""The measure of verdicts about the cache: usage judges what the engine believed before each recorded request."""

from pathlib import Path

import pytest

from bench.cold import judged, main, prompts_of
from tests.bench.test_guard import Recording


def a_day(life: str) -> Recording:
    """A pause of ten minutes after which all was read, one of seventy, and one that lost the cache early."""
    day = Recording()
    day.turn(30_000, 0, life=life)
    day.turn(100_000, 30_000, life=life)
    day.turn(101_000, 100_000, pause=10, life=life)
    day.turn(102_000, 0, pause=70, life=life)
    day.turn(103_000, 0, pause=1, life=life)
    return day


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("life", "cold", "warm"), [("1h", 1, 0), ("5m", 2, 1)])
def test_a_pause_is_judged_by_what_was_read_after_it(tmp_path: Path, life: str, cold: int, warm: int, restarts: bool):
    is_codex, prompts = prompts_of(a_day(life).lines)
    found = judged(prompts, tmp_path, restarts=restarts)
    assert not is_codex
    assert (found.pairs, found.cold, found.cold_but_read) == (4, cold, warm)
    assert dict(found.lost) == {"within five minutes": 1}


def test_a_cache_that_was_read_after_its_end_is_not_taken_for_cold_after_the_same_pause_again(tmp_path: Path):
    day = a_day("5m")
    day.turn(104_000, 103_000, pause=9, life="5m")
    _, prompts = prompts_of(day.lines)
    found = judged(prompts, tmp_path)
    assert (found.cold, found.cold_but_read) == (2, 1), "the second reading after nine minutes was expected"


def test_a_compaction_ends_a_run_and_another_model_is_another_cache(tmp_path: Path):
    day = a_day("1h")
    day.lines.append('{"type": "system", "subtype": "compact_boundary", "timestamp": "2026-01-01T02:00:00.000Z"}')
    day.turn(40_000, 0, pause=1)
    _, prompts = prompts_of(day.lines)
    assert [run for run, _ in prompts] == [0, 0, 0, 0, 0, 1]
    assert judged(prompts, tmp_path).pairs == 4


def test_it_prints_a_line_for_each_client(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.jsonl").write_text("\n".join(a_day("1h").lines), encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text('{"type": "assistant", "message": {"usage": -1}}\n[', encoding="utf-8")
    assert main([str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "Claude Code: 4 pairs: 1 taken for cold, 0 of them warm (0.0%)" in said
    assert "Codex: 0 pairs" in said
