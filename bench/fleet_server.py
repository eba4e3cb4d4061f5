"""What commits and reads cost a real server: bytes of its log, CPU times, commits a second, and what partitions add."""

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench.commits import PROCESSES, Ask, Change, CommitOrder, asking, commit_often, home_at, orders, write
from bench.fleet_meters import private_bytes, server_cpu, spread
from tests.postgres_server import PostgresServer
from undrift.stores.opening import open_store
from undrift.stores.postgres.connection import APP_ROLE, Caller, DatabaseServer
from undrift.values.scope import Scope

__all__ = ["partitions", "rates", "statements", "wal_of"]


def wal_of(server: PostgresServer, changes: Sequence[Change]) -> dict[str, float]:
    """Return the bytes of log of a commit: as it comes, and when each page is written for the first time since a checkpoint."""
    prunes = [one for one in changes if one.is_prune]
    others = [one for one in changes if not one.changes] or [Change("s", "note", [], None)]
    found: dict[str, float] = {}
    with asking(server) as ask, open_store(home_at(server.url(), "wal"), Scope()) as store:

        def of(some: Sequence[Change], name: str, *, is_after_checkpoint: bool) -> float:
            total = 0
            for one in some:
                if is_after_checkpoint:
                    ask("CHECKPOINT")
                before = ask("SELECT pg_current_wal_insert_lsn()")[0][0]
                write(store, one.of(f"{name}-{one.session}"))
                total += int(ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", before)[0][0])
            return total / max(len(some), 1)

        of(prunes[:20], "warm", is_after_checkpoint=False)
        for kind, some in (("prune", prunes), ("other", others)):
            found[kind] = of(some[:200], f"a-{kind}", is_after_checkpoint=False)
            found[f"{kind}_after_checkpoint"] = of(some[:12], f"b-{kind}", is_after_checkpoint=True)
    return found


def statements(server: PostgresServer, changes: Sequence[Change], repeats: int) -> dict[str, Any]:
    """Return CPU milliseconds of a quiet read, a small commit, a prune and the load of a session, of the server and of here."""
    home, found = home_at(server.url(), "statements"), dict[str, Any]()
    prunes = [one for one in changes if one.is_prune]
    with open_store(home, Scope()) as store:

        def of(name: str, acts: Sequence[Callable[[], object]]) -> None:
            for act in acts[: max(3, len(acts) // 10)]:
                act()
            here, there, began, spent = time.process_time(), server_cpu(server), time.perf_counter(), []
            for act in acts:
                start = time.perf_counter()
                act()
                spent.append(1_000 * (time.perf_counter() - start))
            count = len(acts)
            found[name] = {
                "count": count,
                "server_ms": 1_000 * (server_cpu(server) - there) / count,
                "client_ms": 1_000 * (time.process_time() - here) / count,
                "wall_ms": 1_000 * (time.perf_counter() - began) / count,
                "wall_quantiles": spread(spent),
            }

        session = prunes[0].session
        of("other_commit", [partial(write, store, Change(session, "asked", [], None))] * (repeats // 3))
        of("quiet_read", [partial(store.last_seq, session)] * repeats)
        many = _again(prunes, "statements", repeats // 3)
        sessions = [one.session for one in many]
        of("prune", [partial(write, store, one) for one in many])

        def load(name: str) -> object:
            _forget(store)
            return store.last_seq(name)

        of("load", [partial(load, one) for one in sessions])
    return found


def _again(prunes: Sequence[Change], name: str, count: int) -> list[Change]:
    """Return the recorded prunes in their order, for other sessions: each gets as many as it had."""
    numbered = (divmod(number, len(prunes)) for number in range(count))
    return [prunes[place].of(f"{name}-{copy}-{prunes[place].session}") for copy, place in numbered]


def rates(
    server: PostgresServer, folder: Path, changes: Sequence[Change], connections: Sequence[int], seconds: float
) -> dict[str, dict[str, float]]:
    """Return commits of prunes a second by connections at once, and the CPU of a commit on both sides."""
    path, home, found = folder / "changes", home_at(server.url(), "rates"), {}
    path.write_bytes(pickle.dumps([one for one in changes if one.is_prune]))
    with open_store(home, Scope()):
        pass
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        for count in connections:
            start = time.time() + 4.0
            whole = CommitOrder(home, str(path), str(count), count, seconds, start)
            waiting = [pool.submit(commit_often, one) for one in orders(whole)]
            time.sleep(max(0.0, start - time.time()))
            before = server_cpu(server)
            done = [one.result() for one in waiting]
            commits = sum(one for one, _ in done)
            found[str(count)] = {
                "commits_per_s": commits / seconds,
                "server_ms": 1_000 * (server_cpu(server) - before) / max(commits, 1),
                "client_ms": 1_000 * sum(cpu for _, cpu in done) / max(commits, 1),
            }
    return found


# --------------------------------------------------------------------------------------------------------- partitions


@contextmanager
def _heard(found: list[tuple[str, Any]]) -> Iterator[None]:
    """Keep each statement of the block with its values."""
    before = DatabaseServer._run

    def run(server: DatabaseServer, caller: Caller, statements: Sequence[Any], *, is_durable: bool) -> Any:
        found.extend(statements)
        return before(server, caller, statements, is_durable=is_durable)

    DatabaseServer._run = run  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        DatabaseServer._run = before  # type: ignore[method-assign]


def partitions(
    server: PostgresServer, changes: Sequence[Change], counts: Sequence[int], repeats: int
) -> dict[str, dict[str, float]]:
    """Return what a read and a prune cost with so many leaves of each table: planning, CPU, and memory of a connection."""
    schema, found = "parts", dict[str, dict[str, float]]()
    home, prunes = home_at(server.url(), schema, connections="1"), [one for one in changes if one.is_prune]
    for leaves in counts:
        with open_store(home, Scope()) as store, asking(server) as ask:
            _make_months(ask, schema, leaves // 4)
            heard: list[tuple[str, Any]] = []
            with _heard(heard):
                write(store, prunes[0].of(f"parts-{leaves}"))
                _forget(store)
                store.last_seq(f"parts-{leaves}")
            load = next(one for one in reversed(heard) if "LEFT JOIN operations" in one[0])
            append = next(one for one in reversed(heard) if "UPDATE sessions" in one[0])
            planning = {"load": _planned_ms(server, schema, load), "prune": _planned_ms(server, schema, append)}
            heard.clear()
            count = max(40, repeats // 10)
            acts: dict[str, list[Callable[[], object]]] = {
                "quiet_read": [partial(store.last_seq, f"parts-{leaves}")] * count,
                "prune": [partial(write, store, one) for one in _again(prunes, str(leaves), count)],
            }
            one = {f"planning_of_{name}_ms": value for name, value in planning.items()}
            for name, some in acts.items():
                for act in some[:10]:
                    act()
                before = server_cpu(server)
                for act in some:
                    act()
                one[f"{name}_server_ms"] = 1_000 * (server_cpu(server) - before) / count
            one["connection_bytes"] = float(_backend_bytes(ask))
            found[str(leaves)] = one
    return found


def _forget(store: Any) -> None:
    """Let the next read of any session be a cold one."""
    store._sessions._known.clear()


def _make_months(ask: Ask, schema: str, months: int) -> None:
    """Make months of the past with the store's own function; only its oldest date is another one."""
    (text,) = ask("SELECT pg_get_functiondef(%s::regprocedure)", f"{schema}.ensure_month(date)")[0]
    ask(text.replace("2020-01-01", "1900-01-01"))
    ask(f"SET search_path TO {schema}, public")
    for number in range(months):
        ask("SELECT ensure_month((date_trunc('month', now()) - make_interval(months => %s))::date)", number)


def _planned_ms(server: PostgresServer, schema: str, statement: tuple[str, Any], rounds: int = 7) -> float:
    """Return the median planning time of a statement, as EXPLAIN tells it; wall time."""
    text, values = statement
    spent = []
    with psycopg.ClientCursor(psycopg.connect(server.url(), autocommit=True)) as cursor:
        whole = cursor.mogrify(text, values)
        cursor.execute(f"SET search_path TO {schema}, public")
        cursor.execute(f"SET ROLE {APP_ROLE}")
        for _ in range(rounds):
            lines = cursor.execute(f"EXPLAIN (SUMMARY) {whole}").fetchall()
            spent.append(float(next(str(one[0]) for one in lines if "Planning Time" in str(one[0])).split()[2]))
        cursor.connection.close()
    return median(spent)


def _backend_bytes(ask: Ask) -> int:
    """Return the private memory of the largest process that serves a client."""
    own = ask("SELECT pg_backend_pid()")[0][0]
    pids = [one for (one,) in ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")]
    return max((private_bytes(pid) for pid in pids if pid != own), default=0)
