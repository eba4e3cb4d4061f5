"""The open sessions of a gateway: finds the session of a request, and prepares the body to send.

Law: everything here runs in worker threads, never on the event loop; one session is used by one thread at a time. A
request that cannot be managed raises, and the caller sends the original.
"""

import hashlib
import time
from contextlib import suppress
from typing import Any

from undrift.core.text.tokens import counter
from undrift.errors import StoreError, TaskError, UndriftError
from undrift.proxy import room
from undrift.proxy.ask import Ask, Bypass, ManagedBody, MustWait
from undrift.proxy.briefs import give_brief
from undrift.proxy.config import GatewayConfig
from undrift.proxy.costs import CostNotices
from undrift.proxy.faults import Breaker, Breakers
from undrift.proxy.lane_figures import GatewayLane, LaneFigures
from undrift.proxy.naming import Kind, kind_of, name_from, name_of
from undrift.proxy.observe import log_line, safe_id
from undrift.proxy.projects import GatewayProjects, ProjectStores
from undrift.proxy.read_cache import put_back
from undrift.proxy.refused_length import limited, smaller_budget
from undrift.proxy.reports import keep_reports
from undrift.proxy.windows import NewestWindows, WindowFigures
from undrift.session.identity import Recognised, given_id, recognise
from undrift.session.lanes import Lanes, key_of
from undrift.session.prepare import RecallHint
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.model_table import lookup, read_models
from undrift.stores.base import Context, Mark
from undrift.stores.served import home_path
from undrift.values.extras import command_for
from undrift.values.project import Place
from undrift.window.context import SessionContext
from undrift.window.request import Request
from undrift.wire import sse
from undrift.wire.form import Form
from undrift.wire.forms import form_of
from undrift.wire.refusals import TooLong

__all__ = ["OpenSessions"]

_STATUS_WAIT_S = 0.1  # a status line waits twice as long for its answer
_LONG_BYTES = 256 << 10  # to read so much takes 0.1 s
_MOST_BREAKERS = 16_384
_HEALTH_SESSION = "undrift:health"
_STORE_WARNINGS = ("could not be stored first", "the store cannot be read")


class OpenSessions:
    """The open sessions of one home. `projects`: its stores; None: those of the owner's projects."""

    def __init__(self, config: GatewayConfig, projects: ProjectStores | None = None) -> None:
        self._config = config
        self._lanes = Lanes(room.for_sessions(config.memory_bytes), LaneFigures)
        self._breakers = Breakers(config.faults_to_bypass, config.recovery_s, _MOST_BREAKERS)
        home = home_path(config.settings.home)
        self._projects = projects or GatewayProjects(home, config.place, shares=config.shares)
        self._limits: dict[str, int] = {}
        self._windows = NewestWindows()
        self._costs = CostNotices(config.clock)
        self._count = counter(config.settings.token_counter, command_for)

    @property
    def open_count(self) -> int:
        """The number of open sessions."""
        return len(self._lanes)

    @property
    def used_bytes(self) -> int:
        """The estimated memory of all open sessions."""
        return self._lanes.used_bytes

    @property
    def bypassed_count(self) -> int:
        """The number of sessions whose requests pass unchanged because of faults."""
        return self._breakers.open_count

    def open_sessions(self) -> list[dict[str, Any]]:
        """Return the figures of each open session, most recently used first."""
        now_s = time.monotonic()
        return [
            {
                "session": lane.found.session_id,
                **lane.figures.name.as_json(),
                "requests": dict(lane.figures.requests),
                "tokens_before": lane.figures.tokens_before,
                "tokens_after": lane.figures.tokens_after,
                "seconds_since_request": round(now_s - lane.figures.last_s, 1),
                "bypassed": self._breakers.is_open(lane.found.session_id),
            }
            for lane in reversed(self._lanes.all())
            if lane.figures.last_s
        ]

    def prepare(self, ask: Ask) -> ManagedBody:
        """Return the body to send in place of a request's body.

        Raises Bypass: the original is to be sent. Raises Declined: the client is to be answered by us, so that it sends
        whole histories. Raises MustWait: to read it takes long, and it is not its turn.
        """
        form = form_of(ask.wire)
        if ask.found is None:
            ask.found = self._found(form, ask)
            if not ask.has_turn and self._is_long(ask):
                raise MustWait
        request, found, known = ask.found
        breaker = self._breakers.of(found.session_id)
        lane = self._take(found, known, ask, ask.model or request.model)
        try:
            managed = self._prepared(lane, form, request, ask)
            self._lanes.grow(lane, request)
        finally:
            lane.lock.release()
        if managed.bypass:
            breaker.failed(time.monotonic())
        else:
            breaker.worked()
            self._breakers.of("").worked()
        return managed

    def _found(self, form: Form, ask: Ask) -> tuple[Request, Recognised, GatewayLane | None]:
        """Return the request, its session, and the lane if that is known already."""
        request = Request(ask.body, form)
        if ask.needs and not request.has(ask.needs):
            raise Bypass("not-understood", is_fault=False)
        self._check(self._breakers.of(""))
        found, known = self._find(form, request, ask)
        ask.session_id = found.session_id
        self._check(self._breakers.of(found.session_id))
        return request, found, known

    def _is_long(self, ask: Ask) -> bool:
        """Tell whether most of a large request is new to the gateway."""
        _, found, known = ask.found
        lane = known or self._lanes.get(key_of(found.session_id, self._place(ask)))
        seen = 0 if lane is None or lane.session is None else lane.footprint.largest_body
        return len(ask.body) - seen >= _LONG_BYTES

    def again(self, ask: Ask, managed: ManagedBody, refusal: TooLong) -> ManagedBody | None:
        """Return a smaller body after the provider refused the length. None means: there is none.

        The session keeps the smaller budget: the provider has said what its model takes.
        """
        form = form_of(ask.wire)
        request = Request(ask.body, form)
        request.open()
        model = ask.model or request.model
        if model and refusal.limit_tokens:
            self._limits[model] = min(refusal.limit_tokens, self._limits.get(model, refusal.limit_tokens))
        lane = self._take(Recognised(managed.session_id, "known"), self._lanes.get(managed.lane), ask, model)
        try:
            settings = lane.opened.settings
            budget = max(1, smaller_budget(refusal, managed.tokens_after, settings.window_share))
            lane.session = self._session(lane, limited(settings, budget))
            smaller = self._prepared(lane, form, request, ask)
        finally:
            lane.lock.release()
        return None if smaller.body == managed.body or smaller.bypass else smaller

    def record(self, managed: ManagedBody, wire: str, body: bytes) -> bool:
        """Record the answer to a request; return whether it was complete, and matches the session's newest request."""
        lane = self._lanes.get(managed.lane)
        if lane is None:
            return False
        answer = sse.answer_of(wire, body, with_text=lane.turn == 1)  # its text shows the session of the next request
        with lane.lock:
            self._store_name(lane, managed)
            if answer is None:
                return False
            if lane.session is None or lane.is_closed or lane.turn != managed.turn:
                return False  # usage says something of the request that it answers alone
            lane.opened.record(answer, wire=wire)
            if managed.kind == "main" and self._config.settings.learns == "all":
                _learn(lane)
            self._say_price(lane)
            self._costs.answered(lane)
        return True

    def window_json(self, name: str, place: Place | None = None) -> dict[str, Any] | None:
        """Return the newest window of the session that a client calls so, and what is true of its cache.

        `place`: of the member who asks; None: the owner asks. None means: it has sent no request since the start. The
        sentences are null while it cannot be known.
        """
        found = self._windows.of(name)
        if found is None:
            return None
        key, figures = found
        lane = self._lanes.get(key)
        if place is not None and (lane is None or lane.place.records != place.records):
            return None
        if lane is None or lane.session is None or not lane.lock.acquire(timeout=_STATUS_WAIT_S):
            return {**figures, "notices": None}
        try:
            return {**figures, "notices": self._costs.as_json(lane)}
        finally:
            lane.lock.release()

    def _say_price(self, lane: GatewayLane) -> None:
        """Log one time in each session that its budget costs more than sending everything."""
        if self._config.settings.is_auto or lane.figures.is_price_said:
            return
        price = lane.opened.budget_price()
        if price is not None and price.is_dearer:
            lane.figures.is_price_said = True
            log_line({"event": "budget-price", "session": safe_id(lane.found.session_id), "said": price.sentence})

    def fault(self, session_id: str) -> None:
        """Count a fault: a request of a session could not be managed, or not in time."""
        self._breakers.of(session_id).failed(time.monotonic())

    def health(self) -> str:
        """Write to the store and read it back; return the problem, or an empty string."""
        text = hashlib.sha256(str(time.time_ns()).encode("ascii")).hexdigest()[:32]
        try:
            store = self._projects.store_of(self._projects.default)
            store.add_marks(_HEALTH_SESSION, [Mark(text, "turn")])
            found = store.find_marks([text])
        except (UndriftError, OSError) as error:
            return str(error)
        return "" if found else "what was written to the store could not be read back"

    def close(self) -> None:
        """Close all sessions and the store."""
        self._lanes.close()
        self._projects.close()

    def _check(self, breaker: Breaker) -> None:
        now_s = time.monotonic()
        if not breaker.is_open:
            return
        if not breaker.may_ask(now_s):
            raise Bypass("repeated-faults", is_fault=False)
        if wrong := self.health():
            breaker.failed(now_s)
            raise Bypass("unhealthy", wrong, is_fault=False)

    def _find(self, form: Form, request: Request, ask: Ask) -> tuple[Recognised, GatewayLane | None]:
        """Return the session of a request, and its lane if that is known already."""
        given = ask.session or given_id(form, request.fields)
        if ask.project is None:
            ask.project = self._projects.place_of(form, request, given)
        if given is not None:
            return Recognised(given, "given"), None
        if form.delta(request.fields) is None:
            request.open()
            if (lane := self._lanes.going_on(form, request, self._told_place(ask))) is not None:
                return lane.found, lane
        return recognise(self._projects.store_of(ask.project), form, request), None

    def _take(self, found: Recognised, known: GatewayLane | None, ask: Ask, model: str | None) -> GatewayLane:
        """Return the session's lane, locked for this thread, with the session open."""
        lane = self._lanes.locked(found, self._place(ask), known, ask.deadline_s)
        if lane is None:
            raise Bypass("busy")
        try:
            if lane.session is None:
                lane.session = self._session(lane, self._settings(model))
                self._find_name(lane)
                self._lanes.make_room()
        except BaseException:
            lane.lock.release()
            raise
        return lane

    def _place(self, ask: Ask) -> Place:
        return ask.project or self._projects.default

    def _told_place(self, ask: Ask) -> Place | None:
        """Return the place that a request tells; None if it tells none, as some of a conversation's requests do not."""
        return None if self._place(ask).records == self._projects.default.records else ask.project

    def _session(self, lane: GatewayLane, settings: Settings) -> Session:
        """Open a session on its project's store; the session does not close the store."""
        store, clock = self._projects.store_of(lane.place), self._config.clock
        keeps_notes = self._config.keeps_notes
        context = SessionContext.of(
            lane.found.session_id, store, settings, clock, home=lane.place, keeps_notes=keeps_notes
        )
        sent = lane.figures.opened(context)
        names_recall: RecallHint = "always" if self._config.recall_reachable else "offered"
        return Session(context, recognised=lane.found, names_recall=names_recall, closes_store=False, sent=sent)

    def _settings(self, model: str | None) -> Settings:
        """Return the settings for a session with this model, whose window may be smaller."""
        settings = self._config.settings
        limit = self._limits.get(model or "")
        if limit is None:
            return settings
        budget = settings.budget_for(lookup(model, read_models(settings.models_file)).window_tokens)
        return limited(settings, max(1, min(budget, int(limit * settings.window_share))))

    def _prepared(self, lane: GatewayLane, form: Form, request: Request, ask: Ask) -> ManagedBody:
        session = lane.opened
        if ask.task:
            _take_up(session, ask.task)
        self._costs.before(lane)
        store = self._projects.store_of(lane.place)
        give_brief(self._lanes, lane, form, request, ask, store)
        request.typed_with = "" if ask.is_sub else ask.agent
        prepared = session.prepare(request, wire=ask.wire, model=ask.model)
        keep_reports(self._lanes, lane, form, request, ask, store)
        lane.turn += 1
        body, restored, more = put_back(form, request, prepared.body, self._count)
        lane.figures.note_restored(restored)
        self._remember(lane, form, request)
        figures, kind = lane.figures, self._name(lane, form, request, ask)
        figures.requests[kind] += 1
        figures.agent, figures.own_name = ask.agent, "" if kind == "side" else ask.own_name
        figures.tokens_before, figures.tokens_after = prepared.tokens_before, prepared.tokens_after + more
        figures.last_s = time.monotonic()
        if kind == "main":
            sent = WindowFigures(prepared.tokens_before, prepared.tokens_after + more, prepared.budget_tokens)
            self._windows.keep(form.session_id(request.fields), lane.key, sent)
        failed = next((w for w in prepared.warnings if any(words in w for words in _STORE_WARNINGS)), "")
        return ManagedBody(
            session.id,
            lane.key,
            body,
            prepared.headers,
            prepared.tokens_before,
            prepared.tokens_after + more,
            prepared.action_count,
            restored,
            lane.turn,
            figures.name.place,
            kind,
            "store" if failed and body is ask.body else "",
        )

    def _find_name(self, lane: GatewayLane) -> None:
        """Use the session's name that was stored before a restart."""
        named = self._projects.store_of(lane.place).operations(lane.found.session_id, ("named",))
        if named:
            lane.figures.name, lane.figures.named_by, lane.figures.is_stored = name_from(named[0].payload), "main", True

    def _name(self, lane: GatewayLane, form: Form, request: Request, ask: Ask) -> Kind:
        """Name the session by this request, unless the user's conversation has named it; return the request's kind."""
        figures = lane.figures
        if form.delta(request.fields) is not None:  # the provider holds the history before it
            return figures.named_by or "main"
        request.open()
        kind = kind_of(request, ask.agent, is_sub=ask.is_sub)
        if figures.named_by is None or (figures.named_by != "main" and kind == "main"):
            figures.name, figures.named_by = name_of(form, request, ask.agent), kind
        return kind

    def _store_name(self, lane: GatewayLane, managed: ManagedBody) -> None:
        """Store the session's name, once, if a user speaks in it or something was removed."""
        figures = lane.figures
        if figures.is_stored or not (figures.named_by == "main" or managed.actions):
            return
        with suppress(StoreError):  # the next answer tries again
            store = self._projects.store_of(lane.place)
            context = Context(store.scope.of(lane.found.session_id), self._config.clock())
            store.commit(context, "named", payload=figures.name.as_json())
            figures.is_stored = True

    def _remember(self, lane: GatewayLane, form: Form, request: Request) -> None:
        if lane.found.how == "given" or form.delta(request.fields) is not None:
            return
        self._lanes.remember(lane, form, request)


def _take_up(session: Session, task_id: str) -> None:
    """Start the task that the client named; a task that has ended stays ended."""
    tasks = session.tasks()
    now = next((task for task in tasks if task.status == "in_progress"), None)
    if now is not None and now.id == task_id:
        return
    if any(task.id == task_id and task.status in ("completed", "cancelled") for task in tasks):
        return
    updates = [{"id": now.id, "status": "pending"}] if now is not None else []
    is_new = all(task.id != task_id for task in tasks)
    started: dict[str, str] = {"id": task_id, "status": "in_progress"} | ({"content": task_id} if is_new else {})
    with suppress(TaskError):  # the request is worth more than the name of its task
        session.change_tasks([*updates, started])


def _learn(lane: GatewayLane) -> None:
    """Learn from the newest words of the user; the client already has its answer."""
    try:
        lane.opened.memory.learn(client=lane.figures.agent)
    except UndriftError as error:
        log_line({"event": "not-learned", "session": safe_id(lane.found.session_id), "detail": type(error).__name__})
