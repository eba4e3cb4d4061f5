"""Feed every reader broken files until the time is up: ``python -m tests.fuzz.fuzz_readers SECONDS [FORMAT]...``.

Each round has a new seed, which is printed where a reader fails, with the smallest file that it fails on.
"""

import sys
import time

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.damage import broken, is_whole, survives
from tests.fuzz.sessions import whole
from undrift import transcripts

EXAMPLES = 300


def feed(name: str, seconds: float) -> tuple[int, float]:
    """Feed one reader; give how many files it has read, and the most seconds of the processor that one took."""
    files, slowest_s = 0, 0.0
    end = time.monotonic() + seconds
    number = time.time_ns() % 1_000_000_000
    while time.monotonic() < end:
        number += 1

        @seed(number)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(whole(name), broken(name))
        def check(sound: list[str], damaged: list[str]) -> None:
            nonlocal files, slowest_s
            if time.monotonic() > end:
                return
            is_whole(name, sound)
            started = time.process_time()
            survives(name, damaged)
            files, slowest_s = files + 1, max(slowest_s, time.process_time() - started)

        try:
            check()
        except BaseException:
            print(f"{name}: fails with seed {number}")
            raise
    return files, slowest_s


def main(arguments: list[str]) -> int:
    """Feed all readers, or those named, for so many seconds each; print a line for each."""
    seconds, names = float(arguments[0]), arguments[1:] or list(transcripts.FORMATS)
    for name in names:
        files, slowest_s = feed(name, seconds)
        print(f"{name}: {files} broken files in {seconds:g} s, the slowest {slowest_s:.2f} s", flush=True)
        if not files:
            print(f"{name}: not one file was read: give more seconds")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
