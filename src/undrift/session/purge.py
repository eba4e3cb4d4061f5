"""The purges of a session, and the proof that no purged data remains.

Law: a purge destroys the named data and nothing else. Records that repeat it elsewhere are named, not touched. The log
says that something was purged and when, never what. Nothing undoes it.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from undrift.core.memory.restatements import heir_of
from undrift.core.tasks.life import MAIN_AGENT
from undrift.errors import InputError, RecallError
from undrift.memory.repository import remembered
from undrift.memory.scopes import USER_SESSION, ScopedMemories
from undrift.memory.search import line
from undrift.stores.base import Aim, Destroyed, Remains
from undrift.stores.faults import from_system
from undrift.stores.hook_files import delete_session_files
from undrift.stores.memory_values import MemoryLine
from undrift.stores.sent_prompts import delete_sent
from undrift.values.closing import in_turn
from undrift.values.memory import MemoryEntry, heir_id
from undrift.window.blanking import blanked
from undrift.window.context import SessionContext

__all__ = ["Purged", "Purger"]

_TASK_PREFIX = "task:"
_DOCUMENT_PREFIX = "document:"
_SESSION = "session"


@dataclass(frozen=True, slots=True)
class Purged:
    """The result of a purge.

    Args:
        kind: ``original``, ``task``, ``memory``, ``document`` or ``session``.
        removed: Number of removed records of each kind, of ``files`` and ``rules``; empty if it was purged before.
        traces: Files of the home, relative to it, that still hold parts of it: backups, notes of the agent, replays.
            They are yours to delete.
        copies: Records that hold the same words and were not named, as ``memory m0123...``.
        remains: A sentence about parts that the store's file may still hold; empty if the file was rewritten.
        unsearched: Files that were too large to be searched without ``search_files``.
    """

    kind: str
    removed: Mapping[str, int] = field(default_factory=dict)
    traces: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    remains: str = ""
    unsearched: tuple[str, ...] = ()


class Purger:
    """The purges of one session.

    Args:
        context: The session.
        memories: The memories of its project, and those that hold in every project.
    """

    def __init__(self, context: SessionContext, memories: ScopedMemories) -> None:
        self._context = context
        self._sharing = context.sharing
        self._store = context.store
        self._log = context.log
        self._exports = context.exports
        self._session_id = context.id
        self._memories = memories

    @in_turn
    def purge(self, what: str, *, search_files: bool = False) -> Purged:
        """Destroy data for good; nothing else here deletes, and nothing can reverse a purge.

        All versions leave the store, its search and the exported logs, and are overwritten. Then a small file is
        rewritten, the free pages of a large one are overwritten, and its log is emptied. Files of the project are
        searched for remains, with its agents' files and those at the top of the home. It is 16 MiB of them, the smallest
        first. Other projects are not searched. Other processes can write meanwhile. An entry that left a window stays out of it, with a
        tombstone that says no more. Words that another record repeats are named, not deleted.

        Args:
            what: One of these:

                - a reference or an entry's id, or a memory's id
                - ``task:ID``: the originals that it evicted, its records, its log and the memories about it
                - ``document:PATH``: a file, item or checkpoint that a framework keeps under this session, or all that are
                  below the path, with slashes between the names
                - ``session``: all of it, with its memories, documents, scratchpad, the files of its hooks, and the rules that
                  were added for it alone. Memories that hold in every project stay. If another session said the same, its words become the memory
            search_files: Search all files, the store's own included. It takes seconds per GB. Ask for it now: afterwards
                the text is unknown.

        Returns:
            The number of removed records, and the places that still hold copies. The same purge again only cleans.

        Raises:
            RecallError: The session has nothing of that name; nothing has changed.
            StoreBusy: Another process reads at this moment. If the operation is logged, the records are removed and
                only the cleaning is left: purge the same again.
            StoreError: It could not be written.

        >>> ref = session.pin("spec", "The customer is Acme.")
        >>> dict(session.purge(ref).removed)["originals"]
        1
        """
        at_ms = self._context.clock.tick()
        if not isinstance(what, str) or not what:
            raise InputError(
                f"what to purge is a reference, task:ID, a memory's id, document:PATH or session, not {what!r:.80}"
            )
        everywhere = self._purged_everywhere(what, at_ms, search_files, only_active=True)
        if everywhere is not None:
            return everywhere
        blank = partial(blanked, act="purged", at_ms=at_ms)
        beside = self._beside() if what == _SESSION else {}
        done = self._store.purge(self._aims(what), blank, at_ms=at_ms, heir=partial(_heir, session_id=self._session_id))
        if done is None or not done.removed:
            everywhere = self._purged_everywhere(what, at_ms, search_files, only_active=False)
            if everywhere is not None:
                return everywhere
        if done is None and beside:
            return Purged(_SESSION, beside)
        if done is None:
            raise RecallError(
                f"session {self._session_id[:64]!r} has nothing under {what[:64]!r}: give a reference, task:ID, a memory's id, "
                "document:PATH, or session for all of it"
            )
        removed = {**done.removed, **beside}
        files = removed.get("files", 0) + self._exported(done)
        if files:
            removed["files"] = files
        self._log.reset()
        if "memories" in removed or not removed:  # the same purge again continues one that was stopped
            self._memories.project.repository.scour()
        left = self._store.clean(done, search_files=search_files)
        self._forget_sent()
        return _purged(done.kind, removed, left)

    def _forget_sent(self) -> None:
        """Delete the marks of what was sent: they may hold one of the purged text. Raises StoreError: the system refuses."""
        place = self._context.place
        if place is not None:
            try:
                delete_sent(place.records, self._session_id)
            except OSError as error:
                raise from_system(error, place.records) from error

    def _purged_everywhere(self, what: str, at_ms: int, search_files: bool, *, only_active: bool) -> Purged | None:
        """Destroy a memory that holds in every project; None if it is none. `only_active`: a forgotten one is none."""
        user, store = self._memories.user(), self._memories.user_store
        if user is None or store is None or (only_active and not user.repository.read.by_id((what,))):
            return None
        blank = partial(blanked, act="purged", at_ms=at_ms)
        done = store.purge([Aim("memory", USER_SESSION, what, MAIN_AGENT)], blank, at_ms=at_ms)
        if done is None or not done.removed:
            return None
        user.repository.scour()
        return _purged(done.kind, done.removed, store.clean(done, search_files=search_files))

    def _aims(self, what: str) -> list[Aim]:
        if what == _SESSION:
            return [Aim("session", self._session_id)]
        aims = [Aim("memory", self._session_id, what, MAIN_AGENT), Aim("original", self._session_id, what)]
        if what.startswith(_TASK_PREFIX):
            return [Aim("task", self._session_id, what.removeprefix(_TASK_PREFIX)), *aims]
        if what.startswith(_DOCUMENT_PREFIX):
            path = _path(what.removeprefix(_DOCUMENT_PREFIX))
            return [Aim("document", self._session_id, path=path), *aims] if path else aims
        return aims

    def _beside(self) -> Mapping[str, int]:
        """Delete what lies beside the store of this session: files of the hooks, and rules that were for it alone."""
        if self._context.place is None:
            return {}
        files, rules = delete_session_files(self._context.place, self._session_id)
        return {name: number for name, number in (("files", files), ("rules", rules)) if number}

    def _exported(self, done: Destroyed) -> int:
        if done.kind == _SESSION:
            return self._exports.delete(self._session_id)
        return self._exports.delete(self._session_id, done.tasks) if done.tasks else 0


def _purged(kind: str, removed: Mapping[str, int], left: Remains) -> Purged:
    return Purged(kind, dict(removed), left.files, left.copies, left.text, left.unsearched)


def _heir(entry: MemoryEntry, session_id: str) -> tuple[MemoryEntry, MemoryLine] | None:
    """Return the memory that other sessions' restatements make; a version that is another one's already stays."""
    new = heir_of(entry) if entry.session_id == session_id else replace(entry, id=heir_id(entry.id))
    return None if new is None else (new, line(remembered([new])[0]))


def _path(text: str) -> tuple[str, ...]:
    """Return the path of a document: names with slashes between them, or a JSON array if a name has a slash."""
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            if isinstance(found, list) and all(isinstance(one, str) for one in found):
                return tuple(found)
    return tuple(one for one in text.split("/") if one)
