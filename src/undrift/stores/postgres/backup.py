"""A backup of a whole schema as one file: each table as the server copies it, at one moment."""

import gzip
import io
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import faults, files
from undrift.stores.base import Counts
from undrift.stores.postgres import schema
from undrift.stores.postgres.address import ServerAddress, is_address
from undrift.stores.postgres.connection import connected, set_path
from undrift.stores.postgres.steps import FUNCTIONS, STEPS, TABLES

__all__ = ["back_up", "restore_backup"]

_HEAD = "undrift.json"
_COUNT = "SELECT (SELECT count(*) FROM operations), (SELECT count(*) FROM originals), (SELECT coalesce(sum(decisions), 0) FROM sessions)"
_SEQUENCES = """SELECT t.relname, a.attname, pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(t.relname), a.attname)
    FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_attribute a ON a.attrelid = t.oid
    WHERE n.nspname = %s AND a.attidentity <> '' ORDER BY 1"""
_SPOOLED_BYTES = 32 << 20
_PREFIX_BYTES = 40
"""The part of a schema's name that its old one keeps: the server cuts a name at 63 bytes, and its number would go."""


def back_up(home: str | os.PathLike[str], target: str | os.PathLike[str]) -> Counts:
    """Copy a schema into one file while it is in use; the keys of organisations are in it, wrapped as they are there.

    Raises InputError: something else than an earlier backup has that name. Raises StoreError: there is no store, or the
    system refuses; then what had that name is as it was.
    """
    path = Path(target)
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: there is no such folder; make it first, or choose another name")
    with _as_store_errors(path):
        if path.exists() and _head(path) is None:
            raise InputError(f"{path}: something else than a backup has this name; choose another")
        with _schema(home) as (connection, name):
            if not schema.is_there(connection, name):
                raise StoreError(f"{ServerAddress.parsed(home)}: there is no store in schema {name}")
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                set_path(connection, name)
                counts = _counted(connection)
                draft = path.with_name(f"{path.name}.{os.getpid()}.part")
                try:
                    _write(connection, draft, name)
                    with draft.open("rb") as written:
                        os.fsync(written.fileno())
                    draft.replace(path)
                    files.sync_folder(path.parent)
                finally:
                    draft.unlink(missing_ok=True)
        return Counts(*counts, size_bytes=path.stat().st_size)


def restore_backup(source: str | os.PathLike[str], home: str | os.PathLike[str]) -> Counts:
    """Put a backup in the place of a schema; the old schema keeps its records under another name.

    Raises:
        InputError: It is no backup, or one of a newer undrift.
        StoreCorrupt: It is damaged.
        StoreError: The server or the system refuses. In every case nothing was changed.
    """
    path = Path(source)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    head = _head(path)
    if head is None:
        raise InputError(f"{path}: is no backup of a server")
    if head["version"] > len(STEPS):
        raise InputError(f"{path}: a newer undrift wrote it; update undrift")
    with _as_store_errors(path):
        _check_whole(path)
        with _schema(home) as (connection, name):
            with connection.transaction():
                kept = _set_aside(connection, name)
                schema.migrate(connection, name, STEPS[: head["version"]])
                set_path(connection, name)
                for month in head["months"]:
                    connection.execute("SELECT ensure_month(%s::date)", (month,))
                _read(connection, path)
                _set_sequences(connection, name)
                counts = _counted(connection)
            schema.migrate(connection, name)
        return Counts(*counts, size_bytes=path.stat().st_size, kept=None if kept is None else Path(kept))


@contextmanager
def _as_store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise StoreCorrupt(f"{path}: the backup is damaged: {error}; nothing was changed. Use another one") from error
    except OSError as error:
        raise faults.from_system(error, path) from error


@contextmanager
def _schema(home: str | os.PathLike[str]) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    if not is_address(home):
        raise StoreError(f"{os.fspath(home)!r:.200}: is no address of a server")
    address = ServerAddress.parsed(home)
    server = connected(address, 5_000)
    try:
        with server.owner() as connection:
            yield connection, address.schema
    finally:
        server.close()


def _write(connection: psycopg.Connection[Any], path: Path, name: str) -> None:
    months = [str(one) for (one,) in connection.execute("SELECT DISTINCT month::text FROM sessions ORDER BY 1")]
    version = (connection.execute("SELECT max(number) FROM versions").fetchone() or (0,))[0]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz", compresslevel=1) as archive:
        _add(
            archive,
            _HEAD,
            io.BytesIO(json.dumps({"undrift": 1, "version": version, "months": months, "schema": name}).encode()),
        )
        for table in TABLES:
            with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spool:
                with connection.cursor().copy(
                    sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT binary)").format(sql.Identifier(table))
                ) as copy:
                    for block in copy:
                        spool.write(block)
                _add(archive, table, spool)


def _add(archive: tarfile.TarFile, name: str, file: Any) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = file.seek(0, os.SEEK_END)
    file.seek(0)
    archive.addfile(entry, file)


def _head(path: Path) -> dict[str, Any] | None:
    """Return what a backup says of itself. None means: it is none."""
    try:
        with tarfile.open(path) as archive:
            first = archive.next()
            file = archive.extractfile(first) if first is not None and first.name == _HEAD else None
            head = json.loads(file.read()) if file is not None else None
        return head if isinstance(head, dict) and head.get("undrift") == 1 else None
    except (OSError, tarfile.TarError, ValueError, EOFError):
        return None


def _check_whole(path: Path) -> None:
    """Read a backup to its end, where its checksum stands."""
    with tarfile.open(path) as archive:
        while archive.fileobj is not None and archive.fileobj.read(1 << 20):
            pass


def _set_aside(connection: psycopg.Connection[Any], name: str) -> str | None:
    """Rename a schema; return its new name. None means: there was none."""
    if not schema.is_there(connection, name):
        return None
    prefix = f"{name.encode()[:_PREFIX_BYTES].decode(errors='ignore')}_before_"
    found = connection.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (prefix,)).fetchall()
    numbers = [int(number) for (one,) in found if (number := one.removeprefix(prefix)).isdecimal()]
    kept = f"{prefix}{max(numbers, default=0) + 1}"
    connection.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(kept)))
    for one in FUNCTIONS:
        text = "ALTER FUNCTION {}." + one + " SET search_path = {}, pg_temp"
        connection.execute(sql.SQL(text).format(sql.Identifier(kept), sql.Identifier(kept)))
    return kept


def _read(connection: psycopg.Connection[Any], path: Path) -> None:
    with tarfile.open(path) as archive:
        for table in TABLES:
            file = archive.extractfile(table) if table in archive.getnames() else None
            if file is None:
                raise StoreCorrupt(f"{path}: table {table} is missing; nothing was changed. Use another backup")
            with connection.cursor().copy(
                sql.SQL("COPY {} FROM STDIN (FORMAT binary)").format(sql.Identifier(table))
            ) as copy:
                while block := file.read(1 << 20):
                    copy.write(block)


def _set_sequences(connection: psycopg.Connection[Any], name: str) -> None:
    for table, column, sequence in connection.execute(_SEQUENCES, (name,)).fetchall():
        names = sql.Identifier(column), sql.Identifier(table)
        connection.execute(
            sql.SQL("SELECT setval(%s, (SELECT coalesce(max({}), 0) + 1 FROM {}), false)").format(*names), (sequence,)
        )
    connection.execute("SELECT setval('written', (SELECT coalesce(max(written), 0) + 1 FROM sessions), false)")


def _counted(connection: psycopg.Connection[Any]) -> tuple[int, int, int]:
    operations, originals, decisions = connection.execute(_COUNT).fetchone() or (0, 0, 0)
    return int(operations), int(originals), int(decisions)
