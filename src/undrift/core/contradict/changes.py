"""Find the change that a later statement makes to an earlier one, without lists of values. Pure, linear in each text.

Law: a change found here closes nothing: it is an open conflict. Two statements must share topics. Then one of these decides:
a cue of change with another value of the same kind; another amount in the same words; a denial of what the other says.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from undrift.core.contradict.reading import read_statement
from undrift.core.contradict.topics import KindValue, TopicalClause, names_in, read_clauses, topic_of
from undrift.core.contradict.words import clauses_of, without_refusals

__all__ = ["FoundChange", "LONGEST_CHANGE", "change_between", "home_in", "is_alike"]

LONGEST_CHANGE = 200
"""The most characters of a statement that changes another one, or that is changed. In whole conversations 19 of 25 changes
between longer messages were wrong."""

_MOST_CLAUSES = 3
_LEAST_SHARE = 1 / 3
_LEAST_SHARE_OF_A_NAME = 0.5
_LEAST_SHARE_OF_A_FIRST_WORD = 0.6
_LEAST_SHARE_WITHOUT_VALUE = 2 / 3
_LEAST_DIGITS = 3
_UNTYPED = frozenset({"name", "maybe", "number", "count"})
_NUMERIC = frozenset({"port", "number", "version", "money", "share", "duration", "size", "count"})
_ENVIRONMENTS = frozenset(
    {"prod", "stag", "dev", "local", "test", "ci", "demo", "previe", "sandbo", "legacy", "canary", "qa", "uat"}
)
_HOME = re.compile(
    r"\b(?:based|li(?:v(?:e[sd]?|ing))|located|reside|s(?:it|tay)|work(?:ing)?) (?:\w{1,20} ){0,2}(?:at|from|in|near|out of)\b"
    r"|\bmy (?:address|home|office)\b",
    re.IGNORECASE,
)
_MOVED_HOME = re.compile(r"\bmoved(?=[.,]| (?:away|back|from|in|into|last|out|this|to|yesterday)\b)", re.IGNORECASE)
_SPEAKER = frozenset({"i", "we", "my", "our", "i'm", "i've", "we're", "we've"})
_ASKS = frozenset({"please", "always", "never"})


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A change: its rule, and the words of both statements that it rests on."""

    rule: str
    older: str
    newer: str


def change_between(older: str, newer: str) -> FoundChange | None:
    """Return the change that a newer statement makes to an older one; None if there is none."""
    if max(len(older), len(newer)) > LONGEST_CHANGE:
        return None
    for old in _read(older):
        for new in _read(newer):
            if (found := _change(old, new)) is not None:
                return found
    return None


@lru_cache(maxsize=2_048)
def _read(text: str) -> tuple[TopicalClause, ...]:
    """Read a statement: one or two clauses as a whole, three one by one; more say too many things."""
    clauses = clauses_of(text)
    if len(clauses) > _MOST_CLAUSES:
        return ()
    return (read_clauses(clauses),) if len(clauses) < _MOST_CLAUSES else tuple(read_clauses([one]) for one in clauses)


def _change(old: TopicalClause, new: TopicalClause) -> FoundChange | None:
    if old.is_unsure or new.is_blocked:
        return None
    common = frozenset(old.topics) & frozenset(new.topics)
    if _is_elsewhere(old, new, common):
        return None
    if new.cue and (found := _named(old, new, common) or _another_home(old, new)):
        return found
    ours, theirs = _about(old, common), _about(new, common)
    if _is_denied(old, common) != _is_denied(new, common):
        return _denied(old, new, common)
    share = len(common) / max(1, min(len(ours), len(theirs)))
    pair = _other_value(old, new, common)
    if pair is None:
        is_reported = new.cue == "moved" and len(common) >= 2 and len(ours - common) <= 1
        if is_reported and share >= _LEAST_SHARE_WITHOUT_VALUE:
            return FoundChange("change:reported", " ".join(sorted(ours)), " ".join(sorted(theirs)))
        return None
    if _is_enough(old, new, common, pair, share):
        return FoundChange("change:value", pair[0].text, pair[1].text)
    return None


def _is_enough(
    old: TopicalClause,
    new: TopicalClause,
    common: frozenset[str],
    pair: tuple[KindValue, KindValue],
    share: float,
) -> bool:
    """Tell whether two statements with different values of one kind are about the same thing."""
    kinds = {pair[0].kind, pair[1].kind}
    if not common:
        is_class = pair[0].kind.startswith("class:")
        return new.cue == "moved" and is_class and len(_about(old, common)) <= 1
    if len(common) == 1 and kinds & {"name", "maybe"} and not _first(old, common) & _first(new, common):
        return False
    is_typed = pair[0].kind not in _UNTYPED
    if not new.cue:
        is_amount = is_typed and pair[0].kind not in ("path", "identifier", "host")
        return is_amount and not _are_many(old, new) and _is_same_frame(old, new, common)
    least = _LEAST_SHARE if new.cue == "moved" or is_typed else _LEAST_SHARE_OF_A_NAME
    return share >= (_LEAST_SHARE_OF_A_FIRST_WORD if "maybe" in kinds else least)


def _is_elsewhere(old: TopicalClause, new: TopicalClause, common: Collection[str]) -> bool:
    """Tell whether two clauses are about two things: two environments, or one noun with two adjectives."""
    here, there = _ENVIRONMENTS.intersection(old.topics), _ENVIRONMENTS.intersection(new.topics)
    if here and there and not here & there:
        return True
    ours, theirs = dict(old.before), dict(new.before)
    return any(
        one in ours and one in theirs and ours[one] not in new.topics and theirs[one] not in old.topics
        for one in common
    )


def _is_denied(clause: TopicalClause, common: frozenset[str]) -> bool:
    return len(common & clause.denied) * 2 > len(common)


def _denied(old: TopicalClause, new: TopicalClause, common: frozenset[str]) -> FoundChange | None:
    """The same once with and once without a denial, and a cue that it changed, or a rule that was broken."""
    affirms = new if _is_denied(old, common) else old
    if without_refusals(affirms.text) != affirms.text:
        return None  # it denies something by the way
    is_rule = "never" in old.words and old.is_own >= new.is_own
    if "without" in old.words or not (new.cue or new.words & _ASKS or is_rule):
        return None
    if old.is_own and not new.is_own and "never" in old.words:
        return None  # another person did it
    ours = _about(old, common)
    least = 1 if new.cue and len(ours) == 1 and common <= names_in(old) else 2
    if len(common) < least or len(common) * 2 < len(ours) or len(common) * 3 < len(new.topics):
        return None
    if new.cue == "later" and "never" not in old.words and len(common) * 2 <= len(ours) and len(ours - common) >= 2:
        return None
    return FoundChange("change:denial", old.text, new.text)


def _named(old: TopicalClause, new: TopicalClause, common: frozenset[str]) -> FoundChange | None:
    """The newer statement names a value of the older one, and says that it changed."""
    known = {one.value for one in old.values}
    for one in old.values:
        if one.kind in ("date", "weekday", "count", "duration", "entity"):
            continue
        again = {other.kind for other in new.values if other.value == one.value}
        is_short = one.kind == "number" and len(one.value) < _LEAST_DIGITS
        if not again or is_short or (one.kind == "maybe" and again == {"maybe"}):
            continue
        others = [other for other in new.values if other.value not in known and is_alike(one, other, old, new)]
        rest = common - {topic_of(word) for word in one.value.split()}
        is_own = one.kind in ("path", "identifier", "port") or one.kind.startswith("class:")
        if others and (rest or is_own or (new.cue == "moved" and one.kind in ("name", "number"))):
            return FoundChange("change:named", one.text, others[0].text)
        if new.cue == "moved" and rest and one.kind in ("name", "maybe", "path", "identifier"):
            return FoundChange("change:named", one.text, new.text)
    return None


def _another_home(old: TopicalClause, new: TopicalClause) -> FoundChange | None:
    """The speaker moved: from where they live or work."""
    if not (_speaks(old) and _speaks(new) and _MOVED_HOME.search(new.text) and _HOME.search(old.text)):
        return None
    ours, theirs = ([x for x in one.values if x.kind in ("name", "count")] for one in (old, new))
    other = [one for one in theirs if one.value not in {x.value for x in ours}]
    return FoundChange("change:home", ours[0].text, other[0].text) if ours and other else None


def home_in(text: str) -> str:
    """Return the place where a short statement says that its speaker lives or works; empty if it says none."""
    if len(text) > LONGEST_CHANGE or not (_HOME.search(text) or _MOVED_HOME.search(text)):
        return ""
    for clause in _read(text):
        names = [one.value for one in clause.values if one.kind == "name"]
        denies = frozenset(clause.topics) & clause.denied
        if names and not denies and not clause.is_unsure and _speaks(clause):
            return names[0]
    return ""


def _speaks(clause: TopicalClause) -> bool:
    return not _SPEAKER.isdisjoint(clause.words)


def _other_value(old: TopicalClause, new: TopicalClause, common: Collection[str]) -> tuple[KindValue, KindValue] | None:
    """Return a value of the older statement, and another one of its kind that only the newer one has."""
    known, again = {one.value for one in old.values}, {one.value for one in new.values}
    pairs = [
        (one, other)
        for one in old.values
        for other in new.values
        if one.value not in again
        and other.value not in known
        and topic_of(one.value) not in common
        and topic_of(other.value) not in common
        and is_alike(one, other, old, new)
    ]
    return min(pairs, key=lambda pair: "maybe" in (pair[0].kind, pair[1].kind), default=None)


def is_alike(one: KindValue, other: KindValue, old: TopicalClause, new: TopicalClause) -> bool:
    """Tell whether two values are of one kind, so that one can take the place of the other."""
    kinds = {one.kind, other.kind}
    if "entity" in kinds or ("maybe" in kinds and new.cue != "moved"):
        return False
    if kinds == {"count"}:
        return (
            one.noun == other.noun
            or one.noun in new.topics
            or other.noun in old.topics
            or one.noun.endswith(other.noun)
        )
    if len(kinds) == 1:
        return kinds != {"maybe"}
    if kinds <= {"name", "maybe"} or kinds <= {"date", "weekday", "ordinal"} or kinds <= {"path", "host"}:
        return True
    if (one.kind, other.kind) == ("name", "path"):
        return new.cue == "moved"
    return "number" in kinds and kinds <= _NUMERIC and not (one.noun and other.noun)


def _about(one: TopicalClause, common: Collection[str]) -> frozenset[str]:
    """Return the topics of a clause, without the names that only it has."""
    names = names_in(one, with_classes=True)
    return frozenset(topic for topic in one.topics if topic in common or topic not in names)


def _first(one: TopicalClause, common: Collection[str]) -> frozenset[str]:
    about = _about(one, common)
    return frozenset([topic for topic in one.topics if topic in about][:1])


def _are_many(old: TopicalClause, new: TopicalClause) -> bool:
    return any("many" in clause.cues for one in (old, new) for clause in read_statement(one.text))


def _is_same_frame(old: TopicalClause, new: TopicalClause, common: Collection[str]) -> bool:
    """Tell whether both say the same apart from their values."""
    ours, theirs = set(old.topics), set(new.topics)
    return len(common) >= 2 and (ours <= theirs or theirs <= ours) and len(ours ^ theirs) <= 1
