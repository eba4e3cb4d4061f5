"""A home on a server beside a home in a file, in one run: ``python -m bench.server [FOLDER...] [--json PATH] [--short]``.

The prunes are those of recorded sessions, if folders are given, as the gateway's code made them at a budget of 40,000 tokens;
else texts of the standard library in the sizes of such prunes. Both sides wait for the disk at each commit.

Law: what is claimed is a ratio of two figures of this run; client, server and other work share the machine's processors.
"""

import argparse
import itertools
import json
import pickle
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import apsw
import psycopg

from bench.bytes import by_gateway, sessions_below
from bench.commits import (
    PROCESSES,
    Change,
    CommitOrder,
    asking,
    commit_often,
    folders_below,
    heard_commits,
    home_at,
    library_lines,
    orders,
    write,
)
from bench.figures import Claim, Figure, Report, ratio_claim
from tests.postgres_server import PostgresServer
from tests.proof.server_relay import relay_process
from undrift import Session, Settings
from undrift.core.text.refs import ref_of
from undrift.stores.opening import open_store
from undrift.stores.postgres.connection import DatabaseServer
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original

__all__ = ["main", "measure", "recorded", "synthetic"]

CONNECTIONS = (1, 4, 16)
LEAST = {1: 1.2, 4: 3.7, 16: 4.0}
"""Commits a second beside SQLite, by connections: the prototype's figures."""
MOST_BYTES = 0.5
MOST_TRIPS = 2.0
MOST_STORED = 0.3
_TRIP_S = 0.02
"""The distance of the far server. A busy machine hides a smaller one: a turn waits longer for a processor."""
_ORIGINALS, _DECISIONS, _CONTENT_BYTES = 20.8, 24.6, 37_000
"""The averages of a prune of recorded sessions."""
_MOST_SESSIONS = 10
_BUDGET_TOKENS = 8_000
_SIZES = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
    WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'm')"""
_BY_TABLE = """SELECT regexp_replace(t.relname, '_[0-9_]+$', '') || CASE WHEN i.indexrelid IS NULL THEN '' ELSE ', its indexes' END AS name,
        sum(CASE WHEN i.indexrelid IS NULL THEN pg_table_size(t.oid) ELSE pg_relation_size(i.indexrelid) END)::bigint AS bytes
    FROM pg_class t CROSS JOIN LATERAL (SELECT NULL::oid AS indexrelid UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = t.oid) i
    WHERE t.relnamespace = %s::regnamespace AND t.relkind = 'r' GROUP BY 1 ORDER BY 2 DESC LIMIT 6"""
_SEGMENTS = "SELECT coalesce(sum(raw_bytes), 0)::bigint, coalesce(sum(octet_length(content)), 0)::bigint, count(*) FROM {}.segments"
_SCHEMA = "bench"


def recorded(folders: Iterable[str], most: int = _MOST_SESSIONS) -> list[Change]:
    """Return the commits of recorded sessions that pruned something."""
    found: list[Change] = []
    sessions = dict(itertools.islice(sessions_below(folders).items(), most))
    with heard_commits(SqliteStore, found), tempfile.TemporaryDirectory() as home:
        by_gateway(sessions, Path(home))
    return [one for one in found if one.is_prune]


def synthetic(count: int) -> list[Change]:
    """Return prunes in the sizes of recorded ones, with texts of the standard library."""
    random, lines = Random(3), library_lines()
    found = []
    for number in range(count):
        originals = []
        for place in range(round(random.uniform(0.5, 1.5) * _ORIGINALS)):
            start, size = random.randrange(len(lines) - 400), round(_CONTENT_BYTES / _ORIGINALS)
            text = "\n".join(lines[start : start + 400])[: round(random.uniform(0.2, 1.8) * size)]
            entry = ContextEntry(f"e{number}-{place}", "tool_result", text or ".", len(text) // 4, number)
            originals.append(Original(ref_of("s", entry.id), "s", "window", entry))
        decisions = [Decision(one.entry.id, "pruned", "over budget", 50, one.ref) for one in originals]
        more = range(round(len(originals) * (_DECISIONS / _ORIGINALS - 1)))
        decisions += [Decision(f"x{number}-{place}", "pruned", "over budget", 50, "") for place in more]
        found.append(Change("s", "prune", [*originals, *decisions], {"budget": _BUDGET_TOKENS}))
    return found


# ---------------------------------------------------------------------------------------------------- commits a second


def rates(report: Report, homes: Mapping[str, str], path: Path, *, rounds: int, seconds: float) -> None:
    """Measure commits a second of both sides, by connections."""
    samples: dict[tuple[str, int], list[float]] = {(name, count): [] for count in CONNECTIONS for name in homes}
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        for turn, count, (name, home) in itertools.product(range(rounds), CONNECTIONS, homes.items()):
            whole = CommitOrder(home, str(path), f"{turn}-{count}", count, seconds, time.time() + 2.5)
            samples[name, count].append(sum(done for done, _ in pool.map(commit_often, orders(whole))) / seconds)
    for count in CONNECTIONS:
        figures = [
            Figure(f"{name}: commits a second, {count} at once", "/s", tuple(samples[name, count])) for name in homes
        ]
        report.figures += figures
        server, file = figures[1], figures[0]
        report.claims.append(
            ratio_claim(f"commits a second, {count} at once: server over file", server, file, least=LEAST[count])
        )


# ------------------------------------------------------------------------------------------------------------- bytes


def sizes(report: Report, changes: Sequence[Change], folder: Path, server: PostgresServer, url: str) -> None:
    """Measure what a prune leaves on disk, without and with what a search needs; and the originals' share of their bytes."""
    home = folder / "sizes"
    with open_store(home, Scope()) as file, open_store(url, Scope()) as store, asking(server) as ask:

        def both() -> tuple[int, int]:
            return _file_bytes(home), ask(_SIZES, _SCHEMA)[0][0]

        empty = both()
        ask("CHECKPOINT")
        started = ask("SELECT pg_current_wal_lsn()")[0][0]
        for one in changes:
            write(file, one)
            write(store, one)
        wal = ask("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), %s)::bigint", started)[0][0]
        plain = both()
        for each in (file, store):
            each.find("error")
        while file.pack(1 << 22):
            pass
        searched = both()
        for table, size in table_bytes(server):
            report.figures.append(Figure(f"server: bytes of a prune in {table}", "B", (size / len(changes),)))
        raw, stored, count = ask(_SEGMENTS.format(_SCHEMA))[0]
        report.claims.append(Claim("content of a prune, bytes", raw / max(count, 1), "B"))
    for name, now in (("", plain), (", with what a search needs", searched)):
        ours, theirs = (size - before for size, before in zip(now, empty, strict=True))
        report.figures += [
            Figure(f"file: bytes of a prune{name}", "B", (ours / len(changes),)),
            Figure(f"server: bytes of a prune{name}", "B", (theirs / len(changes),)),
        ]
        limit = MOST_BYTES if not name else None
        report.claims.append(
            ratio_claim(f"bytes of a prune{name}: server over file", *report.figures[:-3:-1], limit=limit)
        )
    report.figures.append(Figure("server: bytes of write-ahead log of a prune", "B", (wal / len(changes),)))
    report.claims.append(Claim("originals on the server over their raw bytes", stored / raw, limit=MOST_STORED))


def table_bytes(server: PostgresServer) -> list[tuple[str, int]]:
    """Return the bytes of each table and of its indexes, partitions added up; the largest first."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        return connection.execute(_BY_TABLE, (_SCHEMA,)).fetchall()


def _file_bytes(home: Path) -> int:
    """Return the size of a file's pages, those in its log included."""
    with closing(apsw.Connection(str(home / "undrift.db"))) as connection:
        pages, free, size = (connection.pragma(name) for name in ("page_count", "freelist_count", "page_size"))
    return int((pages - free) * size)


# ------------------------------------------------------------------------------------------------------------- turns


def turns(report: Report, homes: Mapping[str, str], count: int) -> None:
    """Measure `Session.prepare` of quiet and of pruning turns: wall time, and round trips where there is a server."""
    spent: dict[tuple[str, bool], list[float]] = {(name, quiet): [] for name in homes for quiet in (True, False)}
    trips: dict[tuple[str, bool], list[float]] = {key: [] for key in spent}
    settings = Settings(budget_tokens=_BUDGET_TOKENS, embedder="none")
    with ExitStack() as stack:
        calls = stack.enter_context(_counted())
        sessions = {
            name: stack.enter_context(Session.open(f"turns-{number}", home=home, settings=settings))
            for number, (name, home) in enumerate(homes.items())
        }
        messages: list[Any] = []
        known = dict.fromkeys(homes, 0)
        for number, some in enumerate(itertools.islice(_messages(), count)):
            messages += some
            body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}).encode()
            for name, session in sessions.items():
                before, began = calls[0], time.perf_counter()
                prepared = session.prepare(body)
                took = 1_000 * (time.perf_counter() - began)
                is_quiet, known[name] = len(prepared.actions) == known[name], len(prepared.actions)
                if number >= 10:  # caches are warm, and statements are prepared
                    spent[name, is_quiet].append(took)
                    trips[name, is_quiet].append(calls[0] - before)
    for quiet, kind in ((True, "a quiet turn"), (False, "a pruning turn")):
        for name in homes:
            report.figures.append(Figure(f"{kind}, {name}: wall", "ms", tuple(spent[name, quiet])))
            if name != "file":
                report.claims.append(
                    Claim(f"{kind}, {name}: round trips by the engine's count", median(trips[name, quiet]), "")
                )
    for kind in ("a quiet turn", "a pruning turn"):
        far, file = (_median(report, f"{kind}, {name}: wall") for name in ("server far away", "file"))
        limit = MOST_TRIPS if kind == "a quiet turn" else None  # the median of all turns is one of these
        trips_more = (far - file) / (1_000 * _TRIP_S)
        report.claims.append(Claim(f"{kind}, far away beside the file: round trips more", trips_more, "", limit=limit))


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Count the round trips to a server, all homes together; each turn makes them in its own call."""
    run, calls = DatabaseServer._run, [0]

    def count(*given: Any, **more: Any) -> Any:
        calls[0] += 1
        return run(*given, **more)

    patched: Any = DatabaseServer
    patched._run = count
    try:
        yield calls
    finally:
        patched._run = run


def _median(report: Report, name: str) -> float:
    return next(one.median for one in report.figures if one.name == name)


def _messages() -> Iterator[list[dict[str, Any]]]:
    """Yield the messages of each turn: a call of a tool and its result of 800 to 3,200 characters."""
    random, lines = Random(1), library_lines()
    yield [{"role": "user", "content": "Read the library and say what it does."}]
    for number in itertools.count():
        start = random.randrange(len(lines) - 100)
        call = {"type": "tool_use", "id": f"call_{number}", "name": "read", "input": {"path": f"lib/{start}.py"}}
        result = {
            "type": "tool_result",
            "tool_use_id": f"call_{number}",
            "content": "\n".join(lines[start : start + random.randrange(20, 80)]),
        }
        yield [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


# ------------------------------------------------------------------------------------------------------------- all


def measure(folders: Sequence[str] = (), *, is_short: bool = False) -> Report:
    """Measure everything; without folders, the texts are the standard library's."""
    report = Report()
    changes = recorded(folders) if folders else synthetic(10 if is_short else 60)
    if not folders:
        report.skipped.append("recorded sessions: no folder was given, the texts are of the standard library")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(folders_below(folder))
        server = stack.enter_context(PostgresServer.start(is_fast=False))
        socket = server.folder / f".s.PGSQL.{server.port}"
        near, far = (stack.enter_context(relay_process(socket, delay_s)) for delay_s in (0.0, _TRIP_S))
        path = folder / "changes"
        path.write_bytes(pickle.dumps(changes))
        _say(f"bytes of {len(changes)} prunes")
        sizes(report, changes, folder, server, home_at(server.url(), _SCHEMA))
        _say("turns")
        turns(
            report,
            {
                "file": str(folder / "turns"),
                "server": home_at(_through(near), "turns"),
                "server far away": home_at(_through(far), "turns_far"),
                "server with affinity": home_at(_through(near), "turns_affine", affinity="yes"),
            },
            40 if is_short else 100,
        )
        _say("commits a second")
        homes = {"file": str(folder / "rates"), "server": home_at(server.url(), "rates")}
        rates(report, homes, path, rounds=1 if is_short else 3, seconds=0.5 if is_short else 4.0)
    return report


def _say(what: str) -> None:
    print(f"measuring {what} ...", file=sys.stderr, flush=True)


def _through(port: int) -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"


def main(arguments: list[str]) -> int:
    """Measure, print, and write the report as JSON if a path is given."""
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="with recorded sessions")
    parser.add_argument("--json", type=Path, metavar="PATH")
    parser.add_argument("--short", action="store_true")
    chosen = parser.parse_args(arguments)
    report = measure(chosen.folders, is_short=chosen.short)
    if chosen.json:
        chosen.json.write_text(report.as_json(), encoding="utf-8")
    print(report.as_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
