"""The memories of a file as a move carries them: every version, when it was active, and what makes it searchable.

Law: reads only; the caller holds a transaction, so that all is of one moment.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw

from undrift.stores import rows
from undrift.stores.memories import MEMORY_COLUMNS, memory_from
from undrift.stores.moving.file_rows import Interval, intervals
from undrift.stores.moving.values import LogPlace, MovedLine, MovedMemory, MovedVersion, Span
from undrift.stores.postgres.session_state import BACK

__all__ = ["lines_of", "memories_of", "moments_of", "other_embedders"]

_MOMENTS = """SELECT seq, CAST(session_id AS BLOB) FROM operations WHERE kind IN ('rewind', 'undo') OR seq IN (
    SELECT from_seq FROM memories UNION SELECT to_seq FROM memories WHERE to_seq IS NOT NULL
    UNION SELECT from_seq FROM gaps WHERE of_table = 'memories' UNION SELECT to_seq FROM gaps WHERE of_table = 'memories')
    ORDER BY seq"""
_GAPS = "SELECT of_number, from_seq, to_seq FROM gaps WHERE of_table = 'memories' ORDER BY number"
_MEMORIES = f"SELECT from_seq, to_seq, {MEMORY_COLUMNS} FROM memories ORDER BY number"  # noqa: S608 - constants of ours
_ACTS = """SELECT seq, CAST(kind AS BLOB), CAST(session_id AS BLOB) FROM operations
    WHERE seq IN (SELECT from_seq FROM memories UNION SELECT to_seq FROM memories
        UNION SELECT from_seq FROM gaps WHERE of_table = 'memories' UNION SELECT to_seq FROM gaps WHERE of_table = 'memories')"""
_LINES = """SELECT l.number, CAST(l.id AS BLOB), CAST(l.scope AS BLOB), CAST(l.source AS BLOB), CAST(l.type AS BLOB),
    CAST(l.speaker AS BLOB), l.seq, l.asks, l.tier,
    (SELECT CAST(t.record AS BLOB) FROM memories t WHERE t.memory_id = l.id ORDER BY t.number DESC LIMIT 1),
    (SELECT v.vector FROM memory_vectors v WHERE v.number = l.number AND v.embedder = ?)
    FROM memory_lines l ORDER BY l.number"""
_EMBEDDERS = """SELECT e.key, CAST(e.id AS BLOB), e.dimension, (SELECT count(*) FROM memory_vectors v WHERE v.embedder = e.key),
    (SELECT coalesce(max(entry), 0) FROM memory_vectors v WHERE v.embedder = e.key) FROM memory_embedders e"""


def moments_of(connection: apsw.Connection) -> list[LogPlace]:
    """Return the operations at which memories changed or could change, oldest first."""
    found: Iterable[Any] = connection.execute(_MOMENTS)
    return [LogPlace(rows.text_from(bytes(name)), seq) for seq, name in found]


def memories_of(connection: apsw.Connection) -> list[MovedMemory]:
    """Return every memory, in the order of their first versions. Raises StoreCorrupt."""
    listed_acts: Iterable[Any] = connection.execute(_ACTS)
    acts = {seq: (bytes(kind), LogPlace(rows.text_from(bytes(name)), seq)) for seq, kind, name in listed_acts}
    gaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
    listed: Iterable[Any] = connection.execute(_GAPS)
    for number, closed, opened in listed:
        gaps[number].append((closed, opened))
    by_id: dict[bytes, list[tuple[rows.Row, list[Interval]]]] = defaultdict(list)
    found: Iterable[Any] = connection.execute(_MEMORIES).fetchall()
    for start, end, *row in found:
        memory_from(tuple(row))
        by_id[row[3]].append((tuple(row), intervals(start, end, gaps.get(row[0], ()))))
    return [MovedMemory(rows.text_from(name), _versions(some, acts)) for name, some in by_id.items()]


def _versions(
    found: Sequence[tuple[rows.Row, list[Interval]]], acts: Mapping[int, tuple[bytes, LogPlace]]
) -> tuple[MovedVersion, ...]:
    """Return what operations made of one memory. `acts`: the kind and the moment of each operation."""
    alive = {one.start for _, spans in found for one in spans if not one.is_empty}
    versions: list[tuple[int, int, MovedVersion]] = []
    for row, spans in found:
        times = [Span(acts[s.start][1], None if s.end is None else acts[s.end][1]) for s in spans if not s.is_empty]
        new = (row[2], row[3], row[4], row[5], row[1], row[6])
        act, at = acts[spans[0].start]
        versions.append((spans[0].start, 0, MovedVersion(at, act, new, tuple(times))))
    ends = {one.end for _, spans in found for one in spans if one.end is not None}
    for end in sorted(ends - alive):
        act, at = acts[end]
        if act.decode("utf-8", "replace") not in BACK:
            versions.append((end, 1, MovedVersion(at, act, None)))
    return tuple(one for *_, one in sorted(versions, key=lambda version: version[:2]))


def lines_of(connection: apsw.Connection) -> Iterator[MovedLine]:
    """Yield what makes memories searchable, in the order of its addition."""
    embedder, name, dimension = _embedder(connection)
    found: Iterable[Any] = connection.execute(_LINES, (embedder,))
    for _, id_, scope, source, type_, speaker, seq, asks, tier, record, vector in found:
        if record is None:
            continue  # a search finds nothing by it
        texts = {"scope": scope, "source": source, "type": type_, "speaker": speaker}
        fields: dict[str, Any] = {key: rows.text_from(bytes(one)) for key, one in texts.items()}
        id_text = rows.text_from(bytes(id_))
        fields |= {
            "id": id_text,
            "text": rows.load(bytes(record))["content"],
            "seq": seq,
            "asks": bool(asks),
            "tier": tier,
        }
        yield MovedLine(id_text, fields, *((name, dimension, bytes(vector)) if vector is not None else ()))


def other_embedders(connection: apsw.Connection) -> list[str]:
    """Return what is left of vectors: a home on a server keeps those of one embedder."""
    chosen, *_ = _embedder(connection)
    found: Iterable[Any] = connection.execute(_EMBEDDERS)
    return [
        f"{count:,} vectors of embedder {rows.shown(bytes(name))[:80]}: they are found again when it is used"
        for key, name, _, count, _ in found
        if key != chosen and count
    ]


def _embedder(connection: apsw.Connection) -> tuple[int, str, int]:
    """Return the embedder that was used last: its key, its id and the length of its vectors; zeros without any."""
    found: list[Any] = connection.execute(_EMBEDDERS).fetchall()
    key, name, dimension, count, _ = max(found, key=lambda one: one[4], default=(0, b"", 0, 0, 0))
    return (key, rows.text_from(bytes(name)), dimension) if count else (0, "", 0)
