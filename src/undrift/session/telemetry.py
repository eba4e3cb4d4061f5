"""Reports the turns of a session to OpenTelemetry: one span for each, and a few metrics. docs/telemetry.md has the names.

Law: nothing is imported and nothing is reported unless the program has imported OpenTelemetry and configured a provider. No
content of a conversation is in any attribute, and a fault of OpenTelemetry never reaches the caller.
"""

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from undrift.core.text.marker import safe_id
from undrift.errors import Declined, InputError, StoreError
from undrift.values.prepared import Prepared
from undrift.wire.form import ProviderReply

__all__ = ["Telling", "is_configured"]

_log = logging.getLogger("undrift.session")

_NAME = "undrift"
_PROVIDERS = {"anthropic": "anthropic", "openai-chat": "openai", "openai-responses": "openai", "gemini": "gcp.gen_ai"}
"""The convention's name of the provider whose form a request has; another server may answer it."""

_OFF = ("ProxyTracerProvider", "NoOpTracerProvider", "_ProxyMeterProvider", "NoOpMeterProvider")
"""The classes of the API that stand there until a program configures a provider."""

_LONGEST_ID = _LONGEST_MODEL = 200  # characters


def is_configured() -> bool:
    """Tell whether a span or a metric would be seen. This costs two look-ups until OpenTelemetry is imported."""
    if "opentelemetry.trace" not in sys.modules and "opentelemetry.metrics" not in sys.modules:
        return False
    return (
        _provider("trace", "get_tracer_provider") is not None or _provider("metrics", "get_meter_provider") is not None
    )


class Telling:
    """One turn or one answer, while it is carried out: the span around it, and its metrics at the end.

    Args:
        name: ``prepare`` or ``record``.
        session_id: Any text.
        wire: The provider's form.
    """

    def __init__(self, name: str, session_id: str, wire: str) -> None:
        self._name = name
        self._attributes: dict[str, Any] = {
            "gen_ai.conversation.id": _conversation(session_id),
            "undrift.wire": str(wire)[:40],
        }
        if isinstance(wire, str) and wire in _PROVIDERS:
            self._attributes["gen_ai.provider.name"] = _PROVIDERS[wire]
        self._amounts: dict[str, int] = {}
        self._span: Any = None
        self._token: Any = None

    def __enter__(self) -> Self:
        self._began_s = time.perf_counter()
        with _quiet():
            provider = _provider("trace", "get_tracer_provider")
            if provider is not None:
                tracer = provider.get_tracer(_NAME)
                self._span = tracer.start_span(
                    f"{_NAME}.{self._name}",
                    attributes=self._attributes,
                    record_exception=False,  # its message may quote the request
                    set_status_on_exception=False,
                )
                held = sys.modules["opentelemetry.trace"].set_span_in_context(self._span)
                self._token = sys.modules["opentelemetry.context"].attach(held)
        return self

    def prepared(self, result: Prepared, model: str | None) -> None:
        """Take the figures of a prepared turn."""
        self._take(model)
        self._attributes |= {
            "undrift.tokens.before": result.tokens_before,
            "undrift.tokens.after": result.tokens_after,
            "undrift.tokens.budget": result.budget_tokens,
            "undrift.actions": result.action_count,
            "undrift.actions.new": len(result.new),
            "undrift.warnings": len(result.warnings),
        }
        self._amounts["undrift.tokens.removed"] = max(0, result.tokens_before - result.tokens_after)

    def recorded(self, read: ProviderReply, model: str | None) -> None:
        """Take the usage of an answer."""
        self._take(model)
        if read.input_tokens is None:
            return
        self._attributes |= {
            "gen_ai.usage.input_tokens": read.input_tokens,
            "gen_ai.usage.output_tokens": read.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": read.cached_tokens,
            "gen_ai.usage.cache_write.input_tokens": read.written_tokens,
        }
        self._amounts["undrift.tokens.cache_read"] = read.cached_tokens
        self._amounts["undrift.tokens.cache_written"] = read.written_tokens

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        with _quiet():
            if error is not None:
                self._attributes |= {"error.type": type(error).__name__, "undrift.bypass": _reason(error)}
            self._measure(is_fault=error is not None)
            if self._span is not None:
                self._span.set_attributes(self._attributes)
                if error is not None:
                    self._span.set_status(sys.modules["opentelemetry.trace"].StatusCode.ERROR)
        with _quiet():
            if self._token is not None:
                sys.modules["opentelemetry.context"].detach(self._token)
        with _quiet():
            if self._span is not None:
                self._span.end()

    def _take(self, model: str | None) -> None:
        if isinstance(model, str) and model:
            self._attributes["gen_ai.request.model"] = model[:_LONGEST_MODEL]

    def _measure(self, *, is_fault: bool) -> None:
        provider = _provider("metrics", "get_meter_provider")
        if provider is None:
            return
        meters = _instruments(provider)
        shared = ("gen_ai.provider.name", "gen_ai.request.model")
        common: Mapping[str, Any] = {name: self._attributes[name] for name in shared if name in self._attributes}
        if self._name == "prepare":
            meters.duration.record(time.perf_counter() - self._began_s, common)
        for name, amount in self._amounts.items():
            meters.tokens[name].add(amount, common)
        if is_fault:
            meters.faults.add(1, {**common, "undrift.bypass": self._attributes["undrift.bypass"]})


@dataclass(frozen=True, slots=True)
class _Instruments:
    """The instruments of one provider; `tokens` by name."""

    duration: Any
    faults: Any
    tokens: Mapping[str, Any]


@lru_cache(maxsize=4)
def _instruments(provider: Any) -> _Instruments:
    """Make the instruments once for each provider: a second set of the same names is a warning of OpenTelemetry's."""
    meter = provider.get_meter(_NAME)
    tokens = {
        "undrift.tokens.removed": "Tokens by which requests became shorter",
        "undrift.tokens.cache_read": "Input tokens that a provider read from its prompt cache",
        "undrift.tokens.cache_written": "Input tokens that a provider wrote to its prompt cache",
    }
    return _Instruments(
        meter.create_histogram("undrift.prepare.duration", unit="s", description="The time of `Session.prepare`"),
        meter.create_counter("undrift.faults", unit="{fault}", description="Calls that ended in an error"),
        {name: meter.create_counter(name, unit="{token}", description=said) for name, said in tokens.items()},
    )


def _provider(module: str, getter: str) -> Any:
    """Return the provider that the program has configured; None without one."""
    found = sys.modules.get(f"opentelemetry.{module}")
    if found is None:
        return None
    try:
        provider = getattr(found, getter)()
    except Exception:  # noqa: BLE001 - a provider named by the environment may fail to load; a generator here costs 1 us
        return None
    return None if type(provider).__name__ in _OFF else provider


def _conversation(session_id: str) -> str:
    is_safe = session_id.isprintable() and len(session_id) <= _LONGEST_ID
    return session_id if is_safe else safe_id(session_id)


def _reason(error: BaseException) -> str:
    """Name an error as the gateway's header does."""
    if isinstance(error, Declined):
        return "declined"
    if isinstance(error, InputError):
        return "not-understood"
    return "store" if isinstance(error, StoreError) else "fault"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep a fault of OpenTelemetry, or of a provider, from the caller."""
    try:
        yield
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        _log.debug("OpenTelemetry failed, and the turn continues", exc_info=True)
