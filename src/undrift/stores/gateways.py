"""Which gateways run on a home: a small file each, for whoever looks after them.

Law: a file says what was so when a gateway started, and proves nothing; whether it still runs, itself has to say.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from undrift.stores import files

__all__ = ["Presence", "announce", "known", "withdraw"]

_MOST_BYTES = 16 << 10
_MOST_FILES = 100


@dataclass(frozen=True, slots=True)
class Presence:
    """A gateway as it started.

    Args:
        url: Where it listens.
        port: Of TCP.
        pid: Of its process.
        started_at_ms: Unix milliseconds.
        upstreams: Provider to the address where its requests go.
    """

    url: str
    port: int
    pid: int
    started_at_ms: int
    upstreams: Mapping[str, str]


def announce(home: Path, presence: Presence) -> None:
    """Write down that a gateway runs; one that listened there before has ended.

    Raises:
        OSError: It cannot be written.
    """
    files.make_folder(home)
    path = _path(home, presence.port)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(asdict(presence), file)


def withdraw(home: Path, port: int) -> None:
    """Take the file away again; that it is gone already, or cannot be, harms nobody."""
    with suppress(OSError):
        _path(home, port).unlink()


def known(home: Path) -> tuple[Presence, ...]:
    """Return what the files of a home say, by port; one that is none of ours is passed over."""
    found = []
    for path in sorted(home.glob("gateway-*.json"))[:_MOST_FILES]:
        with suppress(OSError, ValueError, TypeError, AttributeError, LookupError):
            files.check_regular(path)
            with path.open(encoding="ascii") as file:
                given = json.loads(file.read(_MOST_BYTES))
            upstreams = {str(name): str(url) for name, url in given.pop("upstreams").items()}
            one = Presence(upstreams=upstreams, **given)
            if all(type(value) is int for value in (one.port, one.pid, one.started_at_ms)) and isinstance(one.url, str):
                found.append(one)
    return tuple(sorted(found, key=lambda one: one.port))


def _path(home: Path, port: int) -> Path:
    return home / f"gateway-{port}.json"
