"""What an act costs among many memories is what it costs among few: counted in steps of SQLite, not in time."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from undrift.memory.repository import MemoryRepository
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.opening import open_store
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

FEW, MANY = 50, 1_500
_AT_ONCE = 10
"""Instructions of SQLite's virtual machine that count as one."""


def steps(session: Session, act: Callable[[], object]) -> int:
    """Return how much SQLite does for an act."""
    counted = [0]

    def count() -> bool:
        counted[0] += 1
        return False

    store: Any = session._store
    connection = store._database._connection
    connection.set_progress_handler(count, _AT_ONCE)
    try:
        act()
    finally:
        connection.set_progress_handler(None)
    return counted[0]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A home with few memories and one with many, each with the same two conflicts."""
    made = {}
    for count in (FEW, MANY):
        made[count] = home = tmp_path_factory.mktemp(f"home{count}")
        with open_store(home, Scope()) as store:
            updates = [
                MemoryUpdate(
                    None, MemoryEntry(f"m{number}", f"part {number} lies behind wall {number % 7}", seq=number)
                )
                for number in range(count)
            ]
            MemoryRepository(store).write("s", "remember", updates, at_ms=1, payload={})
        with opened(home) as session:
            for name in ("harbour", "garden"):
                session.remember(f"The {name} server listens on port 8080.", trust="user")
                session.remember(f"The {name} server listens on port 9090.")
    return made


def opened(home: Path) -> Session:
    return Session.open("s", home=home, settings=Settings(embedder="none"))


@pytest.fixture
def sessions(homes: dict[int, Path]) -> Iterator[dict[int, Session]]:
    with opened(homes[FEW]) as few, opened(homes[MANY]) as many:
        yield {FEW: few, MANY: many}


def test_conflicts_are_answered_from_an_index(sessions: dict[int, Session]):
    found = {count: steps(session, session.conflicts) for count, session in sessions.items()}
    assert all(len(session.conflicts()) == 2 for session in sessions.values())
    assert found[MANY] <= 1.2 * found[FEW] + 2
    past = {count: steps(session, partial(session.conflicts, known_at=1)) for count, session in sessions.items()}
    assert past[MANY] <= 1.2 * past[FEW] + 2
    assert steps(sessions[MANY], sessions[MANY].memories) > 5 * found[MANY]  # the control: this reads them all
