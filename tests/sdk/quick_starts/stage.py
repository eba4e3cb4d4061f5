"""A quick start played against the strict providers over real HTTP: once as it is, once through `undrift.wrap`."""

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import undrift
from tests.sdk.quick_starts.play import Play, Script, Shape, file_text
from undrift import Prepared, Settings
from undrift.testing import ScriptedProvider
from undrift.testing.script import Seen
from undrift.wire.form import ProviderReply

__all__ = ["Row", "all_shapes", "compare"]

_MODULES = (
    "anthropic_sync",
    "anthropic_async",
    "chat_sync",
    "chat_async",
    "responses_sync",
    "responses_async",
    "gemini_sync",
    "gemini_async",
)
_KEY = "sk-" + "fake"
_MOST_KEPT = 0.8  # of all lines; the budgets are 0.3 to 0.7 of the last prompt


def all_shapes() -> tuple[Shape, ...]:
    """Return every documented shape of every SDK."""
    here = "tests.sdk.quick_starts"
    return tuple(shape for name in _MODULES for shape in importlib.import_module(f"{here}.{name}").SHAPES)


@dataclass(frozen=True, slots=True)
class Row:
    """The comparison of one shape with and without `wrap`.

    Args:
        requests: That the provider accepted with the managed client.
        refused: The provider's words.
        managed: Prompts that were prepared.
        recorded: Answers that were taken in, with the usage that the provider billed.
        tokens_before: Of the last prompt.
        tokens_after: The same prompt as it was sent.
        over_budget: Prompts that were sent although they exceeded the budget.
        is_same: The program saw the same answers, events and calls in the same order.
        has_left: Every line that the model read was sent to the end without `wrap`; with it many were not.
    """

    shape: Shape
    turns: int
    requests: int
    refused: tuple[str, ...]
    managed: int
    recorded: int
    tokens_before: int
    tokens_after: int
    over_budget: int
    is_same: bool
    has_left: bool

    def faults(self) -> list[str]:
        """Return what is wrong with it; empty if it is as promised."""
        expected = 1 if self.shape.is_held else self.requests  # the first request of a chain holds all there is
        checks = {
            f"{self.requests} requests for {self.turns} turns": self.requests == self.turns,
            f"refused: {self.refused}": not self.refused,
            f"managed {self.managed} of {expected}": self.managed == expected,
            f"recorded {self.recorded} of {expected}": self.recorded == expected,
            f"over the budget: {self.over_budget}": not self.over_budget,
            "the program saw something else": self.is_same,
            "nothing left": self.has_left or self.shape.is_held,
        }
        return [fault for fault, is_well in checks.items() if not is_well]


def compare(shape: Shape, script: Script, home: Path, budget_tokens: int) -> Row:
    """Play a shape twice, without and with `wrap`, each against a provider of its own."""
    prepared: list[Prepared] = []
    replies: list[ProviderReply] = []

    def manage(client: Any) -> Any:
        settings = Settings(budget_tokens=budget_tokens, token_counter="characters/4")
        return undrift.wrap(
            client, home=home, settings=settings, on_prepared=prepared.append, on_recorded=replies.append
        )

    plain = _run(shape, script, lambda client: client)
    managed = _run(shape, script, manage)
    accepted = [seen for seen in managed.requests if seen.kind == "main" and not seen.refused]
    pairs = list(zip(replies, accepted, strict=False))
    paths = [one[2]["path"] for one in managed.trace if one[0] == "call"]
    lines = [line for path in paths for line in file_text(path, script.lines).splitlines()]
    sent_without, sent_with = (one.requests[-1].text for one in (plain, managed))
    return Row(
        shape=shape,
        turns=script.turns,
        requests=len(accepted),
        refused=tuple(seen.refused for seen in managed.requests if seen.refused),
        managed=len(prepared),
        recorded=sum(_is_billed(reply, seen) for reply, seen in pairs),
        tokens_before=prepared[-1].tokens_before if prepared else 0,
        tokens_after=prepared[-1].tokens_after if prepared else 0,
        over_budget=sum(one.tokens_after > budget_tokens for one in prepared),
        is_same=managed.trace == plain.trace,
        has_left=all(line in sent_without for line in lines)
        and sum(line in sent_with for line in lines) < _MOST_KEPT * len(lines),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    trace: list[Any]
    requests: tuple[Seen, ...]


def _run(shape: Shape, script: Script, manage: Callable[[Any], Any]) -> _Run:
    """Play a shape from its first question to its last answer."""
    play = Play(script.questions(shape), script.lines)
    with ScriptedProvider(script.model(shape)) as provider:
        client = _client(shape, provider.url)
        assert manage(client) is client
        if shape.is_async:
            asyncio.run(_played(shape, client, play))
        else:
            shape.play(client, play)
        if not shape.is_async or shape.wire == "gemini":
            client.close()
        return _Run(play.trace, provider.requests)


async def _played(shape: Shape, client: Any, play: Play) -> None:
    try:
        await shape.play(client, play)
    finally:
        await (client.aio.aclose() if shape.wire == "gemini" else client.close())


def _client(shape: Shape, url: str) -> Any:
    """Return the client of the SDK, with its address and nothing else that differs from its defaults."""
    if shape.wire == "anthropic":
        import anthropic

        return (anthropic.AsyncAnthropic if shape.is_async else anthropic.Anthropic)(base_url=url, api_key=_KEY)
    if shape.wire == "gemini":
        from google import genai

        return genai.Client(api_key=_KEY, http_options={"base_url": url})
    import openai

    return (openai.AsyncOpenAI if shape.is_async else openai.OpenAI)(base_url=f"{url}/v1", api_key=_KEY)


def _is_billed(reply: ProviderReply, seen: Seen) -> bool:
    """Tell whether an answer was read with the usage of its bill, or without any if the request asked for none."""
    is_chat_stream = seen.path.endswith("/chat/completions") and bool(seen.body.get("stream"))
    if is_chat_stream and not (seen.body.get("stream_options") or {}).get("include_usage"):
        return reply.input_tokens is None
    return (reply.input_tokens, reply.output_tokens) == (seen.bill.prompt_tokens, seen.bill.output_tokens)
