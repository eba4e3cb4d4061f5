"""The back ends that keep the contract: a new one is one more line here."""

import pytest

from tests.stores.builders import Opener
from tests.stores.dictionary import DictionaryStore
from undrift.stores.sqlite import SqliteStore


@pytest.fixture(
    params=[pytest.param(SqliteStore.open, id="sqlite"), pytest.param(DictionaryStore.open, id="dictionary")]
)
def open_store(request: pytest.FixtureRequest) -> Opener:
    opener: Opener = request.param
    return opener
