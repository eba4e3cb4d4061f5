"""Memories that a session teaches by itself: what its user stated, and what was tried in it.

Law: each has the line that it comes from. A statement that a person forgot is not learned again; a superseded one is, if it is
said later. There is a limit for a session and one for a project; beyond it nothing is learned.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from undrift.core.memory.lessons import MOST_OF_TRIED, MOST_OF_USER, Lesson
from undrift.core.text.typed import calls_in_text, user_texts
from undrift.errors import InputError
from undrift.memory.memories import Memories
from undrift.memory.turns import repeated
from undrift.profiles import profile_of
from undrift.stores.base import Context
from undrift.stores.memory_values import MemoryChange, MemoryUpdate, content_digest
from undrift.values.memory import TRUST_TIERS, MemoryEntry
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

    def newest_words(self, client: str, at_ms: int) -> list[ContextEntry]:
        """Return what the user typed behind the agent's last answer, if the last prepared request leaves no doubt of it.

        Else nothing: with a client that is not known for it, without tools, after an answer that may call a tool by its
        words, with a result of a tool, or with more than one text. Clients put their own words beside results.

        `client`: the user agent of the request. `at_ms`: now; the same words may stand in an earlier request too.
        """
        profile, conversation = profile_of(client), self._context.log.along
        if conversation is None or profile is None or not (profile.is_typed and conversation.offers_tools):
            return []
        found: list[ContextEntry] = []
        entries = conversation.newest_entries
        for entry in entries:
            about = entry.metadata or {}
            if about.get("role") == "assistant" or about.get("kind") == "call":
                if _may_call(chain([entry], entries)):
                    return []
                break
            if about.get("kind") == "result" or len(found) == _MOST_NEWEST:
                return []
            found.append(entry)
        typed = list(user_texts(found))
        return [replace(typed[0], timestamp=at_ms)] if len(typed) == 1 else []

    def new(self, lessons: Iterable[Lesson]) -> list[tuple[str, Lesson]]:
        """Return the lessons that the memory needs, within the limits, oldest first, each with its words as they are stored."""
        wanted: dict[str, tuple[str, Lesson]] = {}
        for one in lessons:
            try:
                said = self._memories.checked(one.text)
            except InputError as error:
                _log.info("%.80s: a statement is not learned: %s", self._source, error)
                continue
            wanted.setdefault(content_digest(said), (said, one))
        found = [(said, one) for digest, (said, one) in wanted.items() if not self._is_known(digest, one)]
        if not found:
            return []
        count = self._memories.repository.read.count_learned
        left = min(_MOST_OF_SESSION - count(self._source), MOST_OF_PROJECT - count(LEARNED_FROM))
        if left < len(found):
            _log.warning("%.80s: %d statements are not learned: the limit is reached", self._source, len(found) - left)
        return sorted(found[: max(left, 0)], key=lambda pair: (pair[1].at_ms, pair[1].line))

    def _is_known(self, digest: str, lesson: Lesson) -> bool:
        """Tell whether these words are active with at least this trust, were superseded later, or were forgotten."""
        read = self._memories.repository.read
        for one in read.by_digest(digest, self._memories.viewer()):
            if one.is_contradicted:
                if lesson.at_ms < (one.valid_to_ms or one.contradicted_at_ms or 0):
                    return True
            elif TRUST_TIERS[one.trust] >= TRUST_TIERS[lesson.trust]:
                return True
        return read.is_forgotten(digest)

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


def _may_call(entries: Iterable[ContextEntry]) -> bool:
    """Tell whether an answer calls a tool, or may do so by its words. `entries`: from its end backwards."""
    for entry in entries:
        about = entry.metadata or {}
        if about.get("kind") == "call":
            return True
        if about.get("role") != "assistant":
            return False
        if about.get("kind") == "text" and calls_in_text(entry.content):
            return True
    return False
