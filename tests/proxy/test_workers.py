"""How jobs get their turn: long ones a few at a time, none without an end, and no wait counts as work."""

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway
from undrift import Settings
from undrift.proxy.ask import Ask, Bypass, MustWait
from undrift.proxy.workers import MOST_LONG, Workers
from undrift.testing import RawUpstream, Send, response


def asked() -> Ask:
    return Ask("anthropic", b"", None, "s", "", time.monotonic() + 60)


class Counted:
    """A job that takes long; it knows how many of its kind run at once."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self.running = self.most = 0

    def __call__(self, request: Ask) -> str:
        if not request.has_turn:
            raise MustWait
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        end_s = time.thread_time() + self._seconds
        while time.thread_time() < end_s:
            pass
        with self._lock:
            self.running -= 1
        return "done"


def run(test: Any, *, deadline_s: float = 5.0, longest_wait_s: float = 60.0, count: int = 4) -> Any:
    async def go() -> Any:
        with ThreadPoolExecutor(count) as threads:
            return await test(Workers(threads, count, deadline_s, longest_wait_s))

    return asyncio.run(go())


def test_long_jobs_are_done_a_few_at_a_time_and_the_wait_for_their_turn_does_not_count():
    job = Counted(0.05)

    async def test(workers: Workers) -> list[str]:
        return await asyncio.gather(*(workers.do(job, asked()) for _ in range(20)))

    assert run(test, deadline_s=0.5, count=16) == ["done"] * 20
    assert job.most == MOST_LONG


def test_short_jobs_pass_the_long_ones():
    gate = threading.Event()

    def long(request: Ask) -> str:
        if not request.has_turn:
            raise MustWait
        gate.wait(30)
        return "long"

    async def test(workers: Workers) -> None:
        waiting = [asyncio.create_task(workers.do(long, asked())) for _ in range(8)]
        while workers.waiting < 8 - MOST_LONG:
            await asyncio.sleep(0.01)
        assert await workers.do(lambda _: "short", asked()) == "short"
        assert not any(one.done() for one in waiting)
        gate.set()
        assert await asyncio.gather(*waiting) == ["long"] * 8
        assert workers.waiting == 0

    run(test)


def test_a_job_that_stands_still_is_not_waited_for_beyond_its_deadline():
    gate = threading.Event()

    async def test(workers: Workers) -> None:
        with pytest.raises(Bypass, match="deadline"):
            await workers.do(lambda _: gate.wait(30), asked())
        assert workers.overdue == 1
        gate.set()
        while workers.overdue:
            await asyncio.sleep(0.01)

    run(test, deadline_s=0.2)


def test_a_job_that_works_too_long_is_not_waited_for_either():
    job = Counted(0.6)

    async def test(workers: Workers) -> None:
        with pytest.raises(Bypass, match="deadline"):
            await workers.do(job, asked())

    run(test, deadline_s=0.2)


def test_a_turn_that_does_not_come_is_not_waited_for_without_end():
    gate = threading.Event()

    def long(request: Ask) -> None:
        if not request.has_turn:
            raise MustWait
        gate.wait(30)

    async def test(workers: Workers) -> None:
        first = [asyncio.create_task(workers.do(long, asked())) for _ in range(MOST_LONG)]
        while workers.waiting or not workers._long.locked():
            await asyncio.sleep(0.01)
        with pytest.raises(Bypass, match="overloaded") as caught:
            await workers.do(long, asked())
        assert not caught.value.is_fault  # it says nothing of the session
        gate.set()
        await asyncio.gather(*first, return_exceptions=True)

    run(test, longest_wait_s=0.3)


def test_a_job_whose_turn_came_late_is_no_fault():
    job = Counted(2.0)

    async def test(workers: Workers) -> None:
        with pytest.raises(Bypass, match="overloaded") as caught:
            await workers.do(job, asked())
        assert not caught.value.is_fault

    run(test, deadline_s=4.0, longest_wait_s=0.5)


def test_nothing_is_begun_for_a_client_that_has_left():
    gate = threading.Event()
    begun: list[Ask] = []

    async def test(workers: Workers) -> None:
        first = asyncio.create_task(workers.do(lambda _: gate.wait(30), asked()))
        second = asyncio.create_task(workers.do(begun.append, asked()))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.wait({second})
        gate.set()
        await first

    run(test, count=1)
    assert begun == []


def test_the_turn_of_a_client_that_has_left_ends_with_its_job():
    job = Counted(0.3)

    async def test(workers: Workers) -> None:
        for _ in range(4):
            impatient = [asyncio.create_task(workers.do(job, asked())) for _ in range(2)]
            await asyncio.sleep(0.1)
            for one in impatient:
                one.cancel()
        assert await workers.do(job, asked()) == "done"

    run(test, count=16)
    assert job.most == MOST_LONG


def test_a_job_that_is_stuck_keeps_its_turn_no_longer_than_the_deadline_though_its_client_has_left():
    gate = threading.Event()

    def stuck(request: Ask) -> None:
        if not request.has_turn:
            raise MustWait
        gate.wait(30)

    async def test(workers: Workers) -> None:
        left = [asyncio.create_task(workers.do(stuck, asked())) for _ in range(MOST_LONG)]
        await asyncio.sleep(0.1)
        for one in left:
            one.cancel()
        assert await workers.do(Counted(), asked()) == "done"
        gate.set()

    run(test, deadline_s=0.3, count=16)


def test_where_all_threads_are_stuck_the_next_request_does_not_wait():
    gate = threading.Event()

    async def test(workers: Workers) -> None:
        stuck = [workers.do(lambda _: gate.wait(30), asked()) for _ in range(6)]
        found = await asyncio.gather(*stuck, return_exceptions=True)
        assert [str(one) for one in found] == ["deadline"] * 6
        assert workers.overdue == 4  # the others had not begun, and never will
        with pytest.raises(Bypass, match="overloaded"):
            await workers.do(lambda _: None, asked())
        gate.set()

    run(test, deadline_s=0.2)


def test_large_sessions_that_are_all_new_are_managed_although_they_come_at_once(tmp_path):
    """Each takes a part of the deadline; all together take more than it."""
    answer = b'{"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 5}}'
    heard: list[Any] = []
    given = Settings(home=str(tmp_path), budget_tokens=10_000)
    with (
        RawUpstream(lambda _: [Send(response(answer))]) as upstream,
        gateway(tmp_path, upstream.url, given, deadline_s=2.0) as server,
    ):
        threads = [threading.Thread(target=lambda n=n: heard.append(ask(server.url, body=large(n)))) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(one.status, one.headers.get("x-undrift-bypass")) for one in heard] == [(200, None)] * 8


def large(number: int) -> bytes:
    said: list[object] = [{"role": "user", "content": f"Session {number}: fix it."}]
    for step in range(300):
        call = {
            "type": "tool_use",
            "id": f"toolu_{number}_{step:05}",
            "name": "Bash",
            "input": {"command": f"run {step}"},
        }
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"{number} line {step} of output\n" * 80}
        said += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": said}).encode()
