"""Names the signs that a sentence bears, for the decision what it is. Pure.

Law: an expression is tried once for each sentence, which has at most 600 characters.
"""

import re
from functools import lru_cache

from undrift.core.rules import lifting, signs

__all__ = ["marks_of", "plain_words"]

_AT_THE_START = {
    "describes": re.compile(signs.DESCRIBES),
    "proposes": re.compile(signs.PROPOSES),
    "job": re.compile(signs.JOBS),
}
_ANYWHERE = {
    "asks": re.compile(signs.ASKS),
    "polite": re.compile(signs.POLITE),
    "claims": re.compile(signs.CLAIMS),
    "holds on": re.compile(signs.HOLDS_ON),
    "lasts": re.compile(signs.LASTS),
    "spreads": re.compile(signs.SPREADS),
    "once": re.compile(signs.ONCE),
    "style": re.compile(signs.STYLE),
    "from now on": re.compile(signs.FROM_NOW_ON),
    "reports": re.compile(signs.REPORTS),
    "past": re.compile(r"\b[a-z]{3,20}ed\b"),
}
_ONE_OF = {
    "forbids": tuple(map(re.compile, signs.FORBIDS)),
    "bids": tuple(map(re.compile, signs.BIDS)),
    "wishes": tuple(map(re.compile, signs.WISHES)),
    "of the work": tuple(map(re.compile, signs.OF_THE_WORK)),
    "norm": tuple(map(re.compile, signs.NORMS)),
    "use not": tuple(map(re.compile, signs.USE_NOT)),
    "contrasts": tuple(map(re.compile, signs.CONTRASTS)),
    "lifts": tuple(map(re.compile, lifting.LIFTS)),
    "limits": tuple(map(re.compile, lifting.LIMITS)),
    "may lift": tuple(map(re.compile, lifting.MAY_LIFT)),
}
_QUOTES = re.compile(r"\"[^\"]{12,}\"|“[^“”]{12,}”|«[^«»]{12,}»|„[^„“”]{12,}[“”]|(?<!\w)'[^']{12,}'(?!\w)|`[^`]{1,80}`")
_REFUSES_NOT = re.compile(signs.REFUSES_NOT)
_PLAINLY = frozenset(
    {"forbids", "bids", "lasts", "spreads", "norm", "use not", "of the work", "style", "once", "contrasts"}
)


def plain_words(sentence: str) -> str:
    """Return a sentence in lower case, without what it quotes."""
    return _QUOTES.sub("`x`", sentence.lower().replace("\u2019", "'"))


@lru_cache(maxsize=256)
def marks_of(words: str) -> frozenset[str]:
    """Return the names of the signs in a sentence. `words`: as `plain_words` gives them."""
    bare = _REFUSES_NOT.sub(" ", words)
    found = {name for name, one in _AT_THE_START.items() if one.match(words)}
    found |= {name for name, one in _ANYWHERE.items() if one.search(bare if name in _PLAINLY else words)}
    for name, several in _ONE_OF.items():
        text = bare if name in _PLAINLY else words
        if any(one.search(text) for one in several):
            found.add(name)
    return frozenset(found)
