"""The commits that the benchmarks of a server write: heard while recorded sessions are played, and written again."""

import itertools
import os
import pickle
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from tests.postgres_server import PostgresServer
from undrift.core.text.refs import ref_of
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.values.scope import Scope
from undrift.values.window import Decision, Original

__all__ = [
    "PROCESSES",
    "Ask",
    "Change",
    "CommitOrder",
    "asking",
    "commit_often",
    "folders_below",
    "heard_commits",
    "home_at",
    "library_lines",
    "orders",
    "write",
]

PROCESSES = 4
"""At most so many write at once, each with some threads."""

Ask = Callable[..., list[tuple[Any, ...]]]
"""Sends a statement with its values, and returns the rows."""


@dataclass(frozen=True, slots=True)
class Change:
    """One commit: what is written, and of which session."""

    session: str
    kind: str
    changes: list[Any]
    payload: Mapping[str, Any] | None

    @property
    def is_prune(self) -> bool:
        """Whether something left the window."""
        return any(isinstance(one, Original) for one in self.changes)

    def of(self, session: str) -> "Change":
        """Return the same commit for another session."""
        moved = [_moved(one, session) for one in self.changes]
        return replace(self, session=session, changes=moved)


def _moved(one: Any, session: str) -> Any:
    if isinstance(one, Original):
        return Original(ref_of(session, one.entry.id), session, one.source, one.entry)
    if isinstance(one, Decision) and one.ref:
        return replace(one, ref=ref_of(session, one.entry_id))
    return one


@contextmanager
def heard_commits(kind: type[Any], found: list[Change]) -> Iterator[None]:
    """Keep each commit of the block. `kind`: of the stores that are heard."""
    before = kind.commit

    def commit(store: Any, context: Context, name: str, changes: Sequence[Any] = (), *, payload: Any = None) -> Any:
        found.append(Change(context.scope.session, name, list(changes), payload))
        return before(store, context, name, changes, payload=payload)

    kind.commit = commit
    try:
        yield
    finally:
        kind.commit = before


def write(store: Store, one: Change) -> None:
    """Commit one change."""
    store.commit(Context(Scope(one.session), time.time_ns() // 1_000_000), one.kind, one.changes, payload=one.payload)


class CommitOrder(NamedTuple):
    """The order to one process: write with so many threads, for so long, from a moment on. `path`: of the changes."""

    home: str
    path: str
    name: str
    threads: int
    seconds: float
    start: float


def orders(whole: CommitOrder) -> list[CommitOrder]:
    """Share an order out to processes."""
    count = min(whole.threads, PROCESSES)
    return [whole._replace(name=f"{whole.name}-{number}", threads=whole.threads // count) for number in range(count)]


def commit_often(order: CommitOrder) -> tuple[int, float]:
    """Commit as often as possible; return how often, and the CPU seconds of this process."""
    changes: list[Change] = pickle.loads(Path(order.path).read_bytes())
    with ExitStack() as stack:
        stores = [stack.enter_context(open_store(order.home, Scope())) for _ in range(order.threads)]
        for number, store in enumerate(stores):
            write(store, Change(f"warm-{order.name}-{number}", "note", [], None))

        def commits(number: int) -> int:
            time.sleep(max(0.0, order.start - time.time()))
            for done in itertools.count():
                if time.time() >= order.start + order.seconds:
                    return done
                copy, place = divmod(done, len(changes))
                write(stores[number], changes[place].of(f"{order.name}-{number}-{copy}-{changes[place].session}"))
            raise AssertionError("unreachable")

        began = time.process_time()
        with ThreadPoolExecutor(order.threads) as pool:
            total = sum(pool.map(commits, range(order.threads)))
        return total, time.process_time() - began


@contextmanager
def asking(server: PostgresServer) -> Iterator[Ask]:
    """Open a connection beside the engine's, and yield what asks over it."""
    with psycopg.connect(server.url(), autocommit=True) as connection:

        def ask(text: str, *values: Any) -> list[tuple[Any, ...]]:
            done = connection.execute(text, values or None)
            return done.fetchall() if done.description else []

        yield ask


def home_at(url: str, schema: str, **options: str) -> str:
    """Return the address of a home in a schema of a server. `options`: of undrift, without its name in front."""
    return f"{url}&undrift_schema={schema}" + "".join(f"&undrift_{name}={value}" for name, value in options.items())


@contextmanager
def folders_below(folder: Path) -> Iterator[None]:
    """Make the folders of homes on a server elsewhere than below the user's home."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        if before is not None:
            os.environ["HOME"] = before


def library_lines() -> list[str]:
    """Return the lines of the standard library, as texts that every machine has."""
    folder = Path(sysconfig.get_path("stdlib"))
    return [line for path in sorted(folder.glob("*.py")) for line in path.read_text(errors="replace").splitlines()]
