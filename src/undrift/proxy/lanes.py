"""One open session of a gateway: what it holds, and what is told of it. Its lock says who may use it.

Source: issue "Gateway".
"""

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, field

from undrift.proxy.naming import Kind, Name
from undrift.proxy.recent import Recent
from undrift.session.identity import Recognised
from undrift.session.session import Session

__all__ = ["Bodies", "Lane", "Told"]

_CONVERSATIONS = 8  # that a session keeps in memory, see `undrift.session.prepare`


class Bodies:
    """The bytes of the histories that one open session holds: of each beginning its newest body."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[int, int] = OrderedDict()
        self.total = 0

    def add(self, beginning: bytes, size: int) -> int:
        """Take in a request; return by how many bytes the session has grown.

        Args:
            beginning: The first message.
            size: Bytes of the body.
        """
        before, key = self.total, hash(beginning)
        self._sizes[key] = size
        self._sizes.move_to_end(key)
        while len(self._sizes) > _CONVERSATIONS:
            self._sizes.popitem(last=False)
        self.total = sum(self._sizes.values())
        return self.total - before


@dataclass(slots=True)
class Told:
    """What is told of an open session."""

    name: Name = field(default_factory=Name)
    named_by: Kind | None = None
    is_stored: bool = False
    requests: Counter[Kind] = field(default_factory=Counter)
    tokens_before: int = 0
    tokens_after: int = 0
    last_s: float = 0.0


@dataclass(slots=True)
class Lane:
    """One open session, its lock, and what it was asked last."""

    found: Recognised
    session: Session | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    recent: Recent = field(default_factory=Recent)
    told: Told = field(default_factory=Told)
    bodies: Bodies = field(default_factory=Bodies)
    turn: int = 0
    is_closed: bool = False

    def shut(self) -> None:
        """Let go of what it holds; whoever waits for its lock takes another."""
        self.is_closed = True
        self.session = None
