"""Finds what the person of a session laid down, and what they lifted: sentences of the messages that were typed. Pure.

Law: a sentence is the person's own, word for word. Texts of tools, agents, clients and skills are not looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from undrift.core.rules.judge import SentenceKind, kind_of_sentence
from undrift.core.rules.spoken import spoken
from undrift.core.text.typed import user_texts
from undrift.values.window import ContextEntry

__all__ = ["TypedSaying", "sayings", "sayings_in", "texts_typed"]


@dataclass(frozen=True, slots=True)
class TypedSaying:
    """A sentence that lays down, lifts or limits. `where`: such as ``request 3, line 2``."""

    text: str
    kind: SentenceKind
    where: str


def sayings(entries: Sequence[ContextEntry]) -> tuple[TypedSaying, ...]:
    """Return what the person of a session said about rules, in the order of typing; a message counts once.

    `entries`: the session's, in the order in which the provider saw them.
    """
    return tuple(one for number, text in enumerate(texts_typed(entries), 1) for one in sayings_in(text, number))


def texts_typed(entries: Sequence[ContextEntry]) -> tuple[str, ...]:
    """Return the messages that were typed, in their order, each once."""
    return tuple(dict.fromkeys(entry.content for entry in reversed(list(user_texts(entries)))))


def sayings_in(text: str, number: int) -> Iterator[TypedSaying]:
    """Yield what one message says about rules. `number`: of the message among those that were typed, from 1."""
    for sentence in spoken(text):
        kind = kind_of_sentence(sentence)
        if kind is not None:
            yield TypedSaying(sentence.text, kind, f"request {number}, line {sentence.line}")
