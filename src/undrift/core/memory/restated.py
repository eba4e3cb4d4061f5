"""Tells whether two statements say the same in other words. Pure.

Law: precise before complete: a pair that is not recognised stays two memories, a wrong one would hide a statement. Values,
names, denials, conditions and times are equal; the rest is equal but for synonyms and words that say nothing by
themselves. Linear in the texts; a long one is never equal to another.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise

from undrift.core.contradict.lexicon import relation_of
from undrift.core.contradict.reading import StatementClause, Value, read_statement
from undrift.core.contradict.rules import compare
from undrift.core.contradict.verdicts import LONGEST_STATEMENT
from undrift.core.contradict.words import STOP
from undrift.core.memory.plain_forms import in_plain_form
from undrift.core.memory.same_words import (
    BE,
    CONDITIONS,
    DENYING,
    KINDS,
    MARKERS,
    ORDERED,
    PASTS,
    RELATING,
    RESULTS,
)
from undrift.core.memory.swapped import says_another
from undrift.core.memory.word_forms import groups, light, normal, normal_forms, short_form
from undrift.core.text.words import stem, words_of

__all__ = ["LEAST_CONFIDENCE", "in_other_words", "may_say_the_same", "says_the_same"]

_PART = re.compile(r"(?<=[.!?;:]) |;|, | [-\u2013\u2014]{1,2} | (?:and|but|so) ", re.IGNORECASE)
_JOINED = re.compile(r"(?<=[a-z])[-_](?=[a-z])", re.IGNORECASE)
_DENIED = re.compile(r"(?<!\w)(\w++),? (?=(?:not|no) \w)", re.IGNORECASE)
_BEFORE_DENIAL = frozenset({
    "do", "does", "did", "is", "are", "was", "were", "be", "been", "am", "will", "would", "can", "could", "may", "might", "must",
    "should", "shall", "has", "have", "had", "need", "ought", "there", "with", "by", "and", "or", "but", "if", "that", "so", "to",
})  # fmt: skip
_NO = re.compile(r"^ ?no (?=\w)", re.IGNORECASE)
_MOMENT = re.compile(
    r"\?|\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past|coming) (?:\w+ )?(?:night|day|week(?:end)?|month"
    r"|year|morning|evening|afternoon|spring|summer|autumn|fall|winter|\w+day)|recently|earlier|soon|just|already"
    r"|yet|finally|again)\b",
    re.IGNORECASE,
)
"""A moment that counts from when it is said: the same words on two days name two events. A question states nothing."""
LEAST_CONFIDENCE = 0.6
"""A contradiction of less confidence rests on a change that is only reported, or on less: equal words weigh more."""

_LEAST_WORDS = 2
_EMPTY = frozenset({"m", "against", "toward", "towards", "upon", "within", "inside"})
_MOST_OTHER = 12
_BARE = frozenset({"number", "port"})
_OF_VALUES = frozenset({"port", "number", "date", "version"})
_AMOUNTS = frozenset({
    "version", "port", "duration", "size", "share", "money", "number", "date", "weekday", "clock",
})  # fmt: skip
_PASSIVE = re.compile(
    r"\b(?:is|are|be|been|being) (?:\w+ )?\w+(?:ed|en|n|t) (?:by|for|in|on|to|with|as|from|through|via)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_NAMED = re.compile(r"[\d/_@#+=.*]")


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a statement that are compared.

    Args:
        words: Words that mean something, and values, in their normal form.
        denied: Those of them in a part that denies something.
        order: The words of each part in their order.
        markers: Of `MARKERS`, each with the words behind it if it binds them.
        bounds: The words of each condition.
        free: Words that only relate others, and words that only name the kind of a value: two sets.
    """

    words: frozenset[str]
    denied: frozenset[str]
    denials: int
    order: tuple[tuple[tuple[str, bool], ...], ...]
    markers: frozenset[tuple[str, frozenset[str]]]
    bounds: tuple[frozenset[str], ...]
    values: frozenset[str]
    kinds: frozenset[str]
    is_past: bool
    is_passive: bool
    length: int


def says_the_same(one: str, other: str) -> bool:
    """Tell whether two statements say the same."""
    if max(len(one), len(other)) > LONGEST_STATEMENT or _MOMENT.search(one) or _MOMENT.search(other):
        return False
    left, right = _parts(one), _parts(other)
    if _frame(left) != _frame(right) or says_another(_plain(one), _plain(other)):
        return False
    common = left.words & right.words
    if len(common) < _LEAST_WORDS or _is_turned(left, right) or not _is_bound_alike(left, right):
        return False
    missing, added = left.words - right.words, right.words - left.words
    kinds = left.kinds | right.kinds if _has_value(left) or len(common) > _LEAST_WORDS else frozenset()
    relating = normal_forms(RELATING) - left.denied - right.denied
    relating |= frozenset({normal("allow")}) if left.denials else frozenset()
    if not (missing | added) <= kinds | relating:
        return False
    if any(missing & free and added & free for free in (kinds, relating)) and _is_one_order(left, right):
        return False
    if not _is_denied_alike(left, right, kinds | relating):
        return False
    if not all(bound <= of.words for one_, of in ((left, right), (right, left)) for bound in one_.bounds):
        return False
    found = [each for each in (compare(one, other), compare(other, one)) if each.kind == "contradiction"]
    if left.denied & right.denied:  # both refuse the same thing: neither displaces what the other says
        found = [each for each in found if each.rule != "correction:displaced"]
    return all(each.confidence < LEAST_CONFIDENCE for each in found)


def may_say_the_same(one: str, other: str) -> bool:
    """Tell by a cheap test whether two statements are worth a comparison: neither is long, and they share a word."""
    if max(len(one), len(other)) > LONGEST_STATEMENT:
        return False
    ours, theirs = _forms(one), _forms(other)
    return not ours.isdisjoint(theirs)


@lru_cache(maxsize=2_048)
def _forms(text: str) -> frozenset[str]:
    return frozenset(normal(word) for word in words_of(text) if word not in STOP) - light()


def in_other_words(text: str) -> str:
    """Return words that mean the same as those of a short text, to find the statements that use them; empty if none do."""
    if len(text) > LONGEST_STATEMENT:
        return ""
    written = dict.fromkeys(words_of(text))
    meant = dict.fromkeys(map(normal, written))
    return " ".join([word for one in meant for word in groups().get(one, ()) if word not in written][:_MOST_OTHER])


def _frame(one: _Parts) -> tuple[object, ...]:
    return one.values, one.denials > 0, one.markers, one.is_past


@lru_cache(maxsize=2_048)
def _parts(text: str) -> _Parts:
    text = _DENIED.sub(_split, _plain(text))
    clauses = [clause for part in _PART.split(text) if part for clause in read_statement(_NO.sub("never ", part))]
    ordered = [tuple(_meant(clause)) for clause in clauses]
    parts = [tuple(word for word, _ in part if word not in light()) for part in ordered]
    denying = [sum(word in DENYING for word in clause.words) % 2 == 1 for clause in clauses]
    values = [value for clause in clauses for value in _values(clause)]
    nouns = (noun for value in values for noun in relation_of(value.relation).nouns)
    return _Parts(
        frozenset(word for part in parts for word in part),
        frozenset(word for part, denies in zip(parts, denying, strict=True) if denies for word in part),
        sum(denying),
        tuple(ordered),
        frozenset(marker for clause in clauses for marker in _marked(clause)),
        tuple(bound for clause in clauses for bound in _bounds(clause)),
        frozenset(map(_named, values)),
        normal_forms(KINDS) | frozenset(map(normal, nouns)),
        any(map(_tells_of_the_past, clauses)),
        any(_PASSIVE.search(clause.text) for clause in clauses),
        sum(len(clause.words) for clause in clauses),
    )


def _split(match: re.Match[str]) -> str:
    """Return the words before a denial in the middle of a part as a part of their own: it denies what stands behind it."""
    return match[0] if match[1].casefold() in _BEFORE_DENIAL else f"{match[1]}; "


@lru_cache(maxsize=2_048)
def _plain(text: str) -> str:
    return _JOINED.sub(" ", in_plain_form(" ".join(text.replace("\n", "; ").split())))


def _meant(clause: StatementClause) -> Iterator[tuple[str, bool]]:
    """Yield the words of a clause that mean something, and its values, in their order; with whether each is inflected."""
    for at, word in _placed(clause):
        yield word, clause.words[at].endswith(("s", "ed", "ing"))


def _placed(clause: StatementClause) -> Iterator[tuple[int, str]]:
    starts = {value.at: value for value in _values(clause)}
    skipped = 0
    for at, word in enumerate(clause.words):
        if at in starts:
            value = starts[at]
            skipped = len(value.text.split(" "))
            yield at, _named(value)
        if skipped:
            skipped -= 1
        elif word not in MARKERS and word not in CONDITIONS and word not in DENYING:
            yield from ((at, one) for one in _words_in(word))


def _words_in(word: str) -> Iterator[str]:
    """Yield the words of a term; a path, or what else has signs in it, is one word."""
    if _NAMED.search(word) and any(map(str.isalnum, word)):
        yield f"={word}"
        return
    for part in words_of(word.replace("\u2019", "'").removesuffix("'s")):
        if part not in STOP and part not in _EMPTY:
            yield normal(part)


def _values(clause: StatementClause) -> list[Value]:
    """Return the values of a clause: amounts and names of one class; a date has its year."""
    found: list[Value] = []
    for value in clause.values:
        before = found[-1] if found else None
        if before and before.relation == "date" and _YEAR.fullmatch(value.text) and value.at == _end(before):
            text = f"{before.text} {value.text}"
            found[-1] = replace(before, value=f"{value.text}-{before.value}", text=text)
        elif value.text != "one" and _is_firm(value.relation):
            found.append(value)
    return found


def _is_firm(relation: str) -> bool:
    return relation in _AMOUNTS or ":" in relation or relation_of(relation).project_wide


def _end(value: Value) -> int:
    return value.at + len(value.text.split(" "))


def _named(value: Value) -> str:
    return f"={value.value}" if value.relation in _BARE else f"{value.relation}={value.value}"


def _is_denied_alike(left: _Parts, right: _Parts, free: frozenset[str]) -> bool:
    """Tell whether two statements deny the same: one may say in the part that denies what the other says before it."""
    ours, theirs = (left.denied & right.words) - free, (right.denied & left.words) - free
    return ours == theirs or (left.denials == right.denials and (ours < theirs or theirs < ours))


def _marked(clause: StatementClause) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the markers of a clause, those that bind words with the words behind them."""
    taken = {at for value in _values(clause) for at in range(value.at, _end(value))}
    for at, word in enumerate(clause.words):
        if word == "from" and _is_of(clause, at):
            continue
        if word in MARKERS and at not in taken:  # "May" is a month
            yield word, _following(clause, at) if word in ORDERED else frozenset()


def _is_of(clause: StatementClause, at: int) -> bool:
    """Tell whether "from" stands behind a noun and means "of", as in "errors from the service"."""
    before = clause.words[at - 1] if at else ""
    is_free = normal(before) in normal_forms(RELATING) or short_form(before) in light() or before in STOP
    return (
        bool(before) and not is_free and not before.endswith("ed") and short_form(before) not in _results() and at < 4
    )


def _bounds(clause: StatementClause) -> Iterator[frozenset[str]]:
    for at, word in enumerate(clause.words):
        if word in CONDITIONS:
            yield _following(clause, at) or frozenset({word})


def _following(clause: StatementClause, at: int) -> frozenset[str]:
    words = [word for place, word in _placed(clause) if place > at and word not in light()]
    return frozenset(words[:1] if words and "=" in words[0] else words)


def _tells_of_the_past(clause: StatementClause) -> bool:
    """Tell whether a clause has a verb of the past: a form in -ed that no form of "be" makes a state."""
    before = ("", *clause.words)
    return (
        "past" in clause.cues
        or any(
            before[at] not in BE
            and (at or "".join(clause.words[1:2]) in STOP)  # "Generated files are ..."
            and (word in PASTS or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed")))
            and not {word, stem(word), *before[at + 2 : at + 3]} & _results()
            for at, word in enumerate(clause.words)
        )
    )


@cache
def _results() -> frozenset[str]:
    return frozenset(form for word in RESULTS for form in (stem(word), f"{stem(word)}ed", f"{word}d"))


def _is_turned(left: _Parts, right: _Parts) -> bool:
    """Tell whether two words have changed sides around a verb: "A calls B" and "B calls A", both active or both passive."""
    if left.is_passive != right.is_passive:
        return False
    is_any = left.words == right.words and left.length == right.length
    others = [tuple(word for word, _ in part) for part in right.order]
    return any(
        first in after and last in before
        for part in left.order
        for first, middle, last in _triples(part, is_any=is_any)
        for other in others
        if middle in other
        for before, after in [(other[: other.index(middle)], other[other.index(middle) + 1 :])]
    )


def _is_one_order(left: _Parts, right: _Parts) -> bool:
    """Tell whether two statements differ in one place: what fills it in each tells them apart."""
    common = left.words & right.words - normal_forms(RELATING) - left.kinds - right.kinds
    ours, theirs = ([word for part in one.order for word, _ in part if word in common] for one in (left, right))
    return ours == theirs or len(common) <= _LEAST_WORDS


def _is_bound_alike(left: _Parts, right: _Parts) -> bool:
    """Tell whether half of the words that stand side by side do so in both: "red jacket, white hat" says another thing."""
    if not all(_is_beside_alike(word, left, right) for word in left.words & right.words if "=" in word):
        return False
    ours, theirs = _pairs(left), _pairs(right)
    return (
        _has_value(left)
        or min(len(ours), len(theirs)) < _LEAST_WORDS
        or 3 * len(ours & theirs) >= min(len(ours), len(theirs))
    )


def _is_beside_alike(value: str, left: _Parts, right: _Parts) -> bool:
    """Tell whether a value stands beside one word in both statements, or alone: "logs in A, dumps in B" is two things."""
    ours, theirs = _beside(value, left), _beside(value, right)
    return not ours or not theirs or not ours.isdisjoint(theirs)


def _beside(value: str, one: _Parts) -> set[str]:
    parts = ([word for word, _ in part] for part in one.order)
    found = {word for part in parts if value in part for word in part}
    return found - {value} - light() - _OF_VALUES


def _has_value(one: _Parts) -> bool:
    return any(map(_is_amount, one.words))


def _is_amount(word: str) -> bool:
    relation, sign, _ = word.partition("=")
    return bool(sign) and (not relation or relation in _AMOUNTS)


def _pairs(one: _Parts) -> set[frozenset[str]]:
    free = normal_forms(RELATING) | light() | one.kinds
    parts = (tuple(word for word, _ in part if word not in free) for part in one.order)
    return {frozenset(pair) for part in parts for pair in pairwise(part)}


def _triples(part: Sequence[tuple[str, bool]], *, is_any: bool) -> Iterator[tuple[str, str, str]]:
    """Yield three words in their order; the middle one is inflected, as a verb is, or any."""
    words = tuple(dict.fromkeys(part))[:12]
    for middle in range(1, len(words) - 1):
        if not (is_any or words[middle][1]):
            continue
        for first, _ in words[:middle]:
            for last, _ in words[middle + 1 :]:
                if not (_is_amount(first) or _is_amount(last)):
                    yield first, words[middle][0], last
