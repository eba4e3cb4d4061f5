"""Compare a newer statement with an older one: rules in a fixed order, each with a name. Pure.

Law: no rule asks how similar two texts are as a whole; each names the words that it rests on. The first rule that finds
something has the say.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from undrift.core.contradict.changes import change_between
from undrift.core.contradict.lexicon import relation_of
from undrift.core.contradict.quantities import is_same_date
from undrift.core.contradict.reading import StatementClause, Value, read_statement
from undrift.core.contradict.words import STOP, without_refusals
from undrift.core.text.words import stem, stems_of

__all__ = ["Comparison", "compare"]

_LEAST_COVERED = 0.75
_LEAST_JACCARD = 0.5
_LEAST_COMMON = 2
_CONFIDENCE_OF_A_CHANGE = 0.5
_CONFIDENCE_OF_ONE_PLACE = 0.85
_NARROWS = frozenset({"for", "in", "on", "at", "during", "with", "when", "under", "inside", "within"})
"""A statement that begins so, and names what the other does not, is about a part: "For enterprise keys the limit is 600"."""
_BOUNDS = {
    "least": re.compile(r"\b(?:above|after|at least|from|minimum|more than|no less|over|since)\b", re.IGNORECASE),
    "most": re.compile(r"\b(?:at most|below|before|less than|maximum|no more|until|up to|under)\b", re.IGNORECASE),
}
_OWNING = frozenset({
    "own", "owns", "lead", "leads", "maintain", "maintains", "head", "heads", "chair", "chairs", "manages",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "host", "server", "branch", "bucket", "owner", "lead", "maintainer", "deadline", "entry", "point", "formatter",
    "linter", "runner", "bundler", "broker", "queue", "orm", "cdn", "framework", "library", "licence", "license",
    "region", "domain", "url", "address", "name", "path", "folder", "directory", "file", "version", "release", "port",
    "timeout", "limit", "status", "state", "priority", "severity", "level", "default", "editor", "shell", "engineer",
    "manager", "contact", "reviewer", "color", "colour", "theme", "format", "encoding", "timezone", "zone",
    "provider", "vendor", "model", "type", "style", "convention", "policy", "strategy", "mode", "schedule",
    "interval", "separator", "delimiter", "prefix", "suffix", "tag",
})  # fmt: skip
"""Nouns of which a thing has one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation between two statements. `kind`: ``contradiction``, ``reinforce`` (they say the same) or ``none``."""

    kind: str
    rule: str = ""
    older: str = ""
    newer: str = ""
    confidence: float = 0.0


_NONE = Comparison("none")
_Rule = Callable[[StatementClause, StatementClause], Comparison | None]


def compare(older: str, newer: str) -> Comparison:
    """Compare an older statement with a newer one.

    Returns the contradiction with the highest confidence; else that all of the newer one was said before; else a change that
    the newer one makes, at a confidence that closes nothing; else none.
    """
    clauses = read_statement(older)
    found = [[_compare_clauses(one, other) for one in clauses] for other in read_statement(newer)]
    against = [one for row in found for one in row if one.kind == "contradiction"]
    if against:
        return max(against, key=lambda one: one.confidence)
    repeats = [one for row in found for one in row if one.kind == "reinforce"]
    if repeats and all(any(one.kind == "reinforce" for one in row) for row in found):
        return max(repeats, key=lambda one: one.confidence)
    change = change_between(older, newer)
    if change is not None:
        return Comparison("contradiction", change.rule, change.older, change.newer, _CONFIDENCE_OF_A_CHANGE)
    return _NONE  # what says more than the older statement is no repeat of it


def _compare_clauses(older: StatementClause, newer: StatementClause) -> Comparison:
    if "tentative" in older.cues | newer.cues:
        return _NONE
    if ("past" in newer.cues and "correction" not in newer.cues) or ("past" in older.cues and not older.values):
        return _NONE
    for rule in _RULES:
        found = rule(older, newer)
        if found is not None:
            return found
    return _NONE


def _same(older: StatementClause, newer: StatementClause) -> Comparison | None:
    """The same words, or the same values in the same place: a repeat is no contradiction."""
    if older.denies != newer.denies:
        return None
    if older.content == newer.content and _pairs(older) == _pairs(newer) and older.words == newer.words:
        return Comparison("reinforce", "same", older.text, newer.text, 0.95)
    if (
        older.values
        and _pairs(older) == _pairs(newer)
        and older.frame == newer.frame
        and newer.displaced <= older.displaced
    ):
        return Comparison("reinforce", "same", older.text, newer.text, 0.9)
    return None


def _displaced(older: StatementClause, newer: StatementClause) -> Comparison | None:
    """ "Instead of X", "from X to Y", "X was replaced": what the older statement says of X no longer holds."""
    if older.denies:
        return None
    for gone in sorted(newer.displaced - older.displaced, key=len, reverse=True):
        stems = {stem(word) for word in gone.split()} - STOP
        values = {value.value for value in older.values} & ({gone} | {v.value for v in _read_values(gone)})
        if not stems or not (stems <= older.content or values):
            continue
        place = older.frame - stems
        if _repeats(older, newer, stems):
            return None
        common = place & newer.content
        if len(common) * 2 >= len(place) and (common or not place):
            return Comparison("contradiction", "correction:displaced", gone, newer.text, 0.9)
        if len(place) < 2 or _identifiers(stems):
            return Comparison("contradiction", "correction:displaced", gone, newer.text, _CONFIDENCE_OF_A_CHANGE)
    return None


def _repeats(older: StatementClause, newer: StatementClause, stems: frozenset[str] | set[str]) -> bool:
    """Tell whether the older statement names already what the newer one puts in the place of those words."""
    ours, theirs = ({stem(m[0].lower()): m.start() for m in _CAPITAL.finditer(one.text)} for one in (older, newer))
    instead = {name for name in ours.keys() & theirs.keys() if ours[name] or theirs[name]} - stems - STOP
    unknown = {name for name, at in theirs.items() if at} - stems - STOP - older.content
    return bool(instead) and not unknown and not _identifiers(newer.content - older.content)


def _values(older: StatementClause, newer: StatementClause) -> Comparison | None:
    """Another value of one class in the same place."""
    if "additive" in newer.cues:
        return None
    ours, theirs = _by_relation(older), _by_relation(newer)
    differing = [name for name in ours if name in theirs and not _share_one(name, ours[name], theirs[name])]
    if "version" in differing and len(differing) > 1:
        qualifying = all(value.qualifies for name in (ours, theirs) for value in name["version"])
        differing = [name for name in differing if name != "version"] if qualifying else differing
    if len(differing) != 1:
        return None
    name = differing[0]
    if len(ours[name]) != 1 or len(theirs[name]) != 1:
        return None
    before, after = ours[name][0], theirs[name][0]
    if older.denies != newer.denies:
        return None
    relation = relation_of(name)
    if relation.cardinality == "many" or ("many" in older.cues | newer.cues and not _is_amount(name)):
        return None
    if _bounds(older) != _bounds(newer) and not newer.cues & {"correction", "update"}:
        return None
    if not _is_amount(name) and _is_scope(older, before) and _is_scope(newer, after) and _pairs(older) & _pairs(newer):
        return None
    left, right = _place(older, ours, theirs), _place(newer, theirs, ours)
    if not left and not right and not relation.project_wide and not _pairs(older) & _pairs(newer):
        left, right = _rest(older), _rest(newer)
        if not left:
            return None
    confidence = _agreement(left, right, newer.cues)
    if not confidence or (confidence < _CONFIDENCE_OF_ONE_PLACE and newer.words[0] in _NARROWS and right - left):
        return None
    return Comparison("contradiction", f"value:{name.partition(':')[0]}", before.text, after.text, confidence)


def _share_one(name: str, ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
    if name == "date":
        return any(is_same_date(one.value, other.value) for one in ours for other in theirs)
    return not {one.value for one in ours}.isdisjoint(other.value for other in theirs)


def _bounds(clause: StatementClause) -> frozenset[str]:
    """Return which sides of an amount a clause bounds: "over 500 euros" and "up to 500 dollars" both hold."""
    return frozenset(side for side, pattern in _BOUNDS.items() if pattern.search(clause.text))


def _is_scope(clause: StatementClause, value: Value) -> bool:
    """Tell whether a value says where the rest holds: "Terraform for the AWS accounts"."""
    before = [word for word in clause.words[max(0, value.at - 2) : value.at] if word not in ("the", "our", "all")]
    return bool(before) and before[-1] in _NARROWS


def _agreement(left: frozenset[str], right: frozenset[str], cues: frozenset[str]) -> float:
    """Return how sure it is that two places are one; 0: they are not."""
    if left == right:
        return 0.9
    common = left & right
    if (
        cues & {"correction", "update"}
        and common
        and (left <= right or right <= left or len(common) * 3 >= len(left | right) * 2)
    ):
        return 0.85
    if common and (left < right or right < left) and len(left ^ right) == 1:
        return 0.6
    return 0.0


def _place(clause: StatementClause, own: dict[str, list[Value]], others: dict[str, list[Value]]) -> frozenset[str]:
    """Return where a clause's values hold: its frame, and the values of classes that only it names."""
    lone = {
        stem(value.value)
        for name, values in own.items()
        if name not in others
        for value in values
        if not value.qualifies
    }
    shared = {value.value for name, values in own.items() if name in others for value in values}
    return clause.frame | (lone - shared)


def _rest(clause: StatementClause) -> frozenset[str]:
    """Return all words of a clause that are no part of a value."""
    return clause.content - {stem(word) for value in clause.values for word in value.text.split(" ")}


def _polarity(older: StatementClause, newer: StatementClause) -> Comparison | None:
    """The same said once with and once without a denial."""
    if older.denies == newer.denies or _refuses(newer if older.denies else older) or "without" in older.words:
        return None
    left, right = older.content, newer.content
    common = left & right
    if len(common) < _LEAST_COMMON or len(common) < _LEAST_COVERED * min(len(left), len(right)):
        return None
    if len(common) < _LEAST_JACCARD * len(left | right):
        return None
    if _identifiers(left) != _identifiers(right) or _opposed(older, newer):
        return None
    if not (left <= right or right <= left):
        return (
            None  # each names something that the other does not: two things, of which one may be what the other is not
        )
    return Comparison("contradiction", "polarity", older.text, newer.text, 0.9)


def _refuses(clause: StatementClause) -> bool:
    """Tell whether a clause that does not deny as a whole denies something by the way."""
    return without_refusals(clause.text) != clause.text


def _opposed(older: StatementClause, newer: StatementClause) -> bool:
    """Tell whether both also differ in a value, so that the denial says the same again: "not active" and "inactive"."""
    ours, theirs = _by_relation(older), _by_relation(newer)
    return any({v.value for v in ours[name]} != {v.value for v in theirs[name]} for name in ours if name in theirs)


def _role(older: StatementClause, newer: StatementClause) -> Comparison | None:
    """Another person in the same role: "Ann leads search" and "Bob leads search"."""
    if older.denies or newer.denies or "additive" in newer.cues:
        return None
    ours, theirs = older.words, newer.words
    if len(ours) < 3 or len(theirs) < 3 or ours[0] == theirs[0] or not (_is_name(older.text) and _is_name(newer.text)):
        return None
    owns = ours[1] in _OWNING and theirs[1] in _OWNING
    is_the = ours[1:3] == theirs[1:3] == ("is", "the")
    if not owns and not is_the:
        return None
    if {stem(word) for word in ours[2:]} != {stem(word) for word in theirs[2:]}:
        return None
    return Comparison("contradiction", "value:role", ours[0], theirs[0], 0.9)


def _named(older: StatementClause, newer: StatementClause) -> Comparison | None:
    """Another name for a thing that has one: "the staging host is eu-1" and "... eu-2"."""
    if older.denies or newer.denies or "additive" in newer.cues or "many" in older.cues | newer.cues:
        return None
    if (
        not older.head
        or not older.tail
        or not newer.tail
        or (older.values and newer.values and _by_shared(older, newer))
    ):
        return None
    if set(older.head) != set(newer.head):
        return None
    before, after = _stated_words(older.tail), _stated_words(newer.tail)
    if not before or not after or {w.lower() for w in before} & {w.lower() for w in after}:
        return None
    if _serve_two_ends(older.tail, newer.tail):
        return None
    attribute = _is_attribute(older)
    if not attribute and not (_is_like_name(before) and _is_like_name(after)):
        return None
    return Comparison("contradiction", "value:name", " ".join(before), " ".join(after), 0.85 if attribute else 0.7)


def _serve_two_ends(before: Sequence[str], after: Sequence[str]) -> bool:
    """Tell whether both say what their thing is for, and it is not the same: "Grafana for dashboards", "Loki for logs"."""
    ends = [{stem(word.lower()) for word in tail[tail.index("for") + 1 :]} for tail in (before, after) if "for" in tail]
    return len(ends) == 2 and not (ends[0] & ends[1]) - STOP


def _is_attribute(clause: StatementClause) -> bool:
    """Tell whether a clause states a named property of a thing: the last noun, or the one in front of "of"."""
    head = clause.head
    if {"called", "named"} & set(clause.words):
        return True
    noun = head[head.index("of") - 1] if "of" in head[1:] else head[-1]
    return (
        noun in stems_of(_ATTRIBUTES) and not {"are", "were"} & set(clause.words) and not clause.tail[0].endswith("ing")
    )


_RULES: tuple[_Rule, ...] = (_same, _displaced, _values, _polarity, _role, _named)
_AMOUNTS = frozenset({"duration", "size", "share", "money", "number", "date", "weekday", "clock"})
_CAPITAL = re.compile(r"\b[A-Z][\w+#-]*")
_NAME_LIKE = re.compile(r"[A-Z0-9]|[._/@-]")


def _by_relation(clause: StatementClause) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for value in clause.values:
        values = found.setdefault(value.relation, [])
        if all(value.value != one.value for one in values):
            values.append(value)
    return found


def _by_shared(older: StatementClause, newer: StatementClause) -> bool:
    return bool({v.relation for v in older.values} & {v.relation for v in newer.values})


def _pairs(clause: StatementClause) -> frozenset[tuple[str, str]]:
    return frozenset((value.relation, value.value) for value in clause.values)


def _read_values(text: str) -> Iterable[Value]:
    return [value for clause in read_statement(text) for value in clause.values]


def _is_amount(name: str) -> bool:
    return name in _AMOUNTS or name.startswith("count:")


def _identifiers(stems: Iterable[str]) -> frozenset[str]:
    """Return the words that name one particular thing."""
    return frozenset(one for one in stems if re.search(r"[\d/_.#]", one))


def _stated_words(tail: Sequence[str]) -> list[str]:
    """Return what is stated: the words up to a preposition."""
    found: list[str] = []
    for word in tail:
        if word.lower() in ("of", "for", "because", "since", "with", "when", "which", "that", "from", "as", "if", "on"):
            break
        if word.lower() not in STOP:
            found.append(word)
    return found[:4]


def _is_name(text: str) -> bool:
    return bool(text) and text[0].isupper()


def _is_like_name(words: Sequence[str]) -> bool:
    return all(_NAME_LIKE.search(word) for word in words)
