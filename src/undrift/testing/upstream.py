"""An upstream that does to a connection what its script says: any bytes, at any time, and any end.

Law: loopback alone; what it was sent is kept, byte for byte, for the test that asks; it adds nothing to what its script says.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Self

from undrift.values.closing import Closing

__all__ = ["Close", "Hold", "RawRequest", "RawUpstream", "Reset", "Send", "Step", "Wait", "response"]

_LONGEST_HEAD_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Send:
    """Send these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing more, and keep the connection until the other side ends it."""


@dataclass(frozen=True, slots=True)
class Close:
    """End the connection, in order."""


@dataclass(frozen=True, slots=True)
class Reset:
    """End the connection by a reset."""


Step = Send | Wait | Hold | Close | Reset
"""One step of an answer."""


@dataclass(frozen=True, slots=True)
class RawRequest:
    """One request as it arrived.

    `headers`: in their order, by lower-case name. `number`: of this upstream's requests, from 1.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    number: int

    @property
    def header(self) -> Mapping[str, str]:
        """The headers by name; of a repeated one the last."""
        return dict(self.headers)


def response(
    body: bytes, *, status: int = 200, kind: str = "application/json", headers: Mapping[str, str] | None = None
) -> bytes:
    """Return a whole HTTP response with its length."""
    lines = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Scripted\r\n{head}\r\n".encode("latin-1") + body


@dataclass(slots=True)
class _Seen:
    requests: list[RawRequest] = field(default_factory=list)
    left_s: list[float] = field(default_factory=list)


class RawUpstream(Closing):
    """An upstream on one loopback port.

    `answer`: what to do with a request; after the last step the connection waits for the next one.
    """

    def __init__(self, answer: Callable[[RawRequest], Sequence[Step]]) -> None:
        self._answer = answer
        self._seen = _Seen()
        self._lock = threading.Condition()
        self._open: set[socket.socket] = set()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._is_closed = False

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    @property
    def requests(self) -> tuple[RawRequest, ...]:
        """All requests so far."""
        with self._lock:
            return tuple(self._seen.requests)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        with self._lock:
            return len(self._open)

    def wait_for_request(self, number: int = 1, timeout_s: float = 10.0) -> RawRequest:
        """Return a request once it is there. Raises TimeoutError: it did not come."""
        with self._lock:
            if not self._lock.wait_for(lambda: len(self._seen.requests) >= number, timeout_s):
                raise TimeoutError(f"request {number} did not come within {timeout_s} s")
            return self._seen.requests[number - 1]

    def wait_for_end(self, timeout_s: float = 10.0) -> float:
        """Return the time on the monotonic clock at which the other side ended a connection that the script held open.

        Raises TimeoutError: it did not.
        """
        with self._lock:
            if not self._lock.wait_for(lambda: bool(self._seen.left_s), timeout_s):
                raise TimeoutError(f"no connection was ended within {timeout_s} s")
            return self._seen.left_s[0]

    def close(self) -> None:
        """Stop; a second call does nothing."""
        with self._lock:
            self._is_closed = True
            held = list(self._open)
        self._server.close()
        for connection in held:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as reader:
                while (request := self._read(reader)) is not None:
                    for step in self._answer(request):
                        if not self._do(step, connection):
                            return
        except OSError:
            self._note_end()
        finally:
            with self._lock:
                self._open.discard(connection)

    def _read(self, reader: BufferedReader) -> RawRequest | None:
        read = reader.readline
        first = read(_LONGEST_HEAD_BYTES)
        if not first.strip():
            return None
        method, target, _ = first.decode("latin-1").split(" ", 2)
        headers: list[tuple[str, str]] = []
        while (line := read(_LONGEST_HEAD_BYTES)).strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers.append((name.strip().lower(), value.strip()))
        given = dict(headers)
        if "chunked" in given.get("transfer-encoding", ""):
            body = b""
            while size := int(read(64).strip() or b"0", 16):
                body += reader.read(size)
                read(64)
            read(64)
        else:
            body = reader.read(int(given.get("content-length", "0")))
        with self._lock:
            number = len(self._seen.requests) + 1
            request = RawRequest(method, target, tuple(headers), body, number)
            self._seen.requests.append(request)
            self._lock.notify_all()
        return request

    def _do(self, step: Step, connection: socket.socket) -> bool:
        """Take one step; return whether the connection continues."""
        match step:
            case Send(data):
                connection.sendall(data)
            case Wait(seconds):
                time.sleep(seconds)
            case Hold():
                while connection.recv(1 << 16):
                    pass
                self._note_end()
                return False
            case Reset():
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            case Close():
                return False
        return True

    def _note_end(self) -> None:
        with self._lock:
            self._seen.left_s.append(time.monotonic())
            self._lock.notify_all()
