"""The reader of memories on the server. Law: reads only; each method returns only what the viewer may see."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from undrift.stores import rows
from undrift.stores.memory_values import Viewer
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.memory_log import CURRENT, digest_number, opened_record, slot_numbers
from undrift.stores.timeline import stretches
from undrift.values.memory import MemoryEntry

__all__ = ["ServerMemories"]

_FROM = "FROM memory_spans s JOIN memory_events e USING (project, clock, part) WHERE s.project = %(project)s"
_SEEN = """(e.visibility IN ('project', 'user') OR (e.visibility = 'agent' AND e.owner = %(agent)s)
    OR (e.visibility = 'session' AND e.owner = %(session)s))"""
_THEN = "s.from_clock <= %(at)s AND (s.to_clock IS NULL OR s.to_clock > %(at)s)"
_LAST_CHANGE = """SELECT e.session, e.seq, e.act, e.record IS NULL FROM memory_events e
    WHERE e.project = %s AND e.name IN (SELECT n.name FROM memory_events n WHERE n.project = %s AND n.digest = %s)
    AND e.digest = %s ORDER BY e.clock DESC, e.part DESC"""
_MOVES = "SELECT session, seq, target FROM moves WHERE project = %s ORDER BY session, seq"
_WRITERS = f"""SELECT s.name, p.name FROM memory_spans s JOIN memory_events e USING (project, clock, part)
    JOIN people p ON p.number = e.person WHERE s.project = %s AND {CURRENT} AND s.name = ANY(%s) AND e.is_shared"""  # noqa: S608
_NOTE = """, noted AS (INSERT INTO audit(organisation, reader, person, project, what, names)
    SELECT %(organisation)s, %(person)s, r.person, %(project)s, 'memory', array_agg(DISTINCT r.name) FROM r
    WHERE r.person <> %(person)s GROUP BY r.person)"""
_MOST_OF_A_SLOT = 100
_BY_SLOT = f"""WITH r AS (SELECT e.name, e.record, e.person
    FROM unnest(%(relations)s::bigint[], %(entities)s::bigint[]) AS k(relation, entity)
    CROSS JOIN LATERAL (SELECT e.name, e.record, e.visibility, e.owner, e.person
        FROM memory_slots t JOIN memory_spans s ON s.project = t.project AND s.name = t.name AND {CURRENT}
        JOIN memory_events e ON e.project = s.project AND e.clock = s.clock AND e.part = s.part
        WHERE t.project = %(project)s AND t.relation = k.relation AND (k.entity IS NULL OR t.entity = k.entity)
        ORDER BY e.clock DESC, e.part DESC LIMIT {_MOST_OF_A_SLOT}) e WHERE {_SEEN})"""  # noqa: S608 - constants of ours


class ServerMemories:
    """`MemoryReading` of one scope.

    Args:
        home: Returns whose memories are meant; it raises if the store is closed.
        clock_of: The project's clock right after an operation of a session.
    """

    def __init__(self, home: Callable[[], Home], clock_of: Callable[[str, int], int]) -> None:
        self._home = home
        self._clock_of = clock_of

    def by_id(self, ids: Collection[str], viewer: Viewer | None = None) -> dict[str, MemoryEntry]:
        found = self._read("AND s.name = ANY(%(names)s)", viewer, names=[rows.raw(one) for one in ids])
        return {one.id: one for one in found}

    def by_slot(self, keys: Iterable[tuple[str, str]], viewer: Viewer) -> list[MemoryEntry]:
        pairs: list[tuple[int, int | None]] = [slot_numbers(self._home(), *key) for key in keys]
        return self._of_slots(pairs, viewer)

    def by_relation(self, relations: Iterable[str], viewer: Viewer) -> list[MemoryEntry]:
        return self._of_slots([(slot_numbers(self._home(), one, "")[0], None) for one in relations], viewer)

    def by_digest(self, digest: str, viewer: Viewer) -> list[MemoryEntry]:
        now = viewer._replace(seq=None)
        return self._read("AND e.digest = %(digest)s", now, digest=digest_number(self._home(), digest))

    def is_forgotten(self, digest: str) -> bool:
        home = self._home()
        number = digest_number(home, digest)
        found, moved = home.server.read(
            home.caller, (_LAST_CHANGE, (home.project, home.project, number, number)), (_MOVES, (home.project,))
        )
        moves: dict[int, list[tuple[int, int]]] = {}
        for session, seq, target in moved:
            moves.setdefault(session, []).append((seq, target))
        for session, seq, act, is_gone in found:
            if any(one.first <= seq <= one.last for one in stretches(moves.get(session, ()), 2**62)):
                return bool(is_gone) and bytes(act) == b"forget"
        return False

    def count_learned(self, start: str) -> int:
        found = self._read("AND e.is_learned AND e.visibility IN ('project', 'user')", None)
        return sum(one.source.startswith(start) for one in found)

    def seen(self, viewer: Viewer | None) -> list[MemoryEntry]:
        return self._read("", viewer)

    def disputing(self, viewer: Viewer) -> list[MemoryEntry]:
        return self._read("AND e.has_conflicts", viewer)

    def writers(self, ids: Collection[str]) -> dict[str, str]:
        """Return who wrote the active version of each memory that all people in the project see."""
        home = self._home()
        names = [rows.raw(one) for one in ids]
        (found,) = home.server.read(home.caller, (_WRITERS, (home.project, names)))
        return {rows.text_from(bytes(name)): rows.text_from(bytes(person)) for name, person in found}

    def visible(self, ids: Collection[str], viewer: Viewer) -> set[str]:
        """Return those ids whose memories the viewer may see; no record is opened."""
        names = [rows.raw(one) for one in ids]
        found = self._rows("AND s.name = ANY(%(names)s)", viewer, "e.name", names=names)
        return {rows.text_from(bytes(name)) for (name,) in found}

    def _of_slots(self, pairs: Iterable[tuple[int, int | None]], viewer: Viewer) -> list[MemoryEntry]:
        """Read the memories that state something of any pair; what other people wrote is noted as in `_read`."""
        home = self._home()
        known = list(dict.fromkeys(pairs))
        if not known:
            return []
        values = {
            "relations": [one for one, _ in known], "entities": [one for _, one in known], "agent": rows.raw(viewer.agent),
            "session": rows.raw(viewer.session_id), **_reader(home),
        }  # fmt: skip
        if viewer.seq is not None:
            (names,) = home.server.read(home.caller, (f"{_BY_SLOT} SELECT name FROM r", values))  # noqa: S608 - parts of ours
            return list(self.by_id({rows.text_from(bytes(name)) for (name,) in names}, viewer).values())
        sql = f"{_BY_SLOT}{_note(home)} SELECT name, record FROM r"  # noqa: S608 - parts of ours
        (found,) = home.server.read(home.caller, (sql, values))
        entries = {one.id: one for name, record in found for one in [opened_record(home, bytes(name), record)]}
        return sorted(entries.values(), key=lambda one: one.seq)

    def _read(self, more: str, viewer: Viewer | None, **values: Any) -> list[MemoryEntry]:
        """Read memories; what other people wrote is noted in the audit log in the same statement."""
        home = self._home()
        found = self._rows(more, viewer, "e.name, e.record", **values)
        entries = [opened_record(home, bytes(name), record) for name, record in found]
        return sorted(entries, key=lambda one: one.seq)

    def _rows(self, more: str, viewer: Viewer | None, columns: str, **values: Any) -> list[tuple[Any, ...]]:
        home = self._home()
        values |= _reader(home)
        conditions = [more]
        if viewer is not None:
            values |= {"agent": rows.raw(viewer.agent), "session": rows.raw(viewer.session_id)}
            conditions.append(f"AND {_SEEN}")
        if viewer is not None and viewer.seq is not None:
            values["at"] = self._clock_of(viewer.session_id, viewer.seq)
            conditions.append(f"AND {_THEN}")
        else:
            conditions.append(f"AND {CURRENT}")
        names = ", ".join(one.split(".")[1] for one in columns.split(", "))
        note = _note(home) if "record" in names else ""
        sql = f"""WITH r AS (SELECT {columns}, e.person, e.clock AS c, e.part AS p {_FROM} {" ".join(conditions)}){note}
            SELECT {names} FROM r ORDER BY c, p"""  # noqa: S608 - parts of ours
        return home.server.read(home.caller, (sql, values))[0]


def _reader(home: Home) -> dict[str, Any]:
    return {"project": home.project, "organisation": home.caller.organisation, "person": home.caller.person}


def _note(home: Home) -> str:
    """Return the part of a statement that notes a read of what other people wrote; without a team there are none."""
    return _NOTE if home.is_team else ""
