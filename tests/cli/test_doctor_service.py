"""``undrift doctor`` and the gateway for every day: clients that lead to it, its token and its port."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import undrift
from tests.cli.test_install_gateway import hashes, run, settings
from tests.cli.test_replay import NEEDS_POSIX
from undrift.stores.secret import TOKEN_NAME

pytestmark = NEEDS_POSIX


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    """A service that listens, with two clients."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    for client in ("claude", "aider"):
        settings(tmp_path, client)
        assert run(tmp_path, "install", client, "--port", str(port)).exit_code == 0
    with socket.create_server(("127.0.0.1", port)) as found:
        yield found


def found(home: Path) -> list[dict[str, Any]]:
    before = hashes(home)
    shown = undrift("doctor", "--home", str(home / ".undrift"), "--json", env={"HOME": str(home)})
    assert hashes(home) == before
    return [one for one in json.loads(shown.stdout)["findings"] if one["name"] == "service"]


def test_all_is_well(tmp_path: Path, listening: socket.socket):
    assert [one["state"] for one in found(tmp_path)] == ["ok"] * 3
    listening.setblocking(False)
    with pytest.raises(BlockingIOError):
        listening.accept()


def test_a_port_that_nothing_listens_on_is_wrong(tmp_path: Path, listening: socket.socket):
    listening.close()
    (wrong,) = (one for one in found(tmp_path) if one["state"] == "wrong")
    assert "where claude, aider send their requests" in wrong["text"]
    assert "undrift install claude --gateway" in wrong["remedy"]


def test_settings_that_lead_elsewhere_or_are_open_or_have_an_old_token_are_wrong(tmp_path: Path, listening):
    settings(tmp_path, "claude")
    (tmp_path / ".aider.conf.yml").chmod(0o644)
    assert ["any more" in one["text"] or "others can read" in one["text"] for one in found(tmp_path)] == [
        True,
        True,
        False,
    ]
    (tmp_path / ".undrift" / TOKEN_NAME).write_text("ab" * 32)
    assert "old token" in found(tmp_path)[1]["text"]
    assert found(tmp_path)[1]["remedy"].startswith("`undrift install aider --gateway")


def test_claude_in_a_cloud_is_not_said_to_use_the_gateway(tmp_path: Path, listening: socket.socket):
    path = tmp_path / ".claude" / "settings.json"
    given = json.loads(path.read_text())
    path.write_text(json.dumps({**given, "env": {**given["env"], "CLAUDE_CODE_USE_VERTEX": "1"}}))
    (told, *_) = found(tmp_path)
    assert told["state"] == "note"
    assert "Claude Code uses Vertex AI, and its requests there do not pass the gateway" in told["text"]
    path.write_text(path.read_text() + "}")
    assert found(tmp_path)[0]["state"] == "wrong", "the file is damaged"


@pytest.mark.parametrize("text", ["{", "[]", '{"port": 0, "clients": {}}', '{"port": 1, "clients": {"a": 1}}'])
def test_a_damaged_note_is_a_finding_with_a_remedy(tmp_path: Path, text: str):
    (tmp_path / ".undrift").mkdir()
    (tmp_path / ".undrift" / "service.json").write_text(text)
    (wrong,) = found(tmp_path)
    assert wrong["state"] == "wrong"
    assert "service.json" in wrong["remedy"]
