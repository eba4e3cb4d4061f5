"""What two readers could read in two ways, or what leads elsewhere, is refused before a provider hears of it."""

import socket
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import ask, gateway, token
from undrift.proxy.guard import climbs, foreign
from undrift.testing import RawUpstream, Send, response

BODY = b'{"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}'


@pytest.fixture
def upstream():
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


def status_of(url: str, request: bytes) -> int:
    """Send bytes as they are; return the status of the answer."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return int(answer.readline().split()[1])


def raw(*headers: str, line: str = "POST /v1/messages HTTP/1.1", body: bytes = BODY) -> bytes:
    return "\r\n".join([line, *headers, "", ""]).encode() + body


LENGTH = f"Content-Length: {len(BODY)}"
CHUNKED = f"{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (("Host: evil.com", "Host: 127.0.0.1"), 421),
        (("Host: 127.0.0.1", "Host: evil.com"), 421),
        (("Host: 127.0.0.1", "HOST: 127.0.0.1"), 421),
        (("Host: 127.0.0.1:evil.com",), 421),
        (("Host: 127.0.0.1:80:90",), 421),
        (("Host: [::1]evil.com",), 421),
        (("Host: [::1]:evil",), 421),
        (("Host: me@127.0.0.1",), 421),
        (("Host: 127.0.0.1", "Origin: https://evil.com", "Origin: http://127.0.0.1"), 403),
        (("Host: 127.0.0.1", "Origin: http://127.0.0.1", "Origin: https://evil.com"), 403),
        (("Host: 127.0.0.1", "Origin: http://127.0.0.1:evil.com"), 403),
        (("Host: 127.0.0.1", "Origin: http://evil.com@127.0.0.1"), 403),
    ],
)
def test_a_host_or_an_origin_that_can_be_read_in_two_ways_is_refused(headers, status, upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        assert status_of(server.url, raw(*headers, f"X-Undrift-Token: {token(tmp_path)}", LENGTH)) == status
        assert status_of(server.url, raw("Host: 127.0.0.1", LENGTH)) == 200
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    "coded",
    [
        ("Transfer-Encoding: xchunked", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: xchunked, chunked",),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: identity",),
        ("Transfer-Encoding: chunked", LENGTH),
    ],
)
def test_a_body_whose_end_can_be_read_in_two_ways_is_refused(coded, upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        assert status_of(server.url, raw("Host: 127.0.0.1", *coded, body=CHUNKED)) == 400
        assert status_of(server.url, raw("Host: 127.0.0.1", "Transfer-Encoding: Chunked", body=CHUNKED)) == 200
    assert [one.body for one in upstream.requests] == [BODY]


@pytest.mark.parametrize(
    "target", ["http://evil.com/v1/messages", "http://127.0.0.1/v1/messages", "https://evil.com/undrift/health"]
)
def test_a_target_with_a_host_of_its_own_is_refused(target, upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        assert status_of(server.url, raw("Host: 127.0.0.1", LENGTH, line=f"POST {target} HTTP/1.1")) == 400
    assert upstream.requests == ()


@pytest.mark.parametrize("method", ["TRACE", "TRACK"])
def test_no_request_is_asked_to_be_sent_back(method, upstream, tmp_path):
    with gateway(tmp_path, upstream.url) as server:
        for path in ("/v1/messages", "/via/openai/v1/models"):
            heard = ask(server.url, path, method=method)
            assert heard.status == 405 or (method, heard.status) == ("TRACK", 400)  # a parser may not know it at all
    assert upstream.requests == ()


CLIMBING = (
    "/via/anthropic/../../admin",
    "/via/anthropic/v1/..",
    "/via/anthropic/%2e%2e/admin",
    "/via/anthropic/.%2E/admin",
    "/via/anthropic/v1%2f..%2f..%2fadmin",
    "/via/anthropic/%252e%252e/admin",
    "/via/anthropic/..%5cadmin",
    "/via/anthropic/..;/admin",
    "/via/anthropic/..%3bx/admin",
    "/v1/messages/../../admin",
    "/via/../v1/messages",
    "/via/anthropic/%25252525252541",
)


@pytest.mark.parametrize("path", CLIMBING)
def test_no_path_leads_out_of_the_upstreams_own(path, upstream, tmp_path):
    with gateway(tmp_path, f"{upstream.url}/base") as server:
        assert ask(server.url, path, BODY).status == 400
    assert upstream.requests == ()


@pytest.mark.parametrize("path", ["/via/openai/v1/files/a..b", "/v1/files/...", "/v1/a%20b/.hidden", "/v1/%e4%25", "/"])
def test_dots_within_a_name_lead_nowhere(path):
    assert not climbs(path)


def test_a_port_may_be_left_out_or_be_any_number():
    assert [foreign({"host": host}, "127.0.0.1") for host in ("127.0.0.1:", "127.0.0.1:1", "[::1]", "[::1]:65535")] == [
        ""
    ] * 4
