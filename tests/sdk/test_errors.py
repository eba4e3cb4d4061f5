"""The errors of an SDK with a managed client: the same types, words and number of requests as without."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import undrift
from tests.sdk.callers import CALLERS, Caller, Outcome, outcome_of
from undrift import Settings
from undrift.testing import Close, Hold, ModelTurn, RawRequest, RawUpstream, Reset, Send, Step, response, simulator_for
from undrift.testing.forms import stream_of

Answer = Callable[[RawRequest], Sequence[Step]]
Manage = Callable[[Any], Any]

_callers = pytest.mark.parametrize("caller", CALLERS, ids=str)


@pytest.fixture
def manage(home_of_all: Path) -> Manage:
    def wrapped(client: Any) -> Any:
        return undrift.wrap(client, home=home_of_all, settings=Settings(budget_tokens=2_000))

    return wrapped


def reply(caller: Caller) -> bytes:
    """The provider's answer: the bytes of a whole one, or of a stream."""
    body = {name: value for name, value in caller.given().items() if name != "stream"}
    answered = simulator_for(caller.wire, model=body["model"]).send(body, turn=ModelTurn("All is well with it."))
    return stream_of(caller.wire, answered.body) if caller.is_streamed else json.dumps(answered.body).encode()


def whole(caller: Caller) -> bytes:
    kind = "text/event-stream" if caller.is_streamed else "application/json"
    return response(reply(caller), kind=kind)


def refusal(status: int, text: str, **headers: str) -> bytes:
    body = {"type": "error", "error": {"type": "some_error", "message": text, "param": None, "code": None}}
    return response(json.dumps(body).encode(), status=status, headers=headers)


def both(caller: Caller, answer: Answer, manage: Manage, *, events: int | None = None, **options: Any) -> list[Outcome]:
    """Ask without and with a managed client; return both outcomes once the requests are known to be as many."""
    outcomes, sizes = [], []
    for managed in (_unmanaged, manage):
        with RawUpstream(answer) as upstream:
            client = managed(caller.client(upstream.url, **options))
            outcomes.append(outcome_of(partial(caller.ask, client, events=events)))
            sizes.append([len(request.body) for request in upstream.requests])
    assert len(sizes[0]) == len(sizes[1])
    assert max(sizes[1]) < min(sizes[0]) / 2, "the budget did not bite"
    return outcomes


def _unmanaged(client: Any) -> Any:
    return client


@_callers
def test_an_answer_is_the_same(caller: Caller, manage: Manage):
    plain, managed = both(caller, lambda _: [Send(whole(caller))], manage)
    assert plain.answer
    assert managed == plain


@_callers
@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_refusal_is_the_same_error(caller: Caller, status: int, manage: Manage):
    plain, managed = both(caller, lambda _: [Send(refusal(status, "No.", **{"x-should-retry": "false"}))], manage)
    assert plain.status == status
    assert managed == plain


@_callers
def test_a_limit_is_waited_for_as_often(caller: Caller, manage: Manage):
    def answer(request: RawRequest) -> list[Step]:
        limited = refusal(429, "Slow down.", **{"retry-after-ms": "1"})
        return [Send(limited if request.number < 3 else whole(caller))]

    plain, managed = both(caller, answer, manage, max_retries=2)
    assert plain.answer
    assert managed == plain
    plain, managed = both(caller, answer, manage, max_retries=1)
    assert plain.error.startswith("RateLimitError")
    assert managed == plain


@_callers
def test_a_reset_connection_is_the_same_error(caller: Caller, manage: Manage):
    plain, managed = both(caller, lambda _: [Reset()], manage, max_retries=0)
    assert plain.error.startswith("APIConnectionError")
    assert managed == plain


@_callers
def test_a_provider_that_is_silent_is_the_same_timeout(caller: Caller, manage: Manage):
    plain, managed = both(caller, lambda _: [Hold()], manage, max_retries=0, timeout=0.2)
    assert plain.error.startswith("APITimeoutError")
    assert managed == plain


@pytest.mark.parametrize("caller", [one for one in CALLERS if one.is_streamed], ids=str)
def test_a_stream_that_breaks_off_is_the_same_error(caller: Caller, manage: Manage):
    data = whole(caller)
    plain, managed = both(caller, lambda _: [Send(data[: len(data) - 200]), Close()], manage, max_retries=0)
    assert plain.error
    assert managed == plain


@pytest.mark.parametrize("caller", [one for one in CALLERS if one.is_streamed], ids=str)
def test_a_stream_that_is_closed_early_ends_the_connection(caller: Caller, manage: Manage):
    data = whole(caller)
    seen = []
    for managed in (_unmanaged, manage):
        with RawUpstream(lambda _: [Send(data[: len(data) - 200]), Hold()]) as upstream:
            seen.append(caller.ask(managed(caller.client(upstream.url)), events=2))
            upstream.wait_for_end()
    assert len(seen[0]) == 2
    assert seen[0] == seen[1]


@pytest.mark.parametrize("caller", [one for one in CALLERS if one.is_async], ids=str)
def test_a_cancelled_task_ends_the_request(caller: Caller, manage: Manage):
    async def cancelled(upstream: RawUpstream, client: Any) -> str:
        async with client:
            task = asyncio.create_task(caller.ask_async(client))
            await asyncio.to_thread(upstream.wait_for_request)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await asyncio.to_thread(upstream.wait_for_end)
            return f"cancelled {task.cancelled()}"

    for managed in (_unmanaged, manage):
        with RawUpstream(lambda _: [Hold()]) as upstream:
            assert asyncio.run(cancelled(upstream, managed(caller.client(upstream.url)))) == "cancelled True"
