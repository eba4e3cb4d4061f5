"""The migrations of the database: numbered steps from an empty file to the current layout.

Law: a released step never changes; a step and its version number are written in one transaction, or not at all; a file
of a newer undrift, or of another program, is refused before anything is written to it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import apsw

from undrift.errors import StoreCorrupt, StoreError, StoreVersionError
from undrift.stores import (
    dispatch,
    documents,
    facts,
    figures,
    marks,
    memories,
    memory_moves,
    memory_search,
    readings,
    search,
    segments,
    tasks,
    timeline,
    vectors,
)

__all__ = ["APPLICATION_ID", "MIGRATIONS", "Migration", "identify", "migrate", "transaction"]

APPLICATION_ID = 0x756E6472
"""``undr`` in ASCII, at byte 68 of the file: `file` and `PRAGMA application_id` show it."""

Migration = Callable[[apsw.Connection], None]

_IDENTITY = """SELECT (SELECT user_version FROM pragma_user_version),
    (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)"""
"""One statement, so one moment: another process may be creating the file."""

_TABLES = """
CREATE TABLE operations(
    seq INTEGER PRIMARY KEY,  -- rows are never deleted, so it only grows
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    record_sha256 BLOB NOT NULL,
    payload TEXT
);
CREATE INDEX operations_of_session ON operations(session_id);  -- and seq, which is the rowid

CREATE TABLE originals(
    number INTEGER PRIMARY KEY,  -- order of insertion; row of the search index
    ref TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    source TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    type TEXT NOT NULL,
    token_count INTEGER NOT NULL,
    timestamp INTEGER NOT NULL,
    entry_seq INTEGER NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    to_seq INTEGER REFERENCES operations(seq),
    sha256 BLOB NOT NULL,
    record_sha256 BLOB NOT NULL,
    metadata TEXT,
    masked TEXT,
    content BLOB NOT NULL  -- UTF-8, lone surrogates included; last, so that nothing else is read across it
);
CREATE INDEX originals_of_entry ON originals(session_id, entry_id);
CREATE UNIQUE INDEX originals_in_buffer ON originals(session_id, entry_id) WHERE source = 'buffer' AND to_seq IS NULL;
CREATE INDEX originals_pinned ON originals(session_id) WHERE source = 'pin';

CREATE TABLE decisions(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    tokens_saved INTEGER NOT NULL,
    ref TEXT REFERENCES originals(ref),
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    to_seq INTEGER REFERENCES operations(seq),
    record_sha256 BLOB NOT NULL,
    detail TEXT NOT NULL
);
CREATE UNIQUE INDEX decisions_in_force ON decisions(session_id, entry_id) WHERE to_seq IS NULL;
CREATE INDEX decisions_of_ref ON decisions(ref);
"""

_SCOPES = """
CREATE TABLE scopes(
    number INTEGER PRIMARY KEY,
    organisation TEXT NOT NULL,
    person TEXT NOT NULL,
    project TEXT NOT NULL,
    UNIQUE(organisation, person, project)
);
INSERT INTO scopes VALUES(1, 'local', 'local', 'local');
"""
_SCOPED_SINCE = 13
_OTHERS = "SELECT 1 FROM scopes WHERE (organisation, person, project) <> ('local', 'local', 'local')"
_SCOPED = (
    "operations", "originals", "decisions", "marks", "tasks", "tags", "facts", "run_records", "memories", "documents",
)  # fmt: skip
"""Tables of records; a number of a scope takes one byte a row, its three names would take 21."""


def create_tables(connection: apsw.Connection) -> None:
    """Step 1: operations, originals and decisions."""
    connection.execute(_TABLES)


def create_search(connection: apsw.Connection) -> None:
    """Step 2: the search index, which is derived from the tables of step 1."""
    search.reset(connection)


def decide_by_history(connection: apsw.Connection) -> None:
    """Step 3: an entry can have one decision in each history. The newest message at the time names the history."""
    connection.execute(
        """DROP INDEX decisions_in_force;
        CREATE UNIQUE INDEX decisions_in_force
            ON decisions(session_id, entry_id, coalesce(json_extract(detail, '$.at'), '')) WHERE to_seq IS NULL"""
    )


def create_marks(connection: apsw.Connection) -> None:
    """Step 4: create the table of marks. By marks, a session without an id is recognised."""
    marks.create(connection)


def create_tasks(connection: apsw.Connection) -> None:
    """Step 5: the agents' tasks, and the tags from tool calls to tasks."""
    tasks.create(connection)


def create_memory_search(connection: apsw.Connection) -> None:
    """Step 6: the search for memories, by words and by vectors."""
    memory_search.create(connection)
    vectors.create(connection)


def create_memories(connection: apsw.Connection) -> None:
    """Step 7: the memories, and the columns for rewinds."""
    memories.create(connection)
    timeline.create(connection)


def create_facts(connection: apsw.Connection) -> None:
    """Step 8: facts that one agent of a plan learned, for the next agent."""
    facts.create(connection)


def create_runs(connection: apsw.Connection) -> None:
    """Step 9: a dispatcher's records of its runs."""
    dispatch.create(connection)


def create_documents(connection: apsw.Connection) -> None:
    """Step 10: documents of agent frameworks."""
    documents.create(connection)


def add_memory_lengths(connection: apsw.Connection) -> None:
    """Step 11: the length of a memory, which limits how much its neighbours add to its score."""
    memory_search.add_lengths(connection)
    connection.execute(
        """UPDATE memory_lines SET length = coalesce((
            SELECT length(CASE WHEN json_valid(t.record) THEN json_extract(t.record, '$.content') END)
            FROM memories t WHERE t.memory_id = memory_lines.id LIMIT 1), 0)"""
    )


def add_memory_tiers(connection: apsw.Connection) -> None:
    """Step 12: the tier of trust of a memory, so that a search can use it before it chooses the best."""
    memory_search.add_tiers(connection)
    connection.execute(
        """UPDATE memory_lines SET tier = 0 WHERE id IN (SELECT t.memory_id FROM memories t
            WHERE CASE WHEN json_valid(t.record) THEN json_extract(t.record, '$.trust') END = 'tool')"""
    )


def add_scopes(connection: apsw.Connection) -> None:
    """Step 13: each record also names its organisation, person and project."""
    connection.execute(_SCOPES)
    for table in _SCOPED:
        connection.execute(f"ALTER TABLE {table} ADD COLUMN scope_number INTEGER NOT NULL DEFAULT 1")


def create_readings(connection: apsw.Connection) -> None:
    """Step 14: readings (parsed histories), so that a restarted process need not parse them again."""
    readings.create(connection)


def shrink_search(connection: apsw.Connection) -> None:
    """Step 15: the index of words without places and sessions, empty at first; the opening or the first search fills it."""
    search.reset(connection)


def share_figures(connection: apsw.Connection) -> None:
    """Step 16: what the decisions of a prune share is stored once; decisions that are there keep their own figures."""
    figures.create(connection)


def create_segments(connection: apsw.Connection) -> None:
    """Step 17: segments, in which the originals of a session are compressed; the rows that are there stay plain."""
    segments.create(connection)


def index_rare_rows(connection: apsw.Connection) -> None:
    """Step 18: indexes of rare rows: memories with conflicts, memories that are not active, and notes in windows."""
    memories.index_conflicts(connection)
    memory_moves.add_moves(connection)
    connection.execute("CREATE INDEX decisions_noted ON decisions(number) WHERE kind = 'noted'")


MIGRATIONS: Sequence[Migration] = (
    create_tables,
    create_search,
    decide_by_history,
    create_marks,
    create_tasks,
    create_memory_search,
    create_memories,
    create_facts,
    create_runs,
    create_documents,
    add_memory_lengths,
    add_memory_tiers,
    add_scopes,
    create_readings,
    shrink_search,
    share_figures,
    create_segments,
    index_rare_rows,
)
"""Step n takes a file from version n - 1 to n."""


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Lock the file for writing; commit at the end, or roll back after an exception.

    BEGIN IMMEDIATE: among 12 writers, a transaction that reads first and takes the lock later failed 1,100 of 1,200
    times in spite of the busy timeout; this one never failed.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(apsw.Error):  # the first error is raised; the caller checks `in_transaction`
                connection.execute("ROLLBACK")
        raise


def identify(connection: apsw.Connection, newest: int = len(MIGRATIONS)) -> int:
    """Return the version of the file, 0 if it is empty, without writing.

    Raises:
        StoreVersionError: It was written by a newer undrift.
        StoreCorrupt: It is ours, with a version that no undrift writes.
        StoreError: It belongs to another program, or holds records of another scope than `Scope()`.
    """
    found: list[Any] = connection.execute(_IDENTITY).fetchall()
    ((version, application, things),) = found
    if application == APPLICATION_ID:
        if version > newest:
            raise StoreVersionError(
                f"{connection.filename}: it has version {version}, this undrift knows up to version {newest}; "
                "it was not changed. Update undrift, or choose another --home"
            )
        if version < 1:  # the version and the mark are written together
            raise StoreCorrupt(
                f"{connection.filename}: it has version {version}, which no undrift writes: the file is damaged; it was not "
                "changed. Put a backup in its place with `undrift store restore`, or choose another --home"
            )
        if version >= _SCOPED_SINCE and connection.execute(_OTHERS).fetchall():
            raise StoreError(
                f"{connection.filename}: it holds records of a named organisation, person or project, which this undrift "
                "cannot tell apart in a file; it was not changed. Open it with the undrift that wrote it"
            )
        return int(version)
    if application or version or things:
        raise StoreError(
            f"{connection.filename}: it belongs to another program; it was not changed. Choose another --home"
        )
    return 0


def migrate(connection: apsw.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Migrate the file to the current layout, one transaction for each step; several processes may do so at once.

    An empty file takes all steps in one transaction: each would wait for the disk.

    Raises StoreVersionError: it was written by a newer undrift. Raises StoreError: it belongs to another program.
    """
    while identify(connection, len(migrations)) < len(migrations):
        with transaction(connection):
            version = identify(connection, len(migrations))  # another process may have been first
            if version < len(migrations):
                steps = migrations[version : version + 1] if version else migrations
                for step in steps:
                    step(connection)
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", version + len(steps))
