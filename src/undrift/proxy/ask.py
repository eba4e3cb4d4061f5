"""A request to the gateway's sessions to manage one prompt, and the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from undrift.errors import UndriftError
from undrift.proxy.naming import Kind
from undrift.values.project import Place

__all__ = ["Ask", "Bypass", "ManagedBody", "MustWait"]


class Bypass(UndriftError):
    """The client's body must be sent unchanged: `reason` is one word, `is_fault` tells whether undrift failed."""

    def __init__(self, reason: str, detail: str = "", *, is_fault: bool = True) -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.is_fault = is_fault


class MustWait(UndriftError):
    """The request has much to be read that is new to the gateway: it must wait for its turn."""


@dataclass(slots=True)
class Ask:
    """One request to manage.

    Args:
        deadline_s: On the monotonic clock; after it the caller no longer waits.
        needs: A field that the body must have.
        own_name: What the client calls its session; empty if it does not say.
        parent: What it calls the session that asked for this one, if a sub-agent asks.
        project: The place of the project that it belongs to, once that is known.
        has_turn: Whether it may take long now; see `MustWait`.
        found: The request and its session, from the call that raised `MustWait`.
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
    own_name: str = ""
    parent: str = ""
    session_id: str = ""
    project: Place | None = None
    has_turn: bool = False
    found: Any = None


@dataclass(frozen=True, slots=True)
class ManagedBody:
    """The body that the gateway sends instead of the client's, and its token counts.

    `lane`: the key of the open session. `body`: the very object that came if nothing was edited. `tokens_after`: see `Prepared`; with what was put back.
    `bypass`: why the original is sent although the session was asked; empty if it was managed.
    """

    session_id: str
    lane: str
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
