"""A request to the gateway's sessions to manage one prompt, and the result."""

from collections.abc import Mapping
from dataclasses import dataclass

from undrift.errors import UndriftError
from undrift.proxy.naming import Kind

__all__ = ["Ask", "Bypass", "ManagedBody"]


class Bypass(UndriftError):
    """The client's body must be sent unchanged: `reason` is one word, `is_fault` tells whether undrift failed."""

    def __init__(self, reason: str, detail: str = "", *, is_fault: bool = True) -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.is_fault = is_fault


@dataclass(slots=True)
class Ask:
    """One request to manage.

    `deadline_s`: on the monotonic clock; after it the caller no longer waits. `needs`: a field that the body must have.
    """

    wire: str
    body: bytes
    model: str | None
    session: str
    task: str
    deadline_s: float
    agent: str = ""
    is_sub: bool = False
    needs: str = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class ManagedBody:
    """The body that the gateway sends instead of the client's, and its token counts.

    `body`: the very object that came if nothing was edited. `tokens_after`: see `Prepared`; with what was put back.
    `bypass`: why the original is sent although the session was asked; empty if it was managed.
    """

    session_id: str
    body: bytes
    headers: Mapping[str, str]
    tokens_before: int
    tokens_after: int
    actions: int
    restored: int
    turn: int
    place: str
    kind: Kind
    bypass: str = ""
