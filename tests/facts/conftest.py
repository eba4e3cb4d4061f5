"""The stores of facts that keep the contract; another one is one more line here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.facts.builders import Clock
from undrift.facts import InMemorySessionFactStore, SqliteSessionFactStore
from undrift.settings import Settings
from undrift.values.facts import SessionFactStore


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def make_store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> Iterator[Callable[[], SessionFactStore]]:
    with ExitStack() as opened:

        def make() -> SessionFactStore:
            if request.param == "memory":
                return InMemorySessionFactStore(run_id="run", clock=clock)
            store = SqliteSessionFactStore(tmp_path / "home", run_id="run", settings=Settings(), clock=clock)
            return opened.enter_context(store)

        yield make


@pytest.fixture
def store(make_store: Callable[[], SessionFactStore]) -> SessionFactStore:
    return make_store()
