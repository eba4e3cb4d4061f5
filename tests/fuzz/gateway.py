"""The gateway on a real socket: requests, byte for byte, and answers of a provider, that are damaged.

An input begins with ``owner``, ``stranger`` or ``answer``. The first two are sent to the gateway as they are, with ``{host}``
for its address, and the owner's with ``{token}``; a stranger's connection belongs to another user. An answer is what the
provider sends, to a client that asks in order.
"""

import ctypes
import http.client
import json
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from hypothesis import strategies as st

from tests.fuzz.surface import MEMORY, Surface, Take, head_of
from tests.proxy.builders import ask, gateway, token
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.testing import Close, RawRequest, RawUpstream, Send, Step, response

__all__ = ["GATEWAY_SURFACE", "STRANGER", "can_be_another"]

BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
_ANSWER = response(b'{"id": "m"}')
_PIN = "canary-5f1d"
STRANGER = 65_534
"""The id of the other user."""
_WAIT_S = 0.5
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class _Gateway:
    """Two gateways on one home: what comes late of an owner's request is not to be taken for a stranger's."""

    def __init__(self, home: Path, owners: tuple[str, RawUpstream], strangers: tuple[str, RawUpstream]) -> None:
        self._owners, self._strangers = owners, strangers
        self._url = owners[0]
        self._token = token(home).encode()
        self.answer = _ANSWER

    def steps(self, _: RawRequest) -> list[Step]:
        return [Send(self.answer)] if self.answer is _ANSWER else [Send(self.answer), Close()]

    def take(self, data: bytes) -> None:
        words, rest = head_of(data)
        if words == ["answer"]:
            self._answered(rest)
        elif words in (["owner"], ["stranger"]):
            self._asked(rest, is_owner=words == ["owner"])
        self.answer = _ANSWER
        heard = ask(self._url, "/undrift/health", method="GET", headers={"x-undrift-token": self._token.decode()})
        assert heard.status == 200, "the gateway is not well"

    def _asked(self, sent: bytes, *, is_owner: bool) -> None:
        if not is_owner and not can_be_another():
            return
        url, upstream = self._owners if is_owner else self._strangers
        before = len(upstream.requests)
        sent = sent.replace(b"{host}", urlsplit(url).netloc.encode())
        sent = sent.replace(b"{token}", self._token) if is_owner else sent
        heard = _exchanged(url, sent, is_owner=is_owner)
        assert not heard or _STATUS.match(heard), f"no answer of HTTP: {heard[:60]!r}"
        if is_owner:
            for one in upstream.requests[before:]:
                left = iter(sent)
                assert all(byte in left for byte in one.body), "the provider got bytes that were not sent"
        else:
            assert not upstream.requests, "a stranger's request reached the provider"
            assert all(status[:1] == b"4" for status in _STATUS.findall(heard)), f"a stranger got {heard[:60]!r}"
            for secret in (_PIN.encode(), self._token):
                assert secret not in heard, "a stranger got something of the home"

    def _answered(self, answer: bytes) -> None:
        self.answer = answer
        wanted = _read(answer)
        try:
            heard = ask(self._url, body=BODY)
        except (http.client.HTTPException, OSError):
            return
        if wanted is not None and heard.status == wanted[0] and heard.is_whole:
            assert heard.body == wanted[1], "the client got another body than the provider sent"


def can_be_another() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0


@contextmanager
def _connection(url: str, *, is_owner: bool) -> Iterator[socket.socket]:
    """A connection of ours, or of another user: on Linux a socket belongs to whom its thread writes files as."""
    parts = urlsplit(url)
    libc = None if is_owner else ctypes.CDLL(None)
    if libc is not None:
        libc.setfsuid(STRANGER)
    try:
        connection = socket.socket()
    finally:
        if libc is not None:
            libc.setfsuid(0)
    with connection:
        connection.connect((parts.hostname or "", parts.port or 0))
        yield connection


def _read(answer: bytes) -> tuple[int, bytes] | None:
    """The status and the body of an answer, as the standard library reads it; None: it is none, or is cut."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(_WAIT_S)
        with suppress(OSError):
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            ours.sendall(answer)
        ours.shutdown(socket.SHUT_WR)
        read = http.client.HTTPResponse(theirs, method="POST")
        try:
            read.begin()
            return read.status, read.read()
        except (http.client.HTTPException, OSError, ValueError):
            return None


def _exchanged(url: str, sent: bytes, *, is_owner: bool) -> bytes:
    """Send, and read until the gateway ends the connection or says nothing more."""
    heard = b""
    with _connection(url, is_owner=is_owner) as connection, suppress(OSError):
        connection.settimeout(_WAIT_S)
        connection.sendall(sent)
        # an end of ours before the answer would take the proof away from an owner: a closed socket is no user's
        with suppress(TimeoutError):
            heard = connection.recv(1 << 16)
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(1 << 16):
            heard += piece
    return heard


@contextmanager
def _opened() -> Iterator[Take]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        home = Path(name) / "home"
        settings = Settings(home=str(home), budget_tokens=10**12, token_counter="characters/4")
        with Session.open("s", home=home, settings=settings) as session:
            session.pin("requirements", _PIN)
        made: list[_Gateway] = []
        with (
            RawUpstream(lambda request: made[0].steps(request)) as upstream,
            RawUpstream(lambda _: [Send(_ANSWER)]) as unheard,
            gateway(home, upstream.url, settings) as owners,
            gateway(home, unheard.url, settings) as strangers,
        ):
            made.append(_Gateway(home, (owners.url, upstream), (strangers.url, unheard)))
            yield made[0].take


def _request(path: str, headers: list[str], chunks: int) -> bytes:
    """A request of so many chunks, or with its length."""
    text = json.dumps(BODY).encode()
    framed = f"Content-Length: {len(text)}" if not chunks else "Transfer-Encoding: chunked"
    head = "\r\n".join([f"POST {path} HTTP/1.1", "Host: {host}", framed, *headers, "", ""]).encode()
    if not chunks:
        return head + text
    size = len(text) // chunks + 1
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])


_paths = st.sampled_from(
    [
        "/v1/messages",
        "/{token}/via/anthropic/v1/messages",
        "/via/openai/v1/responses",
        "/undrift/health",
        "/undrift/metrics",
    ]
)
_headers = st.lists(
    st.sampled_from(
        [
            "Content-Type: application/json",
            "Origin: https://evil.example",
            "Sec-Fetch-Site: cross-site",
            "X-Undrift-Token: {token}",
            "Authorization: Bearer x",
            "Expect: 100-continue",
            "Connection: close",
            "Upgrade: websocket",
            "Content-Encoding: gzip",
        ]
    ),
    max_size=3,
)
_asked = st.builds(_request, _paths, _headers, st.integers(0, 3))
_told = st.builds(
    lambda body, kind, status: response(body, kind=kind, status=status),
    st.sampled_from([b'{"id": "m"}', b"", b"data: {}\n\n" * 40, b'{"error": {"message": "prompt is too long"}}']),
    st.sampled_from(["application/json", "text/event-stream", "text/html"]),
    st.sampled_from([200, 200, 204, 304, 400, 429, 500]),
)
GATEWAY_SURFACE = Surface(
    "gateway",
    _opened,
    st.one_of(
        _asked.map(lambda r: b"owner\n" + r),
        _asked.map(lambda r: b"stranger\n" + r),
        _told.map(lambda r: b"answer\n" + r),
    ),
    (
        *(b"\r\n", b"\n", b"HTTP/1.0", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: evil\r\n"),
        *(b"0\r\n\r\n", b"fffffffffffffff\r\n", b"/../", b"%2e%2e", b"GET / HTTP/1.1\r\n\r\n", b"X: " + b"y" * 70_000),
    ),
)
"""Requests to the gateway, and answers to it, as bytes."""
