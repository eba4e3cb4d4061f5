"""Anthropic's Messages interface: what it refuses, what it reads from its cache, and the thinking it ties to a prefix.

Law: deterministic, no network, no clock; judges a request by the provider's rules alone.
"""

from collections.abc import Callable, Mapping
from typing import Any

from undrift.testing.simulators.anthropic_binding import Signatures, ThinkingReading
from undrift.testing.simulators.anthropic_models import binds_thinking, minimum_tokens_of
from undrift.testing.simulators.anthropic_rules import BINDING_BETA, check
from undrift.testing.simulators.anthropic_shape import CheckedRequest, invalid, read_request
from undrift.testing.simulators.anthropic_tools import checked_tools
from undrift.testing.simulators.base import (
    Answered,
    Bill,
    Count,
    ModelTurn,
    betas_of,
    canonical,
    characters_by_four,
    parsed,
    tokens_of,
)
from undrift.testing.simulators.cache import MarkedCache, Taken
from undrift.testing.simulators.loaded import LoadedTools

__all__ = ["AnthropicSimulator"]


class AnthropicSimulator:
    """A simulated account at Anthropic: it recognises its own thinking blocks, and keeps a prompt cache.

    ::

        provider = AnthropicSimulator()
        answer = provider.send(body, headers, turn=ModelTurn("Reading.", (Call("Read", {"path": "a.py"}),)))
        messages.append({"role": "assistant", "content": answer.body["content"]})

    A refused request leaves it as it was. Thinking is checked as `Signatures` says, the cache kept as `MarkedCache`
    says, deferred tools stay visible as `LoadedTools` says, all other rules are those of `anthropic_rules`. Two things are left out: what server-side context management
    would clear (it is accepted, and clears nothing), and message threads (they are refused).

    Args:
        binds: Whether a model ties thinking to its prefix: for all models, or by name. Default: by the model's name.
        minimum_tokens: The shortest prefix that is cached. Default: by the model's name.
        count: Tokens of one block, given its JSON text; must give equal texts equal counts.
        window_tokens: A longer input is refused with ``prompt is too long``; None for no limit.
    """

    name = "anthropic"

    def __init__(
        self,
        *,
        binds: bool | Callable[[str], bool] = binds_thinking,
        minimum_tokens: int | None = None,
        count: Count = characters_by_four,
        window_tokens: int | None = None,
    ) -> None:
        self._binds = binds
        self._minimum_tokens = minimum_tokens
        self._count = count
        self._window_tokens = window_tokens
        self._signatures = Signatures(count)
        self._cache = MarkedCache()
        self._tools = LoadedTools()
        self._answers = 0
        self._calls = 0

    def send(
        self,
        body: Mapping[str, Any] | bytes,
        headers: Mapping[str, str] | None = None,
        *,
        turn: ModelTurn,
        model: str | None = None,
        now_ms: int | None = None,
    ) -> Answered:
        """Answer one request; see `Simulator.send`; of `headers` only ``anthropic-beta`` is read."""
        request, reading = self._read(body, model, betas_of(headers, "anthropic-beta"))
        seen = checked_tools(request, self._tools)
        total = sum(piece.tokens for piece in reading.pieces)
        if self._window_tokens is not None and total > self._window_tokens:
            raise invalid(f"prompt is too long: {total} tokens > {self._window_tokens} maximum", "A23")
        minimum = self._minimum_tokens if self._minimum_tokens is not None else minimum_tokens_of(request.model)
        taken = self._cache.take(request.model, reading.pieces, minimum_tokens=minimum, now_ms=now_ms)
        content = self._content(request, reading, turn)
        self._tools.note((part["id"] for part in content if part["type"] == "tool_use"), seen)
        output = sum(tokens_of(canonical(block), self._count) for block in content)
        written = taken.short_tokens + taken.long_tokens
        self._answers += 1
        reply = {
            "id": f"msg_{self._answers:024d}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": content,
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": _usage(taken, output),
        }
        if reading.notes and BINDING_BETA in request.betas:
            reply["input_transformations"] = [dict(note) for note in reading.notes]
        if request.body.get("context_management") is not None:
            reply["context_management"] = {"applied_edits": []}
        bill = Bill(taken.fresh_tokens, taken.read_tokens, written, output, taken.long_tokens)
        return Answered(reply, bill, tuple(reading.notes))

    def _read(
        self, body: Mapping[str, Any] | bytes, model: str | None, betas: frozenset[str]
    ) -> tuple[CheckedRequest, ThinkingReading]:
        try:
            value = parsed(body)
        except ValueError as error:
            raise invalid(f"The request body is not valid JSON: {error}") from error
        request = read_request(value, model, betas)
        check(request)
        binds = self._binds if isinstance(self._binds, bool) else self._binds(request.model)
        try:
            return request, self._signatures.read(request, binds=binds)
        except UnicodeEncodeError as error:
            raise invalid(f"The request body is not valid JSON: no low surrogate in string: {error.reason}") from error

    def _content(self, request: CheckedRequest, reading: ThinkingReading, turn: ModelTurn) -> list[dict[str, Any]]:
        """Return the blocks of the answer: thinking, text, calls."""
        calls: list[dict[str, Any]] = []
        for call in turn.calls:
            self._calls += 1
            calls.append(
                {
                    "type": "tool_use",
                    "id": f"toolu_{self._calls:024d}",
                    "name": call.name,
                    "input": dict(call.arguments),
                }
            )
        content: list[dict[str, Any]] = []
        if turn.thinking is not None:
            ids = [call["id"] for call in calls]
            signature = self._signatures.issue(request.model, turn.thinking, reading, ids)
            content.append({"type": "thinking", "thinking": turn.thinking, "signature": signature})
        if turn.text:
            content.append({"type": "text", "text": turn.text})
        return content + calls


def _usage(cached: Taken, output_tokens: int) -> dict[str, Any]:
    """Return usage in the provider's meaning: `input_tokens` are the fresh ones alone."""
    return {
        "input_tokens": cached.fresh_tokens,
        "cache_creation_input_tokens": cached.short_tokens + cached.long_tokens,
        "cache_read_input_tokens": cached.read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": cached.short_tokens,
            "ephemeral_1h_input_tokens": cached.long_tokens,
        },
        "output_tokens": output_tokens,
    }
