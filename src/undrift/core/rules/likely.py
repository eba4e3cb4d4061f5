"""Estimates how likely a sentence is a rule, by its words and signs: a logistic regression. Pure.

Law: the same sentence gives the same figure. `bench/fit_rules.py` fits the weights.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

from undrift.core.rules.marks import marks_of, plain_words
from undrift.core.rules.weights import BIAS, WEIGHTS

__all__ = ["features_of", "likelihood", "likely_first"]

_TOKEN = re.compile(r"[a-z']+|\d+|[?!:;,()`]")
_PATH = re.compile(r"(?<![\w-])[\w-]{1,60}+/[\w./*-]{0,120}+|\b\w{1,60}+\.[a-z]{1,4}\b|`[^`]{0,80}`")
_NAMES = {"?": "<q>", "!": "<x>", ":": "<n>", ";": "<s>", ",": "<c>"}
_A_STEP = 4
_ABOUT = frozenset({"lifts", "limits"})


def likelihood(words: str) -> float:
    """Return the chance that a sentence is a rule, from 0 to 1. `words`: as `plain_words` gives them."""
    weights = _weights()
    return 1 / (1 + math.exp(-(BIAS + sum(weights.get(name, 0.0) for name in features_of(words)))))


def likely_first(sentences: Sequence[str], room: int, size_of: Callable[[str], int]) -> list[str]:
    """Return the sentences that are most like a rule and fit, in the order given; of two alike the later one fits first.

    One that lifts or limits something comes before all: what it is about may stand beside it.

    `room`: what all of them may use, in the unit of `size_of`.
    """
    chances = [
        1.0 if marks_of(words) & _ABOUT else round(likelihood(words), 3) for words in map(plain_words, sentences)
    ]
    kept: set[int] = set()
    for place in sorted(range(len(sentences)), key=lambda place: (-chances[place], -place)):
        size = size_of(sentences[place])
        if size <= room:
            room -= size
            kept.add(place)
    return [sentence for place, sentence in enumerate(sentences) if place in kept]


def features_of(words: str) -> frozenset[str]:
    """Return the names of a sentence's features: its words and pairs of words, how it begins and ends, its signs, its size."""
    plain = _PATH.sub(" pathx ", words)
    tokens = ["0" if one.isdigit() else _NAMES.get(one, one) for one in _TOKEN.findall(plain)]
    found = {f"w/{one}" for one in tokens}
    found |= {f"b/{one}+{other}" for one, other in pairwise(tokens)}
    found |= {f"first/{one}" for one in tokens[:1]} | {f"last/{one}" for one in tokens[-1:]}
    found |= {f"s/{name.replace(' ', '_')}" for name in marks_of(words)}
    found.add(f"size/{min(6, len(tokens) // _A_STEP)}")
    return frozenset(found)


@cache
def _weights() -> dict[str, float]:
    pairs = (one.rsplit("=", 1) for one in WEIGHTS.split())
    return {name: int(weight) / 100 for name, weight in pairs}
