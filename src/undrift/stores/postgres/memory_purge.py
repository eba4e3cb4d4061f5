"""The purge of memories of a project on a server.

Law: only versions that the caller may see are read and touched. A version that other sessions restated is replaced by
its heir in its place in time; what a destroyed memory superseded is superseded by the heir, or active again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Aim
from undrift.stores.forgetting import restatements, without_evidence, without_restatements
from undrift.stores.memories import memory_row
from undrift.stores.memory_values import Heir, MemoryLine, content_digest
from undrift.stores.packing import FORGED
from undrift.stores.postgres.doomed import DoomedRecords
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.memory_log import (
    digest_number,
    is_shared,
    opened_version,
    sealed_line,
    sealed_record,
    slot_numbers,
)
from undrift.values.memory import MemoryEntry, heir_id

__all__ = ["Version", "destroy_memories", "memories_of", "memory_texts", "versions_of"]

_EVERY = "SELECT clock, part, person, name, record FROM memory_events WHERE project = %s ORDER BY clock, part"
_CHANGE = """UPDATE memory_events SET name = %s, visibility = %s, owner = %s, digest = %s, is_learned = %s, has_conflicts = %s,
    record = %s WHERE project = %s AND clock = %s AND part = %s"""
_RENAME = "UPDATE memory_spans SET name = %s WHERE project = %s AND clock = %s AND part = %s"
_DELETE = (
    "DELETE FROM memory_events WHERE project = %s AND name = ANY(%s)",  # its spans go with it
    "DELETE FROM memory_slots WHERE project = %s AND name = ANY(%s)",
    "DELETE FROM memory_lines WHERE project = %s AND name = ANY(%s)",
)
_SLOT = """INSERT INTO memory_slots(project, relation, entity, name, organisation, person, is_shared)
    VALUES(%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"""
_LINE = """INSERT INTO memory_lines(project, name, organisation, person, is_shared, line) VALUES(%s, %s, %s, %s, %s, %s)
    ON CONFLICT (project, person, name) DO UPDATE SET line = excluded.line, is_shared = excluded.is_shared"""
_MOVED = "UPDATE projects SET clock = clock + 1, epoch = epoch + 1 WHERE number = %s"


class Version(NamedTuple):
    """One version of a memory.

    Args:
        person: The number of the person who wrote it.
        writer: The session whose operation wrote it; empty if it has no entry.
        entry: None: the memory was taken out of sight, or the version is damaged.
    """

    clock: int
    part: int
    person: int
    name: str
    writer: str
    entry: MemoryEntry | None


def versions_of(home: Home) -> list[Version]:
    """Return all versions that the caller may see, oldest first."""
    (found,) = home.server.read(home.caller, (_EVERY, (home.project,)))
    versions = []
    for clock, part, person, name, record in found:
        writer, entry = ("", None) if record is None else _opened(home, bytes(name), bytes(record))
        versions.append(Version(clock, part, person, rows.text_from(bytes(name)), writer, entry))
    return versions


def memories_of(versions: Iterable[Version], aim: Aim, person: int) -> set[str]:
    """Return the ids of the memories that an aim names.

    `person`: who asks: sessions of others may have the same name.
    """
    with_entry = [(one, one.entry) for one in versions if one.entry is not None]
    if aim.kind == "memory":
        return {one.name for one, entry in with_entry if one.name == aim.name and _is_seen(entry, aim)}
    if aim.kind not in ("session", "task"):
        return set()
    source = f"task:{aim.name}" if aim.kind == "task" else None
    own = [(one, entry) for one, entry in with_entry if one.person == person and entry.session_id == aim.session_id]
    return {one.name for one, entry in own if source in (None, entry.source)}


def memory_texts(versions: Iterable[Version], ids: Collection[str], whose: str | None) -> Iterator[bytes]:
    """Yield the texts of what goes: contents, and restatements of the destroyed memories or of a purged session."""
    for one in versions:
        if one.entry is None:
            continue
        if one.name in ids:
            yield rows.raw(one.entry.content)
        for said in restatements(one.entry):
            goes = one.name in ids if whose is None else said.get("session_id") == whose
            if goes and isinstance(text := said.get("content"), str):
                yield rows.raw(text)


def destroy_memories(
    connection: psycopg.Connection[Any],
    home: Home,
    versions: Sequence[Version],
    found: DoomedRecords,
    heir: Heir | None,
) -> bool:
    """Destroy memories, and what others hold of them, in the caller's transaction; True: the project's clock has moved.

    Args:
        versions: The result of `versions_of` under the lock of the project.
        heir: Returns what other sessions said of a memory of a purged session.
    """
    ids, whose = found.memories, found.whole_session
    lines: dict[str, tuple[int, MemoryEntry, MemoryLine]] = {}
    kept = list(versions)
    if whose is not None and heir is not None:
        kept = _with_heirs(versions, ids, whose, heir, lines)
    heir_of = {one: heir_id(one) for one in ids} if ids else {}
    known = {one.name for one in kept}
    heir_of = {one: new for one, new in heir_of.items() if new in known}
    changes = []
    for before, now in zip(versions, kept, strict=True):
        if now.name in ids:
            continue
        entry = None if now.entry is None else without_evidence(now.entry, ids, heir_of, whose)
        after = now._replace(entry=entry)
        if after != before:
            changes.append((before, after))
    if not ids and not changes:
        return False
    newest = {one.name: one.entry for one in kept if one.entry is not None}
    _write(connection, home, changes, newest)
    for sql in _DELETE:
        connection.execute(sql, (home.project, [rows.raw(one) for one in ids]))
    _index(connection, home, [(one.person, one.entry) for _, one in changes if one.name in lines], lines)
    connection.execute(_MOVED, (home.project,))
    return True


def _with_heirs(
    versions: Sequence[Version],
    ids: Collection[str],
    whose: str,
    heir: Heir,
    lines: dict[str, tuple[int, MemoryEntry, MemoryLine]],
) -> list[Version]:
    """Return the versions with those replaced that other sessions restated; `lines` gets their search lines."""
    stays: dict[str, dict[str, bool]] = {}
    restated = {one.name for one in versions if one.name in ids and one.entry is not None and restatements(one.entry)}
    kept = []
    for one in versions:
        new_id = heir_id(one.name)
        found = None
        if one.name in restated and one.entry is not None:
            found = heir(without_restatements(one.entry, stays.setdefault(one.name, {}), one.writer, whose))
        if found is not None:
            lines[new_id] = (one.person, *found)
            kept.append(one._replace(name=new_id, entry=found[0]))
        elif one.entry is None and one.name in restated and new_id in lines:  # it was taken out of sight
            kept.append(one._replace(name=new_id))
        else:
            kept.append(one)
    return kept


def _write(
    connection: psycopg.Connection[Any],
    home: Home,
    changes: Sequence[tuple[Version, Version]],
    newest: Mapping[str, MemoryEntry],
) -> None:
    values, names = [], []
    for before, after in changes:
        shown = after.entry or newest[after.name]
        owner = {"agent": shown.agent, "session": shown.session_id}.get(shown.scope, "")
        record = None if after.entry is None else sealed_record(home, memory_row(after.writer, after.entry))
        where = (home.project, after.clock, after.part)
        digest = digest_number(home, content_digest(shown.content))
        flags = ("learned" in shown.metadata, "conflicts" in shown.metadata)
        values.append((rows.raw(after.name), shown.scope, rows.raw(owner), digest, *flags, record, *where))
        if after.name != before.name:
            names.append((rows.raw(after.name), *where))
    with connection.cursor() as cursor:
        cursor.executemany(_CHANGE, values)
        cursor.executemany(_RENAME, names)


def _index(
    connection: psycopg.Connection[Any],
    home: Home,
    heirs: Iterable[tuple[int, MemoryEntry | None]],
    lines: Mapping[str, tuple[int, MemoryEntry, MemoryLine]],
) -> None:
    """Make heirs findable by their statements and by their words."""
    slots = {
        (home.project, *slot_numbers(home, slot.relation, slot.entity), rows.raw(one.id), home.caller.organisation, person,
         is_shared(home, one.scope))
        for person, one in heirs
        if one is not None
        for slot in one.slots
    }  # fmt: skip
    searched = []
    for name, (person, entry, line) in lines.items():
        key = rows.raw(name)
        sealed = sealed_line(home, line)
        searched.append((home.project, key, home.caller.organisation, person, is_shared(home, entry.scope), sealed))
    with connection.cursor() as cursor:
        cursor.executemany(_SLOT, sorted(slots))
        cursor.executemany(_LINE, searched)


def _is_seen(entry: MemoryEntry, aim: Aim) -> bool:
    if entry.scope in ("project", "user"):
        return True
    return entry.agent == aim.agent if entry.scope == "agent" else entry.session_id == aim.session_id


def _opened(home: Home, name: bytes, record: bytes) -> tuple[str, MemoryEntry | None]:
    """Read the writer and the entry of a version; a damaged one has none."""
    try:
        session, entry = opened_version(home, name, record)
        return rows.text_from(session), entry
    except (*FORGED, StoreCorrupt):
        return "", None
