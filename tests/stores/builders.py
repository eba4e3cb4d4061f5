"""Small values for the tests of stores, and a second way into the database file."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import apsw

from undrift.core.text.refs import ref_of
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.migrations import transaction
from undrift.stores.operations import operation_row
from undrift.stores.originals import original_row
from undrift.stores.segments import SegmentReader
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original

__all__ = [
    "Opener",
    "add",
    "commit",
    "database",
    "entry",
    "memory",
    "noise",
    "original",
    "prune",
    "python",
    "raw",
    "remember",
    "unpacked_segments",
    "written_at_first",
]

Opener = Callable[..., Store]


def entry(entry_id: str, content: str = "text", **fields: Any) -> ContextEntry:
    values: dict[str, Any] = {"type": "tool_result", "token_count": 1, "timestamp": 0} | fields
    return ContextEntry(entry_id, content=content, **values)


def original(
    entry_id: str, content: str = "text", *, session: str = "s", source: Any = "window", **fields: Any
) -> Original:
    return Original(ref_of(session, entry_id), session, source, entry(entry_id, content, **fields))


def prune(of: Original, **fields: Any) -> Decision:
    values: dict[str, Any] = {"kind": "pruned", "reason": "over budget", "tokens_saved": 1, "ref": of.ref} | fields
    return Decision(of.entry.id, **values)


def noise(characters: int) -> str:
    """Return a text that cannot be compressed to less than half."""
    return Random(characters).randbytes(characters // 2).hex()


def commit(
    store: Any, session: str, kind: str, *, at_ms: int, payload: Any = None, based_on: int | None = None, **changes: Any
) -> int:
    """Commit changes that are given by the names of their kinds."""
    given = [one for some in changes.values() for one in some]
    done: int = store.commit(Context(Scope(session), at_ms, based_on), kind, given, payload=payload)
    return done


def add(store: Store, *originals: Original, prune_them: bool = False) -> int:
    """Commit originals of one session, with a decision about each if they are to leave."""
    decisions = [prune(one) for one in originals] if prune_them else []
    return commit(store, originals[0].session_id, "add", at_ms=1, originals=originals, decisions=decisions)


def memory(name: str, content: str = "words", **fields: Any) -> MemoryEntry:
    return MemoryEntry(name, content, **fields)


def remember(store: Any, *new: MemoryEntry, session: str = "s") -> int:
    """Commit new memories; they are not made searchable."""
    return commit(store, session, "remember", at_ms=1, memories=[MemoryUpdate(None, one) for one in new])


def database(home: Path) -> Path:
    return home / "undrift.db"


def raw(home: Path) -> apsw.Connection:
    """Open the file behind the store's back; to be closed by the caller."""
    return apsw.Connection(str(database(home)), flags=apsw.SQLITE_OPEN_READWRITE)


def unpacked_segments(home: Path) -> list[bytes]:
    """Return what the segments of a store hold, decompressed."""
    connection = raw(home)
    numbers: list[Any] = connection.execute("SELECT number FROM segments").fetchall()
    found = [SegmentReader(connection).segment(number).raw for (number,) in numbers]
    connection.close()
    return found


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start another process that runs this code."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def written_at_first(connection: apsw.Connection, kept: Original) -> None:
    """Write an original as the first version did, and close the file."""
    with transaction(connection):
        connection.execute(
            "INSERT INTO operations(session_id, kind, at_ms, record_sha256, payload) VALUES(?, ?, ?, ?, ?)",
            operation_row("s", "add", 1, None),
        )
        connection.execute(
            """INSERT INTO originals(ref, session_id, source, entry_id, type, token_count, timestamp, entry_seq, sha256,
            record_sha256, metadata, masked, content, from_seq) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)""",
            original_row(kept),
        )
    connection.close()
