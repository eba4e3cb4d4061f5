"""The demo session is what its README says: whole, of our own making, free of secrets, and long enough to bite."""

import json
import re
import runpy
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.house.test_tracked_files import named_places, places
from undrift import Session, Settings, transcripts
from undrift.core.autopsy.survival import Needs
from undrift.core.cost import COLD_MS
from undrift.core.text.secrets import mask
from undrift.transcripts import Recording

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "demo-session.jsonl"
PLAN = ROOT / "examples" / "demo_plan.py"
NEUTRAL = {"/repo", "/tmp", "/venv", "/python"}
"""Names that the recorder gives; a checkout may happen to stand in a folder of that name."""
LARGEST_BYTES = 700_000
LONGEST_LINE_BYTES = 60_000


@pytest.fixture(scope="module")
def recording() -> Recording:
    with FILE.open(encoding="utf-8") as lines:
        return transcripts.read(lines)


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def calls(records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for record in records:
        if record["type"] == "assistant":
            yield from (block for block in record["message"]["content"] if block["type"] == "tool_use")


def messages(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the client would send: the results of one message in one message."""
    sent: list[dict[str, Any]] = []
    for record in records:
        content = record["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if sent and sent[-1]["role"] == record["type"]:
            sent[-1]["content"] += blocks
        else:
            sent.append({"role": record["type"], "content": list(blocks)})
    return sent


def demo_budget_tokens() -> int:
    """The budget of `make demo`."""
    found = re.search(r"^DEMO_BUDGET \?= (\d+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert found, "the Makefile must say DEMO_BUDGET ?= TOKENS"
    return int(found.group(1))


def test_the_file_is_read_whole(recording: Recording):
    assert recording.format == "claude-code"
    assert recording.skipped == {}
    assert not recording.unfinished
    assert recording.compactions == ()
    assert (recording.cwd, recording.model) == ("/repo", "claude-opus-4-5")


def test_more_than_100_calls_each_have_their_result(recording: Recording):
    pairs: dict[str, list[object]] = {}
    for entry in recording.entries:
        if entry.pair_id is not None and entry.metadata is not None:
            pairs.setdefault(entry.pair_id, []).append(entry.metadata["kind"])
    assert len(pairs) > 100
    assert all(kinds == ["call", "result"] for kinds in pairs.values())


def test_the_file_is_small_enough_to_read_and_to_clone():
    lines = FILE.read_bytes().splitlines()
    assert sum(map(len, lines)) + len(lines) < LARGEST_BYTES
    assert max(map(len, lines)) < LONGEST_LINE_BYTES


def test_no_place_of_the_machine_is_named():
    text = FILE.read_text(encoding="utf-8")
    assert named_places(text, set(places()) - NEUTRAL) == []
    assert re.findall(r"(?<![\w.-])/(?:home|Users|root)/\w+|/tmp/undrift-demo-\w+|pytest-of-\w+", text) == []


def test_no_secret_is_in_it(recording: Recording):
    found = {(entry.id, span.name) for entry in recording.entries for span in mask(entry.content).spans}
    assert found == set()


def test_nothing_is_in_it_that_a_provider_would_have_counted_or_signed(records: list[dict[str, Any]]):
    assert {record["version"] for record in records} == {"undrift-demo"}
    assert all("usage" not in record["message"] for record in records)
    kinds = {block["type"] for message in messages(records) for block in message["content"]}
    assert kinds == {"text", "tool_use", "tool_result"}


def test_the_records_form_one_chain_and_one_pause_outlasts_the_cache(
    recording: Recording, records: list[dict[str, Any]]
):
    assert [record["parentUuid"] for record in records] == [None, *(record["uuid"] for record in records[:-1])]
    pauses_ms = [after.timestamp - before.timestamp for before, after in pairwise(recording.entries)]
    assert min(pauses_ms) >= 0
    assert sum(pause_ms > COLD_MS for pause_ms in pauses_ms) == 1


def test_the_session_is_the_one_that_the_plan_tells(records: list[dict[str, Any]]):
    """The plan was changed and not recorded again, or the recording was edited by hand."""
    steps = runpy.run_path(str(PLAN))["PLAN"]
    planned = [(call.tool, call.given) for step in steps for call in getattr(step, "calls", ())]
    assert [(call["name"], call["input"]) for call in calls(records)] == planned
    texts = [step.text for step in steps if step.text]
    spoken = [block["text"] for message in messages(records) for block in message["content"] if block["type"] == "text"]
    assert len(spoken) == len(texts)
    assert all(said.startswith(text) for said, text in zip(spoken, texts, strict=True))


def test_tests_were_red_before_they_were_green(records: list[dict[str, Any]]):
    outcomes = [
        block["content"]
        for message in messages(records)
        for block in message["content"]
        if block["type"] == "tool_result" and re.search(r"\d+ (?:passed|failed).* in [\d.]+s", block["content"])
    ]
    assert sum(" failed" in outcome for outcome in outcomes) >= 5
    assert " failed" not in outcomes[-1]


@pytest.mark.parametrize("budget_tokens", [pytest.param(0, id="make demo"), 60_000])
def test_the_budget_bites_several_times_and_is_never_exceeded(
    records: list[dict[str, Any]], tmp_path: Path, budget_tokens: int
):
    budget_tokens = budget_tokens or demo_budget_tokens()
    history, bites, left = messages(records), 0, set[str]()
    with Session.open("demo", home=tmp_path, settings=Settings(budget_tokens=budget_tokens)) as session:
        for upto, message in enumerate(history):
            if message["role"] == "assistant":
                body = {"model": "claude-opus-4-5", "max_tokens": 1024, "messages": history[:upto]}
                prepared = session.prepare(body)
                assert prepared.tokens_after <= budget_tokens
                assert prepared.warnings == ()
                refs = {
                    action.ref for action in prepared.actions if action.kind != "noted"
                }  # a note gives way to a newer
                assert left <= refs
                bites, left = bites + (refs != left), refs
        assert all(session.recall(ref) for ref in left)
    assert bites >= 3


def test_late_steps_need_what_was_read_long_before(recording: Recording):
    needs = Needs(recording.entries)
    kinds = [need.kind for message in needs.messages for need in needs.of(message)]
    assert kinds.count("identifier") >= 50
    assert kinds.count("line") >= 15
