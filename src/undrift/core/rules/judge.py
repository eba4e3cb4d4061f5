"""Decides what one sentence of a person is: a rule, a sentence that lifts or limits one, or neither. Pure.

Law: a rule is meant to last, or forbids something to the agent. An order for the work at hand, a question, what another says
and how a program behaves are none.
"""

import re
from typing import Literal

from undrift.core.rules.likely import likelihood
from undrift.core.rules.marks import marks_of, plain_words
from undrift.core.rules.spoken import SpokenSentence

__all__ = ["SentenceKind", "kind_of_sentence"]

SentenceKind = Literal["rule", "perhaps", "lifts", "limits", "may lift", "said"]
"""``perhaps``: its words are like those of rules, and no sign shows that it is one. ``said``: any other sentence that was typed."""

_LEAST_WORDS = 2
_LEAST_SAID_WORDS = 3
_MOST_CHARACTERS = 600
_LIKELY, _PERHAPS = 0.35, 0.08
_SKIPPED = re.compile(r"[\w/-]\.\w{1,5}:\d|→|=>|\*\*")
"""It was taken from a review or a plan."""

_CLAUSE_END = re.compile(
    r"(?:[,;] | [-\u2013\u2014]+ |\b(?:so|and|therefore) )(?=(?:please|so|don'?t|do not|never|always|use|keep|work|leave|only|you|i)\b)"
    r"|\bso (?=no )"
)
_MOST_CLAUSES = 6


def kind_of_sentence(sentence: SpokenSentence) -> SentenceKind | None:
    """Return what a sentence is; None if it says nothing by itself: a command, a heading, a word."""
    words = plain_words(sentence.text)
    if len(words.split()) < _LEAST_WORDS or words.startswith("/") or words.endswith(":"):
        return None
    if len(words) > _MOST_CHARACTERS or _SKIPPED.search(words):
        return "said"
    marks = marks_of(words)
    if sentence.under_rules and not marks & {"asks", "claims", "describes"}:
        return "rule"
    if "asks" in marks and "polite" not in marks:
        return "said"
    if "lifts" in marks:
        return "lifts"
    if "limits" in marks:
        return "limits"
    if _is_rule(words):
        return "rule"
    chance = 0.0 if marks & {"claims", "proposes", "reports"} else likelihood(words)
    if chance >= _LIKELY:
        return "rule"
    if "may lift" in marks and not marks & {"claims", "proposes", "reports"}:
        return "may lift"
    if chance >= _PERHAPS:
        return "perhaps"
    return "said" if len(words.split()) >= _LEAST_SAID_WORDS else None


def _is_rule(words: str) -> bool:
    if marks_of(words) & {"claims", "proposes", "reports"}:
        return False
    for _ in range(_MOST_CLAUSES):  # behind what describes, a clause of its own may bid something
        marks = marks_of(words)
        if "describes" not in marks or "holds on" in marks:
            return _binds(marks)
        parts = _CLAUSE_END.split(words, maxsplit=1)
        if len(parts) < 2:
            return False
        words = parts[1]
    return False


def _binds(marks: frozenset[str]) -> bool:
    lasts, style = "lasts" in marks, "style" in marks
    if "once" in marks and not lasts:
        return False
    lasts = lasts or ("spreads" in marks and "job" not in marks)
    if "from now on" in marks or (style and lasts) or marks & {"forbids", "norm", "use not"}:
        return True
    if marks & {"bids", "wishes"} and (lasts or style):
        return True
    return "of the work" in marks and (lasts or style or "contrasts" in marks)
