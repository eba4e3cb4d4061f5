"""Find the open session that a request continues, from the bytes of its history alone. No I/O.

Law: a shortcut with the same answer as `undrift.session.identity`, and no answer if it is not sure. A session is known again when
the whole history of one of its later requests stands at the beginning of this one.

Why: to look a history of 1 MB up in the store means a hash of every message of it, at every request.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from undrift.errors import WireError
from undrift.window.request import Request
from undrift.wire import raw
from undrift.wire.beginning import Beginning
from undrift.wire.form import Form

__all__ = ["Recent", "SeenHistory", "beginning_of", "history_of", "longest"]

_KEPT = 4  # histories of a session: the main one, sub-agents, title requests
_REWRITTEN = 4  # messages at the end that a client rewrites without another meaning, as it moves its cache marker
_LOOKED_AT = 8


@dataclass(frozen=True, slots=True)
class SeenHistory:
    """One history of a client: its wire form, each message as bytes, and the key of its beginning.

    `grown`: the bytes by which the next request of it is known.
    """

    wire: str
    raws: Sequence[bytes]
    beginning: bytes
    grown: Beginning | None = None


class _Grown(Sequence[bytes]):
    """The messages of a request whose beginning was known; those of the beginning are not copied."""

    def __init__(self, grown: Beginning, request: Request) -> None:
        self._grown = grown
        self._tail = [request.bytes_of(number) for number in range(grown.count, request.count)]

    def __len__(self) -> int:
        return self._grown.count + len(self._tail)

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[bytes]: ...

    def __getitem__(self, place: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        count = self._grown.count
        return self._grown.item(number) if number < count else self._tail[number - count]


class Recent:
    """The most recent histories of a session. One thread adds histories; other threads may read at the same time."""

    def __init__(self) -> None:
        self._kept: list[SeenHistory] = []

    def add(self, history: SeenHistory) -> None:
        """Add the newest request; it replaces an older state of the same conversation."""
        others = [one for one in self._kept if not _begins(one, history)]
        self._kept = [*others[1 - _KEPT :], history]

    @property
    def histories(self) -> Sequence[SeenHistory]:
        """All kept histories, the newest last."""
        return self._kept

    @property
    def beginnings(self) -> frozenset[bytes]:
        """The keys of the beginnings of all kept histories."""
        return frozenset(one.beginning for one in self._kept)

    def length(self, form: Form, request: Request) -> int:
        """Return how many messages of a request match the longest history that it continues; 0 if none does."""
        return max((len(one.raws) for one in self._kept if _continues(one, form, request)), default=0)


def history_of(form: Form, request: Request, seen: Iterable[SeenHistory] = ()) -> SeenHistory | None:
    """Return a request's history if the model has answered in it; else it could belong to any session.

    `seen`: see `beginning_of`. Raises WireError: a message has the wrong shape.
    """
    for number in range(request.count - 1, max(-1, request.count - 1 - _LOOKED_AT), -1):
        if form.read(request.load(number), f"{form.HISTORY}[{number}]").role == "assistant":
            grown = request.grown() if request.known else None
            raws = request.raws if grown is None else _Grown(grown, request)
            return SeenHistory(form.NAME, raws, beginning_of(form, request, seen), request.grown())
    return None


def beginning_of(form: Form, request: Request, seen: Iterable[SeenHistory] = ()) -> bytes:
    """Return the same key for all requests of a conversation: a hash up to the model's first answer.

    Clients begin all their conversations with the same message, so the first one alone would not tell them apart.
    `seen`: histories with keys; one with the same first bytes saves the work. Raises WireError: a message has the wrong
    shape.
    """
    if request.known >= _LOOKED_AT:
        for one in seen:
            if one.grown is request.beginning:
                return one.beginning
    key = hashlib.sha256(form.NAME.encode("ascii") + b"\0" + request.bytes_of(0))
    for number in range(min(_LOOKED_AT, request.count)):
        given = request.load(number)
        role = form.read(given, f"{form.HISTORY}[{number}]").role
        if isinstance(given, Mapping):
            key.update(form.digest(given))
        if role == "assistant":
            break
    return key.digest()


def longest(found: Iterable[tuple[str, int]]) -> str | None:
    """Return the session with the greatest length above 0. None means: there is none, or a tie."""
    ranked = sorted(found, key=lambda one: one[1], reverse=True)
    if not ranked or ranked[0][1] == 0 or (len(ranked) > 1 and ranked[1][1] == ranked[0][1]):
        return None
    return ranked[0][0]


def _begins(old: SeenHistory, new: SeenHistory) -> bool:
    return old.wire == new.wire and old.raws[0] == new.raws[0] and len(old.raws) <= len(new.raws)


def _continues(old: SeenHistory, form: Form, request: Request) -> bool:
    count = len(old.raws)
    if old.wire != form.NAME or count > request.count:
        return False
    same, known = count, request.known if old.grown is not None and old.grown is request.beginning else 0
    if not known and old.raws[0] != request.bytes_of(0):
        return False
    for number in range(known, count):
        if old.raws[number] != request.bytes_of(number):
            same = number
            break
    if count - same > _REWRITTEN:
        return False
    return all(_means_the_same(form, old.raws[number], request, number) for number in range(same, count))


def _means_the_same(form: Form, known: bytes, request: Request, number: int) -> bool:
    try:
        return form.digest(raw.decode(known)) == form.digest(request.load(number))
    except WireError:
        return False
