"""Sentences, clauses and the stems of words in a summary: what is said, and what is denied. Pure, linear in the text."""

import re
from dataclasses import dataclass

from undrift.core.text.words import opened, stem, terms_of, words_of

__all__ = [
    "FAIL_STEMS",
    "NO_FAILURE",
    "PASS",
    "Sentence",
    "SummaryClause",
    "is_denied",
    "meaning_of",
    "plain",
    "sentences_of",
    "stems_of",
]

PASS = "pass"  # the stem that replaces every word of success
NO_FAILURE = "nofailure"
"""The stem for "no errors", "0 failures" and the like: a good verdict that holds a bad word."""

FAIL_STEMS = frozenset({
    "fail", "failur", "error", "red", "broken", "crash", "conflict", "denied", "panick", "unsuccessful",
    "exception", "abort", "blocked", "refus", "reject",
})  # fmt: skip

# Bounded repeats only: every pattern of this package is linear in hostile text.
_NO_FAILURE = re.compile(
    r"\b(?:no|0|zero|without|not any)\s{1,3}(?:any\s|more\s|remaining\s|new\s|further\s|type\s|lint\s|test\s)?\s{0,2}"
    r"(?:failures?|failed|failing|errors?|problems?|issues?|warnings?|regressions?|violations?|offenses)\b",
    re.IGNORECASE,
)
_HERE = re.compile(r"(?<![\w./~-])\./(?=\w)")  # "./src/a.py" and "src/a.py" are one path
_SENTENCE_END = re.compile(r"(?<=[.!?;])(?<!/\.\.\.)\s|\n")  # not behind Go's "./..."
_CLAUSE_END = re.compile(
    r"(?<=[,:])\s|\s[\u2014\u2013-]\s|[()]|\s(?:but|however|although|though|while|whereas|yet(?!\sto)|because|since|so|after)\s",
    re.IGNORECASE,
)
_AND = re.compile(r"\sand\s", re.IGNORECASE)

_NEGATORS = frozenset({
    "not", "never", "cannot", "no", "nor", "neither", "none", "nothing", "nobody", "without", "unable", "except",
    "excluding", "unresolved", "incomplete", "unfinished", "partially", "partly", "almost", "nearly", "hardly",
    "barely", "todo", "tbd", "pending", "untested", "unverified", "unclear", "unknown", "unchanged", "impossible",
    "failed-to", "not-yet", "remains",
})  # fmt: skip
_HEDGES = frozenset({
    "should", "would", "might", "may", "could", "must", "will", "shall", "hopefully", "probably", "presumably",
    "likely", "ought", "supposed", "expected",
})  # fmt: skip
_NEGATING_PHRASE = re.compile(
    r"\b(?:fail(?:s|ed|ing)?\s(?:to|at)|apart\sfrom|other\sthan|yet\sto|still\s(?:to|open|missing|failing|fails|broken|red)"
    r"|left\sout|(?:is|are|was|were|been|got|i|we|^)\s?skip(?:ped)?|to\sdo|gave\sup|instead\sof\srunning)\b",
    re.IGNORECASE,
)
_NOT_A_DENIAL = re.compile(
    r"\b(?:not\sonly|no\slonger\s(?:fails?|failing|crash(?:es|ing)?|errors?)|without\sa\shitch|no\sdoubt)\b",
    re.IGNORECASE,
)

_ALIKE = {
    "green": PASS, "succeed": PASS, "success": PASS, "successful": PASS, "successfully": PASS, "ok": PASS, "okay": PASS,
    NO_FAILURE: PASS, "repair": "fix", "resolv": "fix", "solv": "fix", "correct": "fix", "creat": "add",
    "introduc": "add", "delet": "remov", "drop": "remov", "modify": "chang", "edit": "chang", "updat": "chang",
    "describ": "document", "completion": "complet", "failur": "fail", "broke": "broken", "denied": "denied", "reason": "caus",
    "correctly": "correctly",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SummaryClause:
    """A clause of a summary, and whether it is a denial.

    `denied`: whether it says that something is not so, or only that it ought to be.
    """

    text: str
    stems: frozenset[str]
    denied: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence's clauses, in order; at least one."""

    clauses: tuple[SummaryClause, ...]

    @property
    def stems(self) -> frozenset[str]:
        """The stems of all words of the sentence."""
        return frozenset().union(*(clause.stems for clause in self.clauses))


def plain(text: str) -> str:
    """Return a text on one line with single blanks, "no errors" and the like as one word, paths without ``./``."""
    return _HERE.sub("", _NO_FAILURE.sub(NO_FAILURE, " ".join(text.split())))


def meaning_of(word: str) -> str:
    """Return the stem of a word; words with the same meaning have one stem."""
    found = stem(word)
    return _ALIKE.get(word) or _ALIKE.get(found, found)


def stems_of(text: str) -> frozenset[str]:
    """Return what the words of a text mean, as `meaning_of` has it."""
    return frozenset(map(meaning_of, words_of(text)))


def is_denied(text: str) -> bool:
    """Tell whether a clause negates, excepts, or says what ought to be instead of what is."""
    text = _NOT_A_DENIAL.sub(" ", text)
    if _NEGATING_PHRASE.search(text):
        return True
    terms = terms_of(opened(text).lower())
    # A name such as NO_DISCOUNT denies nothing: its words do not count one by one.
    words = (word for term in terms for word in ([term] if "_" in term or "-" in term else words_of(term)))
    return not (_NEGATORS | _HEDGES).isdisjoint(words)


def sentences_of(text: str) -> tuple[Sentence, ...]:
    """Split a summary into sentences of clauses; a denial reaches over a following "and"."""
    found = []
    for line in text.splitlines():
        for sentence in _SENTENCE_END.split(plain(line)):
            clauses = tuple(_clause(part) for piece in _CLAUSE_END.split(sentence) for part in _parts(piece))
            if clauses:
                found.append(Sentence(clauses))
    return tuple(found)


def _clause(text: str) -> SummaryClause:
    return SummaryClause(text, stems_of(text), is_denied(text))


def _parts(piece: str) -> list[str]:
    """Split at "and" up to the first denial: what follows one is denied with it."""
    parts: list[str] = []
    denied = False
    for part in _AND.split(piece):
        if not part.strip():
            continue
        if denied:
            parts[-1] += " and " + part
        else:
            parts.append(part)
            denied = is_denied(part)
    return parts
