"""Find the change that a later statement makes to an earlier one, without lists of values. Pure, bounded by a statement's length.

Law: a change found here closes nothing: it is an open conflict. The signs of `signals` are weighed and added; two statements
without a common topic change nothing, but for the home of the speaker.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from undrift.core.contradict.reading import read_statement
from undrift.core.contradict.signals import LEAST_SUM, WEIGHTS, common_topics, exchanged, other_value, signals
from undrift.core.contradict.topics import KindValue, TopicalClause, read_clauses
from undrift.core.contradict.words import clauses_of, is_plain

__all__ = ["FoundChange", "LONGEST_CHANGE", "change_between", "home_in", "is_alike"]

LONGEST_CHANGE = 200
"""The most characters of a statement that changes another one, or that is changed. In whole conversations 19 of 25 changes
between longer messages were wrong."""

_MOST_CLAUSES = 3
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


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A change: its rule, and the words of both statements that it rests on."""

    rule: str
    older: str
    newer: str


def change_between(older: str, newer: str) -> FoundChange | None:
    """Return the change that a newer statement makes to an older one; None if there is none."""
    if max(len(older), len(newer)) > LONGEST_CHANGE or not is_plain(newer):
        return None
    old, new = _read(older), _read(newer)
    return _change(old, new) if old and new else None


@lru_cache(maxsize=2_048)
def _read(text: str) -> TopicalClause | None:
    """Read a statement as a whole; one of more than three clauses says too many things."""
    clauses = clauses_of(text)
    return read_clauses(clauses) if 0 < len(clauses) <= _MOST_CLAUSES else None


def _change(old: TopicalClause, new: TopicalClause) -> FoundChange | None:
    if found := _another_home(old, new):
        return found
    if old.is_supposed or new.is_supposed or _is_elsewhere(old, new):
        return None
    if not (common_topics(old, new) or exchanged(old, new)):
        return None
    signs = signals(old, new)
    if (signs["denial"] and new.is_reported) or _are_many(old, new, signs):
        return None  # another person did it; or both stand side by side
    if sum(WEIGHTS[name] * value for name, value in signs.items()) < LEAST_SUM:
        return None
    if signs["denial"]:
        return FoundChange("change:denial", old.text, new.text)
    if pair := exchanged(old, new):
        return FoundChange("change:named", pair[0].text, pair[1].text)
    if pair := other_value(old, new):
        return FoundChange("change:value", pair[0].text, pair[1].text)
    return FoundChange("change:reported", old.text, new.text)


def _is_elsewhere(old: TopicalClause, new: TopicalClause) -> bool:
    here, there = _ENVIRONMENTS.intersection(old.topics), _ENVIRONMENTS.intersection(new.topics)
    return bool(here and there) and not here & there


def _are_many(old: TopicalClause, new: TopicalClause, signs: Mapping[str, float]) -> bool:
    """Tell whether what both name stands side by side: that the SDK supports Go does not end its support of Python."""
    if signs["cue"] or signs["amount"] or signs["denial"]:
        return False
    return any("many" in clause.cues for one in (old, new) for clause in read_statement(one.text))


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
    clause = _read(text)
    if clause is None or clause.is_supposed or clause.is_past or not _speaks(clause):
        return ""
    names = [one.value for one in clause.values if one.kind == "name"]
    return names[0] if names and not clause.denied.intersection(clause.topics) else ""


def _speaks(clause: TopicalClause) -> bool:
    return not _SPEAKER.isdisjoint(clause.words)


def is_alike(one: KindValue, other: KindValue, old: TopicalClause, new: TopicalClause) -> bool:
    """Tell whether two values in parts of sentences are of one kind; the topics around them say what bare amounts count."""
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
