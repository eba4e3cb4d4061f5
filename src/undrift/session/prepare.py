"""The turns of one session: a client's whole history becomes a window within the budget.

Law: the only place where core, wire and store meet. `core.window.plan` makes a plan; it is written in one transaction, and
only then applied. At a fault of the store nothing new leaves: earlier decisions hold, and the result has a warning.
"""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from undrift.core.text.calibration import UsageReport, is_plausible
from undrift.core.window.actions import count_gone, gone_of, scaled
from undrift.core.window.calling_back import offers_recall, way_back
from undrift.core.window.fit import is_user_text
from undrift.core.window.low_water import Cache
from undrift.core.window.turn import Binding, Room, Rules, Texts, Tools, Turn
from undrift.errors import Declined, StoreError
from undrift.memory.upkeep import MemoryUpkeep
from undrift.session.beside import Beside, BesideReader
from undrift.session.cache import CacheTraffic, LastRequest, expected_of
from undrift.session.client_changes import Asking, ClientChanges
from undrift.session.cost_watch import AskedPrompt, CostWatch
from undrift.session.identity import TAIL, Recognised, note, note_answer
from undrift.session.inherit import Inheritance
from undrift.session.ledger import Pricing, SessionLedger
from undrift.session.over_budget import OverBudget
from undrift.session.pins import due_in
from undrift.session.standing_rules import StandingRules
from undrift.session.turn_lines import write_turn
from undrift.settings.model_table import Model, lookup, model_key, read_models
from undrift.tasks.logs import TaskLogs
from undrift.tasks.updates import TaskUpdates
from undrift.values.prepared import Prepared
from undrift.values.readings import Heads, StretchReading
from undrift.window.bound_thinking import binding_of, changes
from undrift.window.commit import Carried, Committer, past_of
from undrift.window.context import SessionContext
from undrift.window.conversation import Conversation
from undrift.window.readings import Recorder, TakenOver, reading_key, recalled
from undrift.window.render import Renderer
from undrift.window.request import Request
from undrift.window.sent_recorder import SentRecorder
from undrift.wire import cache_life
from undrift.wire.beginning import Beginning
from undrift.wire.form import Form, ProviderReply
from undrift.wire.forms import form_of
from undrift.wire.replies import answer_from

__all__ = ["Preparer", "RecallHint"]

RecallHint = Literal["always", "marks", "offered"]
"""When a window names the way to get a text back. ``always``: the agent has a shell with the command. ``marks``: nothing is
known of the agent, and only the marks of shortened texts name it. ``offered``: the request offers our tool."""

_log = logging.getLogger("undrift.session")

_QUERY_CHARACTERS = 2_000
_CONVERSATIONS = 8  # of one session kept in memory at once: the main one, sub-agents, title requests


class Preparer:
    """Prepares the requests of one session and processes the answers.

    `recognised`: how the session was found, if it was not opened by its id. `names_recall`: see `RecallHint`. `sent`: notes each request.
    """

    def __init__(
        self,
        context: SessionContext,
        tasks: TaskUpdates,
        upkeep: MemoryUpkeep,
        recognised: Recognised | None,
        names_recall: RecallHint,
        sent: SentRecorder | None = None,
    ) -> None:
        settings = context.settings
        self.id = context.id
        self.settings = settings
        self._context = context
        self._clock = context.clock
        self._log = context.log
        self._tasks = tasks
        self._upkeep = upkeep
        self._recognised = recognised
        self._begun = recognised.newest_id if recognised is not None and recognised.how in ("beginning", "new") else ""
        self._names_recall = names_recall
        self._models = read_models(settings.models_file)
        self._logs = TaskLogs(context)
        self._cache = CacheTraffic(context)
        self._changes = ClientChanges()
        self.bills = SessionLedger(context)
        self.costs = CostWatch()
        self.newest_model: str | None = None
        """The name of the model of the newest request."""
        self._rules = Rules.of(settings)
        self._committer = Committer(context.id, context.log)
        self._inheritance = Inheritance(context)
        self._standing = StandingRules(context)
        self._sent = sent
        self._renderers: dict[Conversation, Renderer] = {}  # of the conversations that are kept
        self._conversations: list[Conversation] = []
        self._beside = BesideReader()
        self._counters: dict[float, Callable[[str], int]] = {}
        self._last: LastRequest | None = None
        self._over_budget = OverBudget(context.id)
        self._uses_tools = False
        self._recalled = ("", "")

    def prepare(self, body: Any, *, wire: str = "anthropic", model: str | None = None) -> Prepared:
        """Return the body to send; see `Session.prepare`. `body` may be a `Request`."""
        form = form_of(wire)
        request = self._request(body, form)
        now_ms = self._clock.tick()
        self.newest_model = model or request.model
        known = lookup(self.newest_model, self._models)
        count = self._counter(known)
        beside = self._beside.read(form, request, count)
        fixed = beside.tokens
        budget = self.settings.budget_for(known.window_tokens)
        if (held := form.delta(request.fields)) is not None:
            return self._passed(request.body, held, fixed, budget)
        binding = binding_of(request.fields, form.NAME, known, self.settings)
        conversation = self._conversation(form, request, count, ties_thinking=binding.opens_turns)
        warnings = self._follow_others()
        conversation.follow(request, now_ms, beside.offered)
        self._log.along = conversation
        self._note(form, conversation, warnings)
        self._inheritance.take(conversation, request, at_ms=now_ms)
        self._follow_tasks(conversation, warnings)
        calibration = self._log.calibration(known.name, conversation.numbers)
        texts = Texts(self._context.scratchpad.note(warnings), self._about_newest_words(conversation, warnings))
        room = Room(calibration.counted(budget), fixed, self.settings.is_auto, calibration)
        asked = cache_life.seconds_of(conversation.marked, request.fields) or beside.cache_seconds
        key, before = model_key(self.newest_model), conversation.window
        cache = self._cache.of(known, key, asked)
        change = self._changes.follow(conversation, request, Asking(now_ms, key, cache, fixed))
        change = self._cache.believes(key, change)
        changed_from = None if change is None else change.tokens
        pricing = Pricing(known.name, cache, calibration.slope, now_ms, changed_from)
        rules_due = self._standing.follow(conversation, request.typed_with, budget_tokens=room.budget_tokens)
        turn = replace(
            self._turn(conversation, beside, binding, room, texts, cache),
            idle_ms=self._log.times.idle_ms(key, now_ms),
            changed_from_tokens=changed_from,
            account=self.bills.begin(pricing, before, fixed),
            due_pins=(*due_in(self._context, conversation, request.typed_with), *rules_due),
        )
        carried = self._committer.carry_out(turn, conversation, self._renderer(conversation), request)
        warnings += filter(None, [carried.warning])
        self._log.note_history()
        window, items = carried.window, carried.items
        if carried.written:
            self._inheritance.leave(form, window.place)
        warnings += self._logs.export(carried.written)
        after = fixed + (window.tokens_before if items is None else window.tokens_after)
        warnings += self._over_budget.warnings(turn, window, after, budget)
        is_ours = items is not None and not cache_life.names_cache(request.fields)
        expected = expected_of(window, before, turn, change) if is_ours else None
        self._last = LastRequest(known, after, asked, now_ms, window.place, conversation.numbers, key, expected)
        self.bills.asked(conversation, window, has_pruned=bool(carried.written))
        self.costs.asked(AskedPrompt(conversation, turn, known, calibration, change, bool(carried.written)))
        self._cache.asked(self._last, is_large=2 * after > room.pruned_from_tokens)
        changed, headers = changes(turn.binding, window, request.fields, budget, self.settings.keep_tool_results)
        given = items if window.sent else None
        prepared = Prepared(
            body=request.body if given is None and not changed else request.with_items(given, changed),
            tokens_before=calibration.tokens(fixed + window.tokens_before),
            tokens_after=calibration.tokens(after),
            budget_tokens=budget,
            headers=headers,
            warnings=tuple(warnings),
        )
        if items is not None:
            prepared = _telling(prepared, carried, calibration.slope)
        self._note_sent(conversation, prepared, calibration.tokens(fixed), is_edited=given is not None)
        write_turn(self.id, prepared, carried.written)
        return prepared

    def _turn(
        self, conversation: Conversation, beside: Beside, binding: Binding, room: Room, texts: Texts, cache: Cache
    ) -> Turn:
        """Return the inputs of this turn."""
        has_tools = beside.has_tools or bool(conversation.listed_tools)
        self._uses_tools |= has_tools
        names = {*beside.offered.names, *conversation.tool_names}
        tools = Tools(
            count=conversation.count,
            ref_of=self._log.decisions.ref_of,
            known=conversation.known,
            log_path=self._logs.path_of,
            names_recall=self._names_recall != "offered" or offers_recall(names),
            way_back=way_back(names, has_command=self._names_recall == "always"),
        )
        return Turn(
            room,
            self._rules,
            tools,
            self._clock.now_ms,
            cache,
            binding=binding,
            tasks=self._log.tasks,
            pins=self._log.decisions.pinned,
            past=past_of(self._log, conversation),
            texts=texts,
            is_aside=self._uses_tools and not has_tools,  # as for a title
        )

    def _renderer(self, conversation: Conversation) -> Renderer:
        if conversation not in self._renderers:
            kept = {one: self._renderers[one] for one in self._conversations if one in self._renderers}
            self._renderers = {**kept, conversation: Renderer(conversation)}
        return self._renderers[conversation]

    def _about_newest_words(self, conversation: Conversation, warnings: list[str]) -> str:
        """Return the memories about the user's newest words; repeated words are not searched again."""
        if not self.settings.memory_tokens:
            return ""
        said = (e.content for e in conversation.newest_entries if is_user_text(e))
        query = next(said, "")[:_QUERY_CHARACTERS]
        if query != self._recalled[0]:
            try:
                now_ms = self._clock.now_ms
                found = self._upkeep.brief(query, self.settings.memory_tokens, now_ms=now_ms, shows_scores=False)
                self._recalled = (query, found.text)
                warnings += self._upkeep.new_warnings()
            except StoreError as error:
                warnings.append(f"the memories could not be searched: {error}")
                return ""
        return self._recalled[1]

    def _passed(self, body: Any, held: str, fixed: int, budget: int) -> Prepared:
        """Return a request with only its new items: the provider holds the rest, so there is nothing to decide."""
        if held == "thread":
            raise Declined("a message thread keeps its history at the provider", path=held)
        warning = f"passed through: the provider holds the history ({held})"
        self._last = None
        self.bills.forget()
        self.costs.asked(None)
        return Prepared(body, fixed, fixed, budget, warnings=(warning,))

    def record(self, reply: Any, *, wire: str = "anthropic") -> ProviderReply:
        """Process the provider's answer; see `Session.record`."""
        form = form_of(wire)
        read = form.reply(answer_from(reply, form.NAME))
        self.costs.answered(read, self._clock.tick())
        if self._last is not None:
            kept_seconds = read.cache_seconds or self._last.cache_seconds
            self.bills.answered(read, self._last.model.write_ratio_for(kept_seconds))
            self._cache.answered(self._last, read)
            self._standing.answered(self._log.along)
            self._note_answer(form, read.text)
        if read.input_tokens is None or self._last is None or self.settings.token_counter == "characters/4":
            return read
        report = UsageReport(self._last.tokens, read.input_tokens)
        if is_plausible(report):
            self._calibrate(form, self._last, report)
        return read

    def end(self) -> None:
        """Store what is known only here, because the session is closed; never raises."""
        self._cache.end()
        self.bills.end(self._clock.now_ms)

    def _note(self, form: Form, conversation: Conversation, warnings: list[str]) -> None:
        """Store marks of a later request, so that a restarted process finds its session again."""
        found = self._recognised
        if found is None or found.how == "given":
            return
        try:
            if found.newest_id != conversation.newest_id:
                note(self._context.store, self.id, form, conversation.newest_id, conversation.tail(TAIL))
                self._recognised = replace(found, newest_id=conversation.newest_id, fault="")
            fault = found.fault
        except StoreError as error:
            fault = str(error)
        if fault:
            warnings.append(f"a restart may take this for a new session, because it could not be noted: {fault}")

    def _note_sent(
        self, conversation: Conversation, prepared: Prepared, beside_tokens: int, *, is_edited: bool
    ) -> None:
        if self._sent is not None:
            tokens = prepared.tokens_after, beside_tokens
            self._sent.note(conversation, self._renderer(conversation), is_edited=is_edited, tokens=tokens)

    def _note_answer(self, form: Form, text: str) -> None:
        """Store a mark of the answer to the session's first request."""
        conversation = self._log.along
        if conversation is None or not self._begun or conversation.newest_id != self._begun:
            return
        try:
            note_answer(self._context.store, self.id, form, conversation.id_before_newest, text)
        except StoreError as error:
            _log.error("session %.80r: its first answer could not be noted: %s", self.id, error)

    def _follow_tasks(self, conversation: Conversation, warnings: list[str]) -> None:
        try:
            self._tasks.follow(conversation, at_ms=self._clock.now_ms)
        except StoreError as error:
            warnings.append(f"calls could not be tagged with the task in progress: {error}")

    def _counter(self, model: Model) -> Callable[[str], int]:
        """Return the counter in the model's own tokens; characters / 4 are the unit of outside measures, never scaled."""
        factor = 1.0 if self.settings.token_counter == "characters/4" else model.token_factor
        if factor not in self._counters:
            count = self._context.count
            self._counters[factor] = count if factor == 1.0 else lambda text: math.ceil(count(text) * factor)
        return self._counters[factor]

    def _conversation(
        self, form: Form, request: Request, count: Callable[[str], int], *, ties_thinking: bool
    ) -> Conversation:
        """Return the conversation that begins like this request and make it the newest; open the request."""
        key = reading_key(form.NAME, self.settings.token_counter, count, ties_thinking=ties_thinking)
        past = self._read_before(request, form, key)
        recorder = Recorder(key, past)
        request.open(() if past is None else (past.beginning,))
        first = request.load(0)
        digest = form.digest(first) if isinstance(first, Mapping) else b""
        known = (c for c in self._conversations if c.suits(form, count, ties_thinking=ties_thinking))
        found = next((c for c in known if c.starts_with(request.bytes_of(0), digest)), None)
        if found is None:
            found = Conversation(form, self._log.decisions, count, ties_thinking=ties_thinking)
            found.take_over(past, recorder, self._clock.now_ms)
            found.is_dressed = self._recognised is not None and self._recognised.is_dressed
        else:
            self._conversations.remove(found)
        self._conversations = [*self._conversations[1 - _CONVERSATIONS :], found]
        return found

    def _request(self, body: Any, form: Form) -> Request:
        """Return the request; parts that an earlier request has too are not read again."""
        beginnings = [c.beginning for c in reversed(self._conversations) if c.beginning is not None]
        if isinstance(body, Request):
            body.go_on(beginnings)
            return body
        return Request(body, form, beginnings)

    def _read_before(self, request: Request, form: Form, key: str) -> TakenOver | None:
        """Return the stored readings of the request's beginning, written by an earlier process."""
        if not request.is_bytes or request.beginning is not None:
            return None
        body = bytes(request.body)
        head = Beginning.head(body, form.HISTORY)
        if head is None:
            return None
        open_already = {c.first_stretch for c in self._conversations}

        def stored(chosen: Callable[[Heads], list[int]]) -> list[StretchReading]:
            return self._context.store.readings(
                self.id, key, lambda heads: chosen([h for h in heads if h[1].sha256 not in open_already])
            )

        try:
            return recalled(body, form.HISTORY, head, stored)
        except StoreError as error:
            _log.error("session %.80r: an earlier reading of the history is read again: %s", self.id, error)
            return None

    def _calibrate(self, form: Form, sent: LastRequest, report: UsageReport) -> None:
        try:
            if self._log.calibrate(sent.model.name, report, at=sent.at, history=sent.history, at_ms=sent.at_ms):
                self._inheritance.leave(form, sent.at)
        except StoreError as error:
            _log.error("session %.80r: the usage could not be stored, the counts stay as they were: %s", self.id, error)

    def _follow_others(self) -> list[str]:
        """Load the decisions of other processes; return a warning if the store cannot be read."""
        try:
            self._log.follow()
        except StoreError as error:
            _log.error("session %.80r: the store cannot be read, earlier decisions hold: %s", self.id, error)
            return [f"the store cannot be read, earlier decisions hold: {error}"]
        return []


def _telling(prepared: Prepared, carried: Carried, slope: float) -> Prepared:
    """Return the result with functions that compute its actions on first use."""
    window = carried.window
    decided = (decision.entry_id for decision in carried.written if not decision.is_about_our_text)
    destroyed = window.items, window.sent, window.ruling, window.placed_in
    return prepared.telling(
        window.action_count,
        lambda: scaled(window.actions, slope),
        decided,
        (count_gone(window.sent), lambda: scaled(gone_of(*destroyed), slope)),
    )
