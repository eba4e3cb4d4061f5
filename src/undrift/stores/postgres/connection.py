"""The connections of one process to a server, and what is done over them.

Law: one call is one transaction and, through a pipeline, one round trip. Each names who asks before its first statement,
and the server's policies let it see and write only what is that person's. An error of the driver becomes one of ours.
"""

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import psycopg
from psycopg import errors, sql
from psycopg_pool import ConnectionPool, PoolTimeout

from undrift.errors import StoreBusy, StoreConflict, StoreCorrupt, StoreError
from undrift.stores.postgres.address import ServerAddress
from undrift.values.closing import check_process

__all__ = [
    "APP_ROLE",
    "Caller",
    "DatabaseServer",
    "StaleState",
    "Statement",
    "UnknownOutcome",
    "connected",
    "set_path",
]

APP_ROLE = "undrift_app"
"""The role whose rows the policies filter. It can log in nowhere: a connection takes it on for each transaction."""

Statement = tuple[str, Sequence[Any] | Mapping[str, Any]]
Rows = list[tuple[Any, ...]]

_ENTER = """SELECT set_config('search_path', %s, true), set_config('role', %s, true),
    set_config('undrift.organisation', %s, true), set_config('undrift.person', %s, true),
    set_config('lock_timeout', %s, true), set_config('synchronous_commit', %s, true)"""
_IDLE_S = 300.0
_STALE = "UD001"
"""The SQLSTATE of the function `refuse`."""
_LOST = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleInTransactionSessionTimeout)
_BUSY = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure, errors.QueryCanceled,
         errors.TooManyConnections)  # fmt: skip
_READS = 3
"""Attempts of a call that changes nothing: after a restart of the server each pooled connection fails once."""
_LOG_OF_POOLS = "psycopg.pool"


class UnknownOutcome(StoreError):
    """The connection ended before the server's answer to a commit: it is written as a whole, or not at all."""


class StaleState(StoreError):
    """Others wrote first: nothing was written, and the caller compares again."""


class Caller(NamedTuple):
    """Who asks, by the numbers that the server knows them by."""

    organisation: int = 0
    person: int = 0


class DatabaseServer:
    """One server, as one process reaches it; stores of several scopes share it.

    Args:
        busy_timeout_ms: How long a statement waits for others' locks, and a call for a free connection.
    """

    def __init__(self, address: ServerAddress, pools: "_Pools", busy_timeout_ms: int) -> None:
        self.address = address
        self._pools = pools
        self._pool = pools.lent(self)
        self._timeout_ms = busy_timeout_ms
        self._process = os.getpid()

    def read(self, caller: Caller, *statements: Statement) -> list[Rows]:
        """Run statements that change nothing, in one round trip; return the rows of each."""
        for _ in range(_READS - 1):
            try:
                return self._run(caller, statements, is_durable=True)
            except UnknownOutcome:
                self._pool.check()  # after a restart of the server every pooled connection is dead
        return self._run(caller, statements, is_durable=True)

    def write(self, caller: Caller, *statements: Statement, is_durable: bool = True) -> list[Rows]:
        """Run statements in one transaction and one round trip; return the rows of each when they are on disk.

        `is_durable`: False: a crash of the server may lose them.

        Raises:
            UnknownOutcome: The connection ended before the answer.
            StoreBusy: Others held locks, or all connections, for too long; nothing was written.
            StoreError: The server refused; nothing was written.
        """
        return self._run(caller, statements, is_durable=is_durable)

    @contextmanager
    def transaction(self, caller: Caller) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection in a transaction for statements that depend on each other; it commits at the end."""
        with self._connection() as connection, self._translated(), connection.transaction():
            connection.execute(_ENTER, self._who(caller, is_durable=True))
            yield connection

    @contextmanager
    def owner(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection as the role that logged in, for migrations; no transaction is open."""
        self._pool.check()  # it is rare, and must not meet a connection that a restart of the server has ended
        with self._connection() as connection, self._translated():
            yield connection

    def _run(self, caller: Caller, statements: Sequence[Statement], *, is_durable: bool) -> list[Rows]:
        with self._connection() as connection, self._translated():
            try:
                with connection.pipeline():  # up to its end it is one transaction, and one round trip
                    connection.execute(_ENTER, self._who(caller, is_durable=is_durable))
                    cursors = [connection.execute(text, values, binary=True) for text, values in statements]
            except psycopg.Error:
                connection.close()  # behind a failed statement the server skipped some that the driver counts as prepared
                raise
            return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def _who(self, caller: Caller, *, is_durable: bool) -> tuple[str, ...]:
        names = (str(caller.organisation), str(caller.person))
        path = sql.Identifier(self.address.schema).as_string()
        return f"{path}, public", APP_ROLE, *names, f"{self._timeout_ms}ms", "on" if is_durable else "off"

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        check_process(self._process, str(self.address))
        if self._pool.closed:
            raise StoreError(f"{self.address}: the store is closed; open it again")
        try:
            connection = self._pool.getconn(timeout=max(self._timeout_ms / 1000, 0.1))
        except PoolTimeout as error:
            raise StoreBusy(f"{self.address}: no connection within {self._timeout_ms:,} ms: {self._why()}") from error
        try:
            yield connection
        finally:
            self._pool.putconn(connection)

    def _why(self) -> str:
        """Return why there is no connection: the server is away, or others use all of them."""
        try:
            psycopg.connect(self.address.url, connect_timeout=2).close()
        except psycopg.Error as error:
            return f"{str(error).strip():.300}; start the server, or check the address"
        return (
            "all are in use, or the server has just come back: try again, or raise undrift_connections in the address"
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._error(error) from error

    def _error(self, error: psycopg.Error) -> StoreError:
        text = (
            f"{self.address}: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__:.300}"
        )
        if error.sqlstate == _STALE:
            return StaleState(text)
        if isinstance(error, errors.DiskFull):
            return StoreError(f"{text}; the server's disk is full: free some space")
        if isinstance(error, _BUSY):
            return StoreBusy(f"{text}; nothing was written, try again")
        if isinstance(error, _LOST) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None):
            return UnknownOutcome(f"{text}; the connection to the server was lost")
        if isinstance(error, errors.UniqueViolation):
            return StoreConflict(f"{text}; nothing was written, repeat the change")
        if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
            return StoreCorrupt(f"{text}; restore a backup of the server")
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreError(f"{text}; grant the role {APP_ROLE} to the user of the address")
        return StoreError(text)

    def close(self) -> None:
        """Give the connections back, unless another store of this process uses them."""
        if self._process == os.getpid():
            self._pools.take_back(self)


class _Shared(NamedTuple):
    pool: ConnectionPool[Any]
    users: set[int]


class _Pools:
    """The pools of connections of this process, one for each address."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: dict[tuple[str, int, bool], _Shared] = {}

    def lent(self, server: DatabaseServer) -> ConnectionPool[Any]:
        """Return the pool of a server's address; it is open until all its users have given it back."""
        key = _key(server.address)
        with self._lock:
            if key not in self._shared or self._shared[key].pool.closed:
                self._shared[key] = _Shared(_pool(server.address), set())
            self._shared[key].users.add(id(server))
            return self._shared[key].pool

    def take_back(self, server: DatabaseServer) -> None:
        """Close the pool of a server, unless others use it."""
        key = _key(server.address)
        with self._lock:
            shared = self._shared.get(key)
            if shared is not None:
                shared.users.discard(id(server))
                if not shared.users:
                    del self._shared[key]
                    shared.pool.close()


@cache
def _pools() -> _Pools:
    logging.getLogger(_LOG_OF_POOLS).addHandler(
        logging.NullHandler()
    )  # else each restart of the server writes on stderr
    return _Pools()


def connected(address: ServerAddress, busy_timeout_ms: int) -> DatabaseServer:
    """Return a server; stores with the same address share their connections. Its first use shows whether it is there.

    Raises StoreError: the address cannot be understood.
    """
    return DatabaseServer(address, _pools(), busy_timeout_ms)


def set_path(connection: psycopg.Connection[Any], schema: str) -> None:
    """Let the rest of a transaction find the tables of a schema by their names alone."""
    connection.execute(sql.SQL("SET LOCAL search_path TO {}, public").format(sql.Identifier(schema)))


def _key(address: ServerAddress) -> tuple[str, int, bool]:
    return address.url, os.getpid(), address.prepares


def _pool(address: ServerAddress) -> ConnectionPool[Any]:
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 3 if address.prepares else None}
    try:
        return ConnectionPool(
            address.url, kwargs=options, min_size=0, max_size=address.most_connections, max_idle=_IDLE_S, open=True
        )
    except psycopg.Error as error:
        raise StoreError(f"{address}: {error}") from error
