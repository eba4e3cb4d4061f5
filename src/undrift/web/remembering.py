"""The changes of the memory from the page: forget, bring back, edit, say again, and settle a conflict.

Law: each is what `undrift memory` does, by the same call: nothing is destroyed. A forgotten memory is imported again, with
its id and times. A rewind is not used: it would also undo what the session did since.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from undrift.errors import InputError
from undrift.memory.exchange import as_record
from undrift.memory.scopes import USER_SESSION
from undrift.session.session import Session
from undrift.stores.contract import Store
from undrift.values.memory import MemoryEntry
from undrift.values.project import Place
from undrift.web.memory import EVERYWHERE, hidden_in, memory_places
from undrift.web.source import PageSource

__all__ = ["memory_again", "memory_edit", "memory_forget", "memory_restore", "memory_settle"]

_FIRST_SESSION = "notes"
"""The session of a change in a home that has no session yet, as the commands name it."""

_MOST_CHARACTERS = 16_000
_MOST_ID_CHARACTERS = 200


def memory_forget(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Hide a memory from every agent. `given`: ``place`` and ``id``.

    Returns its id, and the number of memories that it superseded and that stay so.
    """
    place, entries, entry = _found(source, given)
    stays = [one for one in entries if one.contradicted_by_entry_id == entry.id]
    with _session(source, place, entry) as session:
        session.memory.forget(entry.id)
    return {"id": entry.id, "stays_superseded": len(stays)}


def memory_restore(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Bring back a memory that was forgotten or pruned. `given`: ``place`` and ``id``."""
    place, id_ = _place(source, given), _text(given, "id", _MOST_ID_CHARACTERS)
    with source.store(place) as store:
        found = [] if store is None else hidden_in(store, (id_,))
    if not found:
        raise InputError("this memory is not hidden, or it was purged; load the page again")
    entry = found[0].entry
    with _session(source, place, entry) as session:
        done = session.memory.take_in([as_record(entry)])
    if done.refused:
        raise InputError(f"it cannot come back: {done.refused[0][1]}")
    return {"id": done.added[0].id if done.added else next(iter(done.known), entry.id)}


def memory_edit(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the words of a memory by a person's own. `given`: ``place``, ``id`` and ``text``."""
    said = _text(given, "text", _MOST_CHARACTERS)
    place, _, entry = _found(source, given)
    with _session(source, place, entry) as session:
        edited = session.memory.edit(entry.id, said)
    return {"id": edited.id, "is_changed": edited.id != entry.id}


def memory_again(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Remember the words of a superseded memory again, as a person's. `given`: ``place`` and ``id``.

    After an edit, the edited memory gets these words: that undoes the edit.
    """
    place, entries, entry = _found(source, given)
    if not entry.is_contradicted:
        raise InputError("this memory holds already; load the page again")
    by = next((one for one in entries if one.id == entry.contradicted_by_entry_id), None)
    is_edit = by is not None and not by.is_contradicted and entry.contradiction_rule == "edited"
    kept = {name: getattr(entry, name) for name in ("type", "source", "scope", "status")}
    with _session(source, place, entry) as session:
        if is_edit and by is not None:
            again = session.memory.edit(by.id, entry.content)
        else:
            again = session.remember(entry.content, speaker=entry.speaker or None, trust="user", **kept)
        pairs = [one for one in session.conflicts() if again.id in (one.newer.id, one.older.id)]
    return {"id": again.id, "conflicts": len(pairs)}


def memory_settle(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settle a conflict: forget one side. `given`: ``keep`` and ``drop``, each with ``place`` and ``id``."""
    keep, drop = given.get("keep"), given.get("drop")
    if not isinstance(keep, dict) or not isinstance(drop, dict):
        raise InputError("keep and drop must be the two sides of a conflict; load the page again")
    kept, dropped = (_found(source, one)[2] for one in (keep, drop))
    if kept.id == dropped.id or kept.is_contradicted or dropped.is_contradicted:
        raise InputError("this conflict is settled already; load the page again")
    return {"kept": kept.id, **memory_forget(source, drop)}


def _place(source: PageSource, given: Mapping[str, Any]) -> Place:
    place = memory_places(source).get(_text(given, "place", _MOST_ID_CHARACTERS, least=0))
    if place is None:
        raise InputError("this project has no memories here any more; load the page again")
    return place


def _found(source: PageSource, given: Mapping[str, Any]) -> tuple[Place, list[MemoryEntry], MemoryEntry]:
    """Return the place of a memory, all memories there, and the memory. Raises InputError: it is not remembered."""
    place, id_ = _place(source, given), _text(given, "id", _MOST_ID_CHARACTERS)
    with source.store(place) as store:
        entries = [] if store is None else store.memories.seen(None)
    entry = next((one for one in entries if one.id == id_), None)
    if entry is None:
        raise InputError("this memory is not remembered any more; load the page again")
    return place, entries, entry


def _text(given: Mapping[str, Any], name: str, most: int, *, least: int = 1) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not least <= len(value.strip()) or len(value) > most:
        raise InputError(f"{name} must be a text of {least:,} to {most:,} characters")
    return value


@contextmanager
def _session(source: PageSource, place: Place, entry: MemoryEntry) -> Iterator[Session]:
    """Open the session that may change a memory: its own for the scope `session`, else the newest of the place."""
    with source.store(place) as store:
        session_id = _session_of(store, entry)
    is_everywhere = place == memory_places(source).get(EVERYWHERE)
    chosen = USER_SESSION if is_everywhere else session_id
    with source.opened(chosen, place) as session:
        yield session


def _session_of(store: Store | None, entry: MemoryEntry) -> str:
    if entry.scope == "session":
        return entry.session_id
    return (None if store is None else store.newest_session()) or _FIRST_SESSION
