"""The plain pruner: it reduces entries to a budget. Pure; every other form must give the same result.

Pinned types and the last N tool results stay, with the calls that they answer. The newest of the rest stay as long as
they fit; at the first entry that does not, everything older leaves. An entry that could not fit even alone is passed
over, so that it does not empty the window. A call and its result stay or leave together.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from undrift.core.window.last_results import TerminalObservationWindow
from undrift.errors import WindowError
from undrift.values.window import PINNED_TYPES, ContextEntry

__all__ = ["Order", "PruneResult", "Unit", "leaving", "prune", "target_tokens", "unit_key"]

Order: TypeAlias = tuple[int, int, int]
"""(timestamp, seq, place in the list): insertion breaks ties of time."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Entries that are kept or removed together: one entry, or a call with its result."""

    order: Order
    tokens: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The pruner's decision. `pinned_tokens`: pinned and anchored entries, with the calls that belong to them."""

    kept: tuple[ContextEntry, ...]
    removed: tuple[ContextEntry, ...]
    anchored_ids: tuple[str, ...]
    oversize_ids: tuple[str, ...]
    pinned_tokens: int
    total_tokens: int
    token_budget: int

    @property
    def over_budget(self) -> bool:
        """True if the entries that must stay exceed the budget."""
        return self.pinned_tokens > self.token_budget


def unit_key(entry: ContextEntry) -> Hashable:
    """Return the key that all entries of a unit share: the pair id, else the entry's own id."""
    return ("pair", entry.pair_id) if entry.pair_id is not None else entry.id


def target_tokens(token_budget: int, pinned_tokens: int, ratio: float) -> int:
    """Return the low-water mark: ``pinned + ratio * (budget - pinned)``, in tokens.

    Pruning to the budget itself would prune again at almost every later entry, and each prune costs the provider's
    prompt cache. If the pinned entries exceed the budget, the mark is the budget.
    """
    if pinned_tokens >= token_budget:
        return token_budget
    return pinned_tokens + int(ratio * (token_budget - pinned_tokens))


def leaving(units: Iterable[Unit], room_tokens: int) -> tuple[list[Unit], list[Unit]]:
    """Select the units to remove so that the others fit into `room_tokens`.

    Returns:
        Units that leave, newest first, and those among them that could not have fitted alone.
    """
    removed: list[Unit] = []
    oversize: list[Unit] = []
    used, stopped = 0, room_tokens < 0
    for unit in sorted(units, key=lambda u: u.order, reverse=True):
        if 0 <= room_tokens < unit.tokens:
            oversize.append(unit)
            removed.append(unit)
        elif stopped or used + unit.tokens > room_tokens:
            stopped = True
            removed.append(unit)
        else:
            used += unit.tokens
    return removed, oversize


def prune(entries: Sequence[ContextEntry], token_budget: int, *, keep_tool_results: int) -> PruneResult:
    """Decide which entries stay within `token_budget`.

    Pinned types (`PINNED_TYPES`) and the newest `keep_tool_results` tool results stay even if they exceed the budget
    (`PruneResult.over_budget`); else the total is at or under it. Only the newest version of a ``slot`` is pinned.

    Args:
        entries: In order of insertion, ids unique; not changed.
        token_budget: At least 0.
        keep_tool_results: How many of the newest tool results are anchored, at least 0.

    Raises:
        WindowError: A duplicate id, an object that is no entry, or a negative budget.
    """
    if type(token_budget) is not int or token_budget < 0:
        raise WindowError(f"the token budget must be an integer of at least 0, not {token_budget!r}")
    place = _places(entries)
    anchored = TerminalObservationWindow.get_last(entries, keep_tool_results)
    protected = {unit_key(e) for e in anchored} | {unit_key(e) for e in _pinned(entries, place)}
    groups: dict[Hashable, list[ContextEntry]] = {}
    for entry in sorted(entries, key=lambda e: place[e.id]):
        groups.setdefault(unit_key(entry), []).append(entry)
    pinned_tokens = sum(e.token_count for key in protected for e in groups[key])
    units = [
        Unit(place[members[-1].id], sum(e.token_count for e in members), tuple(e.id for e in members))
        for key, members in groups.items()
        if key not in protected
    ]
    gone, oversize = leaving(units, token_budget - pinned_tokens)
    gone_ids = {id_ for unit in gone for id_ in unit.ids}
    ordered = sorted(entries, key=lambda e: place[e.id])
    kept = tuple(e for e in ordered if e.id not in gone_ids)
    return PruneResult(
        kept=kept,
        removed=tuple(e for e in ordered if e.id in gone_ids),
        anchored_ids=tuple(e.id for e in anchored),
        oversize_ids=tuple(id_ for unit in oversize for id_ in unit.ids),
        pinned_tokens=pinned_tokens,
        total_tokens=sum(e.token_count for e in kept),
        token_budget=token_budget,
    )


def _places(entries: Sequence[ContextEntry]) -> dict[str, Order]:
    place: dict[str, Order] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry, ContextEntry):
            raise WindowError(f"entry {number} must be a ContextEntry, not {type(entry).__name__}")
        if entry.id in place:
            raise WindowError(f"entry id {entry.id!r} occurs twice; pinning and recall use the id")
        place[entry.id] = (entry.timestamp, entry.seq, number)
    return place


def _pinned(entries: Sequence[ContextEntry], place: dict[str, Order]) -> list[ContextEntry]:
    """Return the entries of pinned types; of a slot with several versions, only the newest."""
    newest: dict[Hashable, ContextEntry] = {}
    for entry in entries:
        if entry.type in PINNED_TYPES:
            slot = (entry.metadata or {}).get("slot")
            key: Hashable = (entry.type, slot) if isinstance(slot, str) and slot else entry.id
            if key not in newest or place[newest[key].id] < place[entry.id]:
                newest[key] = entry
    return list(newest.values())
