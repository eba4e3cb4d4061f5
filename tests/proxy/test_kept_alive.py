"""Clients keep their connections: no part of an answer may wait there until the client has acknowledged the part before."""

import http.client
import json
import socket

import pytest

from undrift import Settings
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.proxy.config import PROVIDERS
from undrift.testing import RawUpstream, Send, response

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
