"""langchain-tests on our store of bytes: the standard tests of a key-value store, synchronous and asynchronous.

Run by `python -m pytest -o asyncio_mode=auto`; the name keeps it out of the project's own tests.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_tests.integration_tests import BaseStoreAsyncTests, BaseStoreSyncTests

from undrift.integrations.langchain import UndriftByteStore

__all__ = ["TestByteStore", "TestByteStoreAwaited"]


class _OfBytes:
    @pytest.fixture
    def kv_store(self, tmp_path: Path) -> Iterator[UndriftByteStore]:
        with UndriftByteStore(tmp_path / "home") as store:
            yield store

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"\0\xff", b"", b"text"


class TestByteStore(_OfBytes, BaseStoreSyncTests[bytes]):
    """What a store does."""


class TestByteStoreAwaited(_OfBytes, BaseStoreAsyncTests[bytes]):
    """The same, awaited."""
