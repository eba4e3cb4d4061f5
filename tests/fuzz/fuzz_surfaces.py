"""Feed the surfaces whole and damaged inputs until the time is up: ``python -m tests.fuzz.fuzz_surfaces SECONDS [SURFACE]...``.

An input that breaks a promise is made as small as it can be, and written into ``build/fuzz/``: mend what it shows, and keep it in
``tests/fuzz/corpus/SURFACE/``, where `make test` replays it.
"""

import hashlib
import logging
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.gateway import GATEWAY_SURFACE
from tests.fuzz.hooks import HOOKS_SURFACE
from tests.fuzz.mcp import MCP_SURFACE
from tests.fuzz.store import STORE_SURFACE
from tests.fuzz.surface import Surface, bounded, inputs
from tests.fuzz.wires import WIRES_SURFACE

__all__ = ["FOUND", "SURFACES", "feed", "main"]

FOUND = Path(__file__).parents[2] / "build" / "fuzz"
SURFACES = {
    surface.name: surface for surface in (WIRES_SURFACE, GATEWAY_SURFACE, HOOKS_SURFACE, MCP_SURFACE, STORE_SURFACE)
}
_EXAMPLES = 200


def feed(surface: Surface, seconds: float, found: Path = FOUND) -> tuple[int, float]:
    """Feed one surface; give how many inputs it took, and the most seconds of the processor that one took.

    Raises:
        Exception: What broke a promise; its seed is printed, and its input is written into the folder `found`.
    """
    taken, slowest_s, last = 0, 0.0, b""
    end, number = time.monotonic() + seconds, time.time_ns() % 1_000_000_000
    with surface.opened() as take:
        while time.monotonic() < end:
            number += 1

            @seed(number)
            @settings(
                max_examples=_EXAMPLES,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
            )
            @given(inputs(surface))
            def check(data: bytes) -> None:
                nonlocal taken, slowest_s, last
                if time.monotonic() > end:
                    return
                last = data
                slowest_s = max(slowest_s, bounded(take, data))
                taken += 1

            try:
                check()
            except BaseException:
                found.mkdir(parents=True, exist_ok=True)
                path = found / f"{surface.name}-{hashlib.sha256(last).hexdigest()[:12]}"
                path.write_bytes(last)
                print(f"{surface.name}: fails with seed {number}, on the input {path}")
                raise
    return taken, slowest_s


def main(arguments: Iterable[str]) -> int:
    """Feed all surfaces, or those named, for so many seconds each; print a line for each."""
    seconds, *names = arguments
    for name in names or list(SURFACES):
        taken, slowest_s = feed(SURFACES[name], float(seconds))
        print(f"{name}: {taken:,} inputs in {float(seconds):g} s, the slowest {slowest_s:.2f} s", flush=True)
        if not taken:
            print(f"{name}: not one input was taken: give more seconds")
            return 1
    return 0


if __name__ == "__main__":
    logging.disable()  # what a session logs is another test's subject
    sys.exit(main(sys.argv[1:]))
