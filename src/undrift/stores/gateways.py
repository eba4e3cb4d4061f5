"""The gateways of a home: one small file for each, readable by any program.

Law: a file describes a gateway at its start, and proves nothing; only the gateway itself can say that it still runs.
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
    """The address and process of a running gateway.

    `started_at_ms`: Unix milliseconds. `upstreams`: provider to the address that gets its requests.
    """

    url: str
    port: int
    pid: int
    started_at_ms: int
    upstreams: Mapping[str, str]


def announce(home: Path, presence: Presence) -> None:
    """Write the file of a running gateway; it replaces the file of an earlier one at this address.

    Raises OSError: it cannot be written.
    """
    files.make_folder(home)
    path = _path(home, presence.port)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(asdict(presence), file)


def withdraw(home: Path, port: int) -> None:
    """Delete the file of a gateway; ignore a file that is absent or cannot be deleted."""
    with suppress(OSError):
        _path(home, port).unlink()


def known(home: Path) -> tuple[Presence, ...]:
    """Return the gateways that a home's files name, by port; other files are skipped."""
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
