"""The memory that a gateway may use.

Why: a closed session reads its whole history again at its next request, which costs 10 times as much as a warm one.
A fixed number of sessions is wrong both ways: 64 are too few for a team, and 2,000 large ones are more than a machine has.
"""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from undrift.errors import SettingsError

__all__ = ["LEAST_BYTES", "bytes_of", "default_bytes", "for_sessions", "machine_bytes"]

LEAST_BYTES = 128 << 20
"""The least memory of a gateway; without a session it uses 60 MB."""

_PROCESS_BYTES = 96 << 20  # the program, and requests under way
_FILLED = 0.7
"""The share of the rest that sessions fill. With 0.9, a run of 2,000 sessions of 87 kB took 1,122 MB of 1 GB: memory between
sessions is not returned.
"""
_SHARE = 4  # one part in so many of the machine's memory
_UNKNOWN_BYTES = 4 << 30
_GROUPS = Path("/sys/fs/cgroup")
_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([MG])(?:i?B)?", re.IGNORECASE)


def default_bytes() -> int:
    """Return the memory of a gateway on this machine without --memory, in bytes."""
    return max(LEAST_BYTES, machine_bytes() // _SHARE)


def for_sessions(memory_bytes: int) -> int:
    """Return the part of a gateway's memory that its open sessions may use, in bytes."""
    return max(0, int((memory_bytes - _PROCESS_BYTES) * _FILLED))


def bytes_of(text: str) -> int:
    """Return the bytes of a size such as 512M or 1.5G. Raises SettingsError: it is none, or too small."""
    found = _SIZE.fullmatch(text.strip())
    size = 0 if found is None else int(float(found[1]) * (1 << (30 if found[2] in "gG" else 20)))
    if size < LEAST_BYTES:
        raise SettingsError(f"{text[:40]!r} is no size of {LEAST_BYTES >> 20}M or more; type for example 512M or 2G")
    return size


def machine_bytes(groups: Path = _GROUPS) -> int:
    """Return the memory of the machine or of the container, the smaller one, in bytes.

    `groups`: the folder in which Linux names the limits of containers.
    """
    found = [limit for limit in map(_limit, _group_files(groups)) if limit]
    if sys.platform == "win32":
        return min([*found, _UNKNOWN_BYTES])
    try:
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
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
