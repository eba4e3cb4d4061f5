"""A wall clock that a test moves, for this process and for every program that is started with its environment."""

import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["MovedClock"]

_SOURCE = Path(__file__).with_suffix(".c")
_SECONDS = struct.Struct("<q")


class MovedClock:
    """The machine's clock and so many seconds, which stand in a file that programs map.

    `folder`: for the file and for the library that is compiled. `start_s`: the time now, in Unix seconds. Timers of a
    program run by another clock, which is not moved.
    """

    def __init__(self, folder: Path, start_s: int) -> None:
        self._file, self._library = folder / "moved", folder / "moved_clock.so"
        self.seconds = start_s - int(time.time())
        self._file.write_bytes(_SECONDS.pack(self.seconds))
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(_SOURCE)]
        subprocess.run(command, check=True)

    @staticmethod
    def is_possible() -> bool:
        """Tell whether programs here can be given another clock."""
        return sys.platform == "linux" and shutil.which("cc") is not None

    def __call__(self) -> int:
        """Return Unix milliseconds."""
        return time.time_ns() // 1_000_000 + self.seconds * 1_000

    def wait(self, minutes: float) -> None:
        """Move the clock of all programs forward."""
        self.seconds += int(minutes * 60)
        with self._file.open("r+b") as file:
            file.write(_SECONDS.pack(self.seconds))

    def environment(self) -> dict[str, str]:
        """Return the variables of a program that shall have this clock."""
        return {"LD_PRELOAD": str(self._library), "MOVED_CLOCK": str(self._file)}
