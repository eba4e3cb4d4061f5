"""The search of memories: an index in this process, which follows the server's lines and the rewinds of all sessions.

Law: the index is derived, and may be lost; the same words find the same memories with the same scores as in a file. It is
brought up to the server's clock before each search, so a search finds all that was acknowledged before it.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from undrift.stores import rows
from undrift.stores.embed import Embedder
from undrift.stores.memory_contract import LinesOf
from undrift.stores.memory_index import Making, MemoryIndex
from undrift.stores.memory_values import MemoryLines, Viewer
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.memories import ServerMemories
from undrift.stores.postgres.memory_log import CURRENT, line_from, opened_record, sealed_line, vectors_place

__all__ = ["ServerMemorySearch"]

_STATE = "SELECT clock, epoch FROM projects WHERE number = %s"
_LINES = """SELECT number, name, line, embedder, dimension, vectors FROM memory_lines
    WHERE project = %s AND number > %s ORDER BY number"""
_ACTIVE = f"""SELECT l.name, EXISTS (SELECT 1 FROM memory_spans s WHERE s.project = l.project AND s.name = l.name AND {CURRENT})
    FROM memory_lines l WHERE l.project = %s AND (%s < 0 OR l.name IN (
        SELECT c.name FROM memory_spans c WHERE c.project = l.project AND greatest(c.from_clock, c.to_clock) > %s))"""  # noqa: S608
_EVER = """SELECT DISTINCT ON (name) name, record FROM memory_events WHERE project = %s AND record IS NOT NULL
    ORDER BY name, clock DESC, part DESC"""
_COUNT_ACTIVE = f"SELECT count(*) FROM memory_spans s WHERE s.project = %s AND {CURRENT}"  # noqa: S608
_CLEAR = "DELETE FROM memory_lines WHERE project = %s"
_PUT_LINES = """INSERT INTO memory_lines(project, name, organisation, person, is_shared, line)
    SELECT DISTINCT ON (x.n) e.project, x.name, e.organisation, e.person, e.is_shared, x.line
    FROM unnest(%s::bytea[], %s::bytea[]) WITH ORDINALITY AS x(name, line, n)
    JOIN memory_events e ON e.project = %s AND e.name = x.name ORDER BY x.n, e.clock DESC"""
_OTHER_EPOCH = "UPDATE projects SET epoch = epoch + 1 WHERE number = %s"


class _Index(MemoryIndex):
    """The index in memory; who may see what, the server says."""

    reader: ServerMemories

    def visible(self, ids: Collection[str], viewer: Viewer) -> set[str]:
        return self.reader.visible(ids, viewer)


class ServerMemorySearch:
    """`MemorySearching` of one scope with one embedder."""

    def __init__(
        self, home: Callable[[], Home], reader: ServerMemories, embedder: Embedder | None, making: Making | None = None
    ) -> None:
        self.embedder = embedder
        self._home = home
        self._reader = reader
        self._making = making
        self._lock = threading.RLock()
        self._index: _Index | None = None
        self._until = (0, -1, -1)  # the newest line, the clock and the epoch that the index has followed

    @contextmanager
    def open(self) -> Iterator[MemoryIndex]:
        """Lock the index for one search, after it has followed the server; other threads of this process wait."""
        home = self._home()
        with self._lock:
            yield self._followed(home)

    def rebuild(self, lines_of: LinesOf) -> int:
        home = self._home()
        (found,) = home.server.read(home.caller, (_EVER, (home.project,)))
        entries = sorted((opened_record(home, bytes(name), record) for name, record in found), key=lambda one: one.seq)
        lines = list(lines_of(entries))
        names = [rows.raw(one.id) for one in lines]
        sealed = [sealed_line(home, one) for one in lines]
        counted = home.server.write(
            home.caller, (_CLEAR, (home.project,)), (_PUT_LINES, (names, sealed, home.project)),
            (_OTHER_EPOCH, (home.project,)), (_COUNT_ACTIVE, (home.project,)),
        )  # fmt: skip
        return int(counted[-1][0][0])

    def scour(self) -> None:
        """Forget the index of this process: the next search makes it from the server's lines."""
        self._home()
        with self._lock:
            self._index, self._until = None, (0, -1, -1)

    def _followed(self, home: Home) -> _Index:
        line, clock, epoch = self._until
        state, added, active = home.server.read(
            home.caller,
            (_STATE, (home.project,)),
            (_LINES, (home.project, line)),
            (_ACTIVE, (home.project, clock, clock)),
        )
        now, other = state[0]
        if self._index is None or other != epoch:
            if line or clock >= 0:  # what was read is only what is newer
                self._index, self._until = None, (0, -1, other)
                return self._followed(home)
            self._index = self._new_index()
        self._add(home, self._index, added)
        self._settle(self._index, {bytes(name): is_active for name, is_active in active})
        self._until = (added[-1][0] if added else line, now, other)
        return self._index

    def _new_index(self) -> _Index:
        made = _Index.in_memory(self.embedder, making=self._making, texts=self._texts)
        made.reader = self._reader
        return made

    def _texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        return {name: one.content for name, one in self._reader.by_id(ids).items()}

    def _add(self, home: Home, index: _Index, added: Sequence[tuple[Any, ...]]) -> None:
        plain, with_vectors = [], []
        for _, name, line, embedder, dimension, stored in added:
            found = line_from(home, bytes(name), line)
            plain.append(found)
            if self.embedder is not None and stored is not None and embedder == self.embedder.id:
                with_vectors.append((found, dimension, home.seal.open(bytes(stored), vectors_place(bytes(name)))))
        index.put(MemoryLines(plain))
        if with_vectors and self.embedder is not None:
            import numpy as np

            tables = [np.frombuffer(one, "<f4").reshape(-1, dimension) for _, dimension, one in with_vectors]
            index.put_vectors([one.id for one, _, _ in with_vectors], tables)

    def _settle(self, index: _Index, active: Mapping[bytes, bool]) -> None:
        index.follow({rows.text_from(name): is_active for name, is_active in active.items()}, self._texts_ever)

    def _texts_ever(self, ids: Collection[str]) -> dict[str, str]:
        home = self._home()
        sql = _EVER.replace("record IS NOT NULL", "record IS NOT NULL AND name = ANY(%s)")
        (found,) = home.server.read(home.caller, (sql, (home.project, [rows.raw(one) for one in ids])))
        entries = [opened_record(home, bytes(name), record) for name, record in found]
        return {one.id: one.content for one in entries}
