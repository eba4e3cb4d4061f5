"""The cost of recorded sessions: what was paid, what was written again, and how the cache stands."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.transcripts.builders import assistant, claude, codex, said, user
from undrift.errors import TranscriptError
from undrift.recordings.costs import cost_of, costs_in
from undrift.settings.model_table import load_models

START_MS = 1_767_225_600_000
MINUTE_MS = 60_000


def reply(minute: int, cached: int, written: int, *, life: str = "1h", model: str = "claude-opus-5") -> dict[str, Any]:
    """An answer so many minutes after the start of 2026."""
    usage = {"input_tokens": 0, "cache_read_input_tokens": cached, "cache_creation_input_tokens": written}
    record = assistant(said("Yes."), id=f"m-{minute}", model=model, timestamp=f"2026-01-01T00:{minute:02}:00.000Z")
    record["message"]["usage"] = {**usage, "cache_creation": {f"ephemeral_{life}_input_tokens": written}}
    return record


def written(folder: Path, *records: Any, name: str = "s.jsonl", cwd: str = "/repo") -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps({**record, 'cwd': cwd})}\n" for record in records), encoding="utf-8")
    return path


def test_a_sessions_prompts_are_paid_at_the_prices_of_the_cache(tmp_path: Path):
    path = written(tmp_path, user("Fix it."), reply(0, 0, 100_000), reply(1, 100_000, 1_000, life="5m"))
    cost = cost_of(path)
    assert cost is not None
    assert (cost.prompts, cost.tokens, cost.model, cost.title) == (2, 201_000, "claude-opus-5", "repo · Fix it.")
    assert cost.usd == pytest.approx((100_000 * 2.0 + 100_000 * 0.1 + 1_000 * 1.25) * 5 / 1_000_000)


def test_what_was_written_again_is_counted_by_its_cause(tmp_path: Path):
    path = written(
        tmp_path,
        user("Go."),
        reply(0, 0, 100_000, life="5m"),
        reply(1, 0, 101_000, life="5m"),
        reply(20, 0, 102_000, life="5m"),
    )
    cost = cost_of(path)
    assert cost is not None
    assert (cost.watch.without_pause.tokens, cost.watch.after_pauses.tokens) == (100_000, 101_000)
    assert cost.watch.without_pause.usd == pytest.approx(100_000 * 1.25 * 5 / 1_000_000)


def test_the_users_own_prices_count(tmp_path: Path):
    models = load_models('[{"name": "claude-opus-5", "input_usd_per_million": 50}]')
    path = written(tmp_path, user("Go."), reply(0, 0, 100_000))
    cost, dear = cost_of(path), cost_of(path, models)
    assert cost is not None
    assert dear is not None
    assert dear.usd == pytest.approx(10 * (cost.usd or 0))
    at_ms = START_MS + 70 * MINUTE_MS
    assert [one.usd for one in dear.notices(at_ms)] == [
        pytest.approx(10 * (one.usd or 0)) for one in cost.notices(at_ms)
    ]


def test_a_model_without_a_price_leaves_the_sum_open(tmp_path: Path):
    path = written(tmp_path, user("Go."), reply(0, 0, 100_000), reply(1, 0, 9_000, model="no-such-model"))
    cost = cost_of(path)
    assert cost is not None
    assert cost.usd is None


def test_the_cache_of_a_session_of_the_day_before_is_cold_and_not_live(tmp_path: Path):
    cost = cost_of(written(tmp_path, user("Go."), reply(0, 0, 100_000), reply(1, 0, 100_000)))
    assert cost is not None
    times = [START_MS + hours * 60 * MINUTE_MS for hours in (0, 2, 48)]
    kinds = [[one.kind for one in cost.notices(at_ms)] for at_ms in times]
    assert kinds == [["cold_in", "rewrites"], ["away", "rewrites"], ["away", "rewrites"]]
    assert [cost.is_live(at_ms) for at_ms in times] == [True, True, False]


def test_only_the_sessions_of_the_wanted_folders_count(tmp_path: Path):
    folders = ["/here", "/there", "/here", "\0"]
    paths = [
        written(tmp_path, user("a"), reply(0, 0, 9_000), name=f"{number}.jsonl", cwd=cwd)
        for number, cwd in enumerate(folders)
    ]
    found = list(costs_in(paths, lambda folder: folder == "/here"))
    assert [(Path(one.path).name, one.folder) for one in found] == [("0.jsonl", "/here"), ("2.jsonl", "/here")]
    assert [one.folder for one in costs_in(paths, lambda _: True)] == folders


def test_what_has_no_usage_or_cannot_be_read_is_passed_over(tmp_path: Path):
    (tmp_path / "no.jsonl").write_text("no session\n")
    paths = [
        tmp_path / "none.jsonl", tmp_path / "no.jsonl", tmp_path,
        written(tmp_path, user("a"), name="a.jsonl"),
        written(tmp_path, {**user("b"), "isSidechain": True}, {**reply(0, 0, 9_000), "isSidechain": True}, name="b.jsonl"),
    ]  # fmt: skip
    assert list(costs_in(paths, lambda folder: folder == "/repo")) == []
    with pytest.raises(TranscriptError, match=r"none\.jsonl: cannot be read"):
        cost_of(tmp_path / "none.jsonl")


def test_codex_tells_what_was_cached_but_not_for_how_long(tmp_path: Path):
    tokens = {
        "last_token_usage": {"input_tokens": 90_000, "cached_input_tokens": 80_000},
        "total_token_usage": {"total_tokens": 9},
    }
    lines = [
        codex("session_meta", id="c", cwd="/repo", source="cli"),
        codex("turn_context", model="gpt-5.5"),
        codex("response_item", kind="message", role="user", content=[{"type": "input_text", "text": "Go."}]),
        codex("event_msg", kind="token_count", info=tokens),
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    cost = cost_of(path)
    assert cost is not None
    assert (cost.model, cost.watch.life_seconds, cost.notices(START_MS + 9_999 * MINUTE_MS)) == ("gpt-5.5", None, ())
    assert cost.usd == pytest.approx((80_000 * 0.1 + 10_000) * 5 / 1_000_000)


def test_a_compaction_at_the_end_leaves_nothing_to_say_of_the_cache(tmp_path: Path):
    boundary = claude("system", subtype="compact_boundary", compactMetadata={})
    cost = cost_of(written(tmp_path, user("Go."), reply(0, 0, 100_000), boundary))
    assert cost is not None
    assert cost.notices(START_MS + 90 * MINUTE_MS) == ()
