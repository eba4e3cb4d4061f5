"""Originals and decisions of one scope on a server, from the states of its sessions. Law: reads only."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from undrift.errors import GoneError, RecallError, StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Found, Known
from undrift.stores.decisions import decision_from, many_decisions
from undrift.stores.originals import original_from, unpacked_original
from undrift.stores.packing import FORGED, PackedOriginal, records, unframed
from undrift.stores.postgres.events import Kind
from undrift.stores.postgres.finding import find, removal_from_buffer
from undrift.stores.postgres.log import Home, original_place
from undrift.stores.postgres.session_state import Record, SessionState, values_of
from undrift.stores.postgres.sessions import Sessions
from undrift.values.window import ContextEntry, Decision, Original

__all__ = ["ServerOriginals", "segment_of", "segments_of"]

_WHOSE = """SELECT s.name FROM originals o JOIN sessions s ON s.month = o.month AND s.number = o.session
    WHERE o.ref = %s AND s.project = %s AND s.person = %s ORDER BY o.seq DESC LIMIT 1"""
_SEGMENTS = "SELECT seq, content FROM segments WHERE month = %s AND session = %s AND seq = ANY(%s)"
_AT_ONCE = 64
"""Segments that one query reads."""


class ServerOriginals:
    """The part of `Store` about originals and decisions."""

    _sessions: Sessions

    @property
    def _home(self) -> Home:
        raise NotImplementedError

    def original(self, ref: str) -> Original:
        home, key = self._home, rows.raw(ref)
        if (session_id := self._session_of(home, ref)) is not None:
            with self._sessions.read(session_id) as state:
                if (record := state.archived(key)) is not None:
                    return self._archived(home, state, record)
                if (record := state.ever_kept(key)) is not None:
                    return original_from(record.row).original
                for decision in map(_decision, state.active(Kind.DECISION)):
                    if decision.detail.get("gone_ref") == ref:
                        raise GoneError(f"{ref[:64]}: {decision.reason}")
        raise RecallError(f"no original {ref[:64]!r} in {home.server.address}; check the reference and --home")

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        home, key = self._home, rows.raw(entry_id)
        with self._sessions.read(session_id) as state:
            kept = [one for one in state.active(Kind.KEPT) if one.event.row is not None and one.event.row[3] == key]
            archived = state.of_entry(key)
            newest = max(
                [*kept, *([archived] if archived is not None else [])], key=lambda one: one.number, default=None
            )
            if newest is not None:
                return self._read_original(home, state, newest)
            for record in state.active(Kind.DECISION):
                decision = _decision(record)
                if decision.entry_id == entry_id and not decision.ref:
                    raise GoneError(f"{entry_id[:64]}: {decision.reason}")
        raise RecallError(
            f"session {session_id[:64]!r} has no original of an entry {entry_id[:64]!r}; check both ids and --home"
        )

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        with self._sessions.read(session_id) as state:
            is_gone = removal_from_buffer(state)
            buffered = [one for one in _kept_as(state, b"buffer") if not is_gone(one)]
            return tuple(replace(original_from(one.row).original.entry, seq=one.number) for one in buffered)

    def pins(self, session_id: str, known: Known | None = None) -> tuple[Original, ...]:
        with self._sessions.read(session_id) as state:
            pins = _kept_as(state, b"pin")
        return tuple(
            values_of(pins, lambda one: original_from(one.row).original, None if known is None else known.pins)
        )

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        home = self._home
        return tuple(find(home, self._sessions, self._texts, query, session_id, limit)) if limit > 0 else ()

    def decided(self, session_id: str, known: Known | None = None) -> tuple[Decision, ...]:
        with self._sessions.read(session_id) as state:
            records = state.active(Kind.DECISION)
        make = many_decisions()
        return tuple(values_of(records, lambda one: make((*one.row, None)), None if known is None else known.decisions))

    def decisions(self, session_id: str) -> dict[str, Decision]:
        return {one.entry_id: one for one in self.decided(session_id)}

    def decision(self, ref: str) -> Decision | None:
        home = self._home
        if not ref:
            return None
        if (session_id := self._session_of(home, ref)) is not None:
            with self._sessions.read(session_id) as state:
                for record in reversed(state.active(Kind.DECISION)):
                    decision = _decision(record)
                    if ref in (decision.ref, decision.detail.get("gone_ref")):
                        return decision
        return None

    def _session_of(self, home: Home, ref: str) -> str | None:
        """Return the session that has an original. None means: there is none."""
        (found,) = home.server.read(home.caller, (_WHOSE, (rows.raw(ref), home.project, home.caller.person)))
        return rows.text_from(bytes(found[0][0])) if found else None

    def _read_original(self, home: Home, state: SessionState, record: Record) -> Original:
        if record.event.kind == Kind.ORIGINAL:
            return self._archived(home, state, record)
        return original_from(record.row).original

    def _archived(self, home: Home, state: SessionState, record: Record) -> Original:
        """Read an original from its segment. Raises StoreCorrupt: the segment is damaged, or holds another one."""
        assert record.event.row is not None
        ref, (_, sha256, place, *_) = record.event.key[0], record.event.row
        try:
            packed = segment_of(home, state, record.seq)[place]
            found = unpacked_original(rows.raw(state.name), packed).original
            if rows.raw(found.ref) != ref or hashlib.sha256(packed.content).digest() != sha256:
                raise StoreCorrupt(f"it does not match its SHA-256; {rows.REMEDY}")
        except (*FORGED, StoreCorrupt) as error:
            raise StoreCorrupt(f"original {rows.shown(ref)}: {error}") from error
        return found

    def _texts(self, home: Home, state: SessionState, records_: Sequence[Record]) -> Mapping[int, bytes]:
        """Return the texts of originals of a session by their numbers; damaged ones are left out."""
        found: dict[int, bytes] = {}
        segment = segments_of(home, state, (one.seq for one in records_ if one.event.kind == Kind.ORIGINAL))
        for one in sorted(records_, key=lambda one: one.seq):
            row: Any = one.event.row
            if one.event.kind == Kind.KEPT:
                found[one.number] = row[12]
                continue
            try:
                content = segment(one.seq)[row[2]].content
            except (*FORGED, StoreCorrupt):
                continue
            if hashlib.sha256(content).digest() == row[1]:
                found[one.number] = content
        return found


def segment_of(home: Home, state: SessionState, seq: int) -> list[PackedOriginal]:
    """Return the originals that left with an operation. Raises StoreCorrupt: they are missing, or were changed."""
    return segments_of(home, state, [seq])(seq)


def segments_of(home: Home, state: SessionState, seqs: Iterable[int]) -> Callable[[int], list[PackedOriginal]]:
    """Return what opens the segment of each of these operations, as `segment_of` does.

    It is to be asked in their order: one query reads many segments, and they are kept until the next one.
    """
    order = sorted(set(seqs))
    block_of = {seq: place // _AT_ONCE for place, seq in enumerate(order)}

    @lru_cache(maxsize=1)
    def block(number: int) -> dict[int, bytes]:
        some = order[number * _AT_ONCE : (number + 1) * _AT_ONCE]
        (found,) = home.server.read(home.caller, (_SEGMENTS, (state.month, state.number, some)))
        return {seq: bytes(content) for seq, content in found}

    @lru_cache(maxsize=1)
    def segment(seq: int) -> list[PackedOriginal]:
        sealed = block(block_of[seq]).get(seq)
        if sealed is None:
            raise StoreCorrupt(f"the segment of operation {seq} is missing; {rows.REMEDY}")
        raw = unframed(home.session_seal(state).open(sealed, original_place(seq)))
        return [one for _, one in records(raw)]

    return segment


def _decision(record: Record) -> Decision:
    return decision_from((*record.row, None))


def _kept_as(state: SessionState, source: bytes) -> list[Record]:
    """Return the active originals that were kept as a pin, or in the buffer."""
    return [one for one in state.active(Kind.KEPT) if one.event.row is not None and one.event.row[2] == source]
