"""The months of a server: the sessions that began in a month go with its partitions, in one short transaction.

Law: a month is dropped whole, or not at all, and not while one of its sessions is in use. Memories stay: they belong to
their project, not to a session.
"""

from datetime import date
from typing import NamedTuple

from psycopg import sql

from undrift.errors import InputError, StoreError
from undrift.stores.postgres.people import ServerPeople

__all__ = ["MonthLine", "drop_month", "months"]

_IN_USE_DAYS = 30
_PARTITIONED = ("operations", "segments", "originals")
_MONTHS = """SELECT month, count(*), max(last_at_ms) FROM sessions GROUP BY month ORDER BY month"""
_BYTES = """SELECT coalesce(sum(pg_total_relation_size(i.relid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL pg_partition_tree(c.oid) i WHERE n.nspname = current_schema() AND c.relname = ANY(%s)"""
_USED = """SELECT count(*) FROM sessions WHERE month = %s
    AND last_at_ms > (extract(epoch FROM now()) * 1000)::bigint - %s::bigint * 86400000"""
_MARKS = """DELETE FROM marks m USING sessions s WHERE s.month = %s AND s.project = m.project AND s.person = m.person
    AND s.name = m.session"""
_SESSIONS = "DELETE FROM sessions WHERE month = %s"


class MonthLine(NamedTuple):
    """The sessions that began in one month. `last_at_ms`: the newest write to any of them, in Unix milliseconds."""

    month: date
    sessions: int
    last_at_ms: int
    size_bytes: int


def months(people: ServerPeople) -> list[MonthLine]:
    """Return the months of the server, the oldest first."""
    with people.as_owner() as connection:
        found = connection.execute(_MONTHS).fetchall()
        return [
            MonthLine(month, sessions, last, int((connection.execute(_BYTES, (_names(month),)).fetchone() or (0,))[0]))
            for month, sessions, last in found
        ]


def drop_month(people: ServerPeople, month: date) -> int:
    """Drop the sessions that began in a month; return their number.

    Raises:
        InputError: It is no first day of a month, or the server has none of it.
        StoreError: One of its sessions was used in the last 30 days; nothing was dropped.
    """
    if month.day != 1:
        raise InputError(f"{month}: name a month by its first day, as 2026-01-01")
    with people.as_owner() as connection:
        for table in _PARTITIONED:  # no writer meets a table that is going
            connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table)))
        used = (connection.execute(_USED, (month, _IN_USE_DAYS)).fetchone() or (0,))[0]
        if used:
            raise StoreError(
                f"{month:%Y-%m}: {used:,} of its sessions were used in the last {_IN_USE_DAYS} days; nothing was dropped"
            )
        connection.execute(_MARKS, (month,))
        dropped = connection.execute(_SESSIONS, (month,)).rowcount
        if not dropped:
            raise InputError(f"{month:%Y-%m}: the server has no sessions that began then")
        for name in _names(month):
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
    return dropped


def _names(month: date) -> list[str]:
    """Return the names of a month's partitions."""
    return [f"{table}_{month:%Y_%m}" for table in _PARTITIONED]
