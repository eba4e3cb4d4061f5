"""The open sessions of a gateway: which one a request belongs to, and what is sent in its place.

Law: everything here runs in worker threads, never on the event loop; one session is used by one thread at a time. What
cannot be managed raises, and the caller sends the original.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from undrift.core.text.tokens import counter
from undrift.errors import StoreError, TaskError, UndriftError
from undrift.proxy.config import GatewayConfig
from undrift.proxy.faults import Breaker
from undrift.proxy.lanes import Lane
from undrift.proxy.naming import Kind, kind_of, name_from, name_of
from undrift.proxy.recent import history_of, longest
from undrift.session.identity import Recognised, given_id, recognise
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.models import lookup, read_models
from undrift.stores.base import Mark
from undrift.stores.sqlite import SqliteStore
from undrift.window.request import Request
from undrift.wire import raw, read_cache, sse
from undrift.wire.form import Form
from undrift.wire.forms import form_of
from undrift.wire.refusals import TooLong

__all__ = ["Ask", "Bypass", "Managed", "Sessions"]

_BUSY_TIMEOUT_MS = 2_000  # less than the deadline of a request
_HEALTH_SESSION = "undrift:health"
_AFTER_REFUSAL = 0.9  # of what the provider says fits: its count of the next request is not ours
_WITHOUT_FIGURES = 0.7
_STORE_WARNINGS = ("could not be stored first", "the store cannot be read")


class Bypass(UndriftError):
    """The original is to be sent; `reason` says why in one word, `is_fault` whether the fault is ours."""

    def __init__(self, reason: str, detail: str = "", *, is_fault: bool = True) -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.is_fault = is_fault


@dataclass(slots=True)
class Ask:
    """One request to manage.

    Args:
        wire: Its form.
        body: As it came.
        model: Where the path names it.
        session: The id that the client gave in a header, or empty.
        task: The task that it named, or empty.
        deadline_s: On the monotonic clock; nobody waits for the answer behind it.
        agent: The client's user agent.
        is_sub: Whether a sub-agent sends it.
        session_id: The session, once it is known.
    """

    wire: str
    body: bytes
    model: str | None
    session: str
    task: str
    deadline_s: float
    agent: str = ""
    is_sub: bool = False
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class Managed:
    """What to send in place of a request, and what is known of it.

    Args:
        session_id: Whose.
        body: The very object that came where nothing was edited.
        headers: That must go with it.
        tokens_before: See `Prepared`.
        tokens_after: See `Prepared`; with what was put back.
        actions: How many blocks left or changed.
        restored: How many notes of an unchanged file were answered with the file.
        turn: Number of the request in its session.
        place: Folder and client of the session.
        kind: What the request is to it.
        bypass: Why the original is sent although the session was asked; empty where it was managed.
    """

    session_id: str
    body: bytes
    headers: Mapping[str, str]
    tokens_before: int
    tokens_after: int
    actions: int
    restored: int
    turn: int
    place: str
    kind: Kind
    bypass: str = ""


class Sessions:
    """The open sessions of one home.

    Args:
        config: Of the gateway.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self._lock = threading.Lock()  # never held while anything waits for the disk: the event loop takes it too
        self._opening = threading.Lock()
        self._lanes: OrderedDict[str, Lane] = OrderedDict()
        self._open_bytes = 0  # of the bodies of all lanes
        self._breakers: dict[str, Breaker] = {}
        self._store: SqliteStore | None = None
        self._limits: dict[str, int] = {}
        self._count = counter(config.settings.token_counter)

    @property
    def open_count(self) -> int:
        """How many sessions are open."""
        return len(self._lanes)

    @property
    def bypassed_count(self) -> int:
        """How many sessions are left alone."""
        return sum(breaker.is_open for breaker in list(self._breakers.values()))

    def told(self) -> list[dict[str, Any]]:
        """Return what is known of each open session, the one used last first."""
        now_s = time.monotonic()
        with self._lock:
            lanes = list(self._lanes.items())
        return [
            {
                "session": session_id,
                **lane.told.name.as_json(),
                "requests": dict(lane.told.requests),
                "tokens_before": lane.told.tokens_before,
                "tokens_after": lane.told.tokens_after,
                "seconds_since_request": round(now_s - lane.told.last_s, 1),
                "bypassed": (breaker := self._breakers.get(session_id)) is not None and breaker.is_open,
            }
            for session_id, lane in reversed(lanes)
            if lane.told.last_s
        ]

    def prepare(self, ask: Ask) -> Managed:
        """Return what to send in place of a request.

        Raises:
            Bypass: The original is to be sent.
            Declined: The client is to be answered by us, so that it sends whole histories.
        """
        form = form_of(ask.wire)
        request = Request(ask.body, form)
        self._check(self._breaker(""))
        found, known = self._find(form, request, ask)
        ask.session_id = found.session_id
        breaker = self._breaker(found.session_id)
        self._check(breaker)
        lane = self._take(found, known, ask, ask.model or request.model)
        try:
            managed = self._prepared(lane, form, request, ask)
            self._grow(lane, request)
        finally:
            lane.lock.release()
        if managed.bypass:
            breaker.failed(time.monotonic())
        else:
            breaker.worked()
            self._breaker("").worked()
        return managed

    def again(self, ask: Ask, managed: Managed, refusal: TooLong) -> Managed | None:
        """Return a smaller request in place of one that was refused as too long; None where there is none.

        The session keeps the smaller budget: the provider has said what its model takes.
        """
        form = form_of(ask.wire)
        request = Request(ask.body, form)
        request.open()
        model = ask.model or request.model
        if model and refusal.limit_tokens:
            self._limits[model] = min(refusal.limit_tokens, self._limits.get(model, refusal.limit_tokens))
        lane = self._take(Recognised(managed.session_id, "known"), None, ask, model)
        try:
            settings = _of(lane).settings
            budget = max(1, _smaller(refusal, managed.tokens_after, settings.window_share))
            lane.session = self._session(lane.found, replace(settings, budget_tokens=budget))
            smaller = self._prepared(lane, form, request, ask)
        finally:
            lane.lock.release()
        return None if smaller.body == managed.body or smaller.bypass else smaller

    def record(self, managed: Managed, wire: str, body: bytes) -> bool:
        """Take in the answer to a request; return whether it was whole, and the session's newest request its question."""
        answer = sse.answer_of(wire, body, with_text=False)
        with self._lock:
            lane = self._lanes.get(managed.session_id)
        if lane is None:
            return False
        with lane.lock:
            self._store_name(lane, managed)
            if answer is None:
                return False
            if (
                lane.session is None or lane.is_closed or lane.turn != managed.turn
            ):  # usage says something of the request that it answers alone
                return False
            _of(lane).record(answer, wire=wire)
        return True

    def fault(self, session_id: str) -> None:
        """Take in that a request of a session could not be managed in time, or at all."""
        self._breaker(session_id).failed(time.monotonic())

    def health(self) -> str:
        """Write to the store and read it back; return what is wrong, or an empty string."""
        text = hashlib.sha256(str(time.time_ns()).encode("ascii")).hexdigest()[:32]
        try:
            store = self._shared()
            store.add_marks(_HEALTH_SESSION, [Mark(text, "turn")])
            found = store.find_marks([text])
        except (UndriftError, OSError) as error:
            return str(error)
        return "" if found else "what was written to the store could not be read back"

    def close(self) -> None:
        """Close all sessions and the store."""
        with self._lock:
            lanes = list(self._lanes.values())
            self._lanes.clear()
            self._open_bytes = 0
        for lane in lanes:
            with lane.lock:
                lane.shut()
        with self._opening:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _check(self, breaker: Breaker) -> None:
        now_s = time.monotonic()
        if not breaker.is_open:
            return
        if not breaker.may_ask(now_s):
            raise Bypass("repeated-faults", is_fault=False)
        if wrong := self.health():
            breaker.failed(now_s)
            raise Bypass("unhealthy", wrong, is_fault=False)

    def _breaker(self, session_id: str) -> Breaker:
        with self._lock:
            if session_id not in self._breakers:
                if len(self._breakers) > 16 * self._config.most_sessions:
                    self._breakers = {name: one for name, one in self._breakers.items() if one.is_open or not name}
                self._breakers[session_id] = Breaker(self._config.faults_to_bypass, self._config.recovery_s)
            return self._breakers[session_id]

    def _find(self, form: Form, request: Request, ask: Ask) -> tuple[Recognised, Lane | None]:
        """The session of a request, and its lane where that is known already."""
        if ask.session:
            return Recognised(ask.session, "given"), None
        if (given := given_id(form, request.fields)) is not None:
            return Recognised(given, "given"), None
        if form.delta(request.fields) is None:
            request.open()
            with self._lock:
                lanes = list(self._lanes.items())
            lengths = [(name, lane.recent.length(form, request)) for name, lane in lanes]
            if (name := longest(lengths)) is not None:
                lane = dict(lanes)[name]
                return lane.found, lane
        return recognise(self._shared(), form, request), None

    def _take(self, found: Recognised, known: Lane | None, ask: Ask, model: str | None) -> Lane:
        """The lane of a session, locked for this thread, with the session open."""
        while True:
            with self._lock:
                lane = known or self._lanes.setdefault(found.session_id, Lane(found))
                if found.session_id in self._lanes:
                    self._lanes.move_to_end(found.session_id)
            if not lane.lock.acquire(timeout=max(0.0, ask.deadline_s - time.monotonic())):
                raise Bypass("busy")
            try:
                if lane.is_closed:
                    known = None
                    lane.lock.release()
                    continue
                if lane.session is None:
                    lane.session = self._session(lane.found, self._settings(model))
                    self._find_name(lane)
                    self._make_room()
                return lane
            except BaseException:
                lane.lock.release()
                raise

    def _session(self, found: Recognised, settings: Settings) -> Session:
        """A session on the store that all share: it is never closed by itself, so that the store stays open."""
        return Session(
            found.session_id,
            self._shared(),
            settings,
            _now_ms,
            home=settings.home,
            recognised=found,
            names_recall="always" if self._config.recall_reachable else "offered",
        )

    def _settings(self, model: str | None) -> Settings:
        """The settings of a session that begins with this model: its window may be known to be smaller."""
        settings = self._config.settings
        limit = self._limits.get(model or "")
        if limit is None:
            return settings
        budget = settings.budget_for(lookup(model, read_models(settings.models_file)).window_tokens)
        return replace(settings, budget_tokens=max(1, min(budget, int(limit * settings.window_share))))

    def _shared(self) -> SqliteStore:
        """The one store: a connection behind a lock serves all threads, where 50 of them would wait for each other's locks."""
        with self._opening:
            if self._store is None:
                self._store = SqliteStore.open(self._config.settings.home, busy_timeout_ms=_BUSY_TIMEOUT_MS)
            return self._store

    def _grow(self, lane: Lane, request: Request) -> None:
        """Take in how large a session has become."""
        with self._lock:
            if self._lanes.get(lane.found.session_id) is lane:
                self._open_bytes += lane.bodies.add(request.raws[0] if request.raws else b"", len(request.body))
        self._make_room()

    def _make_room(self) -> None:
        """Close the sessions used longest ago that nobody is using, until the others fit."""
        closing: list[Lane] = []
        with self._lock:
            for name in list(self._lanes) if self._is_crowded() else ():
                if self._is_crowded() and self._lanes[name].lock.acquire(blocking=False):
                    closing.append(self._lanes.pop(name))
                    self._open_bytes -= closing[-1].bodies.total
        for lane in closing:
            lane.shut()
            lane.lock.release()

    def _is_crowded(self) -> bool:
        config = self._config
        return len(self._lanes) > config.most_sessions or self._open_bytes > config.most_open_bytes

    def _prepared(self, lane: Lane, form: Form, request: Request, ask: Ask) -> Managed:
        session = _of(lane)
        if ask.task:
            _take_up(session, ask.task)
        prepared = session.prepare(request, wire=ask.wire, model=ask.model)
        lane.turn += 1
        body, restored, more = self._coherent(form, request, ask.body, prepared.body)
        self._remember(lane, form, request)
        told, kind = lane.told, self._name(lane, form, request, ask)
        told.requests[kind] += 1
        told.tokens_before, told.tokens_after = prepared.tokens_before, prepared.tokens_after + more
        told.last_s = time.monotonic()
        failed = next((w for w in prepared.warnings if any(words in w for words in _STORE_WARNINGS)), "")
        return Managed(
            session.id,
            body,
            prepared.headers,
            prepared.tokens_before,
            prepared.tokens_after + more,
            len(prepared.actions),
            restored,
            lane.turn,
            told.name.place,
            kind,
            "store" if failed and body is ask.body else "",
        )

    def _coherent(self, form: Form, request: Request, came: bytes, sent: bytes) -> tuple[bytes, int, int]:
        """The body with each note of an unchanged file answered whose file has left; how many; tokens of what came back."""
        if sent is came or not read_cache.may_have_note(came):
            return sent, 0, 0
        request.open()
        edited = Request(sent, form)
        edited.open()
        items = [edited.load(number) for number in range(len(edited.raws))]
        changes = read_cache.restored(form, [request.load(n) for n in range(len(request.raws))], items)
        if not changes:
            return sent, 0, 0
        encoded = {number: raw.encode(item) for number, item in changes.items()}
        more = sum(self._count(encoded[n].decode()) - self._count(edited.raws[n].decode()) for n in encoded)
        out = [encoded.get(number, given) for number, given in enumerate(edited.raws)]
        return edited.with_items(out, {}), len(changes), max(0, more)

    def _find_name(self, lane: Lane) -> None:
        """Take up the name under which the session was stored before a restart."""
        named = self._shared().operations(lane.found.session_id, ("named",))
        if named:
            lane.told.name, lane.told.named_by, lane.told.is_stored = name_from(named[0].payload), "main", True

    def _name(self, lane: Lane, form: Form, request: Request, ask: Ask) -> Kind:
        """Name the session by this request, unless one of its user's conversation has done so; return its kind."""
        told = lane.told
        if form.delta(request.fields) is not None:  # what it goes on with is held by the provider
            return told.named_by or "main"
        kind = kind_of(request, ask.agent, is_sub=ask.is_sub)
        if told.named_by is None or (told.named_by != "main" and kind == "main"):
            request.open()
            told.name, told.named_by = name_of(form, request, ask.agent), kind
        return kind

    def _store_name(self, lane: Lane, managed: Managed) -> None:
        """Write the name down once, beside the answer's way: of a session with a user, or that lets something go."""
        told = lane.told
        if told.is_stored or not (told.named_by == "main" or managed.actions):
            return
        with suppress(StoreError):  # the next answer tries again
            self._shared().commit(lane.found.session_id, "named", at_ms=_now_ms(), payload=told.name.as_json())
            told.is_stored = True

    def _remember(self, lane: Lane, form: Form, request: Request) -> None:
        if lane.found.how == "given" or form.delta(request.fields) is not None:
            return
        if (history := history_of(form, request)) is not None:
            lane.recent.add(history)


def _of(lane: Lane) -> Session:
    if lane.session is None:
        raise Bypass("closed")
    return lane.session


def _take_up(session: Session, task_id: str) -> None:
    """Make the task that the client named the one in progress; one that has ended stays as it is."""
    tasks = session.tasks()
    now = next((task for task in tasks if task.status == "in_progress"), None)
    if now is not None and now.id == task_id:
        return
    if any(task.id == task_id and task.status in ("completed", "cancelled") for task in tasks):
        return
    updates = [{"id": now.id, "status": "pending"}] if now is not None else []
    is_new = all(task.id != task_id for task in tasks)
    taken: dict[str, str] = {"id": task_id, "status": "in_progress"} | ({"content": task_id} if is_new else {})
    with suppress(TaskError):  # the request is worth more than the name of its task
        session.change_tasks([*updates, taken])


def _smaller(refusal: TooLong, sent_tokens: int, share: float) -> int:
    """The budget after a refusal, in our own count: what was sent, by the ratio that the provider has named."""
    if refusal.sent_tokens and refusal.limit_tokens:
        return int(sent_tokens * refusal.limit_tokens / refusal.sent_tokens * _AFTER_REFUSAL)
    if refusal.limit_tokens:
        return int(min(refusal.limit_tokens * share, sent_tokens * _WITHOUT_FIGURES))
    return int(sent_tokens * _WITHOUT_FIGURES)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
