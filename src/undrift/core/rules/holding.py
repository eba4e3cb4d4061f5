"""Decides which typed rules hold: a later sentence ends the rule that it is plainly about, or stands behind it. Pure.

Law: in doubt a rule stays, and what was typed after it stands behind it, in the order of typing: who reads both knows. Only a
sentence about nothing else ends a rule that says nothing else.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from undrift.core.contradict.words import STOP
from undrift.core.rules.typed import TypedSaying
from undrift.core.text.words import stem, words_of
from undrift.values.rule import Rule, rule_id

__all__ = ["EndedRule", "HeldRules", "holding"]

_LEAST_CHARACTERS = 3
_EMPTY = STOP | frozenset(
    {
        "rule",
        "rules",
        "limit",
        "ban",
        "restriction",
        "instruction",
        "preference",
        "convention",
        "policy",
        "requirement",
        "thing",
    }
    | {
        "said",
        "say",
        "forget",
        "ignore",
        "mind",
        "may",
        "free",
        "freely",
        "allow",
        "allowed",
        "fine",
        "okay",
        "lift",
        "lifted",
        "cancel",
    }
    | {
        "cancelled",
        "canceled",
        "drop",
        "yourself",
        "want",
        "like",
        "need",
        "have",
        "holds",
        "hold",
        "apply",
        "use",
        "make",
        "today",
        "gone",
    }
    | {
        "point",
        "earlier",
        "table",
        "after",
        "before",
        "until",
        "also",
        "don",
        "dont",
        "back",
        "ever",
        "get",
        "work",
        "good",
        "way",
        "time",
    }
    | {"everything", "anything", "else", "rest", "whatever", "whenever", "always", "never", "please", "still"}
)
_LEAST_SHARED = {"lifts": 1, "limits": 1, "may lift": 2}
"""How many words a sentence shares with the rule that it is about; all of them if it has fewer."""

_SEVERAL = re.compile(r";|\band\b|\.\s", re.IGNORECASE)
_AGAIN = re.compile(r"\b(?:still (?:holds?|stands?|applies|counts)|except|but|only|unless)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EndedRule:
    """A rule that holds no longer, and the sentence that ended it."""

    rule: Rule
    by: str


@dataclass(frozen=True, slots=True)
class HeldRules:
    """The state after all that was typed.

    Args:
        rules: The rules that hold, with what lifts some of them, in the order of typing.
        ended: Those that ended.
        shown: The rules with the sentences that are perhaps some, in the order of typing: for a text with room for them.
    """

    rules: tuple[Rule, ...]
    ended: tuple[EndedRule, ...]
    shown: tuple[Rule, ...]


def holding(typed: Iterable[TypedSaying], before: Sequence[Rule] = ()) -> HeldRules:
    """Return what holds after all that was said.

    Args:
        typed: In the order of typing.
        before: What held before: rules of files, and added ones. A sentence stands behind them, and ends none.
    """
    rules = list(before)
    ended: list[EndedRule] = []
    for one in typed:
        about = None if one.kind in ("rule", "perhaps") else _about(one.text, rules, least=_LEAST_SHARED[one.kind])
        rules = [rule for rule in rules if rule.id != rule_id(one.text)]  # said again: it is as new as this
        if about is not None and about in rules:
            place = rules.index(about)
            if one.kind == "lifts" and about.origin == "typed" and _is_all_of(one.text, about):
                ended.append(EndedRule(rules.pop(place), one.text))
            else:
                rules[place] = replace(about, later=(*about.later, one.text))
        lifts = one.kind not in ("rule", "perhaps")
        sure = one.kind != "perhaps" and not (one.kind == "may lift" and about is None)
        rules.append(Rule(rule_id(one.text), one.text, "typed", one.where, "session", lifts=lifts, sure=sure))
    return HeldRules(tuple(rule for rule in rules if rule.sure), tuple(ended), tuple(rules))


def _about(text: str, rules: Sequence[Rule], *, least: int) -> Rule | None:
    """Return the rule that a sentence is about: the one with which it shares the rarest words; None if there is none."""
    words = {rule.id: _content(rule.text) for rule in rules if not rule.lifts}
    if not words:
        return None
    spread = Counter(word for found in words.values() for word in found)
    own = _content(text)
    best, most = None, 0.0
    for rule in rules:
        shared = own & words.get(rule.id, frozenset())
        score = sum(1 / spread[word] for word in shared)
        if len(shared) >= min(least, len(own)) and score and score >= most:  # of two the newer one
            best, most = rule, score
    return best


def _is_all_of(text: str, rule: Rule) -> bool:
    """Tell whether a sentence is about this rule as a whole, and about nothing else."""
    if _SEVERAL.search(rule.text) or _AGAIN.search(text):
        return False
    own, bound = _content(text.split(",")[0]), _content(rule.text)
    return bool(own) and own <= bound


def _content(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning."""
    return frozenset(
        stem(word)
        for word in words_of(text)
        if word not in _EMPTY and (len(word) >= _LEAST_CHARACTERS or word.isdigit())
    )
