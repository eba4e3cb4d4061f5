"""The times of a session's requests to each model, and what was learned of the model's cache. No I/O.

Law: times are on disk, so that a restart knows them. They are coarse, so that few are written; the exact time comes to
disk when the session is closed. A time that is not certain counts as the latest possible one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from undrift.core.guard import ClientRewrites
from undrift.core.window.learned_cache import LearnedCache, learned_from
from undrift.stores.base import Operation
from undrift.stores.contract import OperationStore

__all__ = ["ASKED_EVERY_MS", "AskedTimes", "KIND", "client_rewrites", "payload_of"]

KIND = "asked"
"""The kind of the operations that store a time."""

ASKED_EVERY_MS = 60_000
"""The precision of the stored time of the last request."""

_MOST_MODELS = 16
"""Models of one session whose times are kept: a body may name any."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored time; `is_last`: no request came after it before the session was closed."""

    at_ms: int
    learned: LearnedCache
    is_last: bool = False


class AskedTimes:
    """The newest request to each model of a session. `operations`: oldest first; those of another kind do not count."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._exact: dict[str, int] = {}  # of this process
        self._own: dict[str, int] = {}  # the stored times that this process has written
        self.renew(operations)

    def renew(self, operations: Iterable[Operation]) -> None:
        """Take over what is on disk; a stored time without a model, as earlier versions wrote it, counts for each."""
        self._stored: dict[str, _Stored] = {}
        for operation in operations:
            if operation.kind != KIND:
                continue
            given = operation.payload or {}
            model = given.get("model")
            found = _Stored(operation.at_ms, learned_from(given), given.get("is_last") is True)
            self._stored[model if isinstance(model, str) else ""] = found

    @property
    def is_kept(self) -> bool:
        """True if times of the session are stored."""
        return bool(self._stored)

    @property
    def unfinished(self) -> list[str]:
        """The models whose last request is stored only to a minute."""
        return [
            m
            for m, at_ms in self._exact.items()
            if (one := self._stored.get(m)) and (not one.is_last or one.at_ms != at_ms)
        ]

    def exact_ms(self, model: str) -> int:
        """Return the time of this process's last request to a model that is `unfinished`."""
        return self._exact[model]

    def stored_ms(self, model: str) -> int | None:
        """Return the stored time of the last request to a model; None if none is stored."""
        found = self._of(model)
        return None if found is None else found.at_ms

    def is_stored(self, model: str) -> bool:
        """Return whether times of requests to a model are stored: a window was large."""
        return self._of(model) is not None

    def learned(self, model: str) -> LearnedCache:
        """Return what was learned of a model's cache."""
        found = self._of(model)
        return LearnedCache() if found is None else found.learned

    def idle_ms(self, model: str, now_ms: int) -> int | None:
        """Return the least milliseconds since the last request to a model. None means: unknown."""
        stored, exact = self._of(model), self._exact.get(model)
        if stored is None:
            return None
        latest = stored.at_ms if stored.is_last else stored.at_ms + ASKED_EVERY_MS
        if exact is not None and self._own.get(model) == stored.at_ms:
            latest = exact
        return max(0, now_ms - max(latest, exact or 0))

    def asked(self, model: str, at_ms: int) -> None:
        """Note the exact time of a request of this process."""
        if model in self._exact or len(self._exact) < _MOST_MODELS:
            self._exact[model] = at_ms

    def is_due(self, model: str, at_ms: int, *, is_large: bool) -> bool:
        """Return whether the time of a request is to be stored; a model's times are stored from its first large window on."""
        stored = self._of(model)
        if stored is None:
            return is_large and len(self._stored) < _MOST_MODELS
        return at_ms - stored.at_ms >= ASKED_EVERY_MS

    def written(self, model: str, at_ms: int, learned: LearnedCache, *, is_last: bool) -> None:
        """Note that this is stored."""
        self._stored[model] = _Stored(at_ms, learned, is_last)
        self._own[model] = at_ms

    def _of(self, model: str) -> _Stored | None:
        return self._stored.get(model) or self._stored.get("")


def payload_of(model: str, learned: LearnedCache, *, is_last: bool) -> dict[str, Any] | None:
    """Return the payload of an operation that stores a time."""
    found = {**({"model": model} if model else {}), **learned.payload, **({"is_last": True} if is_last else {})}
    return found or None


def client_rewrites(store: OperationStore, session_id: str) -> ClientRewrites | None:
    """Return the prompts that the client of a session made the provider write again; None without any.

    Raises StoreError: the store cannot be read.
    """
    newest = {
        (one.payload or {}).get("model", ""): learned_from(one.payload or {})
        for one in store.operations(session_id, (KIND,))
    }
    found = [one for one in newest.values() if one.rewritten]
    if not found:
        return None
    most = max(found, key=lambda one: one.rewritten)
    return ClientRewrites(sum(one.rewritten for one in found), most.rewritten_part, most.rewritten_byte)
