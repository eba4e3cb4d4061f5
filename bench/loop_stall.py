"""For how long an event loop stands still while an `AsyncSession` prepares a body of 1 MB: ``python -m bench.loop_stall``.

Bodies of many small messages, of one huge result that stays, and of one that leaves; as dicts and as bytes; with a budget
that is never reached and with one that bites; the first turn of a session, and two more. The same calls in a bare thread of
asyncio's stand beside it, because Python itself lets a loop wait for 5 ms each time another thread computes.
"""

import argparse
import asyncio
import gc
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.overhead import conversation
from bench.ticking import Stops, idle, ticked
from undrift import AsyncSession, Prepared, Session, Settings

__all__ = ["main"]

_CHARACTERS = 1_000_000
_NEVER = 10**12  # tokens
_BUDGET_TOKENS = 60_000
_LENGTHS = {"many small messages": 1_001, "a huge result that stays": 3, "a huge result that leaves": 61}

Call = Callable[[Any], Awaitable[Prepared]]


@dataclass(slots=True)
class _Row:
    """The stops of one kind of turn, round by round."""

    rounds: list[Stops] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        stops = [one.share(1) for one in self.rounds]
        collected = [max(one.collected_ms) for one in self.rounds if one.collected_ms]
        shown = f"{min(collected):.1f}-{max(collected):.1f}" if collected else "-"
        return f"{min(self.took_ms):7.0f} {min(stops):6.1f} {median(stops):7.1f} {max(stops):7.1f} {shown:>11}"


def _messages(kind: str, count: int) -> list[dict[str, Any]]:
    """Return the messages of a history; but for `many` the first result of a tool has a million characters."""
    messages = list(itertools.islice(conversation(), count))
    if not kind.startswith("many"):
        huge = ""
        for message in conversation(3):
            huge += message["content"][-1].get("content", "")
            if len(huge) >= _CHARACTERS:
                break
        messages[2] = {"role": "user", "content": [{**messages[2]["content"][0], "content": huge}]}
    return messages


def _bodies(kind: str, form: str) -> Iterator[Any]:
    """Yield the bodies of three turns."""
    for count in range(_LENGTHS[kind], _LENGTHS[kind] + 5, 2):
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": _messages(kind, count)}
        yield json.dumps(body).encode() if form == "bytes" else body


async def _turns(name: str, call: Call, kind: str, form: str, rows: dict[str, _Row]) -> None:
    for turn, body in enumerate(_bodies(kind, form)):
        row = rows.setdefault(f"{name}, {'later turns' if turn else 'first turn'}", _Row())
        begun = time.perf_counter()
        row.rounds.append(Stops())
        await ticked(lambda: call(body), row.rounds[-1])  # noqa: B023 - it is awaited here
        row.took_ms.append((time.perf_counter() - begun) * 1_000)


async def _round(rows: dict[str, _Row], *, bare: bool) -> None:
    """Carry out each kind of turn once, in a session of its own."""
    for kind, form, bites in itertools.product(_LENGTHS, ("dict", "bytes"), (False, True)):
        name = f"{kind}, {form}, {'prune' if bites else 'no prune'}"
        settings = Settings(budget_tokens=_BUDGET_TOKENS if bites else _NEVER)
        with tempfile.TemporaryDirectory() as home:
            if bare:
                with Session.open("bare", home=home, settings=settings) as session:
                    await _turns(name, lambda body: asyncio.to_thread(session.prepare, body), kind, form, rows)
            else:
                async with AsyncSession.open("awaited", home=home, settings=settings) as awaited:
                    await _turns(name, awaited.prepare, kind, form, rows)


def main(arguments: list[str]) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="bench.loop_stall", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bare", action="store_true", help="measure asyncio.to_thread(session.prepare) in its place")
    parser.add_argument("--freeze", action="store_true", help="gc.freeze() after the start, as a server does")
    given = parser.parse_args(arguments)
    if given.freeze:
        gc.collect()
        gc.freeze()
    rows: dict[str, _Row] = {}
    print(f"an idle loop: {idle()}\n")
    for _ in range(given.rounds):
        asyncio.run(_round(rows, bare=given.bare))
    print("The longest stop of the loop in each round, in milliseconds: lowest, median and highest of the rounds.")
    print(f"{'':58} {'call':>7} {'lowest':>6} {'median':>7} {'highest':>7} {'with gc':>11}")
    for name, row in rows.items():
        print(f"{name:58} {row}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
