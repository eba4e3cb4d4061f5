"""Finds secrets in a text and replaces them by markers, before anything is stored. Pure, and linear in the text.

One maintained list, `PATTERNS`, ours and then a detector's; core/text/patterns.py says what each of them is and why none costs much.
"""

import functools
import re
from bisect import bisect_right
from dataclasses import dataclass

from undrift.core.text.corpus import CORPUS
from undrift.core.text.named_values import NAMED_VALUES
from undrift.core.text.own_patterns import OWN_PATTERNS
from undrift.core.text.patterns import Pattern, compiled
from undrift.core.text.prefilter import Index
from undrift.core.text.readings import readings
from undrift.values.window import MaskedSpan

__all__ = ["Masked", "PATTERNS", "Pattern", "mask"]

PATTERNS: tuple[Pattern, ...] = (*OWN_PATTERNS, *NAMED_VALUES, *CORPUS)
_OWN_NAMES = frozenset(pattern.name for pattern in (*OWN_PATTERNS, *NAMED_VALUES))

_MARKER = r"\[masked:([a-z0-9-]{1,40})\]"

# A marker may uncover what its secret hid: the value before it now ends earlier. One round finds all but such a case,
# the second as a rule nothing; the bound keeps a made-up chain of such cases linear.
_ROUNDS = 8
_SHORT_CHARACTERS = 32


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with its secrets replaced by markers.

    Args:
        text: The text with ``[masked:NAME]`` in the place of each secret; the same object when there was none.
        spans: What was masked, in order; positions in characters of the text before, not overlapping.
    """

    text: str
    spans: tuple[MaskedSpan, ...]


def mask(text: str) -> Masked:
    """Replace every secret by ``[masked:NAME]``.

    Deterministic and idempotent: a masked text is left as it is. If secrets overlap, one marker covers them all. It
    has the name of the one that begins first; among those of ours before others, then of the longest.
    """
    masked = _mask_short(text) if len(text) <= _SHORT_CHARACTERS else _mask(text)
    return masked if masked.spans else Masked(text, ())  # this object, not an equal one of before


def _mask(text: str) -> Masked:
    masked, spans = text, list[MaskedSpan]()
    for _ in range(_ROUNDS):
        found = _merged(_found(masked))
        if not found:
            break
        spans = sorted(spans + _unmasked(found, spans), key=lambda span: span.start)
        masked = _render(text, spans)
    return Masked(masked, tuple(spans))


@functools.lru_cache(maxsize=1_024)
def _mask_short(text: str) -> Masked:
    """Mask a short text: those of a history are few, and each is read often."""
    return _mask(text)


def _render(text: str, spans: list[MaskedSpan]) -> str:
    """Give the text with a marker for each span."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], _marker(span))
        end = span.start + span.length
    parts.append(text[end:])
    return "".join(parts)


def _marker(span: MaskedSpan) -> str:
    return f"[masked:{span.name}]"


def _unmasked(found: list[MaskedSpan], spans: list[MaskedSpan]) -> list[MaskedSpan]:
    """Move what was found in a masked text to where it stands in the text before; none of it overlaps a marker."""
    moved: list[MaskedSpan] = []
    index = shift = 0
    for span in found:
        while index < len(spans) and spans[index].start <= span.start + shift:
            shift += spans[index].length - len(_marker(spans[index]))
            index += 1
        moved.append(MaskedSpan(span.name, span.start + shift, span.length))
    return moved


def _found(text: str) -> list[MaskedSpan]:
    """Give every secret as the text stands, and as it can be read."""
    found = _found_in(text)
    markers: list[tuple[int, int]] | None = None
    known = [(span.start, span.start + span.length) for span in found]
    for reading in readings(text, known):
        for span in _found_in(reading.text):
            source = reading.source(span.start, span.start + span.length)
            if source is None:
                continue
            markers = _markers(text) if markers is None else markers
            if not _touches(source, markers):
                found.append(MaskedSpan(span.name, source[0], source[1] - source[0]))
    return found


def _found_in(text: str) -> list[MaskedSpan]:
    """Give every secret of every pattern, in no order, overlaps included."""
    # One byte for a character of any script: faster to search, and positions stay.
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    folded = plain.lower()
    markers = _markers(plain)
    found: list[MaskedSpan] = []
    for pattern, literal in _index().sought_in(folded):
        haystack = folded if pattern.folded else plain
        at = haystack.find(literal) if literal[0] in haystack else -1  # a rare sign is looked for much faster
        match_at, ahead = pattern.regex.match, pattern.ahead
        while at >= 0:
            match, after = match_at(text, at - ahead if at > ahead else 0), at + 1
            if match:
                parts, after = _parts(pattern, match, markers)
                found += [MaskedSpan(pattern.name, start, end - start) for start, end in parts]
            at = haystack.find(literal, after if after > at else at + 1)
    return found


def _parts(pattern: Pattern, match: re.Match[str], markers: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], int]:
    """Give the secrets of a match, and where the search continues."""
    if pattern.parts is not None:
        parts, after = pattern.parts(match)
        return [part for part in parts if not _touches(part, markers)], after
    if _touches(match.span(), markers) or (pattern.accept is not None and not pattern.accept(match)):
        return [], match.start() + 1
    part = match.span(pattern.group if pattern.group >= 0 else match.lastindex or 0)
    return [part], part[1]


@functools.cache
def _index() -> Index:
    return Index(PATTERNS)


def _markers(plain: str) -> list[tuple[int, int]]:
    """Give where our own markers stand; a token between the same brackets is no marker."""
    if "[masked:" not in plain:
        return []
    return [match.span() for match in compiled(_MARKER).finditer(plain) if match[1] in _index().names]


def _touches(span: tuple[int, int], markers: list[tuple[int, int]]) -> bool:
    """Say whether a part overlaps what an earlier run has masked."""
    index = bisect_right(markers, (span[1], -1)) - 1  # the last marker that begins before the part ends
    return index >= 0 and markers[index][1] > span[0]


def _merged(found: list[MaskedSpan]) -> list[MaskedSpan]:
    """Sort, and make one span of those that overlap; of two that begin alike, a rule of our own gives the name."""
    merged: list[MaskedSpan] = []
    for span in sorted(found, key=lambda span: (span.start, span.name not in _OWN_NAMES, -span.length)):
        if merged and span.start < merged[-1].start + merged[-1].length:
            last = merged[-1]
            end = max(last.start + last.length, span.start + span.length)
            merged[-1] = MaskedSpan(last.name, last.start, end - last.start)
        else:
            merged.append(span)
    return merged
