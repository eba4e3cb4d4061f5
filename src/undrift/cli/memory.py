"""``undrift memory`` and ``undrift store rebuild``: facts across sessions, active or superseded, and their conflicts."""

import sys
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, get_args

import click

from undrift.cli.draw import say
from undrift.cli.lookup import MAKES_MEMORIES, MAKES_OWN, has_store, no_store
from undrift.cli.of_session import (
    FIRST_SESSION,
    Whole,
    home_options,
    moment_of,
    open_session,
    opened,
    session_options,
    settings_of,
)
from undrift.cli.show import again, count, echo_json, first_line, note, safe
from undrift.cli.task_view import moment
from undrift.errors import RecallError, StoreError
from undrift.memory.repository import repository_of
from undrift.stores.opening import open_store
from undrift.values.extras import command_for
from undrift.values.memory import MEMORY_TYPES, MemoryEntry, MemoryScope, ScoredMemoryEntry, Trust
from undrift.values.scope import Scope

__all__ = ["conflicts_command", "rebuild_command", "remember_command", "search_command"]

_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_REASONS = {
    "confidence": "it is not clear which one is right",
    "trust": "the newer one is trusted less",
    "pinned": "the older one is pinned",
    "scope": "the older one has another scope",
    "speaker": "two people said them",
    "time": "the order in time is not clear",
}
"""Why a pair stays open, in words."""
_SHOWN = ("id", "content", "type", "status", "trust", "scope", "source", "speaker", "task_id", "created_at_ms")
_TIMES = ("valid_from_ms", "valid_to_ms", "contradicted_by_entry_id", "contradicted_by_task_id", "contradiction_rule")


@click.command("remember")
@click.argument("text")
@click.option(
    "--type",
    "type_",
    type=click.Choice(sorted(MEMORY_TYPES)),
    default="note",
    show_default=True,
    metavar="TYPE",
    help=f"The type of memory: {', '.join(sorted(MEMORY_TYPES))}.",
)
@click.option(
    "--trust",
    type=click.Choice(get_args(Trust)),
    default="assistant",
    help="Who said it, and so how far to trust it (default: assistant).",
)
@click.option(
    "--scope", type=click.Choice(get_args(MemoryScope)), default="project", help="Who can see it (default: project)."
)
@click.option("--source", default="", metavar="NAME", help="Its origin, such as a document.")
@click.option("--speaker", metavar="NAME", help="The person who said it.")
@session_options
def remember_command(
    text: str, session: str | None, home: str | None, as_json: bool, type_: Any, **fields: Any
) -> None:
    """Remember a fact; it replaces what it contradicts.

    TEXT is one statement; give - to read it from stdin. A memory that TEXT contradicts is kept, but marked as
    superseded. If it is not clear which of them is right, both stay active and `undrift memory conflicts` shows
    them.

    \b
    undrift memory remember "The main database is SQLite." --trust user
    """
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" and sys.stdin is not None else text
    settings = settings_of(home)
    with open_store(settings.home, Scope()) as store:
        newest = store.newest_session()
    with open_session(settings, session or newest or FIRST_SESSION) as chosen:
        entry = chosen.remember(text, type=type_, **fields)
        changed = [old for old in chosen.memories() if old.contradicted_by_entry_id == entry.id]
        pairs = [pair for pair in chosen.conflicts() if entry.id in (pair.newer.id, pair.older.id)]
    unsure = [(pair.reason, pair.older if pair.newer.id == entry.id else pair.newer) for pair in pairs]
    if as_json:
        echo_json(
            {
                "session_id": chosen.id,
                "memory": _as_json(entry),
                "superseded": [old.id for old in changed],
                "conflicts": [other.id for _, other in unsure],
            }
        )
        return
    click.echo(entry.id)
    for old in changed:
        note(f"supersedes {old.id}: {first_line(old.content)}")
    if entry.is_contradicted:
        note(f"superseded by {safe(entry.contradicted_by_entry_id or '')}, which is valid from a later time")
    for reason, other in unsure:
        note(f"in conflict with {other.id} ({_REASONS.get(reason, reason)}): {first_line(other.content)}")
    if unsure:
        note("To resolve it, remember the right fact again: --trust user")


@click.command("search")
@click.argument("query")
@click.option(
    "--limit", type=Whole(min=1, max=1_000), default=10, metavar="N", help="Show at most N memories (default: 10)."
)
@click.option("--valid", is_flag=True, help="Only active memories that have no end date.")
@click.option(
    "--known-at",
    metavar="TO",
    help="Search the memories as they were at TO: a step's number, a checkpoint's label, or task:ID.",
)
@session_options
def search_command(
    query: str, limit: int, valid: bool, known_at: str | None, session: str | None, home: str | None, as_json: bool
) -> None:
    """Search memories. Active ones come first, replaced ones last.

    QUERY is words or a question. Memories with the same words are found. The package extra `vectors` also finds
    memories with the same meaning.

    \b
    undrift memory search "which database does billing use"
    """
    with opened(home, session, makes=MAKES_MEMORIES) as chosen:
        then = None if known_at is None else moment_of(known_at)
        hits = chosen.search(query, k=limit, only_valid=valid, known_at=then)
        rated = chosen.search_precision()
    if as_json:
        found = [_hit_as_json(hit) for hit in hits]
        echo_json({"session_id": chosen.id, "query": query, "found": found, "precision": asdict(rated)})
        return
    for hit in hits:
        _show_hit(hit)
    if not hits:
        note(f"No memory matches. {_how_to_search_by_meaning()}".strip())
    if rated.alert:
        note(f"Only {rated.value:.0%} of the results of the last {rated.samples} rated searches were useful.")


@click.command("conflicts")
@session_options
def conflicts_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Show contradictions that are not resolved.

    Each is a pair of memories that exclude each other. To resolve a pair, run `undrift memory remember` with the
    right fact and --trust user.

    \b
    undrift memory conflicts
    """
    with opened(home, session, makes=MAKES_MEMORIES) as chosen:
        found = chosen.conflicts()
    if as_json:
        pairs = [
            {
                "newer": _as_json(pair.newer),
                "older": _as_json(pair.older),
                **{name: getattr(pair, name) for name in ("rule", "evidence", "confidence", "reason")},
            }
            for pair in found
        ]
        echo_json({"session_id": chosen.id, "conflicts": pairs})
        return
    for pair in found:
        say(f"{safe(pair.rule)} ({pair.confidence:.0%} sure): {_REASONS.get(pair.reason, safe(pair.reason))}")
        for entry in (pair.newer, pair.older):
            say(f"  {entry.id}  {_day(entry)}  trust {entry.trust}")
            say(f"    {first_line(entry.content, 100)}")
    if found:
        say(f'To resolve one: undrift memory remember "THE RIGHT FACT" --trust user{again(home, session)}')
    else:
        note("There is no open conflict.")


@click.command("rebuild")
@home_options
def rebuild_command(home: str | None, as_json: bool) -> None:
    """Rebuild the search indexes.

    Use it if an index is damaged, or after you change the setting `embedder`. No stored data changes.

    \b
    undrift store rebuild
    """
    settings = settings_of(home)
    if not has_store(settings.home):
        raise RecallError(no_store((settings.home,), MAKES_OWN))
    with open_store(settings.home, Scope(), create=False) as store:
        store.rebuild_search()
        memories = repository_of(store, settings).rebuild()
        damaged = store.integrity()
    if as_json:
        echo_json({"home": settings.home, "memories": memories, "damaged": list(damaged)})
    else:
        say(f"Rebuilt the search indexes of {safe(settings.home)}: {count(memories, 'memory', 'memories')}.")
    if damaged:
        raise StoreError(f"{settings.home}: {damaged[0]}; `undrift doctor{again(home)}` lists what is damaged")


def _show_hit(hit: ScoredMemoryEntry) -> None:
    entry = hit.entry
    by = entry.contradicted_by_entry_id or entry.contradicted_by_task_id
    state = f"superseded by {safe(by[:40])}" if by else "active"
    say(f"{hit.decayed_score:.2f}  {safe(entry.id[:40])}  {_day(entry)}  {entry.type}, trust {entry.trust}, {state}")
    say(f"      {first_line(entry.content, 100)}")


def _how_to_search_by_meaning() -> str:
    """Say how to add vectors to this installation; empty if it has them."""
    return "" if find_spec("wordllama") else f"To search by meaning as well: {command_for('vectors')}"


def _day(entry: MemoryEntry) -> str:
    return moment(min(entry.valid_from_ms, _LATEST_MS))[:10]


def _hit_as_json(hit: ScoredMemoryEntry) -> dict[str, Any]:
    return {**_as_json(hit.entry), "score": hit.decayed_score, "raw_score": hit.raw_score, "why": dict(hit.why)}


def _as_json(entry: MemoryEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in (*_SHOWN, *_TIMES)}
