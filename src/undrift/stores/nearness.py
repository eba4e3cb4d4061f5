"""The share of a question that stands together in one row of a full-text index.

Law: reads the index alone, no text; knows no table. SQLite calls it for each row that a search returns.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import Any

import apsw

__all__ = ["TOGETHER", "prepare", "together"]

TOGETHER = "together"
"""The name of the SQL function. Its argument: the number of rows of each word of the question, as JSON."""

_WORDS = 35
"""One or two sentences; 25, 50 and 100 words find less in short and long texts together."""
_MOST_PLACES = 500
"""The first ones of each word in a text count."""


def prepare(connection: apsw.Connection) -> None:
    """Teach a connection the function; it costs less than to look whether it is known."""
    connection.register_fts5_function(TOGETHER, _of_row)


def together(places: Sequence[Sequence[int]], rarities: Sequence[float]) -> float:
    """Return the share of a question's words, each weighed by its rarity, that stand within 35 words of a text.

    Args:
        places: For each word of the question, the numbers of the text's words that are forms of it, ascending.
    """
    whole = sum(rarities)
    there = [(rarity, some) for rarity, some in zip(rarities, places, strict=True) if some]
    if len(there) < 2 or whole <= 0.0:
        return sum(rarity for rarity, _ in there) / whole if whole > 0.0 else 0.0
    stands = sorted((place, number) for number, (_, some) in enumerate(there) for place in some[:_MOST_PLACES])
    inside = [0] * len(there)
    best = held = 0.0
    first = 0
    for place, number in stands:
        held += 0.0 if inside[number] else there[number][0]
        inside[number] += 1
        while stands[first][0] <= place - _WORDS:
            left = stands[first][1]
            inside[left] -= 1
            held -= 0.0 if inside[left] else there[left][0]
            first += 1
        best = max(best, held)
    return min(1.0, best / whole)


def _of_row(api: apsw.FTS5ExtensionApi, *counts: Any) -> float:
    places = [api.phrase_locations(number)[0] for number in range(api.phrase_count)]
    return together(places, _rarities(counts[0], api.row_count))


@lru_cache(maxsize=64)
def _rarities(counts: str, rows: int) -> tuple[float, ...]:
    return tuple(log(1.0 + (max(rows - count, 0) + 0.5) / (count + 0.5)) for count in json.loads(counts))
