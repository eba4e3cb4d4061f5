"""Many agents that remember something about one subject at the same moment: none is refused, and one statement holds."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.builders import opened
from undrift.errors import StoreConflict
from undrift.stores.memory_values import MemoryUpdate
from undrift.values.memory import MemoryEntry

AGENTS = 20
EACH = 3


def test_all_that_agents_remember_about_one_subject_at_once_is_there_and_one_holds(tmp_path: Path):
    opened(tmp_path).close()
    gate = threading.Barrier(AGENTS)

    def work(number: int) -> list[MemoryEntry]:
        with opened(tmp_path, f"agent-{number}", embedder="none") as session:
            gate.wait()
            return [session.remember(f"The deploy port is {1000 + EACH * number + n}.") for n in range(EACH)]

    with ThreadPoolExecutor(AGENTS) as pool:
        made = {entry.id for entries in pool.map(work, range(AGENTS)) for entry in entries}
    with opened(tmp_path, "afterwards") as session:
        found = session.memories()
        assert {entry.id for entry in found} == made
        assert len(made) == AGENTS * EACH
        assert [entry.is_contradicted for entry in found].count(False) == 1
        assert session.conflicts() == ()


def _in_a_process_of_its_own(home: str, number: int) -> list[str]:
    with opened(Path(home), f"agent-{number}", embedder="none") as session:
        return [session.remember(f"The deploy port is {1000 + EACH * number + n}.").id for n in range(EACH)]


def test_so_it_is_with_agents_in_several_processes(tmp_path: Path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        made = [
            id_
            for ids in pool.starmap(_in_a_process_of_its_own, [(str(tmp_path), n) for n in range(6)], 1)
            for id_ in ids
        ]
    with opened(tmp_path, "afterwards") as session:
        found = session.memories()
        assert sorted(entry.id for entry in found) == sorted(made)
        assert len(set(made)) == 6 * EACH
        assert [entry.is_contradicted for entry in found].count(False) == 1
        assert session.conflicts() == ()


def test_a_change_that_came_too_late_has_a_name_of_its_own(tmp_path: Path):
    with opened(tmp_path) as session:
        stale = session.remember("The deploy port is 8080.", trust="user")
        session.remember("The deploy port is 9090.", trust="user")
        with pytest.raises(StoreConflict, match="changed meanwhile, by another agent; nothing was written"):
            session._repository.write(session.id, "demote", [MemoryUpdate(stale, None)], at_ms=1, payload={})
