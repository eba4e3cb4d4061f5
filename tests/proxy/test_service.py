"""The gateway as a service: its units, the socket that it is handed, and 401 for every request that is not its owner's."""

import json
import os
import plistlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import environment
from tests.cli.test_replay import NEEDS_POSIX
from tests.proxy.builders import PATHS
from tests.proxy.strangers import ask_as_nobody, needs_other_users
from undrift.errors import SettingsError
from undrift.proxy.units import SOCKET, UNIT, launchd_files, systemd_files
from undrift.stores.secret import http_token
from undrift.stores.service import PointedClient, Service, save
from undrift.testing import RawUpstream, Send, response

pytestmark = NEEDS_POSIX

WORDS = ["/opt/a b/python", "-P", "-m", "undrift", "proxy", "--service", '--home=/h/$x %y "q" \\z']
BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}]}
GIVE = """
import os, socket, sys
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    os.dup2(listening.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_FDS=sys.argv[1], LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="any")
    os.execv(sys.executable, [sys.executable, "-m", "undrift", *sys.argv[2:]])
"""
"""Starts the gateway as systemd does: with the socket that listens in descriptor 3."""


@pytest.fixture
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, upstream: RawUpstream) -> Path:
    return home_for(upstream, tmp_path / "home")


def home_for(upstream: RawUpstream, home: Path) -> Path:
    """Make a home whose gateway sends requests for Anthropic to the upstream."""
    client = PointedClient("/any", {"anthropic": upstream.url})
    save(home, Service(_free(), {"claude": client}))
    return home


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, RawUpstream]]:
    """The port of a gateway for all requests of which none may reach the provider, and the provider."""
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as provider:
        home = home_for(provider, tmp_path_factory.mktemp("untouched") / "home")
        http_token(home)
        with activated(home, ["proxy"]) as (port, _):
            yield port, provider


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def activated(home: Path, words: Sequence[str]) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Start the gateway with a socket in its hands; yield the port and the process."""
    command = [sys.executable, "-c", GIVE, "1", *words, "--service", f"--home={home}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process
        process.terminate()
        process.wait(timeout=60)


def ask(port: int, path: str, **headers: str) -> tuple[int, Any]:
    """Send a request that is not known to be of our own user: it comes from a page."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(BODY).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_the_owner_is_served_on_the_socket_that_systemd_hands_over(home: Path, upstream: RawUpstream):
    token = http_token(home)
    with activated(home, ["proxy"]) as (port, process):
        assert ask(port, f"/{token}/via/anthropic{PATHS['anthropic']}") == (200, {"id": "m"})
        assert (home / f"gateway-{port}.json").exists()
        assert len(upstream.requests) == 1
    assert process.returncode == 0
    line = json.loads((home / "gateway.log").read_text().splitlines()[-1])
    assert (line["event"], line["status"]) == ("request", 200)
    assert (home / "gateway.log").stat().st_mode & 0o777 == 0o600
    assert token not in (home / "gateway.log").read_text()


@pytest.mark.parametrize(
    "path",
    [
        PATHS["anthropic"],
        f"/via/anthropic{PATHS['anthropic']}",
        f"/{'0' * 64}/via/anthropic{PATHS['anthropic']}",
        "/v1/models",
        "/any",
    ],
)
def test_whatever_is_not_the_owners_gets_401(path: str, untouched: tuple[int, RawUpstream]):
    port, provider = untouched
    page = {"origin": "http://127.0.0.1:3000", "x-api-key": "a-key"}
    status, said = ask(port, path, **page)
    assert (status, said["error"]["message"]) == (401, "undrift: unauthorized")
    status, _ = ask(port, path, **page, upgrade="websocket")
    assert status == 401
    assert provider.requests == ()


@needs_other_users
def test_another_user_of_the_machine_gets_401(untouched: tuple[int, RawUpstream]):
    port, provider = untouched
    heard = ask_as_nobody(f"http://127.0.0.1:{port}", BODY, headers={"x-api-key": "a-key"})
    assert heard is not None
    assert heard.status == 401
    assert provider.requests == ()


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="needs systemd-socket-activate")
def test_the_first_connection_starts_it(home: Path, upstream: RawUpstream):
    token, port = http_token(home), _free()
    gateway = [sys.executable, "-P", "-m", "undrift", "proxy", "--service", f"--home={home}"]
    passed = [f"--setenv={name}" for name in ("PYTHONPATH", "HOME")]
    command = ["systemd-socket-activate", f"--listen=127.0.0.1:{port}", *passed, *gateway]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stderr is not None
        assert b"Listening" in process.stderr.readline()
        time.sleep(0.1)
        assert not list(home.glob("gateway-*.json")), "nothing runs before the first connection"
        assert ask(port, f"/{token}/via/anthropic{PATHS['anthropic']}")[0] == 200
        process.terminate()
        process.communicate(timeout=60)
    assert len(upstream.requests) == 1


def test_launchd_hands_its_socket_over_as_stdin_and_nothing_is_written_to_it(home: Path, upstream: RawUpstream):
    token = http_token(home)
    (agent,) = (plistlib.loads(text.encode()) for text in launchd_files([], 1).values())
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        words = ["-m", "undrift", "proxy", "--service", f"--home={home}", *agent["ProgramArguments"]]
        command = [sys.executable, *words]
        end = listening.fileno()
        with subprocess.Popen(command, env=environment(), stdin=end, stdout=end, stderr=end) as process:
            assert ask(port, f"/{token}/via/anthropic{PATHS['anthropic']}")[0] == 200
            process.terminate()
            assert process.wait(timeout=60) == 0


def test_by_hand_it_takes_the_port_of_the_home_and_a_taken_one_is_a_clear_error(home: Path):
    port = json.loads((home / "service.json").read_text())["port"]
    command = [sys.executable, "-m", "undrift", "proxy", "--service", f"--home={home}"]
    with socket.create_server(("127.0.0.1", port)):
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"127.0.0.1:{port} cannot be listened on" in done.stderr


def test_a_home_without_clients_has_no_service(tmp_path: Path):
    command = [sys.executable, "-m", "undrift", "proxy", "--service", f"--home={tmp_path}"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "first: undrift install CLIENT --gateway" in done.stderr


def test_several_sockets_are_refused(home: Path):
    command = [sys.executable, "-c", GIVE, "2", "proxy", "--service", f"--home={home}"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "handed over 2 sockets" in done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_in_the_units(tmp_path: Path):
    words = [sys.executable, *WORDS[1:]]
    for name, text in systemd_files(words, 8787).items():
        (tmp_path / name).write_text(text)
    command = ["systemd-analyze", "--user", "verify", str(tmp_path / SOCKET), str(tmp_path / UNIT)]
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_of_the_unit_is_quoted_as_systemd_reads_it():
    unit = systemd_files(WORDS, 8787)[UNIT]
    assert '"/opt/a b/python" "-P"' in unit
    assert '"--home=/h/$$x %%y \\"q\\" \\\\z"' in unit
    with pytest.raises(SettingsError, match="control characters"):
        systemd_files(["a\nExecStartPre=b"], 8787)


@pytest.mark.parametrize("program", ["/opt/$x/python", '/opt/"x"/python', "/opt/x\\y/python"])
def test_a_program_that_systemd_cannot_start_is_a_clear_error(program: str):
    with pytest.raises(SettingsError, match="systemd starts no program"):
        systemd_files([program, "-m", "undrift"], 8787)


def test_a_path_that_an_agent_of_launchd_cannot_have_is_a_clear_error():
    with pytest.raises(SettingsError, match="control characters"):
        launchd_files(["/opt/\x01"], 8787)


def test_the_agent_of_launchd_listens_and_starts_the_gateway_on_demand():
    ((name, text),) = launchd_files(WORDS, 9_001).items()
    agent = plistlib.loads(text.encode())
    assert name == f"{agent['Label']}.plist"
    assert agent["ProgramArguments"] == [*WORDS, "--socket=0"]
    listener = agent["Sockets"]["Listeners"]
    assert (listener["SockNodeName"], listener["SockServiceName"]) == ("127.0.0.1", "9001")
    assert agent["inetdCompatibility"] == {"Wait": True}
    assert "RunAtLoad" not in agent
    assert "KeepAlive" not in agent
