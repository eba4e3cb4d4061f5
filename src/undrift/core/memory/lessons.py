"""Reads from the entries of a session what later sessions should know, each with the line it comes from. Pure.

Law: a user's lesson is a sentence that the user typed. Text of an agent or of a tool never gets more trust than its origin.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from undrift.core.memory.lasting import lasting_statements
from undrift.core.text.typed import GAP, typed_and_pasted, user_texts
from undrift.core.tried.commands import failed_commands
from undrift.core.tried.statements import given_up_statements
from undrift.values.memory import MemoryType, Trust
from undrift.values.window import ContextEntry

__all__ = ["Lesson", "MOST_OF_TRIED", "MOST_OF_USER", "lessons"]

MOST_OF_USER = 30
"""The most statements of the user that are learned from one session."""

MOST_OF_TRIED = 5
"""The most attempts that are learned from one session."""

_QUOTED_CHARACTERS = 200_000
"""A quotation is looked for in so many characters of the agent's words before a message."""

_TYPES: Mapping[str, MemoryType] = {
    "rule": "user_preference",
    "preference": "user_preference",
    "decision": "architectural_decision",
    "fact": "req_context",
    "failure": "lesson_learned",
    "command": "lesson_learned",
}


@dataclass(frozen=True, slots=True)
class Lesson:
    """One statement that a session teaches.

    Args:
        kind: ``rule``, ``preference``, ``decision`` or ``fact`` of the user; ``failure`` or ``command``: an attempt.
        sign: The rule that found it.
        line: Its line in the recording, from 1; 0 if there is none.
        entry_id: The entry that it stands in.
        at_ms: When it was said.
    """

    text: str
    kind: str
    trust: Trust
    sign: str
    line: int
    entry_id: str
    at_ms: int = field(default=0)

    @property
    def type(self) -> MemoryType:
        """The type of the memory that it becomes."""
        return _TYPES[self.kind]


def lessons(entries: Sequence[ContextEntry]) -> tuple[Lesson, ...]:
    """Return what the entries of a session teach, oldest first: first the user's statements, then what was tried."""
    found: dict[str, Lesson] = {}
    for one in _stated(entries):
        words = _flat(one.text)
        if found.pop(words, None) or len(found) < MOST_OF_USER:
            found[words] = one  # a user may change back: what was said last counts
    return (*found.values(), *_tried(entries)[-MOST_OF_TRIED:])


def _tried(entries: Sequence[ContextEntry]) -> list[Lesson]:
    """Return what would fail in another session too; the words of a tool have its trust, those of an agent the agent's."""
    found: list[Lesson] = []
    for one in sorted([*failed_commands(entries), *given_up_statements(entries)], key=lambda one: one.place):
        origin = _origin(entries[one.place])
        if one.kind == "statement":
            found.append(Lesson(one.what, "failure", "assistant", "given up", *origin))
        elif one.lasts:
            text = f"`{one.what}` failed: {one.outcome} `{one.worked}` worked."
            found.append(Lesson(text, "command", "tool", "worked after", *origin))
    return found


def _stated(entries: Sequence[ContextEntry]) -> Iterator[Lesson]:
    for entry in reversed(list(user_texts(entries))):
        typed = [line for line in typed_and_pasted(entry.content)[0] if line != GAP]
        for one in lasting_statements(typed):
            if not _quotes_agent(one.text, entry, entries):
                yield Lesson(one.text, one.kind, "user", one.sign, *_origin(entry))


def _quotes_agent(text: str, entry: ContextEntry, entries: Sequence[ContextEntry]) -> bool:
    """Tell whether the agent had said these words before: then the user repeats them, as to choose one of its proposals."""
    words, left = _flat(text), _QUOTED_CHARACTERS
    before = next(place for place, one in enumerate(entries) if one is entry)
    for other in reversed(entries[:before]):
        about = other.metadata or {}
        if about.get("role") == "assistant" and about.get("kind") == "text":
            if words in _flat(other.content):
                return True
            left -= len(other.content)
            if left <= 0:
                break
    return False


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _origin(entry: ContextEntry) -> tuple[int, str, int]:
    line = (entry.metadata or {}).get("line")
    return line if isinstance(line, int) else 0, entry.id, entry.timestamp
