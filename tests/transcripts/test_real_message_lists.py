"""The recorded message lists, events and Markdown beside the checkout: read whole, paired, nothing lost uncounted, replayed."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.transcripts.builders import meta
from undrift.recordings.files import open_recording
from undrift.recordings.replay import replay
from undrift.settings import Settings
from undrift.transcripts import Recording

LEAST_CHARACTERS = 20
FILES = {"aider-md": 1, "mini-swe-agent": 1, "openai-messages": 2, "openhands": 2, "openhands-sdk-llm-logs": 6}
READ_AS = {"aider-md": "aider", "openhands-sdk-llm-logs": "openhands"}


@dataclass(frozen=True)
class Real:
    folder: str
    path: Path
    recording: Recording

    @property
    def values(self) -> list[Any]:
        """The documents of the file; a backslash that escapes nothing was left by what masked an address in it."""
        text = self.path.read_text(encoding="utf-8")
        text = re.sub(r'\\(["\\/bfnrtu])|\\', lambda found: found[0] if found[1] else r"\\", text)
        return [json.loads(text)] if self.path.suffix == ".json" else [json.loads(row) for row in text.splitlines()]


@pytest.fixture(scope="session")
def real(recorded_files: tuple[Path, ...]) -> list[Real]:
    """Read every file in the folders."""
    found = [path for path in recorded_files if path.parent.name in FILES and path.suffix != ".txt"]
    return [Real(path.parent.name, path, open_recording(path)) for path in found]


def test_every_file_is_read_by_its_own_reader(real):
    count = {folder: sum(file.folder == folder for file in real) for folder in FILES}
    assert count == FILES
    for file in real:
        bare = isinstance(file.values[0], list) if file.folder == "openhands-sdk-llm-logs" else False
        assert file.recording.format == ("openai-messages" if bare else READ_AS.get(file.folder, file.folder))
        assert not file.recording.unfinished
        assert len([e for e in file.recording.entries if meta(e)["role"] == "assistant"]) >= 2


def test_calls_and_results_find_each_other(real):
    paired = 0
    for file in real:
        entries = file.recording.entries
        calls = {entry.pair_id for entry in entries if meta(entry)["kind"] == "call"} - {None}
        assert calls == {entry.pair_id for entry in entries if meta(entry)["kind"] == "result"}
        paired += len(calls)
        # the last answer of a log, and the call that ends a session, have no result in the file
        assert file.recording.skipped.get("call without result", 0) <= 1
        assert "result without call" not in file.recording.skipped
    assert paired > 60


def test_time_and_messages_run_forwards(real):
    for file in real:
        for first, second in zip(file.recording.entries, file.recording.entries[1:], strict=False):
            assert first.timestamp <= second.timestamp
            assert meta(second)["message"] - meta(first)["message"] in (0, 1)


def strings(value: Any) -> Iterator[str]:
    """Every string in a value that is long enough to be words, with what stands as JSON in a string read as such."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            inner = None
        if isinstance(inner, dict):
            yield from strings(inner)
        elif len(value) >= LEAST_CHARACTERS:
            yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from strings(child)


def words_of_message(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    yield from [content] if isinstance(content, str) else strings([part["text"] for part in content or []])
    yield from strings([call["function"]["arguments"] for call in message.get("tool_calls") or []])


def words_of_event(event: dict[str, Any]) -> Iterator[str]:
    args = event.get("args", {})
    if event.get("action") in ("recall", "change_agent_state"):
        return
    yield from strings([args.get("content"), args.get("thought"), args.get("command"), args.get("path")])
    if event.get("observation") not in (None, "recall"):
        yield from strings(event.get("content"))


def words(file: Real) -> Iterator[str]:
    """The words of the first conversation of a file."""
    first = file.values[0]
    if file.folder == "openhands":
        for event in first if isinstance(first, list) else first["history"]:
            yield from words_of_event(event)
        return
    if isinstance(first, list):
        messages = first[0].get("traj", first)
    else:
        answer = [first["response"]["choices"][0]["message"]] if "response" in first else []
        messages = first.get("raw_messages", first["messages"]) + answer
    for message in messages:
        found = words_of_message(message)
        # a command stands apart from the text that it was written in
        yield from (row for text in found for row in text.splitlines()) if file.folder == "mini-swe-agent" else found


def test_whatever_was_said_stands_in_an_entry(real):
    looked = 0
    for file in real:
        if file.folder == "aider-md":
            continue
        held = "\n".join(
            text for entry in file.recording.entries for text in (entry.content, *strings(meta(entry).get("input")))
        )
        for text in words(file):
            looked += len(text) >= LEAST_CHARACTERS
            fence = text.startswith("```")
            assert len(text) < LEAST_CHARACTERS or fence or text.strip() in held, (file.path.name, text[:80])
    assert looked > 300


def test_the_messages_of_other_conversations_are_counted_to_the_last(real):
    for file in real:
        others = 0
        if file.folder in ("openai-messages", "openhands"):
            values = file.values[0] if isinstance(file.values[0], list) else file.values
            others = sum(
                len(value.get("traj") or value.get("messages") or value.get("history") or []) for value in values[1:]
            )
        assert file.recording.skipped.get("message of another conversation", 0) == others
        if file.folder == "openhands-sdk-llm-logs" and isinstance(file.values[0], dict):
            rendered = len(file.values[0]["messages"]) if "raw_messages" in file.values[0] else 0
            assert file.recording.skipped.get("message rendered as text", 0) == rendered


def test_every_line_of_a_chat_history_stands_in_an_entry_or_is_counted(real):
    (file,) = (file for file in real if file.folder == "aider-md")
    rows = [row for row in file.path.read_text(encoding="utf-8").split("\n") if row.strip()]
    held = [row for entry in file.recording.entries for row in entry.content.split("\n")]
    heads = sum(row.startswith("# aider chat started at ") for row in rows)
    counted = sum(file.recording.skipped.get(reason, 0) for reason in ("line of another chat", "announcement"))
    marks = sum(row in ("####   ", ">   ") for row in rows)
    assert 0 <= len(rows) - heads - counted - sum(bool(row.strip()) for row in held) <= marks
    (chat,) = (
        c
        for c in file.path.read_text(encoding="utf-8").split("# aider chat started at ")
        if held[0] in c and held[-1] in c
    )
    said = [row[5:].strip() for row in chat.split("\n") if row.startswith("#### ")]
    assert said
    assert {row for row in said if row} <= {row.strip() for row in held}


def test_no_reason_is_a_surprise(real):
    for file in real:
        unknown = [
            r for r in file.recording.skipped if r.startswith(("unknown", "malformed", "nested", "line is not", "cut"))
        ]
        assert unknown == []


def test_every_file_can_be_replayed(real, tmp_path):
    for number, file in enumerate(real):
        home = str(tmp_path / str(number))
        report = replay(file.recording, file.path, home=home, settings=Settings(home=home, budget_tokens=8_000))
        assert report.turns >= 2
        assert report.tokens_before > 0
