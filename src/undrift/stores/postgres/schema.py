"""The tables of a server's store, and their migrations.

Law: a released step never changes, and only adds: an older undrift works beside a newer one until the `least_reader`
of a step says that it cannot. One process migrates at a time. A schema of a newer undrift is refused, and nothing is written.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from undrift.errors import StoreVersionError
from undrift.stores.postgres.connection import APP_ROLE, set_path
from undrift.stores.postgres.steps import STEPS, LayoutStep

__all__ = ["is_there", "migrate"]

_LOCK = 0x756E6472
"""``undr`` in ASCII: the advisory lock of migrations."""
_THERE = "SELECT to_regclass(%s) IS NOT NULL"
_VERSION = "SELECT coalesce(max(number), 0), coalesce(max(least_reader), 0) FROM {}.versions"
_NOTE = "INSERT INTO {}.versions(number, least_reader) VALUES(%s, %s)"
_ROLE = """DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{0}') THEN CREATE ROLE {0} NOLOGIN; END IF;
    IF NOT pg_has_role(current_user, '{0}', 'MEMBER') THEN EXECUTE format('GRANT {0} TO %I', current_user); END IF;
END $$"""


def is_there(connection: psycopg.Connection[Any], schema: str) -> bool:
    """Tell whether a schema holds a store of ours."""
    found = connection.execute(_THERE, (f"{sql.Identifier(schema).as_string()}.versions",)).fetchone()
    return bool(found and found[0])


def migrate(connection: psycopg.Connection[Any], schema: str, steps: Sequence[LayoutStep] = STEPS) -> None:
    """Bring a schema to today's version, one transaction a step; several processes may do so at once.

    Raises StoreVersionError: a newer undrift has changed it so that this one cannot read it.
    """
    name = sql.Identifier(schema)
    if is_there(connection, schema) and _version(connection, name, schema, len(steps)) >= len(steps):
        return
    for number, step in enumerate(steps, 1):
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if number == 1:
                _prepare(connection, name)
            if _version(connection, name, schema, len(steps)) >= number:
                continue
            set_path(connection, schema)
            step.run(connection)
            connection.execute(sql.SQL(_NOTE).format(name), (number, step.least_reader))


def _prepare(connection: psycopg.Connection[Any], name: sql.Identifier) -> None:
    """Make the role, the schema and the table of versions, whichever is missing."""
    connection.execute(_ROLE.format(APP_ROLE))
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(name, sql.Identifier(APP_ROLE)))
    connection.execute(
        sql.SQL(
            """CREATE TABLE IF NOT EXISTS {}.versions(
            number int PRIMARY KEY, least_reader int NOT NULL, at timestamptz NOT NULL DEFAULT now())"""
        ).format(name)
    )


def _version(connection: psycopg.Connection[Any], name: sql.Identifier, schema: str, known: int) -> int:
    """Return the version of a schema, 0 for an empty one."""
    found = connection.execute(sql.SQL(_VERSION).format(name)).fetchone()
    version, least = found or (0, 0)
    if least > known:
        raise StoreVersionError(
            f"schema {schema}: it has version {version}, which undrift reads from step {least} on; this one knows {known}; "
            "nothing was changed. Update undrift"
        )
    return int(version)
