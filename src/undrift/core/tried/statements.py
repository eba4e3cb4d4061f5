"""Finds the sentences in which an agent says, behind a failure, that something cannot be done. Pure."""

import re
from collections.abc import Iterator, Sequence

from undrift.values.attempt import Attempt
from undrift.values.window import ContextEntry

__all__ = ["given_up_statements", "sentences_of"]

_NEAR_ENTRIES = 3
"""An agent's sentence at most so many entries after a failure is about it."""

_MOST_CHARACTERS = 1_500
_SENTENCE_CHARACTERS = (25, 240)
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=\S)")
_GIVEN_UP = re.compile(
    r"\b(?:won'?t|doesn'?t|does not|don'?t|can'?t|cannot|isn'?t|aren'?t|is not|are not|not) (?:work|available|supported|allowed"
    r"|possible|reachable|delivered|installed|permitted|accessible)\b"
    r"|\b(?:blocked|forbids?|refuses?|rejects?) (?:that|the|it|by|to)\b|\bturns out\b|\btoo slow\b|\bis stale\b"
)
_OPEN = re.compile(r"\b(?:let me|i'?ll|i will|maybe|might|probably|likely|may|should|would|could|if)\b|\?$")


def given_up_statements(entries: Sequence[ContextEntry]) -> list[Attempt]:
    """Return the sentences of the agent near a failure that say why something cannot be done, each once."""
    found: dict[str, Attempt] = {}
    failed_at, failed_id = -_NEAR_ENTRIES - 1, ""
    for place, entry in enumerate(entries):
        about = entry.metadata or {}
        if about.get("kind") == "result" and about.get("is_error") is True:
            failed_at, failed_id = place, entry.id
        if about.get("kind") == "text" and about.get("role") == "assistant" and place - failed_at <= _NEAR_ENTRIES:
            for sentence in _given_up(entry.content):
                ids = (failed_id, entry.id)
                found.setdefault(sentence, Attempt("statement", sentence, "", "", "", ids, place, lasts=True))
    return list(found.values())


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of an agent's short text, each on one line; nothing of a long one."""
    if len(text) <= _MOST_CHARACTERS:
        yield from (" ".join(one.split()) for one in _SENTENCE_END.split(text))


def _given_up(text: str) -> list[str]:
    """Return the sentences of an agent that say, without a doubt, that something cannot be done."""
    least, most = _SENTENCE_CHARACTERS
    return [
        one
        for one in sentences_of(text)
        if least <= len(one) <= most
        and _GIVEN_UP.search(low := one.lower().replace("\u2019", "'"))
        and not _OPEN.search(low)
    ]
