"""The back-test asks the guard before each request, and the usage of the answer judges it."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from bench.guard import RULES, back_test, main, recorded
from undrift.core import guard

EARLY, LATE = RULES[1], RULES[2]
FIVE = RULES[0]


class Recording:
    """A session of Claude Code with its own clock; each answer says what was cached and written."""

    def __init__(self, name: str = "s") -> None:
        self.lines: list[str] = []
        self._name = name
        self.minutes = 0.0

    def _add(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        seconds = round(self.minutes * 60)
        stamp = f"2026-01-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"
        record = {"type": kind, "uuid": f"{self._name}-{len(self.lines)}", "timestamp": stamp, "isSidechain": False}
        self.lines.append(json.dumps({**record, **more, "message": {"role": kind, **message}}))

    def turn(self, tokens: int, cached: int, *, life: str = "1h", pause: float = 1, aside: bool = False) -> None:
        self.minutes += pause
        self._add("user", {"content": "Go on."})
        written = {f"ephemeral_{life}_input_tokens": tokens - cached}
        usage = {"input_tokens": 0, "cache_read_input_tokens": cached, "cache_creation_input_tokens": tokens - cached}
        message = {"id": f"m{len(self.lines)}", "model": "claude-opus-5", "content": [{"type": "text", "text": "Yes."}]}
        self._add("assistant", {**message, "usage": {**usage, "cache_creation": written}}, isSidechain=aside)

    def interrupt(self, pause: float) -> None:
        self.minutes += pause
        self._add("user", {"content": [{"type": "text", "text": "[Request interrupted by user]"}]})


def a_day() -> Recording:
    """An hour's cache: a pause of ten minutes, one of seventy, one rewrite without a pause, one that came early."""
    day = Recording()
    day.turn(100_000, 0)
    day.turn(101_000, 100_000, pause=10)
    day.turn(102_000, 0, pause=70)
    day.turn(103_000, 0, pause=1)
    day.turn(104_000, 0, pause=20)
    day.turn(105_000, 10_000, pause=70)
    return day


def test_what_was_announced_and_came_is_true_and_the_rest_is_explained():
    score = back_test([recorded(a_day().lines)], LATE)
    assert (score.pairs, score.true, score.false) == (5, 2, 0)
    assert sorted(why[:28] for why in score.missed) == ["after a pause shorter than t", "without a pause of five minu"]
    assert (score.precision, score.recall) == (1.0, 0.5)
    assert [round(off, 3) for off in score.off] == [0.0, 0.106], "10k of the second were still cached"


def test_a_guard_that_believes_in_five_minutes_raises_a_false_alarm():
    score = back_test([recorded(a_day().lines)], FIVE)
    assert (score.true, score.false) == (3, 1)


def test_a_minute_too_early_is_a_false_alarm():
    day = Recording()
    day.turn(100_000, 0)
    day.turn(101_000, 100_000, pause=60.5)
    assert (back_test([recorded(day.lines)], EARLY).false, back_test([recorded(day.lines)], LATE).false) == (1, 0)


def test_an_interrupted_request_has_read_the_cache():
    day = Recording()
    day.turn(100_000, 0)
    day.interrupt(pause=50)
    day.turn(101_000, 100_000, pause=40)
    score = back_test([recorded(day.lines)], LATE)
    assert (score.pairs, score.true, score.false) == (1, 0, 0)


def test_a_sub_agents_prompt_is_no_prompt_of_the_conversation():
    day = Recording()
    day.turn(100_000, 0)
    day.turn(9_000, 0, aside=True)
    day.turn(101_000, 100_000)
    assert back_test([recorded(day.lines)], LATE).pairs == 1


def test_a_session_in_two_files_counts_once():
    day = recorded(a_day().lines)
    assert back_test([day, day], LATE).pairs == 5


def test_the_sentences_are_those_of_the_guard_itself(monkeypatch):
    monkeypatch.setattr("bench.guard.guard", lambda *_: ())
    assert back_test([recorded(a_day().lines)], LATE).true == 0
    assert RULES[1].early_s == guard.SURE_S


def test_the_report_has_each_rule(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text("\n".join(a_day().lines))
    (tmp_path / "b.jsonl").write_text("no session\n")
    with redirect_stdout(StringIO()) as out:
        assert main([str(tmp_path)]) == 0
    printed = out.getvalue()
    assert printed.startswith("sessions that tell the life of their cache: 1 of 2 files")
    assert "said 2: 2 true, 0 false; not said 2" in printed
    assert "precision 0.750, recall" in printed
