"""Whatever fails on our side, the client's own bytes reach the provider, and the answer says so."""

import http.client
import json
import logging
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import ask, gateway
from tests.proxy.served import needs_small_disks, served
from undrift import Settings
from undrift.testing import Close, RawUpstream, Send, response

ANSWER = response(b'{"id": "m", "content": []}')


def body(words: str = "Fix it.", rounds: int = 0) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": words}]
    for number in range(rounds):
        call = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "Bash", "input": {"command": f"run {number}"}}
        messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number:08}", "content": f"output {number} " * 200}
        messages.append({"role": "user", "content": [result]})
    return {"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}


def settings(home: Any, **more: Any) -> Settings:
    return Settings(home=str(home), token_counter="characters/4", keep_tool_results=1, **more)


@pytest.fixture
def upstream():
    with RawUpstream(lambda _: [Send(ANSWER)]) as found:
        yield found


def until_managed(url: str, sent: Any) -> Any:
    """Ask until the session is managed again."""
    end = time.monotonic() + 30
    while "x-undrift-bypass" in (heard := ask(url, body=sent)).headers and time.monotonic() < end:
        time.sleep(0.05)
    return heard


def test_what_nobody_thought_of_costs_nobody_an_answer(upstream, tmp_path, caplog):
    """The user's file of models is broken while the gateway runs: no session can be opened until it is whole again."""
    caplog.set_level(logging.INFO, "undrift.proxy")
    models = tmp_path / "models.json"
    models.write_text("[]")
    given = settings(tmp_path, budget_tokens=500, models_file=str(models))
    sent = json.dumps(body(rounds=9), indent=2).encode()
    with gateway(tmp_path, upstream.url, given, recovery_s=0.5) as server:
        models.write_text("secret words of the user")
        heard = [ask(server.url, body=sent, headers={"x-undrift-session": "s"}) for _ in range(4)]
        assert [one.status for one in heard] == [200] * 4
        assert [one.headers["x-undrift-bypass"] for one in heard[:3]] == ["fault"] * 3
        assert heard[3].headers["x-undrift-bypass"] in ("repeated-faults", "fault")
        assert [request.body for request in upstream.requests] == [sent] * 4
        models.write_text("[]")
        assert "x-undrift-bypass" not in until_managed(server.url, sent).headers
        assert len(upstream.requests[-1].body) < len(sent)
    faults = [json.loads(record.message) for record in caplog.records if record.levelno >= logging.ERROR]
    assert {(fault["reason"], fault["at"].partition(" at ")[0]) for fault in faults} == {
        ("fault", "prepare: SettingsError")
    }
    assert "secret words" not in caplog.text


_HOLDS = "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.set_busy_timeout(20000); c.execute('BEGIN IMMEDIATE'); print(1, flush=True); sys.stdin.read()"


def test_a_store_that_another_process_holds_delays_nobody_beyond_the_deadline(upstream, tmp_path):
    sent = json.dumps(body(rounds=9)).encode()
    with gateway(tmp_path, upstream.url, settings(tmp_path, budget_tokens=500), deadline_s=0.3) as server:
        assert "x-undrift-bypass" not in ask(server.url, body=body("another")).headers
        command = [sys.executable, "-c", _HOLDS, str(tmp_path / "undrift.db")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdout.readline()
            heard = ask(server.url, body=sent)
            holder.stdin.close()
        assert heard.headers["x-undrift-bypass"] == "deadline"
        assert upstream.requests[-1].body == sent
        assert "x-undrift-bypass" not in until_managed(server.url, sent).headers
        assert len(upstream.requests[-1].body) < len(sent)


@needs_small_disks
def test_nothing_leaves_the_window_that_a_full_disk_cannot_hold(upstream, tmp_path):
    sent = json.dumps(body(rounds=9)).encode()
    given = {"budget_tokens": 500, "keep_tool_results": 1}
    with served(tmp_path / "home", upstream.url, disk="4m", config={"recovery_s": 0.2}, **given) as server:
        assert "x-undrift-bypass" not in ask(server.url, body=body("another")).headers
        filler = server.home / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        reasons = []
        for _ in range(6):
            heard = ask(server.url, body=sent)
            assert (heard.status, upstream.requests[-1].body) == (200, sent)
            reasons.append(heard.headers["x-undrift-bypass"])
        health = ask(server.url, "/undrift/health", method="GET")
        assert (health.status, health.json["store"]) == (503, "failing")
        assert reasons[0] == "store"
        assert set(reasons) <= {"store", "repeated-faults", "unhealthy"}
        assert reasons[-1] != "store"
        filler.unlink()
        heard = until_managed(server.url, sent)
        assert "x-undrift-bypass" not in heard.headers
        assert len(upstream.requests[-1].body) < len(sent)
        time.sleep(1.1)  # an answer about health holds for a second
        assert ask(server.url, "/undrift/health", method="GET").status == 200


def test_without_a_descriptor_the_client_is_told_to_come_back(tmp_path):
    def once(_: Any) -> list[Any]:  # each request needs a new connection to the provider
        return [Send(response(b'{"id": "m", "content": []}', headers={"connection": "close"})), Close()]

    with RawUpstream(once) as upstream, served(tmp_path / "home", upstream.url) as server:
        assert ask(server.url, body=body()).status == 200
        parts = urlsplit(server.url)
        with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as connection:
            connection.request("GET", "/undrift/health")
            connection.getresponse().read()  # so that it has been taken
            used = {int(path.name) for path in Path(f"/proc/{server.pid}/fd").iterdir()}
            before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (min(set(range(4096)) - used), before[1]))
            connection.request("POST", "/v1/messages", json.dumps(body("no descriptor")).encode())
            refused = connection.getresponse()
            message = json.loads(refused.read())["error"]["message"]
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert "descriptor" in message
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
        assert ask(server.url, body=body("again")).status == 200


def test_more_connections_than_descriptors_are_told_to_come_back(upstream, tmp_path):
    with served(tmp_path / "home", upstream.url, descriptors=104) as server:
        host, port = server.url.removeprefix("http://").split(":")
        held: list[socket.socket] = []
        try:
            for _ in range(40):  # each with a request, at once: the oldest of many that are silent are closed
                held.append(socket.create_connection((host, int(port))))
                head = f"POST /v1/messages HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-length: 9\r\n\r\n"
                held[-1].sendall(head.encode())
            answered, _, _ = select.select(held, [], [], 10)  # before their bodies, so that they make room
            answered[-1].settimeout(10)
            answer = b"".join(iter(lambda: answered[-1].recv(4_096), b""))
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"\r\nretry-after: 1\r\n" in answer
            assert b"undrift: too many connections at once" in answer
        finally:
            for one in held:
                one.close()
        end = time.monotonic() + 30
        while (heard := ask(server.url, body=body())).status != 200 and time.monotonic() < end:
            time.sleep(0.05)
        assert (heard.status, heard.headers.get("x-undrift-bypass")) == (200, None)


def test_a_home_that_cannot_be_written_stops_no_request(upstream, tmp_path):
    home = tmp_path / "home"
    home.write_text("a file stands in its place")
    sent = json.dumps(body()).encode()
    with gateway(home, upstream.url) as server:
        heard = ask(server.url, body=sent)
        health = ask(server.url, "/undrift/health", method="GET")
    assert (heard.status, heard.headers["x-undrift-bypass"]) == (200, "store")
    assert upstream.requests[-1].body == sent
    assert (health.status, health.json["status"]) == (503, "degraded")


@pytest.mark.parametrize(
    "sent",
    [b"", b"{", b"[]", b'{"messages": "none"}', b'{"model": "m"}', b'{"messages": [' + b"[" * 3000, b"\xff\xfe\x00"],
    ids=["empty", "cut", "array", "no-list", "no-history", "deep", "no-json"],
)
def test_what_is_not_understood_is_for_the_provider_to_refuse(sent, upstream, tmp_path):
    with gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        heard = ask(server.url, body=sent)
    assert heard.headers["x-undrift-bypass"] == "not-understood"
    assert upstream.requests[-1].body == sent


def test_a_body_that_is_too_large_or_badly_compressed_passes_unread(upstream, tmp_path):
    large = json.dumps(body("x" * 300_000)).encode()
    with gateway(tmp_path, upstream.url, settings(tmp_path), most_body_bytes=100_000) as server:
        first = ask(server.url, body=large)
        second = ask(server.url, body=b"\x28\xb5\x2f\xfd", headers={"content-encoding": "zstd"})
    assert first.headers["x-undrift-bypass"] == "too-large"
    assert second.headers["x-undrift-bypass"] == "content-encoding"
    assert [request.body for request in upstream.requests] == [large, b"\x28\xb5\x2f\xfd"]
    assert upstream.requests[0].header["content-length"] == str(len(large))
    assert upstream.requests[1].header["content-encoding"] == "zstd"


def test_requests_of_one_session_at_once_are_all_answered(upstream, tmp_path):
    heard: list[Any] = []
    with gateway(tmp_path, upstream.url, settings(tmp_path)) as server:

        def go(number: int) -> None:
            heard.append(ask(server.url, body=body(f"words {number}"), headers={"x-undrift-session": "s"}))

        threads = [threading.Thread(target=go, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(one.status, one.headers.get("x-undrift-bypass")) for one in heard] == [(200, None)] * 16


def test_more_sessions_than_are_kept_open(upstream, tmp_path):
    with gateway(tmp_path, upstream.url, settings(tmp_path), memory_bytes=1) as server:
        for turn in range(2):
            for number in range(5):
                named = {"x-undrift-session": f"s{number}"}
                assert "x-undrift-bypass" not in ask(server.url, body=body(rounds=turn), headers=named).headers
