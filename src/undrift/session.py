"""Session: the whole history of a client in, a window that fits out; what left is on disk before the window is.

Law: the one place where core, wire and store meet. A plan is made by `core.turn`, written in one transaction, and only
then applied. A fault of the store lets nothing leave: the request goes out as it was decided before, with a warning.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from undrift.conversation import Conversation
from undrift.core.refs import ref_of
from undrift.core.tokens import counter
from undrift.core.turn import Policy, TurnPlan, plan_turn
from undrift.errors import InputError, StoreError
from undrift.ledger import Ledger, Tentative
from undrift.models import Model, lookup, read_models
from undrift.request import Request
from undrift.settings import Settings
from undrift.stores.base import Found
from undrift.stores.sqlite import SqliteStore
from undrift.types import PINNED_TYPES, ContextEntry, Decision, EntryType, Original, Prepared
from undrift.wire import anthropic, raw

__all__ = ["Session"]

_log = logging.getLogger("undrift.session")

_FIXED = ("system", "tools")
_CONVERSATIONS = 8  # of one session kept in memory at once: the main one, sub-agents, title requests
_CALIBRATION_RANGE = (0.25, 4.0)  # a reported usage outside it belongs to another request than the last one prepared


@dataclass(frozen=True, slots=True)
class _Turn:
    conversation: Conversation
    request: Request
    fixed_tokens: int
    budget_tokens: int
    count: Callable[[str], int]
    bound: bool


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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self._store.close()

    def prepare(self, body: Any, *, wire: str = "anthropic") -> Prepared:
        """Return the body to send in place of `body`, so that it fits the budget.

        Every decision of an earlier turn is applied again, byte for byte; new ones are taken only when the window
        exceeds the budget, and are on disk before this returns.

        Args:
            body: A request with its whole history, as a dict or as JSON bytes; never changed.
            wire: The provider's form.

        Raises:
            WireError: The body has the wrong shape; `path` leads to the place.
            InputError: An unknown `wire`.
        """
        if wire != "anthropic":
            raise InputError(f"wire must be 'anthropic', not {wire!r}; the other forms are not built yet")
        request = Request(body)
        now_ms = self._tick()
        model = lookup(request.model, self._models)
        count = self._counter(model)
        warnings = self._follow_others()
        conversation = self._conversation(request, count)
        conversation.follow(request.raws, request.load, now_ms)
        fixed = self._fixed_tokens(request, count)
        calibration = self._ledger.calibrations.get(model.name, 1.0)
        budget = self.settings.budget_for(model.window_tokens)
        bound = model.binds_thinking and conversation.has_signed_thinking()
        turn = _Turn(conversation, request, fixed, int(budget / calibration), count, bound)
        messages, plan = self._settle(turn, warnings)
        after = fixed + (conversation.tokens_before if messages is None else conversation.tokens_after)
        if bound and after * calibration > budget:
            warnings.append(f"nothing new left: {model.name} binds its thinking to the history as it was sent")
        warnings.extend(self._plan_warnings(plan, math.ceil(after * calibration), budget, calibration))
        self._last = (model.name, after)
        return Prepared(
            body=body if messages is None or conversation.untouched else request.with_messages(messages),
            tokens_before=math.ceil((fixed + conversation.tokens_before) * calibration),
            tokens_after=math.ceil(after * calibration),
            budget_tokens=budget,
            actions=() if messages is None else conversation.actions,
            warnings=tuple(warnings),
        )

    def record(self, reply: Any, *, wire: str = "anthropic") -> None:
        """Take in the provider's answer: its usage corrects the token counts of this session.

        Args:
            reply: The answer, as a dict or as JSON bytes.
            wire: The provider's form.

        Source: WIRE A20, A3-14 (a factor, never a high-water mark).
        """
        if wire != "anthropic":
            raise InputError(f"wire must be 'anthropic', not {wire!r}; the other forms are not built yet")
        answer = raw.decode(bytes(reply)) if isinstance(reply, (bytes, bytearray)) else reply
        usage = answer.get("usage") if isinstance(answer, Mapping) else None
        if not isinstance(usage, Mapping) or self._last is None or self.settings.token_counter == "characters/4":
            return
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        counts = [n for name in names if type(n := usage.get(name)) is int and 0 <= n < 2**53]
        model, counted = self._last
        if counted:
            ratio = sum(counts) / counted
            if _CALIBRATION_RANGE[0] <= ratio <= _CALIBRATION_RANGE[1]:
                self._calibrate(model, ratio)

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
        if (decision := self._ledger.decisions.by_entry.get(ref)) is not None:
            ref = decision.ref
        by_ref = len(ref) == len(ref_of("", ""))
        found = self._store.original(ref) if by_ref else self._store.by_entry(self.id, ref)
        if found.session_id != self.id:
            raise InputError(f"{ref} belongs to another session")
        return found

    def why(self, ref: str) -> Decision | None:
        """Return the decision about an entry, by its reference or id; None when it never left."""
        return self._store.decision(ref) or self._ledger.decisions.by_entry.get(ref)

    def find(self, query: str, *, limit: int = 10) -> tuple[Found, ...]:
        """Search the originals of this session by words, best first."""
        return self._store.find(query, session_id=self.id, limit=limit)

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

    def _conversation(self, request: Request, count: Callable[[str], int]) -> Conversation:
        """The conversation that starts as this request does; the one used last stands last."""
        first = request.load(0)
        digest = anthropic.digest(first) if isinstance(first, Mapping) else b""
        found = next((c for c in self._conversations if c.starts_with(request.raws[0], digest, count)), None)
        if found is None:
            found = Conversation(self._ledger.decisions, count, self.settings.keep_tool_results)
        else:
            self._conversations.remove(found)
        self._conversations = [*self._conversations[1 - _CONVERSATIONS :], found]
        return found

    def _fixed_tokens(self, request: Request, count: Callable[[str], int]) -> int:
        key = (count, raw.encode({name: request.fields[name] for name in _FIXED if name in request.fields}))
        if key != self._fixed[0]:
            self._fixed = (key, sum(map(count, anthropic.fixed_texts(request.fixed()))))
        return self._fixed[1]

    def _settle(self, turn: _Turn, warnings: list[str]) -> tuple[list[Any] | None, TurnPlan | None]:
        """Decide, check and write.

        Returns:
            The messages to send, or None for the body as it came; and the plan that is in force.
        """
        conversation, request = turn.conversation, turn.request
        for may_reload in (True, True, False):
            try:
                with self._ledger.tentative() as fresh:
                    plan = self._propose(turn, fresh)
                    messages = request.render(conversation)
                    refused = self._refused(turn, messages)
                    if refused:
                        warnings.append(f"sent as it came: the edit would have been refused ({refused})")
                        _log.error("session %s: an edit would have been refused: %s", self.id, refused)
                        return None, None
                    if fresh.decisions:
                        originals = conversation.originals(d.entry_id for d in fresh.decisions)
                        payload = {"tokens": plan.total_tokens, "target": plan.target_tokens} if plan else {}
                        kind = "prune" if plan else "place"
                        fresh.write(kind, originals, at_ms=self._now_ms, payload=payload)
                    return messages, plan
            except StoreError as error:
                if may_reload and self._reloaded():  # another process has decided since: plan again on top of that
                    conversation.sync()
                    continue
                conversation.sync()
                warnings.append(f"nothing left the window, because it could not be stored first: {error}")
                _log.error("session %s: nothing left the window: %s", self.id, error)
                break
        return request.render(conversation), None

    def _propose(self, turn: _Turn, fresh: Tentative) -> TurnPlan | None:
        """Put in force what is new: pins, halves of pairs that were left alone, and what the budget asks for."""
        conversation, keep = turn.conversation, self.settings
        fresh.add([*conversation.pins_to_place(), *conversation.loose()])
        conversation.sync()
        if turn.bound or turn.fixed_tokens + conversation.tokens_after <= turn.budget_tokens:
            return None
        entries, first_unseen = conversation.live()
        limits = (keep.prune_target_ratio, keep.keep_tool_results, keep.keep_user_text_tokens)
        plan = plan_turn(
            entries,
            first_unseen,
            fixed_tokens=turn.fixed_tokens,
            policy=Policy(turn.budget_tokens, *limits),
            count=turn.count,
            ref_of=self._ledger.decisions.ref_of,
        )
        fresh.add(plan.decisions if plan else ())
        conversation.sync()
        return plan

    def _refused(self, turn: _Turn, messages: Sequence[Any]) -> str:
        """What the provider would refuse in the edited messages, though not in those that came; empty when nothing."""
        conversation, request = turn.conversation, turn.request
        if conversation.checked or conversation.untouched:
            return ""
        found = anthropic.problems(request.decoded(messages))
        if found and not anthropic.problems(request.decoded(request.given)):
            return found[0]
        conversation.checked = True
        return ""

    def _calibrate(self, model: str, ratio: float) -> None:
        try:
            self._ledger.calibrate(model, ratio, at_ms=self._now_ms)
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

    def _reloaded(self) -> bool:
        try:
            return self._ledger.reload()
        except StoreError:
            return False

    def _plan_warnings(self, plan: TurnPlan | None, after: int, budget: int, factor: float) -> list[str]:
        found: list[str] = []
        if plan is not None and plan.oversize:
            found.append(f"{plan.oversize} entries left because they could not fit even alone")
            _log.warning("session %s: %s", self.id, found[-1])
        if plan is not None and plan.shortened:
            found.append("the first or newest message of the user lost its middle: nothing else would have fitted")
            _log.warning("session %s: %s", self.id, found[-1])
        if plan is not None and after > budget:
            must = math.ceil(plan.protected_tokens * factor)
            found.append(f"over budget: what must stay is {must:,} tokens of {budget:,}, the window {after:,}")
            if not self._is_over:  # logged once per transition, in every result while it lasts (A2-11)
                _log.critical("session %s: %s", self.id, found[-1])
        self._is_over = plan is not None and after > budget
        return found


def _system_clock() -> int:
    return time.time_ns() // 1_000_000
