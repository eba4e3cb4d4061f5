"""The cost of `undrift.wrap` around a request, beside `Session.prepare` and `Session.record` of the same bytes.

Law: nothing is sent; the transport of the SDK's own HTTP client answers in this process. The figure is the difference
between the client with and without `wrap`, so neither the SDK's work nor that of httpx is in it.

Run as ``python -m bench.wrap [ROUNDS]``, where the SDK is installed.
"""

import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import undrift
from bench.figures import Claim, Figure, Report
from bench.overhead import conversation
from undrift import Prepared, Session, Settings
from undrift.testing.forms import stream_of

__all__ = ["measure"]

TURNS = 60
CHARACTERS = 1_000_000
BUDGET_TOKENS = 60_000
LIMIT = 1.1
_URL = "http://127.0.0.1:9/v1/messages"
_USAGE = {"input_tokens": 40_000, "output_tokens": 120, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
_REPLY = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [{"type": "text", "text": "I read the next module now, as its caller holds the lock. " * 8}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": _USAGE,
}


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to send: `session` as `wrap` takes it."""

    is_async: bool
    is_streamed: bool
    session: str | None

    def __str__(self) -> str:
        client, answer = ("async" if self.is_async else "sync"), ("stream" if self.is_streamed else "whole answer")
        return f"{client}, {answer}, {'session found' if self.session is None else 'session named'}"


WAYS = (
    _Way(is_async=False, is_streamed=False, session=None),
    _Way(is_async=False, is_streamed=True, session="bench"),
    _Way(is_async=True, is_streamed=False, session="bench"),
    _Way(is_async=True, is_streamed=True, session=None),
)


def measure(rounds: int = 3, ways: Sequence[_Way] = WAYS) -> Report:
    """Measure a session of 60 growing requests in each way; of each request the fastest of the rounds counts.

    Args:
        rounds: Of each way.
        ways: All or some of `WAYS`.
    """
    report = Report()
    try:
        import anthropic  # noqa: F401
    except ModuleNotFoundError:
        report.skipped.append("the cost of wrap needs the package anthropic: python -m bench.wrap")
        return report
    bodies = _bodies()
    for way in ways:
        best: dict[str, list[float]] = {}
        for turned in range(rounds):
            for name, times in _round(way, bodies, turned).items():
                best[name] = [min(pair) for pair in zip(times, best.get(name, times), strict=True)]
        ours = sum(best["managed"]) - sum(best["plain"])
        bare = sum(best["bare"])
        report.claims.append(Claim(f"wrap against prepare and record ({way})", ours / bare, limit=LIMIT))
        report.figures += [
            Figure(f"wrap, {TURNS} requests up to {len(bodies[-1]) / 1e6:.1f} MB ({way})", "ms", (ours,)),
            Figure(f"prepare and record of the same ({way})", "ms", (bare,)),
        ]
    return report


def _bodies() -> list[bytes]:
    """Return the requests of a session, each longer than the one before."""
    stream, messages, size = conversation(), [], 0
    bodies = []
    for turn in range(1, TURNS + 1):
        while size < CHARACTERS * turn / TURNS or messages[-1]["role"] != "user":
            messages.append(next(stream))
            size += len(json.dumps(messages[-1]))
        body = {"model": "claude-opus-5-5", "max_tokens": 1_000, "messages": messages}
        bodies.append(json.dumps(body).encode())
    return bodies


def _round(way: _Way, bodies: Sequence[bytes], turned: int) -> Mapping[str, list[float]]:
    """Send all requests once: without wrap, with it, and prepared by hand; return the milliseconds of each.

    `turned`: an odd number turns the order around.
    """
    times: dict[str, list[float]] = {"plain": [], "managed": [], "bare": []}
    settings = Settings(budget_tokens=BUDGET_TOKENS)
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory()))
        session = open_things.enter_context(Session.open("bench", home=folder / "bare", settings=settings))
        runner = open_things.enter_context(asyncio.Runner())
        plain, managed = _client(way), _client(way)
        shown: list[Prepared] = []
        undrift.wrap(managed, session=way.session, home=folder / "wrapped", settings=settings, on_prepared=shown.append)

        def by_hand(body: bytes) -> None:
            session.prepare(body)
            session.record(_answer(way))

        gc.collect()
        gc.disable()  # a collection would hit any of the three
        for number, body in enumerate(bodies):
            acts = {
                "plain": _sender(way, plain, body, runner),
                "managed": _sender(way, managed, body, runner),
                "bare": partial(by_hand, body),
            }
            is_other_way = (number + turned) % 2  # what comes later finds the caches of this process filled
            for name in sorted(acts, reverse=bool(is_other_way)):
                times[name].append(_cpu_ms(acts[name]))
        gc.enable()
        assert len(shown) == len(bodies), "requests passed unmanaged"
        assert shown[-1].tokens_before > BUDGET_TOKENS >= shown[-1].tokens_after
        for client in (plain, managed):
            runner.run(client.close()) if way.is_async else client.close()
    return times


def _cpu_ms(act: Callable[[], object]) -> float:
    started_ns = time.process_time_ns()
    act()
    return (time.process_time_ns() - started_ns) / 1e6


def _sender(way: _Way, client: Any, body: bytes, runner: asyncio.Runner) -> Callable[[], object]:
    """Return the sending of one request, as the SDK does it."""
    http = client._client
    request = http.build_request("POST", _URL, content=body, headers={"content-type": "application/json"})

    async def send_async() -> None:
        response = await http.send(request, stream=way.is_streamed)
        if way.is_streamed:
            async for _ in response.aiter_bytes():
                pass
            await response.aclose()

    def send() -> None:
        response = http.send(request, stream=way.is_streamed)
        if way.is_streamed:
            for _ in response.iter_bytes():
                pass
            response.close()

    return (lambda: runner.run(send_async())) if way.is_async else send


@cache
def _answer(way: _Way) -> bytes:
    """Return the provider's answer as it comes: `Session.record` takes the bytes of a stream too."""
    return stream_of("anthropic", _REPLY) if way.is_streamed else json.dumps(_REPLY).encode()


def _client(way: _Way) -> Any:
    """Return a client of the SDK whose transport answers by itself."""
    import anthropic
    import httpx2

    kind = "text/event-stream" if way.is_streamed else "application/json"

    def answer(_: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": kind}, content=_answer(way))

    transport = httpx2.MockTransport(answer)
    if way.is_async:
        return anthropic.AsyncAnthropic(
            api_key="none", http_client=anthropic.DefaultAsyncHttpxClient(transport=transport)
        )
    return anthropic.Anthropic(api_key="none", http_client=anthropic.DefaultHttpxClient(transport=transport))


if __name__ == "__main__":
    print(measure(*(int(rounds) for rounds in sys.argv[1:])).as_markdown())
