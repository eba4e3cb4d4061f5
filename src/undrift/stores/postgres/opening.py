"""The engine of homes on a server: what can be done with one that is not open."""

import os
from typing import ClassVar

from undrift.errors import InputError, StoreError
from undrift.stores import rows
from undrift.stores.postgres import backup, schema
from undrift.stores.postgres.address import ServerAddress
from undrift.stores.postgres.connection import Caller, DatabaseServer, connected
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.sealing import Seal, master_key, new_key
from undrift.stores.postgres.store import PostgresStore
from undrift.values.scope import LOCAL, Scope

__all__ = ["PostgresEngine", "entered", "opened_home"]

_ENTER = "SELECT organisation, person, project, key FROM enter(%s, %s, %s, %s)"
_WRITTEN = "SELECT last_value FROM written"
_USER = "user"
"""The project with what counts in every project of a person: it never leaves that person."""
_OWNER = Scope()
_MIGRATED: set[tuple[str, str]] = set()


class PostgresEngine:
    """`undrift.stores.opening.Engine` for addresses that begin with ``postgresql://``."""

    own_files: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def open(
        home: str | os.PathLike[str],
        scope: Scope = _OWNER,
        *,
        create: bool = True,
        busy_timeout_ms: int = 5_000,
    ) -> PostgresStore:
        """Open the records of one scope; see `undrift.stores.opening.open_store`."""
        address = ServerAddress.parsed(home)
        owner = address.of(scope).of("")
        return PostgresStore(opened_home(address, owner, create=create, busy_timeout_ms=busy_timeout_ms), owner)

    @staticmethod
    def is_there(home: str | os.PathLike[str]) -> bool:
        """Tell whether the server has a store in the address's schema."""
        address = ServerAddress.parsed(home)
        server = connected(address, 5_000)
        try:
            with server.owner() as connection:
                return schema.is_there(connection, address.schema)
        finally:
            server.close()

    @staticmethod
    def written_ns(home: str | os.PathLike[str]) -> int:
        """Return a number that grows with each write; OSError if there is no store."""
        if not PostgresEngine.is_there(home):
            raise FileNotFoundError(f"{ServerAddress.parsed(home)}: there is no store")
        server = connected(ServerAddress.parsed(home), 5_000)
        try:
            return int(server.read(Caller(), (_WRITTEN, ()))[0][0][0])
        finally:
            server.close()

    back_up = staticmethod(backup.back_up)
    restore_backup = staticmethod(backup.restore_backup)


def opened_home(address: ServerAddress, owner: Scope, *, create: bool, busy_timeout_ms: int) -> Home:
    """Return the home of a scope, with its schema at today's version; the caller closes its server.

    Raises StoreError: as `entered` does, or the server is away, or there is no store and `create` is False.
    """
    server = connected(address, busy_timeout_ms)
    try:
        _migrated(server, create=create)
        return entered(server, owner)
    except BaseException:
        server.close()
        raise


def entered(server: DatabaseServer, owner: Scope) -> Home:
    """Return the home of a scope; its organisation, person and project are made if they are new.

    Raises StoreError: the address's user is another person, or the organisation's key was destroyed.
    """
    master = Seal(master_key(server.address.key_file))
    names = [rows.raw(one) for one in (owner.organisation, owner.person, owner.project)]
    if not all(names):
        raise InputError(f"{owner}: an organisation, a person and a project need a name")
    candidate = master.close(new_key(), b"organisation")
    (found,) = server.write(Caller(), (_ENTER, (*names, candidate)))
    organisation, person, project, key = found[0]
    if key is None:
        raise StoreError(f"organisation {owner.organisation!r}: its key was destroyed, and with it all that it sealed")
    seal = Seal(master.open(bytes(key), b"organisation"))
    return Home(
        server, Caller(organisation, person), project, seal, owner.organisation != LOCAL and owner.project != _USER
    )


def _migrated(server: DatabaseServer, *, create: bool) -> None:
    """Bring the schema to today's version, once for each process."""
    key = (server.address.url, server.address.schema)
    if key in _MIGRATED:
        return
    with server.owner() as connection:
        if not create and not schema.is_there(connection, server.address.schema):
            raise StoreError(f"{server.address}: there is no store in schema {server.address.schema}")
        schema.migrate(connection, server.address.schema)
    _MIGRATED.add(key)
