"""Programs that ask a provider once, for each SDK alike: with a whole answer or a stream, waiting or not."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CALLERS", "Caller", "Outcome", "outcome_of", "sse"]

_KEY = "sk-" + "fake"
_TEXT = "output of a command, which is long enough to leave. " * 40


def _anthropic_history(rounds: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Run them."}]
    for number in range(rounds):
        call = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "run", "input": {"number": number}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number:08}", "content": f"{number}: {_TEXT}"}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def _chat_history(rounds: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Run them."}]
    for number in range(rounds):
        function = {"name": "run", "arguments": json.dumps({"number": number})}
        call = {"id": f"call_{number:08}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number:08}", "content": f"{number}: {_TEXT}"})
    return messages


def _responses_history(rounds: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "user", "content": "Run them."}]
    for number in range(rounds):
        call = {"type": "function_call", "call_id": f"call_{number:08}", "name": "run", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": f"call_{number:08}", "output": f"{number}: {_TEXT}"}
        items += [call, output]
    return items


@dataclass(frozen=True, slots=True)
class Caller:
    """One way to ask.

    Args:
        wire: The form of the request.
        is_async: With the asynchronous client.
        is_streamed: With a stream.
        rounds: Calls in the history, each with a long result.
    """

    wire: str
    is_async: bool
    is_streamed: bool
    rounds: int = 12

    def __str__(self) -> str:
        return f"{self.wire}{'-async' if self.is_async else ''}{'-stream' if self.is_streamed else ''}"

    def client(self, url: str, **options: Any) -> Any:
        """Return the client of the SDK."""
        if self.wire == "anthropic":
            import anthropic

            kind = anthropic.AsyncAnthropic if self.is_async else anthropic.Anthropic
            return kind(base_url=url, api_key=_KEY, **options)
        import openai

        return (openai.AsyncOpenAI if self.is_async else openai.OpenAI)(base_url=f"{url}/v1", api_key=_KEY, **options)

    def method(self, client: Any) -> Callable[..., Any]:
        """Return what is called."""
        if self.wire == "anthropic":
            return client.messages.create
        return client.chat.completions.create if self.wire == "openai-chat" else client.responses.create

    def given(self) -> dict[str, Any]:
        """Return what is asked."""
        streamed = {"stream": True} if self.is_streamed else {}
        if self.wire == "anthropic":
            messages = _anthropic_history(self.rounds)
            return {"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages, **streamed}
        if self.wire == "openai-chat":
            return {"model": "gpt-5.5", "messages": _chat_history(self.rounds), **streamed}
        return {"model": "gpt-5.5", "input": _responses_history(self.rounds), **streamed}

    def ask(self, client: Any, *, events: int | None = None) -> Any:
        """Ask, and return the answer or the events. `events`: of a stream, after so many it is closed."""
        if self.is_async:
            return asyncio.run(self._closing(client, events))
        try:
            answer = self.method(client)(**self.given())
            if not self.is_streamed:
                return answer.model_dump()
            seen = []
            with answer:
                for event in answer:
                    seen.append(event.model_dump())
                    if len(seen) == events:
                        break
            return seen
        finally:
            client.close()

    async def ask_async(self, client: Any, *, events: int | None = None) -> Any:
        """Ask, as `ask` does, in a loop that runs."""
        answer = await self.method(client)(**self.given())
        if not self.is_streamed:
            return answer.model_dump()
        seen = []
        async with answer:
            async for event in answer:
                seen.append(event.model_dump())
                if len(seen) == events:
                    break
        return seen

    async def _closing(self, client: Any, events: int | None) -> Any:
        async with client:
            return await self.ask_async(client, events=events)


CALLERS = tuple(
    Caller(wire, is_async, is_streamed)
    for wire in ("anthropic", "openai-chat", "openai-responses")
    for is_async in (False, True)
    for is_streamed in (False, True)
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one request as its program sees it: the answer, or the error with all that its documentation names."""

    answer: Any = None
    error: str = ""
    words: str = ""
    status: int | None = None
    body: Any = None
    cause: str = ""


def outcome_of(call: Callable[[], Any]) -> Outcome:
    """Carry out a call, and return what came of it."""
    try:
        return Outcome(call())
    except Exception as error:  # noqa: BLE001 - the program would see any error
        kinds = " > ".join(kind.__qualname__ for kind in type(error).__mro__)
        status, body = getattr(error, "status_code", None), getattr(error, "body", None)
        return Outcome(None, kinds, str(error), status, body, type(error.__cause__).__name__)


def sse(*events: Mapping[str, Any] | str) -> bytes:
    """Return events as a provider streams them."""
    lines = []
    for event in events:
        name = event.get("type") if isinstance(event, Mapping) else None
        head = f"event: {name}\n" if name else ""
        lines.append(f"{head}data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
    return "".join(lines).encode()
