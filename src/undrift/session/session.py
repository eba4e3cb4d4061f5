"""Session: the window, tasks and memory of one agent session, under the names that users know.

Law: a thin front. `undrift.session.prepare` does a turn, `undrift.tasks.updates` changes tasks, `memory` and `timeline`
are the facets. Each of them gets the context, and none calls back.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from undrift.core.agent_rules import TOLD_BY_REPLY
from undrift.core.budget_price import BudgetPrice
from undrift.core.text import marker
from undrift.core.text.refs import ref_of
from undrift.errors import InputError
from undrift.memory.repository import repository_of
from undrift.memory.scopes import ScopedMemories
from undrift.memory.upkeep import MemoryUpkeep
from undrift.session.identity import Recognised, recognise
from undrift.session.memory import SessionMemory
from undrift.session.pins import SessionPins
from undrift.session.prepare import Preparer, RecallHint
from undrift.session.purge import Purger
from undrift.session.rewind import Timeline
from undrift.session.tasks import SessionTasks
from undrift.session.telemetry import Telling, is_configured
from undrift.session.turn_lines import write_opening
from undrift.settings import Settings, working_folder
from undrift.stores.base import Found
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.stores.projects import place_for
from undrift.tasks.updates import TaskUpdates
from undrift.values.clock import now_ms
from undrift.values.closing import Closing, OfOneProcess, in_turn, of_part
from undrift.values.prepared import Prepared
from undrift.values.scope import Scope
from undrift.values.shown import many, quoted
from undrift.values.window import Decision, Original
from undrift.window.context import SessionContext
from undrift.window.originals import original_of
from undrift.window.request import Request
from undrift.window.sent_recorder import SentRecorder
from undrift.wire.form import ProviderReply
from undrift.wire.forms import form_of

__all__ = ["Session"]


class Session(Closing, OfOneProcess):
    """One agent session: `prepare` each request, `record` each answer, `recall` any original.

    Open it with `Session.open`; it is a context manager. Several threads may use one session: each call waits until the
    call before it is done. After `close`, and in a process that was forked, every call raises `StoreError`.

    >>> body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    >>> with Session.open("run-1", home=home) as session:
    ...     prepared = session.prepare(body, wire="anthropic")  # send prepared.body to the provider
    >>> prepared.body is body  # it fits, so nothing was changed
    True
    """

    def __init__(
        self,
        context: SessionContext,
        *,
        recognised: Recognised | None = None,
        names_recall: RecallHint = "marks",
        closes_store: bool = True,
        sent: SentRecorder | None = None,
    ) -> None:
        self.id = context.id
        self.settings = context.settings
        self.scratchpad = context.scratchpad
        """The agent's notes, active_context.md: read(), write(), append(), drop(), path."""
        self.timeline = Timeline(context)
        """Moments to go back to; its methods are methods of the session as well."""
        self._context = context
        self._sharing = context.sharing
        self._store = context.store
        self._closes_store = closes_store  # several sessions may share one
        self._log = context.log
        self._repository = repository_of(context.store, context.settings)
        self._memories = memories = ScopedMemories(context, self._repository)
        upkeep = MemoryUpkeep(context, self._repository, memories)
        self.memory = SessionMemory(context, memories, upkeep, self.timeline)
        """The memory of the session; its methods are methods of the session as well."""
        updates = TaskUpdates(context)
        self._tasks = SessionTasks(context, updates, upkeep)
        self._preparer = Preparer(context, updates, upkeep, recognised, names_recall, sent)
        self.costs = self._preparer.costs
        """The prompt cache, as usage tells it; not for several threads at once."""
        self._pins = SessionPins(context)
        self._purger = Purger(context, memories)
        # A session that removed nothing may have left its notes.
        self._log.was_empty &= self.scratchpad.is_on and not self.scratchpad.is_there

    admit = of_part("memory", SessionMemory.admit)
    brief = of_part("memory", SessionMemory.brief)
    conflicts = of_part("memory", SessionMemory.conflicts)
    memories = of_part("memory", SessionMemory.memories)
    prune_memories = of_part("memory", SessionMemory.prune_memories)
    rate_search = of_part("memory", SessionMemory.rate_search)
    remember = of_part("memory", SessionMemory.remember)
    search = of_part("memory", SessionMemory.search)
    search_precision = of_part("memory", SessionMemory.search_precision)

    checkpoint = of_part("timeline", Timeline.checkpoint)
    diff = of_part("timeline", Timeline.diff)
    facts = of_part("timeline", Timeline.facts)
    history = of_part("timeline", Timeline.history)
    rewind = of_part("timeline", Timeline.rewind)
    undo_rewind = of_part("timeline", Timeline.undo_rewind)

    change_tasks = of_part("_tasks", SessionTasks.change_tasks)
    complete_task = of_part("_tasks", SessionTasks.complete_task)
    mark = of_part("_tasks", SessionTasks.mark)
    start_task = of_part("_tasks", SessionTasks.start_task)
    tasks = of_part("_tasks", SessionTasks.tasks)
    update_task = of_part("_tasks", SessionTasks.update_task)

    bring_back = of_part("_pins", SessionPins.bring_back)
    pin = of_part("_pins", SessionPins.pin)
    unpin = of_part("_pins", SessionPins.unpin)

    purge = of_part("_purger", Purger.purge)

    @classmethod
    def open(
        cls,
        session_id: str,
        *,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        clock: Callable[[], int] | None = None,
        keeps_notes: bool = True,
    ) -> Self:
        """Open a session, new or known, in the store of a home folder.

        Args:
            session_id: Any text; two processes with the same id and home share its decisions.
            home: Folder of the store, created if absent. Default: the records of this project in the home of the settings.
            settings: Default: from the environment.
            clock: Returns Unix milliseconds; default is the system's clock. It never runs backwards for the session.
            keeps_notes: False: the session has no active_context.md, as for a look at the stored data.

        Raises:
            SettingsError: A setting is wrong.
            StoreError: The store cannot be opened; the message says why and what to do.

        >>> with Session.open("run-8", home=home, settings=Settings(budget_tokens=60_000)) as session:
        ...     session.id, session.settings.budget_tokens
        ('run-8', 60000)
        """
        if not isinstance(session_id, str) or not session_id:
            raise InputError(f"a session id must be a non-empty string, not {session_id!r}")
        return cls._opened(lambda _: Recognised(session_id, "given"), home, settings, clock, keeps_notes=keeps_notes)

    @classmethod
    def recognise(
        cls,
        body: Any,
        *,
        wire: str = "anthropic",
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        clock: Callable[[], int] | None = None,
    ) -> Self:
        """Open the session that a request belongs to: by the client's id in it, else by its content.

        Args:
            body: A request; see `prepare`.
            wire: See `prepare`.
            home: See `open`; the other arguments too.

        Raises:
            WireError: The body has the wrong shape.
            InputError: An unknown `wire`.
            SettingsError: A setting is wrong.
            StoreError: The store cannot be opened or read.

        >>> body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
        >>> with Session.recognise(body, home=home) as first, Session.recognise(body, home=home) as second:
        ...     first.id == second.id
        True
        """
        form = form_of(wire)
        request = Request(body, form)
        return cls._opened(lambda store: recognise(store, form, request), home, settings, clock)

    @classmethod
    def _opened(
        cls,
        find: Callable[[Store], Recognised],
        home: str | os.PathLike[str] | None,
        settings: Settings | None,
        clock: Callable[[], int] | None,
        *,
        keeps_notes: bool = True,
    ) -> Self:
        chosen = settings if settings is not None else Settings.from_environment()
        place = place_for(home, chosen.home, working_folder())
        store = open_store(place, Scope())
        try:
            found = find(store)
            write_opening(found)
            context = SessionContext.of(
                found.session_id, store, chosen, clock or now_ms, home=place, keeps_notes=keeps_notes
            )
            return cls(context, recognised=found)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the store when the running call of another thread has ended; a second call does nothing."""
        self._sharing.end(self._ended)

    def _ended(self) -> None:
        try:
            self._preparer.end()
        finally:
            self._memories.close()
            if self._closes_store:
                self._store.close()

    def __repr__(self) -> str:
        home, tasks = quoted(str(self._context.home)), many(len(self._log.tasks.by_id), "task")
        return f"{type(self).__name__}({quoted(self.id)}, home={home}, {tasks}, {self._sharing.state})"

    @in_turn
    def prepare(self, body: Any, *, wire: str = "anthropic", model: str | None = None) -> Prepared:
        """Return the body to send in place of `body`, so that it fits the budget.

        Every decision of an earlier turn is applied again, byte for byte. New ones are made only if the window exceeds
        the budget or a task has ended, and they are on disk before this returns.

        Args:
            body: A request with its whole history, as a dict or as JSON bytes; never changed. The dict may hold what the
                SDK takes, such as ``reply.content``, a tuple or a generator. If something leaves, it comes out as the
                JSON that the SDK would send. If the provider holds the history (``previous_response_id``,
                ``conversation``), the body is passed through. The gateway passes a `Request` that it has made already.
            wire: The provider's form: ``anthropic``, ``openai-chat``, ``openai-responses`` or ``gemini``.
            model: The model's name, if the body does not have it (Gemini's is in the URL).

        Raises:
            WireError: The body has the wrong shape, and `path` leads to the place; or it is of another wire.
            Declined: A request of a message thread. The error holds an answer that makes clients send whole histories.
            InputError: An unknown `wire`.
            StoreError: The decisions of a session that was opened again cannot be read; later faults are warnings.

        >>> prepared = session.prepare(long_body, wire="anthropic")
        >>> prepared.tokens_before > prepared.budget_tokens >= prepared.tokens_after
        True
        >>> prepared.new[0].kind, prepared.body is long_body
        ('pruned', False)
        """
        if not is_configured():
            return self._preparer.prepare(body, wire=wire, model=model)
        with Telling("prepare", self.id, wire) as telling:
            prepared = self._preparer.prepare(body, wire=wire, model=model)
            telling.prepared(prepared, self._preparer.newest_model)
        return prepared

    @in_turn
    def record(self, reply: Any, *, wire: str = "anthropic") -> ProviderReply:
        """Process the provider's answer: its usage corrects token counts, and its calls of the task tool change tasks.

        Args:
            reply: The whole answer: an SDK's object (with ``model_dump`` or ``to_dict``), a dict, or JSON bytes. A raw
                response, the bytes of a stream, and the list of all its events are taken too.
            wire: The provider's form.

        Returns:
            The content of the answer, the same for all forms. `task_results` has the results to send back for its calls
            of the task tool (`undrift.TASK_TOOL_SCHEMA`), refusals included. Markers are removed from its text.

        Raises:
            WireError: It is no answer, or one of another wire; the message says what to pass.
            InputError: An unknown `wire`.

        >>> usage = {"input_tokens": 9, "output_tokens": 2}
        >>> session.record({"content": [{"type": "text", "text": "Done."}], "usage": usage}).text
        'Done.'
        """
        if not is_configured():
            return self._recorded(reply, wire)
        with Telling("record", self.id, wire) as telling:
            read = self._recorded(reply, wire)
            telling.recorded(read, self._preparer.newest_model)
        return read

    def _recorded(self, reply: Any, wire: str) -> ProviderReply:
        read = self._preparer.record(reply, wire=wire)
        told = tuple(self._tasks.answer(call) for call in read.calls if call.tool_name in TOLD_BY_REPLY)
        text = marker.strip_markers(read.text) if self.settings.task_markers else read.text
        return replace(read, text=text, task_results=told)

    @in_turn
    def budget_price(self) -> BudgetPrice | None:
        """Return the price of the fixed budget so far, from reported usage. None means: the budget is auto, or no price is known."""
        budget = self.settings.budget_tokens
        return self._preparer.bills.price_of(budget) if isinstance(budget, int) else None

    @in_turn
    def recall(self, ref: str) -> str:
        """Return the original text of a removed entry, as it was stored.

        Args:
            ref: The reference of an action, or an entry's id.

        Raises:
            RecallError: Nothing is known under it, or it was purged or swept; the message says when.
            StoreCorrupt: The text on disk no longer matches its SHA-256.

        >>> call, result, *others = session.prepare(long_body).new
        >>> session.recall(result.ref).splitlines()[0]
        'src/part0.py, line 1'
        """
        return self.original(ref).entry.content

    @in_turn
    def original(self, ref: str) -> Original:
        """Return an original with all its fields: its session, its type, its time and its text.

        Args:
            ref: See `recall`; the errors too.

        >>> original = session.original(session.pin("spec", "The port is 8080."))
        >>> original.source, original.entry.type
        ('pin', 'spec')
        """
        if not isinstance(ref, str):
            raise InputError(f"a reference must be a text, not {type(ref).__name__}: give `action.ref`")
        if found := self._log.decisions.about(ref):
            ref = found[-1].ref or ref
        by_ref = len(ref) == len(ref_of("", ""))
        return original_of(self._store, self.id, ref) if by_ref else self._store.by_entry(self.id, ref)

    @in_turn
    def why(self, ref: str) -> Decision | None:
        """Return the newest decision about an entry. None means: it is unchanged.

        Args:
            ref: The reference of an action, or an entry's id.

        Raises:
            StoreError: The store cannot be read.

        >>> action = session.prepare(long_body).new[0]
        >>> decision = session.why(action.ref)
        >>> decision.kind, decision.tokens_saved == action.tokens_saved
        ('pruned', True)
        """
        about = self._log.decisions.about(ref)
        return self._store.decision(ref) or (about[-1] if about else None)

    @in_turn
    def find(self, query: str, *, limit: int = 10) -> tuple[Found, ...]:
        """Search the originals of this session by words, best first.

        Args:
            query: Words; case does not matter.
            limit: The most results, at least 1.

        Raises:
            StoreError: The store cannot be read.

        >>> _ = session.prepare(long_body)
        >>> "part0" in session.find("part0", limit=1)[0].snippet
        True
        """
        return self._store.find(query, session_id=self.id, limit=limit)
