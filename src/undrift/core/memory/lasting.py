"""Finds the statements of a user that hold beyond the task at hand: rules, preferences, decisions, facts. Pure.

Law: precision comes first. A sentence needs the sign of a lasting statement and none of a request, a question, a doubt or a
report of a fault. An uncertain one is left out. Each statement is a sentence of the user, word for word.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from undrift.core.memory.lasting_signs import AGAINST, OWNS, LastingKind, lasting_signs

__all__ = ["LastingKind", "LastingStatement", "lasting_statements"]

_LEAST_WORDS = 4
_MOST_CHARACTERS = 320
"""A longer sentence is most often a plan or a description; it could also contradict nothing (see contradiction.md)."""

_MOST_LINES = 40
"""A message with more typed lines is a prepared document, such as a plan."""


@dataclass(frozen=True, slots=True)
class LastingStatement:
    """A statement and the sign that it was found by. `place`: the number of its line among the given ones, from 0."""

    text: str
    kind: LastingKind
    sign: str
    place: int


_FUTURE = re.compile(r"\b(?:in (?:the )?future|from now on|going forward|for the next)\b")
_ASKS_FOR = re.compile(
    r"\b(?:can|could) (?:we|you)(?: please)? (?:make sure|ensure|always|never|add|write|use|keep|stop)\b"
)
_ASKED_BEHIND = re.compile(
    r"(?:, | - |; )(?:and |so |but )?(?:(?:can|could|would|should|do|does|is|are) (?:you|we|i|it|this|that|the|there)|(?:how|what|why) (?:can|do|does|should|could|would|if|is|are)|maybe|perhaps|or [a-z]{2,8} [a-z]{1,8}\b[^,;]{0,80}\?\s*$)\b"
)
_BULLET = re.compile(r"^\s{0,3}(?:[-*+•]|\d{1,2}[.)]|[a-z][.)])\s+")
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s|\*\*[^*]{2,80}\*\*:?\s*$|-{3,}\s*$|={3,}\s*$)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=\S)")
_DOCUMENT = re.compile(
    r"\b(?:following|this|attached|below) (?:\w{1,20} )?(?:plan|spec|specification|prompt|instructions|task)s?\b.{0,20}:\s*$"
    r"|^(?:you are (?:a|an|the)|your task is to)\b",
    re.IGNORECASE,
)
_TAKEN_OVER = re.compile(r"^\s{2,}\S|\*\*\S|:\s*$")
"""Taken from a terminal, or from a prepared text: indented, with Markdown's bold, or with a colon at its end."""


def lasting_statements(lines: Sequence[str]) -> tuple[LastingStatement, ...]:
    """Return the lasting statements among the lines of one message that the user typed."""
    if len(lines) > _MOST_LINES:
        return ()
    found: dict[str, LastingStatement] = {}
    for place, sentence in _sentences(lines):
        if (one := _judged(sentence, place)) is not None:
            found.setdefault(one.text.casefold(), one)
    return tuple(found.values())


def _sentences(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the sentences with the number of their line, up to the first sign of a prepared document."""
    for place, line in enumerate(lines):
        if _HEADING.match(line) or _DOCUMENT.search(line[:400]):
            return
        if len(line) > 10 * _MOST_CHARACTERS or _TAKEN_OVER.search(line):
            continue
        for sentence in _SENTENCE_END.split(_BULLET.sub("", line.strip())):
            yield place, " ".join(sentence.split())


def _judged(sentence: str, place: int) -> LastingStatement | None:
    """Return the statement that a sentence is; None if it is none, or if that is not sure."""
    said = "".join(one.lower()[0] for one in sentence).replace("\u2019", "'")  # as long as the sentence
    if not (_FUTURE.search(said) and _ASKS_FOR.search(said)):
        asked = _ASKED_BEHIND.search(said)
        sentence = sentence[: asked.start()] if asked is not None else sentence
        said = said[: len(sentence)]
        if any(one.search(said) for one in AGAINST):
            return None
    if len(sentence) > _MOST_CHARACTERS or len(sentence.split()) < _LEAST_WORDS or "…" in sentence:
        return None
    if OWNS.search(sentence):
        return LastingStatement(sentence, "fact", "owner", place)
    for sign, kind, pattern in lasting_signs():
        if pattern.search(said):
            return LastingStatement(sentence, kind, sign, place)
    return None
