"""Every recorded session of the other clients beside the checkout: read whole, pairs found, nothing said lost uncounted."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.long_form import sized
from tests.transcripts.builders import meta
from tests.transcripts.test_real_sessions import dumped, strings
from undrift.errors import TranscriptError
from undrift.recordings.files import open_recording
from undrift.recordings.replay import replay
from undrift.recordings.replay.history import history_of
from undrift.settings import Settings
from undrift.transcripts import FORMATS, Recording
from undrift.values.window import ContextEntry

FOLDERS = {
    "copilot-cli": ("copilot-cli", 7),
    "gemini-cli": ("gemini-cli", 2),
    "opencode": ("opencode", 12),
    "pi": ("pi", 1),
    "swe-agent-traj": ("swe-agent", 13),
}
OURS = {name for name, _ in FOLDERS.values()}
FOREIGN = ("gemini-cassette", "gemini-contents", "gemini-responses")
# a mask that was put into these files cut some escapes in two
_BROKEN_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?')

Read = list[tuple[str, Path, Recording]]


@pytest.fixture(scope="session")
def corpus(recorded_files: tuple[Path, ...]) -> list[Path]:
    return sorted(path for path in recorded_files if path.name != "SOURCE.txt")


@pytest.fixture(scope="session")
def sessions(corpus: list[Path]) -> Read:
    return [(path.parent.name, path, open_recording(path)) for path in corpus if path.parent.name in FOLDERS]


def test_every_file_is_read_by_its_own_reader(sessions: Read):
    assert Counter(name for name, _, _ in sessions) == {name: number for name, (_, number) in FOLDERS.items()}
    for name, path, recording in sessions:
        assert recording.format == FOLDERS[name][0]
        assert not recording.unfinished
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        assert [known for known, reader in FORMATS.items() if reader.recognises(lines[:64])] == [recording.format]


def test_files_of_other_kinds_are_not_mistaken_for_sessions(corpus: list[Path]):
    looked = 0
    for path in (path for path in corpus if path.parent.name in FOREIGN):
        looked += 1
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        assert not [name for name in OURS if FORMATS[name].recognises(lines[:64])]
    assert looked > 20


def test_small_files_of_many_agents_are_read_or_refused(corpus: list[Path]):
    expected = {"gemini": "gemini-cli", "copilot": "copilot-cli", "openclaw": "pi"}
    read = Counter[str]()
    for path in (path for path in corpus if path.parent.name in ("misc-agents", "other")):
        try:
            recording = open_recording(path)
        except TranscriptError:
            continue
        named = [form for word, form in expected.items() if f"_{word}_" in path.name]
        if recording.format in OURS:
            read[recording.format] += 1
            assert not named or named == [recording.format], path.name
    assert read["gemini-cli"] == 3
    assert read["copilot-cli"] >= 1


def test_calls_and_results_find_each_other(sessions: Read):
    lost: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for name, _, recording in sessions:
        halves: dict[str, list[ContextEntry]] = {}
        for entry in recording.entries:
            if entry.pair_id is not None:
                halves.setdefault(entry.pair_id, []).append(entry)
        assert all([meta(half)["kind"] for half in pair] == ["call", "result"] for pair in halves.values())
        pairs[name] += len(halves)
        assert "result without call" not in recording.skipped
        lost[name] += recording.skipped.get("call without result", 0)
    # pi's user broke off six turns; SWE-agent's last action, the submission, is answered by nobody
    assert lost == {"pi": 6, "swe-agent-traj": 8, "copilot-cli": 0, "gemini-cli": 0, "opencode": 0}
    assert pairs == {"copilot-cli": 129, "gemini-cli": 50, "opencode": 497, "pi": 448, "swe-agent-traj": 160}


def test_the_clients_compactions_are_found(sessions: Read):
    found = {path.name[:40]: recording for _, path, recording in sessions if recording.compactions}
    assert sorted(recording.format for recording in found.values()) == ["opencode", "pi"]
    for recording in found.values():
        for index in recording.compactions:
            assert any(entry.type == "summary" for entry in recording.entries[index:][:2])


def repaired(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return json.loads(_BROKEN_ESCAPE.sub(lambda m: m[0] if len(m[0]) > 1 else "\\\\", text), strict=False)


def said(name: str, path: Path) -> Iterator[Any]:
    """Whatever a message of the file says, but for what the reader's table counts by a reason."""
    text = path.read_text(encoding="utf-8")
    if name == "gemini-cli":
        for message in repaired(text)["messages"]:
            if message["type"] in ("user", "gemini"):
                yield message["content"], [[t["subject"], t["description"]] for t in message.get("thoughts", [])]
                for call in message.get("toolCalls", []):
                    yield call["args"], [part["functionResponse"]["response"] for part in call["result"]]
    elif name == "opencode":
        for message in repaired(text)["messages"]:
            for part in message["parts"]:
                state = part.get("state", {})
                yield part.get("text"), state.get("input"), state.get("output"), state.get("error")
    elif name == "swe-agent-traj":
        for entry in repaired(text)["history"]:
            calls = entry.get("tool_calls") or []
            yield [json.loads(call["function"]["arguments"]) for call in calls]
            action = "" if calls else (entry.get("action") or "").strip()
            # the model wrote its action into its text: there it is a call
            yield entry["content"].rsplit(action, 1) if action else entry["content"], action
    else:
        for line in filter(str.strip, text.splitlines()):
            yield from said_on_a_line(name, repaired(line))


def said_on_a_line(name: str, record: dict[str, Any]) -> Iterator[Any]:
    if name == "pi":
        message = record.get("message", {})
        content = message.get("content") or []
        yield [{key: part[key] for key in part if key not in ("thinkingSignature", "partialJson")} for part in content]
        yield message.get("command"), message.get("output"), record.get("summary")
        return
    data, kind = record["data"], record["type"]
    if kind in ("user.message", "system.message", "system.notification", "assistant.message"):
        yield data.get("content"), data.get("transformedContent"), data.get("reasoningText")
        yield [request["arguments"] for request in data.get("toolRequests", [])]
    elif kind == "tool.execution_complete":
        yield data.get("result", {}).get("content"), data.get("error", {}).get("message")


def test_whatever_was_said_stands_in_an_entry(sessions: Read):
    looked: Counter[str] = Counter()
    for name, path, recording in sessions:
        whole = "\n".join(
            text
            for entry in recording.entries
            for text in (entry.content, *strings(meta(entry).get("input")))  # a call's input as it was given
        )
        missing = []
        for values in said(name, path):
            for text in strings(list(values)):
                looked[name] += 1
                if text.strip() and text not in whole and dumped(text) not in whole:
                    missing.append(text[:80])
        assert not missing, (path.name, len(missing), missing[:3])
    assert all(number > 90 for number in looked.values())
    assert sum(looked.values()) > 4_000


def test_the_reasons_are_few_and_none_is_a_surprise(sessions: Read):
    reasons = {reason for _, _, recording in sessions for reason in recording.skipped}
    assert not {reason for reason in reasons if reason.startswith(("unknown", "malformed", "cut", "nested", "line is"))}
    assert len(reasons) < 40


def test_each_with_two_turns_of_the_agent_is_replayed(sessions: Read, tmp_path: Path):
    settings = Settings(home=str(tmp_path / "home"), token_counter="characters/4")
    known = [(len(history_of(recording).turns), name, path, recording) for name, path, recording in sessions]
    assert {name for turns, name, _, _ in known if turns < 2} == {"copilot-cli"}  # one question, one answer, or none
    longer = sorted((one for one in known if one[0] >= 2), key=lambda one: one[:3])
    assert len(longer) == len(sessions) - 5
    played: Counter[str] = Counter()
    for turns, name, path, recording in longer:  # `make long` replays all, else the two shortest of each client
        if played[name] < sized(2, len(longer)):
            played[name] += 1
            report = replay(recording, path, home=settings.home, settings=settings)
            assert report.turns == turns
            assert report.tokens_after <= report.tokens_before
    assert set(played) == set(FOLDERS)
