"""Clients keep their connections: no part of an answer may wait there until the client has acknowledged the part before."""

import http.client
import json
import socket

import pytest

from tests.proxy.builders import gateway
from undrift import Settings
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.proxy.connection import Connection, HeldTransport
from undrift.testing import RawUpstream, Send, response
from undrift.values.provider import PROVIDERS

BODY = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})


def own() -> None:
    """The gateway makes its socket itself."""


def handed_over() -> socket.socket:
    """A socket of another process, as `undrift wrap` leaves one to its gateway: its number alone is known."""
    made = socket.create_server(("127.0.0.1", 0))
    return socket.socket(fileno=made.detach())


def made_without_a_protocol() -> socket.socket:
    """What `socket.create_server` makes: the kernel speaks TCP there, the object does not say so."""
    found = socket.create_server(("127.0.0.1", 0))
    assert found.proto == 0
    return found


@pytest.mark.parametrize("listening", [own, handed_over, made_without_a_protocol])
def test_every_accepted_connection_sends_at_once(listening, tmp_path):
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as upstream:
        upstreams = {provider: upstream_of(upstream.url) for provider in PROVIDERS}
        settings = Settings(home=str(tmp_path), token_counter="characters/4")
        config = GatewayConfig(settings=settings, upstreams=upstreams, port=0)
        with Server(config, listening()) as server:
            clients = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=30) for _ in range(2)]
            for client in [*clients, *clients]:
                client.request("POST", "/v1/messages", BODY, {"content-type": "application/json"})
                assert client.getresponse().read() == b'{"id": "m"}'
            accepted = [one.transport.get_extra_info("socket") for one in server._server.server_state.connections]
            options = [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in accepted]
            for client in clients:
                client.close()
    assert len(options) == 2
    assert all(options)


def test_head_and_body_of_a_small_answer_come_as_one_piece(tmp_path):
    """Each write of its own costs both sides a system call and a wake-up."""
    with (
        RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as upstream,
        gateway(tmp_path, upstream.url) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=30) as client,
    ):
        head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(BODY)}\r\n\r\n"
        for _ in range(3):
            client.sendall((head + BODY).encode())
            assert client.recv(1 << 16).endswith(b'\r\n\r\n{"id": "m"}')


class Kept:
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def close(self) -> None:
        self.is_closed = True


def test_what_is_held_leaves_in_order_and_is_not_lost_by_a_close():
    kept = Kept()
    held = HeldTransport(kept)
    held.write(b"1")
    held.hold()
    held.write(b"2")
    held.hold()
    held.write(b"3")
    assert kept.pieces == [b"1"]
    held.flush()
    held.write(b"4")
    held.hold()
    held.write(b"5")
    held.close()
    assert kept.pieces == [b"1", b"23", b"4", b"5"]
    assert kept.is_closed
    assert held.is_closed  # all else is the transport's own


def test_a_request_is_told_once_that_its_client_has_left():
    told: list[str] = []
    connection = Connection(HeldTransport(Kept()), lambda: told.append("reads on"))
    connection.tell(lambda: told.append("first"))
    connection.forget()
    connection.tell(lambda: told.append("second"))
    connection.lost()
    assert told == ["reads on", "reads on", "second"]
    connection.tell(lambda: told.append("too late"))
    assert told[3:] == ["too late"]
