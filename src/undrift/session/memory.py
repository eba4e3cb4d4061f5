"""The memory of a session: `Session.memory`.

Law: names and their promises, nothing else; `undrift.memory` does the work.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from undrift.core.memory.lessons import lessons
from undrift.core.memory.stale import Precision
from undrift.memory.handling import Forgotten, ScopedHandling, TakenIn
from undrift.memory.learning import Learning
from undrift.memory.memories import Conflict
from undrift.memory.scopes import ScopedMemories
from undrift.memory.upkeep import MemoryUpkeep, StalePruned
from undrift.session.rewind import Timeline
from undrift.values.closing import in_turn
from undrift.values.memory import MemoryEntry, MemoryScope, MemoryStatus, MemoryType, ScoredMemoryEntry, Trust
from undrift.values.window import ContextEntry
from undrift.window.context import SessionContext
from undrift.wire import objects

__all__ = ["SessionMemory"]


class SessionMemory:
    """The long-term memory of one session.

    Args:
        context: The session.
        memories: The memories that it may see.
        upkeep: Admits and prunes them.
        timeline: Finds the operation of `known_at`.
    """

    def __init__(
        self, context: SessionContext, memories: ScopedMemories, upkeep: MemoryUpkeep, timeline: Timeline
    ) -> None:
        self._sharing = context.sharing
        self._clock = context.clock
        self._memories = memories
        self._upkeep = upkeep
        self._timeline = timeline
        self._handling = ScopedHandling(memories)
        self._learning = Learning(context, memories.project)

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
        """Remember a statement and update the memories that it contradicts.

        A statement supersedes an earlier one if the rules are sure, both have the same speaker, and its trust is not
        lower. The earlier one stays, marked and no longer valid. If the rules are not sure, both stay and `conflicts`
        lists them. A statement that says the same as a memory is kept with it, also in other words.

        Args:
            content: Not empty; secrets in it are masked (setting `mask_secrets`).
            type: The kind of statement; some kinds age faster than others.
            speaker: Who said it; only a statement of the same speaker supersedes it.
            status: Of its review.
            source: Its origin, such as a document: statements of one source are neighbours in a search.
            trust: How far its source is believed; nothing is inferred from the output of a ``tool``.
            scope: Who sees it: all agents of this ``project``, this ``user`` in every project, this ``session``, or this
                ``agent``.
            valid_from_ms: It holds from this time in Unix milliseconds; None: from now.
            valid_to_ms: It holds until this time; None: no end.
            metadata: JSON values; an SDK's objects become JSON.

        Returns:
            The memory as it is stored; the existing one if it says the same.

        Raises:
            InputError: A value is wrong, or the text is one of undrift's own.
            StoreError: It could not be written; nothing has changed.

        >>> session.remember("The login service runs on port 8080", source="deploy.md").content
        'The login service runs on port 8080'
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
            "metadata": metadata if metadata is None else objects.plain(metadata, "metadata")[1],
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
        """Find memories, best first: the active one before those that it superseded.

        Args:
            query: Words or a question.
            k: The most results, at least 1.
            types: Only memories of these types; None: all.
            as_of_ms: Only memories that hold at this time, in Unix milliseconds.
            known_at: The state right after this operation: a number, a checkpoint's label or a task's id.
            only_valid: Only memories that hold without an end.

        Raises:
            InputError: A value is wrong.
            RecallError: There is no such operation.
            StoreError: The store cannot be read.

        >>> _ = session.remember("The login service runs on port 8080")
        >>> [hit.entry.content for hit in session.search("port of the login service", k=1)]
        ['The login service runs on port 8080']
        """
        seq = self._timeline.seq_of(known_at)
        return self._memories.search(query, k=k, types=types, as_of_ms=as_of_ms, seq=seq, only_valid=only_valid)

    @in_turn
    def warnings(self) -> tuple[str, ...]:
        """Return the faults of your embedder and re-ranker in the newest search or write, which continued without them.

        >>> session.memory.warnings()
        ()
        """
        return self._memories.warnings

    @in_turn
    def memories(self, *, known_at: int | str | None = None) -> tuple[MemoryEntry, ...]:
        """Return all memories that this session may read, superseded ones too, oldest first.

        Args:
            known_at: See `search`; the errors too.

        >>> _ = session.remember("The login service runs on port 8080")
        >>> len(session.memories())
        1
        """
        return self._memories.all(self._timeline.seq_of(known_at))

    @in_turn
    def conflicts(self, *, known_at: int | str | None = None) -> tuple[Conflict, ...]:
        """Return the contradictions that are not resolved, as pairs of memories.

        Args:
            known_at: See `search`; the errors too.
        """
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
        """Remember a result of the work if its type and status allow it; else log the refusal.

        Approved task outcomes, verified architectural decisions and verified lessons are allowed; research never. They
        have the tier of approved task results. The summary of a task with a valid and faithful verdict enters this way
        (setting `learns`).

        Args:
            content: See `remember`; the other arguments too.

        Returns:
            The memory, or None if it was refused; the log says so.

        Raises:
            InputError: A value is wrong; see `remember`.
            StoreError: It could not be written.
        """
        fields = {"source": source, "metadata": metadata}
        return self._upkeep.admit(content, type_=type, status=status, at_ms=self._clock.tick(), fields=fields)

    @in_turn
    def learn(self, entries: Sequence[ContextEntry] | None = None, *, client: str = "") -> tuple[MemoryEntry, ...]:
        """Remember what a session teaches: lasting statements of its user, and what was tried.

        A statement of the user has the trust of a user, the output of a tool that of a tool. Their source is
        ``session:`` with the id of this session. A statement that you forgot is not learned again.

        Args:
            entries: The entries of a recorded session, as `undrift.transcripts` reads them. None: the newest words of
                the user in the last prepared request, if it is certain that a person typed them.
            client: The user agent of that request. Nothing is learned from it without one of a client whose user types.

        Returns:
            The new memories; at most 35 from one session and 1,000 in a project.

        Raises:
            StoreError: It could not be written; nothing has changed.

        >>> said = {"role": "user", "kind": "text", "message": 0}
        >>> words = ContextEntry("e1", "reasoning", "Always run the linter before a commit.", 9, 1, said)
        >>> [entry.trust for entry in session.memory.learn([words])], session.memory.learn([words])
        (['user'], ())
        """
        at_ms = self._clock.tick()
        given = self._learning.newest_words(client, at_ms) if entries is None else entries
        return self._learning.learn(lessons(given), at_ms=at_ms)

    @in_turn
    def edit(self, id: str, content: str) -> MemoryEntry:
        """Replace the words of a memory, as a person does: the new memory supersedes it and has the trust of a user.

        Type, source, speaker and scope stay. The old one is kept, marked with the rule ``edited``.

        Args:
            id: An active memory that this session may read.
            content: See `remember`.

        Returns:
            The new memory; the old one if the words and the trust are the same.

        Raises:
            RecallError: There is none of that id.
            InputError: It is superseded already, or the text is none.
            StoreError: It could not be written; nothing has changed.

        >>> old = session.remember("The port is 8080")
        >>> session.memory.edit(old.id, "The port is 9090").trust
        'user'
        """
        return self._handling.edit(id, content, at_ms=self._clock.tick())

    @in_turn
    def forget(self, *ids: str, source: str | None = None) -> Forgotten:
        """Hide memories from every agent; nothing is destroyed, and a rewind of this session brings them back.

        A memory that a forgotten one superseded stays superseded.

        Args:
            ids: Memories that this session may read, superseded ones too.
            source: Hide only its words. A restatement from another source stays, as a memory of its own.

        Raises:
            RecallError: There is none of an id; nothing has changed.
            StoreError: It could not be written; nothing has changed.

        >>> old = session.remember("The port is 8080")
        >>> [entry.content for entry in session.memory.forget(old.id).entries], session.memories()
        (['The port is 8080'], ())
        """
        return self._handling.forget(ids, at_ms=self._clock.tick(), source=source)

    @in_turn
    def take_in(self, records: Iterable[Mapping[str, Any]], *, dry_run: bool = False) -> TakenIn:
        """Import memories; the same import again adds nothing.

        Args:
            records: Each is an exported memory with its id, times and state, or a new statement without an id. A
                statement has ``content`` and the fields of `remember`.
            dry_run: Only report the result.

        Raises:
            StoreError: It could not be written. An import of many is written in parts; a second one adds the rest.

        >>> [entry.content for entry in session.memory.take_in([{"content": "The port is 8080"}]).added]
        ['The port is 8080']
        """
        return self._handling.take_in(records, at_ms=self._clock.tick(), dry_run=dry_run)

    @in_turn
    def brief(self, query: str, budget_tokens: int = 500, *, shows_scores: bool = True) -> str:
        """Return a text for a window with the memories that fit a question: dated, labelled, with the parts of each score.

        Args:
            query: Words or a question.
            budget_tokens: The most tokens of the text, at least 0.
            shows_scores: False: the text as a window holds it (setting `memory_tokens`).

        Returns:
            Best first, a line each; empty if no active memory fits. The output of a tool is marked as data, and an
            untrusted source fills at most a fifth of the text. `remember` refuses this text.

        Raises:
            InputError: A value is wrong.
            StoreError: The store cannot be read.

        >>> _ = session.remember("The login service runs on port 8080")
        >>> "port 8080" in session.brief("Where does the login service run?", 200)
        True
        """
        found = self._upkeep.brief(query, budget_tokens, now_ms=self._clock.tick(), shows_scores=shows_scores)
        return found.text

    @in_turn
    def prune_memories(self, *, dry_run: bool = True, threshold: float | None = None) -> StalePruned:
        """Hide memories that are no longer useful; nothing is deleted, and `rewind` brings them back.

        A memory is hidden if its stored weight is below the threshold. A contradicted one is hidden if its weight, age
        included, is below twice the threshold. Pinned ones stay, and age alone hides nothing.

        Args:
            dry_run: Only report which.
            threshold: 0 to 0.5; None: the setting `stale_eviction_threshold`.

        Raises:
            InputError: The threshold is out of its range.
            StoreError: It could not be written; nothing has changed.

        >>> session.prune_memories().stale  # nothing is remembered yet
        ()
        """
        return self._upkeep.prune(dry_run=dry_run, threshold=threshold, at_ms=self._clock.tick())

    @in_turn
    def rate_search(self, query: str, returned_ids: Collection[str], useful_ids: Collection[str]) -> Precision:
        """Rate the results of a search; return the precision of the newest rated searches in this home.

        Args:
            query: The query of the search; only its SHA-256 is kept.
            returned_ids: Ids of the memories that it returned.
            useful_ids: The useful ones among them.

        Raises:
            InputError: A useful one was not returned.
            StoreError: It could not be written.

        >>> _ = session.remember("The login service runs on port 8080")
        >>> ids = [hit.entry.id for hit in session.search("port of the login service")]
        >>> session.rate_search("port of the login service", ids, ids).value
        1.0
        """
        return self._upkeep.rate(query, returned_ids, useful_ids, self._clock.tick())

    @in_turn
    def search_precision(self) -> Precision:
        """Return the precision of the newest rated searches of the home; see `rate_search`."""
        return self._upkeep.precision()
