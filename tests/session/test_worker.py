"""The worker of an asyncio program: calls in order and to their end, one thread, and no program that cannot end."""

import asyncio
import contextvars
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest

from undrift.errors import StoreError
from undrift.session.worker import Worker


def test_calls_run_one_after_the_other_in_the_order_in_which_they_came():
    done: list[int] = []
    inside = threading.Lock()

    def call(number: int) -> int:
        assert inside.acquire(blocking=False)
        time.sleep(0.001)
        done.append(number)
        inside.release()
        return number

    async def program() -> list[int]:
        with Worker("x") as worker:
            return await asyncio.gather(*(worker.run(call, number) for number in range(20)))

    assert asyncio.run(program()) == done == list(range(20))


def test_the_thread_starts_with_the_first_call_and_is_the_same_for_all():
    async def program() -> set[int]:
        before = threading.active_count()
        worker = Worker("x")
        assert threading.active_count() == before
        found = {await worker.run(threading.get_ident) for _ in range(5)}
        worker.close()
        return found

    assert len(found := asyncio.run(program())) == 1
    assert threading.get_ident() not in found


def test_a_call_sees_the_context_variables_of_its_task_and_arguments_arrive():
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="nothing")

    async def task(worker: Worker, name: str) -> tuple[str, dict[str, int]]:
        variable.set(name)
        return await worker.run(lambda *given, **named: (variable.get(), {given[0]: named["one"]}), name, one=1)

    async def program() -> list[tuple[str, dict[str, int]]]:
        with Worker("x") as worker:
            return await asyncio.gather(*(task(worker, f"task {n}") for n in range(5)))

    assert asyncio.run(program()) == [(f"task {n}", {f"task {n}": 1}) for n in range(5)]


def test_a_cancelled_caller_leaves_at_once_and_its_calls_run_to_their_end(caplog):
    under_way, gate, done = threading.Event(), threading.Event(), []

    def slow(fails: bool) -> None:
        under_way.set()
        gate.wait(10)
        done.append("slow")
        if fails:
            raise ValueError("unheard")

    async def program(fails: bool) -> None:
        with Worker("x") as worker:
            task = asyncio.create_task(worker.run(slow, fails))
            waiting = asyncio.create_task(worker.run(done.append, "waiting"))
            await asyncio.to_thread(under_way.wait, 10)
            task.cancel()
            waiting.cancel()
            assert len(await asyncio.gather(task, waiting, return_exceptions=True)) == 2
            assert task.cancelled()
            assert done == []
            gate.set()
            await worker.run(done.append, "next")

    asyncio.run(program(fails=False))
    assert done == ["slow", "waiting", "next"]
    assert caplog.text == ""
    done.clear()
    gate.clear()
    asyncio.run(program(fails=True))
    assert "a call failed after its caller had left: unheard" in caplog.text


@pytest.mark.parametrize("error", [ValueError("v"), StoreError("s"), StopIteration(3)])
def test_an_error_of_the_call_is_raised_where_it_is_awaited_and_the_worker_continues(error):
    def fails() -> None:
        raise error

    async def program() -> int:
        with Worker("x") as worker:
            expected = RuntimeError if isinstance(error, StopIteration) else type(error)
            with pytest.raises(expected):
                await worker.run(fails)
            return await worker.run(int, "7")

    assert asyncio.run(program()) == 7


def test_several_event_loops_use_one_worker():
    worker, found = Worker("x"), []

    def own_loop(number: int) -> None:
        found.extend(asyncio.run(several(number)))

    async def several(number: int) -> list[int]:
        return await asyncio.gather(*(worker.run(pow, number, exponent) for exponent in range(50)))

    threads = [threading.Thread(target=own_loop, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worker.close()
    assert sorted(found) == sorted(number**exponent for number in range(4) for exponent in range(50))


def test_a_loop_that_ended_before_its_call_disturbs_no_other():
    worker, gate = Worker("x"), threading.Event()
    done: list[int] = []

    async def leaves() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(worker.run(gate.wait, 10), 0.01)

    asyncio.run(leaves())
    gate.set()
    asyncio.run(worker.run(done.append, 1))
    worker.close()
    assert done == [1]


def test_after_the_end_a_call_is_refused_with_the_name_of_the_thing_and_earlier_calls_are_carried_out():
    done: list[int] = []

    async def program() -> None:
        worker = Worker("session 'a'")
        tasks = [asyncio.create_task(worker.run(done.append, number)) for number in range(5)]
        await asyncio.sleep(0)
        worker.close()
        worker.close()
        with pytest.raises(StoreError, match=r"^session 'a' is closed; open it again$"):
            await worker.run(done.append, 6)
        await asyncio.gather(*tasks)

    asyncio.run(program())
    assert done == list(range(5))


def test_threads_take_turns_more_often_while_calls_of_any_worker_run():
    usual = sys.getswitchinterval()
    gate = threading.Event()

    async def program() -> float:
        with Worker("x") as one, Worker("y") as other:
            waiting = asyncio.create_task(one.run(gate.wait, 10))
            inside = await other.run(sys.getswitchinterval)
            assert sys.getswitchinterval() == inside  # the call of the first is not over
            gate.set()
            await waiting
            return inside

    assert asyncio.run(program()) < usual
    assert sys.getswitchinterval() == usual


def test_an_interval_that_the_program_chose_meanwhile_stays():
    usual = sys.getswitchinterval()

    async def program() -> None:
        with Worker("x") as worker:
            await worker.run(sys.setswitchinterval, 0.003)

    try:
        asyncio.run(program())
        assert sys.getswitchinterval() == pytest.approx(0.003)
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_after_a_fork_a_call_is_refused_and_a_new_worker_works():
    worker = Worker("session 'a'")

    def child(results) -> None:
        try:
            asyncio.run(worker.run(int, "1"))
        except StoreError as error:
            results.send((str(error), sys.getswitchinterval()))
        worker.close()
        with Worker("x") as own:
            results.send(asyncio.run(own.run(int, "2")))

    async def forked_during_a_call() -> tuple:
        under_way, gate = threading.Event(), threading.Event()

        def call() -> None:
            under_way.set()
            gate.wait(10)

        waiting = asyncio.create_task(worker.run(call))
        await asyncio.to_thread(under_way.wait, 10)
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
        process.start()
        gate.set()
        found = ours.recv(), ours.recv()
        process.join()
        assert process.exitcode == 0
        await waiting
        return found

    usual = sys.getswitchinterval()
    (said, interval), result = asyncio.run(forked_during_a_call())
    assert said == "session 'a' was opened before a fork; open it again in this process"
    assert (interval, result) == (usual, 2)
    assert asyncio.run(worker.run(int, "3")) == 3
    worker.close()


@pytest.mark.parametrize(
    "end",
    [
        "asyncio.run(worker.run(time.sleep, 0.01))",  # never closed
        "asyncio.run(asyncio.wait_for(worker.run(time.sleep, 0.1), 0.001))",  # in the middle of a call
        "kept = worker",  # never used
    ],
)
def test_a_program_ends_although_a_worker_is_open(end):
    program = f"import asyncio, time\nfrom undrift.session.worker import Worker\nworker = Worker('x')\n{end}\n"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Exception ignored" not in done.stderr
    assert done.returncode == (1 if "wait_for" in end else 0)
    assert done.stderr.strip().endswith("TimeoutError" if "wait_for" in end else "")
