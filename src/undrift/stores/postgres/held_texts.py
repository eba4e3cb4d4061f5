"""The records of a scope on a server that hold pieces of a destroyed text: they were not named, and stay.

Law: reads only, and by itself no more than takes no noticeable time; the names of the rest are given.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from undrift.errors import StoreError
from undrift.stores import rows
from undrift.stores.postgres.destroying import packed_of
from undrift.stores.postgres.events import Kind
from undrift.stores.postgres.log import Home, loaded
from undrift.stores.postgres.memory_purge import versions_of
from undrift.stores.postgres.session_state import SessionState
from undrift.stores.traces import Piece

__all__ = ["copies"]

_MOST_BYTES = 16 << 20
_MOST_COPIES = 20
_NEWEST = """SELECT name FROM sessions WHERE project = %s AND person = %s AND last_seq > 0 ORDER BY written DESC"""
_KINDS = {
    Kind.DECISION: ("pinned or noted text", 1, 7),
    Kind.TASK: ("task", 1, 6),
    Kind.DOCUMENT: ("document", 2, 6),
    Kind.FACT: ("fact", 2, 5),
    Kind.RUN: ("run record", 1, 3),
}
"""The names of the kinds, and the places of a record's name and of its text in its row."""


def copies(home: Home, pieces: Sequence[Piece], *, search_all: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of records that hold any of the pieces, and the sessions that were not searched.

    `search_all`: search every session; else the newest, up to `_MOST_BYTES` of text.
    """
    if not pieces:
        return (), ()
    search = _PieceSearch(pieces)
    for one in versions_of(home):
        if one.entry is not None:
            said = rows.dump([one.entry.content, one.entry.metadata], "memory") or ""
            search.look(f"memory {one.name[:64]}", rows.raw(one.entry.content), said.encode())
    (found,) = home.server.read(home.caller, (_NEWEST, (home.project, home.caller.person)))
    unsearched = []
    for (stored,) in found:
        name = rows.text_from(bytes(stored))
        if search.read_bytes > _MOST_BYTES and not search_all:
            unsearched.append(f"session {name[:64]}")
            continue
        try:
            state = loaded(home, name)
        except StoreError:  # `integrity` names it
            unsearched.append(f"session {name[:64]}")
            continue
        for record, text in _texts(home, state):
            search.look(record, text)
    return tuple(sorted(search.names)), tuple(unsearched)


class _PieceSearch:
    """Looks for pieces, each until enough records hold it."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.names: set[str] = set()
        self.read_bytes = 0
        self._held = dict.fromkeys(pieces, 0)

    def look(self, name: str, *texts: bytes) -> None:
        """Note a record if its texts hold a piece."""
        self.read_bytes += sum(map(len, texts))
        if name in self.names:
            return
        for piece, number in self._held.items():
            if number < _MOST_COPIES and any(form in text for form in piece.forms for text in texts):
                self._held[piece] = number + 1
                self.names.add(name)


def _texts(home: Home, state: SessionState) -> Iterator[tuple[str, bytes]]:
    """Yield the texts of a session, each with what its record is called."""
    packed = packed_of(home, state)
    for one in state.versions():
        row: Any = one.event.row
        if row is None:
            continue
        ref = f"original {rows.shown(one.event.key[-1])[:64]}"
        if one.event.kind == Kind.KEPT:
            yield ref, row[12]
        elif one.event.kind == Kind.ORIGINAL:
            held = packed(one.seq)
            yield ref, held[row[2]].content if row[2] < len(held) else b""
        elif one.event.kind in _KINDS:
            kind, name, text = _KINDS[Kind(one.event.kind)]
            yield f"{kind} {rows.shown(row[name])[:64]}", row[text] or b""
    for logged in state.log:
        payload = rows.dump(logged.operation.payload, "payload")
        yield f"operation {logged.operation.seq} of {state.name[:64]}", (payload or "").encode()
