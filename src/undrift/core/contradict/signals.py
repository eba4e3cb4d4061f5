"""The signs of a change between two statements, and those against it. Pure; bounded by the words of a statement.

Law: no sign asks how similar two texts are as a whole. Topics are aligned by their stems, values by their kinds, places in the
sentence by its other words.
"""

import re
from collections.abc import Collection, Mapping
from difflib import SequenceMatcher

from undrift.core.contradict.quantities import is_same_date
from undrift.core.contradict.reading import read_statement
from undrift.core.contradict.topics import KindValue, TopicalClause, topic_of
from undrift.core.contradict.words import STOP, clauses_of, stated
from undrift.core.text.words import stem, terms_of

__all__ = ["LEAST_SUM", "WEIGHTS", "common_topics", "exchanged", "other_value", "signals"]

WEIGHTS: Mapping[str, float] = {
    "cue": 2.5, "later": 1.9, "exchange": 1.0, "address": 1.0, "amount": 0.9, "state": 0.9, "denial": 0.4, "subject": 0.4,
    "clauses": -0.6, "long": -0.6, "narrower": -0.6, "reported": -0.6, "things": -1.0, "kept": -1.1, "both": -1.3,
    "substituted": -1.4, "added": -1.5, "past": -2.2,
}  # fmt: skip
"""How much each sign counts: a logistic regression on labelled pairs and on neighbours in whole conversations, rounded."""
LEAST_SUM = 1.4
"""From this sum of signs a change is found."""

_MOST_WORDS = 60
_MOST_OF_A_SIGN = 2
_LEAST_STEM = 4
_LEAST_PREFIX = 5
_LEAST_SHARE_OF_A_STEM = 0.7
_LEAST_NAMED = 3
_AMOUNTS = frozenset({"port", "number", "version", "money", "share", "duration", "size", "count", "clock"})
_BARE = frozenset({"number", "count", "port", "version"})
_DATES = frozenset({"date", "weekday", "ordinal"})
_ADDRESSES = frozenset({"path", "host", "identifier"})
_NAMES = frozenset({"name", "maybe"})
_ORDER = {"amount": 0, "date": 1, "address": 2}
_STATES = frozenset({
    "switch", "visibility", "consent", "obligation", "permission", "synchrony", "statefulness", "mutability", "automation",
    "availability", "result", "progress", "degree", "speed",
})  # fmt: skip
_WRITTEN_VALUE = re.compile(r"\d|[/.@_]\w")


def common_topics(old: TopicalClause, new: TopicalClause) -> dict[str, str]:
    """Return the topics of the older statement that the newer one has too, each with its form there."""
    return {one: other for one in old.topics for other in new.topics if _is_near(one, other)}


def signals(old: TopicalClause, new: TopicalClause) -> dict[str, float]:
    """Return the signs of a change; each is 0 where there is none."""
    common = common_topics(old, new)
    both, narrower = _qualified(old, new, common)
    pair = other_value(old, new)
    kind = _family(pair[0]) if pair else ""
    ours = _about(old, common)
    is_stated = kind in ("amount", "date") or _is_other_state(old.text, new.text)
    denial = _is_denied(old, common) != _is_denied(new, common.values())
    return {
        "cue": new.cue == "moved",
        "later": new.cue == "later",
        "subject": bool(ours) and ours[0] in common,
        "long": min(2.0, max(0, len(old.topics) + len(new.topics) - 10) / 10),
        "clauses": len(clauses_of(old.text)) + len(clauses_of(new.text)) - 2,
        "things": (is_stated or denial) and _are_two_things(old, new),
        "exchange": exchanged(old, new) is not None,
        "amount": kind in ("amount", "date"),
        "address": kind == "address",
        "state": _is_other_state(old.text, new.text),
        "kept": not denial and _is_kept(old, new, common),
        "denial": denial,
        "substituted": _substituted(old, new),
        "both": min(both, _MOST_OF_A_SIGN),
        "narrower": min(narrower, _MOST_OF_A_SIGN),
        "past": old.is_past,
        "added": new.is_added,
        "reported": new.is_reported,
    }


def _is_near(one: str, other: str) -> bool:
    """Tell whether two stems are of one family: ``migrat`` and ``migrate``, ``host`` and ``hoster``."""
    if one == other:
        return True
    shorter = min(len(one), len(other))
    if shorter < _LEAST_STEM:
        return False
    same = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    share = same / max(len(one), len(other))
    return same >= _LEAST_PREFIX or (same >= _LEAST_STEM and share >= _LEAST_SHARE_OF_A_STEM)


def _is_alike(one: KindValue, other: KindValue) -> bool:
    """Tell whether two values are of one kind, so that one can take the place of the other."""
    family = _family(one)
    if family != _family(other):
        return {family, _family(other)} == {"address", "name"}
    if family == "amount":
        if one.noun and other.noun:
            return _is_near(one.noun, other.noun)
        kinds = {one.kind, other.kind}
        return len(kinds) == 1 or kinds <= _BARE or "number" in kinds
    return family != "entity"


def other_value(old: TopicalClause, new: TopicalClause) -> tuple[KindValue, KindValue] | None:
    """Return a value of the older statement, and another one of its kind that only the newer one has."""
    pairs = [
        (one, other)
        for one in old.values
        for other in new.values
        if _is_alike(one, other) and not _is_said(one, new) and not _is_said(other, old)
    ]
    return min(pairs, key=lambda pair: max(_ORDER.get(_family(one), len(_ORDER)) for one in pair), default=None)


def exchanged(old: TopicalClause, new: TopicalClause) -> tuple[KindValue, KindValue] | None:
    """Return a value that both statements name, and another one of its kind that only the newer one has."""
    low = new.text.lower()
    for one in old.values:
        if one.kind != "maybe" and (_is_said(one, new) or (len(one.value) > _LEAST_NAMED and one.value in low)):
            for other in new.values:
                if other.kind != "maybe" and _is_alike(one, other) and not _is_said(other, old):
                    return one, other
    return None


def _is_said(one: KindValue, clause: TopicalClause) -> bool:
    """Tell whether a clause says a value, or says it more or less exactly: 3 May and 3 May 2026, 22 and 22.4."""
    for other in clause.values:
        if one.value == other.value:
            return True
        if one.kind == other.kind == "date" and is_same_date(one.value, other.value):
            return True
        if "version" in (one.kind, other.kind) and (
            one.value.startswith(f"{other.value}.") or other.value.startswith(f"{one.value}.")
        ):
            return True
    return False


def _family(one: KindValue) -> str:
    if one.kind in _AMOUNTS:
        return "amount"
    if one.kind in _DATES:
        return "date"
    if one.kind in _ADDRESSES:
        return "address"
    return "name" if one.kind in _NAMES else one.kind


def _about(clause: TopicalClause, common: Collection[str]) -> list[str]:
    """Return the topics of a clause, without the names that only it has."""
    names = {
        topic_of(word)
        for one in clause.values
        if _family(one) in ("name", "address") or one.kind.startswith("class:")
        for word in one.value.split()
    }
    return [topic for topic in clause.topics if topic in common or topic not in names]


def _qualified(old: TopicalClause, new: TopicalClause, common: Mapping[str, str]) -> tuple[int, int]:
    """Return how many common topics have another word in front of them in both statements, and in the newer one alone."""
    ours, theirs = dict(old.before), dict(new.before)
    both = narrower = 0
    for one, other in common.items():
        mine, its = topic_of(ours.get(one, "")), topic_of(theirs.get(other, ""))
        is_mine = bool(mine) and not any(_is_near(mine, topic) for topic in new.topics)
        if its and not any(_is_near(its, topic) for topic in old.topics):
            both += is_mine
            narrower += not is_mine
    return both, narrower


def _is_denied(clause: TopicalClause, common: Collection[str]) -> bool:
    return len(clause.denied.intersection(common)) * 2 > len(common)


def _are_two_things(old: TopicalClause, new: TopicalClause) -> bool:
    """Tell whether each statement names something that the other does not."""
    found = []
    for one, other in ((old, new), (new, old)):
        known = {value.value for value in other.values}
        words = {*other.topics, *other.words}
        found.append(
            any(
                value.kind != "maybe"
                and _family(value) in ("name", "address")
                and value.value not in known
                and value.value.split()[-1] not in words
                for value in one.values
            )
        )
    return all(found)


def _is_kept(old: TopicalClause, new: TopicalClause, common: Collection[str]) -> bool:
    """Tell whether the newer statement repeats all topics and values of the older one, so that the rest only adds."""
    return set(old.topics) <= set(common) and all(_is_said(one, new) for one in old.values)


def _is_other_state(older: str, newer: str) -> bool:
    ours, theirs = (
        {one.relation: one.value for clause in read_statement(text) for one in clause.values} for text in (older, newer)
    )
    return any(theirs.get(name, value) != value for name, value in ours.items() if name in _STATES)


def _substituted(old: TopicalClause, new: TopicalClause) -> float:
    """Return how many words beside the values replace another in the same place, times how alike the sentences are.

    In two sentences of one form, the word that differs says that they are about two things.
    """
    ours, theirs = ([word.lower() for word in terms_of(stated(one.text))[:_MOST_WORDS]] for one in (old, new))
    forms = [["#" if _WRITTEN_VALUE.search(word) else stem(word) for word in words] for words in (ours, theirs)]
    matcher = SequenceMatcher(None, forms[0], forms[1], autojunk=False)
    count = 0
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "replace":
            count += _says(ours[start:end], theirs) and _says(theirs[other_start:other_end], ours)
    return float(matcher.ratio()) * min(count, 3)


def _says(words: Collection[str], others: Collection[str]) -> bool:
    """Tell whether one of the words is a topic that the other statement does not have."""
    topics = [topic_of(word) for word in words if word not in STOP and not _WRITTEN_VALUE.search(word)]
    there = [topic for word in others if (topic := topic_of(word))]
    return any(topic and not any(_is_near(topic, one) for one in there) for topic in topics)
