"""Every recorded session beside the checkout is read whole: pairs found, nothing said in it lost uncounted."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.transcripts.builders import meta
from undrift import transcripts
from undrift.values.window import ContextEntry

FORMATS = ("claude-code", "codex")
LEAST_CHARACTERS = 20
# What carries no words: ids, signatures, the data of pictures and sealed thoughts.
WORDLESS = {"signature", "encrypted_content", "id", "tool_use_id", "call_id", "image_url", "data", "type", "caller"}

Read = tuple[str, list[str], transcripts.Recording]


@pytest.fixture(scope="session")
def sessions(recorded_files: tuple[Path, ...]) -> list[Read]:
    """Read every file in the two formats' folders."""
    read = []
    for path in sorted(path for path in recorded_files if path.parent.name in FORMATS and path.suffix == ".jsonl"):
        with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            lines = list(file)
        read.append((path.parent.name, lines, transcripts.read(lines)))
    return read


def test_every_file_is_read_by_its_own_reader(sessions):
    assert len(sessions) == 59 + 15
    assert Counter(recording.format for _, _, recording in sessions) == Counter(folder for folder, _, _ in sessions)
    assert all(recording.model and recording.session_id and recording.cwd for _, _, recording in sessions)
    assert not any(recording.unfinished for _, _, recording in sessions)


def test_calls_and_results_find_each_other(sessions):
    for folder, lines, recording in sessions:
        halves: dict[str, list[ContextEntry]] = {}
        for entry in recording.entries:
            if entry.pair_id is not None:
                halves.setdefault(entry.pair_id, []).append(entry)
        assert all([meta(half)["kind"] for half in pair] == ["call", "result"] for pair in halves.values())
        if folder == "claude-code":
            # put together again, every call is answered in the very next message, as the provider demands
            assert all(meta(result)["message"] - meta(call)["message"] == 1 for call, result in halves.values())
        lost = recording.skipped.get("call without result", 0) + recording.skipped.get("result without call", 0)
        unreadable = recording.skipped.get("malformed line", 0)
        assert lost <= 3 + unreadable + sum('"web_search_call"' in line for line in lines)


def test_time_and_messages_run_forwards(sessions):
    for _, _, recording in sessions:
        for first, second in zip(recording.entries, recording.entries[1:], strict=False):
            assert first.timestamp <= second.timestamp
            assert first.seq + 1 == second.seq
            assert meta(second)["message"] - meta(first)["message"] in (0, 1)


def test_recorded_compactions_are_found(sessions):
    boundary = re.compile(r'"subtype":"compact_boundary"|"type":"compacted"')
    for _, lines, recording in sessions:
        assert len(recording.compactions) <= sum(bool(boundary.search(line)) for line in lines)
        assert bool(recording.compactions) == any(boundary.search(line) for line in lines)
        if recording.format == "claude-code":
            after = [recording.entries[index:][:9] for index in recording.compactions]
            assert all(any(entry.type == "summary" for entry in entries) for entries in after)


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value that is long enough to be words."""
    if isinstance(value, str) and len(value) >= LEAST_CHARACTERS:
        yield value
    elif isinstance(value, dict | list):
        children = [child for key, child in value.items() if key not in WORDLESS] if isinstance(value, dict) else value
        for child in children:
            yield from strings(child)


def words_of_claude_code(record: dict[str, Any]) -> list[str]:
    if record.get("type") not in ("user", "assistant") or record.get("isApiErrorMessage"):
        return []
    return list(strings(record["message"].get("content")))


def words_of_codex(record: dict[str, Any]) -> list[str]:
    payload = record.get("payload")
    if record.get("type") != "response_item" or not isinstance(payload, dict):
        return []
    kind = payload.get("type", "")
    if kind == "function_call":
        try:
            return list(strings(json.loads(payload["arguments"])))
        except (TypeError, ValueError):
            return list(strings(payload["arguments"]))
    if kind in ("message", "reasoning", "agent_message", "custom_tool_call") or kind.endswith("_output"):
        said = [payload.get(key) for key in ("content", "summary", "input", "output", "tools")]
        return list(strings(said))
    return []


def dumped(text: str) -> str:
    """The text as it stands inside JSON: a tool's structured answer is kept as JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def test_whatever_was_said_stands_in_an_entry_of_its_line(sessions):
    """Exceptions: records written twice; texts without text; whatever else `skipped` names does not hold messages."""
    looked = 0
    for _, lines, recording in sessions:
        words = words_of_codex if recording.format == "codex" else words_of_claude_code
        by_line: dict[int, list[ContextEntry]] = {}
        for entry in recording.entries:
            by_line.setdefault(meta(entry)["line"], []).append(entry)
        missing = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError:
                continue  # counted as malformed, or two records on one line
            held = set()
            for entry in by_line.get(number, []):
                held |= {entry.content, meta(entry).get("tool_name", ""), *strings(meta(entry).get("input"))}
            whole = "\n".join(held)
            for text in words(record):
                looked += 1
                if text.strip() and text not in held and text not in whole and dumped(text) not in whole:
                    missing.append((number, text[:80]))
        assert len(missing) <= recording.skipped.get("repeated record", 0), missing[:5]
    assert looked > 20_000


def test_the_reasons_are_few_and_none_is_a_surprise(sessions):
    reasons = {reason for _, _, recording in sessions for reason in recording.skipped}
    assert not {reason for reason in reasons if reason.startswith(("unknown", "nested", "line is not"))}
    assert len(reasons) < 40
