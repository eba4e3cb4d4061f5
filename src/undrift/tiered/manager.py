"""The tiers: a short-term buffer that is pruned as it grows, over a medium-term store on disk.

Law: write first, then remove. An entry is on disk before `add_entry` returns, and a removal is on disk before the
buffer shrinks; opening the same session again gives the same window.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import replace

from undrift.core.text.masking import masked_original
from undrift.core.text.refs import ref_of
from undrift.core.window.incremental import IncrementalWindow, Pruned
from undrift.core.window.prune import target_tokens
from undrift.errors import RecallError, StoreCorrupt, StoreError, WindowError
from undrift.settings import Settings, working_folder
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.stores.projects import place_for
from undrift.tiered.pruner import named
from undrift.values.clock import now_ms
from undrift.values.closing import Closing
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision

__all__ = ["MemoryRefresher", "TieredMemoryManager", "is_stored"]

_log = logging.getLogger("undrift.tiered")


class MemoryRefresher:
    """Moves entries that leave the buffer to medium-term memory.

    Args:
        home: See `TieredMemoryManager`; the other arguments too.
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        session_id: str = "default",
        settings: Settings | None = None,
        store: Store | None = None,
    ) -> None:
        self._settings = settings if settings is not None else Settings.from_environment()
        self._owned = None
        if store is None:
            store = self._owned = open_store(place_for(home, self._settings.home, working_folder()), Scope())
        self.store = store
        self._session_id = session_id

    def close(self) -> None:
        """Close the store, unless it was given."""
        if self._owned is not None:
            self._owned.close()

    def keep(self, entry: ContextEntry) -> None:
        """Write an entry that has just entered the buffer.

        Raises:
            StoreError: It could not be written.
        """
        original = masked_original(entry, self._session_id, "buffer", self._settings.mask_secrets)
        self.store.commit(self._context(), "add", [original])

    def _context(self) -> Context:
        return Context(self.store.scope.of(self._session_id), now_ms())

    def flush(self, entries: Sequence[ContextEntry], reason: str = "flushed from the short-term buffer") -> int:
        """Write, in one transaction, that these entries left the buffer; return the operation's number.

        Entries that the store does not hold yet are written with it. The same entries again change nothing.

        Args:
            reason: One sentence for a human.

        Raises:
            StoreError: Nothing was written.
        """
        mask_secrets = self._settings.mask_secrets
        fresh = [e for e in entries if not is_stored(self.store, self._session_id, e.id)]
        originals = [masked_original(e, self._session_id, "buffer", mask_secrets) for e in fresh]
        decisions = [Decision(e.id, "pruned", reason, e.token_count, ref_of(self._session_id, e.id)) for e in entries]
        return self.store.commit(self._context(), "prune", [*originals, *decisions])


class TieredMemoryManager(Closing):
    """Holds the entries of a session within a token threshold; what leaves stays recallable.

    After each `add_entry` the buffer's total is compared with the threshold. If it exceeds it, the buffer is pruned to
    the low-water mark, and the removed entries are flushed. A flush that fails leaves the buffer as it is, is logged as
    ERROR, and is tried again at the next entry.

    >>> with TieredMemoryManager(home, settings=Settings(prune_threshold_tokens=100)) as manager:
    ...     _ = [manager.add_entry(ContextEntry(f"e{n}", "reasoning", "text", 40, n)) for n in range(4)]
    ...     [entry.id for entry in manager.entries], manager.recall("e0")
    (['e2', 'e3'], 'text')

    Args:
        home: Folder of the store; default is the setting `home`.
        session_id: The session of the buffer; opening a known one gives its window again.
        settings: Default: from the environment.
        store: An open store to use in place of `home`; it is not closed by this object.

    Raises:
        SettingsError: A setting is wrong.
        StoreError: The store cannot be opened.
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        session_id: str = "default",
        settings: Settings | None = None,
        store: Store | None = None,
    ) -> None:
        self._settings = settings if settings is not None else Settings.from_environment()
        self._session_id = session_id
        self.refresher = MemoryRefresher(home, session_id=session_id, settings=self._settings, store=store)
        self._store = self.refresher.store
        known = self._store.buffer(session_id)
        self._seq = max((entry.seq for entry in known), default=0)
        keep = self._settings.keep_tool_results
        self._window = IncrementalWindow(keep_tool_results=keep)
        self._superseded: tuple[str, ...] = ()  # older versions of a document that could not be written as gone yet
        self._is_over = False
        self._in_doubt = False
        self._clock_ms = 0
        for entry in known:
            self._supersede(self._take_in(entry))

    def close(self) -> None:
        """Close the store, unless it was given."""
        self.refresher.close()

    @property
    def entries(self) -> tuple[ContextEntry, ...]:
        """The short-term buffer, ascending by time."""
        return self._window.entries

    @property
    def total_tokens(self) -> int:
        """Tokens of the short-term buffer."""
        return self._window.total_tokens

    @property
    def threshold_tokens(self) -> int:
        """The total above which the buffer is pruned."""
        settings = self._settings
        return settings.budget_tokens if isinstance(settings.budget_tokens, int) else settings.prune_threshold_tokens

    def add_entry(self, entry: ContextEntry) -> tuple[ContextEntry, ...]:
        """Add an entry; return what left the buffer because of it, ascending by time.

        Raises:
            WindowError: Something that is no entry, or an id that the session has had already; nothing was added.
            StoreError: The entry could not be written; nothing was added.
        """
        if not isinstance(entry, ContextEntry):
            raise WindowError(f"an entry must be a ContextEntry, not {type(entry).__name__}")
        if is_stored(self._store, self._session_id, entry.id):
            raise WindowError(f"entry id {entry.id!r} is stored already; pinning and recall use the id")
        self._seq += 1
        entry = replace(entry, seq=self._seq)  # insertion decides ties, not the caller's count
        self.refresher.keep(entry)
        late = self._supersede(self._window.remove(self._superseded))
        return (*late, *self._supersede(self._take_in(entry)), *self._prune())

    def recall(self, entry_id: str) -> str:
        """Return the content of any entry that the session ever held, as it was stored.

        Raises:
            RecallError: No such entry.
        """
        return self._store.by_entry(self._session_id, entry_id).entry.content

    def _prune(self) -> tuple[ContextEntry, ...]:
        window, threshold = self._window, self.threshold_tokens
        if window.total_tokens <= threshold:
            self._is_over = False
            return ()
        if window.pinned_tokens > threshold and not self._is_over:
            _log.critical(
                "pins and the last observations hold %d tokens, the threshold is %d; all of them are kept (anchored: %s)",
                window.pinned_tokens,
                threshold,
                named(window.anchored_ids),
            )
        self._is_over = window.pinned_tokens > threshold
        target = target_tokens(threshold, window.pinned_tokens, self._settings.prune_target_ratio)
        pruned = window.prune(target)
        removed = self._leave(pruned, f"older than the newest that fit {target:,} of {threshold:,} tokens")
        if removed and pruned.oversize_ids:
            _log.warning("too large to fit even alone: %s", named(pruned.oversize_ids))
        return removed

    def _take_in(self, entry: ContextEntry) -> Pruned:
        """Add to the window; the session's clock never runs backwards, so that what comes later counts as newer."""
        self._clock_ms = max(self._clock_ms, entry.timestamp)
        return self._window.add(entry, at_ms=self._clock_ms)

    def _supersede(self, pruned: Pruned) -> tuple[ContextEntry, ...]:
        """Remove older versions of a pinned document, now or at the next entry."""
        gone = self._leave(pruned, "a newer version of the same document is pinned")
        left = {entry.id for entry in gone}
        wanted = (*self._superseded, *(entry.id for entry in pruned.removed))
        self._superseded = tuple(id_ for id_ in wanted if id_ in self._window and id_ not in left)
        return gone

    def _leave(self, pruned: Pruned, reason: str) -> tuple[ContextEntry, ...]:
        """Write that entries left; when that fails they come back, at the places they had."""
        if not pruned.removed:
            return ()
        try:
            known = self._store.decisions(self._session_id) if self._in_doubt else {}
            self.refresher.flush([e for e in pruned.removed if e.id not in known], reason)
            self._in_doubt = False
        except StoreError as error:
            self._in_doubt = True  # another process may have let some of them go: asked at the next try
            self._window.restore(pruned)
            _log.error("nothing left the buffer, because it could not be stored first: %s", error)
            return ()
        return pruned.removed


def is_stored(store: Store, session_id: str, entry_id: str) -> bool:
    """Tell whether a session has had an entry of that id, in its window or gone from it."""
    try:
        store.by_entry(session_id, entry_id)
    except RecallError:
        return False
    except StoreCorrupt:  # it is there, if damaged
        return True
    return True
