"""The judge of the proofs on a server: the histories of all processes against what the server has.

An acknowledged operation is there once and wholly; any other is there once and wholly, or not at all; numbers have no gaps.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.proof.server_networks import Network
from tests.proof.server_workload import DOCUMENTS, ROOT, Order, changes, content, ordered
from undrift.errors import RecallError, StoreError
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.postgres.opening import PostgresEngine
from undrift.values.window import Original

__all__ = ["Began", "History", "ended", "history", "problems", "shown", "started", "told"]


@dataclass(frozen=True, slots=True)
class Began:
    """One operation that a process began."""

    id: str
    kind: str
    session: str


@dataclass(slots=True)
class History:
    """One process: what it began, what was acknowledged with which number, what was refused, and times in ms.

    Args:
        read_ms: How long another process took to read what this history's neighbour was acknowledged.
        since_ms: From the acknowledgement until then.
        unread: Ids that such a reading did not find.
    """

    began: dict[str, Began] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    took_ms: list[float] = field(default_factory=list)
    read_ms: list[float] = field(default_factory=list)
    since_ms: list[float] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def started(order: Order, place: Network | None = None, pipes: Sequence[int] = ()) -> "subprocess.Popen[str]":
    """Start the process of an order."""
    command = [*(place.enter if place else ()), sys.executable, "-m", "tests.proof.server_workload", ordered(order)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=pipes
    )


def ended(processes: "Sequence[subprocess.Popen[str]]") -> None:
    """Kill the processes that still run, and close what they print to."""
    for one in processes:
        one.kill()
        one.wait()
        for pipe in (one.stdout, one.stderr):
            if pipe is not None:
                pipe.close()


def told(processes: "Sequence[subprocess.Popen[str]]") -> list[History]:
    """Wait until the processes are done; return their histories. Raises RuntimeError: one failed."""
    found = []
    try:
        for process in processes:
            out, errors = process.communicate()
            if process.returncode:
                raise RuntimeError(errors)
            found.append(history(out.splitlines()))
    finally:
        ended(processes)
    return found


def history(lines: Iterable[str]) -> History:
    """Read what a process printed; a line that was cut off at its end is left out."""
    found = History()
    for line in lines:
        if not line.endswith("}\n") and not line.endswith("}"):
            continue
        one: dict[str, Any] = json.loads(line)
        if "began" in one:
            found.began[one["began"]] = Began(one["began"], one["kind"], one["session"])
        elif "acknowledged" in one:
            found.acknowledged[one["acknowledged"]] = one["seq"]
            found.took_ms.append(one["ms"])
        elif "refused" in one:
            found.refused[one["refused"]] = one["why"]
        else:
            found.read_ms.append(one["ms"])
            found.since_ms.append(one["since_ms"])
            if not one["there"]:
                found.unread.append(one["read"])
    return found


def problems(url: str, histories: Sequence[History]) -> list[str]:
    """Return what the server and the histories disagree about; the first word of each says how."""
    began = {one.id: one for each in histories for one in each.began.values()}
    wrong = [
        f"unread: {id_} was acknowledged, and another process did not see it"
        for each in histories
        for id_ in each.unread
    ]
    with PostgresEngine.open(url) as store:
        try:
            places = _places(store, {one.session for one in began.values()}, wrong)
            wrong += [f"damaged: {one}" for one in store.integrity()]
        except StoreError as error:
            return [*wrong, f"damaged: {error}"]
        for each in histories:
            wrong += _told(each, places)
        wrong += [f"invented: {id_}" for id_ in places.keys() - began.keys()]
        for id_, one in began.items():
            wrong += _parts(store, one, is_there=id_ in places)
    return wrong


def _places(store: Store, sessions: Iterable[str], wrong: list[str]) -> dict[str, list[tuple[str, int]]]:
    """Return where each id stands in the logs, and note gaps of the numbers."""
    places: dict[str, list[tuple[str, int]]] = {}
    for session in sorted(sessions):
        log = store.operations(session)
        if [one.seq for one in log] != list(range(1, len(log) + 1)):
            wrong.append(f"gap: {session} has the numbers {[one.seq for one in log]}")
        for one in log:
            places.setdefault((one.payload or {}).get("id", f"{session} {one.seq}"), []).append((session, one.seq))
    return places


def _told(each: History, places: dict[str, list[tuple[str, int]]]) -> Iterator[str]:
    for id_, one in each.began.items():
        found = places.get(id_, [])
        if len(found) > 1:
            yield f"twice: {id_} at {found}"
        elif id_ in each.acknowledged:
            if not found:
                yield f"lost: {id_} was acknowledged"
            elif found[0][0] != one.session or each.acknowledged[id_] not in (0, found[0][1]):
                yield f"moved: {id_} is at {found[0]}, not {each.acknowledged[id_]}"
    by_session: dict[str, list[int]] = {}
    for id_, seq in each.acknowledged.items():
        if seq:
            by_session.setdefault(each.began[id_].session, []).append(seq)
    for session, seqs in by_session.items():
        if any(before >= after for before, after in pairwise(seqs)):
            yield f"backwards: the numbers of {session}: {seqs}"


def _parts(store: Store, one: Began, *, is_there: bool) -> Iterator[str]:
    """Say which parts of an operation are missing, or are there without it."""
    for name, part_is_there in _each_part(store, one):
        if part_is_there is not is_there:
            yield f"torn: {one.id}: its operation is {'' if is_there else 'not '}there, its {name} not so"


def _each_part(store: Store, one: Began) -> Iterator[tuple[str, bool]]:
    if one.kind == "document":
        with store.documents(one.session) as documents:
            found = documents.find(DOCUMENTS, (one.id,))
        yield "document", found is not None and found.content == content(one.id).encode()
    for change in changes(one.id, one.kind, one.session):
        if isinstance(change, Original):
            yield f"original {change.entry.id}", _has(store, change)
            if change.source == "window":
                decision = store.decision(change.ref)
                yield f"decision about {change.entry.id}", decision is not None and decision.entry_id == change.entry.id
        elif isinstance(change, MemoryUpdate):
            yield "memory", store.memories.by_id([one.id]).get(one.id) == change.after


def _has(store: Store, wanted: Original) -> bool:
    try:
        return store.original(wanted.ref).entry == wanted.entry
    except RecallError:
        return False


def shown(wrong: Sequence[str]) -> str:
    """Return the numbers of problems by their first words."""
    counts = Counter(one.partition(":")[0] for one in wrong)
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing wrong"
