"""The memory of a gateway: how much it may use, and how much an open session uses.

Why: a closed session reads its whole history again at its next request, which costs 10 times as much as a warm one.
A fixed number of sessions is wrong both ways: 64 are too few for a team, and 2,000 large ones are more than a machine has.
"""

import os
import re
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from undrift.errors import SettingsError

__all__ = ["Footprint", "LEAST_BYTES", "bytes_of", "default_bytes", "for_sessions", "machine_bytes"]

LEAST_BYTES = 128 << 20
"""The least memory of a gateway; without a session it uses 60 MB."""

# An open session's memory. The process used 0.7 to 1.2 of this estimate, for histories of 2 to 2,000 messages and 1 kB to
# 4 MB; `python -m bench.gateway memory` checks the sum.
_SESSION_BYTES = 24 << 10
_BYTES_PER_ITEM = 3 << 10
_TIMES_BODY = 3.2
_TIMES_BODY_WITHOUT_ID = 1.5  # more, if the session is known by its history alone

_PROCESS_BYTES = 96 << 20  # the program, and requests under way
_FILLED = 0.7
"""The share of the rest that sessions fill. With 0.9, a run of 2,000 sessions of 87 kB took 1,122 MB of 1 GB: memory between
sessions is not returned.
"""
_SHARE = 4  # one part in so many of the machine's memory
_UNKNOWN_BYTES = 4 << 30
_GROUPS = Path("/sys/fs/cgroup")
_CONVERSATIONS = 8  # that a session keeps in memory, see `undrift.session.prepare`
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


class Footprint:
    """The memory of one open session, estimated from the newest body of each of its histories."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[int, int] = OrderedDict()
        self.bytes = _SESSION_BYTES
        self.largest_body = 0
        """The bytes of the largest body so far."""

    def add(self, beginning: bytes, body_bytes: int, item_count: int, *, has_id: bool) -> int:
        """Note a request, whose history begins so; return by how many bytes the session grew."""
        before, key = self.bytes, hash(beginning)
        self.largest_body = max(self.largest_body, body_bytes)
        times = _TIMES_BODY if has_id else _TIMES_BODY + _TIMES_BODY_WITHOUT_ID
        self._sizes[key] = int(times * body_bytes) + _BYTES_PER_ITEM * item_count
        self._sizes.move_to_end(key)
        while len(self._sizes) > _CONVERSATIONS:
            self._sizes.popitem(last=False)
        self.bytes = _SESSION_BYTES + sum(self._sizes.values())
        return self.bytes - before


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
