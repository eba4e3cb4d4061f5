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
from undrift.core.text.words import stem, stems_of, words_of

__all__ = ["LEAST_CONFIDENCE", "says_the_same"]

_PART = re.compile(r"(?<=[.!?;]) |;|, | [-\u2013\u2014]{1,2} | (?:and|but|so) ", re.IGNORECASE)
_PHRASES = tuple(
    (re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), word)
    for phrase, word in (
        (r"(?:pull|merge)[- ]requests?", "pr"),
        (r"these days|at the moment|right now|at present|from now on", "now"),
        (r"no longer|not any ?more", "not"),
        (r"(?:every|each) day", "daily"),
        (r"(?<!for )(?<!in )(?:every|each|a|per) (week|month|year)", r"\1ly"),
        (r"you(?: can| will|['\u2019]ll)? find", "find"),
        (r"(\w+ \d\d?(?:st|nd|rd|th)?), (?=\d{4})", r"\1 "),
    )
)
_NO = re.compile(r"^ ?no (?=\w)", re.IGNORECASE)
_JOINED = re.compile(r"(?<=[a-z])[-_](?=[a-z])", re.IGNORECASE)
_MOMENT = re.compile(
    r"\?|\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past|coming) (?:\w+ )?(?:night|day|week(?:end)?|month"
    r"|year|morning|evening|afternoon|spring|summer|autumn|fall|winter|\w+day)|recently|earlier|soon|just|already"
    r"|yet|finally|again)\b",
    re.IGNORECASE,
)
"""A moment that counts from when it is said: the same words on two days name two events. A question states nothing."""
_MARKERS = frozenset({
    "before", "after", "until", "till", "unless", "except", "only", "if", "when", "whenever", "while", "during", "without",
    "than", "over", "under", "between", "from", "some", "several", "few", "most", "many", "half", "both", "sometimes",
    "usually", "often", "mostly", "rarely", "seldom", "more", "less", "least", "may", "might", "could", "will", "would",
    "was", "were", "had", "against", "off", "out", "up", "down",
})  # fmt: skip
"""Words that bound a statement, or say when or how far it holds: each stands in both statements, or in neither."""
_ORDERED = frozenset({"before", "after", "than", "over", "from", "until", "only", "without", "except"})
"""Markers that bind the words behind them."""
_DENYING = frozenset({
    "not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "avoid", "forbidden", "prohibited",
    "banned", "refrain",
})  # fmt: skip
_LIGHT = frozenset({
    "use", "run", "listen", "reach", "expose", "bind", "serve", "keep", "prefer", "like", "love", "favour", "favor", "go",
    "make", "sure", "please", "user", "available", "open", "remember", "note", "happen", "need", "require", "have", "get",
    "thing", "stuff", "through", "via", "kindly", "located", "anything", "simply", "basically", "generally",
})  # fmt: skip
"""Words that relate the others; two statements without them are compared by what they relate."""
_SYNONYMS = (
    "concise short brief terse succinct", "answer reply response", "live reside home base flat apartment house dwell",
    "due deadline", "commit push change", "direct straight", "start begin commence", "end finish conclude", "buy purchase",
    "work employ employer", "car automobile", "doctor physician", "big large", "fast quick rapid", "child kid",
    "mother mom mum", "father dad", "database db", "delete remove erase", "allow permit", "email mail", "phone telephone",
    "boss manager", "colleague coworker", "film movie", "photo picture", "holiday vacation", "folder directory",
    "bug defect", "birthday born", "allergic allergy", "theme mode", "release ship", "bind bound",
)  # fmt: skip
_NOUNS = frozenset({
    "branch", "port", "deadline", "due", "date", "time", "price", "cost", "number", "version", "name", "address",
    "directory", "folder", "file", "test", "suite", "tool", "system", "one", "place",
})  # fmt: skip
"""Kinds of values: with the value in both statements, one of them may leave out its kind."""
LEAST_CONFIDENCE = 0.6
"""A contradiction of less confidence rests on a change that is only reported, or on less: equal words weigh more."""

_LEAST_WORDS = 2
_BARE = frozenset({"number", "port"})
_AMOUNTS = frozenset({
    "version", "port", "duration", "size", "share", "money", "number", "date", "weekday", "clock",
})  # fmt: skip
_PASSIVE = re.compile(r"\b(?:is|are|be|been|being) (?:\w+ )?\w+(?:ed|en|n|t) by\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a statement that are compared.

    Args:
        words: Words that mean something, and values, in their normal form.
        denied: Those of them in a part that denies something.
        order: The words of each part in their order.
        markers: Of `_MARKERS`, each with the words behind it if it binds them.
        nouns: Words that only name the kind of a value.
    """

    words: frozenset[str]
    denied: frozenset[str]
    denies: bool
    order: tuple[tuple[str, ...], ...]
    markers: frozenset[tuple[str, frozenset[str]]]
    values: frozenset[str]
    nouns: frozenset[str]
    is_past: bool
    is_passive: bool


def says_the_same(one: str, other: str) -> bool:
    """Tell whether two statements say the same."""
    if max(len(one), len(other)) > LONGEST_STATEMENT or _MOMENT.search(one) or _MOMENT.search(other):
        return False
    left, right = _parts(one), _parts(other)
    if (left.values, left.denies, left.markers, left.is_past) != (
        right.values,
        right.denies,
        right.markers,
        right.is_past,
    ):
        return False
    common = left.words & right.words
    if len(common) < _LEAST_WORDS or _is_turned(left, right) or not _is_bound_alike(left, right):
        return False
    missing, added = left.words - right.words, right.words - left.words
    kinds = left.nouns | right.nouns if left.values or len(common) > _LEAST_WORDS else frozenset()
    if (missing and added) or not (missing | added | (left.denied ^ right.denied)) <= kinds:
        return False
    found = (compare(one, other), compare(other, one))
    return not any(each.kind == "contradiction" and each.confidence >= LEAST_CONFIDENCE for each in found)


@lru_cache(maxsize=2_048)
def _parts(text: str) -> _Parts:
    text = " ".join(text.replace("\n", "; ").split())
    for pattern, word in _PHRASES:
        text = pattern.sub(word, text)
    text = _JOINED.sub(" ", text)
    clauses = [clause for part in _PART.split(text) if part for clause in read_statement(_NO.sub("never ", part))]
    parts = [tuple(_meant(clause)) for clause in clauses]
    denying = [sum(word in _DENYING for word in clause.words) % 2 == 1 for clause in clauses]
    values = [value for clause in clauses for value in _values(clause)]
    relations = {value.relation for value in values}
    nouns = _NOUNS.union(*(relation_of(one).nouns for one in relations))
    return _Parts(
        frozenset(word for part in parts for word in part),
        frozenset(word for part, denies in zip(parts, denying, strict=True) if denies for word in part),
        any(denying),
        tuple(parts),
        frozenset(marker for clause in clauses for marker in _marked(clause)),
        frozenset(map(_named, values)),
        frozenset(map(_normal, nouns)),
        any(map(_tells_of_the_past, clauses)),
        any(_PASSIVE.search(clause.text) for clause in clauses),
    )


def _meant(clause: StatementClause) -> Iterator[str]:
    """Yield the words of a clause that mean something, and its values, in their order."""
    starts = {value.at: value for value in _values(clause)}
    skipped = 0
    for at, word in enumerate(clause.words):
        if at in starts:
            value = starts[at]
            skipped = len(value.text.split(" "))
            yield _named(value)
        if skipped:
            skipped -= 1
        elif word not in _MARKERS and word not in _DENYING:
            for part in words_of(word.replace("\u2019", "'").removesuffix("'s")):
                if part not in STOP and (meant := _normal(part)) not in _light():
                    yield meant


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


def _marked(clause: StatementClause) -> Iterator[tuple[str, frozenset[str]]]:
    meant = {at: _normal(word) for at, word in enumerate(clause.words) if word not in STOP}
    taken = {at for value in _values(clause) for at in range(value.at, _end(value))}
    for at, word in enumerate(clause.words):
        if word in _MARKERS and at not in taken:  # "May" is a month
            yield word, frozenset(one for place, one in meant.items() if place > at and word in _ORDERED)


def _tells_of_the_past(clause: StatementClause) -> bool:
    """Tell whether a clause has a verb of the past: a form in -ed that no form of "be" makes a state."""
    before = ("", *clause.words)
    return "past" in clause.cues or any(
        len(word) > 4 and word.endswith("ed") and not word.endswith("eed") and before[at] not in _BE
        for at, word in enumerate(clause.words)
    )


_BE = frozenset({"is", "are", "be", "been", "am", "not", "being", "get", "gets", "got"})


def _is_turned(left: _Parts, right: _Parts) -> bool:
    """Tell whether two words have changed sides around a third: "A calls B" and "B calls A", both active or both passive."""
    return left.is_passive == right.is_passive and any(
        first in after and last in before
        for part in left.order
        for first, middle, last in _triples(part)
        for other in right.order
        if middle in other
        for before, after in [(other[: other.index(middle)], other[other.index(middle) + 1 :])]
    )


def _is_bound_alike(left: _Parts, right: _Parts) -> bool:
    """Tell whether half of the words that stand side by side do so in both: "red jacket, white hat" says another thing."""
    ours, theirs = _pairs(left), _pairs(right)
    return bool(left.values) or 2 * len(ours & theirs) >= min(len(ours), len(theirs))


def _pairs(one: _Parts) -> set[frozenset[str]]:
    return {frozenset(pair) for part in one.order for pair in pairwise(part)}


def _triples(part: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    words = tuple(dict.fromkeys(part))[:12]
    for middle in range(1, len(words) - 1):
        for first in words[:middle]:
            for last in words[middle + 1 :]:
                yield first, words[middle], last


@cache
def _synonyms() -> dict[str, str]:
    return {form: group.split()[0] for group in _SYNONYMS for word in group.split() for form in (word, stem(word))}


@cache
def _light() -> frozenset[str]:
    return stems_of(_LIGHT)


def _normal(word: str) -> str:
    short = stem(word)
    return _synonyms().get(short, short)
