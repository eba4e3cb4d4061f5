"""A clock on an event loop that wants to tick each millisecond: how much later it ticks is how long the loop stood still.

On a busy machine other programs make it late too. So it counts only the time in which this program computed. A full
collection of Python's garbage collector stops every thread, and its length depends on the whole program. So a tick
in which one ran is noted as such.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Stops", "idle", "ticked"]

T = TypeVar("T")

_TICK_S = 0.001
_SHORT_MS = 1.0


@dataclass(slots=True)
class Stops:
    """For how many milliseconds the loop stood still at each tick.

    Args:
        ms: While this program computed, at most.
        collected_ms: The same of the ticks with a long garbage collection.
        late_ms: All ticks, by the clock on the wall.
    """

    ms: list[float] = field(default_factory=list)
    collected_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)

    def share(self, share: float) -> float:
        """Return the stop that this share of the ticks does not exceed."""
        stops = sorted(self.ms)
        return stops[min(len(stops) - 1, int(len(stops) * share))] if stops else 0.0

    def __str__(self) -> str:
        text = f"at most {self.share(1):.1f} ms, p99 {self.share(0.99):.1f} ms"
        if self.collected_ms:
            text += (
                f"; with one of {len(self.collected_ms)} garbage collections at most {max(self.collected_ms):.1f} ms"
            )
        return f"{text}; by the clock on the wall at most {max(self.late_ms, default=0.0):.1f} ms"


async def ticked(run: Callable[[], Awaitable[T]], stops: Stops) -> T:
    """Run something beside a clock on the same loop, and note the stops."""
    longest_ms, begun = 0.0, 0.0  # of the collections since the last tick; when one began that is not over

    def collecting(phase: str, _: dict[str, int]) -> None:
        nonlocal longest_ms, begun
        if phase == "start":
            begun = time.perf_counter()
        else:
            longest_ms, begun = max(longest_ms, (time.perf_counter() - begun) * 1_000), 0.0

    async def tick() -> None:
        nonlocal longest_ms
        last, computed = time.perf_counter(), time.process_time()
        while True:
            await asyncio.sleep(_TICK_S)
            now, cpu = time.perf_counter(), time.process_time()
            if begun:  # its thread has just ended it and waits for the interpreter
                longest_ms = max(longest_ms, (now - begun) * 1_000)
            late_ms = max(0.0, now - last - _TICK_S) * 1_000
            stops.late_ms.append(late_ms)
            (stops.collected_ms if longest_ms > _SHORT_MS else stops.ms).append(min(late_ms, (cpu - computed) * 1_000))
            longest_ms, last, computed = 0.0, now, cpu

    clock = asyncio.create_task(tick())
    gc.callbacks.append(collecting)
    try:
        await asyncio.sleep(10 * _TICK_S)
        return await run()
    finally:
        await asyncio.sleep(2 * _TICK_S)
        gc.callbacks.remove(collecting)
        clock.cancel()


def idle(seconds: float = 1.0) -> Stops:
    """Return the stops of a loop that has nothing to do: what the machine itself costs."""
    stops = Stops()
    asyncio.run(ticked(lambda: asyncio.sleep(seconds), stops))
    return stops
