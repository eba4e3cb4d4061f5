"""Tasks, each version of them, and the tags of tool calls.

Law: knows its own tables alone; runs inside a transaction that the caller opened. A version is never changed: a change
closes it and adds another. What was changed by somebody else meanwhile is refused with StoreError, and the caller rolls back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from undrift.errors import InputError, StoreError
from undrift.stores import rows
from undrift.stores.base import Known
from undrift.stores.known import Reading, read
from undrift.values.window import Tag, Task, Tasks, TaskUpdate

__all__ = ["Prepared", "add", "create", "find", "prepared"]

_CREATE = """
CREATE TABLE tasks(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    ordinal INTEGER NOT NULL,  -- 0 until it was taken up
    is_worked_on INTEGER NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    to_seq INTEGER REFERENCES operations(seq),
    record_sha256 BLOB NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX tasks_by_id ON tasks(session_id, task_id);  -- and number: the first version is the oldest
CREATE UNIQUE INDEX tasks_now ON tasks(session_id, task_id) WHERE to_seq IS NULL;
CREATE UNIQUE INDEX tasks_worked_on ON tasks(session_id, agent) WHERE is_worked_on = 1 AND to_seq IS NULL;
CREATE UNIQUE INDEX tasks_ordinal ON tasks(session_id, ordinal) WHERE ordinal > 0 AND to_seq IS NULL;

CREATE TABLE tags(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    segment INTEGER NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    record_sha256 BLOB NOT NULL
);
CREATE UNIQUE INDEX tags_by_call ON tags(session_id, call_id);
"""
_TASK = f"SELECT {rows.TASK_COLUMNS} FROM tasks WHERE session_id = ? AND to_seq IS NULL AND task_id = ?"  # noqa: S608
_TASKS = Reading(
    """SELECT {columns} FROM tasks t WHERE session_id = ? AND to_seq IS NULL{more} ORDER BY (
        SELECT min(number) FROM tasks f WHERE f.session_id = t.session_id AND f.task_id = t.task_id)""",
    rows.TASK_COLUMNS,
    rows.TASK_SESSION,
    rows.task_from,
)
_TAGS = Reading(
    "SELECT {columns} FROM tags WHERE session_id = ? AND to_seq IS NULL{more} ORDER BY number",
    rows.TAG_COLUMNS,
    rows.TAG_SESSION,
    rows.tag_from,
)
_CLOSE = "UPDATE tasks SET to_seq = ? WHERE number = ?"
_LAST_ORDINAL = "SELECT coalesce(max(ordinal), 0) FROM tasks WHERE session_id = ?"  # of all versions: some are closed
_ADD_TASK = """INSERT INTO tasks(session_id, task_id, agent, ordinal, is_worked_on, record_sha256, record, from_seq)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_TAG = """INSERT INTO tags(session_id, call_id, task_id, segment, record_sha256, from_seq) VALUES(?, ?, ?, ?, ?, ?)
    ON CONFLICT(session_id, call_id) WHERE to_seq IS NULL DO NOTHING RETURNING number"""
_SAME_TAG = "SELECT 1 FROM tags WHERE session_id = ? AND call_id = ? AND record_sha256 = ? AND to_seq IS NULL"
_HAS_TASK = "SELECT 1 FROM tasks WHERE session_id = ? AND task_id = ? AND to_seq IS NULL"
_AGAIN = "nothing was written. Read the session's tasks again and repeat the change"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be written of one session's tasks: checked, and hashed as far as no ordinal is needed for it."""

    session_id: str
    updates: Sequence[TaskUpdate]
    tags: Sequence[rows.Row]


def create(connection: apsw.Connection) -> None:
    """Make the tables."""
    connection.execute(_CREATE)


def prepared(session_id: str, updates: Sequence[TaskUpdate], tags: Sequence[Tag]) -> Prepared:
    """Check what is to be written.

    Raises:
        InputError: Two updates of one task, or values that JSON cannot hold.
    """
    ids = set()
    for update in updates:
        rows.task_row(session_id, update.after)
        task_id = update.after.id
        if task_id in ids or (update.before is not None and update.before.id != task_id):
            raise InputError(f"task {task_id!r}: a commit takes one update for each task, of one and the same id")
        ids.add(task_id)
    return Prepared(session_id, updates, [rows.tag_row(session_id, tag) for tag in tags])


def find(connection: apsw.Connection, session_id: str, known: Known | None = None) -> Tasks:
    """Return the tasks of a session as they are now, and its tags; see `Store.decided`.

    Raises:
        StoreCorrupt: A record does not match its SHA-256, or an index leads astray.
    """
    # The tags first: whatever another process writes in between, the task of each tag is there.
    tags = read(connection, session_id, _TAGS, known.tags if known else None)
    tasks = read(connection, session_id, _TASKS, known.tasks if known else None)
    return Tasks({task.id: task for task in tasks}, {tag.call_id: tag for tag in tags})


def add(connection: apsw.Connection, new: Prepared, seq: int) -> None:
    """Write the updates that are not written yet, then the tags.

    Raises:
        StoreError: A task is neither what it was before the change nor what it is after it, an agent would work on two
            tasks at once, or a call has another tag or that of an unknown task.
    """
    session = rows.key(new.session_id)
    versions = [_next(connection, session, update) for update in new.updates]
    fresh = [(number, task) for number, task in versions if task is not None]
    # All former versions first: of one agent, the one task is let go and the other taken up.
    connection.executemany(_CLOSE, [(seq, number) for number, _ in fresh if number is not None])
    last: Any = connection.execute(_LAST_ORDINAL, (session,)).fetchall()
    ordinal = last[0][0]
    for _, task in fresh:
        if task.segments and not task.ordinal:
            ordinal += 1
            task = replace(task, ordinal=ordinal)
        try:
            connection.execute(_ADD_TASK, (*rows.task_row(new.session_id, task), seq))
        except apsw.ConstraintError as error:
            raise StoreError(
                f"task {task.id[:64]!r}: agent {task.agent[:64]!r} works on another task, which was taken up meanwhile; "
                f"{_AGAIN}"
            ) from error
    if new.tags:
        _add_tags(connection, new.tags, seq)


def _next(connection: apsw.Connection, session: str | bytes, update: TaskUpdate) -> tuple[int | None, Task | None]:
    """Return the number of the version that an update closes, and the version to add; None for what there is not."""
    before, after = update.before, update.after
    found: list[Any] = connection.execute(_TASK, (session, rows.key(after.id))).fetchall()
    number = found[0][0] if found else None
    now = rows.task_from(found[0]) if found else None
    ordinal = now.ordinal if now is not None else 0  # the store assigns it
    was, becomes = (None if task is None else replace(task, ordinal=ordinal) for task in (before, after))
    if now == becomes:
        return number, None
    if now != was:
        raise StoreError(f"task {after.id[:64]!r}: it was changed meanwhile, by another process; {_AGAIN}")
    return number, becomes


def _add_tags(connection: apsw.Connection, tags: Sequence[rows.Row], seq: int) -> None:
    for session, task_id in {(row[0], row[2]) for row in tags}:
        if not connection.execute(_HAS_TASK, (session, task_id)).fetchall():
            raise StoreError(
                f"tag: the session has no task {task_id[:64]!r}; nothing was written. "
                "Commit the task with the tag, or before it"
            )
    added: list[Any] = connection.executemany(_ADD_TAG, [(*row, seq) for row in tags]).fetchall()
    if len(added) < len(tags):
        for row in tags:
            if not connection.execute(_SAME_TAG, (row[0], row[1], row[4])).fetchall():
                raise StoreError(f"call {row[1][:64]!r}: it has another tag, and keeps it; {_AGAIN}")
