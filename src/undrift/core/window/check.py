"""The rules that every edited window must obey, for any provider, in one function. Pure.

Further demands of a single provider stand in `undrift.wire`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from undrift.values.window import PINNED_TYPES, ContextEntry

__all__ = ["added", "problems"]

_DIGITS = re.compile("[0-9]+")


def problems(
    before: Sequence[ContextEntry], after: Sequence[ContextEntry], left: Iterable[str | None] = ()
) -> tuple[str, ...]:
    """Return the rules that an edit has broken, as sentences; () if there are none.

    `before`: the window before the edit, in order. `after`: the window to send, in order. `left`: pair ids of further
    entries that are not sent at all; none of them is pinned.
    """
    found = [*_pairs(_members(before, left), _members(after)), *_pins(before, after), *_order(before, after)]
    return tuple(found)


def added(found: Sequence[str], before: Sequence[str]) -> tuple[str, ...]:
    """Return the problems that are new; two problems are equal if they differ only in numbers, because items move."""
    had = Counter(_DIGITS.sub("", text) for text in before)
    new = []
    for text in found:
        words = _DIGITS.sub("", text)
        if had[words]:
            had[words] -= 1
        else:
            new.append(text)
    return tuple(new)


def _pairs(had: Mapping[str, int], has: Mapping[str, int]) -> Iterator[str]:
    """Check that a call and its results are both sent or both removed."""
    for pair, count in has.items():
        if 0 < count < had.get(pair, 0):
            yield f"{pair}: {count} of {had[pair]} members are left of a pair"


def _pins(before: Sequence[ContextEntry], after: Sequence[ContextEntry]) -> Iterator[str]:
    """Check that every pin is sent, word for word."""
    kept = {e.id: e.content for e in after if not (e.metadata and e.metadata.get("cut"))}
    for entry in before:
        if entry.type in PINNED_TYPES and kept.get(entry.id) != entry.content:
            yield f"{entry.id}: a pinned entry has left or was changed"


def _order(before: Sequence[ContextEntry], after: Sequence[ContextEntry]) -> Iterator[str]:
    """Check that the sent entries keep their order, and that only pins and notes are new."""
    place = {entry.id: number for number, entry in enumerate(before)}
    last = -1
    for entry in after:
        number = place.get(entry.id)
        if number is None:
            if entry.type not in PINNED_TYPES and not (entry.metadata and entry.metadata.get("kind") == "note"):
                yield f"{entry.id}: an entry that never came in and is neither pin nor note"
        elif number <= last:
            yield f"{entry.id}: out of its order"
        else:
            last = number


def _members(entries: Sequence[ContextEntry], others: Iterable[str | None] = ()) -> Mapping[str, int]:
    """Count the entries of each pair."""
    return Counter(pair_id for pair_id in chain((e.pair_id for e in entries), others) if pair_id is not None)
