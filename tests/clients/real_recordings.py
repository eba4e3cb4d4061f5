"""The real clients record a session now: undrift reads it as it reads their fixtures, straight and through a gateway.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import ROOT
from tests.clients.record import masked, recorded
from tests.clients.recordable import FOUND, RECORDABLE, Recordable
from tests.transcripts.builders import meta
from tests.transcripts.recordings import rows
from undrift import transcripts

FURTHER = ("cline", "continue", "copilot-cli", "kimi-code", "openhands", "pi", "qwen-code")
"""Clients that take the address of a provider in their settings, and have no command of ``undrift wrap``."""

BOUND = "bound to a different conversation"


def client_of(name: str) -> Recordable:
    client = RECORDABLE[name]
    if not client.is_there():
        pytest.skip(f"needs the client in {client.executable}: run `make clients`")
    return client


def kinds(lines: list[str]) -> list[tuple[str, str, str]]:
    found = [meta(entry) for entry in transcripts.read(lines).entries]
    return [(entry["role"], entry["kind"], entry.get("tool_name", "")) for entry in found]


@pytest.mark.parametrize("name", sorted(RECORDABLE))
def test_a_session_of_today_is_read_as_the_fixture_is(name: str, tmp_path: Path):
    session = recorded(client_of(name), tmp_path / "run")
    text = masked(session.text)
    assert kinds(text.splitlines(keepends=True)) == kinds(rows(name))
    # Claude Code sends a thought of before its compaction again, and without it once it was refused
    assert not [seen.refused for seen in session.requests if seen.refused and BOUND not in seen.refused]


def gateway(home: Path) -> Callable[[str], AbstractContextManager[str]]:
    """Make what starts a gateway before a provider."""

    @contextmanager
    def started(url: str) -> Iterator[str]:
        home.mkdir(mode=0o700)
        words = [sys.executable, "-P", "-m", "undrift", "proxy", "--port=0", "--json", f"--home={home}"]
        environment = {"PYTHONPATH": str(ROOT / "src"), "HOME": str(home.parent)}
        with (
            (home / "gateway.log").open("wb") as log,
            subprocess.Popen(
                [*words, f"--upstream-openai={url}/v1"], env=environment, stdout=subprocess.PIPE, stderr=log
            ) as running,
        ):
            try:
                yield json.loads(running.stdout.readline() if running.stdout else b"")["base_urls"]["openai"]
            finally:
                running.terminate()
                running.wait(30)

    return started


def lines_of(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "gateway.log").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", FURTHER)
def test_a_client_with_the_gateways_address_in_its_settings_is_managed(name: str, tmp_path: Path):
    session = recorded(client_of(name), tmp_path / "run", gateway(tmp_path / "undrift"))
    assert FOUND in session.said + session.text
    lines = lines_of(tmp_path / "undrift")
    assert not [line for line in lines if line.get("bypass") or line["event"] == "fault"]
    managed = [line for line in lines if line.get("session") and line.get("wire")]
    assert len(managed) >= 3
    assert len([seen for seen in session.requests if seen.kind == "main"]) >= 3
    assert not [seen.refused for seen in session.requests if seen.refused]
