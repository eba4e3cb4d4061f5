"""The numbers that operations get in a file, where all sessions share one row of numbers. Pure.

Law: within a session numbers grow. An operation keeps the number that a file gave it, unless another one has it there; those
that a server numbered follow, in the order in which they changed memories, then of their times.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from undrift.stores.moving.proof import MOVES
from undrift.stores.moving.values import LogPlace, MovedMemory, MovedOperation, Numbered, Span
from undrift.stores.postgres.session_state import BACK_OF_FACTS

__all__ = ["numbers_in_file", "renumbered", "renumbered_memory"]


def numbers_in_file(
    operations: Iterable[Numbered],
    moments: Sequence[LogPlace],
    known: Mapping[LogPlace, int],
    in_use: Collection[int],
    least: int = 0,
) -> dict[str, dict[int, int]]:
    """Return the new number of each operation, by session and present number.

    Args:
        moments: The operations at which memories changed, oldest first.
        known: The numbers of operations that the file has already.
        in_use: The numbers of all operations in the file.
        least: Operations that get a new number get a greater one.
    """
    every = list(operations)
    found: dict[str, dict[int, int]] = defaultdict(dict)
    last: dict[str, int] = defaultdict(int)
    for moment, seq in known.items():
        last[moment.session] = max(last[moment.session], seq)
    used = set(in_use)
    main = _main_origin(every)
    rest = []
    renumbering: set[str] = set()  # an earlier operation gets a new number, greater than all that are kept
    for one in sorted(every, key=lambda operation: operation.seq):
        number = known.get(LogPlace(one.session, one.seq))
        is_free = one.seq not in used and one.seq > last[one.session] and one.session not in renumbering
        if number is None and main and one.origin == main and is_free:
            number = one.seq
            used.add(number)
        if number is None:
            rest.append(one)
            renumbering.add(one.session)
            continue
        found[one.session][one.seq] = number
        last[one.session] = max(last[one.session], number)
    next_ = max(least, max(used, default=0)) + 1
    for one in _in_order(rest, moments):
        found[one.session][one.seq] = next_
        next_ += 1
    return found


def renumbered(one: MovedOperation, numbers: Mapping[int, int]) -> MovedOperation:
    """Return an operation of a session with its new number. `numbers`: those of the session, in its order."""
    operation = one.logged.operation
    payload: Any = operation.payload
    if operation.kind in BACK_OF_FACTS and payload is not None:
        named = {name: payload[name] for name in MOVES if isinstance(payload.get(name), int)}
        payload = {**payload, **{name: _until(numbers, seq) for name, seq in named.items()}}
    new = replace(operation, seq=numbers[operation.seq], payload=payload)
    return one._replace(logged=one.logged._replace(operation=new))


def renumbered_memory(one: MovedMemory, numbers: Mapping[str, Mapping[int, int]]) -> MovedMemory:
    """Return a memory whose moments have their new numbers."""

    def new(moment: LogPlace) -> LogPlace:
        return LogPlace(moment.session, numbers[moment.session][moment.seq])

    versions = (
        version._replace(
            at=new(version.at),
            spans=tuple(Span(new(span.start), None if span.end is None else new(span.end)) for span in version.spans),
        )
        for version in one.versions
    )
    return one._replace(versions=tuple(versions))


def _until(numbers: Mapping[int, int], seq: int) -> int:
    """Return the new number of the newest operation up to a number; 0 if there is none."""
    if seq in numbers:
        return numbers[seq]
    return max((new for old, new in numbers.items() if old <= seq), default=0)


def _main_origin(every: Iterable[Numbered]) -> bytes:
    counts = Counter(one.origin for one in every if one.origin)
    return max(counts, key=lambda origin: (counts[origin], origin), default=b"")


def _in_order(rest: Sequence[Numbered], moments: Sequence[LogPlace]) -> list[Numbered]:
    """Return operations in one order over all sessions, which keeps that of each session.

    A push that was killed leaves operations with older clocks than the changes of memories that belong to them.
    """
    clock_of = {one: clock for clock, one in enumerate(moments, 1)}
    latest: dict[str, int] = defaultdict(int)
    clocks: dict[str, tuple[int, bool]] = defaultdict(lambda: (0, False))
    placed = []
    for one in rest:  # ascending numbers, so each session is in its order
        moment, before = LogPlace(one.session, one.seq), clocks[one.session]
        clock = max(before[0], one.clock, clock_of.get(moment, 0))
        clocks[one.session] = max(before, (clock, moment not in clock_of))
        latest[one.session] = max(latest[one.session], one.at_ms)
        placed.append(((clocks[one.session], latest[one.session], one.session, one.seq), one))
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]
