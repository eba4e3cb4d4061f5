"""The head of a request while it arrives: its size and its time are limited, and so is the number of connections without one.

Law: before its head is whole a client has proved nothing, so that each connection costs a fixed amount of memory and time.
Chunks of a body that bring nothing but framing count alike. Used on the event loop alone.
"""

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from undrift.proxy.connection import ABSOLUTE, CONNECTION, Connection, HeldTransport
from undrift.proxy.peer import PEER, LocalPeer

__all__ = ["Waiting", "protocol_of"]

_MOST_BYTES = 64 << 10
_MOST_HEADERS = 100
_FRAMING_BYTES = 4  # the colon, the space and the end of a line
_MOMENT_S = 0.1  # each has so long: many clients may connect at once, and all are accepted before the first is read
_LINGER_S = 1.0  # for so long a client that is refused may continue to send, and so much, so that it reads why
_LINGER_BYTES = 1 << 20


class Waiting:
    """The connections whose next request has no whole head yet, the oldest first.

    Args:
        most: Beyond so many the oldest are closed: an honest client's head is there at once.
        deadline_s: How long a head may take.
    """

    def __init__(self, most: int, deadline_s: float) -> None:
        self._most = most
        self.deadline_s = deadline_s
        self._held: dict[Any, float] = {}  # since when, by the loop's clock
        self._closing: asyncio.TimerHandle | None = None

    def add(self, one: Any) -> None:
        """Note a connection; close the oldest if there are still too many when it has had its moment."""
        self._held[one] = asyncio.get_running_loop().time()
        self._close_soon()

    def discard(self, one: Any) -> None:
        """Forget a connection: its head is whole, or it is closed."""
        self._held.pop(one, None)

    def _close_soon(self) -> None:
        if len(self._held) > self._most and self._closing is None:
            oldest_s = next(iter(self._held.values()))
            self._closing = asyncio.get_running_loop().call_at(oldest_s + _MOMENT_S, self._close_oldest)

    def _close_oldest(self) -> None:
        self._closing = None
        too_many, until_s = len(self._held) - self._most, asyncio.get_running_loop().time() - _MOMENT_S
        for one in [one for one, since_s in list(self._held.items())[: max(0, too_many)] if since_s <= until_s]:
            one.close()
        self._close_soon()


def protocol_of(waiting: Waiting) -> type[asyncio.Protocol]:
    """Return the server's protocol with these limits; its requests know the other end of their connection."""

    class Protocol(_Protocol):
        _waiting = waiting

    return Protocol


class _Protocol(HttpToolsProtocol):
    _waiting: Waiting

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._timer: asyncio.TimerHandle | None = None  # runs while a head is waited for
        self._idle_bytes = 0  # since anything was whole
        self._has_begun = self._in_body = self._is_further = self._is_large = self._is_refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        held: Any = HeldTransport(transport)
        self._connection = Connection(held, lambda: self.flow.resume_reading())
        self.app_state = {**self.app_state, PEER: LocalPeer(transport), CONNECTION: self._connection}
        super().connection_made(held)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)
        self._connection.lost()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            self._idle_bytes += len(data)
            if self._idle_bytes > _LINGER_BYTES:
                self.close()
            return
        was_between, self._is_further = not self._in_body, False
        super().data_received(data)
        self._idle_bytes = 0 if self._is_further else self._idle_bytes + len(data)
        if self._is_refused:
            return
        if self._idle_bytes > _MOST_BYTES:
            self._turn_away(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._timer is None and (self._has_begun or (was_between and not self._is_further)):
            self._wait()

    def on_message_begin(self) -> None:
        self._has_begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._measure()
        self._has_begun, self._in_body, self._is_further = False, True, True
        self._wait_no_more()
        self.scope["state"][ABSOLUTE] = not self.url.startswith(b"/")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._is_further = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._measure()  # there may be headers behind a body
        self._in_body, self._is_further = False, True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - of the server
        """Refuse what the parser does not take, or what was too large for us."""
        self._turn_away(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if self._is_large else HTTPStatus.BAD_REQUEST)

    def close(self) -> None:
        """Close the connection, because too many wait."""
        self._wait_no_more()
        self.transport.close()

    def _measure(self) -> None:
        """Raise ValueError, which the parser passes on, if there are too many headers, or they are too large."""
        size = len(self.url) + sum(len(name) + len(value) + _FRAMING_BYTES for name, value in self.headers)
        if size > _MOST_BYTES or len(self.headers) > _MOST_HEADERS:
            self._is_large = True
            raise ValueError

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self._waiting.deadline_s, self._late)
        self._waiting.add(self)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiting.discard(self)

    def _late(self) -> None:
        self._wait_no_more()
        if self._is_refused or self.cycle is None or self.cycle.response_complete:
            self._turn_away(HTTPStatus.REQUEST_TIMEOUT)
        else:  # an earlier request of the connection is still answered
            self._wait()

    def _turn_away(self, status: HTTPStatus) -> None:
        """Say why, if the client has said anything and no answer to it has begun; then close."""
        if self.transport.is_closing():
            return
        is_open = self.cycle is not None and not self.cycle.response_complete
        is_silent = status == HTTPStatus.REQUEST_TIMEOUT and not (self._has_begun or self._idle_bytes)
        if self._is_refused or is_silent or (is_open and self.cycle.response_started):
            self.close()
            return
        self._is_refused = True
        line = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        self.transport.write(line.encode("ascii"))
        if is_open:  # what has come of its request may not be carried out
            self.close()
        else:
            self.transport.write_eof()
            self._waiting.add(self)
            self.loop.call_later(min(_LINGER_S, self._waiting.deadline_s), self.close)
