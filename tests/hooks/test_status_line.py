"""The status line: what the gateway counts for this session, in one short line; and nothing at all on any fault."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import environment
from tests.proxy.builders import ask, gateway, token
from undrift import Settings
from undrift.hooks.status_line import status_line
from undrift.stores.gateways import Presence, announce
from undrift.stores.secret import http_token
from undrift.testing import RawUpstream, Send, response

SESSION = "5f0e6b1c-3b1f-4e0e-9d0e-0123456789ab"


def request_of(steps: int, session: str = SESSION) -> dict[str, Any]:
    """A request of Claude Code after so many calls with long results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all files."}]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "Read", "input": {"file_path": f"f{number}.py"}}
        text = "\n".join(f"line {line} of file {number} says {line * 7919 % 1000}" for line in range(200))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    tools = [{"name": "Read", "description": "Read a file.", "input_schema": {"type": "object"}}]
    user = json.dumps({"device_id": "d", "account_uuid": "", "session_id": session})
    body = {"model": "claude-opus-4-5", "max_tokens": 9, "metadata": {"user_id": user}}
    return {**body, "tools": tools, "messages": messages}


def payload(session: Any = SESSION) -> bytes:
    return json.dumps({"session_id": session, "hook_event_name": "Status", "model": {"id": "m"}}).encode()


@pytest.fixture
def upstream():
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


def test_it_shows_the_window_and_what_left(upstream: RawUpstream, tmp_path: Path):
    settings = Settings(home=str(tmp_path), token_counter="characters/4", budget_tokens=12_000)
    with gateway(tmp_path, upstream.url, settings) as server:
        assert status_line(payload(), tmp_path, tmp_path) == "", "no request of the session has come"
        ask(server.url, f"/{token(tmp_path)}/via/anthropic/v1/messages", request_of(2))
        assert status_line(payload(), tmp_path, tmp_path) == "undrift 3k of 12k"
        heard = ask(server.url, f"/{token(tmp_path)}/via/anthropic/v1/messages", request_of(12))
        before, after = (int(heard.headers[f"x-undrift-tokens-{one}"]) for one in ("before", "after"))
        expected = f"undrift {round(after / 1000)}k of 12k · {round((before - after) / 1000)}k left, all recallable"
        assert status_line(payload(), tmp_path, tmp_path) == expected
        assert status_line(payload("another"), tmp_path, tmp_path) == ""
        sub_agent = {"x-claude-code-agent-id": "a"}
        ask(server.url, f"/{token(tmp_path)}/via/anthropic/v1/messages", request_of(1), headers=sub_agent)
        assert status_line(payload(), tmp_path, tmp_path) == expected, "a sub-agent's window is another one"
    assert status_line(payload(), tmp_path, tmp_path) == "", "the gateway has ended"


def run(given: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "undrift", "hook", "StatusLine", *words]
    return subprocess.run(command, input=given, env=environment(), capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"session_id": 7}',
        payload("../../etc"),
        payload("a\r\nb: c"),
    ],
)
def test_a_fault_prints_nothing_and_is_no_error(given: bytes, tmp_path: Path):
    http_token(tmp_path)
    done = run(given, f"--home={tmp_path}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_home_that_is_not_there_prints_nothing(tmp_path: Path):
    done = run(payload(), f"--home={tmp_path / 'none'}", "--any=thing")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_gateway_that_does_not_answer_is_not_waited_for(tmp_path: Path):
    http_token(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        announce(tmp_path, Presence(f"http://127.0.0.1:{port}", port, 1, 0, {}))
        assert status_line(payload(), tmp_path, tmp_path) == ""


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n{", b"HTTP/1.1 200 OK\r\n\r\n[]", b"\0" * 9_000])
def test_another_program_on_the_port_shows_nothing(answer: bytes, tmp_path: Path):
    http_token(tmp_path)
    with RawUpstream(lambda _: [Send(answer)]) as other:
        port = int(other.url.rpartition(":")[2])
        announce(tmp_path, Presence(other.url, port, 1, 0, {}))
        done = run(payload(), f"--home={tmp_path}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_line_loads_no_heavy_module(tmp_path: Path):
    look = "import sys; sys.argv = ['undrift', 'hook', 'StatusLine']; from undrift.__main__ import run; run(); "
    heavy = (
        "print([name for name in ('click', 'http', 'subprocess', 'asyncio', 'apsw', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", look + heavy], input=payload(), env=environment(HOME=str(tmp_path)), capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"[]", b"")
