"""Decides whether a hit fits a question at all. Pure.

Law: a hit with a word of the question always fits; a threshold only judges hits by meaning and by their neighbours.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["LEAST_NEIGHBOURS", "LEAST_SIMILARITY", "is_relevant"]

LEAST_SIMILARITY = 0.15
"""Cosine. With 0.15 none of 287 right answers among the first ten of two LoCoMo conversations is lost, with 0.2 one. In a
home of eight memories, four questions about nothing in it had 14 hits; 1 of them is left."""

LEAST_NEIGHBOURS = 0.05
"""The share that neighbours give, of the best hit's own score. With 0.1 one of the 287 is lost."""

_NAMED = ("lexical", "stated", "stands_for")


def is_relevant(why: Mapping[str, Any]) -> bool:
    """Tell whether a hit fits, by the parts of its score."""
    if any(why.get(name) for name in _NAMED):
        return True
    similarity, neighbours = float(why.get("similarity", 0.0)), float(why.get("neighbours", 0.0))
    return similarity >= LEAST_SIMILARITY or neighbours >= LEAST_NEIGHBOURS
