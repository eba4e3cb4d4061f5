"""Purges: the only code that deletes originals, memories and other records for good.

Law: knows what to delete, not why; deletes inside a transaction that the caller opened, and cleans outside of one. The
remaining store is whole: every record matches its SHA-256, and a decision about purged data still holds, without its words.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import apsw

from undrift.stores import documents, heirs, memory_index, readings, rows, search, segments, traces
from undrift.stores.base import Aim
from undrift.stores.decisions import DECISION_COLUMNS, DECISION_SESSION, decision_from, decision_row
from undrift.stores.memory_values import Heir
from undrift.stores.mentions import Mentions, Until, forget_evidence, mentions, thin_log
from undrift.stores.tables import TABLES
from undrift.values.window import Decision

__all__ = [
    "Doomed",
    "delete_records",
    "destroy",
    "destroy_memories",
    "destroy_originals",
    "doomed",
    "in_order",
    "is_nothing",
    "numbers_of",
    "remove_words",
]

_GIVEN = rows.IN_LIST.format("?")
_REFS = rows.IN_LIST.format(":refs")
_MEMORIES = rows.IN_LIST.format(":memories")
_OWN = segments.OF_SESSION.format(":session")
_CALLS = "SELECT CAST(g.call_id AS BLOB) FROM tags g WHERE g.session_id = :session AND g.task_id = :name"
_OF_TASK = f"""SELECT CAST(o.ref AS BLOB) FROM decisions d JOIN originals o ON o.ref = d.ref
    WHERE d.session_id = :session AND d.kind = 'evicted' AND o.source <> 'pin' AND {_OWN}
    AND CAST(json_extract(d.detail, '$.task') AS BLOB) = CAST(:name AS BLOB)
UNION SELECT CAST(o.ref AS BLOB) FROM originals o WHERE o.session_id = :session AND o.source <> 'pin'
    AND CAST(json_extract(o.metadata, '$.pair_id') AS BLOB) IN ({_CALLS})"""  # noqa: S608 - constants of ours
"""As bytes, here and below: a text with a lone surrogate is kept as bytes in a column, and as a text in JSON."""
_NUMBERED = "SELECT CAST(ref AS BLOB) FROM originals WHERE number IN (SELECT value FROM json_each(:numbers))"
_ORIGINAL = f"""SELECT CAST(o.ref AS BLOB) FROM originals o WHERE {_OWN} AND
    o.number IN (SELECT number FROM originals WHERE ref = :name OR (session_id = :session AND entry_id = :name)
        OR (session_id = '' AND entry_id = :key))"""  # noqa: S608 - constants of ours
_MEMORY = """SELECT DISTINCT CAST(memory_id AS BLOB) FROM memories WHERE memory_id = :name AND (scope IN ('project', 'user')
    OR (scope = 'agent' AND owner = :agent) OR (scope = 'session' AND owner = :session))"""
_MEMORIES_OF_SESSION = """SELECT DISTINCT CAST(memory_id AS BLOB) FROM memories
    WHERE number > :newer AND CAST(json_extract(record, '$.session_id') AS BLOB) = CAST(:session AS BLOB)"""
_MEMORIES_OF_TASK = f"{_MEMORIES_OF_SESSION} AND CAST(json_extract(record, '$.source') AS BLOB) = CAST(:source AS BLOB)"
_NOTES = """SELECT CAST(ref AS BLOB), detail FROM decisions INDEXED BY decisions_noted WHERE kind = 'noted' AND ref IS NOT NULL AND number > ?
    AND json_extract(detail, '$.name') = ?"""
_DECISIONS = f"SELECT {DECISION_COLUMNS} FROM decisions WHERE ref IN {_REFS}"  # noqa: S608 - constants of ours
_REPLACE = """UPDATE decisions SET reason = ?, tokens_saved = ?, ref = ?, record_sha256 = ?, detail = ?, place = NULL,
    figures_number = NULL WHERE number = ?"""
_NUMBERS = f"SELECT number FROM originals WHERE ref IN {_REFS}"  # noqa: S608
_IN_ORDER = f"SELECT CAST(ref AS BLOB) FROM originals WHERE ref IN {_REFS}"  # noqa: S608
_NOT_INDEXED = """SELECT number FROM originals WHERE session_id = ? AND entry_id = ? AND source = 'buffer'
    AND number NOT IN (SELECT id FROM search_docsize)"""
_SAID_AGAIN = "CAST(CASE type WHEN 'object' THEN json_extract(value, '$.{}') END AS BLOB)"
_DOCUMENTS = "session_id = :session AND (:whole OR name = :document OR (name > :after AND name < :before))"
_TEXTS = {
    "memories": f"""SELECT CAST(json_extract(record, '$.content') AS BLOB) FROM memories
        WHERE memory_id IN {_MEMORIES}
    UNION SELECT {_SAID_AGAIN.format("content")} FROM memories, json_each(record, '$.metadata.restated')
        WHERE NOT :whole AND memory_id IN {_MEMORIES}
    UNION SELECT {_SAID_AGAIN.format("content")} FROM memories, json_each(record, '$.metadata.restated')
        WHERE :whole AND {_SAID_AGAIN.format("session_id")} = CAST(:session AS BLOB)""",  # noqa: S608
    "documents": f"SELECT content FROM documents WHERE {_DOCUMENTS}",  # noqa: S608
    "tasks": """SELECT DISTINCT CAST(value AS BLOB) FROM tasks, json_each(json_array(json_extract(record, '$.content'),
        json_extract(record, '$.result_summary'))) WHERE session_id = :session AND (:whole OR task_id = :task)""",
    "facts": """SELECT DISTINCT CAST(value AS BLOB) FROM facts, json_each(json_array(json_extract(record, '$.subject'),
        json_extract(record, '$.object'))) WHERE session_id = :session AND :whole""",
    "run_records": """SELECT DISTINCT CAST(atom AS BLOB) FROM run_records, json_tree(record)
        WHERE session_id = :session AND :whole AND type = 'text'""",
}


@dataclass(frozen=True, slots=True)
class Doomed:
    """The data that a purge will delete.

    Args:
        tasks: Ids of tasks whose exported logs are deleted, because their entries are.
        pieces: Parts of the texts, to look for afterwards.
        records: Number of other records to delete, by table.
        mentions: The rows that may name it or quote it.
    """

    aim: Aim
    refs: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    pieces: tuple[traces.Piece, ...] = ()
    records: Mapping[str, int] = field(default_factory=dict)
    mentions: Mentions = Mentions()  # noqa: RUF009 - a value

    @property
    def whole_session(self) -> str | None:
        """The session, if all of it is to go."""
        return self.aim.session_id if self.aim.kind == "session" else None


def is_nothing(found: Doomed) -> bool:
    """True if the store has no such data."""
    return not (found.refs or found.memories or any(found.records.values()))


def doomed(connection: apsw.Connection, aim: Aim, before: Doomed | None = None) -> Doomed:
    """Find the data of an aim, without changing anything.

    Some of it can only be found by reading a whole table. Do that without a lock, then again in the transaction that deletes.

    Args:
        before: The earlier result; then only newer rows of whole tables are read.
    """
    earlier = before or Doomed(aim)
    names = {"session": aim.session_id, "name": aim.name, "agent": aim.agent, "source": f"task:{aim.name}"}
    values: dict[str, Any] = {name: rows.key(text) for name, text in names.items()}
    values["newer"] = earlier.mentions.until.memory
    ids = {"task": _MEMORIES_OF_TASK, "session": _MEMORIES_OF_SESSION, "memory": _MEMORY}.get(aim.kind, "")
    found = _originals(connection, aim, values)
    memories = (_texts(connection, ids, values) if ids else set()) | earlier.memories
    found |= earlier.refs
    found |= _notes_about(connection, aim, memories, earlier.mentions.until, has_originals=bool(found))
    whole: dict[str, Any] = {
        "refs": rows.listed(found),
        "memories": rows.listed(memories),
        "session": values["session"],
    }
    whole |= {"whole": aim.kind == "session", "task": values["name"] if aim.kind == "task" else None}
    whole |= _of_documents(aim)
    pieces = before.pieces if before is not None else _pieces(connection, found, whole)
    logs = _logs(connection, aim, whole) | earlier.tasks
    new = Doomed(aim, frozenset(found), frozenset(memories), logs, pieces, _counts(connection, aim))
    if before is not None or is_nothing(new):
        return replace(new, mentions=earlier.mentions)
    return replace(new, mentions=mentions(connection, new.refs, new.memories, new.whole_session))


def destroy(
    connection: apsw.Connection, found: Doomed, blank: Callable[[Decision], Decision], heir: Heir | None = None
) -> dict[str, int]:
    """Delete the data in the caller's transaction; return the number of deleted records of each kind.

    Args:
        connection: A connection with ``secure_delete`` on.
        found: The result of `doomed`, in the same transaction.
        blank: Returns a decision without its purged original: no reference and no text of it.
        heir: Returns what other sessions said of a memory of a purged session.
    """
    aim = found.aim
    for table in found.records:
        delete_records(connection, aim, table)
    if aim.kind == "session":
        connection.execute("DELETE FROM marks WHERE session_id = ?", (rows.key(aim.session_id),))
    if aim.kind in ("original", "task", "session"):
        readings.forget(connection, aim.session_id)
    destroy_originals(connection, found.refs, blank)
    destroy_memories(connection, found.memories, found.whole_session, heir)
    forget_evidence(connection, found.memories, found.mentions, found.whole_session)
    thin_log(connection, found.refs | found.memories, found.mentions, found.whole_session)
    counts = {"originals": len(found.refs), "memories": len(found.memories), **found.records}
    return {name: number for name, number in counts.items() if number}


def destroy_originals(
    connection: apsw.Connection, refs: Collection[str], blank: Callable[[Decision], Decision]
) -> None:
    """Delete originals with their words, and the words of decisions about them."""
    is_in_step = remove_words(connection, refs)
    entries = _blank_decisions(connection, refs, blank)
    segments.forget(connection, numbers_of(connection, refs))
    _delete(connection, "originals", f"ref IN {_GIVEN}", rows.listed(refs))
    if is_in_step:
        search.add(connection, _out_of_buffer(connection, entries))
    else:
        search.reset(connection)


def destroy_memories(
    connection: apsw.Connection, ids: Collection[str], whose: str | None = None, heir: Heir | None = None
) -> None:
    """Delete memories, and what is derived from them.

    `whose`: the session that is purged as a whole; restatements of other sessions stay.
    """
    if whose is not None and heir is not None:
        heirs.let_inherit(connection, ids, whose, heir)
    _delete(connection, "memories", f"memory_id IN {_GIVEN}", rows.listed(ids))
    connection.execute(
        f"DELETE FROM memory_slots WHERE memory_id IN {_GIVEN}",  # noqa: S608 - constants of ours
        (rows.listed(ids),),
    )
    memory_index.forget(connection, ids)


def delete_records(connection: apsw.Connection, aim: Aim, table: str, most: int = -1) -> int:
    """Delete records of an aim other than originals and memories, up to a number; return how many."""
    where, values = _condition(aim)
    found: list[Any] = connection.execute(
        f"SELECT number FROM {table} WHERE {where} LIMIT :most",  # noqa: S608 - constants of ours
        values | {"most": most},
    ).fetchall()
    _delete(connection, table, "number IN (SELECT value FROM json_each(?))", json.dumps([one for (one,) in found]))
    return len(found)


def remove_words(connection: apsw.Connection, refs: Collection[str]) -> bool:
    """Remove originals from the index of words; False means: the index must be made new."""
    if not search.complete(connection):
        return False
    try:
        search.remove(connection, numbers_of(connection, refs))
    except apsw.Error as error:
        if not search.damaged(error):
            raise
        return False
    return True


def numbers_of(connection: apsw.Connection, refs: Collection[str]) -> list[int]:
    """Return the numbers of originals, in the order in which they were stored."""
    found: list[Any] = connection.execute(_NUMBERS, {"refs": rows.listed(refs)}).fetchall()
    return sorted(number for (number,) in found)


def in_order(connection: apsw.Connection, refs: Collection[str]) -> list[str]:
    """Return references in the order in which their originals were stored: neighbours share segments."""
    found: list[Any] = connection.execute(f"{_IN_ORDER} ORDER BY number", {"refs": rows.listed(refs)}).fetchall()
    return [_text(ref) for (ref,) in found]


# ------------------------------------------------------------------------------------------------------------ the parts


def _originals(connection: apsw.Connection, aim: Aim, values: Mapping[str, Any]) -> set[str]:
    """Return the references of the originals that an aim names."""
    session = values["session"]
    if aim.kind == "session":
        numbers = json.dumps(segments.numbers_of(connection, session))
        return _texts(connection, _NUMBERED, {"numbers": numbers})
    if aim.kind == "original":
        key = segments.entry_key(rows.raw(aim.session_id), aim.name)
        return _texts(connection, _ORIGINAL, {**values, "key": key})
    if aim.kind != "task":
        return set()
    calls = _texts(connection, _CALLS, values)
    packed = segments.originals_of(connection, session) if calls else iter(())
    of_calls = {one.ref for one in packed if (rows.load(one.metadata) or {}).get("pair_id") in calls}
    return of_calls | _texts(connection, _OF_TASK, values)


def _of_documents(aim: Aim) -> dict[str, Any]:
    """Return the values for the conditions on documents."""
    document, after, before = documents.below(aim.path) if aim.kind == "document" else (None, None, None)
    return {
        "session": rows.key(aim.session_id),
        "whole": aim.kind == "session",
        "document": document,
        "after": after,
        "before": before,
    }


def _notes_about(
    connection: apsw.Connection, aim: Aim, memories: Collection[str], until: Until, *, has_originals: bool
) -> set[str]:
    """Return the references of notes that repeat the data, such as task lists and memories in windows."""
    found: set[str] = set()
    session = rows.key(aim.session_id)
    for name in ["finished"] * (aim.kind == "task") + ["left"] * has_originals:
        sql = f"{_NOTES} AND session_id = ?"
        found |= {_text(ref) for ref, _ in connection.execute(sql, (until.decision, name, session))}
    if memories:
        notes: Iterable[Any] = connection.execute(_NOTES, (until.decision, "memory"))
        found |= {_text(ref) for ref, detail in notes if any(one in str(detail) for one in memories)}
    return found


def _logs(connection: apsw.Connection, aim: Aim, values: Mapping[str, Any]) -> frozenset[str]:
    sql = f"""SELECT DISTINCT CAST(json_extract(detail, '$.task') AS BLOB) FROM decisions
        WHERE kind = 'evicted' AND ref IN {_REFS}"""  # noqa: S608
    own = {aim.name} if aim.kind == "task" else set()
    return frozenset(_texts(connection, sql, {"refs": values["refs"]}) | own)


def _condition(aim: Aim) -> tuple[str, dict[str, Any]]:
    """Return SQL for the records of an aim other than originals and memories, and its values."""
    values: dict[str, Any] = {"session": rows.key(aim.session_id)}
    if aim.kind == "task":
        return "session_id = :session AND task_id = :task", values | {"task": rows.key(aim.name)}
    if aim.kind == "document":
        return _DOCUMENTS, _of_documents(aim)
    return "session_id = :session", values


def _counts(connection: apsw.Connection, aim: Aim) -> dict[str, int]:
    """Return the number of records to delete, other than originals and memories."""
    tables = {
        "task": [one.name for one in TABLES if one.of_task],
        "session": [one.name for one in TABLES if one.of_session],
        "document": ["documents"],
    }.get(aim.kind, [])
    where, values = _condition(aim)
    return {table: int(_one(connection, f"SELECT count(*) FROM {table} WHERE {where}", values)) for table in tables}  # noqa: S608


def _pieces(connection: apsw.Connection, refs: Collection[str], values: Mapping[str, Any]) -> tuple[traces.Piece, ...]:
    texts = (text for _, text in segments.texts(connection, numbers_of(connection, refs)))
    return traces.pieces(chain(texts, _contents(connection, values)))


def _contents(connection: apsw.Connection, values: Mapping[str, Any]) -> Iterable[bytes]:
    for sql in _TEXTS.values():
        wanted = {one: value for one, value in values.items() if f":{one}" in sql}
        for (text,) in connection.execute(sql, wanted):
            if text:
                yield text


def _out_of_buffer(connection: apsw.Connection, entries: Collection[tuple[Any, Any]]) -> list[int]:
    """Return originals that a purge takes out of the buffer: a decision without a reference means every version."""
    found: list[Any] = []
    for session, entry in entries:
        found += connection.execute(_NOT_INDEXED, (session, entry)).fetchall()
    return [number for (number,) in found]


def _blank_decisions(
    connection: apsw.Connection, refs: Collection[str], blank: Callable[[Decision], Decision]
) -> list[tuple[Any, Any]]:
    """Remove the data's words from decisions; return session and entry of each decision that removed an entry."""
    changed: list[tuple[Any, Any]] = []
    about: list[Any] = connection.execute(_DECISIONS, {"refs": rows.listed(refs)}).fetchall()
    for row in about:
        decision, session_id = decision_from(row), _text(row[DECISION_SESSION])
        if decision.kind == "pinned":  # the pin itself is deleted
            _delete(connection, "decisions", "number = ?", row[0])
            continue
        new = decision_row(session_id, blank(decision))
        connection.execute(_REPLACE, (*new[3:], row[0]))
        if decision.kind == "pruned":
            changed.append((new[0], new[1]))
    return changed


def _delete(connection: apsw.Connection, table: str, where: str, *values: Any) -> None:
    """Delete rows and their records of inactive times."""
    connection.execute(
        f"DELETE FROM gaps WHERE of_table = '{table}' AND of_number IN (SELECT number FROM {table} WHERE {where})",  # noqa: S608
        values,
    )
    connection.execute(f"DELETE FROM {table} WHERE {where}", values)  # noqa: S608 - constants of ours


def _texts(connection: apsw.Connection, sql: str, values: Mapping[str, Any]) -> set[str]:
    wanted = {name: value for name, value in values.items() if f":{name}" in sql}
    return {_text(one) for (one,) in connection.execute(sql, wanted) if one is not None}


def _one(connection: apsw.Connection, sql: str, values: Any) -> Any:
    found: list[Any] = connection.execute(sql, values).fetchall()
    return found[0][0]


def _text(value: Any) -> str:
    return bytes(value).decode("utf-8", "surrogatepass")
