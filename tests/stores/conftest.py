"""The back ends that keep the contract; another one is one more line here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.builders import Opener
from undrift.stores.contract import Store
from undrift.stores.sqlite import SqliteStore


@pytest.fixture(params=[pytest.param(SqliteStore.open, id="sqlite")])
def open_store(request: pytest.FixtureRequest) -> Opener:
    opener: Opener = request.param
    return opener


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(open_store: Opener, home: Path) -> Iterator[Store]:
    opened = open_store(home)
    yield opened
    opened.close()
