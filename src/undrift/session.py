"""Session: the whole history of a client in, a window that fits out; what left is on disk before the window is.

Law: the one place where core, wire and store meet. A plan is made by `core.turn`, written in one transaction, and only
then applied. A fault of the store lets nothing leave: the request goes out as it was decided before, with a warning.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from undrift.binding import binding_of, headers_for
from undrift.conversation import Conversation
from undrift.core.calibration import Calibration, Report, is_plausible
from undrift.core.refs import ref_of
from undrift.core.tokens import counter
from undrift.core.turn import TurnPlan
from undrift.desk import Desk
from undrift.errors import Declined, InputError, StoreError
from undrift.identity import TAIL, Recognised, note, recognise
from undrift.ledger import Ledger
from undrift.models import Model, lookup, read_models
from undrift.request import Request
from undrift.settings import Settings
from undrift.settling import Settler, Turn
from undrift.stores.base import Found
from undrift.stores.sqlite import SqliteStore
from undrift.types import PINNED_TYPES, ContextEntry, Decision, EntryType, Original, Prepared, Task
from undrift.wire import raw
from undrift.wire.form import Form, Reply
from undrift.wire.forms import form_of

__all__ = ["Session"]

_log = logging.getLogger("undrift.session")

_CONVERSATIONS = 8  # of one session kept in memory at once: the main one, sub-agents, title requests


class Session:
    """One agent session: `prepare` each request, `record` each answer, `recall` what left.

    Open it with `Session.open`; it is a context manager. One thread at a time.

    Source: CONTRACT "Python"; HOUSE "A turn's way through it".
    """

    def __init__(self, session_id: str, store: SqliteStore, settings: Settings, clock: Callable[[], int]) -> None:
        self.id = session_id
        self.settings = settings
        self._store = store
        self._clock = clock
        self._now_ms = 0
        self._count = counter(settings.token_counter)
        self._models = read_models(settings.models_file)
        self._ledger = Ledger(store, session_id, mask_secrets=settings.mask_secrets)
        self._conversations: list[Conversation] = []
        self._fixed: tuple[Any, int] = (None, 0)
        self._counters: dict[float, Callable[[str], int]] = {}
        self._last: tuple[str, int] | None = None
        self._is_over = False
        self._recognised: Recognised | None = None
        self._desk = Desk(
            self._ledger, keep_tool_results=settings.keep_tool_results, mask_secrets=settings.mask_secrets
        )
        self._settler = Settler(session_id, self._ledger, self._desk, settings)

    @classmethod
    def open(
        cls,
        session_id: str,
        *,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        clock: Callable[[], int] | None = None,
    ) -> Self:
        """Open a session, new or known, in the store of a home folder.

        Args:
            session_id: Any text; two processes with the same id and home share its decisions.
            home: Folder of the store, made when absent; default is the setting `home`.
            settings: Default: from the environment.
            clock: Unix milliseconds; default is the system's. Never runs backwards for the session.

        Raises:
            SettingsError: A setting is wrong.
            StoreError: The store cannot be opened; the message says why and what to do.
        """
        if not isinstance(session_id, str) or not session_id:
            raise InputError(f"a session id must be a non-empty string, not {session_id!r}")
        chosen = settings if settings is not None else Settings.from_environment()
        store = SqliteStore.open(home if home is not None else chosen.home)
        try:
            return cls(session_id, store, chosen, clock or _system_clock)
        except BaseException:
            store.close()
            raise

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
        """Open the session that a request belongs to: by the id that the client gives in it, else by what it holds.

        Args:
            body: A request, as for `prepare`.
            wire: As for `prepare`.
            home: As for `open`, as for the rest.

        Raises:
            WireError: The body has the wrong shape.
            InputError: An unknown `wire`.
            SettingsError: A setting is wrong.
            StoreError: The store cannot be opened or read.

        Source: docs/adr/0014-which-session.md.
        """
        form = form_of(wire)
        request = Request(body, form)
        chosen = settings if settings is not None else Settings.from_environment()
        store = SqliteStore.open(home if home is not None else chosen.home)
        try:
            found = recognise(store, form, request)
            session = cls(found.session_id, store, chosen, clock or _system_clock)
        except BaseException:
            store.close()
            raise
        session._recognised = found
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self._store.close()

    def prepare(self, body: Any, *, wire: str = "anthropic", model: str | None = None) -> Prepared:
        """Return the body to send in place of `body`, so that it fits the budget.

        Every decision of an earlier turn is applied again, byte for byte; new ones are taken only when the window
        exceeds the budget, and are on disk before this returns.

        Args:
            body: A request with its whole history, as a dict or as JSON bytes; never changed. One whose history is held
                by the provider (``previous_response_id``, ``conversation``) is passed through.
            wire: The provider's form: ``anthropic``, ``openai-chat``, ``openai-responses`` or ``gemini``.
            model: Its name, where the body does not have it (Gemini's stands in the URL).

        Raises:
            WireError: The body has the wrong shape; `path` leads to the place.
            Declined: A request of a message thread; the error holds the answer after which clients send whole histories.
            InputError: An unknown `wire`.
        """
        form = form_of(wire)
        request = Request(body, form)
        now_ms = self._tick()
        known = lookup(model or request.model, self._models)
        count = self._counter(known)
        fixed = self._fixed_tokens(form, request, count)
        calibration = self._ledger.calibration(known.name)
        budget = self.settings.budget_for(known.window_tokens)
        if (held := form.delta(request.fields)) is not None:
            return self._passed(body, held, fixed, budget)
        request.open()
        warnings = self._follow_others()
        binding = binding_of(request.fields, form.NAME, known, self.settings, budget)
        conversation = self._conversation(form, request, count)
        conversation.follow(request.raws, request.load, now_ms)
        self._note(form, conversation, warnings)
        self._follow_tasks(conversation, warnings)
        turn = Turn(conversation, request, binding, fixed, calibration.counted(budget), count, now_ms)
        items, plan = self._settler.settle(turn, warnings)
        after = fixed + (conversation.tokens_before if items is None else conversation.tokens_after)
        if calibration.tokens(after) > budget and (reason := binding.holds(conversation)):
            warnings.append(f"over budget: {reason}")
        warnings.extend(self._plan_warnings(plan, after, budget, calibration))
        self._last = (known.name, after)
        changed = binding.fields(conversation, request.fields)
        is_same = (items is None or conversation.untouched) and not changed
        return Prepared(
            body=body if is_same else request.with_items(request.given if items is None else items, changed),
            tokens_before=calibration.tokens(fixed + conversation.tokens_before),
            tokens_after=calibration.tokens(after),
            budget_tokens=budget,
            actions=() if items is None else conversation.actions,
            headers=headers_for(changed),
            warnings=tuple(warnings),
        )

    def _passed(self, body: Any, held: str, fixed: int, budget: int) -> Prepared:
        """A request that carries only what is new: the provider holds the rest, so there is nothing to decide."""
        if held == "thread":
            raise Declined("a message thread keeps its history at the provider", path=held)
        warning = f"passed through: the provider holds the history ({held})"
        self._last = None
        return Prepared(body, fixed, fixed, budget, warnings=(warning,))

    def record(self, reply: Any, *, wire: str = "anthropic") -> Reply:
        """Take in the provider's answer: its usage corrects the token counts of this session.

        Args:
            reply: The answer, as a dict or as JSON bytes.
            wire: The provider's form.

        Returns:
            What the answer says, in one meaning for all forms.

        Raises:
            WireError: Bytes that are no JSON.
            InputError: An unknown `wire`.

        Source: WIRE A20, C5, R8, G11; A3-14 (a factor, never a high-water mark).
        """
        form = form_of(wire)
        answer = raw.decode(bytes(reply)) if isinstance(reply, (bytes, bytearray)) else reply
        read = form.reply(answer) if isinstance(answer, Mapping) else Reply()
        if read.input_tokens is None or self._last is None or self.settings.token_counter == "characters/4":
            return read
        model, counted = self._last
        report = Report(counted, read.input_tokens)
        if is_plausible(report):
            self._calibrate(model, report)
        return read

    def pin(self, type: EntryType, text: str) -> str:
        """Pin a text: it stands in every window from now on, byte-identical. Return its reference.

        It goes into the first user message while nothing was answered yet, else to the tail, where it stays. The same
        type and text again is the same pin.

        Args:
            type: One of `PINNED_TYPES`.
            text: Not empty. A secret in it is masked in the window and on disk (setting `mask_secrets`).

        Raises:
            InputError: Another type, or an empty text.
            StoreError: It could not be written; nothing is pinned.
        """
        if type not in PINNED_TYPES:
            raise InputError(f"a pin's type must be one of {sorted(PINNED_TYPES)}, not {type!r}")
        if not isinstance(text, str) or not text.strip():
            raise InputError("a pin's text must be a string with something in it")
        now_ms = self._tick()
        entry = ContextEntry(f"pin:{ref_of(type, text)}", type, text, self._count(text), now_ms)
        return self._ledger.pin(entry, at_ms=now_ms)

    def start_task(
        self,
        task_id: str,
        *,
        content: str = "",
        acceptance_criteria: Sequence[str] = (),
        phase_index: int = 0,
        stack: bool = False,
    ) -> Task:
        """Take up a task: the tool calls from now on belong to it, until it ends.

        Args:
            task_id: Any text; known or new.
            content: What is to be done; of a new task its id where nothing is given.
            acceptance_criteria: What its result is measured against.
            phase_index: At least 0.
            stack: Whether it may be taken up on top of another one, which goes on when it ends.

        Raises:
            TaskError: Another task is in progress, or a field is wrong; the message says what to do.
            StoreError: It could not be written; nothing has changed.

        Source: CONTRACT; R3-03, A3-1.
        """
        fields = {
            "content": content or (None if task_id in self._ledger.tasks.by_id else task_id),
            "acceptance_criteria": tuple(acceptance_criteria) or None,
            "phase_index": phase_index or None,
        }
        return self.update_task(task_id, stack=stack, status="in_progress", **fields)

    def update_task(self, task_id: str, *, stack: bool = False, **fields: Any) -> Task:
        """Change a task; what is not given keeps its value.

        Args:
            task_id: Known, or new.
            stack: See `start_task`.
            fields: content, active_form, status, acceptance_criteria, grounding, grounding_evidence, result_summary,
                delegated_to, phase_index.

        Raises:
            TaskError: It is not possible; the message says what to do.
            SummaryRejected: It is completed without a summary of at least 15 characters.
            StoreError: It could not be written; nothing has changed.

        Source: CONTRACT; R3-20, A3-9, A3-22.
        """
        self._ledger.follow()
        self._desk.update([{**fields, "id": task_id}], stack=stack, at_ms=self._tick())
        return self._ledger.tasks.by_id[task_id]

    def complete_task(self, task_id: str, result_summary: str) -> Task:
        """Complete a task: from the next `prepare` on its summary stands in for its raw logs, which stay recallable.

        Args:
            task_id: In progress.
            result_summary: At least 15 characters; it is judged against the task's criteria and its raw logs.

        Returns:
            The task with its `annotated_summary` and `validation`.

        Raises:
            SummaryRejected: It is missing or too short.
            TaskError: There is no such task, or it ended otherwise.
            StoreError: It could not be written; nothing has changed.

        Source: CONTRACT; seed 003 section 5.
        """
        return self.update_task(task_id, status="completed", result_summary=result_summary)

    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks of the session, in the order in which they were made."""
        return self._desk.tasks

    def recall(self, ref: str) -> str:
        """Return the original text of what left, as it was stored.

        Args:
            ref: The reference of an action, or an entry's id.

        Raises:
            RecallError: Nothing is known under it.
            StoreCorrupt: What is on disk no longer matches its SHA-256.
        """
        return self.original(ref).entry.content

    def original(self, ref: str) -> Original:
        """Return what left with all that is known of it; see `recall`."""
        if found := self._ledger.decisions.about(ref):
            ref = found[-1].ref
        by_ref = len(ref) == len(ref_of("", ""))
        original = self._store.original(ref) if by_ref else self._store.by_entry(self.id, ref)
        if original.session_id != self.id:
            raise InputError(f"{ref} belongs to another session")
        return original

    def why(self, ref: str) -> Decision | None:
        """Return the newest decision about an entry, by its reference or id; None when it never left."""
        about = self._ledger.decisions.about(ref)
        return self._store.decision(ref) or (about[-1] if about else None)

    def find(self, query: str, *, limit: int = 10) -> tuple[Found, ...]:
        """Search the originals of this session by words, best first."""
        return self._store.find(query, session_id=self.id, limit=limit)

    def _note(self, form: Form, conversation: Conversation, warnings: list[str]) -> None:
        """Take note of a later request of a session that was recognised, so that a restart finds it again."""
        found = self._recognised
        if found is None or found.how == "given":
            return
        try:
            if found.newest_id != conversation.newest_id:
                note(self._store, self.id, form, conversation.newest_id, conversation.tail(TAIL))
                self._recognised = replace(found, newest_id=conversation.newest_id, fault="")
            fault = found.fault
        except StoreError as error:
            fault = str(error)
        if fault:
            warnings.append(f"a restart may take this for a new session, because it could not be noted: {fault}")

    def _follow_tasks(self, conversation: Conversation, warnings: list[str]) -> None:
        try:
            self._desk.follow(conversation, at_ms=self._now_ms)
        except StoreError as error:
            warnings.append(f"calls could not be tagged with the task in progress: {error}")

    def _tick(self) -> int:
        self._now_ms = max(self._now_ms, self._clock())
        return self._now_ms

    def _counter(self, model: Model) -> Callable[[str], int]:
        """The counter in the model's own tokens; plain characters / 4 are the unit of outside measures, never scaled."""
        factor = 1.0 if self.settings.token_counter == "characters/4" else model.token_factor
        if factor not in self._counters:
            count = self._count
            self._counters[factor] = count if factor == 1.0 else lambda text: math.ceil(count(text) * factor)
        return self._counters[factor]

    def _conversation(self, form: Form, request: Request, count: Callable[[str], int]) -> Conversation:
        """The conversation that starts as this request does; the one used last stands last."""
        first = request.load(0)
        digest = form.digest(first) if isinstance(first, Mapping) else b""
        known = (c for c in self._conversations if c.suits(form, count))
        found = next((c for c in known if c.starts_with(request.raws[0], digest)), None)
        if found is None:
            found = Conversation(form, self._ledger.decisions, count)
        else:
            self._conversations.remove(found)
        self._conversations = [*self._conversations[1 - _CONVERSATIONS :], found]
        return found

    def _fixed_tokens(self, form: Form, request: Request, count: Callable[[str], int]) -> int:
        key = (form.NAME, count, request.beside_key())
        if key != self._fixed[0]:
            self._fixed = (key, sum(map(count, form.beside_texts(request.fields))))
        return self._fixed[1]

    def _calibrate(self, model: str, report: Report) -> None:
        try:
            self._ledger.calibrate(model, report, at_ms=self._now_ms)
        except StoreError as error:
            _log.error("session %s: the usage could not be stored, the counts stay as they were: %s", self.id, error)

    def _follow_others(self) -> list[str]:
        """Take in what other processes have decided; return the warning when the store cannot be read."""
        try:
            self._ledger.follow()
        except StoreError as error:
            _log.error("session %s: the store cannot be read, earlier decisions hold: %s", self.id, error)
            return [f"the store cannot be read, earlier decisions hold: {error}"]
        return []

    def _plan_warnings(self, plan: TurnPlan | None, counted: int, budget: int, calibration: Calibration) -> list[str]:
        found: list[str] = []
        after = calibration.tokens(counted)
        if plan is not None and plan.oversize:
            found.append(f"{plan.oversize} entries left because they could not fit even alone")
            _log.warning("session %s: %s", self.id, found[-1])
        if plan is not None and plan.shortened:
            found.append("the first or newest message of the user lost its middle: nothing else would have fitted")
            _log.warning("session %s: %s", self.id, found[-1])
        if plan is not None and after > budget:
            must = calibration.tokens(plan.protected_tokens)
            found.append(f"over budget: what must stay is {must:,} tokens of {budget:,}, the window {after:,}")
            if not self._is_over:  # logged once per transition, in every result while it lasts (A2-11)
                _log.critical("session %s: %s", self.id, found[-1])
        self._is_over = plan is not None and after > budget
        return found


def _system_clock() -> int:
    return time.time_ns() // 1_000_000
