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
from undrift.core.rules.crowded import first_sayings, message_of
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
_LEAST_SHARED = {"lifts": 1, "limits": 1, "may lift": 1, "perhaps": 2}
"""How many words a sentence shares with the rule that it is about; all of them if it has fewer."""

_LEAST_UNSURE = 2
"""As many for one that only may lift, if it is of the same message, or if the rule was not typed."""

_SEVERAL = re.compile(r";|\band\b|\.\s", re.IGNORECASE)
_MOST_OF_A_REST = 8
"""The most words with meaning of a sentence that only points back."""

_LEAST_SHARE = 3
"""And of the shorter of the two at least the third part."""

_AGAIN = re.compile(
    r"\b(?:still (?:holds?|stands?|applies|counts)|except|but|only|unless|until|till|today|tonight|this (?:time|once|one)|for now|other|others"
    r"|rest|else|otherwise)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:it|that|this|there|they|them|those|these|the rest|everything else|anything else|otherwise|the others?)\b",
    re.IGNORECASE,
)
"""Its subject is perhaps that of the sentence before it."""


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
        shown: The rules with all else that was typed, in the order of typing: for a text with room for it.
    """

    rules: tuple[Rule, ...]
    ended: tuple[EndedRule, ...]
    shown: tuple[Rule, ...]


def typed_rules(entries: Sequence[ContextEntry], *, unsure: bool = False) -> tuple[Rule, ...]:
    """Return the typed rules of a session that hold, and what lifts some of them, in the order of typing.

    `unsure`: with all else that was typed.
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
        state.put(rule, is_findable=not rule.lifts)
    ended: list[EndedRule] = []
    for one in first_sayings(typed):
        about = state.about(one)
        if about is not None and one.kind == "lifts" and about.origin == "typed" and _is_all_of(one.text, about):
            state.drop(about.id)
            ended.append(EndedRule(about, one.text))
        elif about is not None and one.kind != "perhaps":
            state.rules[about.id] = replace(about, later=(*about.later[1 - _MOST_LATER :], one.text))
        lifts = one.kind not in ("rule", "perhaps", "said")
        # words that lift what no rule says stand with the rest of what was typed, in its order: what they lift stands there
        sure = one.kind == "rule" or (about is not None and about.sure)
        state.drop(rule_id(one.text))  # said again: it is as new as this
        rule = Rule(rule_id(one.text), one.text, "typed", one.where, "session", lifts=lifts, sure=sure)
        state.put(rule, is_findable=not lifts and one.kind != "said")
    shown = tuple(state.rules.values())
    return HeldRules(tuple(rule for rule in shown if rule.sure), tuple(ended), shown)


class _State:
    """The rules so far, in their order, with an index of the words in them."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self._having: dict[str, dict[str, None]] = {}
        self._order: dict[str, int] = {}
        self._count = 0
        self._last = ("", "")
        """The newest message with a sentence about a rule, and the rule's id."""

    def put(self, rule: Rule, *, is_findable: bool) -> None:
        """Add a rule at the end. `is_findable`: a later sentence can be about it."""
        self.rules[rule.id] = rule
        self._count += 1
        self._order[rule.id] = self._count
        for word in _content(rule.text) if is_findable else ():
            self._having.setdefault(word, {})[rule.id] = None

    def drop(self, id_: str) -> None:
        rule = self.rules.pop(id_, None)
        for word in () if rule is None else _content(rule.text):
            self._having.get(word, {}).pop(id_, None)

    def about(self, one: TypedSaying) -> Rule | None:
        """Return the rule that a sentence is about: the one with which it shares the rarest words, of two the newer one.

        If it shares none and points back, it is about what the sentence before it in its message was about.
        """
        if one.kind in ("rule", "said"):
            return None
        message = message_of(one.where)
        found = self._nearest(one)
        if found is None and self._last[0] == message and _points_back(one):
            found = self.rules.get(self._last[1])
        if found is not None:
            self._last = (message, found.id)
        return found

    def _nearest(self, one: TypedSaying) -> Rule | None:
        own = _content(one.text)
        scores: dict[str, float] = {}
        shared: Counter[str] = Counter()
        for word in sorted(own):
            having = self._having.get(word, {})
            for id_ in having:
                scores[id_] = scores.get(id_, 0.0) + 1 / len(having)
                shared[id_] += 1
        best, most = None, 0.0
        for id_, score in scores.items():
            enough = self._is_enough(one, id_, shared[id_], len(own))
            if enough and (best is None or (score, self._order[id_]) > (most, self._order[best])):
                best, most = id_, score
        return None if best is None else self.rules[best]

    def _is_enough(self, one: TypedSaying, id_: str, shared: int, own: int) -> bool:
        """Tell whether two share so many words that one is about the other. `own`: the words of the sentence."""
        rule, least = self.rules[id_], _LEAST_SHARED[one.kind]
        is_earlier = rule.origin == "typed" and message_of(rule.where) != message_of(one.where)
        if one.kind in ("lifts", "limits"):
            return shared >= min(least, own)
        if _LEAST_SHARE * shared < min(own, len(_content(rule.text))):  # long sentences share a word by chance
            return False
        if one.kind == "perhaps":
            return is_earlier and shared >= least
        return shared >= min(least if is_earlier else _LEAST_UNSURE, own)


def _points_back(one: TypedSaying) -> bool:
    return (
        one.kind != "perhaps"
        and _POINTS_BACK.search(one.text) is not None
        and len(_content(one.text)) <= _MOST_OF_A_REST
    )


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
