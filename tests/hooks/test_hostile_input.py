"""Whatever comes in: nothing printed, exit code 0, one line in the log, nothing touched outside the home."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import records_of
from tests.cli.builders import environment
from tests.hooks.builders import SESSION, User, session
from tests.hooks.test_answers import START
from undrift.hooks.answer import answer
from undrift.hooks.home import LOG_BYTES, note
from undrift.hooks.transcript import LONGEST_LINE_BYTES
from undrift.stores.sqlite import SqliteStore

NEEDS_LINKS = pytest.mark.skipif(os.name == "nt", reason="needs links and pipes of POSIX")

FORGED = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"\xff\xfe",
    b"[" * 200_000,
    b"{}",
    b'{"session_id": 1}',
    b'{"session_id": "../../etc"}',
    b'{"session_id": "a/b", "transcript_path": "/etc/passwd"}',
    json.dumps({"session_id": "a" * 129}).encode(),
    json.dumps({"session_id": SESSION, "transcript_path": ["x"]}).encode(),
    json.dumps({"session_id": SESSION, "transcript_path": "a\0b"}).encode(),
    json.dumps({"session_id": SESSION, "transcript_path": "/a\0b"}).encode(),
    json.dumps({"session_id": SESSION, "transcript_path": "/etc/passwd"}).encode(),
    json.dumps({"session_id": SESSION, "transcript_path": "/dev/zero"}).encode(),
    json.dumps({"session_id": SESSION, "transcript_path": "~/.claude/projects/x.jsonl"}).encode(),
    json.dumps({"session_id": SESSION, "transcript_path": "$(touch /x)"}).encode(),
    json.dumps({"session_id": SESSION, "hook_event_name": "Stop"}).encode(),
    b" " * (2 << 20),
]


@pytest.mark.parametrize("event", ["PreCompact", "SessionStart"])
@pytest.mark.parametrize("given", FORGED)
def test_a_forged_payload_is_one_line_in_the_log(tmp_path: Path, event: str, given: bytes):
    user = User(tmp_path)
    user.write(session(1))
    if event == "SessionStart" and given.startswith(b"{") and b"session_id" in given:
        given = given.replace(b"{", b'{"source": "compact", ', 1)
    assert answer(event, given, user.options()) == ""
    assert len(user.log()) == 1, user.log()
    assert not (user.home / "undrift.db").exists()


def test_an_unknown_event_is_one_line_in_the_log(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(1))
    assert answer("\x1b[2J\nStop", user.payload("\x1b[2J\nStop"), user.options()) == ""
    (line,) = user.log()
    assert "\x1b" not in line


def refused(user: User, path: Path | str) -> None:
    assert user.pre_compact(transcript_path=str(path)) == ""
    assert user.starts("compact", transcript_path=str(path)) == ""
    assert len(user.log()) == 2
    assert not (user.home / "undrift.db").exists()


def test_a_path_that_leads_out_of_the_clients_folder_is_refused(tmp_path: Path):
    user = User(tmp_path)
    inside = user.write(session(1))
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(inside.read_bytes())
    refused(user, f"{inside.parent}/../../../outside.jsonl")


@NEEDS_LINKS
def test_a_link_to_a_transcript_is_refused(tmp_path: Path):
    user = User(tmp_path)
    inside = user.write(session(1))
    outside = tmp_path / "outside.jsonl"
    inside.rename(outside)
    inside.symlink_to(outside)
    refused(user, inside)


@NEEDS_LINKS
def test_a_linked_folder_on_the_way_is_refused(tmp_path: Path):
    user = User(tmp_path)
    inside = user.write(session(1))
    inside.parent.rename(tmp_path / "elsewhere")
    inside.parent.symlink_to(tmp_path / "elsewhere")
    refused(user, inside)


@NEEDS_LINKS
def test_a_clients_home_that_the_user_has_linked_counts(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(1))
    user.claude_home.rename(tmp_path / "dotfiles")
    user.claude_home.symlink_to(tmp_path / "dotfiles")
    user.pre_compact()
    assert "build.lock" in user.starts("compact")
    resolved = tmp_path / "dotfiles" / "projects" / "-repo" / user.transcript().name
    assert "build.lock" in user.starts("compact", transcript_path=str(resolved))
    assert user.log() == []


@NEEDS_LINKS
def test_a_pipe_in_the_place_of_a_transcript_is_refused_and_not_waited_for(tmp_path: Path):
    user = User(tmp_path)
    user.transcript().parent.mkdir(parents=True)
    os.mkfifo(user.transcript())
    refused(user, user.transcript())


def test_a_folder_or_nothing_in_the_place_of_a_transcript_is_refused(tmp_path: Path):
    user = User(tmp_path)
    refused(user, user.transcript())
    user.transcript().mkdir(parents=True)
    (user.home / "hooks.log").unlink()
    refused(user, user.transcript())


@NEEDS_LINKS
@pytest.mark.parametrize("planted", ["hooks", f"hooks/claude-{SESSION}"])
def test_a_link_planted_in_the_home_is_not_written_through(tmp_path: Path, planted: str):
    user = User(tmp_path)
    user.write(session(1))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (user.home / planted).parent.mkdir(parents=True)
    (user.home / planted).symlink_to(elsewhere)
    assert user.pre_compact() == ""
    assert user.starts("compact") == ""
    assert list(elsewhere.iterdir()) == []
    assert len(user.log()) == 2


@NEEDS_LINKS
def test_a_linked_log_is_not_written_through(tmp_path: Path):
    user = User(tmp_path)
    user.home.mkdir()
    (tmp_path / "mine").write_text("mine")
    (user.home / "hooks.log").symlink_to(tmp_path / "mine")
    assert answer("PreCompact", b"", user.options()) == ""
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_log_stays_small(tmp_path: Path):
    for number in range(2 * LOG_BYTES // 100):
        note(tmp_path, f"{number} " + "x" * 200)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(sizes) == ["hooks.log", "hooks.log.1"]
    assert max(sizes.values()) < LOG_BYTES + 1_000


def test_a_home_that_cannot_be_written_to_fails_no_client(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(1))
    user.home.write_text("a file where the home is to be")
    assert user.pre_compact() == ""
    assert user.starts("compact") == ""


def test_a_relative_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    user = User(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", START, "hook", "PreCompact", "--home", "relative"],
        input=user.payload("PreCompact"),
        capture_output=True,
        env=environment(),
        check=True,
    )
    assert (run.stdout, run.stderr) == (b"", b"")
    assert not (tmp_path / "relative").exists()
    assert "must be an absolute path" in (tmp_path / ".undrift" / "hooks.log").read_text()


@pytest.mark.parametrize("words", [[], ["PreCompact", "--no-such"], ["PreCompact", "--part", "9"], ["a", "b"]])
def test_a_hook_of_another_version_fails_no_client(tmp_path: Path, words: list[str]):
    run = subprocess.run(
        [sys.executable, "-c", START, "hook", *words],
        input=b"{}",
        capture_output=True,
        env=environment(HOME=str(tmp_path)),
        check=True,
    )
    assert (run.stdout, run.stderr) == (b"", b"")


@NEEDS_LINKS
def test_a_closed_stdin_fails_no_client(tmp_path: Path):
    words = f"exec {sys.executable} -c '{START}' hook PreCompact <&-"
    run = subprocess.run(
        ["sh", "-c", words], capture_output=True, env=environment(HOME=str(tmp_path)), check=True, timeout=60
    )
    assert (run.stdout, run.stderr) == (b"", b"")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory and a sparse file")
def test_a_line_of_a_gigabyte_is_passed_over_within_the_memory_of_a_small_machine(tmp_path: Path):
    user = User(tmp_path)
    records = session(2)
    path = user.write(records[:-1])
    with path.open("r+b") as file:
        file.seek(1 << 30, os.SEEK_END)
        file.write(b"\n" + json.dumps(records[-1]).encode() + b"\n")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20)); "
    words = ["hook", "PreCompact", "--now", f"--home={user.home}", f"--client-home={user.claude_home}"]
    subprocess.run(
        [sys.executable, "-c", limit + START, *words], input=user.payload("PreCompact"), env=environment(), check=True
    )
    assert user.log() == []
    assert LONGEST_LINE_BYTES < 1 << 30
    with SqliteStore.open(records_of(user.home), create=False) as store:
        kept = [store.by_entry(f"claude:{SESSION}", name).entry.content for name in ("u-0:0", "u-5:0")]
    assert kept == [records[0]["message"]["content"], "Done."]
