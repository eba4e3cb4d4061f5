"""Measures what a purge costs others who write beside it: ``python -m bench.purge [MEGABYTES] [HOME] [--writers 12]``.

A home is filled with sessions up to a size, and one reference of it is purged. Meanwhile another process asks every few
milliseconds whether it could write, as a gateway does. The longest time in which it could not is how long a lock was held.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import apsw

from undrift import Session, Settings
from undrift.core.text.refs import ref_of
from undrift.errors import UndriftError
from undrift.stores.base import Context
from undrift.stores.segments import SegmentReader
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original

__all__ = ["CANARY", "all_at_once", "fill", "holders", "main", "purged"]

CANARY = "zqx9canary7qxz"
_IN_SESSION = 200
_IN_COMMIT = 100
_BESIDE = """
import sys, time
from pathlib import Path
import apsw
home, stop = Path(sys.argv[1]), Path(sys.argv[2])
connection = apsw.Connection(str(home / "undrift.db"))
connection.set_busy_timeout(0)
written = refused = longest = 0
began = None
print("ready", flush=True)
while not stop.exists():
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE memory_settled SET seq = seq; COMMIT")
        began, written = None, written + 1
    except apsw.BusyError:
        now = time.monotonic()
        began = began or now
        longest, refused = max(longest, now - began), refused + 1
    time.sleep(0.002)
print(longest, written, refused)
"""
_WRITER = """
import sys, time
from pathlib import Path
from undrift.errors import StoreError
from undrift.stores.base import Context
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
home, stop, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
written = refused = longest = 0
with SqliteStore.open(home) as store:
    print("ready", flush=True)
    while not stop.exists():
        began = time.monotonic()
        try:
            store.commit(Context(Scope(f"writer-{name}"), written), "asked", ())
            written += 1
        except StoreError:
            refused += 1
        longest = max(longest, time.monotonic() - began)
        time.sleep(0.1)
print(longest, written, refused)
"""


def fill(home: Path, megabytes: float, seed: int = 5) -> str:
    """Fill a home with sessions up to a size; return the reference of the one original that holds the canary."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz_", k=chance.randint(2, 12))) for _ in range(60_000)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    with SqliteStore.open(home) as store:
        with store._database.using() as connection:
            connection.execute("PRAGMA synchronous = OFF")  # the filling is not measured
        path, session, size = store.path, 0, 0.0
        while size < megabytes or session < 2:
            texts = [" ".join(chance.choices(words, cum_weights=weights, k=300)) for _ in range(_IN_SESSION)]
            if session == 1:
                texts[7] = f"the vault {CANARY} opens at nine, said the porter, and nobody else knows it. {texts[7]}"
            _commit(store, f"session-{session}", texts)
            session += 1
            size = path.stat().st_size / 1e6
    return ref_of("session-1", "e7")


def purged(home: Path, what: str, writers: int = 0) -> dict[str, Any]:
    """Purge a reference or ``session`` beside processes that would write; return figures, and what the purge says."""

    def act() -> dict[str, Any]:
        with Session.open("session-1", home=home, settings=Settings(embedder="none")) as session:
            done = session.purge(what)
        said = {"removed": dict(done.removed), "traces": list(done.traces), "copies": list(done.copies)}
        return said | {"unsearched": list(done.unsearched)}

    SqliteStore.open(home).close()  # an older layout is brought up to date before the clock runs
    return _measured(home, act, writers)


def holders(home: Path) -> list[str]:
    """Return the names of the files that hold the canary, also where only a segment holds it, compressed."""
    found = [path.name for path in home.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    connection = apsw.Connection(str(home / "undrift.db"))
    numbers: list[Any] = connection.execute("SELECT number FROM segments").fetchall()
    read = SegmentReader(connection)
    if any(CANARY.encode() in read.segment(number).raw for (number,) in numbers) and "undrift.db" not in found:
        found.append("undrift.db")
    connection.close()
    return found


def all_at_once(home: Path) -> dict[str, Any]:
    """Do what a purge did before it went in steps, apart from the purge: all words indexed again, the file rewritten."""

    def act() -> dict[str, Any]:
        with SqliteStore.open(home, busy_timeout_ms=60_000) as store:
            store.rebuild_search()
            with store._database.using() as connection:
                connection.execute("VACUUM")
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        return {}

    return _measured(home, act)


def main() -> None:
    """Fill a home where it is not there yet, purge one reference, print the figures, one JSON object a line."""
    parser = argparse.ArgumentParser(prog="python -m bench.purge", description=__doc__)
    parser.add_argument("megabytes", nargs="?", type=float, default=500.0)
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument(
        "--writers", type=int, default=0, help="processes that commit beside it, ten times a second each"
    )
    parser.add_argument("--session", action="store_true", help="purge the whole session of the reference")
    parser.add_argument("--before", action="store_true", help="also what a purge did before it went in steps")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = chosen.home or Path(scratch, "home")
        ref = ref_of("session-1", "e7") if (home / "undrift.db").exists() else fill(home, chosen.megabytes)
        size = {"megabytes": round((home / "undrift.db").stat().st_size / 1e6), "writers": chosen.writers}
        figures = purged(home, "session" if chosen.session else ref, chosen.writers)
        left = [path.name for path in home.rglob("*") if path.is_file() and _holds(path)]
        print(json.dumps({**size, "way": "in steps", **figures, "files_with_the_canary": left}))
        print(json.dumps({**size, "way": "no purge at all", **_measured(home, _wait, chosen.writers)}))
        if chosen.before:
            print(json.dumps({**size, "way": "all at once, as before", **all_at_once(home)}))


def _wait() -> dict[str, Any]:
    time.sleep(2.0)
    return {}


def _holds(path: Path) -> bool:
    with path.open("rb") as file:
        end = b""
        while block := file.read(8 << 20):
            if CANARY.encode() in end + block:
                return True
            end = block[-len(CANARY) :]
    return False


def _measured(home: Path, act: Callable[[], dict[str, Any]], writers: int = 0) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        stop = Path(folder, "stop")
        programs = [[_BESIDE, home, stop], *([_WRITER, home, stop, str(number)] for number in range(writers))]
        beside = [
            subprocess.Popen([sys.executable, "-c", *map(str, one)], stdout=subprocess.PIPE, text=True)
            for one in programs
        ]
        for one in beside:
            assert one.stdout is not None
            one.stdout.readline()
        began, cpu = time.monotonic(), time.process_time()
        try:
            said = act()
        except UndriftError as error:
            said = {"failed": f"{type(error).__name__}: {error}"}
        wall, used = time.monotonic() - began, time.process_time() - cpu
        stop.touch()
        (longest, written, refused), *waits = [one.communicate()[0].split() for one in beside]
    return {
        "wall_s": round(wall, 2),
        "cpu_s": round(used, 2),
        "longest_lock_s": round(float(longest), 3),
        "written_beside": int(written),
        "refused_beside": int(refused),
        "longest_wait_of_a_writer_s": round(max((float(one[0]) for one in waits), default=0.0), 3),
        "commits_of_writers": sum(int(one[1]) for one in waits),
        "refused_writers": sum(int(one[2]) for one in waits),
        **said,
    }


def _commit(store: SqliteStore, session: str, texts: list[str]) -> None:
    for start in range(0, len(texts), _IN_COMMIT):
        some = [(f"e{start + place}", text) for place, text in enumerate(texts[start : start + _IN_COMMIT])]
        originals, decisions = [], []
        for name, text in some:
            entry = ContextEntry(name, "tool_result", text, len(text) // 4, start)
            one = Original(ref_of(session, name), session, "window", entry)
            originals.append(one)
            detail = {"budget": 40_000, "target": 28_000, "protected": 9_000, "moment": "over"}
            decisions.append(Decision(name, "pruned", "over budget", 100, one.ref, detail))
        changes = [*originals, *decisions]
        store.commit(Context(Scope(session), start), "prune", changes, payload={"refs": len(some)})
        store.commit(Context(Scope(session), start), "asked")


if __name__ == "__main__":
    main()
