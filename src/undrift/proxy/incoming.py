"""The body of a request while it arrives: the memory for all bodies is limited, and so is each wait.

Law: what is not there in time, or has no room, is refused before anything is asked of a provider. Used on the event loop alone.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from undrift.proxy.answers import Receive, Send, respond

__all__ = ["BodyRoom", "ClientGone", "Incoming", "NoRoom", "TooLate", "refuse_unread"]

_LINGER_S = 2.0  # for so long a client that is refused may continue to send, so that it reads why


class ClientGone(ConnectionResetError):
    """The client disconnected before its body was complete."""


class TooLate(Exception):
    """The client sent nothing for too long."""


class NoRoom(Exception):
    """Too many bodies arrive at the same time."""


class BodyRoom:
    """The memory for all bodies that are still arriving. `most_bytes`: its size."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self.taken = 0
        """Bytes that are kept right now."""

    def take(self, count: int) -> bool:
        """Reserve room for `count` more bytes; return False if there is not enough."""
        if self.taken + count > self._most:
            return False
        self.taken += count
        return True

    def give_back(self, count: int) -> None:
        """Free the reserved bytes."""
        self.taken -= count


class Incoming:
    """One arriving body; call `close` at the end.

    Args:
        most_bytes: What is longer is not waited for: the rest is passed on as it comes.
        deadline_s: How long the body, or what is kept of it, may take; and after that each piece.
    """

    def __init__(
        self,
        receive: Receive,
        room: BodyRoom,
        most_bytes: int,
        deadline_s: float,
    ) -> None:
        self._receive = receive
        self._room = room
        self._most = most_bytes
        self._deadline_s = deadline_s
        self._taken = 0
        self.count = 0
        """Bytes that have come in."""
        self.is_gone = False
        """True if the client has left."""
        self.is_late = False
        """True if the wait for its rest has ended."""

    async def first(self) -> tuple[bytes, bool]:
        """Return the body, or its first bytes, and whether there are more.

        Raises:
            ClientGone: It will not be whole.
            NoRoom: Too many others come in.
            TooLate: It was not there in time.
        """
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._deadline_s):
                while True:
                    piece, has_more = await self._piece()
                    if has_more and not self._room.take(len(piece)):
                        raise NoRoom
                    self._taken += len(piece) if has_more else 0
                    parts.append(piece)
                    if not has_more or self.count > self._most:
                        break
        except (TimeoutError, NoRoom, ClientGone) as error:
            parts.clear()  # the error holds on to them for as long as it is dealt with
            if isinstance(error, TimeoutError):
                raise TooLate from None
            raise
        if not has_more:
            self.close()
        return parts[0] if len(parts) == 1 else b"".join(parts), has_more

    async def rest(self, first: bytes, all_in: Callable[[], None]) -> AsyncIterator[bytes]:
        """Yield the rest of a long body as it arrives, and then call `all_in`. Raises ConnectionError: the client disconnected or stalled."""
        yield first
        has_more = True
        while has_more:
            try:
                async with asyncio.timeout(self._deadline_s):
                    piece, has_more = await self._piece()
            except TimeoutError as error:
                self.is_late = True
                raise ConnectionAbortedError from error
            yield piece
        all_in()

    def close(self) -> None:
        """Free this body's memory."""
        self._room.give_back(self._taken)
        self._taken = 0

    async def _piece(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.is_gone = True
            raise ClientGone
        piece = message.get("body", b"")
        self.count += len(piece)
        return piece, message.get("more_body", False)


async def refuse_unread(
    receive: Receive, send: Send, status: int, body: bytes, more: list[tuple[bytes, bytes]]
) -> None:
    """Refuse a request whose body was not read to its end, so that its client reads why. `more`: headers.

    The rest of the body is read and dropped for a moment: an early close would lose the answer.
    """
    await respond(send, status, body, more=more, is_all=False)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            while (await receive()).get("more_body"):
                pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
