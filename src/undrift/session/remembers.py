"""The half of a session that remembers: statements, what contradicts them, and moments to go back to.

Law: names and their promises, nothing else; `undrift.memory.memories` and `undrift.session.rewind` do the work. `undrift.session.session` is
the other half.
"""

from collections.abc import Collection, Mapping
from typing import Any

from undrift.core.memory.stale import Precision
from undrift.memory.memories import Conflict, Memories
from undrift.memory.upkeep import MemoryUpkeep, StalePruned
from undrift.session.purge import Purged, Purger
from undrift.session.rewind import Diff, Rewound, Timeline
from undrift.stores.base import Operation
from undrift.values.closing import Sharing, in_turn
from undrift.values.facts import SessionFact
from undrift.values.memory import MemoryEntry, MemoryScope, MemoryStatus, MemoryType, ScoredMemoryEntry, Trust

__all__ = ["SessionMemory"]


class SessionMemory:
    """What a session remembers, and how it goes back in time; a base of `undrift.Session`."""

    _sharing: Sharing
    _memories: Memories
    _purger: Purger
    _upkeep: MemoryUpkeep
    _timeline: Timeline

    def _tick(self) -> int:
        raise NotImplementedError

    @in_turn
    def remember(
        self,
        content: str,
        *,
        type: MemoryType = "note",
        source: str = "",
        speaker: str | None = None,
        trust: Trust = "assistant",
        scope: MemoryScope = "project",
        status: MemoryStatus = "pending",
        valid_from_ms: int | None = None,
        valid_to_ms: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryEntry:
        """Store a statement for good, and settle what it means for those that are there.

        A statement that says otherwise than an earlier one supersedes it where the rules are sure, both are of one owner
        and it is vouched for no worse; the earlier one stays, marked and no longer valid. Where they are not, both stay
        and `conflicts` lists them. The same words again are the same memory.

        Args:
            content: Not empty; secrets in it are masked (setting `mask_secrets`).
            type: What it is.
            source: Where it comes from, such as a document: statements of one source are neighbours in a search.
            speaker: Who said it.
            trust: Who vouches for it; nothing is inferred from what a ``tool`` printed.
            scope: Who sees it: everybody in this home, this agent, or this session.
            status: Of the review.
            valid_from_ms: Since when it holds; None: since now.
            valid_to_ms: Until when; None: until further notice.
            metadata: JSON values.

        Returns:
            The memory as it is stored; one that was there already, where the words are the same.

        Raises:
            InputError: A value is wrong, or the text is one of undrift's own.
            StoreError: It could not be written; nothing has changed.

        Source: CONTRACT; R1-16, R1-18, A1-5, A1-7; issue "Memory".
        """
        fields: dict[str, Any] = {
            "type": type,
            "source": source,
            "speaker": speaker,
            "trust": trust,
            "scope": scope,
            "status": status,
            "valid_from_ms": valid_from_ms,
            "valid_to_ms": valid_to_ms,
            "metadata": metadata,
        }
        return self._memories.remember(content, at_ms=self._tick(), fields=fields)

    @in_turn
    def search(
        self,
        query: str,
        *,
        k: int = 10,
        types: Collection[str] | None = None,
        as_of_ms: int | None = None,
        known_at: int | str | None = None,
        only_valid: bool = False,
    ) -> tuple[ScoredMemoryEntry, ...]:
        """Find what is remembered, best first: the current value before one that it superseded.

        Args:
            query: Words or a question.
            k: Most results.
            types: Only these; None: all.
            as_of_ms: Only what holds at this moment.
            known_at: As right after this operation: a number, a checkpoint's label or a task's id.
            only_valid: Only what holds until further notice.

        Raises:
            InputError: A value is wrong.
            RecallError: There is no such operation.
            StoreError: The store cannot be read.

        Source: CONTRACT; R1-15, A1-10, A1-11.
        """
        seq = None if known_at is None else self._timeline.seq_of(known_at)
        return self._memories.search(query, k=k, types=types, as_of_ms=as_of_ms, seq=seq, only_valid=only_valid)

    @in_turn
    def memories(self, *, known_at: int | str | None = None) -> tuple[MemoryEntry, ...]:
        """Return everything that this session sees of what is remembered, oldest first; see `search`."""
        return self._memories.all(None if known_at is None else self._timeline.seq_of(known_at))

    @in_turn
    def conflicts(self, *, known_at: int | str | None = None) -> tuple[Conflict, ...]:
        """Return the pairs of memories that exclude each other, where nothing says which one holds; see `search`."""
        return self._memories.conflicts(None if known_at is None else self._timeline.seq_of(known_at))

    @in_turn
    def admit(
        self,
        content: str,
        *,
        type: MemoryType,
        status: MemoryStatus,
        source: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryEntry | None:
        """Remember a result of the work that nobody asked to remember, if it may enter by itself; else log the refusal.

        Approved task outcomes, verified architectural decisions and verified lessons may; research never. They stand on
        the tier of approved task results. The summary of a task that was completed with a valid and faithful verdict
        enters like that (setting `remember_tasks`).

        Args:
            content: As for `remember`, as for the rest.
            type: What it is.
            status: Of the review.
            source: Where it comes from.
            metadata: JSON values.

        Returns:
            The memory, or None: it did not enter, and the log says so.

        Raises:
            InputError: As for `remember`.
            StoreError: It could not be written.

        Source: REQUIREMENTS section 3, 16; issue "Memory" part 6.
        """
        fields = {"source": source, "metadata": metadata}
        return self._upkeep.admit(content, type_=type, status=status, at_ms=self._tick(), fields=fields)

    @in_turn
    def brief(self, query: str, budget_tokens: int = 500) -> str:
        """Return what is remembered about something as a text for a window: dated, labelled, with the parts of each score.

        Args:
            query: Words or a question.
            budget_tokens: Most tokens of the text, at least 0.

        Returns:
            Best first, a line each; empty where nothing is remembered that holds. What a tool printed is marked as data,
            and one source that nobody vouches for fills at most a fifth of the text. `remember` refuses it.

        Raises:
            InputError: A value is wrong.
            StoreError: The store cannot be read.

        Source: issue "Memory" part 9; RELIABILITY S2.
        """
        return self._upkeep.brief(query, budget_tokens, now_ms=self._tick()).text

    @in_turn
    def prune_memories(self, *, dry_run: bool = True, threshold: float | None = None) -> StalePruned:
        """Take memories out of sight that are worth nothing any more; nothing is deleted, and `rewind` brings them back.

        Those go whose stored weight is below the threshold, and contradicted ones whose weight, age included, is below
        twice of it. Pinned ones stay, and age alone takes nothing away.

        Args:
            dry_run: Only say which.
            threshold: 0 to 0.5; None: the setting `stale_eviction_threshold`.

        Raises:
            InputError: The threshold is out of its range.
            StoreError: It could not be written; nothing has changed.

        Source: REQUIREMENTS section 3, 14/05; A1-4.
        """
        return self._upkeep.prune(dry_run=dry_run, threshold=threshold, at_ms=self._tick())

    @in_turn
    def rate_search(self, query: str, returned_ids: Collection[str], useful_ids: Collection[str]) -> Precision:
        """Say which results of a search were of use; return how well the newest rated searches of the home did.

        Args:
            query: As it was asked; only its SHA-256 is kept.
            returned_ids: Ids of the memories that it returned.
            useful_ids: Those of them that were of use.

        Raises:
            InputError: One was of use that was not returned.
            StoreError: It could not be written.

        Source: REQUIREMENTS section 3, 14/06.
        """
        return self._upkeep.rate(query, returned_ids, useful_ids, self._tick())

    @in_turn
    def search_precision(self) -> Precision:
        """Return how well the newest rated searches of the home did; see `rate_search`."""
        return self._upkeep.precision()

    @in_turn
    def facts(self, *, as_of: int | str | None = None) -> tuple[SessionFact, ...]:
        """Return the facts that hold in this session's run, oldest first.

        Args:
            as_of: As right after this operation: a number, a checkpoint's label or a task's id; None: now.

        Source: CONTRACT; R4, A4-6.
        """
        return self._timeline.facts(None if as_of is None else self._timeline.seq_of(as_of))

    @in_turn
    def checkpoint(self, label: str = "") -> int:
        """Name this moment and return its number, to which `rewind` goes back.

        Raises:
            StoreError: It could not be written.
        """
        return self._timeline.checkpoint(label, self._tick())

    @in_turn
    def history(self) -> tuple[Operation, ...]:
        """Return all operations of the session, oldest first; those before a rewinding included."""
        return self._timeline.history()

    @in_turn
    def rewind(self, to: int | str) -> Rewound:
        """Go back: from now on every reading answers as right after an operation.

        Decisions, pins, tasks, tags, memories, facts and the scratchpad are as they were then. Nothing is deleted;
        it is logged, a second time changes nothing, and `undo_rewind` takes it back. Another process of this session
        that decided something meanwhile is refused and reads anew.

        Args:
            to: An operation's number (0: before the first), a checkpoint's label, or a task's id: right after its newest
                change.

        Raises:
            RecallError: There is none of that name.
            StoreError: It could not be written; nothing has changed.

        Source: CONTRACT; issue "Memory" part 8.
        """
        return self._timeline.rewind(to, self._tick())

    @in_turn
    def undo_rewind(self) -> Rewound:
        """Take back the newest rewinding that was not taken back: all is as right before it.

        Raises:
            RecallError: There is none.
            StoreError: It could not be written; nothing has changed.
        """
        return self._timeline.undo(self._tick())

    @in_turn
    def diff(self, earlier: int | str, later: int | str | None = None) -> Diff:
        """Return what differs between two moments; the later one is now where it is left out."""
        return self._timeline.diff(earlier, later)

    @in_turn
    def purge(self, what: str) -> Purged:
        """Destroy something for good: the only thing here that deletes, and nothing brings it back.

        All versions of it leave the store, its search, and the exported logs, and are overwritten; a small file is then
        written anew, the free pages of a large one are overwritten, its log emptied, and every file of the home searched
        for what is left. Others can write meanwhile. What left a window stays out of it, with a
        tombstone that says no more. Words that another record repeats are named, not deleted.

        Args:
            what: A reference or an entry's id, ``task:ID`` (what it let go, its records, its log and what is remembered of it),
                a memory's id, ``document:PATH`` (a file, item or checkpoint that a framework keeps under this session, or all
                that stands below the path, names between slashes), or ``session`` (all of it, what it remembered, its
                documents and the scratchpad included).

        Returns:
            How much is gone, and what is left where. The same purge again only cleans and removes nothing.

        Raises:
            RecallError: The session has nothing of that name; nothing has changed.
            StoreBusy: Another process reads at this moment. Where the operation is logged, the records are gone and only
                the cleaning is left: purge the same again.
            StoreError: It could not be written.

        Source: CONTRACT; issue "Memory" part 8; RELIABILITY S11.
        """
        return self._purger.purge(what, self._tick())
