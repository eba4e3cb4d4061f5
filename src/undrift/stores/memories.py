"""Long-term memories in every version, and the statements in them.

Law: knows only its own tables; runs inside a transaction that the caller opened. A version is never changed: a change
closes it and adds another. If another process has changed a memory meanwhile, StoreConflict is raised and the caller rolls
back.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import apsw

from undrift.errors import InputError, StoreConflict, StoreCorrupt
from undrift.stores import memory_moves, memory_search, rows, timeline
from undrift.stores.memory_values import MemoryUpdate, Unchanged, Viewer, content_digest
from undrift.stores.table import Table, Writing
from undrift.values.memory import MemoryEntry, Slot

__all__ = [
    "GUARDS",
    "MAY_DISPUTE",
    "MEMORY_COLUMNS",
    "PreparedMemories",
    "TABLE",
    "add_slots",
    "by_digest",
    "by_id",
    "by_relation",
    "by_slot",
    "count_learned",
    "create",
    "disputing",
    "ever",
    "every",
    "history",
    "index_conflicts",
    "is_forgotten",
    "memory_from",
    "memory_row",
    "not_settled",
    "seen",
    "visible",
]

MEMORY_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(memory_id AS BLOB), CAST(scope AS BLOB),
    CAST(owner AS BLOB), CAST(record AS BLOB)"""
_IN_COLUMNS = frozenset({"id", "scope"})
_OFTEN_EMPTY = frozenset(
    {"contradiction_rule", "pinned", "source", "speaker", "agent", "session_id", "slots", "metadata"}
)
"""Fields of a record that are left out when they are empty. The defaults say the same, and the record is half as long."""

_CREATE = """
CREATE TABLE memories(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,  -- whose operation wrote this version
    memory_id TEXT NOT NULL,
    scope TEXT NOT NULL,  -- who sees it: project, agent or session
    owner TEXT NOT NULL,  -- which agent or session; empty for the project
    digest TEXT NOT NULL,  -- of its words, whatever their case and the space between them
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    to_seq INTEGER REFERENCES operations(seq),
    record_sha256 BLOB NOT NULL,
    record TEXT NOT NULL
);
CREATE UNIQUE INDEX memories_now ON memories(memory_id) WHERE to_seq IS NULL;
CREATE INDEX memories_by_id ON memories(memory_id);
CREATE INDEX memories_by_digest ON memories(digest);  -- of all versions: a rewinding closes thousands
CREATE INDEX memories_since ON memories(session_id, from_seq);
CREATE TABLE memory_slots(
    entity TEXT NOT NULL, relation TEXT NOT NULL, memory_id TEXT NOT NULL,
    PRIMARY KEY (relation, entity, memory_id)
) WITHOUT ROWID;
"""
MAY_DISPUTE = """instr(record, '"conflicts"') > 0"""
"""In a text JSON writes quotes otherwise, so this is a name of the record."""
_INDEX_CONFLICTS = f"CREATE INDEX memories_disputing ON memories(number) WHERE {MAY_DISPUTE}"
_SELECT = f"SELECT {MEMORY_COLUMNS} FROM memories t "  # noqa: S608 - constants of ours
_DISPUTING = f"{_SELECT} INDEXED BY memories_disputing WHERE {MAY_DISPUTE}"
_NOW = "t.to_seq IS NULL"
_SEEN = "(t.scope IN ('project', 'user') OR (t.scope = 'agent' AND t.owner = :agent) OR (t.scope = 'session' AND t.owner = :session))"
_IDS = f"t.memory_id IN {rows.IN_LIST.format(':ids')}"
_ADD = """INSERT INTO memories(session_id, memory_id, scope, owner, record_sha256, record, digest, from_seq)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?)"""
_CLOSE = "UPDATE memories SET to_seq = ? WHERE number = ?"
_ADD_SLOT = "INSERT INTO memory_slots(relation, entity, memory_id) VALUES(?, ?, ?) ON CONFLICT DO NOTHING"
_BY_RELATION = "SELECT memory_id FROM memory_slots WHERE relation = ? LIMIT 100"
_BY_SLOT = f"""SELECT s.memory_id FROM memory_slots s JOIN memories t ON t.memory_id = s.memory_id
    WHERE s.relation = ? AND s.entity = ? AND {_NOW} ORDER BY t.number DESC LIMIT 100"""  # noqa: S608
_LATEST = "t.number = (SELECT max(n.number) FROM memories n WHERE n.memory_id = t.memory_id)"
_IN_FORCE = "EXISTS (SELECT 1 FROM memories t WHERE t.memory_id = l.id AND t.to_seq IS NULL)"
_LEARNED = """EXISTS (SELECT 1 FROM memories t WHERE t.memory_id = l.id AND t.to_seq IS NULL AND instr(t.record, '"learned":') > 0)"""
_COUNT_LEARNED = f"""SELECT count(*) FROM memory_lines l INDEXED BY memory_lines_in_source
    WHERE l.source <> '' AND l.scope = '' AND l.source >= ? AND l.source < ? AND {_LEARNED}"""  # noqa: S608
_LAST_CHANGE = """SELECT o.kind FROM memories t LEFT JOIN operations o ON o.seq = t.to_seq
    WHERE t.digest = ? AND coalesce(o.kind, '') NOT IN ('rewind', 'undo')
    ORDER BY coalesce(t.to_seq, t.from_seq) DESC, t.number DESC LIMIT 1"""
_NOT_SETTLED = (
    f"SELECT l.number, CAST(l.id AS BLOB), l.is_there FROM memory_lines l WHERE {{}} l.is_there <> {_IN_FORCE}"  # noqa: S608
)
_CHANGED = """l.id IN (SELECT memory_id FROM memories INDEXED BY memories_until WHERE to_seq > ?1
    UNION SELECT t.memory_id FROM gaps g JOIN memories t ON t.number = g.of_number
    WHERE g.of_table = 'memories' AND g.to_seq > ?1) AND"""
"""A rewind closes versions, or it opens some and records how long they were closed."""
_AGAIN = "nothing was written. Read the memories again and repeat the change"


class PreparedMemories(NamedTuple):
    """The changes of memories, checked and hashed."""

    session: str | bytes
    updates: Sequence[MemoryUpdate]
    new: Sequence[rows.Row | None]


def create(connection: apsw.Connection) -> None:
    """Make the tables."""
    connection.execute(_CREATE)


def index_conflicts(connection: apsw.Connection) -> None:
    """Make the index of the versions that record conflicts."""
    connection.execute(_INDEX_CONFLICTS)


def _prepared(session_id: str, updates: Sequence[MemoryUpdate]) -> PreparedMemories:
    """Check the updates.

    Raises InputError: two updates of one memory, an update without any memory, or values that JSON cannot hold.
    """
    ids: set[str] = set()
    for update in updates:
        one = update.after or update.before
        if one is None or one.id in ids or (update.before is not None and update.before.id != one.id):
            name = "" if one is None else f" {one.id[:64]!r}"
            raise InputError(f"memory{name}: a commit takes one update for each memory, of one and the same id")
        ids.add(one.id)
    new = [None if update.after is None else memory_row(session_id, update.after) for update in updates]
    return PreparedMemories(rows.key(session_id), updates, new)


def _write(writing: Writing, new: PreparedMemories) -> None:
    """Write the updates; an update that is already written is skipped.

    Raises StoreConflict: a stored memory equals neither the one before the change nor the one after it.
    """
    connection, seq = writing.connection, writing.seq
    removed: dict[str, str] = {}
    added: dict[str, str] = {}
    for update, row in zip(new.updates, new.new, strict=True):
        one = update.after or update.before
        assert one is not None  # `prepared` has refused it
        found: list[Any] = connection.execute(
            _SELECT + f"WHERE t.memory_id = ? AND {_NOW}", (rows.key(one.id),)
        ).fetchall()
        now = memory_from(found[0]) if found else None
        if now == update.after:
            continue
        if now != update.before:
            raise StoreConflict(f"memory {one.id[:64]!r}: it was changed meanwhile, by another agent; {_AGAIN}")
        if found:
            connection.execute(_CLOSE, (seq, found[0][0]))
        if row is not None and update.after is not None:
            connection.execute(_ADD, (*row, content_digest(update.after.content), seq))
            add_slots(connection, update.after)
            if update.before is None:
                added[update.after.id] = update.after.content
        elif update.before is not None:
            removed[update.before.id] = update.before.content
    for texts, move in ((removed, memory_moves.take_back), (added, memory_moves.bring_back)):
        numbers = memory_search.numbers_of(connection, texts)  # of an added one: it was there before
        if numbers:
            move(connection, {number: texts[one] for one, number in numbers.items()})


def _check(connection: apsw.Connection, unchanged: Unchanged) -> None:
    """Refuse new memories that depend on memories which have changed; called after the insert.

    Raises StoreConflict: another one was added meanwhile.
    """
    found = {one.id for one in by_digest(connection, unchanged.digest, unchanged.viewer)}
    stated = {one.id for one in by_slot(connection, unchanged.keys, unchanged.viewer)}
    if not (found.issubset(unchanged.same) and stated.issubset(unchanged.alike)):
        raise StoreConflict(
            "another agent has remembered something about the same meanwhile; nothing was written. Repeat it"
        )


def by_id(connection: apsw.Connection, ids: Collection[str], viewer: Viewer | None = None) -> dict[str, MemoryEntry]:
    """Return memories by id, as `viewer` may see them. None means: all of them, in their newest version.

    Raises StoreCorrupt: a record does not match its SHA-256.
    """
    values: dict[str, Any] = {"ids": rows.listed(ids)}
    where = _IDS
    if viewer is not None:
        values |= {"agent": rows.key(viewer.agent), "session": rows.key(viewer.session_id)}
        where += f" AND {_SEEN}"
    where += f" AND {_moment(viewer, values)}"
    entries = _read(connection, where, values)
    wanted = set(ids)
    return {entry.id: entry for entry in entries if entry.id in wanted}


def by_digest(connection: apsw.Connection, digest: str, viewer: Viewer) -> list[MemoryEntry]:
    """Return the current memories with this content digest that a viewer may see."""
    values: dict[str, Any] = {"agent": rows.key(viewer.agent), "session": rows.key(viewer.session_id), "digest": digest}
    return _read(connection, f"t.digest = :digest AND {_SEEN} AND {_NOW} ORDER BY t.number", values)


def is_forgotten(connection: apsw.Connection, digest: str) -> bool:
    """Tell whether a `forget` is the last change of the memories with this digest; what a rewind closed does not count."""
    found: list[Any] = connection.execute(_LAST_CHANGE, (digest,)).fetchall()
    return bool(found) and found[0][0] == "forget"


def count_learned(connection: apsw.Connection, start: str) -> int:
    """Return the number of active memories that all agents see and that were learned from such sources."""
    found: list[Any] = connection.execute(_COUNT_LEARNED, (rows.key(start), rows.key(f"{start}\U0010ffff"))).fetchall()
    return int(found[0][0])


def seen(connection: apsw.Connection, viewer: Viewer | None) -> list[MemoryEntry]:
    """Return every memory that a viewer may see, oldest first. None means: all that are not forgotten."""
    if viewer is None:
        found = every(connection)
    else:
        values: dict[str, Any] = {"agent": rows.key(viewer.agent), "session": rows.key(viewer.session_id)}
        found = _read(connection, f"{_SEEN} AND {_moment(viewer, values)} ORDER BY t.number", values)
    return sorted(found, key=lambda entry: entry.seq)  # a later version is not a younger memory


def disputing(connection: apsw.Connection, viewer: Viewer) -> list[MemoryEntry]:
    """Return the memories that a viewer may see and that may record conflicts, oldest first."""
    values: dict[str, Any] = {"agent": rows.key(viewer.agent), "session": rows.key(viewer.session_id)}
    sql = f"{_DISPUTING} AND {_SEEN} AND {_moment(viewer, values)} ORDER BY t.number"
    found: list[Any] = connection.execute(sql, values).fetchall()
    return sorted((memory_from(row) for row in found), key=lambda entry: entry.seq)


def visible(connection: apsw.Connection, ids: Collection[str], viewer: Viewer) -> set[str]:
    """Return those ids whose memories a viewer may see; no record is parsed."""
    values: dict[str, Any] = {"agent": rows.key(viewer.agent), "session": rows.key(viewer.session_id)}
    values["ids"] = rows.listed(ids)
    found: Iterable[Any] = connection.execute(
        f"SELECT CAST(t.memory_id AS BLOB) FROM memories t WHERE {_IDS} AND {_SEEN} AND {_moment(viewer, values)}",  # noqa: S608
        values,
    )
    return {bytes(one).decode("utf-8", "surrogatepass") for (one,) in found}


def by_slot(connection: apsw.Connection, keys: Iterable[tuple[str, str]], viewer: Viewer) -> list[MemoryEntry]:
    """Return the memories about these pairs of relation and entity: the newest 100 of each pair."""
    ids = {
        one if isinstance(one, str) else bytes(one).decode("utf-8", "surrogatepass")
        for relation, entity in keys
        for (one,) in connection.execute(_BY_SLOT, (rows.key(relation), rows.key(entity)))
    }
    return sorted(by_id(connection, ids, viewer).values(), key=lambda entry: entry.seq) if ids else []


def by_relation(connection: apsw.Connection, relations: Iterable[str], viewer: Viewer) -> list[MemoryEntry]:
    """Return the memories about these relations, of any entity: at most 100 of each relation."""
    ids = {
        one if isinstance(one, str) else bytes(one).decode("utf-8", "surrogatepass")
        for relation in relations
        for (one,) in connection.execute(_BY_RELATION, (rows.key(relation),))
    }
    return sorted(by_id(connection, ids, viewer).values(), key=lambda entry: entry.seq) if ids else []


def every(connection: apsw.Connection) -> list[MemoryEntry]:
    """Return the current version of every memory in the home, oldest first."""
    return _read(connection, f"{_NOW} ORDER BY t.number", {})


def ever(connection: apsw.Connection, ids: Collection[str] | None = None) -> list[MemoryEntry]:
    """Return the newest version of every memory, active or not, oldest first, to rebuild indexes.

    `ids`: only these memories; None: all.
    """
    some = "" if ids is None else f" AND {_IDS}"
    values = {} if ids is None else {"ids": rows.listed(ids)}
    found = _read(connection, _LATEST + some, values)
    return sorted(found, key=lambda entry: entry.seq)


def not_settled(connection: apsw.Connection, since: int | None = None) -> tuple[dict[str, int], dict[str, int]]:
    """Return, by id, the memories that the search wrongly treats as active, and as not active.

    `since`: an operation; only memories that changed after it are compared. None: all.
    """
    sql, values = (_NOT_SETTLED.format(""), ()) if since is None else (_NOT_SETTLED.format(_CHANGED), (since,))
    found: list[Any] = connection.execute(sql, values).fetchall()
    named = [(bytes(one).decode("utf-8", "surrogatepass"), number, is_there) for number, one, is_there in found]
    wrong, missing = ({one: number for one, number, is_there in named if is_there == flag} for flag in (1, 0))
    return wrong, missing


def history(connection: apsw.Connection, memory_id: str) -> list[MemoryEntry]:
    """Return every version of a memory, oldest first."""
    found = connection.execute(_SELECT + "WHERE t.memory_id = ? ORDER BY t.number", (rows.key(memory_id),)).fetchall()
    return [memory_from(row) for row in found]


def _read(connection: apsw.Connection, where: str, values: dict[str, Any]) -> list[MemoryEntry]:
    found: list[Any] = connection.execute(f"{_SELECT} WHERE {where}", values).fetchall()
    return [memory_from(row) for row in found]


def _moment(viewer: Viewer | None, values: dict[str, Any]) -> str:
    if viewer is None or viewer.seq is None:
        return _NOW
    values["then"] = viewer.seq
    return timeline.there("memories", "t", ":then")


def add_slots(connection: apsw.Connection, entry: MemoryEntry) -> None:
    keys = {(rows.key(slot.relation), rows.key(slot.entity), rows.key(entry.id)) for slot in entry.slots}
    connection.executemany(_ADD_SLOT, sorted(keys, key=str))


def memory_row(session_id: str, entry: MemoryEntry) -> rows.Row:
    """Return the values of a version of a memory: session_id, memory_id, scope, owner, record_sha256, record."""
    fields: dict[str, Any] = {}
    for name in entry.__slots__:
        value = getattr(entry, name)
        if name not in _IN_COLUMNS and value is not None and (value or name not in _OFTEN_EMPTY):
            fields[name] = [asdict(slot) for slot in value] if name == "slots" else value
    record = rows.dump(fields, "memory %r", entry.id, encode=rows.ENCODE_SORTED)
    owner = {"agent": entry.agent, "session": entry.session_id}.get(entry.scope, "")
    texts = (session_id, entry.id, entry.scope, owner)
    return *map(rows.key, texts), rows.digest(*map(rows.raw, texts), record), record


def memory_from(row: rows.Row) -> MemoryEntry:
    """Read a version of a memory from a row. Raises StoreCorrupt."""
    number, digest, _, memory_id, scope, _, record = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"memory {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        fields = rows.load(record)
        fields["slots"] = tuple(Slot(**slot) for slot in fields.get("slots", ()))
        scope_: Any = rows.text_from(scope)
        return MemoryEntry(rows.text_from(memory_id), scope=scope_, **fields)
    except (*rows.FORGED, KeyError) as error:
        raise StoreCorrupt(f"memory {number} was not written by undrift: {error}; {rows.REMEDY}") from error


def _check_all(writing: Writing, guards: Sequence[Unchanged]) -> None:
    for one in guards:
        _check(writing.connection, one)


def _as_they_are(_: str, changes: Sequence[Any]) -> Sequence[Any]:
    return changes


TABLE = Table(
    "memories",
    MEMORY_COLUMNS,
    memory_from,
    changes=(MemoryUpdate,),
    prepare=_prepared,
    write=_write,
    key="t.memory_id",
    rewinds=True,
    shared="memory_id",
    of_session=False,
)
GUARDS = Table("", changes=(Unchanged,), prepare=_as_they_are, write=_check_all, of_session=False)
