"""Bodies that come in: together they take so much memory and no more, and one that stops is not waited for without end."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import PATHS, Heard, ask, gateway, metrics
from undrift.proxy.incoming import BodyRoom
from undrift.testing import RawUpstream, Send, response

MB = 1 << 20
BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "x" * (3 * MB)}]}
LARGE, SMALL = json.dumps(BODY).encode(), json.dumps({**BODY, "messages": []}).encode()
STRANGER = {"origin": "http://localhost:3000"}  # a page, and without a token


@pytest.fixture
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


class Slow:
    """A client that sends some of its body, and may go on later."""

    def __init__(self, url: str, sent: int, *, path: str = PATHS["anthropic"], **headers: str) -> None:
        self.connection = socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=30)
        pairs = {"host": "127.0.0.1", "connection": "close", "content-length": str(len(LARGE)), **headers}
        head = "\r\n".join([f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs.items())])
        self.connection.sendall(f"{head}\r\n\r\n".encode() + LARGE[:sent])

    def heard(self) -> Heard:
        """The answer, to its end."""
        answer = b""
        while piece := self.connection.recv(1 << 16):
            answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *pairs = head.decode().split("\r\n")
        return Heard(int(first.split()[1]), dict(pair.split(": ", 1) for pair in pairs), body, is_whole=True)


@contextmanager
def slow(url: str, count: int, sent: int, **headers: str) -> Iterator[list[Slow]]:
    """So many clients that have sent so much, and wait."""
    with ExitStack() as stack:
        clients = [Slow(url, sent, **headers) for _ in range(count)]
        for client in clients:
            stack.enter_context(client.connection)
        yield clients


def incoming(url: str, home: Path) -> int:
    lines = metrics(url, home).splitlines()
    return int(next(line for line in lines if line.startswith("undrift_incoming_bytes")).split()[1])


def wait_for(is_so: Callable[[], Any]) -> None:
    for _ in range(1_000):
        if is_so():
            return
        time.sleep(0.01)
    pytest.fail("it did not come")


def test_beyond_the_room_for_all_bodies_a_client_is_told_to_come_back(upstream, tmp_path):
    with gateway(tmp_path, upstream.url, most_incoming_bytes=4 * MB) as server:
        with slow(server.url, 2, MB + MB // 2):
            wait_for(lambda: incoming(server.url, tmp_path) > 2.5 * MB)
            heard = ask(server.url, body=LARGE)  # sends all of it before it reads
            assert (heard.status, heard.headers["retry-after"], heard.headers["connection"]) == (503, "1", "close")
            assert heard.json["error"]["type"] == "overloaded_error"
            assert incoming(server.url, tmp_path) <= 4 * MB
            assert upstream.requests == ()
            assert ask(server.url, body=SMALL).status == 200  # takes no room
        wait_for(lambda: incoming(server.url, tmp_path) == 0)
        assert ask(server.url, body=LARGE).status == 200
        assert incoming(server.url, tmp_path) == 0


def test_a_body_that_does_not_come_in_time_is_refused(upstream, tmp_path):
    with gateway(tmp_path, upstream.url, body_deadline_s=0.3) as server, slow(server.url, 3, MB) as clients:
        for client in clients:
            heard = client.heard()
            assert (heard.status, heard.headers["retry-after"], heard.headers["connection"]) == (408, "1", "close")
            assert "did not come in time" in heard.json["error"]["message"]
        assert incoming(server.url, tmp_path) == 0
        assert 'undrift_ended_early_total{how="late-body"} 3\n' in metrics(server.url, tmp_path)
    assert upstream.requests == ()


def test_who_proves_nothing_takes_no_room(upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server, slow(server.url, 3, MB, **STRANGER) as clients:
        assert [client.heard().status for client in clients] == [401] * 3
        assert "late-body" not in metrics(server.url, tmp_path)
        assert incoming(server.url, tmp_path) == 0
    assert upstream.requests == ()


def test_what_passes_while_it_comes_in_may_take_long_but_not_stop(upstream, tmp_path):
    with gateway(tmp_path, upstream.url, body_deadline_s=0.5) as server:
        with slow(server.url, 1, 2 * MB, path="/v1/files?beta=true", **{"x-api-key": "k"}) as (client,):
            for at in range(2 * MB, len(LARGE), MB // 4):
                time.sleep(0.2)
                client.connection.sendall(LARGE[at : at + MB // 4])
            assert client.heard().status == 200
        assert [one.body for one in upstream.requests] == [LARGE]
        with slow(server.url, 1, 2 * MB, path="/v1/files?beta=true", **{"x-api-key": "k"}) as (client,):
            assert client.heard().status == 408
        assert incoming(server.url, tmp_path) == 0


def test_a_client_that_leaves_gives_its_room_back(upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        with slow(server.url, 3, MB):
            wait_for(lambda: incoming(server.url, tmp_path) > 2.5 * MB)
        wait_for(lambda: incoming(server.url, tmp_path) == 0)
        assert 'undrift_ended_early_total{how="client-gone"} 3\n' in metrics(server.url, tmp_path)
    assert upstream.requests == ()


def test_a_room_holds_what_it_holds_and_no_more():
    room = BodyRoom(10)
    assert room.take(6)
    assert not room.take(5)
    assert room.take(4)
    room.give_back(6)
    assert room.taken == 4
