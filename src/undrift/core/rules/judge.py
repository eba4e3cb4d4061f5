"""Decides what one sentence of a person is: a rule, a sentence that lifts or limits one, or neither. Pure.

Law: a rule is meant to last, or forbids something to the agent. An order for the work at hand, a question, what another says
and how a program behaves are none.
"""

import re
from typing import Literal

from undrift.core.rules import lifting, signs
from undrift.core.rules.spoken import SpokenSentence

__all__ = ["SentenceKind", "kind_of_sentence"]

SentenceKind = Literal["rule", "lifts", "limits", "may lift"]

_LEAST_WORDS = 2
_MOST_CHARACTERS = 600
_SKIPPED = re.compile(r":\s*$|^/\w|[\w/-]\.\w{1,5}:\d|→|=>|\*\*")
"""It leads to what follows, is a client's command, or was taken from a review or a plan."""

_QUOTES = re.compile(r"\"[^\"]{12,}\"|“[^“”]{12,}”|«[^«»]{12,}»|„[^„“”]{12,}[“”]|(?<!\w)'[^']{12,}'(?!\w)|`[^`]{1,80}`")


_ASKS = re.compile(signs.ASKS)
_POLITE = re.compile(signs.POLITE)
_CLAIMS = re.compile(signs.CLAIMS)
_DESCRIBES = re.compile(signs.DESCRIBES)
_HOLDS_ON = re.compile(signs.HOLDS_ON)
_LASTS = re.compile(signs.LASTS)
_SPREADS = re.compile(signs.SPREADS)
_JOBS = re.compile(signs.JOBS)
_CONTRASTS = tuple(map(re.compile, signs.CONTRASTS))
_ONCE = re.compile(signs.ONCE)
_REFUSES_NOT = re.compile(signs.REFUSES_NOT)
_STYLE = re.compile(signs.STYLE)
_PROPOSES = re.compile(signs.PROPOSES)
_FROM_NOW_ON = re.compile(signs.FROM_NOW_ON)
_REPORTS = re.compile(signs.REPORTS)
_FORBIDS = tuple(map(re.compile, signs.FORBIDS))
_BIDS = tuple(map(re.compile, signs.BIDS))
_WISHES = tuple(map(re.compile, signs.WISHES))
_OF_THE_WORK = tuple(map(re.compile, signs.OF_THE_WORK))
_NORMS = tuple(map(re.compile, signs.NORMS))
_USE_NOT = tuple(map(re.compile, signs.USE_NOT))
_LIFTS = tuple(map(re.compile, lifting.LIFTS))
_LIMITS = tuple(map(re.compile, lifting.LIMITS))
_MAY_LIFT = tuple(map(re.compile, lifting.MAY_LIFT))
_CLAUSE_END = re.compile(
    r"(?:[,;] | [-\u2013\u2014]+ |\b(?:so|and|therefore) )(?=(?:please|so|don'?t|do not|never|always|use|keep|work|leave|only|you|i)\b)|\bso (?=no )"
)
_MOST_CLAUSES = 6


def kind_of_sentence(sentence: SpokenSentence) -> SentenceKind | None:
    """Return what a sentence is; None if it is no rule and nothing about one."""
    text = sentence.text
    words = _QUOTES.sub("`x`", text.lower().replace("\u2019", "'"))
    if len(words.split()) < _LEAST_WORDS or len(text) > _MOST_CHARACTERS:
        return None
    if _SKIPPED.search(words):
        return None
    if sentence.under_rules and not (_ASKS.search(words) or _CLAIMS.search(words) or _DESCRIBES.match(words)):
        return "rule"
    if _ASKS.search(words) and not _POLITE.search(words):
        return None
    if _one_of(_LIFTS, words):
        return "lifts"
    if _one_of(_LIMITS, words):
        return "limits"
    if _is_rule(words):
        return "rule"
    return "may lift" if _one_of(_MAY_LIFT, words) else None


def _one_of(expressions: tuple[re.Pattern[str], ...], words: str) -> bool:
    return any(one.search(words) for one in expressions)


def _is_rule(words: str) -> bool:
    if _CLAIMS.search(words) or _PROPOSES.match(words) or _REPORTS.search(words):
        return False
    for _ in range(_MOST_CLAUSES):  # behind what describes, a clause of its own may bid something
        if not _DESCRIBES.match(words) or _HOLDS_ON.search(words):
            return _binds(words)
        parts = _CLAUSE_END.split(words, maxsplit=1)
        if len(parts) < 2:
            return False
        words = parts[1]
    return False


def _binds(words: str) -> bool:
    words = _REFUSES_NOT.sub(" ", words)
    lasts, style = _LASTS.search(words) is not None, _STYLE.search(words) is not None
    if _ONCE.search(words) and not lasts:
        return False
    lasts = lasts or (_SPREADS.search(words) is not None and not _JOBS.match(words))
    if _FROM_NOW_ON.search(words) or (style and lasts):
        return True
    if _one_of(_FORBIDS, words) or _one_of(_NORMS, words) or _one_of(_USE_NOT, words):
        return True
    bids = _one_of(_BIDS, words) or _one_of(_WISHES, words)
    if bids and (lasts or style):
        return True
    of_work = _one_of(_OF_THE_WORK, words)
    return of_work and (lasts or style or _one_of(_CONTRASTS, words))
