"""What the hook and the status line say of the cache, from the end of the client's own session file."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import Record, claude, environment, said
from tests.hooks.builders import User, compacted
from undrift.hooks.answer import answer
from undrift.hooks.status_line import status_line
from undrift.values.clock import now_ms

HOUR_AGO, TEN_AGO = 61.5, 10.5
AWAY = "undrift: You were away 61 minutes: the next message writes 152k tokens again, $1.52."


@pytest.fixture
def someone(tmp_path: Path) -> User:
    return User(tmp_path)


def replied(minutes_ago: float, tokens: int = 152_000, *, life: str = "1h", number: int = 0, **more: Any) -> Record:
    """An answer of the model, so many minutes ago, that wrote the whole prompt."""
    stamp = datetime.fromtimestamp(now_ms() / 1_000 - minutes_ago * 60, tz=UTC).isoformat()
    record = claude("assistant", [said("Done.")])
    usage: dict[str, Any] = {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": tokens}
    usage |= {"cache_creation": {f"ephemeral_{life}_input_tokens": tokens}}
    message = {**record["message"], "id": f"msg-{number}", "model": "claude-opus-5", "usage": usage}
    return {**record, "uuid": f"a-{number}", "timestamp": stamp, "message": message, **more}


def large(number: int = 0) -> Record:
    """A result of 600 kB, as of a file with pictures."""
    return {**claude("user", "x" * 600_000), "uuid": f"u-{number}"}


def shown(someone: User, **more: Any) -> str:
    """What the client shows before a message is sent."""
    printed = answer(
        "UserPromptSubmit", someone.payload("UserPromptSubmit", prompt="Go on.", **more), someone.options()
    )
    assert list(json.loads(printed)) == ["systemMessage"] if printed else True, "nothing goes to the model"
    return str(json.loads(printed)["systemMessage"]) if printed else ""


def line(someone: User) -> str:
    return status_line(someone.payload("Status"), someone.home, someone.claude_home)


def test_a_message_after_an_hour_away_is_told_what_it_writes(someone: User):
    someone.write([claude("user", "Go."), replied(HOUR_AGO)])
    assert shown(someone) == AWAY
    assert line(someone) == "undrift cache cold: next message writes 152k again, $1.52"
    assert someone.log() == []


def test_before_the_first_message_there_is_no_file_and_nothing_is_said_or_logged(someone: User):
    someone.home.mkdir()
    assert shown(someone) == ""
    assert someone.log() == []


def test_while_the_cache_is_warm_the_hook_says_nothing_and_the_line_counts_down(someone: User):
    someone.write([claude("user", "Go."), replied(TEN_AGO)])
    assert shown(someone) == ""
    assert line(someone).startswith("undrift cache cold in 49:")


def test_a_message_that_no_user_typed_is_told_nothing(someone: User):
    someone.write([replied(HOUR_AGO)])
    assert [shown(someone, source=source) for source in ("sdk", "system", "loop_wakeup")] == ["", "", ""]
    assert shown(someone, source="user") == AWAY


def test_after_a_compaction_nobody_knows_what_comes(someone: User):
    someone.write([replied(HOUR_AGO), *compacted()])
    assert (shown(someone), line(someone)) == ("", "")


def test_a_sub_agents_answer_is_not_the_conversations(someone: User):
    someone.write([replied(HOUR_AGO), replied(1, 9_000, number=1, isSidechain=True)])
    assert shown(someone) == AWAY


def test_a_long_result_after_the_last_answer_does_not_hide_it(someone: User):
    someone.write([claude("user", "Go."), replied(HOUR_AGO), large()])
    assert shown(someone) == AWAY


def test_only_the_end_of_a_long_file_is_read(someone: User):
    path = someone.write([replied(HOUR_AGO), *(large(number) for number in range(8))])
    assert path.stat().st_size > 4 << 20
    assert shown(someone) == ""


def test_a_tail_that_begins_with_a_sub_agents_line_is_still_the_users_session(someone: User):
    aside = [replied(1, 9_000, number=number, isSidechain=True) for number in range(1, 900)]
    path = someone.write([large(), *aside, replied(HOUR_AGO)])
    assert path.stat().st_size > (256 << 10) + 600_000
    assert shown(someone) == AWAY


@pytest.mark.parametrize("between", [0, 1], ids=["a-short-file", "a-long-file"])
def test_what_other_sessions_keep_warm_is_not_announced(someone: User, between: int):
    first = replied(HOUR_AGO + 1, 8_000, number=1)
    first["message"]["usage"]["cache_read_input_tokens"] = 22_000
    someone.write([claude("user", "Go."), first, *[large()] * between, replied(HOUR_AGO)])
    assert shown(someone) == AWAY.replace("152k", "130k").replace("$1.52", "$1.30")


def test_what_was_not_counted_is_not_said(someone: User):
    someone.write([claude("user", "Go."), claude("assistant", [said("Done.")])])
    assert (shown(someone), line(someone)) == ("", "")


@pytest.mark.parametrize(
    "usage",
    [
        "x", [], {"cache_creation_input_tokens": -5}, {"cache_creation_input_tokens": 1e400},
        {"cache_creation_input_tokens": 1 << 80, "cache_creation": {"ephemeral_1h_input_tokens": True}},
        {"input_tokens": 90_000, "cache_creation": {"ephemeral_1h_input_tokens": "\x1b[2J"}},
    ],
)  # fmt: skip
def test_a_hostile_usage_says_nothing(someone: User, usage: Any):
    record = replied(HOUR_AGO)
    record["message"]["usage"] = usage
    someone.write([record])
    assert (shown(someone), line(someone)) == ("", "")


def test_a_hostile_model_has_no_price_and_is_not_printed(someone: User):
    record = replied(HOUR_AGO)
    record["message"]["model"] = "\x1b[2J" * 1_000
    someone.write([record])
    assert shown(someone) == AWAY.replace(", $1.52", "")


@pytest.mark.parametrize("path", ["/etc/passwd", "relative.jsonl", "/a\0b", "x" * 5_000, 7, None])
def test_a_path_elsewhere_is_not_opened(someone: User, path: Any):
    someone.write([replied(HOUR_AGO)])
    payload = json.dumps({"session_id": "s", "transcript_path": path}).encode()
    assert status_line(payload, someone.home, someone.claude_home) == ""
    assert shown(someone, transcript_path=path) == ""


def test_a_link_below_the_clients_folder_is_not_followed(someone: User, tmp_path: Path):
    real = someone.write([replied(HOUR_AGO)])
    real.rename(tmp_path / "elsewhere.jsonl")
    real.symlink_to(tmp_path / "elsewhere.jsonl")
    assert (shown(someone), line(someone)) == ("", "")


def test_the_program_prints_it_and_loads_nothing_heavy(someone: User):
    someone.write([replied(HOUR_AGO)])
    look = (
        "import sys; sys.argv = ['undrift', 'hook', 'UserPromptSubmit', '--client=claude', "
        f"'--home={someone.home}', '--client-home={someone.claude_home}']; from undrift.__main__ import run; run(); "
        "print([name for name in ('click', 'http', 'asyncio', 'apsw', 'sqlite3') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], input=someone.payload("UserPromptSubmit"), env=environment(), capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, json.loads(done.stdout), done.stderr.strip()) == (0, {"systemMessage": AWAY}, b"[]")
    assert not someone.home.exists(), "nothing is written"
