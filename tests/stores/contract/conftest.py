"""The back ends that keep the contract: a new one is one more line here."""

import pytest

from tests.long_form import IS_LONG
from tests.stores.builders import Opener
from tests.stores.dictionary import DictionaryStore
from tests.stores.on_server import OnServer, skip_without_server
from undrift.stores.opening import Engine
from undrift.stores.sqlite import SqliteStore

ENGINES: dict[str, Engine] = {"sqlite": SqliteStore, "dictionary": DictionaryStore, "postgres": OnServer}
"""That both are one, and give a `Store`, is checked with the types."""


_PLAYED_LONG = ("test_facts", "test_marks", "test_memory_search", "test_rewinding", "test_runs", "test_tasks")
"""Files of the behaviour suite that `make test` does not play over a server: each takes seconds."""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "postgres":
        skip_without_server()
        if not IS_LONG and any(name.startswith("hostile") for name in request.fixturenames):
            pytest.skip("names of all kinds over a server: `make postgres` plays them")
        if not IS_LONG and request.path.stem in _PLAYED_LONG:
            pytest.skip("over a server: `make postgres` plays it")
    return ENGINES[request.param]


@pytest.fixture
def open_store(engine: Engine) -> Opener:
    opener: Opener = engine.open
    return opener
