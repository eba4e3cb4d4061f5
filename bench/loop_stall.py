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
    """The stops of one kind of turn over all rounds."""

    stops: Stops = field(default_factory=Stops)
    took_ms: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        collected = f"{max(self.stops.collected_ms):6.1f}" if self.stops.collected_ms else "     -"
        took, late = max(self.took_ms), max(self.stops.late_ms)
        return f"{took:8.0f} {self.stops.share(0.99):8.1f} {self.stops.share(1):8.1f} {collected:>10} {late:8.1f}"


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
        await ticked(lambda: call(body), row.stops)  # noqa: B023 - it is awaited here
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
    print(f"{'milliseconds, longest of the rounds':66} {'call':>8} {'p99':>8} {'stop':>8} {'with gc':>10} {'wall':>8}")
    for name, row in rows.items():
        print(f"{name:66} {row}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
