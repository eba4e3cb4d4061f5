"""What sessions, memories and a gateway take of memory, each measured in a process of its own.

``python -m bench.fleet_apart NAME ...`` is such a process, and `apart` starts one.
"""

import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from bench.fleet_gateway import ReplayGateway
from bench.fleet_meters import cpu_summary, resident
from bench.fleet_sessions import BUDGET_TOKENS, ReplaySession, synthetic_sessions
from undrift.stores.opening import open_store
from undrift.values.member import Member
from undrift.values.scope import Scope

__all__ = ["apart"]


def apart(what: str, *words: str) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "bench.fleet_apart", what, *words]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _cold(home: str, files: str, path: str, budget: str) -> dict[str, Any]:
    """Send the last request of each session again to a gateway that has just started; what each open session takes."""
    sessions: list[ReplaySession] = pickle.loads(Path(path).read_bytes())
    gateway = ReplayGateway(home, Path(files), int(budget) if budget.isdigit() else budget)
    warm = synthetic_sessions(1, turns=40)[0]
    for turn in warm.turns:
        gateway.send(warm._replace(person="person-0"), turn)
    for one in sessions:  # their stores are open, before the clock runs
        gateway.stores.store_of(gateway.stores.place_for(Member(one.person, "shop", "fleet"))).last_seq("none")
    before, spent, calls = resident(), [], []
    for one in sessions:
        had, began = gateway.calls, time.process_time()
        gateway.send(one, one.turns[-1])
        spent.append(1_000 * (time.process_time() - began))
        calls.append(gateway.calls - had)
    held = (resident() - before) / len(sessions)
    estimate = gateway.open.used_bytes / gateway.open.open_count
    gateway.open.close()
    return {
        "cpu_ms": cpu_summary(spent),
        "round_trips": mean(calls),
        "lane_bytes": held,
        "lane_estimate_bytes": estimate,
    }


def _states(home: str, path: str) -> dict[str, Any]:
    """Read the log of each session; what a known one takes, and what the store of one more member does."""
    sessions: list[ReplaySession] = pickle.loads(Path(path).read_bytes())
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
        before = resident()
        operations = sum(len(store.operations(name)) for store, name in known)
        held = resident() - before
        before = resident()
        for number in range(100):
            stack.enter_context(open_store(home, Scope(project="shop", person=f"more-{number}", organisation="fleet")))
        more = resident() - before
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
        before, began = resident(), time.process_time()
        with store.search_memories(None).open():
            spent = time.process_time() - began
        held = resident() - before
    return {"memories": number, "index_bytes": held / number, "index_cpu_ms": 1_000 * spent / number}


def _process(home: str) -> dict[str, Any]:
    """Return the memory of a gateway that has done one request."""
    with tempfile.TemporaryDirectory() as folder:
        gateway = ReplayGateway(home, Path(folder), BUDGET_TOKENS)
        one = synthetic_sessions(1, turns=2)[0]
        gateway.send(one, one.turns[0])
        held = resident()
        gateway.open.close()
    return {"process_bytes": held}


def _main(words: Iterable[str]) -> None:
    what, *rest = words
    acts: dict[str, Any] = {"_cold": _cold, "_states": _states, "_memories": _memories, "_process": _process}
    print(json.dumps(acts[what](*rest)))


if __name__ == "__main__":
    _main(sys.argv[1:])
