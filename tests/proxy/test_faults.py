"""The fault matrix: what a provider or a client can do wrong, and what the other side must see of it."""

import contextlib
import gzip
import json
import socket
import struct
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import ask, gateway, metrics, stream_of, token
from undrift import Settings
from undrift.stores.sqlite import SqliteStore
from undrift.testing import Close, Hold, RawUpstream, Reset, Send, Wait, response

BODY = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Fix it. " * 40}]}
NAMED = {"x-undrift-session": "s"}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [{"type": "text", "text": "Done, it is."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 5},
}
EVENTS = stream_of("anthropic", ANSWER)
ERROR = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded \xc3\xa9"}}'
HTML = b"<html><body>502 Bad Gateway</body></html>"


def head(*lines: str, status: str = "200 OK") -> bytes:
    return ("\r\n".join((f"HTTP/1.1 {status}", *lines)) + "\r\n\r\n").encode()


def chunked(*parts: bytes, ended: bool = True) -> list[Any]:
    steps: list[Any] = [Send(head("content-type: text/event-stream", "transfer-encoding: chunked"))]
    steps += [Send(b"%x\r\n%s\r\n" % (len(part), part)) for part in parts]
    return [*steps, Send(b"0\r\n\r\n")] if ended else steps


def settings(home: Path) -> Settings:
    return Settings(home=str(home), token_counter="estimate")


def recorded(home: Path) -> int:
    """How many answers were taken in: each gives a report of usage."""
    with SqliteStore.open(home) as store:
        return sum(operation.kind == "calibrate" for operation in store.operations("s"))


@pytest.mark.parametrize(
    ("given", "status", "body"),
    [
        pytest.param(response(ERROR, status=429, headers={"retry-after": "7"}), 429, ERROR, id="429"),
        pytest.param(response(ERROR, status=529), 529, ERROR, id="529"),
        pytest.param(response(ERROR, status=500), 500, ERROR, id="500"),
        pytest.param(response(HTML, status=502, kind="text/html"), 502, HTML, id="html"),
        pytest.param(response(HTML, kind="text/html"), 200, HTML, id="html-with-200"),
        pytest.param(response(b""), 200, b"", id="empty-200"),
        pytest.param(response(b'{"type": "mess'), 200, b'{"type": "mess', id="bad-json"),
        pytest.param(response(b"", status=204), 204, b"", id="204"),
        pytest.param(response(b"go there", status=307, headers={"location": "/x"}), 307, b"go there", id="no-redirect"),
        pytest.param(
            response(gzip.compress(b"\0" * (1 << 20)), headers={"content-encoding": "gzip"}),
            200,
            gzip.compress(b"\0" * (1 << 20)),
            id="gzip",
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + response(ERROR, status=500), 500, ERROR, id="100-before-500"),
    ],
)
def test_status_and_bytes_are_those_of_the_provider(given, status, body, tmp_path):
    with (
        RawUpstream(lambda _: [Send(given)]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        heard = ask(server.url, body=BODY, headers=NAMED)
    assert (heard.status, heard.body, heard.is_whole) == (status, body, True)
    assert "x-undrift-bypass" not in heard.headers
    if status == 429:
        assert heard.headers["retry-after"] == "7"
    assert len(upstream.requests) == 1  # nothing is tried twice
    assert recorded(tmp_path) == 0


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([Reset()], id="reset"),
        pytest.param([Close()], id="close"),
        pytest.param([Send(b"HTTP/1.1 200 OK\r\ncontent-len"), Close()], id="half-a-head"),
        pytest.param([Send(b"\x16\x03\x01 nonsense\r\n\r\n"), Close()], id="no-http"),
    ],
)
def test_without_an_answer_the_client_gets_an_error_in_the_providers_shape(steps, tmp_path):
    with RawUpstream(lambda _: steps) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        heard = ask(server.url, body=BODY, headers=NAMED)
        other = ask(
            server.url, "/v1beta/models/gemini-3.1-pro:generateContent", {"contents": [{"parts": [{"text": "x"}]}]}
        )
    assert heard.status == 502
    assert heard.json["error"]["type"] == "api_error"
    assert other.json["error"]["status"] == "UNAVAILABLE"
    assert len(upstream.requests) == 2


def test_a_port_where_nobody_listens_is_a_502(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with gateway(tmp_path, url, settings(tmp_path)) as server:
        heard = ask(server.url, body=BODY)
        assert heard.status == 502
        assert "the provider, 127.0.0.1, could not be reached" in heard.json["error"]["message"]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            [Send(head("content-type: application/json", "content-length: 500") + b'{"a":'), Close()], id="short"
        ),
        pytest.param(
            [Send(head("content-type: application/json", "content-length: 500") + b'{"a":'), Reset()], id="reset"
        ),
        pytest.param([*chunked(*EVENTS[:3], ended=False), Close()], id="chunks-without-an-end"),
        pytest.param([*chunked(*EVENTS[:3], ended=False), Wait(0.1), Reset()], id="chunks-then-reset"),
        pytest.param([*chunked(*EVENTS, ended=False), Close()], id="terminal-event-but-no-end"),
    ],
)
def test_a_response_that_breaks_off_breaks_off_for_the_client(steps, tmp_path):
    with RawUpstream(lambda _: steps) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        heard = ask(server.url, body=BODY, headers=NAMED)
        sent = b"".join(step.data for step in steps if isinstance(step, Send)).split(b"\r\n\r\n", 1)[1]
        assert not heard.is_whole
        assert heard.status == 200
        assert len(heard.body) <= len(sent)
        assert 'ended_early_total{how="cut"} 1' in metrics(server.url, tmp_path)
    assert len(upstream.requests) == 1
    assert recorded(tmp_path) == 0


@pytest.mark.parametrize("count", range(len(EVENTS) + 1))
def test_a_stream_that_ends_early_but_cleanly_is_no_turn(count: int, tmp_path):
    with (
        RawUpstream(lambda _: chunked(*EVENTS[:count])) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        heard = ask(server.url, body=BODY, headers=NAMED)
    assert (heard.status, heard.is_whole, heard.body) == (200, True, b"".join(EVENTS[:count]))
    assert recorded(tmp_path) == (1 if count == len(EVENTS) else 0)


def test_a_response_that_ends_with_its_connection_reaches_the_client_whole(tmp_path):
    steps: list[Any] = [Send(head("content-type: text/event-stream", "connection: close") + b"".join(EVENTS)), Close()]
    with RawUpstream(lambda _: steps) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        heard = ask(server.url, body=BODY, headers=NAMED)
    assert (heard.status, heard.body, heard.is_whole) == (200, b"".join(EVENTS), True)
    assert recorded(tmp_path) == 1


def test_a_compressed_stream_passes_as_it_is_and_is_taken_in(tmp_path):
    packed = gzip.compress(b"".join(EVENTS))
    given = response(packed, kind="text/event-stream", headers={"content-encoding": "gzip"})
    with (
        RawUpstream(lambda _: [Send(given)]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        heard = ask(server.url, body=BODY, headers={**NAMED, "accept-encoding": "gzip, br, zstd"})
    assert heard.body == packed
    assert upstream.requests[0].header["accept-encoding"] == "gzip"
    assert recorded(tmp_path) == 1


def test_a_slow_drip_arrives_as_it_drips(tmp_path):
    pieces = [EVENTS[0][i : i + 7] for i in range(0, len(EVENTS[0]), 7)]
    steps: list[Any] = [Send(head("content-type: text/event-stream", "transfer-encoding: chunked"))]
    for piece in pieces[:20]:
        steps += [Send(b"%x\r\n%s\r\n" % (len(piece), piece)), Wait(0.01)]
    steps.append(Hold())
    with (
        RawUpstream(lambda _: steps) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
        opened(server.url) as client,
    ):
        got = b""
        while pieces[19] not in got:  # the stream has not ended, and everything of it is here
            got += client.recv(65536)


@contextlib.contextmanager
def opened(url: str, body: Any = None):
    """A connection on which a request was sent."""
    parts = urlsplit(url)
    data = json.dumps(body or BODY).encode()
    client = socket.create_connection((parts.hostname, parts.port), timeout=10)
    lines = f"POST /v1/messages HTTP/1.1\r\nhost: {parts.netloc}\r\nx-undrift-session: s\r\ncontent-length: {len(data)}"
    client.sendall(f"{lines}\r\n\r\n".encode() + data)
    with client:
        yield client


def left(client: socket.socket, *, by_reset: bool) -> float:
    if by_reset:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    return time.monotonic()


@pytest.mark.parametrize("by_reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("when", ["before-headers", "first-token", "mid-stream"])
def test_when_the_client_leaves_the_provider_is_left_within_a_second(when: str, by_reset: bool, tmp_path):
    shown = {"before-headers": 0, "first-token": 1, "mid-stream": 4}[when]
    steps = [*chunked(*EVENTS[:shown], ended=False), Hold()] if shown else [Hold()]
    with RawUpstream(lambda _: steps) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        with opened(server.url) as client:
            upstream.wait_for_request()
            got = b""
            while shown and EVENTS[shown - 1] not in got:
                got += client.recv(65536)
            gone_s = left(client, by_reset=by_reset)
        assert upstream.wait_for_end() - gone_s < 1.0
        assert 'ended_early_total{how="client-gone"} 1' in metrics(server.url, tmp_path)
    assert recorded(tmp_path) == 0


def test_a_client_with_a_large_request_is_seen_to_leave_as_well(tmp_path):
    """The server stops reading while a large body waits to be taken; it must read on, or it never sees the end."""
    with RawUpstream(lambda _: [Hold()]) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        with opened(server.url, "x" * 900_000) as client:
            upstream.wait_for_request()
            gone_s = left(client, by_reset=False)
        assert upstream.wait_for_end() - gone_s < 1.0


def test_a_client_that_leaves_before_its_request_is_in_asks_nobody(tmp_path):
    with RawUpstream(lambda _: [Hold()]) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        parts = urlsplit(server.url)
        client = socket.create_connection((parts.hostname, parts.port))
        shown = token(tmp_path)  # the system does not say any more whose it was
        head = f"POST /{shown}/v1/messages HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-length: 500\r\n\r\n{{"
        client.sendall(head.encode())
        client.close()
        while "client-gone" not in metrics(server.url, tmp_path):
            time.sleep(0.01)
    assert upstream.requests == ()


def test_no_descriptor_is_left(tmp_path):
    def answer(request: Any) -> list[Any]:
        n = request.number % 4
        return [[Reset()], [*chunked(*EVENTS[:2], ended=False), Close()], chunked(*EVENTS), [Hold()]][n]

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    with RawUpstream(answer) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        counts = []
        for _ in range(5):
            for number in range(1, 9):
                seen = len(upstream.requests)
                if (seen + 1) % 4 == 3:
                    with opened(server.url) as client:
                        upstream.wait_for_request(seen + 1)
                        left(client, by_reset=number > 4)
                else:
                    ask(server.url, body=BODY, headers=NAMED)
            until_s = time.monotonic() + 5
            while upstream.connections > 1 and time.monotonic() < until_s:
                time.sleep(0.01)
            counts.append(descriptors())
    assert max(counts[1:]) <= counts[0] + 2


def test_streams_end_before_the_gateway_does(tmp_path):
    steps = [*chunked(*EVENTS[:2], ended=False), Wait(0.5)]
    steps += [Send(b"%x\r\n%s\r\n" % (len(part), part)) for part in EVENTS[2:]] + [Send(b"0\r\n\r\n")]
    with RawUpstream(lambda _: steps) as upstream:
        with gateway(tmp_path, upstream.url, settings(tmp_path)) as server, opened(server.url) as client:
            got = b""
            while EVENTS[1] not in got:
                got += client.recv(65536)
            server.stop()
            while chunk := client.recv(65536):
                got += chunk
        assert EVENTS[-1] in got
        assert got.endswith(b"0\r\n\r\n")
    assert recorded(tmp_path) == 1
