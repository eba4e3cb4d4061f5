"""Names the signs that a sentence bears, for the decision what it is. Pure.

Law: an expression is tried once for each sentence, which has at most 600 characters.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from undrift.core.rules import lifting, signs

__all__ = ["marks_of", "plain_words"]

_AT_THE_START = {
    "describes": signs.DESCRIBES,
    "proposes": signs.PROPOSES,
    "job": signs.JOBS,
}
_ANYWHERE = {
    "asks": signs.ASKS,
    "polite": signs.POLITE,
    "claims": signs.CLAIMS,
    "holds on": signs.HOLDS_ON,
    "lasts": signs.LASTS,
    "spreads": signs.SPREADS,
    "once": signs.ONCE,
    "style": signs.STYLE,
    "from now on": signs.FROM_NOW_ON,
    "reports": signs.REPORTS,
    "past": r"\b[a-z]{3,20}ed\b",
}
_ONE_OF = {
    "forbids": signs.FORBIDS,
    "bids": signs.BIDS,
    "wishes": signs.WISHES,
    "of the work": signs.OF_THE_WORK,
    "norm": signs.NORMS,
    "use not": signs.USE_NOT,
    "contrasts": signs.CONTRASTS,
    "lifts": lifting.LIFTS,
    "limits": lifting.LIMITS,
    "may lift": lifting.MAY_LIFT,
}
_QUOTES = re.compile(r"\"[^\"]{12,}\"|“[^“”]{12,}”|«[^«»]{12,}»|„[^„“”]{12,}[“”]|(?<!\w)'[^']{12,}'(?!\w)|`[^`]{1,80}`")
_REFUSES_NOT = re.compile(signs.REFUSES_NOT)
_PLAINLY = frozenset(
    {"forbids", "bids", "lasts", "spreads", "norm", "use not", "of the work", "style", "once", "contrasts"}
)


def plain_words(sentence: str) -> str:
    """Return a sentence in lower case, without what it quotes."""
    return _QUOTES.sub("`x`", sentence.lower().replace("\u2019", "'"))


@cache
def _expressions() -> tuple[
    Mapping[str, re.Pattern[str]], Mapping[str, re.Pattern[str]], Mapping[str, tuple[re.Pattern[str], ...]]
]:
    """Return the signs at the start, those anywhere and those of several forms, compiled when they are first needed."""
    at_the_start, anywhere = (
        {name: re.compile(one) for name, one in known.items()} for known in (_AT_THE_START, _ANYWHERE)
    )
    return at_the_start, anywhere, {name: tuple(map(re.compile, several)) for name, several in _ONE_OF.items()}


@lru_cache(maxsize=256)
def marks_of(words: str) -> frozenset[str]:
    """Return the names of the signs in a sentence. `words`: as `plain_words` gives them."""
    at_the_start, anywhere, one_of = _expressions()
    bare = _REFUSES_NOT.sub(" ", words)
    found = {name for name, one in at_the_start.items() if one.match(words)}
    found |= {name for name, one in anywhere.items() if one.search(bare if name in _PLAINLY else words)}
    for name, several in one_of.items():
        text = bare if name in _PLAINLY else words
        if any(one.search(text) for one in several):
            found.add(name)
    return frozenset(found)
