"""The choice of the lines that stay when a window must shrink: those with the highest score for their tokens. Pure.

The newest part of the entries that may leave stays whole. Each other line scores the references (`value`) that nothing
newer in the window mentions, so an older copy scores nothing. A line of a result stays if its score pays the price of
its tokens. A call, with its results, stays if the rest of it pays. The price is the lowest at which everything fits.
Room that remains goes to the newest units, whole.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from undrift.core.window.fold import Folded
from undrift.core.window.trim import GAP, HEADER_CHARACTERS, ranges_of
from undrift.core.window.value import KnownReferences, rows_left
from undrift.values.window import ContextEntry

__all__ = ["Allowance", "Kept", "Ranges", "Removable", "keep"]

Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges of line numbers, ascending."""

_WHOLE_SHARE = 0.9
"""A result that keeps more of its tokens than this keeps all."""

_TRIM_TOKENS = 40
"""A smaller result stays whole or leaves: its marks would cost as much as its lines."""

_TRIM_LINES = 3

_PICTURE_TOKENS = 12
"""Tokens of a user's picture that score as much as one reference: it leaves if the price is above the usual one."""

_LEAST_PRICE, _HIGHEST_PRICE = 1e-3, 1e3
_STEPS = 14
_CLOSE_ENOUGH = 0.985  # of the room


@dataclass(frozen=True, slots=True)
class Removable:
    """A unit that may be removed from the window.

    Args:
        tokens: The tokens that its removal frees; for a paste only those of its middle.
        folds: Entry id to its folded lines, for folded entries; their tokens are counted folded.
    """

    entries: tuple[ContextEntry, ...]
    tokens: int
    folds: Mapping[str, Folded] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """The units and lines that a choice keeps.

    Args:
        worth: Entry id to the score and tokens of its unit, for each that leaves or is trimmed. The score counts
            references that nothing newer mentions, in lines that would pay the price.
        price: The score that a token needed to stay; infinite if there was no room.
        spare_tokens: The room that stays free, as no text is worth its price.
    """

    removed: frozenset[str]
    trimmed: Mapping[str, Ranges]
    worth: Mapping[str, tuple[float, int]]
    price: float
    spare_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """The room for the units that may be removed.

    Args:
        tokens: The most tokens of the units that stay.
        recent_share: Share of the room in which the newest units stay whole, from 0 to 1.
        least_price: The least score for a token; above 0 no room is filled for its own sake.
    """

    tokens: int
    recent_share: float
    least_price: float = 0.0


_References = list[int]
"""References that the agent would miss, and that no entry that must stay mentions."""


_Lines = list[list[int] | None]
"""For each part of a unit the numbers of the lines that stay; None if all stay."""


class _ScoredLine(NamedTuple):
    """A line with references. `price`: the highest that their scores pay for its tokens."""

    number: int
    tokens: float
    price: float
    references: _References


@dataclass(slots=True)
class _Part:
    """A result that can lose single lines, with each line that has references.

    `paying`: those that may stay at any price that is tried from now on.
    """

    id: str
    tokens: int
    lines: list[_ScoredLine]
    paying: list[_ScoredLine]


@dataclass(slots=True)
class _Unit:
    """The tokens and references of a unit without its parts, and the score of the user's pictures in it."""

    source: Removable
    tokens: float
    references: _References
    parts: list[_Part]
    shown_by_user: float
    scores: "_Scores"


def keep(
    stays: Iterable[ContextEntry],
    units: Sequence[Removable],
    room: Allowance,
    *,
    known: KnownReferences,
    count: Callable[[str], int],
) -> Kept:
    """Choose the entries and lines that stay."""
    shown: set[int] = set()
    for entry in stays:
        shown.update(_references(entry, known))
    left, rest = room.tokens, [*units]
    zone = room.recent_share * room.tokens
    while rest and rest[-1].tokens <= zone:
        unit = rest.pop()
        zone -= unit.tokens
        left -= unit.tokens
        for entry in unit.entries:
            shown.update(_references(entry, known))
    scores = [_Scores(known, shown, of_file=of_file) for of_file in (False, True)]
    judged = [_judged(unit, scores[_shows_file(unit, known)], known) for unit in reversed(rest)]
    return _chosen(judged, left, (count("x" * HEADER_CHARACTERS), count(GAP + "\n")), room.least_price)


class _Scores(dict[int, float]):
    """Reference -> its score, 0 if the agent would not miss it. Each value is computed on first use."""

    def __init__(self, known: KnownReferences, shown: Iterable[int], *, of_file: bool) -> None:
        super().__init__(dict.fromkeys(shown, 0.0))
        self._known, self._of_file = known, of_file

    def __missing__(self, reference: int) -> float:
        found = self[reference] = self._known.worth(reference, of_file=self._of_file)
        return found

    def of(self, references: Iterable[int]) -> float:
        """Return the sum of some references."""
        return sum(map(self.__getitem__, references))


def _references(entry: ContextEntry, known: KnownReferences) -> Iterable[int]:
    """Yield the references in an entry; none for a paste without its middle."""
    metadata = entry.metadata or {}
    if metadata.get("kind") not in ("text", "call", "result") or metadata.get("cut") or entry.type == "summary":
        return ()
    rows = known.rows(entry)
    return (reference for number in rows_left(entry, len(rows)) for reference in rows[number])


def _shows_file(unit: Removable, known: KnownReferences) -> bool:
    """Return whether a unit is a call that shows a file."""
    return any(known.shows_file(entry.pair_id) for entry in unit.entries)


def _judged(unit: Removable, scores: _Scores, known: KnownReferences) -> _Unit:
    """Return the references and parts of a unit."""
    found: _References = []
    parts: list[_Part] = []
    for entry in unit.entries:
        if not _is_trimmable(entry):
            found += filter(scores.__getitem__, _references(entry, known))
            continue
        rows = known.rows(entry)
        folded = unit.folds.get(entry.id)
        lengths = folded.lengths() if folded else [len(line) + 1 for line in entry.content.split("\n")]
        numbers = rows_left(entry, min(len(rows), len(lengths)))
        rate = entry.token_count / max(1, sum(lengths[n] for n in numbers))
        lines = [(n, lengths[n] * rate, [*filter(scores.__getitem__, rows[n])]) for n in numbers if rows[n]]
        scored = [_ScoredLine(n, tokens, scores.of(one) / max(tokens, 1e-9), one) for n, tokens, one in lines if one]
        parts.append(_Part(entry.id, entry.token_count, scored, scored))
    pictures = sum(entry.token_count for entry in unit.entries if _is_picture(entry))
    rest = unit.tokens - sum(part.tokens for part in parts)
    return _Unit(unit, rest, found, parts, pictures / _PICTURE_TOKENS, scores)


def _is_picture(entry: ContextEntry) -> bool:
    """Return whether an entry is a picture or document of the user, which undrift cannot read."""
    metadata = entry.metadata or {}
    return metadata.get("role") == "user" and metadata.get("kind") in ("image", "other")


def _is_trimmable(entry: ContextEntry) -> bool:
    """Return whether an entry is a tool's plain text, long enough to remove single lines from it."""
    is_plain = entry.type == "tool_result" and not (entry.metadata or {}).get("mixed")
    return is_plain and entry.token_count >= _TRIM_TOKENS and entry.content.count("\n") >= _TRIM_LINES


@dataclass(slots=True)
class _Choice:
    """The result of one price: the sum of tokens, and the score, tokens and lines of each unit."""

    tokens: float
    units: list[tuple[float, float, _Lines | None]]


def _chosen(units: Sequence[_Unit], room_tokens: float, marks: tuple[int, int], least_price: float) -> Kept:
    """Find the lowest price at which everything fits, and fill the remaining room."""
    low = high = max(_LEAST_PRICE, least_price)
    cheap = best = _at(units, high, marks)
    while best.tokens > room_tokens and high < _HIGHEST_PRICE:
        low, high = high, high * 16
        cheap, best = best, _at(units, high, marks)
    for part in (part for unit in units for part in unit.parts) if high > low else ():
        part.paying = [line for line in part.lines if line.price >= low]
    for _ in range(_STEPS if high > low else 0):
        if best.tokens >= _CLOSE_ENOUGH * room_tokens:
            break
        middle = (low * high) ** 0.5
        tried = _at(units, middle, marks)
        if tried.tokens > room_tokens:
            low, cheap = middle, tried
        else:
            high, best = middle, tried
    spare = max(0, int(room_tokens - best.tokens)) if least_price and high == low else 0
    room_tokens -= spare
    removed: set[str] = set()
    trimmed: dict[str, Ranges] = {}
    worth: dict[str, tuple[float, int]] = {}
    for unit, (value, kept) in zip(units, _filled(units, best, cheap, room_tokens), strict=True):
        ids = [entry.id for entry in unit.source.entries]
        worth.update((id_, (value, unit.source.tokens)) for id_ in ids)
        if kept is None:
            removed.update(ids)
            continue
        for part, numbers in zip(unit.parts, kept, strict=True):
            if numbers is not None:
                trimmed[part.id] = ranges_of(numbers)
    return Kept(frozenset(removed), trimmed, worth, high if high < _HIGHEST_PRICE else math.inf, spare)


def _filled(
    units: Sequence[_Unit], best: _Choice, cheap: _Choice, room_tokens: float
) -> Iterator[tuple[float, _Lines | None]]:
    """Yield each unit's score and lines: the newest units as at a lower price, then whole, while there is room."""
    spare, chosen = room_tokens - best.tokens, []
    for one, more in zip(best.units, cheap.units, strict=True):
        is_better = 0 < more[1] - one[1] <= spare
        spare -= more[1] - one[1] if is_better else 0
        chosen.append(more if is_better else one)
    for unit, (value, tokens, kept) in zip(units, chosen, strict=True):
        wanted = unit.source.tokens - tokens
        if wanted <= spare:  # units without a score stay by age
            spare -= wanted
            yield value, [None] * len(unit.parts)
            continue
        if wanted <= room_tokens:  # a unit that could not fit even alone is passed over
            spare = -1.0
        yield value, kept


def _at(units: Sequence[_Unit], price: float, marks: tuple[int, int]) -> _Choice:
    """Return the units and lines that stay at a price, newest first."""
    header, gap = marks
    total = 0.0
    shown: set[int] = set()
    stays: list[tuple[float, float, _Lines | None]] = []
    for unit in units:
        mentioned = set(unit.references).difference(shown)
        tokens = unit.tokens
        kept: _Lines = []
        for part in unit.parts:
            numbers, cost = _lines_at(part, price, shown, mentioned, gap, unit.scores)
            if cost + header >= _WHOLE_SHARE * part.tokens:
                for line in part.lines:
                    mentioned.update(line.references)
                mentioned -= shown
                kept.append(None)
                tokens += part.tokens
            else:
                kept.append(numbers)
                tokens += cost + header
        worth = unit.scores.of(mentioned) + unit.shown_by_user
        if worth and worth >= price * tokens:
            total += tokens
            shown |= mentioned
            stays.append((worth, tokens, kept))
        else:
            stays.append((worth, 0.0, None))
    return _Choice(total, stays)


def _lines_at(
    part: _Part, price: float, shown: set[int], mentioned: set[int], gap: int, scores: _Scores
) -> tuple[list[int], float]:
    """Return the lines of a result whose score pays the price; add their references to `mentioned`."""
    numbers: list[int] = []
    cost, last = 0.0, -1
    for number, tokens, most, references in part.paying:
        if most < price:
            continue
        is_fresh = shown.isdisjoint(references) and mentioned.isdisjoint(references)  # most are: this is the fast way
        fresh = references if is_fresh else [one for one in references if one not in shown and one not in mentioned]
        if is_fresh or (fresh and scores.of(fresh) >= price * tokens):
            mentioned.update(fresh)
            numbers.append(number)
            cost += tokens if number == last + 1 else tokens + gap
            last = number
    return numbers, cost
