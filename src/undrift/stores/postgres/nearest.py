"""The nearest vectors by the server's own index (pgvector), for projects with very many memories.

Law: the index only nominates. The cosines come from the stored vectors, as with any index. A small project is searched
exactly: behind an approximate index, a filter of 1% loses most of what it should find. The table is derived: it follows
the lines of memories, which take their vectors with them.
"""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import psycopg
from psycopg import sql

from undrift.errors import StoreError
from undrift.stores import memory_search, rows
from undrift.stores.exact_index import ExactIndex
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.postgres.connection import APP_ROLE, Statement, set_path
from undrift.stores.postgres.log import Home
from undrift.stores.vectors import Scored, VectorTable

__all__ = ["SEARCH", "SETTINGS", "ServerVectors", "create"]

_EXACT = 20_000
"""Vectors of a project; up to this many, all are compared in this process. `bench.server_vectors` has the figures."""
_AT_ONCE = 1_000
_SPARE = 16
_MOST_WANTED = 1_000
_THERE = "SELECT to_regclass(%s) IS NOT NULL"
_CREATE = """CREATE TABLE IF NOT EXISTS memory_vectors_hnsw(  -- derived; made only where pgvector is installed
    project bigint NOT NULL, name bytea NOT NULL, organisation bigint NOT NULL, person bigint NOT NULL, is_shared boolean NOT NULL,
    embedder text NOT NULL, dimension int NOT NULL, embedding vector NOT NULL,
    PRIMARY KEY (project, person, name, embedder),
    FOREIGN KEY (project, person, name) REFERENCES memory_lines(project, person, name) ON DELETE CASCADE
)"""
_POLICY = """CREATE POLICY mine ON memory_vectors_hnsw TO {role}
    USING (organisation = (SELECT (me()).organisation) AND (is_shared OR person = (SELECT (me()).number)))"""
_INDEX = """CREATE INDEX IF NOT EXISTS {name} ON memory_vectors_hnsw USING hnsw ((embedding::vector({dimension})) vector_cosine_ops)
    WHERE dimension = {dimension}"""
SETTINGS = """SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '100', true),
    set_config('hnsw.max_scan_tuples', '200000', true), set_config('hnsw.scan_mem_multiplier', '4', true)"""
"""Without them, an index scan ends after `ef_search` rows of all projects; with them, it continues until enough rows pass the filter."""
SEARCH = """WITH near AS MATERIALIZED (
    SELECT name, embedding::vector({dimension}) <=> %(query)s::vector({dimension}) AS distance FROM memory_vectors_hnsw
    WHERE project = %(project)s AND embedder = %(embedder)s AND dimension = {dimension}
    ORDER BY embedding::vector({dimension}) <=> %(query)s::vector({dimension}) LIMIT %(most)s)
SELECT name FROM near ORDER BY distance + 0, name"""
"""The scan's order is nearly right alone; its rows are sorted again."""
_MISSING = """SELECT l.name FROM memory_lines l WHERE l.project = %s AND NOT EXISTS (SELECT 1 FROM memory_vectors_hnsw h
    WHERE h.project = l.project AND h.person = l.person AND h.name = l.name AND h.embedder = %s) LIMIT %s"""
_PUT = """INSERT INTO memory_vectors_hnsw(project, name, organisation, person, is_shared, embedder, dimension, embedding)
    SELECT l.project, l.name, l.organisation, l.person, l.is_shared, %s, %s, x.embedding::vector
    FROM unnest(%s::bytea[], %s::text[]) AS x(name, embedding) JOIN memory_lines l ON l.project = %s AND l.name = x.name
    ON CONFLICT DO NOTHING"""
_FORGET = "DELETE FROM memory_vectors_hnsw WHERE project = %s AND embedder = %s"


class ServerVectors:
    """`VectorIndex` that lets the server choose what is compared, in a project with more than 20,000 vectors.

    Args:
        table: The vectors as this process holds them.
        home: Returns whose memories are meant.

    Raises StoreError: pgvector is not installed on the server.
    """

    def __init__(self, table: VectorTable, home: Callable[[], Home], *, exact: int = _EXACT) -> None:
        self._table = table
        self._home = home
        self._exact_until = exact
        self._exact = ExactIndex(table)
        create(home(), table.dimension)

    @property
    def seq(self) -> int:
        """The newest operation with a memory that the search finds."""
        return self._table.seq

    def add(self, vectors: Iterable[tuple[int, Any]]) -> None:
        """Store vectors in this process; a later search hands them to the server, many at a time."""
        self._exact.add(vectors)

    def remove(self, numbers: Collection[int]) -> None:
        """Forget memories; on the server their vectors go with their lines."""
        self._exact.remove(numbers)

    def rebuild(self) -> None:
        """Make the server's rows of this project again at the next search."""
        home = self._home()
        home.server.write(home.caller, (_FORGET, (home.project, self._table.embedder)))
        self._exact.rebuild()

    def scour(self) -> None:
        """Delete the project's rows; what PostgreSQL keeps of deleted rows goes with its next VACUUM."""
        self.rebuild()

    def search(self, query: Any, k: int, only: Filter = ALL) -> Scored:
        """Return the k nearest memories; exactly if the filter leaves few, or if the server cannot answer."""
        state, unit = self._table.state, self._table.unit(query)
        if not state.key or k <= 0 or not unit.any():
            return []
        count = len(self._table.numbers(state))
        if only != ALL:
            count = len(self._table.numbers_in(only, self._exact_until + 1))
        if count <= self._exact_until:
            return self._exact.search(query, k, only)
        try:
            self._hand_over()
            found = self._nominated(unit, k, only)
        except StoreError:
            found = None
        return self._exact.search(query, k, only) if found is None else self._table.scores(unit, found, k, state)

    def _nominated(self, unit: Any, k: int, only: Filter) -> list[int] | None:
        """Return the numbers of the nearest that a filter lets through. None means: the server found too few."""
        wanted = k + _SPARE
        while wanted <= _MOST_WANTED:
            names = self._nearest(unit, wanted)
            numbers = memory_search.numbers_of(self._table.connection, names).values()
            kept = list(memory_search.places(self._table.connection, numbers, only)) if only != ALL else list(numbers)
            if len(kept) >= k:
                return kept
            if len(names) < wanted:
                return None
            wanted *= 4
        return None

    def _nearest(self, unit: Any, most: int) -> list[str]:
        home = self._home()
        values = {"query": _text(unit), "project": home.project, "embedder": self._table.embedder, "most": most}
        statement: Statement = (SEARCH.replace("{dimension}", str(self._table.dimension)), values)
        found = home.server.read(home.caller, (SETTINGS, ()), statement)[1]
        return [rows.text_from(bytes(name)) for (name,) in found]

    def _hand_over(self) -> None:
        """Give the server the vectors that it does not have; a text without meaning has zeros, which its index leaves out."""
        home, table = self._home(), self._table
        while True:
            (missing,) = home.server.read(home.caller, (_MISSING, (home.project, table.embedder, _AT_ONCE)))
            names = [rows.text_from(bytes(name)) for (name,) in missing]
            numbers = memory_search.numbers_of(table.connection, names)
            vectors = self._vectors(numbers.values())
            known = [one for one in names if numbers.get(one) in vectors]
            if not known:  # the rest has no vector yet: lines that others have just added
                return
            values = [rows.raw(one) for one in known], [vectors[numbers[one]] for one in known]
            home.server.write(
                home.caller, (_PUT, (table.embedder, table.dimension, *values, home.project)), is_durable=False
            )
            if len(known) < _AT_ONCE:
                return

    def _vectors(self, numbers: Iterable[int]) -> dict[int, str]:
        import numpy as np

        found: Sequence[Any] = self._table.connection.execute(
            """SELECT number, substr(vector, 1, ?) FROM memory_vectors
            WHERE embedder = ? AND number IN (SELECT value FROM json_each(?))""",
            (4 * self._table.dimension, self._table.state.key, json.dumps(list(numbers))),
        ).fetchall()
        return {number: _text(np.frombuffer(vector, "<f4")) for number, vector in found}


def create(home: Home, dimension: int) -> None:
    """Make the table, and the index for vectors of a length, if the server does not have them.

    Raises StoreError: pgvector is not installed there, or the address's user may not make tables.
    """
    schema, index = home.server.address.schema, f"memory_vectors_hnsw_{dimension}"
    with home.server.owner() as connection:
        found = connection.execute(_THERE, (f"{sql.Identifier(schema).as_string()}.{index}",)).fetchone()
        if found and found[0]:
            return
        try:
            with connection.transaction():
                _create(connection, schema, index, dimension)
        except psycopg.Error as error:
            raise StoreError(
                f'vector_index "pgvector": {str(error).splitlines()[0]:.200}; install pgvector on the server and let its '
                'owner run `CREATE EXTENSION vector`, or set vector_index to "exact"'
            ) from error


def _create(connection: psycopg.Connection[Any], schema: str, index: str, dimension: int) -> None:
    names = {"role": sql.Identifier(APP_ROLE), "name": sql.Identifier(index), "dimension": sql.Literal(dimension)}
    connection.execute(sql.SQL("SELECT pg_advisory_xact_lock(hashtext({}))").format(sql.Literal(f"{schema}.{index}")))
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    set_path(connection, schema)
    is_new = connection.execute("SELECT to_regclass('memory_vectors_hnsw') IS NULL").fetchone()
    connection.execute(_CREATE)
    if is_new and is_new[0]:
        connection.execute("ALTER TABLE memory_vectors_hnsw ENABLE ROW LEVEL SECURITY")
        connection.execute(sql.SQL(_POLICY).format(**names))
        connection.execute(sql.SQL("GRANT SELECT, INSERT, DELETE ON memory_vectors_hnsw TO {role}").format(**names))
    connection.execute(sql.SQL(_INDEX).format(**names))


def _text(vector: Any) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{number:.9g}" for number in vector.tolist()) + "]"
