"""Finds the calls that fetch again what had left: a recall, or the reading of a place whose result left. Pure.

Law: a place is a hash, as it is stored. A place counts once each time that it leaves: the agent may read it again for other
reasons, as after an edit.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from undrift.core.window.calling_back import calls_back
from undrift.core.window.log import place_of
from undrift.core.window.window import Window
from undrift.profiles import Act, acts_of, is_reading
from undrift.values.window import ContextEntry, Decision, Item

__all__ = ["Fetched", "fetched", "places_left", "places_read"]

_LEAVES = ("pruned", "trimmed", "evicted")
_LOOKED_BACK = 8  # items between a call and its result
_MOST_PLACES = 2_000
_HASH_BYTES = 5


class Fetched(NamedTuple):
    """A call that fetched something again: the place (empty for a recall), and its tokens with those of its result."""

    place: str
    tokens: int


def places_left(window: Window, decisions: Iterable[Decision]) -> tuple[str, ...]:
    """Return the places whose readings leave by these decisions, at most 2,000."""
    found: dict[str, None] = {}
    for decision in decisions:
        number = window.numbers.get(place_of(decision.entry_id))
        if decision.kind in _LEAVES and number is not None and len(found) < _MOST_PLACES:
            found |= dict.fromkeys(_places(_call_of(window.items, number, decision.entry_id)))
    return tuple(found)


def fetched(items: Sequence[Item], left: Collection[str]) -> tuple[Fetched, ...]:
    """Return the calls in some items that fetch again what had left. `left`: the places that have left."""
    entries = [entry for item in items for entry in item.entries]
    results = {e.pair_id: e.token_count for e in entries if e.meta("kind") == "result"}
    found, open_places = [], set(left)
    for entry in entries:
        if entry.meta("kind") != "call":
            continue
        is_recall = calls_back(entry.meta("tool_name") or "", entry.content)
        place = next((p for p in _places(entry) if p in open_places), "")
        if is_recall or place:
            open_places.discard(place)
            found.append(Fetched(place, entry.token_count + results.get(entry.pair_id, 0)))
    return tuple(found)


def _call_of(items: Sequence[Item], number: int, entry_id: str) -> ContextEntry | None:
    """Return the call that an entry is, or to which it is the result."""
    entry = next((e for e in items[number].entries if e.id == entry_id), None)
    if entry is None or entry.meta("kind") == "call":
        return entry
    if entry.meta("kind") != "result" or not entry.pair_id:
        return None
    before = (e for n in range(number, max(-1, number - _LOOKED_BACK), -1) for e in items[n].entries)
    return next((e for e in before if e.pair_id == entry.pair_id and e.meta("kind") == "call"), None)


def _places(call: ContextEntry | None) -> Iterator[str]:
    """Yield a hash for each place that a call reads."""
    for target in () if call is None or call.meta("kind") != "call" else places_read(call):
        yield blake2b(target.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()


def places_read(call: ContextEntry) -> Iterator[str]:
    """Yield the places that a call reads: a file, a command, or a search with its pattern."""
    for act in acts_of(call.meta("tool_name") or "", call.content):
        if (target := _target(act)) and is_reading(act):
            yield target


def _target(act: Act) -> str:
    """Return the words that name what an act reads: a search is the same only with the same pattern."""
    if act.command:
        return act.command
    return "\n".join(filter(None, (act.path, act.pattern)))
