"""One session in many hands: ``python -m bench.threads`` lets threads and asyncio tasks share it, and counts what goes wrong.

Each agent has a history of its own that grows with each call, with its name in every text, and a budget that bites. Half
of them begin with the same words. A body may hold no name of another agent, each call of a tool keeps its result, and
what left comes back with `recall`. The last line of each part says for how long the event loop stood still.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.ticking import Stops, idle, ticked
from undrift import Session, Settings

__all__ = ["Found", "main", "tasks", "threads"]

BUDGET_TOKENS = 2_000
_BETWEEN_S = 0.002  # from one task's first request to the next's
_RESULT_CHARACTERS = 600
_LONGEST_CALLS = 100  # of one history
_NAME = re.compile(r"agent\d{3}")


@dataclass(slots=True)
class Found:
    """The counts of a run; `stops`: those of the event loop, if there is one."""

    calls: int = 0
    pruned: int = 0
    recalled: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    foreign: int = 0
    halves: int = 0
    stops: Stops | None = None

    @property
    def is_clean(self) -> bool:
        return not (self.errors or self.warnings or self.foreign or self.halves) and self.pruned > 0

    def __str__(self) -> str:
        lines = [
            f"{self.calls:,} calls, {self.pruned:,} bodies in which something had left, {self.recalled:,} originals recalled",
            f"errors {self.errors.total()}, warnings {self.warnings.total()}",
            f"bodies with foreign content {self.foreign}, with half a pair {self.halves}",
            *(f"  {count} x {text}" for text, count in (self.errors + self.warnings).most_common(5)),
        ]
        if self.stops is not None:
            lines.append(f"the loop stood still for {self.stops}")
        return "\n".join(lines)


class Agent:
    """One agent with a history of its own."""

    def __init__(self, number: int, found: Found) -> None:
        self._name = f"agent{number:03}"
        self._found = found
        begin = "Look into the files." if number % 2 else f"Look into the files of {self._name}."
        self._begin: list[dict[str, Any]] = [{"role": "user", "content": begin}]
        self._messages: list[dict[str, Any]] = []
        self._count = 0

    def body(self) -> dict[str, Any]:
        """Return the next request: one more call of a tool, with its result. A long history begins again."""
        if self._count % _LONGEST_CALLS == 0:
            self._messages = [*self._begin]
        self._count += 1
        id_ = f"{self._name}_{self._count}"
        call = {"type": "tool_use", "id": id_, "name": "Read", "input": {"path": f"{self._name}/{self._count}.py"}}
        text = f"{self._name} line {self._count}: ".ljust(_RESULT_CHARACTERS, "x")
        self._messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"{self._name} reads."}, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": text}]},
        ]
        return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [*self._messages]}

    def note(self, prepared: Any) -> str:
        """Count a result, and return the messages that go out, as JSON: a text is no work for the garbage collector."""
        self._found.calls += 1
        self._found.warnings.update(prepared.warnings)
        self._found.pruned += prepared.tokens_after < prepared.tokens_before
        return json.dumps(prepared.body["messages"])

    def judge(self, messages: str) -> None:
        """Count what is wrong with the messages that go out."""
        self._found.foreign += bool(set(_NAME.findall(messages)) - {self._name})
        self._found.halves += not _is_whole(json.loads(messages))

    def check(self, original: str) -> None:
        """Count an original that is another agent's."""
        self._found.recalled += 1
        self._found.foreign += bool(set(_NAME.findall(original)) - {self._name})

    def fail(self, error: Exception) -> None:
        self._found.errors[f"{type(error).__name__}: {error}"[:200]] += 1


def _refs(prepared: Any) -> list[str]:
    """Return the references of what left a window."""
    return [action.ref for action in prepared.actions if action.kind != "pinned" and action.ref]


def _is_whole(messages: list[dict[str, Any]]) -> bool:
    """Tell if each call of a tool is answered by the next message, and each result answers a call."""
    waiting: set[str] = set()
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        answered = {one["tool_use_id"] for one in blocks if one["type"] == "tool_result"}
        if answered != waiting:
            return False
        waiting = {one["id"] for one in blocks if one["type"] == "tool_use"}
    return not waiting


def _settings() -> Settings:
    return Settings(budget_tokens=BUDGET_TOKENS, token_counter="characters/4")


def threads(count: int, calls: int) -> Found:
    """Let threads share one `Session`."""
    found = Found()
    gate = threading.Barrier(count)

    def work(session: Session, number: int) -> None:
        agent = Agent(number, found)
        gate.wait()
        for step in range(calls):
            try:
                prepared = session.prepare(agent.body())
                agent.judge(agent.note(prepared))
                session.record({"usage": {"input_tokens": prepared.tokens_after, "output_tokens": 5}})
                if step % 5 == 4 and (refs := _refs(prepared)):
                    agent.check(session.recall(refs[-1]))
            except Exception as error:  # noqa: BLE001 - it is counted
                agent.fail(error)

    with (
        tempfile.TemporaryDirectory() as home,
        Session.open("shared", home=home, settings=_settings()) as session,
        ThreadPoolExecutor(count) as pool,
    ):
        list(pool.map(partial(work, session), range(count)))
    return found


def tasks(count: int, calls: int) -> Found:
    """Let asyncio tasks share one `AsyncSession`, beside a clock on the same event loop."""
    from undrift import AsyncSession

    found, stops = Found(), Stops()
    bodies: list[tuple[Agent, str]] = []  # judged afterwards, because that is not the loop's work

    async def work(session: AsyncSession, number: int) -> None:
        agent = Agent(number, found)
        await asyncio.sleep(number * _BETWEEN_S)
        for step in range(calls):
            try:
                prepared = await session.prepare(agent.body())
                bodies.append((agent, agent.note(prepared)))
                await session.record({"usage": {"input_tokens": prepared.tokens_after, "output_tokens": 5}})
                if step % 5 == 4 and (refs := _refs(prepared)):
                    agent.check(await session.recall(refs[-1]))
            except Exception as error:  # noqa: BLE001 - it is counted
                agent.fail(error)

    async def run() -> None:
        async with AsyncSession.open("shared", home=home, settings=_settings()) as session:
            await asyncio.gather(*(work(session, number) for number in range(count)))

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(ticked(run, stops))
    found.stops = stops
    for agent, messages in bodies:
        agent.judge(messages)
    return found


def main(arguments: list[str]) -> int:
    """Run both parts and print what they saw; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="bench.threads", description=__doc__)
    parser.add_argument("--threads", type=int, default=16, help="threads on one Session; 0: none")
    parser.add_argument("--tasks", type=int, default=200, help="tasks on one AsyncSession; 0: none")
    parser.add_argument("--calls", type=int, default=500, help="requests of each thread")
    parser.add_argument("--task-calls", type=int, default=40, help="requests of each task")
    given = parser.parse_args(arguments)
    results = []
    if given.tasks:
        print(f"an idle loop stands still for {idle()}\n")
    for act, count, calls in ((threads, given.threads, given.calls), (tasks, given.tasks, given.task_calls)):
        if count:
            begun = time.perf_counter()
            results.append(act(count, calls))
            print(
                f"{count} {act.__name__} x {calls} requests, {time.perf_counter() - begun:.0f} s:\n{results[-1]}\n",
                flush=True,
            )
    return 0 if all(one.is_clean for one in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
