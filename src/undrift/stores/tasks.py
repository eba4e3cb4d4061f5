"""Tasks in every version, and the tags that assign tool calls to tasks.

Law: knows only its own tables; runs inside a transaction that the caller opened. A version is never changed: a change
closes it and adds another. If another process has changed a task meanwhile, StoreError is raised and the caller rolls back.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import apsw

from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import rows
from undrift.stores.base import Known
from undrift.stores.known import Reading, read
from undrift.stores.table import Table, Writing
from undrift.values.window import Moment, Segment, Tag, Task, Tasks, TaskUpdate

__all__ = [
    "PreparedTasks",
    "TABLE",
    "TAGS",
    "TAG_COLUMNS",
    "TAG_SESSION",
    "TASK_COLUMNS",
    "TASK_SESSION",
    "create",
    "find",
    "tag_from",
    "tag_row",
    "task_from",
    "task_row",
]

TASK_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(task_id AS BLOB), CAST(agent AS BLOB), ordinal,
    is_worked_on, CAST(record AS BLOB)"""
TAG_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(call_id AS BLOB), CAST(task_id AS BLOB),
    segment"""
TASK_SESSION = 2
TAG_SESSION = 2
"""The session's index in the columns."""

_CREATE = """
CREATE TABLE tasks(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    ordinal INTEGER NOT NULL,  -- 0 until it was started
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
_TASK = f"SELECT {TASK_COLUMNS} FROM tasks WHERE session_id = ? AND to_seq IS NULL AND task_id = ?"  # noqa: S608
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
class PreparedTasks:
    """The changes of one session's tasks: checked, and hashed but for the parts that need an ordinal."""

    session_id: str
    updates: Sequence[TaskUpdate]
    tags: Sequence[rows.Row]


def create(connection: apsw.Connection) -> None:
    """Make the tables."""
    connection.execute(_CREATE)


def _prepared(session_id: str, changes: Sequence[TaskUpdate | Tag]) -> PreparedTasks:
    """Check the changes. Raises InputError: two updates of one task, or values that JSON cannot hold."""
    updates = [one for one in changes if isinstance(one, TaskUpdate)]
    ids = set()
    for update in updates:
        task_row(session_id, update.after)
        task_id = update.after.id
        if task_id in ids or (update.before is not None and update.before.id != task_id):
            raise InputError(f"task {task_id!r}: a commit takes one update for each task, of one and the same id")
        ids.add(task_id)
    return PreparedTasks(session_id, updates, [tag_row(session_id, one) for one in changes if isinstance(one, Tag)])


def find(connection: apsw.Connection, session_id: str, known: Known | None = None) -> Tasks:
    """Return the newest version of a session's tasks, and its tags; see `Store.decided`.

    Raises StoreCorrupt: a record does not match its SHA-256, or an index leads elsewhere.
    """
    # The tags first: then the task of each tag is there, in spite of writes by other processes.
    tags = read(connection, session_id, _TAGS, known.tags if known else None)
    tasks = read(connection, session_id, _TASKS, known.tasks if known else None)
    return Tasks({task.id: task for task in tasks}, {tag.call_id: tag for tag in tags})


def _write(writing: Writing, new: PreparedTasks) -> None:
    """Write the updates that are not written yet, then the tags.

    Raises:
        StoreError: A stored task equals neither the one before the change nor the one after it, an agent would work on
            two tasks at once, or a call has another tag or the tag of an unknown task.
    """
    connection, seq, session = writing.connection, writing.seq, rows.key(new.session_id)
    versions = [_next(connection, session, update) for update in new.updates]
    new_versions = [(number, task) for number, task in versions if task is not None]
    # All former versions first: an agent can stop one task and start another.
    connection.executemany(_CLOSE, [(seq, number) for number, _ in new_versions if number is not None])
    last: Any = connection.execute(_LAST_ORDINAL, (session,)).fetchall()
    ordinal = last[0][0]
    for _, task in new_versions:
        if task.segments and not task.ordinal:
            ordinal += 1
            task = replace(task, ordinal=ordinal)
        try:
            connection.execute(_ADD_TASK, (*task_row(new.session_id, task), seq))
        except apsw.ConstraintError as error:
            raise StoreError(
                f"task {task.id[:64]!r}: agent {task.agent[:64]!r} works on another task, which was started meanwhile; "
                f"{_AGAIN}"
            ) from error
    if new.tags:
        _add_tags(connection, new.tags, seq)


def _next(connection: apsw.Connection, session: str | bytes, update: TaskUpdate) -> tuple[int | None, Task | None]:
    """Return the number of the version to close, and the version to add; None if there is none."""
    before, after = update.before, update.after
    found: list[Any] = connection.execute(_TASK, (session, rows.key(after.id))).fetchall()
    number = found[0][0] if found else None
    now = task_from(found[0]) if found else None
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


def task_row(session_id: str, task: Task) -> rows.Row:
    """Return the values of a version of a task: session_id, task_id, agent, ordinal, is_worked_on, record_sha256, record."""
    fields = asdict(task)
    for name in ("id", "agent", "ordinal"):  # these have columns of their own
        del fields[name]
    record = rows.dump(fields, "task %r", task.id, encode=rows.ENCODE_SORTED)
    rows.check_integers("task %r: ", task.id, ordinal=task.ordinal)
    texts, numbers = (session_id, task.id, task.agent), (task.ordinal, int(task.is_worked_on))
    return *map(rows.key, texts), *numbers, rows.digest(*map(rows.raw, texts), *numbers, record), record


def task_from(row: rows.Row) -> Task:
    """Read a task from a row. Raises StoreCorrupt."""
    number, digest, _, task_id, agent, ordinal, _, record = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"task {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        fields = rows.load(record)
        fields["acceptance_criteria"] = tuple(fields["acceptance_criteria"])
        fields["segments"] = tuple(map(_segment, fields["segments"]))
        return Task(rows.text_from(task_id), agent=rows.text_from(agent), ordinal=ordinal, **fields)
    except (*rows.FORGED, KeyError) as error:
        raise StoreCorrupt(f"task {number} was not written by undrift: {error}; {rows.REMEDY}") from error


def _segment(fields: dict[str, Any]) -> Segment:
    end = fields["end"]
    moments = {"start": Moment(**fields["start"]), "end": None if end is None else Moment(**end)}
    return Segment(**{**fields, **moments})


def tag_row(session_id: str, tag: Tag) -> rows.Row:
    """Return the values of a new tag: session_id, call_id, task_id, segment, record_sha256."""
    rows.check_integers("tag of call %r: ", tag.call_id, segment=tag.segment)
    texts = (session_id, tag.call_id, tag.task_id)
    return *map(rows.key, texts), tag.segment, rows.digest(*map(rows.raw, texts), tag.segment)


def tag_from(row: rows.Row) -> Tag:
    """Read a tag from a row. Raises StoreCorrupt."""
    number, digest, _, call_id, task_id, segment = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"tag {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        return Tag(rows.text_from(call_id), rows.text_from(task_id), segment)
    except rows.FORGED as error:
        raise StoreCorrupt(f"tag {number} was not written by undrift: {error}; {rows.REMEDY}") from error


_TASKS = Reading(
    """SELECT {columns} FROM tasks t WHERE session_id = ? AND to_seq IS NULL{more} ORDER BY (
        SELECT min(number) FROM tasks f WHERE f.session_id = t.session_id AND f.task_id = t.task_id)""",
    TASK_COLUMNS,
    TASK_SESSION,
    lambda: task_from,
)
_TAGS = Reading(
    "SELECT {columns} FROM tags WHERE session_id = ? AND to_seq IS NULL{more} ORDER BY number",
    TAG_COLUMNS,
    TAG_SESSION,
    lambda: tag_from,
)

TABLE = Table(
    "tasks",
    TASK_COLUMNS,
    task_from,
    changes=(TaskUpdate, Tag),
    prepare=_prepared,
    write=_write,
    key="t.task_id",
    rewinds=True,
    of_task=True,
)
TAGS = Table("tags", TAG_COLUMNS, tag_from, key="t.call_id", rewinds=True, of_task=True)
