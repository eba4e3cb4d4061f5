"""The back ends that keep the contract; another one is one more line here."""

import shutil
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


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which nothing was written: a copy of it takes a tenth of the time that a new one takes."""
    folder = tmp_path_factory.mktemp("empty") / "home"
    SqliteStore.open(folder).close()
    return folder


@pytest.fixture
def store(open_store: Opener, home: Path, empty_home: Path) -> Iterator[Store]:
    if open_store == SqliteStore.open and not home.exists():
        shutil.copytree(empty_home, home)
    opened = open_store(home)
    yield opened
    opened.close()
