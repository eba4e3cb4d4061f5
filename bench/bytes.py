"""The bytes on disk for each token that was seen: ``python -m bench.bytes FOLDER...``.

The recorded sessions of the folders go into one home two times: by the hooks, which record everything, and through the
gateway's code at a budget of 40,000 tokens, every turn. Nothing is swept.
"""

import hashlib
import json
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from undrift import Settings
from undrift.bench.sessions import Case, files_below
from undrift.core.text.tokens import token_count
from undrift.errors import UndriftError
from undrift.hooks.call import HookCall
from undrift.hooks.work import record
from undrift.proxy import GatewayConfig
from undrift.proxy.ask import Ask, Bypass
from undrift.proxy.sessions import OpenSessions
from undrift.recordings.files import open_recording
from undrift.transcripts import Recording

__all__ = ["BUDGET_TOKENS", "MOST", "Disk", "by_gateway", "by_hooks", "main", "seen_tokens", "sessions_below", "weigh"]

BUDGET_TOKENS = 40_000
MOST = 2.0
"""Bytes a token: the bar."""
_CLIENTS = {"claude-code": "claude"}
_SIZES = range(250_000, 2_500_000)
"""Bytes of a recording: shorter ones lose nothing at the budget, longer ones would decide the result alone."""
_PARTS = {
    "originals": "rows of originals",
    "segments": "texts and metadata",
    "decisions": "decisions",
    "operations": "operations",
    "readings": "readings",
    "marks": "marks",
}
_TABLES = """SELECT s.name, coalesce(m.tbl_name, s.name), coalesce(m.type, 'table'), sum(s.pgsize)
    FROM dbstat s LEFT JOIN sqlite_schema m ON m.name = s.name GROUP BY s.name"""
_PAGE, _FREE = "PRAGMA page_size", "PRAGMA freelist_count"
_PLAIN = "SELECT coalesce(sum(length(content) + coalesce(length(CAST(metadata AS BLOB)), 0)), 0) FROM originals"


@dataclass(slots=True)
class Disk:
    """The bytes of one home, by part, and the tokens that were seen. An empty table takes one page."""

    tokens: int
    parts: Counter[str] = field(default_factory=Counter)

    @property
    def by_token(self) -> float:
        """All bytes for each token."""
        return self.parts.total() / self.tokens

    def lines(self) -> Iterator[str]:
        """Yield each part with its bytes, and bytes for each token."""
        for name, size in self.parts.most_common():
            yield f"  {name:<24}{size:>12,}{size / self.tokens:>8.3f}"
        yield f"  {'all':<24}{self.parts.total():>12,}{self.by_token:>8.3f}"


def sessions_below(folders: Iterable[str]) -> dict[Path, Recording]:
    """Return the recordings of a client with hooks, each content once."""
    found: dict[bytes, tuple[Path, Recording]] = {}
    for path in (path for folder in folders for path in files_below(Path(folder))):
        if path.suffix == ".jsonl" and path.stat().st_size in _SIZES:
            with suppress(UndriftError):
                recording = open_recording(path)
                if recording.format in _CLIENTS:
                    found.setdefault(hashlib.sha256(path.read_bytes()).digest(), (path, recording))
    return dict(found.values())


def seen_tokens(recordings: Iterable[Recording]) -> int:
    """Count the tokens of all entries."""
    return sum(token_count(entry.content) for one in recordings for entry in one.entries)


def by_hooks(sessions: Mapping[Path, Recording], home: Path, scratch: Path) -> None:
    """Record every session as PreCompact does."""
    projects = scratch / "projects"
    for path, recording in sessions.items():
        copy = projects / "-repo" / f"{_name(path)}.jsonl"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        call = HookCall(_CLIENTS[recording.format], _name(path), "compact", str(copy), str(scratch), projects, home)
        with call.open() as transcript:
            record(call, transcript)


def by_gateway(sessions: Mapping[Path, Recording], home: Path) -> None:
    """Send every turn of each session through the code of the gateway."""
    settings = Settings(home=str(home), budget_tokens=BUDGET_TOKENS, embedder="none")
    opened = OpenSessions(GatewayConfig(settings=settings))
    try:
        for path, recording in sessions.items():
            history = Case(path.name, recording).history
            system = [{"type": "text", "text": entry.content} for entry in history.system]
            model = recording.model or "claude-sonnet-4-5"
            for number in history.turns:
                body = {"model": model, "max_tokens": 9, "system": system, "messages": history.messages[:number]}
                ask = Ask("anthropic", json.dumps(body).encode(), None, _name(path), "", time.monotonic() + 600)
                with suppress(Bypass):
                    opened.prepare(ask)
    finally:
        opened.close()


def weigh(home: Path, tokens: int) -> Disk:
    """Add up the files of a home."""
    found = Disk(tokens)
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        if path.name == "undrift.db":
            connection = apsw.Connection(str(path))
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            found.parts.update(_pages(connection))
            connection.close()
        elif not path.name.startswith("undrift.db-"):
            found.parts["other files"] += path.stat().st_size
    return found


def main(folders: list[str]) -> int:
    """Measure both ways; 1 if one is over the bar. Without recordings, nothing was measured, and that is said."""
    sessions = sessions_below(folders)
    if not sessions:
        print("skipped: no recorded sessions; name their folder")
        return 0
    tokens = seen_tokens(sessions.values())
    print(
        f"{len(sessions)} sessions, {tokens:,} tokens seen, {sum(p.stat().st_size for p in sessions):,} bytes recorded"
    )
    is_over = False
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        by_hooks(sessions, scratch / "hooks", scratch)
        by_gateway(sessions, scratch / "gateway")
        for way in ("hooks", "gateway"):
            disk = weigh(scratch / way, tokens)
            is_over |= disk.by_token > MOST
            print(f"by the {way}: bytes, bytes for each token (at most {MOST:g})", *disk.lines(), sep="\n")
    return int(is_over)


def _pages(connection: apsw.Connection) -> Counter[str]:
    parts: Counter[str] = Counter()
    (page_bytes,), (free_pages,), (plain_bytes,) = (_row(connection, sql) for sql in (_PAGE, _FREE, _PLAIN))
    tables: list[Any] = connection.execute(_TABLES).fetchall()
    for name, table, kind, size in tables:
        if name.startswith(("search", "memory_words")):
            parts["search"] += size
        elif size <= page_bytes and name not in _PARTS:
            parts["tables of one page"] += size
        elif kind == "index":
            parts[f"indexes of {table}"] += size
        else:
            parts[_PARTS.get(table, table)] += size
    parts[_PARTS["segments"]] += plain_bytes
    parts[_PARTS["originals"]] -= plain_bytes
    parts["free pages"] = free_pages * page_bytes
    return parts


def _row(connection: apsw.Connection, sql: str) -> Any:
    return connection.execute(sql).fetchall()[0]


def _name(path: Path) -> str:
    """Return an id as long as a client's own."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, path.name))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
