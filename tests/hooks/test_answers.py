"""`SessionStart` after a compaction: the text that was prepared, in parts that arrive whole."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.builders import SRC, Record, claude, environment, said
from tests.hooks.builders import SESSION, User, compacted, session
from undrift.hooks.home import locked
from undrift.hooks.prepared import PartLimits, split, units
from undrift.hooks.room import TextRoom
from undrift.hooks.work import parts_of
from undrift.transcripts import read
from undrift.values.restored import goes_on

LONG = 40  # results of 2,000 characters: more than the text can hold
START = "import sys; from undrift.__main__ import run; run()"


def with_prompts(records: list[Record], most_tokens: int) -> list[Record]:
    """Give the answers of a session prompts that grow to a size."""
    answers = [record for record in records if record["type"] == "assistant"]
    for number, record in enumerate(answers, 1):
        usage = {"input_tokens": most_tokens * number // len(answers), "output_tokens": 20}
        record["message"] = {**record["message"], "usage": usage, "id": f"msg-{number}"}
    return records


def prepared(user: User) -> Path:
    (path,) = user.home.glob("hooks/*/restore.json")
    return path


def test_after_a_compaction_the_client_gets_what_the_session_knew(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(12))
    user.pre_compact()
    user.add(compacted())
    text = user.restored()
    assert "Never touch the file build.lock." in text
    assert "compute_part_" in text
    shown = {number for number in range(12) if f"part_{number}.py" in text}
    assert shown
    assert shown <= set(range(7)), "the client itself attaches the last five files again"
    assert user.log() == []


@pytest.mark.parametrize("parts", [2, 4])
def test_a_long_text_comes_in_parts_that_each_arrive_whole(tmp_path: Path, parts: int):
    """Two, as the entries of an earlier version ask."""
    user = User(tmp_path)
    user.write(with_prompts(session(LONG), 150_000))
    user.pre_compact(parts)
    found = [user.starts("compact", part) for part in (1, 2, 3, 4)]
    assert [0 < units(part) <= 9_900 for part in found] == [number < parts for number in range(4)]
    assert sum(map(len, found)) > parts * 9_000
    lead = [part.partition("\n")[0] for part in found[1:parts]]
    rest = "more of what was known before the compaction)"
    assert lead == [f"(undrift, part {number} of {parts}: {rest}" for number in range(2, parts + 1)]


def test_a_client_that_counts_bytes_gets_parts_that_are_as_short(tmp_path: Path):
    lines = [json.dumps(record).replace("source", "источник") for record in session(LONG)]
    entries = read(lines, format="claude-code").entries
    sizes = []
    for in_bytes in (True, False):
        limits = PartLimits(in_bytes=in_bytes)
        parts, _ = parts_of(entries, "recall", TextRoom(10_000), limits=limits)
        assert len(parts) == 4
        assert all(limits.length(part) <= 9_900 for part in parts)
        sizes.append(sum(map(len, parts)))
    assert 25_000 < sizes[0] < sizes[1] - 3_000


def test_a_short_text_leaves_the_second_part_empty(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(1))
    assert user.starts("compact") != ""
    assert user.starts("compact", part=2) == ""


def test_a_fresh_text_is_not_made_anew(tmp_path: Path):
    user = User(tmp_path)
    user.write(session())
    user.pre_compact()
    value = json.loads(prepared(user).read_text())
    prepared(user).write_text(json.dumps({**value, "parts": ["as it was prepared"]}))
    user.add(compacted())
    assert user.starts("compact") == "as it was prepared"


def test_a_text_that_does_not_know_the_last_work_is_made_anew(tmp_path: Path):
    user = User(tmp_path)
    user.write(session())
    user.pre_compact()
    value = json.loads(prepared(user).read_text())
    prepared(user).write_text(json.dumps({**value, "parts": ["as it was prepared"]}))
    news = claude("user", "The last word, on part_of_the_news.")
    answer = claude("assistant", [said("An answer that the client keeps by itself.")])
    user.add([{**news, "uuid": "n-1"}, {**answer, "uuid": "n-2"}, *compacted()])
    text = user.starts("compact")
    assert "part_of_the_news" in text
    assert "An answer that the client keeps" not in text


@pytest.mark.parametrize("damaged", ["", "[]", '{"mark": 1}', '{"mark": {"x": 1}, "parts": []}', "{" * 100_000])
def test_a_damaged_prepared_text_is_made_anew(tmp_path: Path, damaged: str):
    user = User(tmp_path)
    user.write(session())
    user.pre_compact()
    prepared(user).write_text(damaged)
    assert "build.lock" in user.starts("compact")


def test_the_summary_of_the_compaction_is_not_given_back(tmp_path: Path):
    user = User(tmp_path)
    user.write([*session(), *compacted()])
    text = user.starts("compact")
    assert "build.lock" in text
    assert "being continued" not in text


@pytest.mark.parametrize("source", ["clear", "fork", ""])
def test_another_start_gets_nothing(tmp_path: Path, source: str):
    user = User(tmp_path)
    user.write(session())
    assert user.starts(source) == ""
    assert user.log() == []


def hook(
    user: User, event: str, source: str = "", part: int = 1, **run: object
) -> "subprocess.CompletedProcess[bytes]":
    """Call the hook as a client does: a process of its own, in a folder of the project."""
    words = ["hook", event, f"--home={user.home}", f"--client-home={user.claude_home}", f"--part={part}"]
    project = user.folder / "project"
    project.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-P", "-c", START, *words],
        input=user.payload(event, source),
        capture_output=True,
        cwd=project,
        env=environment(PYTHONPATH=os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")])),
        timeout=60,
        check=True,
    )


def test_pre_compact_leaves_the_work_to_a_process_of_its_own(tmp_path: Path):
    user = User(tmp_path)
    user.write(session())
    hostile = user.folder / "project" / "undrift"
    hostile.mkdir(parents=True)
    (hostile / "__init__.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    assert hook(user, "PreCompact").stdout == b""
    folder = user.home / "hooks" / f"claude-{SESSION}"
    for _ in range(600):  # no time is asserted; what never comes fails below
        if (folder / "recorded.json").exists() or user.log():
            break
        time.sleep(0.05)
    assert user.log() == []
    assert (folder / "restore.json").exists()
    assert not (tmp_path / "executed").exists()
    assert b"build.lock" in hook(user, "SessionStart", "compact").stdout


def test_a_prepared_text_is_given_without_the_store_or_the_command_line(tmp_path: Path):
    user = User(tmp_path)
    user.write(session())
    user.pre_compact()
    heavy = (
        "apsw",
        "click",
        "rich",
        "asyncio",
        "undrift.cli",
        "undrift.session.session",
        "undrift.core",
        "undrift.settings.model_table",
    )
    program = f"{START}; print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    words = ["hook", "SessionStart", f"--home={user.home}", f"--client-home={user.claude_home}"]
    run = subprocess.run(
        [sys.executable, "-P", "-c", program, *words],
        input=user.payload("SessionStart", "compact"),
        capture_output=True,
        env=environment(),
        check=True,
    )
    assert b"build.lock" in run.stdout
    assert run.stderr.strip() == b"[]"


def test_both_parts_asked_for_at_once_with_nothing_prepared_are_of_one_text(tmp_path: Path):
    user = User(tmp_path)
    user.write(session(LONG))
    with ThreadPoolExecutor(2) as both:
        runs = list(both.map(lambda part: hook(user, "SessionStart", "compact", part), (1, 2)))
    printed = [json.loads(run.stdout)["hookSpecificOutput"]["additionalContext"] for run in runs]
    assert printed == [user.starts("compact", part) for part in (1, 2)]
    assert user.log() == []


def test_a_lock_that_another_process_holds_does_not_hold_up_for_ever(tmp_path: Path):
    with locked(tmp_path / "lock", 0) as first, locked(tmp_path / "lock", 50) as second:
        assert (first, second) == (True, sys.platform == "win32")


LINES = st.lists(st.sampled_from(["# head", "## section", "a line", "", "\U0001f600" * 9, "x" * 30]), max_size=60)


@given(LINES, st.integers(1, 4))
def test_a_text_in_parts_loses_no_line(lines: list[str], number: int):
    text = "".join(line + "\n" for line in lines)
    parts = split(text, PartLimits(number, each=400))
    if parts is None:
        assert units(text) > 400 + (number - 1) * 250
        return
    assert len(parts) <= number
    assert all(units(part) <= 400 for part in parts)
    kept = list("".join(parts).splitlines())
    for line in lines:
        kept.remove(line)
    told = {goes_on(part, len(parts)).strip() for part in range(2, len(parts) + 1)}
    assert told <= set(kept) <= {"## section", "# head", *told}


def test_a_text_is_cut_at_a_heading():
    text = "# title\n## files\n" + "### one\n" + "a\n" * 120 + "### two\n" + "b\n" * 100
    first, second = split(text, PartLimits(2, each=360)) or ("", "")
    assert first.endswith("a\n")
    assert second.splitlines()[1:4] == ["## files", "### two", "b"]
