"""The memory that the open sessions of a gateway may use.

Why: a closed session reads its whole history again at its next request, which costs 10 times as much as a warm one.
A fixed number of sessions is wrong both ways: 64 are too few for a team, and 2,000 large ones are more than a machine has.
"""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["MOST_SESSIONS", "machine_bytes", "most_open_bytes"]

MOST_SESSIONS = 1_024

_TIMES_BODY = (
    22  # memory of an open session for each byte of its newest body; 16 to 22 were measured, at 84 kB to 3.9 MB
)
_SHARE = 4  # one part in so many of the machine's memory
_UNKNOWN_BYTES = 4 << 30
_GROUPS = Path("/sys/fs/cgroup")


def most_open_bytes() -> int:
    """Return the limit for the bodies of all open sessions on this machine, in bytes."""
    return machine_bytes() // _SHARE // _TIMES_BODY


def machine_bytes(groups: Path = _GROUPS) -> int:
    """Return the memory of the machine or of the container, the smaller one, in bytes.

    `groups`: the folder in which Linux names the limits of containers.
    """
    found = [limit for limit in map(_limit, _group_files(groups)) if limit]
    try:
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not on Windows
        found.append(_UNKNOWN_BYTES)
    return min(found)


def _group_files(groups: Path) -> list[Path]:
    """Return the files in which Linux may state this container's memory limit."""
    own = ""
    with suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
        own = next((line[3:] for line in lines if line.startswith("0::")), "")
    group = groups / own.strip("/")
    folders = [group, *(one for one in group.parents if one.is_relative_to(groups))]
    return [*(folder / "memory.max" for folder in folders), groups / "memory" / "memory.limit_in_bytes"]


def _limit(file: Path) -> int:
    """Return the number in a file; 0 if there is no number, or no limit."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
