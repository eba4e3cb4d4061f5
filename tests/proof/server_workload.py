"""The work of one process on a server in the proofs: operations of all kinds, each with an id, and a line for each answer.

``python -m tests.proof.server_workload ORDER`` with an `Order` as JSON prints one JSON object a line.
"""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.stores.builders import original, prune
from undrift.errors import StoreError
from undrift.stores.base import Context, Document
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate
from undrift.stores.postgres.opening import PostgresEngine
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

__all__ = ["DOCUMENTS", "KINDS", "Order", "changes", "content", "perform", "weaken"]

KINDS = ("prune", "pin", "prune", "memory", "document", "prune", "notes")
DOCUMENTS = "proof"
_CONTENT = 300
_TOLD_EVERY = 3
_OPENINGS = 50


@dataclass(frozen=True, slots=True)
class Order:
    """The work of one process.

    Args:
        url: The address of the home.
        name: Of the process; its operations' ids begin with it.
        count: Operations.
        sessions: Number of sessions, which all processes share.
        seed: Of its choices.
        start: When it begins, in seconds since 1970 by the machine's clock.
        offset_ms: How far the process's own clock is wrong.
        pause_s: The mean pause between two operations.
        inbox: A pipe with what a neighbour was acknowledged; this process reads it from the server. 0: none.
        outbox: A pipe to another neighbour; 0: none.
        weaker: What is taken out of the engine, for a control: one of `_WEAKER`, or nothing.
    """

    url: str
    name: str
    count: int
    sessions: int
    seed: int
    start: float = 0.0
    offset_ms: int = 0
    pause_s: float = 0.0
    inbox: int = 0
    outbox: int = 0
    weaker: str = ""


def content(id_: str) -> str:
    """Return the text that belongs to an operation."""
    return f"of {id_} " * _CONTENT


def changes(id_: str, kind: str, session: str) -> list[Any]:
    """Return what an operation of some kind writes, documents apart."""
    if kind == "prune":
        some = [original(f"{id_}-{n}", content(f"{id_}-{n}"), session=session) for n in range(2)]
        return [*some, *map(prune, some)]
    if kind == "pin":
        return [original(f"{id_}-pin", content(id_), session=session, source="pin")]
    if kind == "memory":
        entry = MemoryEntry(id_, f"it is said in {id_}", session_id=session)
        return [MemoryUpdate(None, entry), MemoryLines([MemoryLine(id_, entry.content)])]
    return []


def perform(store: Store, id_: str, kind: str, session: str, at_ms: int) -> int:
    """Do one operation; return its number, or 0 if the contract gives none. Raises what the engine raises."""
    if kind == "document":
        document = Document((id_,), {"id": id_}, content(id_).encode())
        store.change_documents(session, lambda now: now.put(DOCUMENTS, document), at_ms=at_ms, payload={"id": id_})
        return 0
    given = changes(id_, kind, session)
    return store.commit(Context(Scope(session), at_ms), kind, given, payload={"id": id_})


def orders(order: Order) -> Iterator[tuple[str, str, str]]:
    """Yield id, kind and session of each operation of a process."""
    random = Random(order.seed)
    for number in range(order.count):
        yield f"{order.name}-{number}", random.choice(KINDS), f"stream-{random.randrange(order.sessions)}"


def operate(order: Order) -> None:
    """Do what is ordered, and print what came of each operation."""
    weaken(order.weaker)
    random = Random(order.seed + 1)
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    with _opened(order) as store:
        ready = threading.Event()
        reader = threading.Thread(target=_read_along, args=(order, ready))
        if order.inbox:
            reader.start()
            ready.wait()
        with suppress(StoreError):
            perform(store, "warm", "notes", f"warm-{order.name}", 0)
        time.sleep(max(0.0, order.start - time.time()))
        for number, (id_, kind, session) in enumerate(orders(order)):
            _say(began=id_, kind=kind, session=session)
            began = time.perf_counter()
            try:
                seq = perform(store, id_, kind, session, time.time_ns() // 1_000_000 + order.offset_ms)
            except StoreError as error:
                _say(refused=id_, why=f"{type(error).__name__}: {error}")
                continue
            _say(acknowledged=id_, seq=seq, ms=1_000 * (time.perf_counter() - began))
            if order.outbox and seq and number % _TOLD_EVERY == 0:
                told = json.dumps([id_, session, seq, time.monotonic_ns()]) + "\n"
                os.write(order.outbox, told.encode())
            if order.pause_s:
                time.sleep(random.expovariate(1 / order.pause_s))
        if order.outbox:
            os.close(order.outbox)
        if order.inbox:
            reader.join()


def _read_along(order: Order, ready: threading.Event) -> None:
    """Read what another process was acknowledged, right after the acknowledgement; print how long that took."""
    with _opened(order) as store, os.fdopen(order.inbox, encoding="ascii") as told:
        store.operations("warm")
        ready.set()
        for line in told:
            id_, session, seq, at_ns = json.loads(line)
            began = time.monotonic_ns()
            try:
                found = [one for one in store.operations(session) if one.seq == seq]
            except StoreError:
                found = []
            now = time.monotonic_ns()
            is_there = bool(found) and (found[0].payload or {}).get("id") == id_
            _say(read=id_, there=is_there, ms=(now - began) / 1e6, since_ms=(now - at_ns) / 1e6)


def _opened(order: Order) -> Any:
    """Open the home; faults may hit that as well, so it is tried again."""
    for attempt in range(_OPENINGS):
        try:
            return PostgresEngine.open(order.url)
        except StoreError:
            if attempt == _OPENINGS - 1:
                raise
    raise AssertionError("unreachable")


_LOCK = threading.Lock()


def _say(**what: Any) -> None:
    with _LOCK, suppress(BrokenPipeError):
        print(json.dumps(what), flush=True)


def weaken(what: str) -> None:
    """Take a safeguard out of the engine of this process: the controls, which must be noticed."""
    if what:
        _WEAKER[what]()


def _without_token() -> None:
    """Take a commit whose answer was lost for one that was not written, as a client without tokens must."""
    from undrift.stores.postgres.session_state import SessionState

    assert SessionState("").written(b"") == 0
    vars_of: Any = SessionState
    vars_of.written = lambda _, __: 0


def _without_sequence() -> None:
    """Append without the condition that no other process wrote meanwhile."""
    from undrift.stores.postgres import log

    _replaced(log, "_APPEND", "AND last_seq = %(based)s", "AND last_seq >= %(based)s")


def _replaced(module: Any, name: str, text: str, by: str) -> None:
    now = getattr(module, name)
    assert text in now, f"{name} has changed: this control takes nothing out"
    setattr(module, name, now.replace(text, by))


_WEAKER = {"no token": _without_token, "no sequence": _without_sequence}


def ordered(order: Order) -> str:
    """Return an order as the argument of its process."""
    return json.dumps(asdict(order))


ROOT = Path(__file__).parents[2]

if __name__ == "__main__":
    operate(Order(**json.loads(sys.argv[1])))
