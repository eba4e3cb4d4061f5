"""Going back: the state right after an operation is taken again, and what several sessions change is settled by what counts."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.stores.dictionary.memories import active
from tests.stores.dictionary.records import Home, State

__all__ = ["go_back", "state_of"]

_Records = Mapping[str, Mapping[str, Any]]


def go_back(home: Home, session_id: str, then: int, seq: int) -> tuple[dict[str, int], dict[str, int]]:
    """Activate what was active then; return how many records of each kind were closed, and how many opened.

    Args:
        home: A draft.
        session_id: Whose state it is.
        then: The operation to go back to.
        seq: The operation that goes back.
    """
    session = home.of(session_id)
    before = _kinds(session.now) | {"memories": active(home)}
    facts = session.now.facts
    session.now = session.then(then).copied()
    if session.now.facts != facts:
        session.facts_at = seq
    after = _kinds(session.now) | {"memories": active(home)}
    return _count(before, after), _count(after, before)


def state_of(home: Home, session_id: str, seq: int | None) -> dict[str, dict[str, bytes]]:
    """Return what is active: kind to key to digest."""
    session = home.of(session_id)
    kinds = _kinds(session.then(seq))
    events = active(home, session_id, seq) if seq is None or session.until(seq) else {}
    memories = {name: one.entry for name, one in events.items() if one.session == session_id and one.entry is not None}
    facts = {str(sequence): one for sequence, one in session.then(seq).facts.items()}
    every: _Records = {**kinds, "memories": memories, "facts": facts}
    return {kind: {key: _digest(one) for key, one in some.items()} for kind, some in every.items()}


def _kinds(state: State) -> dict[str, Mapping[str, Any]]:
    return {
        "originals": {f"{one.source} {ref}": one for ref, one in state.originals.items()},
        "decisions": {f"{entry} {at}": one for (entry, at), one in state.decisions.items()},
        "tasks": state.tasks,
        "tags": state.tags,
        "documents": {f"{kind} {_name(path)}": replace(one, number=0) for (kind, path), one in state.documents.items()},
    }


def _name(path: tuple[str, ...]) -> str:
    return json.dumps(list(path), separators=(",", ":"))


def _count(these: _Records, others: _Records) -> dict[str, int]:
    """How many of these are not among the others; a memory that is out of sight is none."""
    counts = {
        kind: sum(one != others[kind].get(key) and getattr(one, "entry", one) is not None for key, one in some.items())
        for kind, some in these.items()
    }
    return {kind: number for kind, number in counts.items() if number}


def _digest(one: object) -> bytes:
    return hashlib.sha256(repr(one).encode("utf-8", "surrogatepass")).digest()
