"""The factor comes back out of sessions whose provider counts by a known one, and the correction follows it."""

import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from itertools import count as numbers
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from bench.calibration import LAWS, added_by, main, sessions_below
from bench.usage_records import Answer, answers_in
from undrift.core.text.tokens import estimate

SYSTEM_TOKENS = 20_000
MODEL = "claude-opus-4-6"


class Session:
    """A session of Claude Code whose provider counts `factor` tokens for each of the estimate, and a constant."""

    def __init__(self, factor: float, *, name: str = "s") -> None:
        self.records: list[dict[str, Any]] = []
        self.sent = SYSTEM_TOKENS * 1.0
        self._factor = factor
        self._name = name
        self._ids = numbers()
        self._user("Read the log files, one by one.")

    def _add(self, kind: str, message: dict[str, Any]) -> None:
        number = next(self._ids)
        stamp = f"2026-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        record = {"type": kind, "uuid": f"{self._name}-{number}", "timestamp": stamp, "sessionId": self._name}
        self.records.append({**record, "isSidechain": False, "message": {"role": kind, **message}})

    def _user(self, text: str) -> None:
        self._add("user", {"content": text})
        self.sent += self._factor * estimate(text)

    def turn(self, result: str, *, model: str = MODEL, stop_reason: str | None = "tool_use", extra: int = 0) -> None:
        """A call and its result; `extra` tokens are in the prompt and not in the recording."""
        number = next(self._ids)
        given = {"path": f"log-{number}.txt"}
        self.sent += extra
        output = round(self._factor * estimate(f"Read {json.dumps(given)}")) if stop_reason else 1
        usage = {
            "input_tokens": 3,
            "cache_creation_input_tokens": 500,
            "cache_read_input_tokens": round(self.sent) - 503,
            "output_tokens": output,
        }
        call = {"type": "tool_use", "id": f"{self._name}-c{number}", "name": "Read", "input": given}
        about = {"id": f"{self._name}-m{number}", "model": model, "stop_reason": stop_reason, "usage": usage}
        self._add("assistant", {**about, "content": [call]})
        answer = {"type": "tool_result", "tool_use_id": call["id"], "content": result}
        self._add("user", {"content": [answer]})
        self.sent += self._factor * estimate(f"Read {json.dumps(given)}") + self._factor * estimate(result)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records), encoding="utf-8")
        return path


def log(number: int, lines: int = 60) -> str:
    return "\n".join(f"2026-01-01 worker {number}: stage {line} took {line * 7} ms" for line in range(lines))


def session(factor: float, *, turns: int = 14, name: str = "s", **how: Any) -> Session:
    made = Session(factor, name=name)
    for number in range(turns):
        made.turn(log(number), **how)
    return made


def factors(folder: Path) -> list[float]:
    (found,) = sessions_below(folder, estimate)
    return [added.results[0] / added.results[1] for added in added_by(found) if added.results]


def printed(folder: Path) -> str:
    with redirect_stdout(StringIO()) as told:
        assert main([str(folder)]) == 0
    return told.getvalue()


@pytest.mark.parametrize("factor", [0.9, 1.16, 1.6])
def test_the_factor_of_the_provider_comes_back(tmp_path: Path, factor: float) -> None:
    session(factor).write(tmp_path)
    assert median(factors(tmp_path)) == pytest.approx(factor, rel=0.01)


def test_the_figure_of_a_streams_start_is_no_answers_length(tmp_path: Path) -> None:
    session(1.2, stop_reason=None).write(tmp_path)
    assert factors(tmp_path) == []
    (found,) = sessions_below(tmp_path, estimate)
    whole = [added.whole[0] / added.whole[1] for added in added_by(found) if added.whole]
    assert median(whole) == pytest.approx(1.2, rel=0.01)


def change_model(made: Session) -> None:
    made.turn(log(50), model="claude-opus-5")


def show_a_picture(made: Session) -> None:
    made.records[-1]["message"]["content"][0]["content"] = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    ]
    made.turn(log(51), extra=1_500)


def take_a_text_out(made: Session) -> None:
    made.records[-1]["message"]["content"][0]["content"] = "the key is REDACTED and REDACTED\n" + log(52)
    made.turn(log(53), extra=4_000)


@pytest.mark.parametrize("spoil", [change_model, show_a_picture, take_a_text_out])
def test_a_turn_that_holds_what_the_recording_does_not_is_no_evidence(
    tmp_path: Path, spoil: Callable[[Session], None]
) -> None:
    made = session(1.2)
    spoil(made)
    made.write(tmp_path)
    assert all(found == pytest.approx(1.2, rel=0.02) for found in factors(tmp_path))


def test_a_session_that_goes_on_from_another_does_not_count_twice(tmp_path: Path) -> None:
    session(1.2, name="a").write(tmp_path)
    (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    assert [found.name for found in sessions_below(tmp_path, estimate)] == ["a.jsonl"]


def test_codex_reports_after_its_items_and_at_times_twice() -> None:
    def event(total: int, sent: int) -> str:
        info = {"last_token_usage": {"input_tokens": sent, "output_tokens": 9}}
        info["total_token_usage"] = {"total_tokens": total}
        return json.dumps({"type": "event_msg", "payload": {"type": "token_count", "info": info}})

    def item(kind: str, **payload: str) -> str:
        return json.dumps({"type": "response_item", "payload": {"type": kind, **payload}})

    lines = [
        json.dumps({"type": "turn_context", "payload": {"model": "gpt-5.5"}}),
        item("message", role="user"),
        item("function_call"),
        item("function_call_output"),
        event(1_009, 1_000),
        event(1_009, 1_000),
        item("function_call"),
        event(2_318, 1_300),
    ]
    found = answers_in(lines, "codex")
    assert found[3] == Answer("gpt-5.5", 1_000, 9)
    assert found[7] == Answer("gpt-5.5", 1_300, 9)
    assert 2 not in found


def test_a_format_without_figures_has_no_answers() -> None:
    assert answers_in(["{}"], "aider") == {}


def test_what_is_printed_is_within_the_target_where_the_law_holds(tmp_path: Path) -> None:
    session(1.38, turns=40).write(tmp_path)
    told = printed(tmp_path)
    following = told.partition("The next report")[2]
    law = list(LAWS)[-1]
    row = re.search(rf"\| {law} \| 1 \| ([\d.]+)% \| [\d.]+% \| 0 of 35 in 0 \|", following)
    assert row is not None, following
    assert float(row[1]) < 5.0
    alone = re.search(r"\| the table's factor alone \| 1 \| ([\d.]+)%", following)
    assert alone is not None
    assert float(alone[1]) > 20.0  # the system prompt is not in the recording


def test_the_same_sessions_give_the_same_tables(tmp_path: Path) -> None:
    session(1.2).write(tmp_path)
    assert printed(tmp_path) == printed(tmp_path)


def test_a_folder_without_figures_is_said_to_have_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "nothing to learn from" in capsys.readouterr().err
