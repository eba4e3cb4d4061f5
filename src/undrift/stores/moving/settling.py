"""The outcome for a memory that two machines changed without knowing of each other. Pure.

Law: nothing that either said goes. If both replaced it, both new statements stand, as an open conflict; if one forgot it and the other
changed it, the change stands; else the server's change does.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from undrift.values.memory import MemoryEntry

__all__ = ["settled"]

_RULE = "sync"
_REASON = "two machines changed the same memory before they were synced"
_MOST_CHARACTERS = 500


def settled(
    disputes: Mapping[str, tuple[MemoryEntry | None, MemoryEntry | None]], now: Mapping[str, MemoryEntry], machine: str
) -> dict[str, MemoryEntry]:
    """Return the memories as they are to be, by id.

    Args:
        disputes: Each memory as this machine had it, and as the server had it; None: it was out of sight.
        now: These memories and those that replaced them, as they are here now.
        machine: The name of this machine.
    """
    found: dict[str, MemoryEntry] = {}
    for id_, (own, other) in disputes.items():
        chosen = other or own
        if chosen is None:
            continue
        found[id_] = replace(chosen, metadata={**chosen.metadata, "synced_by": machine})
        rivals = [one.contradicted_by_entry_id for one in (own, other) if one is not None]
        if len(rivals) == 2 and None not in rivals and rivals[0] != rivals[1]:
            ours, theirs = (now.get(str(one)) for one in rivals)
            if ours is not None and theirs is not None:
                found[ours.id] = _with_conflict(found.get(ours.id, ours), theirs)
    return found


def _with_conflict(entry: MemoryEntry, other: MemoryEntry) -> MemoryEntry:
    held: Any = entry.metadata.get("conflicts")
    conflict = {
        "with": other.id,
        "rule": _RULE,
        "evidence": [entry.content[:_MOST_CHARACTERS], other.content[:_MOST_CHARACTERS]],
        "confidence": 1.0,
        "reason": _REASON,
    }
    known = list(held) if isinstance(held, list | tuple) else []
    return replace(entry, metadata={**entry.metadata, "conflicts": [*known, conflict]})
