"""The restatements of a memory: who else said it, in which words, from where and when. Pure.

Law: the memory keeps its own words and its own trust. A restatement lies under a memory of the same or of more trust, and
lends it nothing but a younger age, if it is trusted as much. A tool's output restates only a tool's output.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

from undrift.core.contradict.verdicts import Verdict, slots_of
from undrift.core.memory.restated import LEAST_CONFIDENCE, may_say_the_same, says_the_same
from undrift.core.text.words import speaker_key
from undrift.errors import InputError
from undrift.values.memory import TRUST_TIERS, UNKNOWN_TASK, MemoryEntry, heir_id

__all__ = [
    "MOST_KEPT",
    "RESTATED",
    "covers",
    "heir_of",
    "merged_into",
    "restatements",
    "said_from",
    "times_restated",
    "with_restatement",
]

RESTATED = "restated"
"""The name in the metadata of a memory; each has `content`, `source`, `speaker`, `trust`, `session_id`, `recorded_at_ms`."""

MOST_KEPT = 50
"""Restatements of one memory that keep their words; of the others only the number is kept (`restated_more`)."""

LEARNED = "learned"
"""The name in the metadata of a memory that a session taught by itself."""

_MOST_WORDINGS = 5
_MOST_COMPARED = 20
_MORE = "restated_more"
_TEXTS = ("content", "source", "speaker", "trust", "session_id")
_TYPES = frozenset({"note", "architectural_decision", "user_preference", "req_context", "lesson_learned"})
_OF_OTHERS = (RESTATED, _MORE, "conflicts", "reinforces")
_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")
_MOST_CHARACTERS = 2_000
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)


def merged_into(new: MemoryEntry, existing: Iterable[MemoryEntry], verdicts: Sequence[Verdict]) -> MemoryEntry | None:
    """Return the memory that a new entry restates, with it under it. None means: it is a memory of its own.

    `verdicts`: on the new entry. One that contradicts anything is a memory of its own.
    """
    if any(map(_is_against, verdicts)):
        return None
    found = _near(new, (one for one in existing if _may_restate(new, one) and _tier(new) <= _tier(one)))
    said = next((one for one in found if _says(one, new.content)), None)
    return None if said is None else with_restatement(said, new)


def with_restating(new: MemoryEntry, existing: Iterable[MemoryEntry], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on a new entry, with those by which it supersedes memories of less trust that say the same."""
    found = _near(
        new, (one for one in existing if _may_restate(new, one) and _tier(new) > _tier(one) > 0 and not one.pinned)
    )
    same = [one for one in found if _says(one, new.content)]
    ids = {one.id for one in same}
    others = [one for one in verdicts if ids.isdisjoint((one.winner_id, one.loser_id))]
    return others + [Verdict("supersede", new.id, one.id, RESTATED, (one.content, new.content), 1.0) for one in same]


def with_restatement(entry: MemoryEntry, new: MemoryEntry) -> MemoryEntry:
    """Return a memory with a restatement; the same memory if it has that one already."""
    if not _is_lasting(new):
        return entry
    kept = restatements(entry)
    own = {name: getattr(new, name) for name in _TEXTS}
    if any(_key(one) == _key(own) for one in ({name: getattr(entry, name) for name in _TEXTS}, *kept)):
        return entry
    metadata = dict(entry.metadata)
    if len(kept) < MOST_KEPT:
        times = {"recorded_at_ms": new.recorded_at_ms, "valid_from_ms": new.valid_from_ms}
        said = {**own, **times, **({"metadata": dict(new.metadata)} if new.metadata else {})}
        metadata[RESTATED] = [*kept, said]
    else:
        metadata[_MORE] = times_restated(entry) - len(kept) + 1
    last = max(entry.task_position, new.task_position) if _tier(new) == _tier(entry) else entry.task_position
    return replace(entry, metadata=metadata, phase_index=last[0], task_index=last[1])


def restatements(entry: MemoryEntry) -> tuple[Mapping[str, Any], ...]:
    """Return the restatements of a memory, in the order in which they came, `MOST_KEPT` at most.

    Its metadata may come from a stranger: a record of another form is left out.
    """
    found = entry.metadata.get(RESTATED)
    given = found if isinstance(found, list | tuple) else ()
    return tuple(islice((one for one in given if isinstance(one, Mapping) and _is_whole(one)), MOST_KEPT))


def heir_of(entry: MemoryEntry, stays: Callable[[Mapping[str, Any]], bool] = bool) -> MemoryEntry | None:
    """Return the memory that takes the place of one whose own words go: its most trusted restatement, with the others under it.

    None means: nothing stays. A record may come from a stranger: it never gets more trust or readers than the memory had.
    """
    kept = [one for one in restatements(entry) if stays(one) and -1 < TRUST_TIERS.get(one["trust"], -1) <= _tier(entry)]
    for one in sorted(kept, key=lambda again: -TRUST_TIERS[again["trust"]]):
        try:
            return _heir(entry, one, [other for other in kept if other is not one])
        except InputError:  # its times or its words cannot be those of a memory
            continue
    return None


def _heir(entry: MemoryEntry, again: Mapping[str, Any], others: list[Mapping[str, Any]]) -> MemoryEntry:
    own = given if isinstance(given := again.get("metadata"), Mapping) else {}
    metadata = {name: value for name, value in own.items() if name not in _OF_OTHERS}
    if others:
        metadata[RESTATED] = others
    owner = {"session": {"session_id": entry.session_id}, "agent": {"agent": entry.agent}}.get(entry.scope, {})
    return replace(
        entry,
        id=heir_id(entry.id),
        task_id=UNKNOWN_TASK,
        created_at_ms=again["recorded_at_ms"],
        valid_from_ms=again.get("valid_from_ms", again["recorded_at_ms"]),
        slots=() if again["trust"] == "tool" else slots_of(again["content"]),
        metadata=metadata,
        **{"agent": "", **{name: again[name] for name in _TEXTS}, "recorded_at_ms": again["recorded_at_ms"], **owner},
    )


def times_restated(entry: MemoryEntry) -> int:
    """Return how often a memory was said again."""
    more = entry.metadata.get(_MORE)
    return len(restatements(entry)) + (more if type(more) is int and more > 0 else 0)


def covers(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Tell whether a text with one memory needs no line with the other: it says the same, or holds all its sentences.

    The other is not trusted more, and both speak of the same: two people who say "I" do not.
    """
    if _tier(one) < _tier(other) or (_tier(one) == 0) != (_tier(other) == 0) or not _is_one_voice(one, other):
        return False
    sentences = _sentences(other.content)
    return (bool(sentences) and sentences <= _sentences(one.content)) or says_the_same(one.content, other.content)


@lru_cache(maxsize=512)
def _sentences(text: str) -> frozenset[str]:
    parts = (" ".join(part.casefold().split()).rstrip(".!; ") for part in _SENTENCE.split(text[:_MOST_CHARACTERS]))
    return frozenset(part for part in parts if part)


def _is_one_voice(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Tell whether the same words of both mean the same: one speaker, or nothing in the first person."""
    return speaker_key(one.speaker) == speaker_key(other.speaker) or not (
        _FIRST_PERSON.search(one.content) or _FIRST_PERSON.search(other.content)
    )


def said_from(entry: MemoryEntry) -> tuple[str, ...]:
    """Return the sources that a memory was said again from, each once."""
    return tuple(dict.fromkeys(one["source"] for one in restatements(entry) if one["source"]))


def _is_against(verdict: Verdict) -> bool:
    return verdict.kind != "reinforce" and verdict.confidence >= LEAST_CONFIDENCE


def _says(entry: MemoryEntry, text: str) -> bool:
    """Tell whether a memory says a text, in its own words or in those of a restatement."""
    return any(may_say_the_same(said, text) and says_the_same(said, text) for said in _wordings(entry))


def _wordings(entry: MemoryEntry) -> tuple[str, ...]:
    return entry.content, *(one["content"] for one in restatements(entry)[: _MOST_WORDINGS - 1])


def _near(new: MemoryEntry, found: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Return the memories that are worth a comparison: few, because each takes milliseconds."""
    near = (one for one in found if any(may_say_the_same(said, new.content) for said in _wordings(one)))
    return list(islice(near, _MOST_COMPARED))


def _is_whole(one: Mapping[str, Any]) -> bool:
    return all(isinstance(one.get(name), str) for name in _TEXTS) and type(one.get("recorded_at_ms")) is int


def _key(one: Mapping[str, Any]) -> tuple[str, str, str]:
    return " ".join(one["content"].casefold().split()), one["source"], speaker_key(one["speaker"])


def _may_restate(new: MemoryEntry, old: MemoryEntry) -> bool:
    """Tell whether a new entry may restate a memory at all: both active, of one type and scope, with no end of their own."""
    if old.is_contradicted or old.id == new.id or new.is_contradicted:
        return False
    if (new.type, new.status, new.scope, _owner(new)) != (old.type, old.status, old.scope, _owner(old)):
        return False
    if not (_is_lasting(new) and _is_lasting(old)):
        return False
    if new.valid_to_ms is not None or old.valid_to_ms is not None or new.valid_from_ms < old.valid_from_ms:
        return False
    if (new.pinned and not old.pinned) or (_tier(new) == 0) != (_tier(old) == 0):
        return False
    if LEARNED in old.metadata and LEARNED not in new.metadata:
        return False  # one command forgets all that was learned, and nothing that was asked for
    return _is_one_voice(new, old)


def _is_lasting(entry: MemoryEntry) -> bool:
    """Tell whether a memory is more than the result of one task, which goes with that task."""
    return entry.type in _TYPES and not entry.source.startswith("task:")


def _owner(entry: MemoryEntry) -> str:
    return {"agent": entry.agent, "session": entry.session_id}.get(entry.scope, "")


def _tier(entry: MemoryEntry) -> int:
    return TRUST_TIERS[entry.trust]
