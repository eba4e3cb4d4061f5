"""Changes of memories as parts of a commit, and their settlement after a rewind.

Law: a project's memories have one clock, and each change moves it. A commit names the clock at which it compared its
memories; if it has moved, nothing is written. Spans say when which version was active; they follow from the events.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from undrift.errors import DimensionError, StoreConflict
from undrift.stores import rows
from undrift.stores.memories import memory_from
from undrift.stores.memory_values import MemoryLine, MemoryLines, Unchanged, Viewer, content_digest
from undrift.stores.postgres.changes import Additions
from undrift.stores.postgres.log import Home
from undrift.stores.timeline import stretches
from undrift.values.memory import MemoryEntry

__all__ = [
    "CURRENT",
    "MemoryParts",
    "Settled",
    "digest_number",
    "digests",
    "is_shared",
    "line_from",
    "memory_parts",
    "opened_record",
    "opened_version",
    "sealed_line",
    "sealed_record",
    "sealed_row",
    "settled",
    "slot_numbers",
    "vectors_place",
]

CURRENT = "s.to_clock IS NULL"
_CLOCK = "SELECT clock FROM projects WHERE number = %s"
_NOW = f"""SELECT e.name, e.record FROM memory_spans s JOIN memory_events e USING (project, clock, part)
    WHERE s.project = %s AND {CURRENT} AND s.name = ANY(%s)"""  # noqa: S608 - constants of ours, as below
_SAME = f"""SELECT e.name FROM memory_spans s JOIN memory_events e USING (project, clock, part)
    WHERE s.project = %(project)s AND {CURRENT} AND (e.visibility IN ('project', 'user')
        OR (e.visibility = 'agent' AND e.owner = %(agent)s) OR (e.visibility = 'session' AND e.owner = %(session)s))
    AND e.digest = %(digest)s"""  # noqa: S608
_ALIKE = f"""SELECT e.name FROM memory_spans s JOIN memory_events e USING (project, clock, part)
    JOIN memory_slots t ON t.project = s.project AND t.name = s.name
    JOIN unnest(%(relations)s::bigint[], %(entities)s::bigint[]) AS k(relation, entity)
        ON k.relation = t.relation AND k.entity = t.entity
    WHERE s.project = %(project)s AND {CURRENT} AND (e.visibility IN ('project', 'user')
        OR (e.visibility = 'agent' AND e.owner = %(agent)s) OR (e.visibility = 'session' AND e.owner = %(session)s))"""  # noqa: S608
_EVENTS = """, ev AS (INSERT INTO memory_events(project, clock, part, organisation, person, is_shared, session, seq, act, name,
        visibility, owner, digest, is_learned, has_conflicts, record)
    SELECT s.project, p.clock, x.part, s.organisation, s.person, x.is_shared, s.number, s.last_seq, %(kind)s, x.name,
        x.visibility, x.owner, x.digest, x.is_learned, x.has_conflicts, x.record
    FROM s, p, unnest(%(m_part)s::int[], %(m_shared)s::bool[], %(m_name)s::bytea[], %(m_visibility)s::text[], %(m_owner)s::bytea[],
        %(m_digest)s::bigint[], %(m_learned)s::bool[], %(m_conflicts)s::bool[], %(m_record)s::bytea[])
        AS x(part, is_shared, name, visibility, owner, digest, is_learned, has_conflicts, record))
, closed AS (UPDATE memory_spans m SET to_clock = p.clock FROM p
    WHERE m.project = %(project)s AND m.to_clock IS NULL AND m.name = ANY(%(m_name)s))"""
_SLOTS = """, slot AS (INSERT INTO memory_slots(project, relation, entity, name, organisation, person, is_shared)
    SELECT s.project, x.relation, x.entity, x.name, s.organisation, s.person, x.is_shared
    FROM s, unnest(%(t_relation)s::bigint[], %(t_entity)s::bigint[], %(t_name)s::bytea[], %(t_shared)s::bool[])
        AS x(relation, entity, name, is_shared) ON CONFLICT DO NOTHING)"""
_LINES = """, line AS (INSERT INTO memory_lines(project, name, organisation, person, is_shared, line, embedder, dimension, vectors)
    SELECT s.project, x.name, s.organisation, s.person, x.is_shared, x.line, x.embedder, x.dimension, x.vectors
    FROM s, unnest(%(l_name)s::bytea[], %(l_shared)s::bool[], %(l_line)s::bytea[], %(l_embedder)s::text[], %(l_dimension)s::int[],
        %(l_vectors)s::bytea[]) WITH ORDINALITY AS x(name, is_shared, line, embedder, dimension, vectors, n)
    WHERE EXISTS (SELECT 1 FROM p) ORDER BY x.n ON CONFLICT (project, person, name) DO NOTHING)"""
_OPEN = """INSERT INTO memory_spans(project, name, clock, part, organisation, person, is_shared, from_clock)
    SELECT e.project, e.name, e.clock, e.part, e.organisation, e.person, e.is_shared, e.clock
    FROM operations o JOIN sessions s ON s.month = o.month AND s.number = o.session
    JOIN memory_events e ON e.project = s.project AND e.session = o.session AND e.seq = o.seq
    WHERE s.project = %(project)s AND s.person = %(person)s AND s.name = %(name)s AND o.seq = s.last_seq AND o.token = %(token)s
    AND e.record IS NOT NULL"""
_OF_SESSION = """SELECT e.name, e.clock, e.part, e.session, e.seq, e.record IS NOT NULL,
        EXISTS (SELECT 1 FROM memory_spans s WHERE s.project = e.project AND s.clock = e.clock AND s.part = e.part AND s.to_clock IS NULL)
    FROM memory_events e WHERE e.project = %s AND e.name IN (SELECT n.name FROM memory_events n WHERE n.session = %s)
    ORDER BY e.clock, e.part"""
_MOVES = "SELECT session, seq, target FROM moves WHERE project = %s ORDER BY session, seq"
_WRITTEN = """SELECT e.name, e.record FROM memory_spans s JOIN memory_events e USING (project, clock, part)
    WHERE s.project = %(project)s AND e.session = %(session)s AND CASE WHEN %(clock)s::bigint IS NULL THEN s.to_clock IS NULL
        ELSE s.from_clock <= %(clock)s AND (s.to_clock IS NULL OR s.to_clock > %(clock)s) END"""
_MOVED = """, moved AS (INSERT INTO moves(project, session, seq, target, clock, organisation)
    SELECT s.project, s.number, s.last_seq, %(target)s, p.clock, s.organisation FROM s, p)
, shut AS (UPDATE memory_spans m SET to_clock = p.clock FROM p WHERE m.project = %(project)s AND m.to_clock IS NULL
    AND m.name = ANY(%(c_name)s))"""
_REOPEN = """INSERT INTO memory_spans(project, name, clock, part, organisation, person, is_shared, from_clock)
    SELECT e.project, e.name, e.clock, e.part, e.organisation, e.person, e.is_shared, j.clock
    FROM memory_events e JOIN unnest(%(o_clock)s::bigint[], %(o_part)s::int[]) AS x(clock, part) ON x.clock = e.clock AND x.part = e.part
    JOIN projects j ON j.number = e.project WHERE e.project = %(project)s AND EXISTS (
        SELECT 1 FROM operations o JOIN sessions s ON s.month = o.month AND s.number = o.session
        WHERE s.project = %(project)s AND s.person = %(person)s AND s.name = %(name)s AND o.seq = s.last_seq AND o.token = %(token)s)"""


class MemoryParts(NamedTuple):
    """The additions of a commit to its statement, for memories.

    Args:
        parts: Parts of the statement, with their values.
        after: Statements that follow it in the same transaction.
        clock: The project's clock that the memories were compared at.
        moves: True: the commit moves the clock.
        top_seq: The greatest `seq` of its memories.
    """

    parts: Sequence[tuple[str, dict[str, Any]]] = ()
    after: Sequence[str] = ()
    clock: int | None = None
    moves: bool = False
    top_seq: int = 0


class Settled(NamedTuple):
    """The effect of a rewind on memories: the parts of its commit, and how many became inactive and active."""

    parts: MemoryParts
    closed: int
    opened: int


def memory_parts(home: Home, additions: Additions) -> MemoryParts:
    """Compare the changes of memories with the stored ones, and return what writes them.

    Raises:
        StoreConflict: A memory was changed meanwhile, or one was added that the new ones depend on.
        DimensionError: A vector has another length than its embedder says.
    """
    if not (additions.updates or additions.lines or additions.guards):
        return MemoryParts()
    ids = [rows.raw(_of(update).id) for update, _ in additions.updates]
    checks = [one for guard in additions.guards for one in _guard_statements(home, guard)]
    found = home.server.read(home.caller, (_CLOCK, (home.project,)), (_NOW, (home.project, ids)), *checks)
    clock = found[0][0][0]
    now = {bytes(name): opened_record(home, bytes(name), record) for name, record in found[1]}
    new = []
    for update, row in additions.updates:
        known = now.get(rows.raw(_of(update).id))
        if known == update.after:
            continue
        if known != update.before:
            raise StoreConflict(
                f"memory {_of(update).id[:64]!r}: it was changed meanwhile, by another agent; nothing was written. "
                "Read the memories again and repeat the change"
            )
        new.append((update, row))
    _check_guards(additions.guards, found[2:], [update.after for update, _ in new if update.after is not None])
    parts: list[tuple[str, dict[str, Any]]] = []
    after = []
    if new:
        parts.append((_EVENTS, _event_values(home, new)))
        after.append(_OPEN)
        slots = _slot_values(home, [update.after for update, _ in new if update.after is not None])
        if slots["t_name"]:
            parts.append((_SLOTS, slots))
    if additions.lines:
        parts.append((_LINES, _line_values(home, additions)))
    top = max((update.after.seq for update, _ in new if update.after is not None), default=0)
    return MemoryParts(parts, after, clock, bool(parts), top)


def settled(home: Home, session: int, rewinds: Sequence[tuple[int, int]], seq: int, then: int) -> Settled:
    """Return what a rewind of a session does to the memories that it changed.

    Args:
        session: The session's number.
        rewinds: Its earlier rewinds, each with its target.
        seq: The number of this one.
        then: The operation that it goes back to.
    """
    found = home.server.read(
        home.caller, (_CLOCK, (home.project,)), (_OF_SESSION, (home.project, session)), (_MOVES, (home.project,))
    )
    moves: dict[int, list[tuple[int, int]]] = {}
    for owner, at, target in found[2]:
        moves.setdefault(owner, []).append((at, target))
    moves[session] = [*rewinds, (seq, then)]
    counts: dict[int, Callable[[int], bool]] = {}
    chosen: dict[bytes, tuple[int, int] | None] = {}
    active: dict[bytes, tuple[int, int]] = {}
    for name, clock, part, owner, at, is_there, is_active in found[1]:
        if owner not in counts:
            counts[owner] = _counting(moves.get(owner, ()))
        if counts[owner](at):
            chosen[bytes(name)] = (clock, part) if is_there else None
        if is_active:
            active[bytes(name)] = (clock, part)
    names = chosen.keys() | active.keys()
    changed = [name for name in names if chosen.get(name) != active.get(name)]
    opened = [place for name in changed if (place := chosen.get(name)) is not None]
    values = {
        "target": then,
        "c_name": changed,
        "o_clock": [one for one, _ in opened],
        "o_part": [one for _, one in opened],
    }
    parts = MemoryParts([(_MOVED, values)], [_REOPEN] if opened else [], found[0][0][0], moves=True)
    return Settled(parts, sum(name in active for name in changed), len(opened))


def _counting(moves: Sequence[tuple[int, int]]) -> Callable[[int], bool]:
    spans = stretches(moves, 2**62)
    return lambda seq: any(one.first <= seq <= one.last for one in spans)


def digests(home: Home, session: int, clock: int | None) -> dict[str, bytes]:
    """Return the SHA-256 of each active memory that a session wrote, by id; now, or at a clock."""
    (found,) = home.server.read(home.caller, (_WRITTEN, {"project": home.project, "session": session, "clock": clock}))
    return {
        rows.text_from(bytes(name)): _unjoined(home.seal.open(bytes(record), b"memory " + bytes(name)))[1]
        for name, record in found
    }


def opened_record(home: Home, name: bytes, record: bytes) -> MemoryEntry:
    """Read a version of a memory. Raises StoreCorrupt."""
    return opened_version(home, name, record)[1]


def opened_version(home: Home, name: bytes, record: bytes) -> tuple[bytes, MemoryEntry]:
    """Read the session that wrote a version of a memory, and the version. Raises StoreCorrupt."""
    session, digest, scope, owner, text = _unjoined(home.seal.open(bytes(record), b"memory " + name))
    return session, memory_from((0, digest, session, name, scope, owner, text))


def sealed_row(home: Home, name: bytes, record: bytes) -> rows.Row:
    """Return a version's row, as `memory_row` makes it with its texts as bytes. Raises StoreCorrupt."""
    session, digest, scope, owner, text = _unjoined(home.seal.open(bytes(record), b"memory " + name))
    memory_from((0, digest, session, name, scope, owner, text))
    return session, name, scope, owner, digest, text


def sealed_record(home: Home, row: rows.Row) -> bytes:
    """Return a new version's row (as `memory_row` returns it), sealed."""
    session, name, scope, owner, digest, text = (one.encode() if isinstance(one, str) else one for one in row)
    return home.seal.close(_joined(session, digest, scope, owner, text), b"memory " + name)


def digest_number(home: Home, digest: str) -> int:
    """Return the number that replaces the digest of a content."""
    return home.seal.number(b"digest", digest.encode())


def slot_numbers(home: Home, relation: str, entity: str) -> tuple[int, int]:
    """Return the numbers that replace a relation, and an entity."""
    return home.seal.number(b"relation", rows.raw(relation)), home.seal.number(b"entity", rows.raw(entity))


def is_shared(home: Home, visibility: str) -> bool:
    """Tell whether all people in the project see a memory: in an organisation with a name, those of the project."""
    return home.is_team and visibility == "project"


def vectors_place(name: bytes) -> bytes:
    """Return the place that a memory's vectors are sealed for: a vector tells much of its text."""
    return b"vectors " + name


def line_from(home: Home, name: bytes, line: bytes) -> MemoryLine:
    """Read what is searched of a memory. Raises StoreCorrupt."""
    fields = rows.load(home.seal.open(bytes(line), b"line " + name))
    return MemoryLine(**fields)


def sealed_line(home: Home, line: MemoryLine) -> bytes:
    """Return what is searched of a memory, sealed."""
    return home.seal.close((rows.dump(line._asdict(), "line") or "").encode(), b"line " + rows.raw(line.id))


def _of(update: Any) -> MemoryEntry:
    one = update.after or update.before
    assert isinstance(one, MemoryEntry)  # `prepared` has refused it
    return one


def _event_values(home: Home, new: Sequence[tuple[Any, Any]]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {f"m_{name}": [] for name in (
        "part", "shared", "name", "visibility", "owner", "digest", "learned", "conflicts", "record")}  # fmt: skip
    for place, (update, row) in enumerate(new):
        one = _of(update)
        owner = {"agent": one.agent, "session": one.session_id}.get(one.scope, "")
        fields = (
            place, is_shared(home, one.scope), rows.raw(one.id), one.scope, rows.raw(owner),
            digest_number(home, content_digest(one.content)), "learned" in one.metadata, "conflicts" in one.metadata,
            None if row is None else sealed_record(home, row),
        )  # fmt: skip
        for name, value in zip(values, fields, strict=True):
            values[name].append(value)
    return values


def _slot_values(home: Home, entries: Sequence[MemoryEntry]) -> dict[str, list[Any]]:
    keys = {
        (*slot_numbers(home, slot.relation, slot.entity), rows.raw(one.id), is_shared(home, one.scope))
        for one in entries
        for slot in one.slots
    }
    names = ("t_relation", "t_entity", "t_name", "t_shared")
    return {name: [one[place] for one in sorted(keys)] for place, name in enumerate(names)}


def _line_values(home: Home, additions: Additions) -> dict[str, list[Any]]:
    shared = {_of(update).id: is_shared(home, _of(update).scope) for update, _ in additions.updates}
    values: dict[str, list[Any]] = {
        f"l_{name}": [] for name in ("name", "shared", "line", "embedder", "dimension", "vectors")
    }
    for some in additions.lines:
        vectors = [None] * len(some.lines) if not some.embedder else [_vector_bytes(some, one) for one in some.vectors]
        for line, vector in zip(some.lines, vectors, strict=True):
            name = rows.raw(line.id)
            sealed = sealed_line(home, line)
            kept = None if vector is None else home.seal.close(vector, vectors_place(name))
            fields = (name, shared.get(line.id, False), sealed, some.embedder, some.dimension, kept)
            for key, value in zip(values, fields, strict=True):
                values[key].append(value)
    return values


def _vector_bytes(some: MemoryLines, vector: Any) -> bytes:
    """Return a memory's vectors as float32, its own first. Raises DimensionError."""
    import numpy as np

    given = np.asarray(vector, "<f4")
    table = given if given.ndim == 2 else given.reshape(1, -1)
    if table.shape[1] != some.dimension:
        raise DimensionError(
            f"embedder {some.embedder!r:.80}: a vector of shape {given.shape}, its index has length {some.dimension}"
        )
    return bytes(table.tobytes())


def _guard_statements(home: Home, guard: Unchanged) -> list[tuple[str, Any]]:
    pairs = [slot_numbers(home, *key) for key in guard.keys]
    values = {
        "project": home.project, "digest": digest_number(home, guard.digest), **_viewer(guard.viewer),
        "relations": [one for one, _ in pairs], "entities": [one for _, one in pairs],
    }  # fmt: skip
    return [(_SAME, values), (_ALIKE, values)]


def _viewer(viewer: Viewer) -> dict[str, bytes]:
    return {"agent": rows.raw(viewer.agent), "session": rows.raw(viewer.session_id)}


def _check_guards(guards: Sequence[Unchanged], found: Sequence[Any], new: Sequence[MemoryEntry]) -> None:
    """Refuse new memories that depend on memories which have changed; those of this commit count too."""
    for guard, same, alike in zip(guards, found[::2], found[1::2], strict=True):
        seen = [one for one in new if _sees(guard.viewer, one)]
        keys = {tuple(one) for one in guard.keys}
        held = {rows.raw(one.id) for one in seen if content_digest(one.content) == guard.digest}
        stated = {rows.raw(one.id) for one in seen if any((slot.relation, slot.entity) in keys for slot in one.slots)}
        for names, more, allowed in ((same, held, guard.same), (alike, stated, guard.alike)):
            if not {bytes(name) for (name,) in names} | more <= {rows.raw(one) for one in allowed}:
                raise StoreConflict(
                    "another agent has remembered something about the same meanwhile; nothing was written. Repeat it"
                )


def _sees(viewer: Viewer, entry: MemoryEntry) -> bool:
    if entry.scope in ("project", "user"):
        return True
    return entry.agent == viewer.agent if entry.scope == "agent" else entry.session_id == viewer.session_id


def _joined(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _unjoined(data: bytes) -> list[bytes]:
    found, place = [], 0
    while place < len(data):
        end = place + 4 + int.from_bytes(data[place : place + 4], "big")
        found.append(data[place + 4 : end])
        place = end
    return found
