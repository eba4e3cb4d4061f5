"""The last sync as a machine knows it: the file ``sync.json``, and the name of the machine.

Law: it may be lost. Then all is compared again; only a memory that was purged elsewhere meanwhile comes back.
"""

import json
import re
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift.stores.files import replace_file
from undrift.stores.moving.values import SessionHead

__all__ = ["SyncState", "machine_of", "server_noted"]

_NAME = "sync.json"
_MOST_BYTES = 64 << 20
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


@dataclass
class SyncState:
    """The last sync of one project.

    Args:
        sessions: For each session the newest operation here and there, and the epochs of both homes.
        memories: Ids of the memories that both had.
        at_ms: When it ended; 0: never.
        server: The organisation, person and project on the server, by their numbers; empty: none was noted.
    """

    sessions: dict[str, list[int]] = field(default_factory=dict)
    memories: list[str] = field(default_factory=list)
    at_ms: int = 0
    server: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> "SyncState":
        """Read the state of a folder's records; an empty one if there is none that can be read."""
        found = _read(folder)
        try:
            sessions = {str(name): [int(one) for one in known] for name, known in found["sessions"].items()}
            server = [int(one) for one in found.get("with", ())]
            return cls(sessions, [str(one) for one in found["memories"]], int(found["at_ms"]), server)
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls()

    def write(self, folder: Path) -> None:
        """Write the state. Raises OSError."""
        _write(folder, {"sessions": self.sessions, "memories": self.memories, "at_ms": self.at_ms, "with": self.server})

    def is_same(self, here: SessionHead, there: SessionHead | None) -> bool:
        """Tell whether a session is in both homes as it was at the last sync."""
        now = None if there is None else [here.last_seq, there.last_seq, here.epoch, there.epoch]
        return now is not None and self.sessions.get(here.name) == now

    def waiting(self, heads: Sequence[SessionHead]) -> list[str]:
        """Return the sessions that have operations which the last sync did not know."""
        return [one.name for one in heads if self.sessions.get(one.name, [0])[0] != one.last_seq]


def machine_of(home: Path) -> str:
    """Return the name of this machine in a home, which it gets once. Raises OSError."""
    found = _read(home).get("machine")
    if isinstance(found, str) and found:
        return found
    host = _NOT_PLAIN.sub("-", socket.gethostname().split(".")[0].casefold())[:24].strip("-")
    machine = f"{host or 'machine'}-{secrets.token_hex(2)}"
    _write(home, {"machine": machine})
    return machine


def server_noted(home: Path, address: str | None = None) -> str | None:
    """Return the address with which a home is synced, after noting a new one. None means: none was named yet."""
    if address is not None:
        _write(home, {"server": address})
        return address
    found = _read(home).get("server")
    return found if isinstance(found, str) and found else None


def _read(folder: Path) -> dict[str, Any]:
    path = folder / _NAME
    try:
        if path.is_symlink() or path.stat().st_size > _MOST_BYTES:
            return {}
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(folder: Path, values: Mapping[str, Any]) -> None:
    replace_file(folder / _NAME, json.dumps({**_read(folder), **values}).encode("ascii"))
