"""The ledgers of one session, one for each model: what is on disk, and what came since. No I/O.

Law: a ledger is no state of the conversation: what was paid stays paid, so a rewind or its undo leaves every total as it
is. The newest stored totals count, also those of another process; what came here since is added to them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from undrift.core.ledger import Ledger, ledger_from
from undrift.stores.base import Operation
from undrift.stores.contract import OperationStore

__all__ = ["KIND", "KINDS", "LEFT_PLACES", "Ledgers", "newest", "stored_ledgers"]

KIND = "ledger"
"""The kind of an operation that stores the totals alone: they fell, or the session ends."""

KINDS = ("asked", KIND, "prune", "evict", "fold", "place")
"""The kinds of the operations that have totals in their payload."""

LEFT_PLACES = "left"
"""The field of a prune's payload with the places whose readings left by it."""

_FIELD = "ledger"
_SLIP_TOKENS = 1.0  # sums of fractions differ by less


def stored_ledgers(store: OperationStore, session_id: str) -> dict[str, Ledger]:
    """Return the newest stored totals of a session by model, in plain input tokens.

    Raises StoreError: the store cannot be read.
    """
    return newest(store.operations(session_id, KINDS))


def newest(operations: Sequence[Operation]) -> dict[str, Ledger]:
    """Return the newest totals of each model. `operations`: oldest first."""
    found: dict[str, Ledger] = {}
    for operation in reversed(operations):
        given = (operation.payload or {}).get(_FIELD)
        for model, totals in given.items() if isinstance(given, Mapping) else ():
            found.setdefault(model, ledger_from(totals))
    return found


class Ledgers:
    """The totals of one session by model. `operations`: the stored ones, oldest first."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._stored: dict[str, Ledger] = {}
        self._since: dict[str, Ledger] = {}
        self.expected: tuple[str, float] = ("", 0.0)
        """The model of the turn, and the highest price of a prune now."""
        self.renew(operations)

    def renew(self, operations: Sequence[Operation]) -> None:
        """Take over the totals that other processes have stored; what came here since counts on top."""
        found, known = newest(operations), self._stored
        same = {m: known[m] for m in found.keys() & known if found[m] == ledger_from(known[m].payload)}
        self._stored = {**found, **same}  # our own are exact, stored ones are rounded
        self.left = {place for operation in operations for place in _left(operation)}
        """The places whose readings have left; see `core.window.fetched`."""

    def of(self, model: str) -> Ledger:
        """Return the totals of a model."""
        return self._stored.get(model, Ledger()).plus(self._since.get(model, Ledger()))

    def put(self, model: str, ledger: Ledger) -> None:
        """Replace the totals of a model; they are on disk with the next write."""
        self._since[model] = ledger.plus(self._stored.get(model, Ledger()), -1)

    @property
    def has_news(self) -> bool:
        """True if totals have changed since the last write."""
        return any(since != Ledger() for since in self._since.values())

    @property
    def is_too_high(self) -> bool:
        """True if a stored balance allows more to be spent than the balance of now."""
        return any(
            self._stored.get(model, Ledger()).spendable_tokens > self.of(model).spendable_tokens + _SLIP_TOKENS
            for model in self._since
        )

    def promise(self, times: int = 1) -> None:
        """Deduct the expected price of a prune until its answer shows the real one; `times`: -1 takes it back."""
        model, price = self.expected
        if model and price:
            ledger = self.of(model)
            self.put(model, replace(ledger, promised_tokens=ledger.promised_tokens + times * price))

    def payload(self) -> dict[str, Any]:
        """Return what is to be stored with the next operation; empty without news."""
        changed = {model: self.of(model).payload for model, since in self._since.items() if since != Ledger()}
        return {_FIELD: changed} if changed else {}

    def written(self, payload: Mapping[str, Any]) -> None:
        """Note that totals and places are stored. `payload`: of the operation."""
        self._stored |= {model: self.of(model) for model in self._since}
        self._since.clear()
        self.left.update(payload.get(LEFT_PLACES, ()))


def _left(operation: Operation) -> Iterator[str]:
    given = (operation.payload or {}).get(LEFT_PLACES)
    yield from (place for place in given if isinstance(place, str)) if isinstance(given, list) else ()
