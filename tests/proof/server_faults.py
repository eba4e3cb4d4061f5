"""`make server-faults`: a server's backends ended at each statement, the server killed, and a relay that cuts and stalls.

An acknowledged operation is there once and wholly; a refused one is there once and wholly, or not at all. With ``--control`` a
commit whose answer was lost is taken for one that was not written, as without the commit's token: that must be noticed.
"""

import argparse
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg

from tests.postgres_server import PostgresServer
from tests.proof.server_check import Began, History, ended, history, problems, shown, started, told
from tests.proof.server_contention import address
from tests.proof.server_relay import Act, Relay
from tests.proof.server_workload import KINDS, Order, perform, weaken
from undrift.errors import StoreError
from undrift.stores.base import Context
from undrift.stores.postgres import opening
from undrift.stores.postgres.connection import DatabaseServer, UnknownOutcome
from undrift.stores.postgres.opening import PostgresEngine
from undrift.values.scope import Scope

__all__ = ["crashed", "forget_openings", "main", "relayed", "terminated"]

_END = """SELECT set_config('role', 'none', true), pg_terminate_backend(pg_backend_pid()), pg_sleep(5)"""
_HOUR_MS = 3_600_000
_UNLIKELY = 0.03


class Ending:
    """Ends the backend at one statement of all that a process sends; one place more is behind the commit's answer.

    `at`: the number of the statement, from 0. `passed`: the statements so far.
    """

    def __init__(self, at: int) -> None:
        self.at = at
        self.passed = 0
        self.has_happened = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Put it between the engine and its connections."""
        before = DatabaseServer._run

        def run(server: DatabaseServer, caller: Any, statements: Sequence[Any], **more: Any) -> Any:
            place = self.at - self.passed
            self.passed += len(statements) + 2
            if not 0 <= place <= len(statements) + 1:
                return before(server, caller, statements, **more)
            self.has_happened = True
            if place <= len(statements):
                return before(server, caller, [*statements[:place], (_END, ()), *statements[place:]], **more)
            before(server, caller, statements, **more)
            raise UnknownOutcome("the answer was lost")

        patched: Any = DatabaseServer
        patched._run = run
        try:
            yield
        finally:
            DatabaseServer._run = before  # type: ignore[method-assign]


def terminated(url: str, *, stride: int = 1, first: int = 0) -> tuple[int, History, list[str]]:
    """End the backend at every statement of a workload; return their number, the history, and the problems.

    `stride`: only at each so many statements.
    """
    all_told, wrong, at, places = History(), [], first, 0
    while True:
        ending = Ending(at)
        with PostgresEngine.open(url) as store, ending.watching():
            for number, kind in enumerate(dict.fromkeys(KINDS)):
                _tell(all_told, Began(f"at{at}-{number}", kind, f"ended-{at}"), store)
            wrong += _rewound(store, f"ended-{at}-back")
        if not ending.has_happened:
            return places, all_told, [*wrong, *problems(url, [all_told])]
        places += 1
        at += stride


def _tell(said: History, one: Began, store: Any) -> None:
    said.began[one.id] = one
    try:
        said.acknowledged[one.id] = perform(store, one.id, one.kind, one.session, 1)
    except StoreError as error:
        said.refused[one.id] = f"{type(error).__name__}: {error}"


def _rewound(store: Any, session: str) -> list[str]:
    """Rewind a memory away; it is active exactly if the rewind is not in the log."""
    id_ = f"{session}-memory"
    for seq, kind in ((1, "notes"), (2, "memory")):
        try:
            perform(store, id_ if seq == 2 else f"{session}-1", kind, session, seq)
        except StoreError:
            return []  # the fault was here: the other session has the same operations
    is_told = True
    try:
        store.rewind(Context(Scope(session), 3), 1, "rewind", payload={"to": 1})
    except StoreError:
        is_told = False
    kinds = [one.kind for one in store.operations(session)]
    is_there, is_active = "rewind" in kinds, id_ in store.memories.by_id([id_])
    if kinds.count("rewind") > 1:
        return [f"twice: the rewind of {session}"]
    if is_told and not is_there:
        return [f"lost: the rewind of {session}"]
    return [f"torn: the rewind of {session}"] if is_there is is_active else []


def crashed(
    server: PostgresServer, cycles: int, *, processes: int = 3, seed: int = 1, count: int = 10_000
) -> tuple[int, list[History], list[str]]:
    """Kill the whole server while processes write, and start it again; return how often, and what came of it."""
    random = Random(seed)
    running = [started(_order(address(server, "127.0.0.1"), number, count)) for number in range(processes)]
    lines: list[list[str]] = [[] for _ in running]
    readers = [threading.Thread(target=_collect, args=pair) for pair in zip(running, lines, strict=True)]
    for one in readers:
        one.start()
    try:
        _wait_for(lambda: all(lines))
        for _ in range(cycles):
            time.sleep(random.uniform(0.2, 1.2))
            server.kill()
            _begin(server)
        time.sleep(1)
    finally:
        for process, one in zip(running, readers, strict=True):
            process.kill()
            one.join()
        ended(running)
    found = [history(one) for one in lines]
    return cycles, found, problems(address(server, "127.0.0.1"), found)


def _begin(server: PostgresServer) -> None:
    """Start a server that was killed; its last processes may still hold its memory for a moment."""
    for attempt in range(20):
        try:
            server.begin()
        except RuntimeError:
            if attempt == 19:
                raise
            time.sleep(0.1)
        else:
            return


def relayed(
    server: PostgresServer, count: int, *, processes: int = 3, seed: int = 1, weaker: str = "", share: float = _UNLIKELY
) -> tuple[list[Act], list[History], list[str]]:
    """Let processes write through a relay that cuts, loses, stalls and delivers late; return what it did, and what came of it."""
    random, lock = Random(seed), threading.Lock()

    def plan(is_answer: bool, _: bytes) -> Act:
        with lock:
            if random.random() >= share:
                return Act.PASS
            return random.choice(
                [Act.CUT, Act.LOSE, Act.LOSE, Act.STALL] if is_answer else [Act.CUT, Act.LOSE, Act.LATE, Act.STALL]
            )

    PostgresEngine.open(address(server, "127.0.0.1")).close()  # makes the tables
    with Relay(server.folder / f".s.PGSQL.{server.port}", plan=plan) as relay:
        url = address(server, "127.0.0.1", relay.port)
        running = [started(_order(url, number, count, weaker)) for number in range(processes)]
        found = told(running)
        did = list(relay.did)
    return did, found, problems(address(server, "127.0.0.1"), found)


def _order(url: str, number: int, count: int, weaker: str = "") -> Order:
    return Order(url, f"p{number}", count, 5, number, offset_ms=(number % 3 - 1) * _HOUR_MS, weaker=weaker)


def _collect(process: Any, lines: list[str]) -> None:
    lines += iter(process.stdout.readline, "")


def _wait_for(is_so: Callable[[], bool], most_s: float = 60.0) -> None:
    deadline = time.monotonic() + most_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def forget_openings() -> None:
    """Let this process look again whether a schema is there: one of the same name was dropped."""
    opening._MIGRATED.clear()


def _fresh(server: PostgresServer) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS proof CASCADE")
    forget_openings()


def main(arguments: list[str]) -> int:
    """Run and print; return 0 if nothing was lost, doubled or torn; with --control, 0 if that was noticed."""
    parser = argparse.ArgumentParser(prog="make server-faults", description=__doc__)
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--operations", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--control", action="store_true")
    chosen = parser.parse_args(arguments)
    failed = False
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    with PostgresServer.start(is_fast=False, hosts=["127.0.0.1"]) as server:
        url = address(server, "127.0.0.1")
        weaken("no token" if chosen.control else "")
        places, said, wrong = terminated(url)
        failed |= _report(f"backends ended at each of {places} statements", [said], wrong)
        if not chosen.control:
            cycles, found, wrong = crashed(server, chosen.cycles, seed=chosen.seed)
            failed |= _report(f"the server killed {cycles} times", found, wrong)
        _fresh(server)
        did, found, wrong = relayed(
            server, chosen.operations, seed=chosen.seed, weaker="no token" if chosen.control else ""
        )
        failed |= _report(
            f"a relay did {', '.join(f'{one.name} {did.count(one)}' for one in sorted(set(did), key=lambda one: one.value))}",
            found,
            wrong,
        )
    return int(failed is not chosen.control)


def _report(name: str, found: Sequence[History], wrong: Sequence[str]) -> bool:
    acknowledged = sum(len(one.acknowledged) for one in found)
    refused = [why for one in found for why in one.refused.values()]
    print(f"{name}: {acknowledged:,} acknowledged, {len(refused)} refused, {shown(wrong)}", flush=True)
    for line in [*dict.fromkeys(refused), *wrong][:8]:
        print(f"  {line[:250]}", flush=True)
    return bool(wrong or not acknowledged)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
