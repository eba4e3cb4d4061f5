"""The one thing that a session can destroy for good, and the proof that nothing of it is left.

Law: what is asked for goes, and nothing else: whatever repeats it elsewhere is named, not touched. The log says that and
when something was purged, never what. Nothing undoes it.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from undrift.core.tasks.life import MAIN_AGENT
from undrift.core.text.tombstone import purged_tombstone
from undrift.errors import InputError, RecallError
from undrift.memory.repository import MemoryRepository
from undrift.stores import rows, traces
from undrift.stores.cleaning import PAUSE_S, clean, securely
from undrift.stores.exports import Exports
from undrift.stores.migrations import transaction
from undrift.stores.purge import Aim, Doomed, destroy, doomed, in_parts, is_nothing, remove_words
from undrift.stores.sqlite import SqliteStore
from undrift.stores.write import write
from undrift.values.window import Decision
from undrift.window.ledger import Ledger

__all__ = ["Purged", "Purger"]

_TASK_PREFIX = "task:"
_DOCUMENT_PREFIX = "document:"
_SESSION = "session"
_NOTE = "[A note that stood here was purged.]"
_REASON = "its original was purged"
_PURGES = "SELECT 1 FROM operations WHERE session_id = ? AND kind = 'purge' LIMIT 1"
_REMAINS = (
    "the store has {:,.0f} MB and was not written anew, so that others can write: what was purged is overwritten in it, and so "
    "are its free pages. What earlier changes left between the records of a page stays until that page is written again, or "
    "until `sqlite3 undrift.db VACUUM` is run in the home while nothing else uses it"
)
_KEPT = ("anchor", "at", "keep_head", "keep_tail", "name", "task", "thinking")
"""Of a decision's figures, what the act itself needs again."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did.

    Args:
        kind: ``original``, ``task``, ``memory``, ``document`` or ``session``.
        removed: Records of each kind that are gone, and ``files``; empty where it was purged before.
        traces: Files of the home, relative to it, that still hold some of it though no record of the store does: backups,
            notes of the agent, replays. They are yours to delete.
        copies: Records that hold the same words and were not asked for, as ``memory m0123...``.
        remains: What may be left in the store's own file though it was not found; empty where the file was written anew.
    """

    kind: str
    removed: Mapping[str, int] = field(default_factory=dict)
    traces: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    remains: str = ""


class Purger:
    """The purges of one session.

    Args:
        store: Open; not closed here.
        ledger: Of the session.
        repository: Of its memories.
        exports: Its logs and notes.
        session_id: Whose.
    """

    def __init__(
        self, store: SqliteStore, ledger: Ledger, repository: MemoryRepository, exports: Exports, session_id: str
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._repository = repository
        self._exports = exports
        self._session_id = session_id

    def purge(self, what: str, at_ms: int) -> Purged:
        """Destroy it, clean the files, and look whether anything is left; see `Session.purge`."""
        if not isinstance(what, str) or not what:
            raise InputError(
                f"what to purge is a reference, task:ID, a memory's id, document:PATH or session, not {what!r:.80}"
            )
        found, removed = self._destroyed(what, at_ms)
        files = self._exported(found)
        if files:
            removed["files"] = files
        self._ledger.reset()
        self._repository.scour()
        size_bytes = clean(self._store.using, self._store.busy_timeout_ms)
        left, copied = self._left(found)
        return Purged(found.aim.kind, removed, left, copied, _REMAINS.format(size_bytes / 1e6) if size_bytes else "")

    def _destroyed(self, what: str, at_ms: int) -> tuple[Doomed, dict[str, int]]:
        with self._store.using() as connection:
            parts = in_parts(connection, self._found(connection, what).refs)
        for refs in parts:  # others write in between; where this ends here, the same purge again goes on
            with self._store.using() as connection, securely(connection), transaction(connection):
                remove_words(connection, refs)
            time.sleep(PAUSE_S)
        with self._store.using() as connection, securely(connection), transaction(connection):
            found = self._found(connection, what)
            self._repository.forget(connection, found.memories)
            removed = destroy(connection, found, _blank)
            payload: dict[str, Any] = {"what": found.aim.kind, "removed": removed}
            write(connection, rows.operation_row(self._session_id, "purge", at_ms, payload), (), ())
            return found, dict(removed)

    def _found(self, connection: Any, what: str) -> Doomed:
        """What it names; a name that was purged before is known no more, and then only the cleaning is done again.

        Raises:
            RecallError: There is nothing of that name, and nothing was ever purged.
        """
        aims = self._aims(what)
        for found in (doomed(connection, aim) for aim in aims):
            if found.aim.kind == _SESSION or not is_nothing(found):
                return found
        if not connection.execute(_PURGES, (rows.key(self._session_id),)).fetchall():
            raise RecallError(
                f"session {self._session_id[:64]!r} has nothing under {what[:64]!r}: give a reference, task:ID, a memory's id, "
                "document:PATH, or session for all of it"
            )
        return Doomed(aims[0])

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

    def _exported(self, found: Doomed) -> int:
        if found.aim.kind == _SESSION:
            return self._exports.delete(self._session_id)
        return self._exports.delete(self._session_id, found.tasks) if found.tasks else 0

    def _left(self, found: Doomed) -> tuple[tuple[str, ...], tuple[str, ...]]:
        home = self._store.path.parent
        held = traces.files_with(home, found.pieces)
        if not held:
            return (), ()
        with self._store.using() as connection:
            known = traces.copies(connection, set().union(*held.values()))
        own = self._store.path.name
        left = []
        for path, some in held.items():
            in_store = path.parent == home and path.name in (own, f"{own}-wal")
            if not in_store or some - set(known):
                left.append(path.relative_to(home).as_posix())
        return tuple(sorted(left)), tuple(sorted({name for names in known.values() for name in names}))


def _path(text: str) -> tuple[str, ...]:
    """The path of a document: its names between slashes, or in a JSON array where one of them holds a slash."""
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            if isinstance(found, list) and all(isinstance(one, str) for one in found):
                return tuple(found)
    return tuple(one for one in text.split("/") if one)


def _blank(decision: Decision) -> Decision:
    """Return what is left of a decision whose original is gone: it holds in the same histories, and says nothing of it."""
    detail = {name: decision.detail[name] for name in _KEPT if name in decision.detail}
    if decision.kind == "evicted":
        text = decision.detail.get("text")
        detail["text"] = None if text is None else purged_tombstone(str(decision.detail.get("task") or "?"))
    elif decision.kind == "noted":
        detail["text"] = _NOTE
    return Decision(decision.entry_id, decision.kind, _REASON, decision.tokens_saved, "", detail)
