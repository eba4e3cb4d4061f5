"""Memories as the commands show them, and the memory that an id or its beginning names.

Law: a text of a memory never reaches a terminal unescaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import click

from undrift.cli.show import excerpt, note, safe
from undrift.cli.task_view import moment
from undrift.core.memory.restatements import RESTATED, restatements, said_from, times_restated
from undrift.errors import InputError, RecallError
from undrift.values.extras import command_for
from undrift.values.memory import MEMORY_TYPES, MemoryEntry

__all__ = [
    "MEMORY_TYPE",
    "NOTHING_FITS",
    "as_json",
    "day",
    "entry_rows",
    "memory_named",
    "said_again",
    "say_how_to_search_by_meaning",
    "short_ids",
    "where",
]

NOTHING_FITS = "Nothing remembered fits."
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_LEAST_ID = 8
_LEAST_GIVEN = 4
_SHOWN = ("id", "content", "type", "status", "trust", "scope", "source", "speaker", "task_id", "created_at_ms")
_TIMES = ("valid_from_ms", "valid_to_ms", "contradicted_by_entry_id", "contradicted_by_task_id", "contradiction_rule")


class _MemoryType(click.Choice[str]):
    """A type of memory, or a word of its name that no other type has: lesson for lesson_learned."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the type that a word means."""
        named = [one for one in sorted(MEMORY_TYPES) if str(value).casefold() in one.split("_")]
        return super().convert(named[0] if len(named) == 1 else value, param, ctx)


MEMORY_TYPE = _MemoryType(sorted(MEMORY_TYPES))


def as_json(entry: MemoryEntry) -> dict[str, Any]:
    """Return the fields of a memory that programs are given."""
    fields = {name: getattr(entry, name) for name in (*_SHOWN, *_TIMES)}
    return {**fields, RESTATED: list(restatements(entry))}


def day(entry: MemoryEntry) -> str:
    """Return the day since which a memory holds."""
    return moment(min(entry.valid_from_ms, _LATEST_MS))[:10]


def where(entry: MemoryEntry) -> str:
    """Return who sees a memory: its scope, with the session or the agent."""
    owner = {"session": entry.session_id, "agent": entry.agent}.get(entry.scope, "")
    return f"{entry.scope} {excerpt(owner, 24)}" if owner else entry.scope


def short_ids(entries: Iterable[MemoryEntry]) -> dict[str, str]:
    """Return the shortest beginning of each id that names it alone, and at least 8 characters of it."""
    ids = sorted(entry.id for entry in entries)
    short = {}
    for number, one in enumerate(ids):
        beside = [*ids[max(number - 1, 0) : number], *ids[number + 1 : number + 2]]
        length = max((_same_start(one, other) + 1 for other in beside), default=0)
        short[one] = one[: max(length, _LEAST_ID)]
    return short


def entry_rows(entry: MemoryEntry, id_: str, width: int, project: str = "") -> list[str]:
    """Return the lines that show a memory: its id and words, and below them what is known of it.

    `project`: the name of its project, if several are shown.
    """
    gap = " " * (len(id_) + 2)
    facts = [day(entry), where(entry), *([f"in {excerpt(project, 24)}"] if project else [])]
    facts += [entry.type, f"trust {entry.trust}"]
    facts += [f"by {excerpt(entry.speaker, 24)}"] if entry.speaker else []
    by = entry.contradicted_by_entry_id or entry.contradicted_by_task_id
    facts += [f"superseded by {excerpt(by, 40)}"] if by else []
    origin = entry.metadata.get("learned")
    line = origin.get("line") if isinstance(origin, Mapping) else None
    place = f" line {line}" if isinstance(line, int) else ""
    facts += [f"from {excerpt(entry.source, width - len(gap) - 5 - len(place))}{place}"] if entry.source else []
    facts += [excerpt(fact, width - len(gap)) for fact in said_again(entry)]
    rows = [f"{safe(id_[:40])}  {excerpt(entry.content, width - len(gap))}", gap + facts[0]]
    for fact in facts[1:]:
        if len(rows[-1]) + 2 + len(fact) <= width:
            rows[-1] += f"  {fact}"
        else:
            rows.append(gap + fact)
    return rows


def said_again(entry: MemoryEntry) -> list[str]:
    """Return how often a memory was said again, with its sources; empty if it was not."""
    times, sources = times_restated(entry), ", ".join(said_from(entry))
    often = f"said again {times:,} time{'s' if times > 1 else ''}"
    return [often + (f" from {sources}" if sources else "")] if times else []


def say_how_to_search_by_meaning() -> None:
    """Say how to add vectors to an installation that has none."""
    if not find_spec("wordllama"):
        note(f"To search by meaning as well: {command_for('vectors')}")


def memory_named(entries: Sequence[MemoryEntry], given: str) -> MemoryEntry:
    """Return the memory that an id, or at least 4 characters of its beginning, names.

    Raises RecallError: there is none. Raises InputError: several begin so.
    """
    exact = [entry for entry in entries if entry.id == given]
    begin = [entry for entry in entries if len(given) >= _LEAST_GIVEN and entry.id.startswith(given)]
    found = exact or begin
    if not found:
        raise RecallError(f"there is no memory {given[:64]!r}; `undrift memory list` shows what there is")
    if len(found) > 1:
        some = ", ".join(entry.id for entry in found[:4])
        raise InputError(f"{given[:64]!r} is the beginning of {len(found)} ids: {some}; give more of it")
    return found[0]


def _same_start(one: str, other: str) -> int:
    return next(
        (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
