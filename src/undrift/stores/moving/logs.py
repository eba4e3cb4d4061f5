"""Two logs of one session, one of each home: their common part, the losses by a purge, and whether they part. Pure.

Law: no operation is lost. A record that a purge took from one of the logs leaves the other, with all that came later about it: a purge
wins over what was written without knowing of it. Two logs that were both continued part: none is put behind the other.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from undrift.stores import rows
from undrift.stores.decisions import decision_from, decision_row
from undrift.stores.moving.file_rows import original_event
from undrift.stores.moving.proof import MOVES, session_digests
from undrift.stores.moving.values import MovedOperation
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.events import ORIGINALS, Kind, LoggedEvent, as_row, event_of
from undrift.stores.postgres.session_state import QUIET
from undrift.values.window import Decision

__all__ = ["Blank", "Joined", "joined"]

Blank = Callable[[Decision], Decision]
_Name = tuple[int, tuple[bytes, ...]]


class Joined(NamedTuple):
    """The two logs as they are to be; None: as they are.

    Args:
        own: The machine's log, with the numbers that it has.
        other: The server's, with its own.
        common: The number of operations that both share, purges and sweeps apart.
        parts: True: both homes have later ones.
    """

    own: list[MovedOperation] | None
    other: list[MovedOperation] | None
    common: int
    parts: bool


def joined(own: Sequence[MovedOperation], other: Sequence[MovedOperation], blank: Blank, *, has_purges: bool) -> Joined:
    """Compare two logs of one session.

    Args:
        blank: Returns a decision without its purged original.
        has_purges: One of the homes was purged: operations at the same time may differ in what a purge took.
    """
    mine, theirs = _placed(own), _placed(other)
    common, losses = 0, _Losses(set(), set())
    merged: dict[int, tuple[MovedOperation, MovedOperation]] = {}
    for (digest, one), (digest_there, there) in zip(mine, theirs, strict=False):
        if digest != digest_there:
            if not has_purges or _head(one) != _head(there):
                break
            merged[common] = _merged(one, there, losses)
        common += 1
    rest_own = [one for _, one in mine[common:]]
    rest_other = [one for _, one in theirs[common:]]
    whole_own, whole_other = _whole(own, other), _whole(other, own)
    new_own = [*_with(mine, merged, common, 0), *(_without(one, losses, blank, is_all=whole_own) for one in rest_own)]
    new_other = [
        *_with(theirs, merged, common, 1),
        *(_without(one, losses, blank, is_all=whole_other) for one in rest_other),
    ]
    return Joined(_if_changed(own, new_own), _if_changed(other, new_other), common, bool(rest_own) and bool(rest_other))


class _Losses(NamedTuple):
    """The losses by a purge: names of records, and references of originals."""

    names: set[_Name]
    refs: set[bytes]


def _placed(log: Sequence[MovedOperation]) -> list[tuple[bytes, MovedOperation]]:
    return [(digest, one) for digest, one in session_digests(log) if digest]


def _head(one: MovedOperation) -> tuple[str, int]:
    return one.logged.operation.kind, one.logged.operation.at_ms


def _with(
    placed: Sequence[tuple[bytes, MovedOperation]],
    merged: Mapping[int, tuple[MovedOperation, MovedOperation]],
    common: int,
    side: int,
) -> list[MovedOperation]:
    return [merged[place][side] if place in merged else one for place, (_, one) in enumerate(placed[:common])]


def _merged(one: MovedOperation, other: MovedOperation, losses: _Losses) -> tuple[MovedOperation, MovedOperation]:
    """Return an operation with what both homes still hold of it, with the numbers of either; note what is gone."""
    there: dict[_Name, list[LoggedEvent]] = {}
    for event in other.logged.events:
        there.setdefault((event.kind, event.key), []).append(event)
    both = {text.ref for text in other.packed}
    texts = {rows.raw(text.ref): text for text in one.packed if text.ref in both}
    events: list[LoggedEvent] = []
    packed: list[PackedOriginal] = []
    for event in one.logged.events:
        same = there.get((event.kind, event.key))
        if not same:
            continue
        chosen = _less(event, same.pop(0))
        if event.kind == Kind.ORIGINAL:
            if event.key[0] not in texts:
                continue
            chosen = original_event(len(packed), texts[event.key[0]])
            packed.append(texts[event.key[0]])
        events.append(chosen)
    kept = {(event.kind, event.key) for event in events}
    for event in (*one.logged.events, *other.logged.events):
        if (event.kind, event.key) not in kept:
            losses.names.add((event.kind, event.key))
            if event.kind in ORIGINALS:
                losses.refs.add(event.key[-1])
    made = []
    for own, foreign in ((one, other), (other, one)):
        payload = _lesser(own.logged.operation.payload, foreign.logged.operation.payload)
        logged = own.logged._replace(operation=replace(own.logged.operation, payload=payload), events=tuple(events))
        made.append(own._replace(logged=logged, packed=packed))
    return made[0], made[1]


def _less(one: LoggedEvent, other: LoggedEvent) -> LoggedEvent:
    """Return of two forms of a record the one from which a purge took something."""
    if one.row == other.row or one.row is None or other.row is None:
        return one
    sizes = [sum(len(part) for part in event.row if isinstance(part, bytes)) for event in (one, other) if event.row]
    if one.kind == Kind.DECISION and (one.row[5] is None) != (other.row[5] is None):
        return one if one.row[5] is None else other
    return one if sizes[0] <= sizes[1] else other


def _lesser(own: Any, other: Any) -> Any:
    """Return the shorter of two payloads, with the numbers of the first."""
    if own is None or other is None:
        return own if other is not None else None if not own else _moves(own) or None
    mine, theirs = ({name: value for name, value in one.items() if name not in MOVES} for one in (own, other))
    if len(json.dumps(theirs)) < len(json.dumps(mine)):
        return {**_moves(own), **theirs}
    return own


def _moves(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {name: payload[name] for name in MOVES if name in payload}


def _whole(log: Sequence[MovedOperation], other: Sequence[MovedOperation]) -> bool:
    """Tell whether the other home has purged the session as a whole since."""
    known = {_head(one) for one in log}
    return any(
        one.logged.operation.kind == "purge"
        and _head(one) not in known
        and (one.logged.operation.payload or {}).get("what") == "session"
        for one in other
    )


def _without(one: MovedOperation, losses: _Losses, blank: Blank, *, is_all: bool) -> MovedOperation:
    """Return a later operation without what is about purged records; `is_all`: without anything."""
    if is_all:
        payload = _moves(one.logged.operation.payload or {}) or None
        logged = one.logged._replace(operation=replace(one.logged.operation, payload=payload), events=())
        return one._replace(logged=logged, packed=())
    if not losses.names:
        return one
    events: list[LoggedEvent] = []
    packed: list[PackedOriginal] = []
    for event in one.logged.events:
        if (event.kind, event.key) in losses.names:
            continue
        if event.kind == Kind.ORIGINAL and event.row is not None:
            events.append(original_event(len(packed), one.packed[event.row[2]]))
            packed.append(one.packed[event.row[2]])
        else:
            events.append(_blanked(event, losses.refs, blank))
    return one._replace(logged=one.logged._replace(events=tuple(events)), packed=packed)


def _blanked(event: LoggedEvent, refs: Collection[bytes], blank: Blank) -> LoggedEvent:
    if event.kind != Kind.DECISION or event.row is None or event.row[5] not in refs:
        return event
    new = blank(decision_from((*as_row(0, event), None)))
    return event_of(Kind.DECISION, event.key, decision_row(rows.text_from(event.row[0]), new))


def _if_changed(log: Sequence[MovedOperation], new: Sequence[MovedOperation]) -> list[MovedOperation] | None:
    """Return a log with its purges and sweeps, or None if it is as it was."""
    quiet = [one for one in log if one.logged.operation.kind in QUIET]
    whole = sorted([*quiet, *new], key=lambda one: one.logged.operation.seq)
    return whole if any(one is not before for one, before in zip(whole, log, strict=True)) else None
