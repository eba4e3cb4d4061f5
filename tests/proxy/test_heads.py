"""The head of a request: large, long, late or never whole, it costs the gateway a fixed amount, and asks no provider."""

import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import ask, gateway
from tests.proxy.served import served
from tests.proxy.strangers import needs_linux
from undrift.proxy import Server
from undrift.testing import RawUpstream, Send, response

BODY = b'{"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}'
FIRST = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n"
LAST = b"content-length: %d\r\n\r\n%s" % (len(BODY), BODY)
PIECE = b"a" * (1 << 20)
KB = 1 << 10


@pytest.fixture
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def heard(server: Server, *sent: bytes) -> bytes:
    """Send pieces; return all that comes back until the connection ends."""
    with connected(server) as client:
        with contextlib.suppress(ConnectionError):
            for piece in sent:
                client.sendall(piece)
                time.sleep(0.01)
        return to_end(client)


def to_end(client: socket.socket) -> bytes:
    answer = b""
    with contextlib.suppress(ConnectionError):
        while piece := client.recv(KB):
            answer += piece
    return answer


LARGE = {
    "one header": (FIRST, b"x-a: ", b"a" * 66 * KB),
    "one header, whole": (FIRST, b"x-a: " + b"a" * 66 * KB + b"\r\n" + LAST),
    "a header's name": (FIRST, b"x" * 66 * KB),
    "the target": (b"POST /" + b"a" * 66 * KB,),
    "the target, whole": (b"POST /" + b"a" * 66 * KB + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",),
    "all together": (FIRST, *(b"x-%d: %s\r\n" % (n, b"a" * KB) for n in range(70))),
    "many": (FIRST + b"".join(b"x-%d: a\r\n" % n for n in range(100)) + LAST,),
    "empty lines": (b"\r\n" * 34 * KB,),
    "behind a body": (
        FIRST + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nx-a: ",
        b"a" * 66 * KB,
        b"a" * 66 * KB,
    ),
    "many behind a body": (
        FIRST
        + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"
        + b"".join(b"x-%d: a\r\n" % n for n in range(100))
        + b"\r\n",
    ),
    "a chunk's size": (FIRST + b"transfer-encoding: chunked\r\n\r\n1;", b"a" * 66 * KB, b"a" * 66 * KB),
}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, RawUpstream]]:
    """A gateway for requests of which none may reach the provider, and the provider."""
    home = tmp_path_factory.mktemp("home")
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as provider, gateway(home, provider.url) as server:
        yield server, provider


@pytest.mark.parametrize("name", LARGE)
def test_a_head_that_is_too_large_is_refused(name: str, untouched: tuple[Server, RawUpstream]):
    server, provider = untouched
    answer = heard(server, *LARGE[name])
    assert [line.split()[1] for line in answer.splitlines() if line.startswith(b"HTTP/1.1 ")] == [b"431"]
    assert provider.requests == ()


def test_the_largest_head_is_taken_and_the_next_one_is_measured_anew(upstream: RawUpstream, tmp_path: Path):
    lines = b"".join(b"x-%d: %s\r\n" % (n, b"a" * 640) for n in range(98))
    with gateway(tmp_path, upstream.url) as server, connected(server) as client:
        for half in (len(lines), len(lines) // 2):
            client.sendall(FIRST + lines[:half])
            time.sleep(0.01)
            client.sendall(lines[half:] + LAST)
            assert client.recv(KB).startswith(b"HTTP/1.1 200 ")
        client.sendall(FIRST + b"x-a: " + b"a" * 66 * KB)
        assert to_end(client).startswith(b"HTTP/1.1 431 ")
    assert len(upstream.requests) == 2


LATE = {
    "nothing": (b"", b""),
    "half a line": (b"POST /v1/mess", b"408"),
    "half a host": (b"POST /v1/messages HTTP/1.1\r\nhost: 127", b"408"),
    "all but the end": (FIRST, b"408"),
    "an empty line": (b"\r\n", b"408"),
}


def test_a_head_that_does_not_come_in_time_is_refused(upstream: RawUpstream, tmp_path: Path):
    with gateway(tmp_path, upstream.url, head_deadline_s=0.3) as server, contextlib.ExitStack() as stack:
        clients = {name: stack.enter_context(connected(server)) for name in (*LATE, "dripping", "second")}
        for name, (sent, _) in LATE.items():
            clients[name].sendall(sent)
        clients["second"].sendall(FIRST + LAST)
        assert clients["second"].recv(KB).startswith(b"HTTP/1.1 200 ")
        clients["second"].sendall(FIRST)
        for byte in FIRST:
            try:
                clients["dripping"].sendall(bytes([byte]))
            except ConnectionError:
                break
            time.sleep(0.03)
        found = {name: to_end(client) for name, client in clients.items()}
        assert ask(server.url, body=BODY).status == 200
    assert {name: answer.split()[1:2] for name, answer in found.items() if name in LATE} == {
        name: [status] if status else [] for name, (_, status) in LATE.items()
    }
    assert found["dripping"].split()[1:2] in ([b"408"], [])  # it may have been reset while it still sent
    assert found["second"].split()[1:2] == [b"408"]
    assert len(upstream.requests) == 2


def test_a_request_that_waits_for_its_answer_is_not_late(tmp_path: Path):
    def slowly(_: object) -> list[Send]:
        time.sleep(0.6)
        return [Send(response(b'{"id": "m"}'))]

    with (
        RawUpstream(slowly) as upstream,
        gateway(tmp_path, upstream.url, head_deadline_s=0.2) as server,
        connected(server) as client,
    ):
        client.sendall(FIRST + LAST + FIRST)  # and a part of its next request
        answer = to_end(client)
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_connections_without_a_request_take_nobodys_place(upstream: RawUpstream, tmp_path: Path):
    with gateway(tmp_path, upstream.url, most_waiting=5) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(server)) for _ in range(30)]
        for client in clients[:25]:
            assert to_end(client) == b""  # the oldest are closed
        for client in clients[25:]:
            client.sendall(FIRST + b"connection: close\r\n" + LAST)
            assert to_end(client).startswith(b"HTTP/1.1 200 ")
    assert len(upstream.requests) == 5


def test_many_clients_at_once_are_all_served(upstream: RawUpstream, tmp_path: Path):
    with gateway(tmp_path, upstream.url, most_waiting=5) as server, contextlib.ExitStack() as stack:
        clients = []
        for _ in range(40):
            clients.append(stack.enter_context(connected(server)))
            clients[-1].sendall(FIRST + b"connection: close\r\n" + LAST)
        assert [to_end(client).split()[1] for client in clients] == [b"200"] * 40


@needs_linux
def test_endless_headers_cost_next_to_nothing(upstream: RawUpstream, tmp_path: Path):
    """150 MB of one header, and of many: refused after the first 64 kB; memory stays as it was."""
    with served(tmp_path / "home", upstream.url) as server:
        assert ask(server.url, body=BODY).status == 200
        before = memory_kb(server.pid)
        port = urlsplit(server.url).port
        for line in (PIECE, b"".join(b"x-%d: a\r\n" % n for n in range(90_000))):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(FIRST + (b"x-a: " if line is PIECE else b""))
                with pytest.raises(ConnectionError):
                    client.sendall(line * 150)
        assert memory_kb(server.pid) - before < 16 * KB
        assert ask(server.url, body=BODY).status == 200
    assert len(upstream.requests) == 2


def memory_kb(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() // KB
