"""What one session is, on average: its turns, commits, rows and bytes on a real server, and its CPU times."""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench.commits import Ask, asking, home_at
from bench.fleet_gateway import replayed
from bench.fleet_meters import cpu_summary, server_cpu
from bench.fleet_sessions import BUDGET_TOKENS, ReplaySession
from tests.postgres_server import PostgresServer
from undrift.stores.opening import open_store
from undrift.values.scope import Scope
from undrift.values.window import Decision, Original

__all__ = ["shape", "words_growth"]

_MONTHLY = re.compile(r"^(operations|segments|originals)_\d{4}_\d{2}(?:_\d+)?$")
_SIZES = """SELECT c.relname, pg_relation_size(c.oid), pg_table_size(c.oid) - pg_relation_size(c.oid), pg_indexes_size(c.oid)
    FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r'"""
_TABLES = ("operations", "segments", "originals", "readings", "marks", "sessions")
_OBJECTS = "SELECT octet_length(content), raw_bytes, month, session FROM {}.segments ORDER BY month, session, seq"


def _sizes(ask: Ask, schema: str) -> dict[str, dict[str, int]]:
    """Return rows' bytes, bytes beside the rows (large values and maps) and indexes' bytes of each table."""
    found: dict[str, dict[str, int]] = {}
    for name, rows, beside, indexes in ask(_SIZES, schema):
        match = _MONTHLY.match(name)
        one = found.setdefault(match[1] if match else name, {"rows": 0, "beside": 0, "indexes": 0})
        for key, size in (("rows", rows), ("beside", beside), ("indexes", indexes)):
            one[key] += int(size)
    return found


def shape(server: PostgresServer, folder: Path, sessions: Sequence[ReplaySession], budget: int | str) -> dict[str, Any]:
    """Return what one session is, on average, at a budget; the schema stays."""
    schema, count = f"shape_{budget}", len(sessions)
    home = home_at(server.url(), schema)
    with asking(server) as ask:
        with open_store(home, Scope(project="shop", person="person-0", organisation="fleet")):
            empty = _sizes(ask, schema)
        lsn = ask("SELECT pg_current_wal_insert_lsn()")[0][0]
        replay = replayed(home, folder / schema, sessions, budget)
        wal = int(ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", lsn)[0][0])
        stored = _sizes(ask, schema)
        rows = {name: ask(f"SELECT count(*) FROM {schema}.{name}")[0][0] for name in _TABLES}
        objects = ask(_OBJECTS.format(schema))
        lsn, here, there = ask("SELECT pg_current_wal_insert_lsn()")[0][0], time.process_time(), server_cpu(server)
        for person in sorted({one.person for one in sessions}):
            with open_store(home, Scope(project="shop", person=person, organisation="fleet")) as store:
                store.find("error")
        words = {
            "client_ms": 1_000 * (time.process_time() - here) / count,
            "server_ms": 1_000 * (server_cpu(server) - there) / count,
            "wal_bytes": int(ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", lsn)[0][0]) / count,
        }
        searched = _sizes(ask, schema)
    prunes = [one for one in replay.changes if one.is_prune]
    return {
        "tokens": sum(one.tokens for one in sessions) / count,
        "turns": replay.turns / count,
        "body_bytes": replay.body_bytes / replay.turns,
        "last_body_bytes": mean(len(one.turns[-1].body) for one in sessions),
        "prunes": len(prunes) / count,
        "other_commits": (len(replay.changes) - len(prunes)) / count,
        "originals": sum(isinstance(each, Original) for one in prunes for each in one.changes) / count,
        "decisions": sum(isinstance(each, Decision) for one in replay.changes for each in one.changes) / count,
        "rows": {name: number / count for name, number in rows.items()},
        "bytes": _by_session(stored, empty, count),
        "bytes_with_words": _by_session(searched, empty, count),
        "wal_bytes": wal / count,
        "words": words,
        "objects": _objects(objects, count),
        "cpu_ms": {
            kind: cpu_summary(getattr(replay, kind)) for kind in ("first", "quiet", "quiet_of_larger", "pruning")
        },
        "round_trips": {kind: mean(some) if some else 0.0 for kind, some in replay.calls.items()},
        "_changes": replay.changes,
    }


def words_growth(server: PostgresServer) -> dict[str, float]:
    """Return the bytes of the index of words for each original: of the sample, and of ten times as many with the same words.

    At scale more originals share their words, and a fleet also brings new ones: the truth lies between.
    """
    with asking(server) as ask:
        ask("CREATE TABLE words_growth(words int[])")
        ask("CREATE INDEX words_grown ON words_growth USING gin(words)")
        found, copy = [], f"INSERT INTO words_growth SELECT words FROM shape_{BUDGET_TOKENS}.originals"
        for copies in (1, 9):
            for _ in range(copies):
                ask(copy)
            ask("VACUUM words_growth")
            sizes = ask("SELECT pg_relation_size('words_grown'), count(*), avg(cardinality(words)) FROM words_growth")[
                0
            ]
            found.append(sizes)
    (small, few, words), (large, many, _) = found
    return {
        "words_per_original": float(words or 0),
        "bytes_per_original": small / max(few, 1),
        "bytes_per_original_of_tenfold": large / max(many, 1),
    }


def _by_session(now: Mapping[str, Any], empty: Mapping[str, Any], count: int) -> dict[str, dict[str, float]]:
    found = {}
    for name, sizes in now.items():
        before = empty.get(name, {})
        more = {key: (size - before.get(key, 0)) / count for key, size in sizes.items()}
        if any(more.values()):
            found[name] = more
    return found


def _objects(found: Sequence[tuple[Any, ...]], count: int) -> dict[str, float]:
    """Return the sizes of what could lie in an object store: one object for each prune, or for each session."""
    if not found:
        return {"count": 0.0, "bytes": 0.0, "raw_bytes": 0.0, "median": 0.0, "greatest": 0.0, "median_of_session": 0.0}
    sizes, sessions = [int(one[0]) for one in found], dict[Any, int]()
    for size, _, *session in found:
        sessions[tuple(session)] = sessions.get(tuple(session), 0) + int(size)
    return {
        "count": len(sizes) / count,
        "bytes": sum(sizes) / count,
        "raw_bytes": sum(int(one[1]) for one in found) / count,
        "median": median(sizes),
        "greatest": max(sizes),
        "median_of_session": median(sessions.values()),
    }
