"""The view of the memory: what holds, what was superseded and why, which memories exclude each other; now or at a moment.

Law: the stores' records are shown as they are, and the engine's rules alone find a conflict. Texts are masked. A moment is
the state after the last operation up to then; what was purged is in no state.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from undrift.core.contradict.verdicts import OPEN_BECAUSE, judge
from undrift.core.memory.dispute import counts_less
from undrift.core.memory.restatements import LEARNED, said_from, times_restated
from undrift.core.memory.supersede import open_conflicts
from undrift.core.text.safe_lines import label, safe_line
from undrift.core.text.secrets import mask
from undrift.errors import InputError, StoreError
from undrift.memory.learning import LEARNED_FROM
from undrift.stores.base import Operation, SessionRow
from undrift.stores.contract import Store
from undrift.stores.memory_values import Viewer
from undrift.stores.opening import engine_of
from undrift.stores.projects import USER, place_at
from undrift.values.clock import now_ms
from undrift.values.memory import MemoryEntry
from undrift.values.project import Place
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["EVERYWHERE", "Hidden", "conflict_count", "hidden_in", "memory", "memory_places", "memory_text"]

EVERYWHERE = "*"
"""The name of the store of what holds in every project."""

_HIDING = ("forget", "prune_memories")
_REWINDS = ("rewind", "undo")
_AGENT = "main"
"""The agent of all sessions; see `RunContext`."""

_STATES = ("holds", "superseded", "hidden")
"""The states of a memory, in the order of the list."""

_MOST_ROWS = 2_000
_MOST_PAIRS = 200
_MOST_STOPS = 300
_COUNTS_EVERY_S = 30.0
_TEXT_CHARACTERS = 600
_NAME_CHARACTERS = 160
_RULES = {
    "edited": "it was edited",
    "restated": "said again with more trust",
    "polarity": "the newer one denies it",
    "correction": "the newer one says that it is replaced",
    "change": "the newer one reports a change",
    "value": "the newer one has another value",
}
"""The rules that supersede, in words; a part of a rule follows behind a colon."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A memory that no agent sees any more, as it was last. `kind`: the operation that hid it."""

    entry: MemoryEntry
    seq: int
    at_ms: int
    kind: str


@dataclass(slots=True)
class _Kept:
    """The memories of one store. `then`: those of the moment that is asked for; without one, those of now."""

    key: str
    project: str
    now: list[MemoryEntry]
    then: list[MemoryEntry]
    hidden: list[Hidden]
    stops_ms: set[int] = field(default_factory=set)


_Side = tuple[_Kept, MemoryEntry]
_Pair = tuple[Mapping[str, Any], _Side, _Side]
_Listed = tuple[str, _Kept, MemoryEntry, Mapping[str, Any]]
"""A memory with its state, its store, and more values of its row."""


def memory_places(source: PageSource) -> dict[str, Place]:
    """Return the places that have memories, by the name that the page calls them with."""
    found = {one.records.name: one for one in source.places()}
    for key, folder in (("", source.home), (EVERYWHERE, source.home / USER)):
        if engine_of(folder).is_there(folder):
            found[key] = place_at(folder)
    return found


def memory(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the memories of all projects, active ones first, the newest first.

    `query`: ``as_of`` is a moment in Unix milliseconds; without it, now. ``id`` names a memory that is listed in any case.
    """
    given = query.get("as_of", "")
    as_of_ms = int(given) if given.isdecimal() and len(given) <= 15 else None
    kept, unread = [], []
    for key, place in memory_places(source).items():
        try:
            with source.store(place) as store:
                if store is not None:
                    kept.append(_read(store, key, place, as_of_ms))
        except StoreError:
            unread.append(_project(key, place))
    rows = _MemoryRows(source)
    pairs = sorted(_conflicts(kept), key=_doubt)
    listed = sorted((one for some in kept for one in _listed(some, is_now=as_of_ms is None)), key=_order)
    states = Counter(state for state, *_ in listed)
    named = [one for one in listed[_MOST_ROWS:] if one[2].id == query.get("id")]
    return {
        "at_ms": now_ms(),
        "as_of_ms": as_of_ms,
        "counts": {"conflicts": len(pairs), **{name: states[name] for name in _STATES}},
        "conflicts": [rows.pair(*one) for one in pairs[:_MOST_PAIRS]],
        "rows": [rows.row(*one) for one in (*listed[:_MOST_ROWS], *named)],
        "stops_ms": _thinned(sorted({stop for one in kept for stop in one.stops_ms})),
        "unread": unread,
    }


def memory_text(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the whole text of an active memory. `query`: ``place`` and ``id``."""
    place, id_ = memory_places(source).get(query.get("place", "")), query.get("id", "")
    if place is not None:
        with source.store(place) as store:
            found = None if store is None else store.memories.by_id([id_]).get(id_)
            if found is not None:
                return {"id": id_, "text": mask(found.content).text}
    raise InputError("this memory is not remembered any more; load the page again")


def hidden_in(store: Store, ids: Collection[str] | None = None) -> list[Hidden]:
    """Return the memories that were forgotten or pruned and are not active now, each as it was last.

    `ids`: only these; None: all.
    """
    found: dict[str, Hidden] = {}
    for row in store.sessions():
        for operation in store.operations(row.session_id, _HIDING):
            wanted = [one for one in _ids_of(operation) if ids is None or one in ids]
            if not wanted:
                continue
            then = Viewer(_AGENT, row.session_id, operation.seq - 1)
            for id_, entry in store.memories.by_id(wanted, then).items():
                if id_ not in found or found[id_].seq < operation.seq:
                    found[id_] = Hidden(entry, operation.seq, operation.at_ms, operation.kind)
    active = store.memories.by_id(found)
    return [one for id_, one in found.items() if id_ not in active]


def _ids_of(operation: Operation) -> list[str]:
    payload = operation.payload or {}
    forgotten, pruned = payload.get("forgotten", ()), payload.get("pruned", {})
    return [*forgotten, *(id_ for some in pruned.values() for id_ in some)]


def _project(key: str, place: Place) -> str:
    if place.project is not None:
        return label(place.project.name, _NAME_CHARACTERS)
    return "every project" if key == EVERYWHERE else "this home"


def _read(store: Store, key: str, place: Place, as_of_ms: int | None) -> _Kept:
    now, hidden, sessions = store.memories.seen(None), hidden_in(store), store.sessions()
    then = now
    if as_of_ms is not None:
        then = _then(store, _seq_at(store, sessions, as_of_ms), [*now, *(one.entry for one in hidden)])
    stops = {at for one in now for at in (one.recorded_at_ms, one.contradicted_at_ms) if at}
    stops |= {at for one in hidden for at in (one.entry.recorded_at_ms, one.at_ms)}
    for row in sessions:
        stops |= {one.at_ms for one in store.operations(row.session_id, _REWINDS)}
    return _Kept(key, _project(key, place), now, then, hidden, stops)


def _seq_at(store: Store, sessions: Iterable[SessionRow], at_ms: int) -> int:
    """Return the newest operation of any session up to a moment; 0 if there is none."""
    found = [0]
    for row in sessions:
        if row.last_at_ms <= at_ms:
            found.append(store.last_seq(row.session_id))
        elif row.first_at_ms <= at_ms:
            found += [one.seq for one in store.operations(row.session_id) if one.at_ms <= at_ms]
    return max(found)


def _then(store: Store, seq: int, known: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Return the memories right after an operation; those of one session or agent are found by the ids that are known."""
    found = {one.id: one for one in store.memories.seen(Viewer(_AGENT, "", seq))}
    owned: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in known:
        if one.scope in ("session", "agent"):
            owned[one.agent, one.session_id].append(one.id)
    for (agent, session_id), ids in owned.items():
        found |= store.memories.by_id(ids, Viewer(agent, session_id, seq))
    return sorted(found.values(), key=lambda one: one.seq)


def conflict_count(source: PageSource) -> int:
    """Return how many conflicts are open. They are counted at most twice a minute, as all memories are read for it."""
    now_s = time.monotonic()
    if now_s - source.conflicts[0] >= _COUNTS_EVERY_S:
        source.conflicts = (now_s, memory(source, {})["counts"]["conflicts"])
    return source.conflicts[1]


def _conflicts(kept: Sequence[_Kept]) -> Iterator[_Pair]:
    """Yield the open conflicts of each store, and those between a project and what holds in every project."""
    active = {one.key: {entry.id: entry for entry in one.then if not entry.is_contradicted} for one in kept}
    seen = set()
    for one in kept:
        for entry in active[one.key].values():
            for about in open_conflicts(entry):
                other = active[one.key].get(about["with"])
                pair = (one.key, frozenset((entry.id, about["with"])))  # one that came back records it a second time
                if other is not None and pair not in seen:
                    seen.add(pair)
                    yield about, (one, entry), (one, other)
    everywhere = next((one for one in kept if one.key == EVERYWHERE), None)
    if everywhere is None:
        return
    for one in kept:
        if one is not everywhere:
            about_it = _by_slot(active[one.key].values())
            for entry in active[EVERYWHERE].values():
                near = {x.id: x for slot in entry.slots for x in about_it.get((slot.relation, slot.entity), ())}
                for verdict in judge(entry, list(near.values())):
                    if verdict.kind == "open_conflict":
                        other = near[verdict.loser_id if verdict.winner_id == entry.id else verdict.winner_id]
                        about = {"rule": verdict.rule, "reason": verdict.reason, "confidence": verdict.confidence}
                        yield about, (everywhere, entry), (one, other)


def _by_slot(entries: Iterable[MemoryEntry]) -> dict[tuple[str, str], list[MemoryEntry]]:
    found: dict[tuple[str, str], list[MemoryEntry]] = defaultdict(list)
    for entry in entries:
        for slot in entry.slots:
            found[slot.relation, slot.entity].append(entry)
    return found


def _doubt(pair: _Pair) -> tuple[float, int]:
    """Return a key for the order of conflicts: the surest first, then the newest."""
    about, (_, one), (_, other) = pair
    return -about["confidence"], -max(one.seq, other.seq)


def _listed(kept: _Kept, *, is_now: bool) -> Iterator[_Listed]:
    """Yield the memories of a store; in the present the hidden ones too."""
    states = {one.id: _state(one) for one in kept.now}
    for entry in kept.then:
        yield _state(entry), kept, entry, {"now": states.get(entry.id, "hidden")}
    for one in kept.hidden if is_now else ():
        yield "hidden", kept, one.entry, {"at_ms": one.at_ms, "why": one.kind}


def _state(entry: MemoryEntry) -> str:
    return "superseded" if entry.is_contradicted else "holds"


def _order(one: _Listed) -> tuple[int, int, int]:
    state, _, entry, _ = one
    return _STATES.index(state), -entry.valid_from_ms, -entry.seq


class _MemoryRows:
    """Makes the rows of the page."""

    def __init__(self, source: PageSource) -> None:
        self._sessions = {name: one for one in source.sessions() for name in (one.key, one.session_id) if name}
        self._named = lru_cache(maxsize=None)(source.named)

    def pair(self, about: Mapping[str, Any], one: _Side, other: _Side) -> dict[str, Any]:
        """Return an open conflict; the side that counts more stands first."""
        sides = sorted((one, other), key=lambda side: counts_less(side[1]))
        return {
            "sides": [
                self.row(
                    _state(entry),
                    kept,
                    entry,
                    {"is_newer": entry.created_at_ms >= max(one[1].created_at_ms, other[1].created_at_ms)},
                )
                for kept, entry in sides
            ],
            "why": OPEN_BECAUSE.get(about["reason"], "it is not clear which of them is right"),
            "rule": label(about["rule"], _NAME_CHARACTERS),
            "confidence": about["confidence"],
        }

    def row(self, state: str, kept: _Kept, entry: MemoryEntry, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return a memory for the page. `more`: values in the place of those that follow from the memory alone."""
        masked = mask(entry.content)
        by = entry.contradicted_by_entry_id or entry.contradicted_by_task_id or ""
        return {
            "id": entry.id,
            "place": kept.key,
            "project": kept.project,
            "text": "\n".join(map(safe_line, masked.text[:_TEXT_CHARACTERS].split("\n"))),
            "is_cut": len(masked.text) > _TEXT_CHARACTERS,
            "is_masked": bool(masked.spans),
            **{name: getattr(entry, name) for name in ("type", "trust", "scope", "status", "pinned")},
            "speaker": label(entry.speaker, _NAME_CHARACTERS),
            "since_ms": entry.valid_from_ms,
            "until_ms": entry.valid_to_ms,
            "source": self._origin(entry),
            "again": {"times": times_restated(entry), "sources": [label(one) for one in said_from(entry)[:5]]},
            "state": state,
            "by": by,
            "at_ms": entry.contradicted_at_ms,
            "is_edit": entry.contradiction_rule == "edited",
            "why": _why(entry.contradiction_rule) if by else "",
            **more,
        }

    def _origin(self, entry: MemoryEntry) -> dict[str, Any]:
        """Return where a memory comes from: its source, with the line in a recording, and the session that wrote it."""
        is_session = entry.source.startswith(LEARNED_FROM)
        session_id = entry.source.removeprefix(LEARNED_FROM) if is_session else entry.session_id
        one: WatchedSession | None = self._sessions.get(session_id.partition(":")[2])
        learned = entry.metadata.get(LEARNED)
        line = learned.get("line") if isinstance(learned, Mapping) else None
        return {
            "text": "" if is_session else label(entry.source, _NAME_CHARACTERS),
            "line": line if type(line) is int else None,
            "is_learned": is_session,
            "session": label(session_id, _NAME_CHARACTERS),
            "key": "" if one is None else one.key,
            "title": "" if one is None else self._named(one.title),
        }


def _why(rule: str) -> str:
    """Return a rule that superseded a memory, in words."""
    name, _, part = rule.partition(":")
    said = _RULES.get(name, label(rule, _NAME_CHARACTERS) or "no rule is recorded")
    return f"{said} ({label(part, _NAME_CHARACTERS)})" if part and name in _RULES else said


def _thinned(stops: list[int]) -> list[int]:
    """Return at most so many moments, the first and the last among them."""
    if len(stops) <= _MOST_STOPS:
        return stops
    return [stops[number * (len(stops) - 1) // (_MOST_STOPS - 1)] for number in range(_MOST_STOPS)]
