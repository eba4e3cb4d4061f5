"""Records without what a purge destroys: payloads without its names, memories without its words. Pure.

Law: what goes is named by the caller; all else stays as it is, in its form and in its order.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from undrift.values.memory import MemoryEntry, reopened

__all__ = ["restatements", "thinned", "without_evidence", "without_names", "without_restatements"]

_MOVES = ("to", "of")
"""The parts of an operation's payload that stay after its session is purged: the numbers that rewinds need."""
_SAYS_THE_SAME = "restated"
"""The rule by which a memory superseded one of less trust that says the same."""


def thinned(payload: Mapping[str, Any], names: Collection[str], *, is_whole: bool) -> Any:
    """Return an operation's payload without names; `is_whole`: of its session only what rewinds need stays."""
    if is_whole:
        return {name: payload[name] for name in _MOVES if name in payload} or None
    return without_names(payload, names)


def without_names(value: Any, names: Collection[str]) -> Any:
    """Return a JSON value without the names."""
    if isinstance(value, Mapping):
        kept = {name: one for name, one in value.items() if not (isinstance(one, str) and one in names)}
        return {name: without_names(one, names) for name, one in kept.items()}
    if isinstance(value, list):
        return [without_names(one, names) for one in value if not (isinstance(one, str) and one in names)]
    return value


def without_evidence(
    entry: MemoryEntry, ids: Collection[str], heir_of: Mapping[str, str], whose: str | None = None
) -> MemoryEntry:
    """Return a memory without the words of destroyed ones; none of them supersedes it, but the heir of one may.

    Args:
        ids: The destroyed memories.
        heir_of: The ids of their heirs, by the id of what they replaced.
        whose: The session whose restatements go as well.
    """
    parts: dict[str, Callable[[Mapping[str, Any]], bool]] = {
        "conflicts": lambda one: isinstance(by := one.get("with"), str) and by in ids,
        "restated": lambda one: whose is not None and one.get("session_id") == whose,
    }
    held = _settled(entry, ids, heir_of)
    kept = {name: _kept(held.metadata[name], goes) for name, goes in parts.items() if name in held.metadata}
    return replace(held, metadata={**held.metadata, **kept}) if kept else held


def without_restatements(entry: MemoryEntry, stays: dict[str, bool], writer: str, session_id: str) -> MemoryEntry:
    """Return a version without the restatements of a session, and without those that it claims for others.

    Args:
        stays: For each statement of this version and the earlier ones, whether it stays.
        writer: The session whose operation wrote the version.
        session_id: The session that is purged.
    """
    if entry.session_id != session_id:
        stays[_key(entry.content, entry.source, entry.session_id)] = True
    kept = []
    for one in restatements(entry):
        key = _key(one.get("content"), one.get("source"), one.get("session_id"))
        if stays.setdefault(key, session_id not in (writer, one.get("session_id"))):
            kept.append(one)
    return replace(entry, metadata={**entry.metadata, "restated": kept})


def restatements(entry: MemoryEntry) -> list[Mapping[str, Any]]:
    """Return the records of who said the same again; a stranger's record in another form is none."""
    held = entry.metadata.get("restated")
    return [one for one in held if isinstance(one, Mapping)] if isinstance(held, list) else []


def _settled(entry: MemoryEntry, ids: Collection[str], heir_of: Mapping[str, str]) -> MemoryEntry:
    """Return a memory that no destroyed memory supersedes by what the two have in common."""
    by = entry.contradicted_by_entry_id
    if by is None or by not in ids:
        return entry
    if by in heir_of:
        return replace(entry, contradicted_by_entry_id=heir_of[by])
    return reopened(entry) if entry.contradiction_rule == _SAYS_THE_SAME else entry


def _kept(held: Any, goes: Callable[[Mapping[str, Any]], bool]) -> Any:
    """Return a list without the records that go; what a stranger wrote there in another form stays."""
    if not isinstance(held, list):
        return held
    return [one for one in held if not (isinstance(one, Mapping) and goes(one))]


def _key(*parts: Any) -> str:
    return json.dumps(parts)
