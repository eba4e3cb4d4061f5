"""`undrift session restore`: the file that it reads if none is named."""

import json
import os
from pathlib import Path

from tests.cli.builders import undrift
from tests.hooks.builders import User, compacted


def people(tmp_path: Path) -> tuple[User, dict[str, str | None]]:
    someone = User(tmp_path)
    return someone, {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(someone.claude_home)}


def test_without_a_file_the_newest_session_is_read_and_named(tmp_path: Path):
    someone, environment = people(tmp_path)
    older = someone.write(compacted(1), "11111111-0000-0000-0000-000000000000")
    newer = someone.write(compacted(2), "22222222-0000-0000-0000-000000000000")
    os.utime(older, (1_000, 1_000))
    result = undrift("session", "restore", env=environment)
    assert result.exit_code == 0, result.output
    assert str(newer) in result.stderr
    assert str(older) not in result.stderr
    assert result.stdout == undrift("session", "restore", newer, env=environment).stdout
    told = json.loads(undrift("session", "restore", "--json", env=environment).stdout)
    assert told["path"] == str(newer)
    assert told["text"]


def test_a_named_file_is_not_called_the_newest(tmp_path: Path):
    someone, environment = people(tmp_path)
    path = someone.write(compacted())
    assert "newest" not in undrift("session", "restore", path, env=environment).stderr


def test_without_any_session_the_searched_folders_are_named(tmp_path: Path):
    someone, environment = people(tmp_path)
    result = undrift("session", "restore", env=environment)
    assert result.exit_code == 1
    assert str(someone.claude_home) in result.stderr
    assert "name a file: undrift session restore FILE" in result.stderr
