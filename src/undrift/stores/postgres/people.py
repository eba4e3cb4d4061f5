"""The people of a server: their keys, what they used, and who read what of whom.

Law: a key is shown once and kept as its SHA-256. A change of people or keys needs the login that owns the tables.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import psycopg

from undrift.errors import InputError, StoreError
from undrift.stores import rows
from undrift.stores.postgres import schema
from undrift.stores.postgres.address import ServerAddress
from undrift.stores.postgres.connection import Caller, DatabaseServer, connected, set_path
from undrift.stores.postgres.opening import entered
from undrift.values.closing import Closing
from undrift.values.member import Member, hash_of
from undrift.values.scope import LOCAL, Scope

__all__ = ["AuditLine", "ListedKey", "ServerPeople", "key_label"]

_PREFIX = "undrift-"
_KEY_BYTES = 24
_SHOWN = 8
_MEMBER = "SELECT organisation, person, project FROM member(%s)"
_COUNT = "SELECT count_use(%s, %s, %s, %s)"
_ADD_KEY = """INSERT INTO credentials(digest, organisation, person, project, label, ends_at)
    VALUES(%s, %s, %s, %s, %s, CASE WHEN %s::int IS NULL THEN NULL ELSE now() + make_interval(days => %s::int) END)"""
_KEYS = """SELECT p.name, coalesce(j.name, ''::bytea), c.label, c.made_at, c.ends_at FROM credentials c
    JOIN organisations o ON o.number = c.organisation JOIN people p ON p.number = c.person
    LEFT JOIN projects j ON j.number = c.project WHERE o.name = %s ORDER BY p.name, c.made_at"""
_REVOKE = """DELETE FROM credentials c USING organisations o WHERE o.number = c.organisation AND o.name = %s AND c.label = %s"""
_AUDIT = """SELECT a.at, r.name, p.name, j.name, a.what, a.names FROM audit a JOIN organisations o ON o.number = a.organisation
    JOIN people r ON r.number = a.reader JOIN people p ON p.number = a.person JOIN projects j ON j.number = a.project
    WHERE o.name = %s ORDER BY a.number DESC LIMIT %s"""
_DESTROY = "UPDATE organisations SET key = NULL WHERE name = %s"
_BIND = """UPDATE people p SET login = %s FROM organisations o WHERE o.number = p.organisation AND o.name = %s AND p.name = %s"""


class ListedKey(NamedTuple):
    """A key for people. `label`: the beginning of the key; no part of it proves anything."""

    person: str
    project: str
    label: str
    made_at: datetime
    ends_at: datetime | None


class AuditLine(NamedTuple):
    """One read across people: who read what of whom."""

    at: datetime
    reader: str
    person: str
    project: str
    what: str
    names: tuple[str, ...]


class ServerPeople(Closing):
    """The people of the organisation that an address names; it keeps `Credentials` and `DayCounts`."""

    def __init__(self, home: str | os.PathLike[str], *, busy_timeout_ms: int = 5_000) -> None:
        self.address = ServerAddress.parsed(home)
        self._server: DatabaseServer = connected(self.address, busy_timeout_ms)
        self._organisation = rows.raw(self.address.owner.organisation)
        with self._server.owner() as connection:
            schema.migrate(connection, self.address.schema)
        entered(self._server, self.address.owner)  # the organisation is there from now on

    def member(self, key: str) -> Member | None:
        """Return the member whose key this is. None means: no member has it, or it has ended."""
        digest = bytes.fromhex(hash_of(key))
        (found,) = self._server.read(Caller(), (_MEMBER, (digest,)))
        for organisation, person, project in found:
            names = [rows.text_from(bytes(one)) for one in (person, project, organisation)]
            return Member(names[0], names[1] or LOCAL, names[2], key_label(key))
        return None

    def add(self, key: str, day: str, amount: int) -> int:
        """Add to a counter of a day, and return its total over all gateways."""
        values = (self._organisation, rows.raw(key), day, amount)
        (found,) = self._server.write(Caller(), (_COUNT, values))
        return int(found[0][0] or 0)

    def new_key(self, person: str, project: str = "", *, days: int | None = None) -> str:
        """Make a person's key, and the person and the project if they are new; it is returned only now.

        `project`: the only one of the key; empty: `local`. `days`: how long it counts; None: until it is revoked.
        """
        if not person:
            raise InputError("a key needs the name of a person")
        key = f"{_PREFIX}{secrets.token_urlsafe(_KEY_BYTES)}"
        owner = Scope(
            project=project or self.address.owner.project, person=person, organisation=self.address.owner.organisation
        )
        home = entered(self._server, owner)
        values = (
            bytes.fromhex(hash_of(key)), home.caller.organisation, home.caller.person, home.project if project else None,
            rows.raw(key_label(key)), days, days,
        )  # fmt: skip
        with self.as_owner() as connection:
            connection.execute(_ADD_KEY, values)
        return key

    def keys(self) -> list[ListedKey]:
        """Return the keys of the organisation, by person."""
        with self.as_owner() as connection:
            found = connection.execute(_KEYS, (self._organisation,)).fetchall()
        shown = rows.shown_text
        return [
            ListedKey(shown(person), shown(project), shown(label), *times) for person, project, label, *times in found
        ]

    def revoke(self, label: str) -> int:
        """Revoke the keys with a label; return how many there were."""
        with self.as_owner() as connection:
            return connection.execute(_REVOKE, (self._organisation, rows.raw(label))).rowcount

    def bind(self, person: str, login: str) -> None:
        """Let a login role of the database be one person: it can read and write as this person alone.

        Raises StoreError: there is no such person.
        """
        with self.as_owner() as connection:
            if not connection.execute(_BIND, (login, self._organisation, rows.raw(person))).rowcount:
                raise StoreError(f"there is no person {person[:80]!r}; make a key for the person first")

    def audit(self, most: int = 100) -> list[AuditLine]:
        """Return the newest reads across people, newest first."""
        with self.as_owner() as connection:
            found = connection.execute(_AUDIT, (self._organisation, most)).fetchall()
        shown = rows.shown_text
        return [
            AuditLine(at, shown(reader), shown(person), shown(project), what, tuple(map(shown, names)))
            for at, reader, person, project, what, names in found
        ]

    def destroy(self) -> bool:
        """Destroy the organisation's key, and with it all that it sealed, in every copy; False: there was none."""
        with self.as_owner() as connection:
            return connection.execute(_DESTROY, (self._organisation,)).rowcount > 0

    def close(self) -> None:
        """Give the connections back."""
        self._server.close()

    @contextmanager
    def as_owner(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection of the login that owns the tables, in a transaction."""
        with self._server.owner() as connection, connection.transaction():
            set_path(connection, self.address.schema)
            yield connection


def key_label(key: str) -> str:
    """Return the beginning of a key, to name it: 8 characters of 32 tell keys apart, and prove nothing."""
    return key[: len(_PREFIX) + _SHOWN]
