"""A client's connection, as the requests on it see it: who left, and what is written together.

Why: on a kept connection a small request costs little more than its system calls and the rounds of the event loop. A task
that waits for the client to leave, and a head written apart from its body, cost a tenth each.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["ABSOLUTE", "CONNECTION", "Connection", "HeldTransport"]

ABSOLUTE = "undrift.absolute"
"""The key in a request's state that says whether its target names a host of its own."""

CONNECTION = "undrift.connection"
"""The key in a request's state for its connection."""


class HeldTransport:
    """A transport that can hold back what is written for a moment, and then send it as one piece."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._parts: list[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def hold(self) -> None:
        """Keep what is written, until `flush`."""
        if self._parts is None:
            self._parts = []

    def flush(self) -> None:
        """Send what was kept, and from now on everything at once."""
        parts, self._parts = self._parts, None
        if parts:
            self._transport.write(b"".join(parts))

    def write(self, data: bytes) -> None:
        """Send data, or keep it."""
        if self._parts is None:
            self._transport.write(data)
        else:
            self._parts.append(data)

    def close(self) -> None:
        """Send what was kept, and close the connection."""
        self.flush()
        self._transport.close()


class Connection:
    """One connection. `resume`: reads on, so that the client's end is seen while a request is carried out."""

    def __init__(self, transport: HeldTransport, resume: Callable[[], None]) -> None:
        self._transport = transport
        self._resume = resume
        self._call: Callable[[], None] | None = None
        self._is_gone = False

    def hold(self) -> None:
        """See `HeldTransport.hold`."""
        self._transport.hold()

    def flush(self) -> None:
        """See `HeldTransport.flush`."""
        self._transport.flush()

    def tell(self, call: Callable[[], None]) -> None:
        """Call when the client leaves; at once if it has left. The body of the request must be complete."""
        self._call = call
        if self._is_gone:
            call()
        else:
            self._resume()

    def forget(self) -> None:
        """Call nothing any more: the request is over."""
        self._call = None

    def lost(self) -> None:
        """Note that the client has left."""
        self._is_gone = True
        if self._call is not None:
            self._call()
