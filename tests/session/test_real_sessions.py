"""Recorded sessions of Claude Code and Codex, sent again turn by turn: nothing illegal, nothing lost, the same bytes."""

import copy
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.builders import Json, assistant, body, image, opened, problems, result, sent, text, thinking, user
from undrift import transcripts
from undrift.session.session import Session
from undrift.values.prepared import Prepared
from undrift.values.window import ContextEntry

SESSIONS = {"claude-code": 5, "codex": 3}
LARGEST_BYTES = 1_500_000
TURNS_CHECKED = 8


@pytest.fixture(scope="module")
def histories(recorded_files: tuple[Path, ...]) -> list[list[Json]]:
    found: dict[str, list[list[Json]]] = {folder: [] for folder in SESSIONS}
    for path in recorded_files:
        folder = path.parent.name
        small = path.suffix == ".jsonl" and 100_000 < path.stat().st_size < LARGEST_BYTES
        if small and folder in found and len(found[folder]) < SESSIONS[folder]:
            lines = path.read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
            found[folder].append(list(messages_of(transcripts.read(lines).entries)))
    assert {folder: len(some) for folder, some in found.items()} == SESSIONS
    return [history for some in found.values() for history in some]


def messages_of(entries: tuple[ContextEntry, ...]) -> Iterator[Json]:
    """Give the recording the provider's shape: each answer of the agent, then all results of its calls."""
    results: dict[str | None, ContextEntry] = {e.pair_id: e for e in entries if e.pair_id and e.type == "tool_result"}
    called = {e.pair_id for e in entries if e.pair_id and e.type != "tool_result"}
    yield user("(the session begins)")
    for role, group in groupby(entries, key=lambda e: (e.metadata or {}).get("role") == "assistant"):
        blocks, answers = [], []
        for entry in group:
            block = block_of(entry)
            if block is None or (entry.pair_id and not (entry.pair_id in results and entry.pair_id in called)):
                continue
            blocks.append(block)
            if block["type"] == "tool_use":
                answers.append(result(entry.pair_id or "", results[entry.pair_id].content))
        if blocks:
            yield (assistant if role else user)(*blocks)
        if answers:
            yield user(*answers)


def block_of(entry: ContextEntry) -> Json | None:
    meta = entry.metadata or {}
    if meta.get("kind") == "call" and entry.pair_id:
        return {"type": "tool_use", "id": entry.pair_id, "name": meta["tool_name"], "input": meta["input"]}
    if meta.get("kind") == "image":
        return image()
    if meta.get("kind") in ("call", "result") or not entry.content.strip():
        return None
    return thinking(entry.content) if meta.get("kind") == "thinking" else text(entry.content)


def replayed(history: list[Json], session: Session) -> Prepared:
    """Send every turn as its client did; some of the windows are looked at closely, and the last is returned."""
    ends = [n + 1 for n, message in enumerate(history) if message["role"] == "user"]
    looked_at = {*ends[:: max(1, len(ends) // TURNS_CHECKED)], ends[-1]}
    turns = [session.prepare(body(*history[:end])) for end in ends]
    for end, prepared in zip(ends, turns, strict=True):
        over = prepared.tokens_after > prepared.budget_tokens
        assert not over or any("over budget" in warning for warning in prepared.warnings)
        if end in looked_at:
            assert problems(sent(prepared)) == ()
            assert all(session.recall(action.ref) is not None for action in prepared.actions)
    return turns[-1]


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_a_recorded_session_stays_legal_within_its_budget_and_the_same_after_a_restart(histories, share, tmp_path):
    edited = 0
    for number, history in enumerate(histories):
        assert problems(history) == ()
        untouched = copy.deepcopy(history)
        whole = opened(tmp_path / "whole").prepare(body(*history)).tokens_before
        budget = int(whole * share)
        with opened(tmp_path / str(number), budget_tokens=budget) as session:
            last = replayed(history, session)
        edited += bool(last.actions)
        assert history == untouched
        until = max(n for n, message in enumerate(history) if message["role"] == "user") + 1
        given = json.dumps(body(*history[:until]), ensure_ascii=False).encode()
        with opened(tmp_path / str(number), budget_tokens=budget) as session:
            again = session.prepare(given)
        assert (sent(again), again.actions) == (sent(last), last.actions)
    assert edited >= len(histories) - 1
