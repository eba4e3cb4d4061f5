"""Recorded files are found, opened and read; whatever is wrong with one is one sentence with a remedy."""

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from tests.cli.builders import claude, codex_session, long_session, said, written
from tests.transcripts.test_openhands_sdk import CONVERSATION
from undrift.errors import TranscriptError
from undrift.recordings.files import LONGEST_LINE_BYTES, Homes, open_recording, own_sessions


def refusal(path: Path | str) -> str:
    """The one sentence that a file is refused with; it names the file."""
    with pytest.raises(TranscriptError) as caught:
        open_recording(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message or repr(str(path)) in message
    return message


@pytest.mark.parametrize(("format_", "records"), [("claude-code", long_session(2)), ("codex", codex_session())])
def test_each_format_is_recognised_and_read(tmp_path: Path, format_: str, records: list):
    recording = open_recording(written(tmp_path / "session.jsonl", records))
    assert recording.format == format_
    assert recording.entries[-1].content == "Done."
    assert not recording.unfinished


def test_a_format_that_is_named_is_not_detected(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", ["{}\n" * 100, *long_session(1)])  # nothing known where one looks
    assert "not a recorded session" in refusal(path)
    assert open_recording(path, format="claude-code").entries[-1].content == "Done."


def test_bytes_that_are_no_utf8_are_replaced_and_only_a_line_feed_ends_a_line(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    line = json.dumps(claude("user", [said("caf?\r \u2028 here")]), ensure_ascii=False).encode()
    path.write_bytes(line.replace(b"caf?", b"caf\xe9") + b"\n")
    (entry,) = open_recording(path).entries
    assert entry.content == "caf\ufffd\r \u2028 here"


def test_a_session_that_is_being_written_is_read_up_to_its_cut_line(tmp_path: Path):
    cut = json.dumps(long_session(1)[0])[:-20]
    recording = open_recording(written(tmp_path / "live.jsonl", [*long_session(1), cut]))
    assert recording.unfinished
    assert recording.skipped["cut last line"] == 1
    assert recording.entries[-1].content == "Done."


def test_a_line_beyond_the_limit_is_refused_without_being_loaded(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(1))
    lines = path.read_text(encoding="utf-8").count("\n")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + 5 * LONGEST_LINE_BYTES)  # a hole: no disk is used, no line feed is in it
    tracemalloc.start()
    try:
        message = refusal(path)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert f"line {lines + 1} is longer than 64 MiB" in message
    assert f"sed {lines + 1}d" in message
    assert peak_bytes < 3 * LONGEST_LINE_BYTES


def test_what_cannot_be_read_says_what_to_do(tmp_path: Path):
    assert "there is no such file; check the path" in refusal(tmp_path / "gone.jsonl")
    assert "is a folder; name a session file in it" in refusal(tmp_path)
    assert "is no path of a file" in refusal("a\0b")
    assert "cannot be read" in refusal(written(tmp_path / "file", []) / "session.jsonl")


def test_a_file_without_permission_says_so(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(1))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("needs a user whom permissions bind: this one reads everything (root, or Windows)")
    assert "may not be read; check its owner and permissions" in refusal(path)


def test_what_holds_no_session_says_so(tmp_path: Path):
    assert "is empty" in refusal(written(tmp_path / "empty.jsonl", []))
    assert "not a recorded session that undrift knows" in refusal(written(tmp_path / "notes.txt", ["Dear diary,\n"]))
    only_titles = [claude("user", "", isMeta=True), {"type": "summary", "summary": "x", "leafUuid": "u"}]
    assert "no message in this claude-code session" in refusal(written(tmp_path / "titles.jsonl", only_titles))


def conversation(folder: Path) -> Path:
    """What OpenHands keeps of a conversation: its state, and one file an event."""
    state, *events = CONVERSATION
    written(folder / "base_state.json", [json.dumps(state, indent=2)])
    for number, event in enumerate(events):
        written(folder / "events" / f"event-{number:05d}-0a1b2c3d-{number}.json", [json.dumps(event)])
    for other in ("events/.eventlog.lock", "events/event-x.json", "events/notes.json", "subagents/a/base_state.json"):
        written(folder / other, ["{}"])
    return folder


@pytest.mark.parametrize("given", [".", "base_state.json", "events", "events/event-00003-0a1b2c3d-3.json"])
def test_a_conversation_that_is_kept_as_one_file_an_event_is_read_whole(tmp_path: Path, given: str):
    recording = open_recording(conversation(tmp_path / "c") / given)
    whole = open_recording(written(tmp_path / "whole.jsonl", CONVERSATION))
    assert recording == whole
    assert recording.model == "anthropic/claude-x"


def test_events_stand_in_the_order_of_their_numbers_however_long_these_are(tmp_path: Path):
    folder = conversation(tmp_path / "c")
    last = folder / "events" / "event-00005-0a1b2c3d-5.json"
    last.rename(folder / "events" / "event-100000-0a1b2c3d.json")
    assert open_recording(folder).entries[-1].content == "Done"


@pytest.mark.parametrize(("content", "is_cut"), [("", True), ('{"id": "e', True), ('{\n  "a": 1\n}\n', False)])
def test_an_event_that_is_being_written_is_a_cut_one(tmp_path: Path, content: str, is_cut: bool):
    folder = conversation(tmp_path / "c")
    written(folder / "events" / "event-00006-0a1b2c3d-6.json", [content])
    recording = open_recording(folder)
    assert (recording.unfinished, recording.skipped.get("cut last line")) == (is_cut, 1 if is_cut else None)
    assert recording.entries[-1].content == "Done"


def test_an_event_beyond_the_limit_is_refused_and_named(tmp_path: Path):
    folder = conversation(tmp_path / "c")
    with (folder / "events" / "event-00002-0a1b2c3d-2.json").open("r+b") as file:
        file.truncate(LONGEST_LINE_BYTES + 1)
    assert "event-00002-0a1b2c3d-2.json is larger than 64 MiB" in refusal(folder)


def test_a_folder_without_a_conversation_is_refused(tmp_path: Path):
    assert "is a folder; name a session file in it" in refusal(tmp_path)
    written(tmp_path / "base_state.json", [json.dumps(CONVERSATION[0], indent=2)])
    assert "is a folder" in refusal(tmp_path)
    assert "not a recorded session" in refusal(tmp_path / "base_state.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX: pipes with names")
def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "is no regular file; write what it gives into one" in refusal(tmp_path / "pipe.jsonl")
    assert "is no regular file" in refusal("/dev/null")
    folder = conversation(tmp_path / "c")
    os.mkfifo(folder / "events" / "event-00006-0a1b2c3d-6.json")
    assert "is no regular file" in refusal(folder)


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="needs POSIX: the pipes of a shell")
def test_a_pipe_of_the_shell_is_read(tmp_path: Path):
    content = written(tmp_path / "session.jsonl", long_session(1)).read_bytes()
    theirs, ours = os.pipe()
    with os.fdopen(ours, "wb") as pipe:
        pipe.write(content)
    try:
        assert open_recording(f"/dev/fd/{theirs}").entries[-1].content == "Done."
    finally:
        os.close(theirs)


def test_reading_changes_nothing(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(2))
    path.chmod(0o400)
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))
    open_recording(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before


def test_own_sessions_come_newest_first_from_all_clients(tmp_path: Path):
    homes = Homes(
        **{
            name: tmp_path / name
            for name in ("claude", "codex", "gemini", "copilot", "pi", "qwen", "kimi", "cline", "cn")
        }
    )
    claude_home, codex_home, gemini_home = tmp_path / "claude", tmp_path / "codex", tmp_path / "gemini"
    names = (
        (3, claude_home / "projects" / "repo-a" / "one.jsonl"),
        (1, claude_home / "projects" / "repo-b" / "two.jsonl"),
        (2, codex_home / "sessions" / "2026" / "03" / "01" / "rollout.jsonl"),
        (7, gemini_home / "tmp" / "0a1b" / "chats" / "session-2026-01-02T03-04-0a1b2c3d.json"),
        (6, gemini_home / "tmp" / "0a1b" / "chats" / "session-2026-01-02T03-05-0a1b2c3d.jsonl"),
        (5, tmp_path / "copilot" / "session-state" / "0a1b" / "events.jsonl"),
        (8, tmp_path / "copilot" / "session-state" / "0a1b.jsonl"),
        (4, tmp_path / "pi" / "sessions" / "--repo--" / "2026_0a1b.jsonl"),
        (9, tmp_path / "qwen" / "projects" / "-repo" / "chats" / "0a1b.jsonl"),
        (10, tmp_path / "kimi" / "sessions" / "wd_repo" / "session_1" / "agents" / "main" / "wire.jsonl"),
        (11, tmp_path / "cline" / "sessions" / "1_a" / "1_a.messages.json"),
        (12, tmp_path / "cn" / "sessions" / "0a1b-2c3d.json"),
    )
    for age_s, path in names:
        os.utime(written(path, long_session(1)), (1_000_000 - age_s, 1_000_000 - age_s))
    for other in (
        claude_home / "projects" / "repo-a" / "notes.txt",
        claude_home / "projects" / "loose.jsonl",
        claude_home / "history.jsonl",
        codex_home / "history.jsonl",
        # goes on in the newer form, which is a copy of it
        gemini_home / "tmp" / "0a1b" / "chats" / "session-2026-01-02T03-05-0a1b2c3d.json",
        gemini_home / "tmp" / "0a1b" / "chats" / "parent" / "sub-agent.jsonl",
        gemini_home / "tmp" / "0a1b" / "logs.json",
        tmp_path / "copilot" / "session-state" / "0a1b" / "workspace.yaml",
        tmp_path / "pi" / "sessions" / "--repo--" / "artifacts" / "worker.jsonl",
        tmp_path / "kimi" / "sessions" / "wd_repo" / "session_1" / "agents" / "helper" / "wire.jsonl",
        tmp_path / "cline" / "sessions" / "1_a" / "1_a.json",
        tmp_path / "cn" / "sessions" / "sessions.json",
    ):
        written(other, ["{}\n"])
    (codex_home / "sessions" / "folder.jsonl").mkdir()
    assert own_sessions(homes) == tuple(path for _, path in sorted(names))


def test_two_clients_in_one_folder_are_both_found(tmp_path: Path):
    for name in ("sessions/a/rollout.jsonl", "sessions/a/b/rollout.jsonl"):
        written(tmp_path / name, ["{}\n"])
    assert len(own_sessions(Homes(codex=tmp_path, pi=tmp_path))) == 2


def test_no_client_means_no_sessions(tmp_path: Path):
    assert own_sessions(Homes(claude=tmp_path / "a", codex=tmp_path / "b")) == ()
    written(tmp_path / "a" / "projects", ["a file in the folder's place"])
    assert own_sessions(Homes(claude=tmp_path / "a", codex=tmp_path / "b")) == ()
