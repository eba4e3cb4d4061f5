"""Each prompt of a managed client: prepared before it is sent, recorded when it is answered.

Law: a fault of ours never stops a request. The original is sent, the log says why, and so does a header of the response.
"""

import logging
import re
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from undrift.errors import Declined
from undrift.sdk.calls import SdkCall, call_of
from undrift.sdk.sessions import Seat, SessionFinder
from undrift.values.prepared import Prepared
from undrift.window.request import Request
from undrift.wire import sse
from undrift.wire.anthropic.editing import beta_in_body
from undrift.wire.form import ProviderReply
from undrift.wire.request_headers import is_signed, joined

__all__ = ["HEADERS", "Listeners", "ManagedPrompt", "PromptManager", "Read", "SESSION_HEADER"]

T = TypeVar("T")

_log = logging.getLogger("undrift.sdk")

Read = Callable[[], bytes]
"""Returns a body, without its content coding."""

_FIGURE = re.compile(r"\d[\d,]*")
_HEADER_CHARACTERS = 200
_HELD = "held-by-provider"
_HELPER_HEADER, _TOOL_RUNNER = "x-stainless-helper", "BetaToolRunner"
"""Anthropic's tool runner asks for a message thread first. If it is declined, it sends whole histories, which are managed."""
SESSION_HEADER = "x-undrift-session"  # of a request: the session that it names
HEADERS = frozenset({SESSION_HEADER, "x-undrift-tokens-before", "x-undrift-tokens-after", "x-undrift-bypass"})
"""The headers of a response that say what was done."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Functions of the program: called with each prompt before it is sent, and with each answer that was recorded."""

    prepared: Callable[[Prepared], object] | None = None
    recorded: Callable[[ProviderReply], object] | None = None


@dataclass(frozen=True, slots=True)
class ManagedPrompt:
    """The outcome of one request. `bypass`: why the original is sent; empty if it was managed.

    `body`: what to send; None: the request's own. `turn`: the number of this prompt in its session. `declined`: the
    program is answered so, and the provider is not asked.
    """

    call: SdkCall
    body: bytes | None = None
    prepared: Prepared | None = None
    session_id: str = ""
    key: str = ""
    turn: int = 0
    bypass: str = ""
    declined: type[Declined] | None = None

    def headers(self) -> dict[str, str]:
        """Return what the response says of it, under the names that the gateway uses."""
        if self.prepared is None:
            return {"x-undrift-bypass": self.bypass}
        name = self.session_id[:_HEADER_CHARACTERS].encode("ascii", "backslashreplace").decode("ascii")
        return {
            SESSION_HEADER: "".join(c if c.isprintable() else "?" for c in name),
            "x-undrift-tokens-before": str(self.prepared.tokens_before),
            "x-undrift-tokens-after": str(self.prepared.tokens_after),
        }


class PromptManager:
    """Prepares the prompts of one client and records their answers, for any kind of HTTP client."""

    def __init__(self, sessions: SessionFinder, listeners: Listeners) -> None:
        self._sessions = sessions
        self._listeners = listeners
        self._said = ""

    def call_of(self, request: Any) -> SdkCall | None:
        """Return the call that a request of an httpx client makes. None means: it is not managed."""
        return call_of(request.method, request.url.path)

    def prepare(self, call: SdkCall, read: Read, headers: MutableMapping[str, str]) -> ManagedPrompt:
        """Return what to send for a request.

        Args:
            read: Returns the request's body.
            headers: Those of the request; they are changed to go with what is sent.
        """
        if is_signed(headers):
            return self._bypassed(
                call, "signed", "its signature covers body and headers; with an API key it is managed"
            )
        named = headers.pop(SESSION_HEADER, "")
        try:
            managed = self._prepared(call, read(), named, asks_again=_TOOL_RUNNER in headers.get(_HELPER_HEADER, ""))
        except Exception as error:  # noqa: BLE001 - after any fault the request must go out
            return self._bypassed(call, type(error).__name__, str(error))
        if managed.prepared is not None:
            for name, value in managed.prepared.headers.items():
                name = name.lower()
                headers[name] = joined(name, headers.get(name, ""), value)
            _tell("on_prepared", self._listeners.prepared, managed.prepared)
        return managed

    def record(self, managed: ManagedPrompt, read: Read) -> None:
        """Take in an answer with status 200. `read`: returns its body."""
        try:
            body = read()
            with self._sessions.again(managed.key) as seat:
                # usage tells about the request that it answers, so an overtaken one says nothing
                if seat is None or seat.turns.count != managed.turn:
                    return
                wire, is_heard = managed.call.wire, self._listeners.recorded is not None
                answer = sse.answer_of(wire, body, with_text=is_heard or managed.turn == 1)
                if answer is None:
                    return
                reply = seat.session.record(answer, wire=wire)
        except Exception as error:  # noqa: BLE001 - the caller has its answer
            _log.warning("session %.80r: an answer was not recorded: %s: %s", managed.key, type(error).__name__, error)
        else:
            _tell("on_recorded", self._listeners.recorded, reply)

    def close(self) -> None:
        """Close what was opened for this client."""
        self._sessions.close()

    def _prepared(self, call: SdkCall, body: bytes, named: str, *, asks_again: bool) -> ManagedPrompt:
        request = Request(body, call.form, self._sessions.beginnings())
        if call.needs and not request.has(call.needs):
            return ManagedPrompt(call, bypass="not-understood")
        if (held := call.form.delta(request.fields)) is not None:
            if held == "thread" and asks_again:
                return ManagedPrompt(call, bypass=_HELD, declined=Declined)
            return self._bypassed(call, _HELD, f"the provider holds the history ({held}), so nothing of it can leave")
        if not request.has(call.form.HISTORY):
            return ManagedPrompt(call, bypass="no-history")
        with self._sessions.at(call.form, request, named) as seat:
            prepared = seat.session.prepare(request, wire=call.wire, model=call.model)
            seat.turns.count += 1
            seat.turns.beginning = request.grown()
            self._warn(seat, prepared)
            sent = None if prepared.body is body else prepared.body
            if call.reads_no_betas and (betas := prepared.headers.get("anthropic-beta")):
                sent = beta_in_body(prepared.body, betas)
            return ManagedPrompt(call, sent, prepared, seat.session.id, seat.key, seat.turns.count)

    def _warn(self, seat: Seat, prepared: Prepared) -> None:
        """Log the warnings of a prompt when others come than before; another figure in one is no other warning."""
        kinds = tuple(_FIGURE.sub("", warning) for warning in prepared.warnings)
        if kinds != seat.turns.warned:
            seat.turns.warned = kinds
            for warning in prepared.warnings:
                _log.warning("session %.80r: %s", seat.session.id, warning)

    def _bypassed(self, call: SdkCall, reason: str, why: str) -> ManagedPrompt:
        said = f"{reason}: {why}"
        level = logging.DEBUG if said == self._said else logging.WARNING
        _log.log(level, "the original request is sent unchanged: %.500s", said)
        self._said = said
        return ManagedPrompt(call, bypass=reason)


def _tell(name: str, listener: Callable[[T], object] | None, value: T) -> None:
    if listener is None:
        return
    try:
        listener(value)
    except Exception as error:  # noqa: BLE001 - what a program prints must not stop its request
        _log.error("%s failed; undrift continues", name, exc_info=error)
