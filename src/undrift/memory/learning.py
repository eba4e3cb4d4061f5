"""Memories that a session teaches by itself: what its user stated, and what was tried in it.

Law: each has the line that it comes from. A statement that was ever stored is not learned again, so a forgotten one stays
forgotten. There is a limit for a session and one for a project; beyond it nothing is learned.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from undrift.core.memory.lessons import MOST_OF_TRIED, MOST_OF_USER, Lesson
from undrift.errors import InputError
from undrift.memory.memories import Memories
from undrift.memory.turns import repeated
from undrift.stores.base import Context
from undrift.stores.memory_values import MemoryChange, MemoryUpdate, content_digest
from undrift.values.memory import MemoryEntry
from undrift.values.window import ContextEntry
from undrift.window.context import SessionContext

__all__ = ["LEARNED_FROM", "Learning", "MOST_OF_PROJECT", "learned_from"]

_log = logging.getLogger("undrift.memory")

LEARNED_FROM = "session:"
"""How the source of a learned memory begins; the session's id follows."""

MOST_OF_PROJECT = 1_000
"""The most active memories that a project learns by itself."""

_MOST_OF_SESSION = MOST_OF_USER + MOST_OF_TRIED
_MOST_NEWEST = 20
"""More texts behind an answer are a history that a client put together."""

_ID_CHARACTERS = 160


def learned_from(session_id: str) -> str:
    """Return the source of memories that were learned from a session."""
    return LEARNED_FROM + session_id.encode("utf-8", "replace").decode()[:_ID_CHARACTERS]


class Learning:
    """Turns the lessons of one session into memories of its project.

    Args:
        context: The session that teaches.
        memories: The project's.
    """

    def __init__(self, context: SessionContext, memories: Memories) -> None:
        self._context = context
        self._memories = memories
        self._source = learned_from(context.id)

    def learn(self, lessons: Sequence[Lesson], *, at_ms: int) -> tuple[MemoryEntry, ...]:
        """Store new lessons in a commit of their own; return the new memories. Raises StoreError: nothing was written."""

        def once() -> tuple[MemoryEntry, ...]:
            change = self.change(lessons, at_ms)
            if change is None:
                return ()
            store = self._context.store
            place = Context(store.scope.of(self._context.id), at_ms)
            store.commit(place, "learn", change.changes, payload=change.payload)
            return tuple(
                one.after
                for one in change.changes
                if isinstance(one, MemoryUpdate) and one.before is None and one.after is not None
            )

        return repeated(once)

    def newest_words(self) -> list[ContextEntry]:
        """Return the texts of the user that the last prepared request has behind the agent's last answer.

        None if a result of a tool is among them: clients put their own words beside results.
        """
        found: list[ContextEntry] = []
        conversation = self._context.log.along
        for entry in () if conversation is None else conversation.newest_entries:
            about = entry.metadata or {}
            if about.get("role") == "assistant" or about.get("kind") == "call":
                break
            if about.get("kind") == "result" or len(found) == _MOST_NEWEST:
                return []
            found.append(entry)
        return found[::-1]

    def new(self, lessons: Iterable[Lesson]) -> list[tuple[str, Lesson]]:
        """Return the lessons that were never stored, within the limits, each with its words as they are stored."""
        wanted: dict[str, tuple[str, Lesson]] = {}
        for one in lessons:
            try:
                said = self._memories.checked(one.text)
            except InputError as error:
                _log.info("%.80s: a statement is not learned: %s", self._source, error)
                continue
            wanted.setdefault(content_digest(said), (said, one))
        read = self._memories.repository.read
        found = [pair for digest, pair in wanted.items() if not read.by_digest(digest, None)]
        if not found:
            return []
        left = min(_MOST_OF_SESSION - read.count_from(self._source), MOST_OF_PROJECT - read.count_from(LEARNED_FROM))
        if left < len(found):
            _log.warning("%.80s: %d statements are not learned: the limit is reached", self._source, len(found) - left)
        return found[: max(left, 0)]

    def change(self, lessons: Sequence[Lesson], at_ms: int) -> MemoryChange | None:
        """Return the change that stores new lessons in another commit; None if there are none."""
        new = self.new(lessons)
        return self._memories.together([(said, self._fields(one)) for said, one in new], at_ms) if new else None

    def _fields(self, lesson: Lesson) -> Mapping[str, Any]:
        origin: dict[str, Any] = {"by": lesson.sign, "entry": lesson.entry_id}
        if lesson.line:
            origin["line"] = lesson.line
        return {
            "type": lesson.type,
            "trust": lesson.trust,
            "source": self._source,
            "valid_from_ms": lesson.at_ms or None,
            "metadata": {"learned": origin},
        }
