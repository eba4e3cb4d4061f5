"""The threads program in short: many hands on one session, nothing of another's in a body, and a loop that is counted."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from bench import loop_stall, threads
from bench.ticking import Stops, ticked


@pytest.mark.parametrize("hands", [threads.threads, threads.tasks])
def test_many_hands_on_one_session_get_no_error_nothing_foreign_and_whole_pairs(hands):
    found = hands(10, 16)
    assert found.is_clean, str(found)
    assert (found.calls, found.recalled) == (160, 10)


def test_each_fault_is_noticed():
    found = threads.Found()
    one, other = threads.Agent(1, found), threads.Agent(2, found)
    messages = one.body()["messages"]
    sent = one.note(SimpleNamespace(warnings=(), tokens_before=2, tokens_after=1, body={"messages": messages}))
    one.judge(sent)
    assert found.is_clean
    other.judge(sent)
    assert (found.foreign, found.halves) == (1, 0)
    one.judge(
        one.note(SimpleNamespace(warnings=("w",), tokens_before=1, tokens_after=1, body={"messages": messages[:-1]}))
    )
    assert (found.foreign, found.halves, found.warnings["w"], found.pruned) == (1, 1, 1, 1)
    one.check("agent002 line")
    one.fail(ValueError("v"))
    assert (found.foreign, found.errors["ValueError: v"]) == (2, 1)
    assert "errors 1, warnings 1" in str(found)


def test_a_stop_of_the_loop_is_counted_and_what_other_programs_took_is_not():
    async def computes() -> None:
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass

    async def waits() -> None:
        await asyncio.to_thread(time.sleep, 0.02)

    async def sleeps_on_the_loop() -> None:
        time.sleep(0.02)

    stops: dict[str, Stops] = {}
    for run in (computes, waits, sleeps_on_the_loop):
        stops[run.__name__] = Stops()
        asyncio.run(ticked(run, stops[run.__name__]))
    assert stops["computes"].share(1) > 15
    assert max(stops["sleeps_on_the_loop"].late_ms) > 15
    assert stops["sleeps_on_the_loop"].share(1) < 15
    assert "by the clock on the wall at most" in str(stops["waits"])


@pytest.mark.parametrize("bare", [[], ["--bare"]])
def test_the_measure_of_the_loop_runs(monkeypatch, capsys, bare):
    monkeypatch.setattr(loop_stall, "idle", lambda: "not measured")
    monkeypatch.setattr(loop_stall, "_CHARACTERS", 20_000)
    monkeypatch.setattr(loop_stall, "_LENGTHS", {"many small messages": 21, "a huge result that leaves": 11})
    assert loop_stall.main(["--rounds", "1", *bare]) == 0
    out = capsys.readouterr().out
    assert out.count("first turn") == 8
