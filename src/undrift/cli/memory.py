"""``undrift remember``, ``search``, ``conflicts`` and ``rebuild``: what is true now, what was, and what is unsure."""

import sys
from dataclasses import asdict
from typing import Any, get_args

import click

from undrift.cli.of_session import FIRST_SESSION, moment_of, open_session, opened, session_options, settings_of
from undrift.cli.show import count, echo_json, first_line, safe
from undrift.cli.task_view import moment
from undrift.errors import StoreError
from undrift.memory.repository import repository_of
from undrift.stores.opening import open_store
from undrift.values.memory import MEMORY_TYPES, MemoryEntry, MemoryScope, ScoredMemoryEntry, Trust
from undrift.values.scope import Scope

__all__ = ["conflicts_command", "rebuild_command", "remember_command", "search_command"]

_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_SHOWN = ("id", "content", "type", "status", "trust", "scope", "source", "speaker", "task_id", "created_at_ms")
_TIMES = ("valid_from_ms", "valid_to_ms", "contradicted_by_entry_id", "contradicted_by_task_id", "contradiction_rule")


@click.command("remember")
@click.argument("text")
@click.option("--type", "type_", type=click.Choice(sorted(MEMORY_TYPES)), default="note", help="What it is (note).")
@click.option(
    "--trust", type=click.Choice(get_args(Trust)), default="assistant", help="Who vouches for it (default: assistant)."
)
@click.option("--scope", type=click.Choice(get_args(MemoryScope)), default="project", help="Who sees it (project).")
@click.option("--source", default="", metavar="NAME", help="Where it comes from, such as a document.")
@click.option("--speaker", metavar="NAME", help="Who said it.")
@session_options
def remember_command(
    text: str, session: str | None, home: str | None, as_json: bool, type_: Any, **fields: Any
) -> None:
    """Store a statement, and settle what it means for what is there.

    TEXT is one statement; - reads it from stdin. What it supersedes stays, marked; where the rules are not sure, both stay
    and `undrift conflicts` shows them. The same words again are the same memory.
    """
    said = sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" and sys.stdin is not None else text
    settings = settings_of(home)
    with open_store(settings.home, Scope()) as store:
        newest = store.newest_session()
    with open_session(settings, session or newest or FIRST_SESSION) as chosen:
        entry = chosen.remember(said, type=type_, **fields)
        changed = [one for one in chosen.memories() if one.contradicted_by_entry_id == entry.id]
        unsure = [one for one in chosen.conflicts() if entry.id in (one.newer.id, one.older.id)]
    if as_json:
        echo_json(
            {
                "session_id": chosen.id,
                "memory": _as_json(entry),
                "superseded": [one.id for one in changed],
                "conflicts": [one.older.id if one.newer.id == entry.id else one.newer.id for one in unsure],
            }
        )
        return
    click.echo(entry.id)
    for one in changed:
        click.echo(f"supersedes {one.id}: {first_line(one.content)}", err=True)
    if entry.is_contradicted:
        click.echo(f"superseded at once by {safe(entry.contradicted_by_entry_id or '')}, which holds later", err=True)
    for pair in unsure:
        other = pair.older if pair.newer.id == entry.id else pair.newer
        click.echo(f"in conflict with {other.id} ({pair.reason}): {first_line(other.content)}", err=True)


@click.command("search")
@click.argument("query")
@click.option("--limit", type=click.IntRange(min=1, max=1_000), default=10, metavar="N", help="Most results (10).")
@click.option("--valid", is_flag=True, help="Only what holds until further notice.")
@click.option("--known-at", metavar="TO", help="As right after this operation, checkpoint or task.")
@session_options
def search_command(
    query: str, limit: int, valid: bool, known_at: str | None, session: str | None, home: str | None, as_json: bool
) -> None:
    """Find what is remembered, best first: what holds now before what it superseded.

    QUERY is words or a question.
    """
    with opened(home, session) as chosen:
        then = None if known_at is None else moment_of(known_at)
        hits = chosen.search(query, k=limit, only_valid=valid, known_at=then)
        rated = chosen.search_precision()
    if as_json:
        found = [_hit_as_json(hit) for hit in hits]
        echo_json({"session_id": chosen.id, "query": query, "found": found, "precision": asdict(rated)})
        return
    for hit in hits:
        click.echo(_line(hit))
    if not hits:
        click.echo("nothing that is remembered fits", err=True)
    if rated.alert:
        click.echo(
            f"of what the last {rated.samples} rated searches returned, {rated.value:.0%} was of use: below 70%",
            err=True,
        )


@click.command("conflicts")
@session_options
def conflicts_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Show the pairs of memories that exclude each other, where nothing says which one holds.

    Remember a correction, with --trust user, to settle one.
    """
    with opened(home, session) as chosen:
        found = chosen.conflicts()
    if as_json:
        pairs = [
            {
                "newer": _as_json(one.newer),
                "older": _as_json(one.older),
                **{name: getattr(one, name) for name in ("rule", "evidence", "confidence", "reason")},
            }
            for one in found
        ]
        echo_json({"session_id": chosen.id, "conflicts": pairs})
        return
    for one in found:
        click.echo(f"{safe(one.rule)} ({one.confidence:.2f}), open because of {safe(one.reason)}")
        for entry in (one.newer, one.older):
            click.echo(f"  {entry.id}  {_day(entry)}  {entry.trust:<9}  {first_line(entry.content, 100)}")
    if not found:
        click.echo("no open conflict", err=True)


@click.command("rebuild")
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def rebuild_command(home: str | None, as_json: bool) -> None:
    """Make all that is searched anew from what is stored.

    The same answers come out; for an index that is damaged, or after another embedder was chosen.
    """
    settings = settings_of(home)
    with open_store(settings.home, Scope(), create=False) as store:
        store.rebuild_search()
        memories = repository_of(store, settings).rebuild()
        damaged = store.integrity()
    if as_json:
        echo_json({"home": settings.home, "memories": memories, "damaged": list(damaged)})
    else:
        click.echo(
            f"the searches of {safe(settings.home)} were made anew, {count(memories, 'memory', 'memories')} in them"
        )
    if damaged:
        raise StoreError(f"{settings.home}: {damaged[0]}; `undrift doctor` lists what is damaged")


def _line(hit: ScoredMemoryEntry) -> str:
    entry = hit.entry
    by = entry.contradicted_by_entry_id or entry.contradicted_by_task_id
    gone = f"  (superseded by {safe(by[:40])})" if by else ""
    kind = f"{entry.type}, {entry.trust}"
    return f"{hit.decayed_score:.2f}  {safe(entry.id[:40])}  {_day(entry)}  {kind:<24}{gone}  {first_line(entry.content, 100)}"


def _day(entry: MemoryEntry) -> str:
    return moment(min(entry.valid_from_ms, _LATEST_MS))[:10]


def _hit_as_json(hit: ScoredMemoryEntry) -> dict[str, Any]:
    return {**_as_json(hit.entry), "score": hit.decayed_score, "raw_score": hit.raw_score, "why": dict(hit.why)}


def _as_json(entry: MemoryEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in (*_SHOWN, *_TIMES)}
