"""Rewinds: records that were active right after an operation become active again; nothing is deleted.

Law: a rewind closes rows and opens others, for one session, inside a transaction that the caller opened.
"""

import json
from typing import Any, NamedTuple

import apsw

from undrift.stores.rows import IN_LIST, listed
from undrift.stores.table import Table
from undrift.stores.tables import REWINDING, TABLES
from undrift.stores.timeline import Stretch, moves, reopen, stretches, there

__all__ = ["Change", "change", "present", "state"]

_MISSED = """SELECT 1 FROM gaps g WHERE g.of_table = '{table}' AND g.of_number = t.number
        AND g.from_seq <= :then AND g.to_seq > :then"""
_CLOSE = """UPDATE {table} AS t SET to_seq = :now WHERE t.session_id = :session AND t.to_seq IS NULL
    AND t.from_seq > :then{own}{alone} RETURNING number"""
_CLOSE_AGAIN = """UPDATE {table} AS t SET to_seq = :now WHERE t.session_id = :session AND t.to_seq IS NULL{own}{alone}
    AND t.number IN (SELECT g.of_number FROM gaps g WHERE g.of_table = '{table}' AND g.to_seq > :then
        AND g.from_seq <= :then) RETURNING number"""
_BACK = f"""SELECT t.number FROM {{table}} t WHERE t.session_id = :session AND t.to_seq > :then
    AND t.from_seq <= :then{{own}}{{alone}} AND NOT EXISTS ({_MISSED})"""  # noqa: S608 - constants of ours
_ALONE = f" AND t.{{key}} NOT IN {IN_LIST.format(':shared')}"
_MET = """SELECT t.{key} FROM {table} t JOIN operations o ON o.seq = t.to_seq
    WHERE t.to_seq > :then AND (t.session_id = :session) <> (o.session_id = :session)
UNION SELECT t.{key} FROM gaps g JOIN {table} t ON t.number = g.of_number
    JOIN operations o ON o.seq = g.from_seq JOIN operations p ON p.seq = g.to_seq
    WHERE g.of_table = '{table}' AND g.to_seq > :then
    AND (t.session_id = :session) + (o.session_id = :session) + (p.session_id = :session) IN (1, 2)"""
"""Keys of records that this session and another one have both changed, one of them after the operation."""
_VERSIONS = """SELECT number, session_id, from_seq, to_seq FROM {table} WHERE {key} = ? ORDER BY number"""
_REMOVALS = """SELECT o.seq, o.session_id FROM operations o WHERE o.kind NOT IN ('rewind', 'undo') AND (
    o.seq IN (SELECT t.to_seq FROM {table} t WHERE t.{key} = ?1)
    OR o.seq IN (SELECT g.from_seq FROM gaps g JOIN {table} t ON t.number = g.of_number
        WHERE g.of_table = '{table}' AND t.{key} = ?1))
    AND o.seq NOT IN (SELECT t.from_seq FROM {table} t WHERE t.{key} = ?1)"""
_OF_BUFFER = """SELECT 1 FROM decisions d JOIN originals o ON o.session_id = d.session_id AND o.entry_id = d.entry_id
    WHERE d.number IN (SELECT value FROM json_each(?)) AND o.source = 'buffer' LIMIT 1"""


class Change(NamedTuple):
    """The numbers of the rows that a rewind made inactive or active, by table."""

    closed: dict[str, list[int]]
    opened: dict[str, list[int]]

    @property
    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the number of rows of each table that were closed, and opened."""
        closed, opened = ({table: len(some) for table, some in part.items() if some} for part in self)
        return closed, opened

    def touches_buffer(self, connection: apsw.Connection) -> bool:
        """Tell whether the change includes a decision about a buffer's entry, because the index depends on those."""
        numbers = [*self.closed.get("decisions", ()), *self.opened.get("decisions", ())]
        if not numbers:
            return False
        return bool(connection.execute(_OF_BUFFER, (json.dumps(numbers),)).fetchall())


def change(
    connection: apsw.Connection, session: str | bytes, then: int, now: int, *, with_shared: bool = True
) -> Change:
    """Activate the rows that were active right after an operation.

    Later changes by another session stay: if both have changed a record, the newest version by an operation that counts
    is active.

    Args:
        connection: A connection in a transaction.
        session: The rows' session, in the form of `rows.key`.
        then: The operation to go back to.
        now: The rewind's own operation: the newest of this session.
        with_shared: False: records that several sessions change stay as they are.
    """
    closed: dict[str, list[int]] = {}
    opened: dict[str, list[int]] = {}
    tables = [one for one in present(connection) if with_shared or not one.shared]
    for table in tables:
        name = table.name
        values: dict[str, Any] = {"session": session, "then": then, "now": now}
        shared = _met(connection, table, session, then)
        parts = {"table": name, "own": f" AND {table.active}" if table.active else "", "alone": ""}
        if shared:
            parts["alone"] = _ALONE.format(key=table.shared)
            values["shared"] = listed(shared)
        opened[name] = _numbers(connection, _BACK.format(**parts), values)
        closed[name] = _numbers(connection, _CLOSE.format(**parts), values)
        closed[name] += _numbers(connection, _CLOSE_AGAIN.format(**parts), values)
        for key in shared:
            old, new = _settled(connection, table, key, (session, then, now))
            closed[name] += old
            opened[name] += new
    for table in tables:  # all are closed first: an opened row may have the same place
        reopen(connection, table.name, opened[table.name], now)
    return Change(closed, opened)


def state(connection: apsw.Connection, session: str | bytes, seq: int | None) -> dict[str, dict[str, bytes]]:
    """Return a session's active records as table -> key -> digest, now or right after an operation."""
    found: dict[str, dict[str, bytes]] = {}
    for table in (*present(connection), *(one for one in TABLES if one.key and not one.rewinds)):
        own = f" AND {table.active}" if table.active else ""
        when = "t.to_seq IS NULL" if seq is None else there(table.name, "t", ":then")
        rows = connection.execute(
            f"SELECT CAST({table.key} AS BLOB), t.record_sha256 FROM {table.name} t WHERE t.session_id = :session{own} AND {when}",  # noqa: S608
            {"session": session} if seq is None else {"session": session, "then": seq},
        )
        found[table.name] = {bytes(key).decode("utf-8", "surrogatepass"): bytes(digest) for key, digest in rows}
    return found


def present(connection: apsw.Connection) -> list[Table]:
    """Return the tables of this file that a rewind changes."""
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    names = {name for (name,) in found}
    return [table for table in REWINDING if table.name in names]


def _met(connection: apsw.Connection, table: Table, session: str | bytes, then: int) -> list[str]:
    if not table.shared:
        return []
    values = {"session": session, "then": then}
    found: list[Any] = connection.execute(_MET.format(table=table.name, key=table.shared), values).fetchall()
    return [key for (key,) in found]


def _settled(
    connection: apsw.Connection, table: Table, key: str, move: tuple[str | bytes, int, int]
) -> tuple[list[int], list[int]]:
    """Activate the right version of one record; return the numbers of rows to close and to open.

    `move`: the session, the operation to go back to, and the rewind's own operation.
    """
    session, then, now = move
    parts = {"table": table.name, "key": table.shared}
    versions: list[Any] = connection.execute(_VERSIONS.format(**parts), (key,)).fetchall()
    removals: list[Any] = connection.execute(_REMOVALS.format(**parts), (key,)).fetchall()
    events = [(seq, owner, None) for seq, owner in removals]
    events += [(from_seq, owner, number) for number, owner, from_seq, _ in versions]
    counted: dict[str | bytes, list[Stretch]] = {}
    for owner in {owner for _, owner, _ in events}:
        back = moves(connection, owner, now - 1)
        counted[owner] = stretches([*back, (now, then)] if owner == session else back, now)
    counts = [event for event in events if any(one.first <= event[0] <= one.last for one in counted[event[1]])]
    chosen = max(counts, key=lambda event: event[0])[2] if counts else None
    current = [number for number, _, _, to_seq in versions if to_seq is None]
    if current == [chosen] or (chosen is None and not current):
        return [], []
    _numbers(
        connection,
        f"UPDATE {table.name} SET to_seq = ? WHERE number IN (SELECT value FROM json_each(?)) RETURNING number",  # noqa: S608
        (now, json.dumps(current)),
    )
    return current, [] if chosen is None else [chosen]


def _numbers(connection: apsw.Connection, sql: str, values: Any) -> list[int]:
    found: list[Any] = connection.execute(sql, values).fetchall()
    return [number for (number,) in found]
