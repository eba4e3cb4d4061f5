"""The store of a home, its files, its replays and its backups.

Law: changes nothing, but notes beside a store how far it was checked.
"""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from undrift.core.home_age import swept_by
from undrift.core.memory.stale import LEAST_PRECISION, precision
from undrift.doctor.finding import Finding, note, ok, wrong
from undrift.doctor.server import server
from undrift.stores.holders import named
from undrift.stores.look import Look, look, modes
from undrift.stores.served import server_of
from undrift.values.clock import day_of, now_ms
from undrift.values.retention import Retention
from undrift.values.shown import many

__all__ = ["store"]

_MOST_LOG_BYTES = 128 << 20
"""A log this large was not written into the file for long: a checkpoint comes at 4 MB, and a log is cut to 64."""
_MOST_SHOWN = 20
_DAY_S = 86_400
_LARGE_BYTES = 5 * 10**9
_SWEPT_DAYS = 365


def store(home: Path, window: int, *, full: bool = True) -> Iterator[Finding]:
    """Yield what is found about the store of a home.

    Args:
        window: The number of rated searches that count.
        full: False: records that an earlier check without findings has read are not read again, for some days.
    """
    here = str(home)
    if server_of(home) is not None:
        yield from server(home)
        yield from _replays(home)
        return
    seen = look(home, rated=window, full=full, noted_at_ms=now_ms())
    yield from _modes(home)
    if not seen.is_there:
        if home.is_dir():
            yield note("store", "there is no store: nothing was recorded here yet", home=here)
        yield from _replays(home)
        return
    if seen.refused:
        yield wrong("store", seen.refused, _rescue(seen), home=here)
        yield from _backups(home)
        return
    if seen.lost:
        remedy = (
            f"put a backup in its place with `undrift store restore FILE --home {shlex.quote(here)}`; if there is none, "
            f"delete {home / 'undrift.lost'} once you know of it"
        )
        yield wrong("missing", seen.lost, remedy, home=here)
    yield from _contents(seen, here)
    yield from _log(seen, here)
    yield from _sweep(seen, here)
    yield from _searches(seen, here, window)
    yield from _replays(home)
    yield from _backups(home)


def _contents(seen: Look, here: str) -> Iterator[Finding]:
    if seen.version == 0:
        yield note("store", f"{seen.path} is empty: its creation was cut short, and the next use ends it", home=here)
        return
    if seen.version is not None and seen.version < seen.newest:
        text = (
            f"{seen.path} has version {seen.version}; the next use takes it to {seen.newest}, after a backup beside it"
        )
        yield note("version", text, home=here)
    else:
        yield ok("version", f"the store has version {seen.version}, the newest", home=here)
    if seen.damaged:
        count = len(seen.damaged)
        text = f"{count} {'record or place is' if count == 1 else 'records or places are'} damaged"
        more = (f"and {count - _MOST_SHOWN} more",) if count > _MOST_SHOWN else ()
        yield wrong("integrity", text, _rescue(seen), home=here, details=(*seen.damaged[:_MOST_SHOWN], *more))
    else:
        *counts, last = (
            f"{number:,} {one}{'' if number == 1 else 's'}"
            for number, one in (
                (seen.sessions, "session"),
                (seen.operations, "operation"),
                (seen.originals, "original"),
                (seen.decisions, "decision"),
            )
        )
        yield ok("integrity", f"{', '.join(counts)} and {last} match their SHA-256{_how_far(seen)}", home=here)
    if seen.index:
        remedy = (
            "nothing is lost. It is rebuilt at the next write that meets it, or by "
            f"`undrift store rebuild --home {shlex.quote(here)}`"
        )
        yield wrong("search index", seen.index[0], remedy, home=here, details=seen.index[1:])
    elif not seen.damaged:
        yield ok("search index", "it is there" if seen.before.records else "it has every original", home=here)


def _how_far(seen: Look) -> str:
    """Say which records were read now, and which by an earlier check."""
    if not seen.before.records:
        return f": {many(seen.read, 'record')} checked today"
    last, full = (day_of(at_ms) for at_ms in (seen.before.last_ms, seen.before.full_ms))
    return (
        f": {many(seen.read, 'record')} checked today, {seen.before.records:,} up to {last} "
        f"(all on {full}; again: `undrift doctor --full`)"
    )


def _searches(seen: Look, here: str, window: int) -> Iterator[Finding]:
    """Say how useful the searches of memories were, if they were rated."""
    found = precision(seen.rated, window)
    if found.value is None:
        return
    text = f"of what the last {found.samples} rated searches returned, {found.value:.0%} was of use"
    if found.alert:
        remedy = (
            f"settle what `undrift memory conflicts --home {shlex.quote(here)}` lists, and let `Session.prune_memories` say which "
            "memories are stale"
        )
        yield wrong("searches", f"{text}, of at least {LEAST_PRECISION:.0%}", remedy, home=here)
    else:
        yield ok("searches", text, home=here)


def _log(seen: Look, here: str) -> Iterator[Finding]:
    size = f"{seen.size_bytes / (1 << 20):,.1f} MiB, its log {seen.log_bytes / (1 << 20):,.1f} MiB"
    users = f"; open in {named(seen.users)}" if seen.users else ""
    if seen.log_bytes > _MOST_LOG_BYTES:
        remedy = "end the process that reads without an end" + (f" (one of {named(seen.users)})" if seen.users else "")
        yield wrong("size", f"the file has {size}: it is not written into the file any more", remedy, home=here)
    else:
        yield ok("size", f"the file has {size}{users}", home=here)


def _sweep(seen: Look, here: str) -> Iterator[Finding]:
    """Say of a large store what a sweep would free."""
    if seen.size_bytes < _LARGE_BYTES:
        return
    chosen = swept_by(Retention(_SWEPT_DAYS), seen.sweepable, now_ms=now_ms())
    frees = sum(one.size_bytes for one in chosen) / 1e9
    text = (
        f"the store is large: {seen.size_bytes / 1e9:,.1f} GB. A sweep of {many(len(chosen), 'session')} not used "
        f"for {_SWEPT_DAYS} days would free {frees:,.1f} GB: undrift store sweep --older-than {_SWEPT_DAYS}d"
    )
    yield note("sweep", text, home=here)


def _modes(home: Path) -> Iterator[Finding]:
    open_ones = list(modes(home)) if home.is_dir() else []
    if open_ones:
        text = f"{len(open_ones)} can be read or written by others than you"
        remedy = " && ".join(
            f"chmod {'700' if path.is_dir() else '600'} {shlex.quote(str(path))}" for path, _ in open_ones[:_MOST_SHOWN]
        )
        details = tuple(f"{path}: {mode:04o}" for path, mode in open_ones[:_MOST_SHOWN])
        yield wrong("permissions", text, remedy, home=str(home), details=details)
    elif home.is_dir():
        yield ok("permissions", "folder and files are for their owner alone", home=str(home))


def _replays(home: Path) -> Iterator[Finding]:
    folder = home / "replays"
    if not folder.is_dir() or folder.is_symlink():
        return
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    size = sum(path.stat().st_size for path in files)
    count = sum(path.name == "undrift.db" for path in files)
    text = f"{count:,} {'replay' if count == 1 else 'replays'}, {size / (1 << 20):,.1f} MiB; `undrift replay` can make all of it again, so {folder} may be deleted"
    yield ok("replays", text, home=str(home))


def _backups(home: Path) -> Iterator[Finding]:
    """Name what stands beside a store: what a restore has replaced, what a migration began with, what was cut short."""
    kept = sorted(path for path in home.glob("undrift.db.*") if not path.name.endswith(".restoring"))
    left = sorted(path for path in home.glob(".undrift.db.*") if time.time() - path.stat().st_mtime > _DAY_S)
    left += sorted(home.glob("undrift.db.restoring"))
    if kept:
        text = f"{len(kept)} earlier {'store is' if len(kept) == 1 else 'stores are'} kept beside this one"
        yield note("backups", text, home=str(home), details=tuple(path.name for path in kept))
    if left:
        text = f"{len(left)} copies were cut short; remove what no running command is writing"
        yield note("left over", text, home=str(home), details=tuple(path.name for path in left))


def _rescue(seen: Look) -> str:
    return (
        f"what is whole can still be read. Keep a copy of {seen.path} and of the -wal beside it; `undrift store restore "
        f"FILE --home {seen.path.parent}` puts a backup in its place and keeps the damaged file, or choose another --home"
    )
