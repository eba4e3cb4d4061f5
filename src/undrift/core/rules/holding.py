"""Decides which typed rules hold: a later sentence ends the rule that it is plainly about, or stands behind it. Pure.

Law: in doubt a rule stays, and what was typed after it stands behind it, in the order of typing: who reads both knows. Only a
sentence about nothing else ends a rule that says nothing else.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from undrift.core.contradict.words import STOP
from undrift.core.rules.crowded import first_sayings
from undrift.core.rules.typed import TypedSaying, sayings
from undrift.core.text.words import stem, words_of
from undrift.values.rule import Rule, rule_id
from undrift.values.window import ContextEntry

__all__ = ["EndedRule", "HeldRules", "holding", "typed_rules"]

_MOST_LATER = 8
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


def typed_rules(entries: Sequence[ContextEntry], *, unsure: bool = False) -> tuple[Rule, ...]:
    """Return the typed rules of a session that hold, and what lifts some of them, in the order of typing.

    `unsure`: with the sentences that are perhaps rules.
    """
    held = holding(sayings(entries))
    return held.shown if unsure else held.rules


def holding(typed: Iterable[TypedSaying], before: Sequence[Rule] = ()) -> HeldRules:
    """Return what holds after all that was said.

    Args:
        typed: In the order of typing; of each message the first ones count (`first_sayings`).
        before: What held before: rules of files, and added ones. A sentence stands behind them, and ends none.
    """
    state = _State()
    for rule in before:
        state.put(rule)
    ended: list[EndedRule] = []
    for one in first_sayings(typed):
        about = None if one.kind in ("rule", "perhaps") else state.about(one.text, least=_LEAST_SHARED[one.kind])
        lifts = one.kind not in ("rule", "perhaps")
        sure = one.kind != "perhaps" and not (one.kind == "may lift" and about is None)
        if about is not None and one.kind == "lifts" and about.origin == "typed" and _is_all_of(one.text, about):
            state.drop(about.id)
            ended.append(EndedRule(about, one.text))
        elif about is not None:
            state.rules[about.id] = replace(about, later=(*about.later[1 - _MOST_LATER :], one.text))
        state.drop(rule_id(one.text))  # said again: it is as new as this
        state.put(Rule(rule_id(one.text), one.text, "typed", one.where, "session", lifts=lifts, sure=sure))
    shown = tuple(state.rules.values())
    return HeldRules(tuple(rule for rule in shown if rule.sure), tuple(ended), shown)


class _State:
    """The rules so far, in their order, with an index of the words in them."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self._having: dict[str, dict[str, None]] = {}
        self._order: dict[str, int] = {}
        self._count = 0

    def put(self, rule: Rule) -> None:
        self.rules[rule.id] = rule
        self._count += 1
        self._order[rule.id] = self._count
        for word in () if rule.lifts else _content(rule.text):
            self._having.setdefault(word, {})[rule.id] = None

    def drop(self, id_: str) -> None:
        rule = self.rules.pop(id_, None)
        for word in () if rule is None else _content(rule.text):
            self._having.get(word, {}).pop(id_, None)

    def about(self, text: str, *, least: int) -> Rule | None:
        """Return the rule that a sentence is about: the one with which it shares the rarest words, of two the newer one."""
        own = _content(text)
        scores: dict[str, float] = {}
        shared: Counter[str] = Counter()
        for word in sorted(own):
            having = self._having.get(word, {})
            for id_ in having:
                scores[id_] = scores.get(id_, 0.0) + 1 / len(having)
                shared[id_] += 1
        best, most = None, 0.0
        for id_, score in scores.items():
            enough = shared[id_] >= min(least, len(own))
            if enough and (best is None or (score, self._order[id_]) > (most, self._order[best])):
                best, most = id_, score
        return None if best is None else self.rules[best]


def _is_all_of(text: str, rule: Rule) -> bool:
    """Tell whether a sentence is about this rule as a whole, and about nothing else."""
    if _SEVERAL.search(rule.text) or _AGAIN.search(text):
        return False
    own, bound = _content(text.split(",")[0]), _content(rule.text)
    return bool(own) and own <= bound


@lru_cache(maxsize=4_096)
def _content(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning."""
    return frozenset(
        stem(word)
        for word in words_of(text)
        if word not in _EMPTY and (len(word) >= _LEAST_CHARACTERS or word.isdigit())
    )
