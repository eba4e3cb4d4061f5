"""The inputs of the fleet's simulation, measured on this machine: ``python -m bench.fleet measure OUT.json [SESSIONS_DIR]``.

The engine of `undrift serve` sends recorded sessions turn by turn to a real server that waits for its disk. Without a folder the
sessions are texts of the standard library.

Law: what other work on the machine changes is not used. Times are CPU times: of this process, and of the server's processes
as the system counts them. Wall times are kept for the reader.
"""

import asyncio
import ctypes
import gc
import hashlib
import json
import os
import pickle
import platform
import re
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import mean, median, quantiles
from typing import Any, NamedTuple

import psycopg

from bench.bytes import seen_tokens, sessions_below
from bench.kept import Kept
from bench.proxy import started
from bench.proxy_parts import _stream
from bench.server import Change, write
from tests.postgres_server import PostgresServer, postgres_binaries
from undrift import Settings, __version__
from undrift.bench.sessions import Case
from undrift.proxy import GatewayConfig
from undrift.proxy.ask import Ask, Bypass, ManagedBody
from undrift.proxy.sessions import OpenSessions
from undrift.proxy.team.places import MemberStores
from undrift.stores.opening import open_store
from undrift.stores.postgres.connection import APP_ROLE, Caller, DatabaseServer
from undrift.stores.postgres.store import PostgresStore
from undrift.values.member import Member, hash_of
from undrift.values.scope import Scope
from undrift.values.window import Decision, Original

__all__ = ["BUDGET_TOKENS", "MeasuringSize", "measure"]

BUDGET_TOKENS = 40_000
_MODEL = "claude-sonnet-4-5"
_PEOPLE = 4
_CACHE_MS = 300_000
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MONTHLY = re.compile(r"^(operations|segments|originals)_\d{4}_\d{2}(?:_\d+)?$")
_SIZES = """SELECT c.relname, pg_relation_size(c.oid), pg_table_size(c.oid) - pg_relation_size(c.oid), pg_indexes_size(c.oid)
    FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r'"""
_TABLES = ("operations", "segments", "originals", "readings", "marks", "sessions")
_OBJECTS = "SELECT octet_length(content), raw_bytes, month, session FROM {}.segments ORDER BY month, session, seq"
_QUANTILES = 20
_IN_KIB = re.compile(r"^(Private_Clean|Private_Dirty):\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MeasuringSize:
    """The size of a measurement.

    Args:
        sessions: Recorded ones, the first by the SHA-256 of their files.
        turns: Of a session that is not a recorded one.
        partitions: Leaves of one table; four make a month.
        repeats: Of each statement whose CPU time is read off the server.
        seconds: Of each run of commits.
        memories: Of the project whose index is weighed.
        connections: At once, in runs of commits.
    """

    sessions: int = 16
    turns: int = 60
    partitions: Sequence[int] = (12, 120, 1_200)
    repeats: int = 1_500
    seconds: float = 8.0
    memories: int = 2_000
    connections: Sequence[int] = (1, 4, 16)


class _Turn(NamedTuple):
    at_ms: int
    body: bytes


class _Recorded(NamedTuple):
    """One session: every request that its client sent, and what is in it."""

    name: str
    person: str
    tokens: int
    turns: list[_Turn]


# ---------------------------------------------------------------------------------------------------------- sessions


def _from_recordings(folder: Path, most: int) -> tuple[list[_Recorded], str]:
    """Return the sessions of a folder with the least SHA-256, and the SHA-256 of these."""
    found = sessions_below([str(folder)])
    digests = sorted((hashlib.sha256(path.read_bytes()).hexdigest(), path) for path in found)[:most]
    made = []
    for number, (_, path) in enumerate(digests):
        recording = found[path]
        history = Case(path.name, recording).history
        system = [{"type": "text", "text": entry.content} for entry in history.system]
        fields = {"model": recording.model or _MODEL, "max_tokens": 9, "system": system}
        turns, last_ms = [], 0
        for turn in history.turns:
            last_ms = max(history.entries[turn][0].timestamp, last_ms + 1)
            turns.append(_Turn(last_ms, _body(fields, history.messages[:turn], number)))
        made.append(_Recorded(_name(number), f"person-{number % _PEOPLE}", seen_tokens([recording]), turns))
    return made, hashlib.sha256("".join(digest for digest, _ in digests).encode()).hexdigest()


def _made_up(count: int, turns: int = 60) -> list[_Recorded]:
    """Return sessions of calls and results with texts of the standard library."""
    folder, chance, made = Path(sysconfig.get_path("stdlib")), Random(11), []
    lines = [line for path in sorted(folder.glob("*.py")) for line in path.read_text(errors="replace").splitlines()]
    for number in range(count):
        messages: list[Any] = [{"role": "user", "content": "Read the library and say what it does."}]
        found, at_ms = [], 1_700_000_000_000
        for turn in range(turns):
            at_ms += chance.randrange(5_000, 60_000)
            found.append(_Turn(at_ms, _body({"model": _MODEL, "max_tokens": 9}, messages, number)))
            start, size = chance.randrange(len(lines) - 200), chance.randrange(40, 200)
            call = {"type": "tool_use", "id": f"call_{turn}", "name": "read", "input": {"path": f"{start}.py"}}
            text = "\n".join(lines[start : start + size])
            result = {"type": "tool_result", "tool_use_id": f"call_{turn}", "content": text}
            messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        made.append(_Recorded(_name(number), f"person-{number % _PEOPLE}", len(found[-1].body) // 4, found))
    return made


def _name(number: int) -> str:
    """Return an id as long as a client's own."""
    digest = hashlib.sha256(f"fleet {number}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def _body(fields: Mapping[str, Any], messages: Sequence[Any], number: int) -> bytes:
    named = {"metadata": {"user_id": json.dumps({"session_id": _name(number)})}}
    return json.dumps({"stream": True, **fields, **named, "messages": messages}).encode()


# ------------------------------------------------------------------------------------------------------ what is read off


def _cpu_of(pid: int, *, with_ended: bool = False) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / _TICKS


def _postmaster(server: PostgresServer) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _server_cpu(server: PostgresServer) -> float:
    """Return the CPU seconds of all processes of the server so far, ended ones included."""
    pid = _postmaster(server)
    total = _cpu_of(pid, with_ended=True)
    for child in _children(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            total += _cpu_of(child)
    return total


def _private_bytes(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(int(kib) << 10 for _, kib in _IN_KIB.findall(text))


def _resident() -> int:
    """Return the resident bytes of this process, after what is free was given back."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


@contextmanager
def _asking(server: PostgresServer) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    with psycopg.connect(server.url(), autocommit=True) as connection:

        def ask(text: str, *values: Any) -> list[tuple[Any, ...]]:
            done = connection.execute(text, values or None)
            return done.fetchall() if done.description else []

        yield ask


def _url(server: PostgresServer, schema: str, **more: str) -> str:
    options = "".join(f"&undrift_{name}={value}" for name, value in more.items())
    return f"{server.url()}&undrift_schema={schema}{options}"


def _spread(samples: Sequence[float]) -> list[float]:
    """Return the quantiles of a time in milliseconds, from the least to the greatest."""
    if len(samples) < 2:
        return [round(one, 4) for one in samples]
    inner = quantiles(samples, n=_QUANTILES, method="inclusive")
    return [round(one, 4) for one in (min(samples), *inner, max(samples))]


# ------------------------------------------------------------------------------------------------------------ replays


@dataclass(slots=True)
class _Replay:
    """The figures of some sessions, sent turn by turn. Times are CPU milliseconds of this process."""

    turns: int = 0
    body_bytes: int = 0
    first: list[float] = field(default_factory=list)
    quiet: list[float] = field(default_factory=list)
    quiet_of_larger: list[float] = field(default_factory=list)
    pruning: list[float] = field(default_factory=list)
    calls: dict[str, list[int]] = field(default_factory=lambda: {"first": [], "quiet": [], "pruning": []})
    changes: list[Change] = field(default_factory=list)


class _Gateway:
    """The sessions of `undrift serve`, without HTTP, with the recordings' clock."""

    def __init__(self, home: str, files: Path, budget: int | str) -> None:
        self.now_ms = 0
        self._sent: dict[str, tuple[int, int]] = {}
        self.stores = MemberStores(home, files)
        settings = Settings(home=str(files), budget_tokens=budget, embedder="none")
        config = GatewayConfig(settings=settings, keeps_notes=False, clock=lambda: self.now_ms)
        self.open = OpenSessions(config, self.stores)

    @property
    def calls(self) -> int:
        """The round trips to the server so far."""
        homes = [getattr(one, "_home", None) for one in self.stores._stores.values()]
        return sum(one.server.calls for one in homes if one is not None)

    def send(self, session: _Recorded, turn: _Turn, answer: bytes = b"") -> None:
        """Prepare a request, and record its answer; without one, an answer with the usage of a provider that caches."""
        self.now_ms = turn.at_ms
        place = self.stores.place_for(Member(session.person, "shop", "fleet"))
        ask = Ask("anthropic", turn.body, None, "", "", time.monotonic() + 600, project=place, has_turn=True)
        with suppress(Bypass):
            managed = self.open.prepare(ask)
            self.open.record(managed, "anthropic", answer or self._answer(session, turn, managed))

    def _answer(self, session: _Recorded, turn: _Turn, managed: ManagedBody) -> bytes:
        """Return an answer: what stood in the last prompt was read from the cache, unless it was rewritten or five minutes passed."""
        last_ms, last = self._sent.get(session.name, (0, 0))
        tokens = managed.tokens_after
        read = last if last <= tokens and turn.at_ms - last_ms <= _CACHE_MS else 0
        self._sent[session.name] = (turn.at_ms, tokens)
        usage = {
            "input_tokens": 0,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": tokens - read,
            "output_tokens": 200,
        }
        return json.dumps({"type": "message", "role": "assistant", "content": [], "usage": usage}).encode()


@contextmanager
def _noted(found: list[Change]) -> Iterator[None]:
    """Keep each commit of the block."""
    before = PostgresStore.commit

    def commit(
        store: PostgresStore, context: Any, kind: str, changes: Sequence[Any] = (), *, payload: Any = None
    ) -> int:
        found.append(Change(context.scope.session, kind, list(changes), payload))
        return before(store, context, kind, changes, payload=payload)

    PostgresStore.commit = commit  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        PostgresStore.commit = before  # type: ignore[method-assign]


def _replayed(home: str, files: Path, sessions: Sequence[_Recorded], budget: int | str) -> _Replay:
    found, gateway = _Replay(), _Gateway(home, files, budget)
    with _noted(found.changes):
        for session in sessions:
            middle = len(session.turns[-1].body) / 2
            for number, turn in enumerate(session.turns):
                calls, commits, began = gateway.calls, len(found.changes), time.process_time()
                gateway.send(session, turn)
                spent = 1_000 * (time.process_time() - began)
                pruned = any(map(_is_prune, found.changes[commits:]))
                kind = "first" if not number else "pruning" if pruned else "quiet"
                getattr(found, kind).append(spent)
                found.calls[kind].append(gateway.calls - calls)
                if kind == "quiet" and len(turn.body) > middle:
                    found.quiet_of_larger.append(spent)
                found.turns, found.body_bytes = found.turns + 1, found.body_bytes + len(turn.body)
    gateway.open.close()
    return found


def _is_prune(one: Change) -> bool:
    return any(isinstance(each, Original) for each in one.changes)


def _sizes(ask: Callable[..., list[tuple[Any, ...]]], schema: str) -> dict[str, dict[str, int]]:
    """Return rows' bytes, bytes beside the rows (large values and maps) and indexes' bytes of each table."""
    found: dict[str, dict[str, int]] = {}
    for name, rows, beside, indexes in ask(_SIZES, schema):
        match = _MONTHLY.match(name)
        one = found.setdefault(match[1] if match else name, {"rows": 0, "beside": 0, "indexes": 0})
        for key, size in (("rows", rows), ("beside", beside), ("indexes", indexes)):
            one[key] += int(size)
    return found


def _shape(server: PostgresServer, folder: Path, sessions: Sequence[_Recorded], budget: int | str) -> dict[str, Any]:
    """Return what one session is, on average, at a budget; the schema stays."""
    schema, count = f"shape_{budget}", len(sessions)
    home = _url(server, schema)
    with _asking(server) as ask:
        with open_store(home, Scope(project="shop", person="person-0", organisation="fleet")):
            empty = _sizes(ask, schema)
        lsn = ask("SELECT pg_current_wal_insert_lsn()")[0][0]
        replay = _replayed(home, folder / schema, sessions, budget)
        wal = int(ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", lsn)[0][0])
        stored = _sizes(ask, schema)
        rows = {name: ask(f"SELECT count(*) FROM {schema}.{name}")[0][0] for name in _TABLES}
        objects = ask(_OBJECTS.format(schema))
        lsn, here, there = ask("SELECT pg_current_wal_insert_lsn()")[0][0], time.process_time(), _server_cpu(server)
        for person in sorted({one.person for one in sessions}):
            with open_store(home, Scope(project="shop", person=person, organisation="fleet")) as store:
                store.find("error")
        words = {
            "client_ms": 1_000 * (time.process_time() - here) / count,
            "server_ms": 1_000 * (_server_cpu(server) - there) / count,
            "wal_bytes": int(ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", lsn)[0][0]) / count,
        }
        searched = _sizes(ask, schema)
    prunes = [one for one in replay.changes if _is_prune(one)]
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
        "cpu_ms": {kind: _cpu(getattr(replay, kind)) for kind in ("first", "quiet", "quiet_of_larger", "pruning")},
        "round_trips": {kind: mean(some) if some else 0.0 for kind, some in replay.calls.items()},
        "_changes": replay.changes,
    }


def _words_growth(server: PostgresServer) -> dict[str, float]:
    """Return the bytes of the index of words for each original: of the sample, and of ten times as many with the same words.

    At scale more originals share their words, and a fleet also brings new ones: the truth lies between.
    """
    with _asking(server) as ask:
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


def _cpu(samples: Sequence[float]) -> dict[str, Any]:
    return {"count": len(samples), "mean": mean(samples) if samples else 0.0, "quantiles": _spread(samples)}


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


# ------------------------------------------------------------------------------------------------------------- server


def _wal_of(server: PostgresServer, changes: Sequence[Change]) -> dict[str, float]:
    """Return the bytes of log of a commit: as it comes, and when each page is written for the first time since a checkpoint."""
    prunes = [one for one in changes if _is_prune(one)]
    others = [one for one in changes if not one.changes] or [Change("s", "note", [], None)]
    found: dict[str, float] = {}
    with _asking(server) as ask, open_store(_url(server, "wal"), Scope()) as store:

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


def _statements(server: PostgresServer, changes: Sequence[Change], repeats: int) -> dict[str, Any]:
    """Return CPU milliseconds of a quiet read, a small commit, a prune and the load of a session, of the server and of here."""
    home, found = _url(server, "statements"), dict[str, Any]()
    prunes = [one for one in changes if _is_prune(one)]
    with open_store(home, Scope()) as store:

        def of(name: str, acts: Sequence[Callable[[], object]]) -> None:
            for act in acts[: max(3, len(acts) // 10)]:
                act()
            here, there, began, spent = time.process_time(), _server_cpu(server), time.perf_counter(), []
            for act in acts:
                start = time.perf_counter()
                act()
                spent.append(1_000 * (time.perf_counter() - start))
            count = len(acts)
            found[name] = {
                "count": count,
                "server_ms": 1_000 * (_server_cpu(server) - there) / count,
                "client_ms": 1_000 * (time.process_time() - here) / count,
                "wall_ms": 1_000 * (time.perf_counter() - began) / count,
                "wall_quantiles": _spread(spent),
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


class _Load(NamedTuple):
    """The commits of one process: by so many threads, for so long, from a moment on."""

    home: str
    path: str
    name: str
    threads: int
    seconds: float
    start: float


def _load(order: _Load) -> tuple[int, float]:
    """Commit as often as possible; return how often, and the CPU seconds of this process."""
    changes: list[Change] = pickle.loads(Path(order.path).read_bytes())
    with ExitStack() as stack:
        stores = [stack.enter_context(open_store(order.home, Scope())) for _ in range(order.threads)]
        for number, store in enumerate(stores):
            write(store, Change(f"warm-{order.name}-{number}", "note", [], None))

        def commits(number: int) -> int:
            time.sleep(max(0.0, order.start - time.time()))
            done = 0
            while time.time() < order.start + order.seconds:
                copy, place = divmod(done, len(changes))
                write(stores[number], changes[place].of(f"{order.name}-{number}-{copy}-{changes[place].session}"))
                done += 1
            return done

        began = time.process_time()
        with ThreadPoolExecutor(order.threads) as pool:
            total = sum(pool.map(commits, range(order.threads)))
        return total, time.process_time() - began


def _rates(
    server: PostgresServer, folder: Path, changes: Sequence[Change], size: MeasuringSize
) -> dict[str, dict[str, float]]:
    """Return commits of prunes a second by connections at once, and the CPU of a commit on both sides."""
    path, home, found = folder / "changes", _url(server, "rates"), {}
    path.write_bytes(pickle.dumps([one for one in changes if _is_prune(one)]))
    with open_store(home, Scope()):
        pass
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        for count in size.connections:
            processes, start = min(count, 4), time.time() + 4.0
            orders = [
                _Load(home, str(path), f"{count}-{number}", count // processes, size.seconds, start)
                for number in range(processes)
            ]
            waiting = [pool.submit(_load, one) for one in orders]
            time.sleep(max(0.0, start - time.time()))
            before = _server_cpu(server)
            done = [one.result() for one in waiting]
            commits = sum(one for one, _ in done)
            found[str(count)] = {
                "commits_per_s": commits / size.seconds,
                "server_ms": 1_000 * (_server_cpu(server) - before) / max(commits, 1),
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


def _partitions(server: PostgresServer, changes: Sequence[Change], size: MeasuringSize) -> dict[str, dict[str, float]]:
    """Return what a read and a prune cost with so many leaves of each table: planning, CPU, and memory of a connection."""
    schema, found = "parts", dict[str, dict[str, float]]()
    home, prunes = _url(server, schema, connections="1"), [one for one in changes if _is_prune(one)]
    for leaves in size.partitions:
        with open_store(home, Scope()) as store, _asking(server) as ask:
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
            count = max(40, size.repeats // 10)
            acts: dict[str, list[Callable[[], object]]] = {
                "quiet_read": [partial(store.last_seq, f"parts-{leaves}")] * count,
                "prune": [partial(write, store, one) for one in _again(prunes, str(leaves), count)],
            }
            one = {f"planning_of_{name}_ms": value for name, value in planning.items()}
            for name, some in acts.items():
                for act in some[:10]:
                    act()
                before = _server_cpu(server)
                for act in some:
                    act()
                one[f"{name}_server_ms"] = 1_000 * (_server_cpu(server) - before) / count
            one["connection_bytes"] = float(_backend_bytes(ask))
            found[str(leaves)] = one
    return found


def _forget(store: Any) -> None:
    """Let the next read of any session be a cold one."""
    store._sessions._known.clear()


def _make_months(ask: Callable[..., list[tuple[Any, ...]]], schema: str, months: int) -> None:
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


def _backend_bytes(ask: Callable[..., list[tuple[Any, ...]]]) -> int:
    """Return the private memory of the largest process that serves a client."""
    own = ask("SELECT pg_backend_pid()")[0][0]
    pids = [one for (one,) in ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")]
    return max((_private_bytes(pid) for pid in pids if pid != own), default=0)


# ------------------------------------------------------------------------------------------------------------- memory


def _apart(what: str, *words: str) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "bench.fleet_measure", what, *words]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _cold(home: str, files: str, path: str, budget: str) -> dict[str, Any]:
    """Send the last request of each session again to a gateway that has just started; what each open session takes."""
    sessions: list[_Recorded] = pickle.loads(Path(path).read_bytes())
    gateway = _Gateway(home, Path(files), int(budget) if budget.isdigit() else budget)
    warm = _made_up(1, turns=40)[0]
    for turn in warm.turns:
        gateway.send(warm._replace(person="person-0"), turn)
    for one in sessions:  # their stores are open, before the clock runs
        gateway.stores.store_of(gateway.stores.place_for(Member(one.person, "shop", "fleet"))).last_seq("none")
    before, spent, calls = _resident(), [], []
    for one in sessions:
        had, began = gateway.calls, time.process_time()
        gateway.send(one, one.turns[-1])
        spent.append(1_000 * (time.process_time() - began))
        calls.append(gateway.calls - had)
    held = (_resident() - before) / len(sessions)
    estimate = gateway.open.used_bytes / gateway.open.open_count
    gateway.open.close()
    return {"cpu_ms": _cpu(spent), "round_trips": mean(calls), "lane_bytes": held, "lane_estimate_bytes": estimate}


def _states(home: str, path: str) -> dict[str, Any]:
    """Read the log of each session; what a known one takes, and what the store of one more member does."""
    sessions: list[_Recorded] = pickle.loads(Path(path).read_bytes())
    scope = Scope(project="shop", person="person-0", organisation="fleet")
    with ExitStack() as stack:
        first = stack.enter_context(open_store(home, scope))
        names = {one.person: [] for one in sessions}  # type: dict[str, list[str]]
        for one in sessions:
            names[one.person].append(one.name)
        stores = {
            person: stack.enter_context(open_store(home, Scope(project="shop", person=person, organisation="fleet")))
            for person in names
        }
        known = [(store, row.session_id) for store in stores.values() for row in store.sessions()]
        first.last_seq("none")
        before = _resident()
        operations = sum(len(store.operations(name)) for store, name in known)
        held = _resident() - before
        before = _resident()
        for number in range(100):
            stack.enter_context(open_store(home, Scope(project="shop", person=f"more-{number}", organisation="fleet")))
        more = _resident() - before
    count = max(len(known), 1)
    return {"state_bytes": held / count, "operations": operations / count, "member_store_bytes": more / 100}


def _memories(home: str, count: str) -> dict[str, Any]:
    """Write memories of 12 words to a project, and weigh the index that a search makes of them."""
    from bench.memory_scale import _fill, _text, _vocabulary
    from undrift.memory.repository import MemoryRepository

    chance, number = Random(7), int(count)
    names = _vocabulary(chance)
    with open_store(home, Scope()) as store:
        store.search_memories(None)
        repository = MemoryRepository(store, None)
        _fill(repository, [_text(chance, names, 12) for _ in range(number)])
    del repository
    with open_store(home, Scope()) as store:
        before, began = _resident(), time.process_time()
        with store.search_memories(None).open():
            spent = time.process_time() - began
        held = _resident() - before
    return {"memories": number, "index_bytes": held / number, "index_cpu_ms": 1_000 * spent / number}


def _process(home: str) -> dict[str, Any]:
    """Return the memory of a gateway that has done one request."""
    with tempfile.TemporaryDirectory() as folder:
        gateway = _Gateway(home, Path(folder), BUDGET_TOKENS)
        one = _made_up(1, turns=2)[0]
        gateway.send(one, one.turns[0])
        held = _resident()
        gateway.open.close()
    return {"process_bytes": held}


# ---------------------------------------------------------------------------------------------------------------- all


def measure(folder: Path | None = None, size: MeasuringSize | None = None) -> dict[str, Any]:
    """Measure everything, and return it as JSON values.

    Raises RuntimeError: no PostgreSQL is installed.
    """
    size, began = size or MeasuringSize(), time.time()
    load = os.getloadavg()[0]
    sessions, digest = (
        (_made_up(size.sessions, size.turns), "") if folder is None else _from_recordings(folder, size.sessions)
    )
    version = next(iter(postgres_binaries()), "")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(_home_folder(scratch))
        server = stack.enter_context(PostgresServer.start(is_fast=False))
        path = scratch / "sessions"
        path.write_bytes(pickle.dumps(sessions))
        shapes = {str(budget): _shape(server, scratch, sessions, budget) for budget in (BUDGET_TOKENS, "auto")}
        changes = shapes[str(BUDGET_TOKENS)]["_changes"]
        schema = f"shape_{BUDGET_TOKENS}"
        found = {
            "shapes": {name: {key: one[key] for key in one if key != "_changes"} for name, one in shapes.items()},
            "with_affinity": _affine(server, scratch, sessions),
            "served": _served(server, scratch, _few(sessions)),
            "cold": _apart("_cold", _url(server, schema), str(scratch / schema), str(path), str(BUDGET_TOKENS)),
            "states": _apart("_states", _url(server, schema), str(path)),
            "memory_index": _apart("_memories", _url(server, "memories"), str(size.memories)),
            "process": _apart("_process", _url(server, "process")),
            "words_growth": _words_growth(server),
            "wal": _wal_of(server, changes),
            "statements": _statements(server, changes, size.repeats),
            "commits": _rates(server, scratch, changes, size),
            "partitions": _partitions(server, changes, size),
        }
    return {"about": _about(sessions, digest, version, load, time.time() - began), **found}


def _affine(server: PostgresServer, folder: Path, sessions: Sequence[_Recorded]) -> dict[str, Any]:
    """Return CPU and round trips of quiet turns, if a balancer sends a session to one process."""
    home = _url(server, "affine", affinity="yes")
    replay = _replayed(home, folder / "affine", _few(sessions), BUDGET_TOKENS)
    every = (*replay.first, *replay.quiet, *replay.pruning)
    return {
        "turns": replay.turns,
        "turn_cpu_ms": mean(every),
        "quiet_cpu_ms": _cpu(replay.quiet),
        "quiet_round_trips": mean(replay.calls["quiet"]) if replay.calls["quiet"] else 0.0,
    }


def _few(sessions: Sequence[_Recorded]) -> Sequence[_Recorded]:
    return sessions[: max(2, len(sessions) // 4)]


def _served(server: PostgresServer, folder: Path, sessions: Sequence[_Recorded]) -> dict[str, Any]:
    """Send the same sessions over HTTP to a process of `undrift serve`; its CPU, beside that of the code alone."""
    files, key = folder / "served", "a-key-of-the-fleet"
    files.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    people = sorted({one.person for one in sessions})
    with started("upstream") as (provider, _):
        keys = "".join(
            f'[[keys]]\nperson = "{one}"\nproject = "shop"\nsha256 = "{hash_of(key + one)}"\n' for one in people
        )
        text = f'home = "{_url(server, "served", affinity="yes")}"\nfiles = "{files}"\nlisten = "127.0.0.1:{port}"\n'
        text += f'organisation = "fleet"\n[upstreams]\nanthropic = "{provider}"\n{keys}'
        text += f'[session]\nbudget_tokens = {BUDGET_TOKENS}\nembedder = "none"\n'
        (files / "serve.toml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "undrift", "serve", "--config", str(files / "serve.toml")]
        with (files / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                _until_open(port, process)
                found = asyncio.run(_asked(f"http://127.0.0.1:{port}", process.pid, key, sessions))
            finally:
                process.terminate()
                process.wait(60)
    answer = b"".join(_stream())
    gateway = _Gateway(_url(server, "served_code", affinity="yes"), folder / "served_code", BUDGET_TOKENS)
    for turn in _made_up(1, turns=20)[0].turns:
        gateway.send(sessions[0], turn, answer)
    began = time.process_time()
    for one in sessions:
        for turn in one.turns:
            gateway.send(one, turn, answer)
    found["code_cpu_ms"] = 1_000 * (time.process_time() - began) / found["turns"]
    gateway.open.close()
    return found


def _until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise RuntimeError("undrift serve does not start")


async def _asked(url: str, pid: int, key: str, sessions: Sequence[_Recorded]) -> dict[str, Any]:
    kept, managed, turns = Kept(url), 0, 0
    warm = f"/{key}{sessions[0].person}/via/anthropic/v1/messages"
    for turn in _made_up(1, turns=20)[0].turns:
        await kept.ask(warm, turn.body)
    before = _cpu_of(pid)
    for one in sessions:
        for turn in one.turns:
            answer = await kept.ask(f"/{key}{one.person}/via/anthropic/v1/messages", turn.body)
            managed += "x-undrift-bypass" not in answer.head
            turns += 1
    spent = 1_000 * (_cpu_of(pid) - before) / turns
    kept.close()
    return {"turns": turns, "managed": managed, "turn_cpu_ms": spent, "resident_bytes": _resident_of(pid)}


def _resident_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def _about(sessions: Sequence[_Recorded], digest: str, version: str, load: float, seconds: float) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "undrift": __version__,
        "python": platform.python_version(),
        "postgresql": version,
        "psycopg": psycopg.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_at_start": round(load, 1),
        "load_at_end": round(os.getloadavg()[0], 1),
        "seconds": round(seconds),
        "sessions": len(sessions),
        "sessions_sha256": digest,
        "budget_tokens": BUDGET_TOKENS,
    }


@contextmanager
def _home_folder(folder: Path) -> Iterator[None]:
    """Let what stands beside a home on a server be made elsewhere than in the user's."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        if before is not None:
            os.environ["HOME"] = before


def _main(words: Iterable[str]) -> None:
    what, *rest = words
    acts: dict[str, Any] = {"_cold": _cold, "_states": _states, "_memories": _memories, "_process": _process}
    print(json.dumps(acts[what](*rest)))


if __name__ == "__main__":
    _main(sys.argv[1:])
