"""Homes on the tests' server, as a move sees them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stores.on_server import OnServer, address_of, skip_without_server
from undrift.stores.postgres.address import ServerAddress
from undrift.stores.postgres.connection import connected
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.opening import entered
from undrift.values.scope import Scope

__all__ = ["server_home"]


@contextmanager
def server_home(name: Path, scope: Scope = Scope()) -> Iterator[Home]:  # noqa: B008 - a value
    skip_without_server()
    OnServer.open(name, scope).close()
    address = ServerAddress.parsed(address_of(name))
    server = connected(address, 5_000)
    try:
        yield entered(server, address.of(scope))
    finally:
        server.close()
