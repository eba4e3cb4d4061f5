"""Reads the parts of a request next to its history; unchanged parts are read once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from undrift.window.request import Request
from undrift.wire import cache_life
from undrift.wire.form import Form
from undrift.wire.offered import Offered, offered_tools

__all__ = ["Beside", "BesideReader"]


@dataclass(frozen=True, slots=True)
class Beside:
    """The parts of a request next to its history: their tokens, the tools, and the requested lifetime of the cache."""

    tokens: int
    has_tools: bool
    offered: Offered
    cache_seconds: int | None


class BesideReader:
    """Keeps the parts that were read last."""

    def __init__(self) -> None:
        self._last: tuple[Any, Beside] = (None, Beside(0, False, Offered({}), None))

    def read(self, form: Form, request: Request, count: Callable[[str], int]) -> Beside:
        """Return the parts next to the history."""
        given = request.fields
        said = cache_life.seconds_asked(given)
        key = (form.NAME, count, said, request.beside_key())
        if key != self._last[0]:
            tokens = sum(map(count, form.beside_texts(given)))
            seconds = max(filter(None, (cache_life.seconds_beside(given), said)), default=None)
            self._last = (key, Beside(tokens, bool(given.get("tools")), offered_tools(given), seconds))
        return self._last[1]
