"""A home for the sessions of the managed clients."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="package")
def home_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for many tests, whose sessions differ: a new one takes 0.1 s."""
    return tmp_path_factory.mktemp("sdk") / "home"


@pytest.fixture(autouse=True, scope="package")
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Loopback has no TLS, and each client would read all certificates of the machine for 20 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield
