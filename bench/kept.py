"""A client that keeps its connections from one request to the next, as real ones do.

A new connection for each request hides what an answer waits for on a kept one: its first packets are acknowledged at once,
the later ones after up to 40 ms.
"""

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["Answer", "Kept"]

_END = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came: status line and headers in lower case, and milliseconds to the first and the last byte of the body."""

    head: str
    first_ms: float
    last_ms: float


class Kept:
    """Connections to one server; each carries one request at a time and is used again after it.

    Args:
        url: Of the server.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 0
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, path: str, body: bytes) -> Answer:
        """Send a request and read the whole answer.

        Raises:
            OSError: It did not come whole, or its status is not 200.
        """
        reader, writer = await self._connection()
        try:
            began_s = time.perf_counter()
            head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json"
            writer.write(f"{head}\r\ncontent-length: {len(body)}\r\n\r\n".encode())
            writer.write(body)  # apart, as most clients send it
            told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            if " 200 " not in told[:20]:
                raise OSError(told[:20])
            first_s = await _read_body(reader, told)
            last_s = time.perf_counter()
        except BaseException as error:
            writer.close()
            if isinstance(error, asyncio.IncompleteReadError):
                raise OSError("the answer broke off") from error
            raise
        self._idle.append((reader, writer))
        return Answer(told, (first_s - began_s) * 1000, (last_s - began_s) * 1000)

    def close(self) -> None:
        """Close all that nobody is using."""
        while self._idle:
            self._idle.pop()[1].close()

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():  # the server has not let it go meanwhile
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self.host, self.port)


async def _read_body(reader: asyncio.StreamReader, head: str) -> float:
    """Read a body to its end; return when its first bytes came."""
    if "transfer-encoding: chunked" not in head:
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        await reader.readexactly(length)
        return time.perf_counter()
    first_s, tail = 0.0, b"\r\n"
    while not tail.endswith(_END):
        data = await reader.read(1 << 16)
        first_s = first_s or time.perf_counter()
        if not data:
            raise OSError("the stream broke off")
        tail = (tail + data)[-16:]
    return first_s
