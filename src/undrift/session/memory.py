"""What a session remembers: `Session.memory`.

Law: names and their promises, nothing else; `undrift.memory` does the work.
"""

from collections.abc import Collection, Mapping
from typing import Any

from undrift.core.memory.stale import Precision
from undrift.memory.memories import Conflict, Memories
from undrift.memory.upkeep import MemoryUpkeep, StalePruned
from undrift.session.rewind import Timeline
from undrift.values.closing import in_turn
from undrift.values.memory import MemoryEntry, MemoryScope, MemoryStatus, MemoryType, ScoredMemoryEntry, Trust
from undrift.window.context import SessionContext

__all__ = ["SessionMemory"]


class SessionMemory:
    """The long-term memory of one session.

    Args:
        context: The session.
        memories: What it reads and writes.
        upkeep: The care for it.
        timeline: Names the moments as of which one may ask.
    """

    def __init__(self, context: SessionContext, memories: Memories, upkeep: MemoryUpkeep, timeline: Timeline) -> None:
        self._sharing = context.sharing
        self._clock = context.clock
        self._memories = memories
        self._upkeep = upkeep
        self._timeline = timeline

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
        """Remember a fact and update what it contradicts.

        A statement supersedes an earlier one if the rules are sure, both have the same speaker, and its trust is not
        lower. The earlier one stays, marked and no longer valid. Otherwise both stay, and `conflicts` lists them. The same words again are the same memory.

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
        return self._memories.remember(content, at_ms=self._clock.tick(), fields=fields)

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
        seq = self._timeline.seq_of(known_at)
        return self._memories.search(query, k=k, types=types, as_of_ms=as_of_ms, seq=seq, only_valid=only_valid)

    @in_turn
    def memories(self, *, known_at: int | str | None = None) -> tuple[MemoryEntry, ...]:
        """Return everything that this session sees of what is remembered, oldest first; see `search`."""
        return self._memories.all(self._timeline.seq_of(known_at))

    @in_turn
    def conflicts(self, *, known_at: int | str | None = None) -> tuple[Conflict, ...]:
        """Return the contradictions that are not resolved; see `search`."""
        return self._memories.conflicts(self._timeline.seq_of(known_at))

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
        return self._upkeep.admit(content, type_=type, status=status, at_ms=self._clock.tick(), fields=fields)

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
        return self._upkeep.brief(query, budget_tokens, now_ms=self._clock.tick()).text

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
        return self._upkeep.prune(dry_run=dry_run, threshold=threshold, at_ms=self._clock.tick())

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
        return self._upkeep.rate(query, returned_ids, useful_ids, self._clock.tick())

    @in_turn
    def search_precision(self) -> Precision:
        """Return how well the newest rated searches of the home did; see `rate_search`."""
        return self._upkeep.precision()
