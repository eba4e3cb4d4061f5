"""`make agents`: twelve agents, each with an MCP server of its own in a process of its own, all on one home.

Every agent sends a hundred operations through the official client: memories, and tasks of a session that all share.
Afterwards the home is compared with what was acknowledged: each is there exactly once, and nobody was told "busy".
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import anyio

from undrift import Session
from undrift.stores.sqlite import SqliteStore

__all__ = ["Outcome", "main", "operate", "problems"]

SESSION = "together"
SHARED_EVERY = 10  # operations: the same statement by all agents, as when a call is repeated


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the agents were told: ids of memories by text, tasks, refusals, and how long each call took."""

    memories: dict[str, set[str]]
    tasks: tuple[str, ...]
    refused: tuple[str, ...]
    took_ms: tuple[float, ...]


def _word(number: int) -> str:
    """A word for a number: two texts that differ in a number contradict each other, and these are not to."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:03}")


def operate(home: Path, agents: int, count: int) -> Outcome:
    """Let the agents work side by side and return what they were told."""
    from tests.mcp.builders import said, stdio

    memories: dict[str, set[str]] = {}
    tasks: list[str] = []
    refused: list[str] = []
    took: list[float] = []
    ready = 0

    async def agent(name: str, all_ready: anyio.Event) -> None:
        nonlocal ready
        async with stdio(home, "--session", SESSION) as client:
            ready += 1
            if ready == agents:
                all_ready.set()
            await all_ready.wait()
            for number in range(count):
                is_task = number % 2 == 1
                text = f"{_word(number)} is known to {'all' if number % SHARED_EVERY == 0 else name}"
                tool = "task_update" if is_task else "remember"
                given = {"id": f"{name}-{number}", "content": f"do {number}"} if is_task else {"text": text}
                began = time.perf_counter()
                result = await client.call_tool(tool, given)
                took.append(1_000 * (time.perf_counter() - began))
                if result.is_error:
                    refused.append(f"{name}: {tool} {number}: {said(result)}")
                elif is_task:
                    tasks.append(given["id"])
                else:
                    memories.setdefault(text, set()).add(result.structured_content["id"])

    async def together() -> None:
        all_ready = anyio.Event()
        async with anyio.create_task_group() as group:
            for number in range(agents):
                group.start_soon(agent, _word(number), all_ready)

    anyio.run(together)
    return Outcome(memories, tuple(tasks), tuple(refused), tuple(took))


def problems(home: Path, found: Outcome) -> list[str]:
    """Return what the home and the agents disagree about."""
    wrong = list(found.refused)
    with Session.open(SESSION, home=home) as session:
        stored = Counter(memory.content for memory in session.memories())
        tasks = Counter(task.id for task in session.tasks())
    told = Counter(list(found.memories))
    if stored != told:
        wrong.append(f"the memories differ: {(stored - told) + (told - stored)}")
    wrong += [f"{text!r} has the ids {sorted(ids)}" for text, ids in found.memories.items() if len(ids) > 1]
    if tasks != Counter(found.tasks):
        wrong.append(f"the tasks differ: {(tasks - Counter(found.tasks)) + (Counter(found.tasks) - tasks)}")
    with SqliteStore.open(home) as store:
        wrong += store.integrity()
    return wrong


def main(arguments: list[str]) -> int:
    """Run and print; return 0 where nothing was refused, lost or doubled."""
    parser = argparse.ArgumentParser(prog="make agents", description=__doc__)
    parser.add_argument("--agents", type=int, default=12)
    parser.add_argument("--operations", type=int, default=100)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        found = operate(home, chosen.agents, chosen.operations)
        wrong = problems(home, found)
    took = sorted(found.took_ms)
    busy = sum("another process" in line or "busy" in line for line in found.refused)
    print(
        f"{chosen.agents} agents x {chosen.operations} operations over MCP: {len(took) - len(found.refused):,} acknowledged, "
        f"{busy} busy, {len(wrong)} lost, doubled or otherwise wrong; p50 {took[len(took) // 2]:.1f} ms, "
        f"p99 {took[len(took) * 99 // 100]:.1f} ms, longest {took[-1]:.1f} ms"
    )
    for line in wrong[:10]:
        print(line)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
