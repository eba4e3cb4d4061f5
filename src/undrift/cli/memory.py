"""``undrift memory`` and ``undrift store rebuild``: facts across sessions, active or superseded, and their conflicts."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.lookup import MAKES_OWN, has_store, no_store
from undrift.cli.memory_list import each_session
from undrift.cli.memory_view import MEMORY_TYPE, NOTHING_FITS, day, said_again, say_how_to_search_by_meaning, where
from undrift.cli.memory_view import as_json as as_json_of
from undrift.cli.of_session import (
    FIRST_SESSION,
    Whole,
    home_options,
    moment_of,
    one_session_options,
    open_session,
    session_options,
    settings_in,
)
from undrift.cli.place import is_wide, kept_place, place_here, places_here
from undrift.cli.show import again, count, echo_json, excerpt, first_line, note, safe
from undrift.core.contradict.verdicts import OPEN_BECAUSE
from undrift.core.memory.dispute import counts_less, named
from undrift.core.memory.stale import Precision
from undrift.errors import RecallError, StoreError
from undrift.memory.memories import Conflict
from undrift.memory.repository import repository_of
from undrift.memory.statements import statements_typed
from undrift.session.session import Session
from undrift.stores.opening import open_store
from undrift.stores.projects import place_at, user_records
from undrift.values.memory import MEMORY_TYPES, MemoryEntry, MemoryScope, ScoredMemoryEntry, Trust
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = ["conflicts_command", "rebuild_command", "remember_command", "search_command"]


@click.command("remember")
@click.argument("text")
@click.option(
    "--type",
    "type_",
    type=MEMORY_TYPE,
    default="note",
    show_default=True,
    metavar="TYPE",
    help=f"The type of memory: {', '.join(sorted(MEMORY_TYPES))}.",
)
@click.option(
    "--trust",
    type=click.Choice(get_args(Trust)),
    default="user",
    help="Who said it, and so how far to trust it (default: user).",
)
@click.option(
    "--scope", type=click.Choice(get_args(MemoryScope)), default="project", help="Who can see it (default: project)."
)
@click.option("--source", default="", metavar="NAME", help="Its origin, such as a document.")
@click.option("--speaker", metavar="NAME", help="The person who said it.")
@click.option("--whole", is_flag=True, help="Keep a text of several statements as one memory.")
@one_session_options
def remember_command(
    *, text: str, whole: bool, session: str | None, home: str | None, as_json: bool, type_: Any, **fields: Any
) -> None:
    """Remember a fact; it replaces what it contradicts.

    TEXT is a statement; give - to read it from stdin. Items of a list, paragraphs, and lines that are sentences
    become one memory each. A memory that TEXT contradicts is kept, but marked as superseded. If it is not clear which
    of them is right, both stay active and `undrift memory conflicts` shows them.

    \b
    undrift memory remember "The main database is SQLite."
    """
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" and sys.stdin is not None else text
    statements = (text,) if whole else statements_typed(text)
    place = kept_place(home)
    with open_store(place, Scope()) as store:
        newest = store.newest_session()
    with open_session(place, session or newest or FIRST_SESSION) as chosen:
        done = [_remembered(chosen, one, {"type": type_, **fields}) for one in statements]
    if as_json:
        changed = dict.fromkeys(old.id for one in done for old in one.superseded)
        unsure = dict.fromkeys(other.id for one in done for _, other in one.conflicts)
        memories = [as_json_of(one.entry) for one in done]
        echo_json(
            {
                "session_id": chosen.id,
                "memory": memories[0],
                "memories": memories,
                "superseded": list(changed),
                "conflicts": list(unsure),
            }
        )
        return
    for one in done:
        _say_remembered(one)
    if len(done) > 1:
        note(f"Stored {len(done)} memories, one for each statement; --whole stores the text as one.")
    if any(one.conflicts for one in done):
        note(f"To settle a conflict: undrift memory forget ID; all of them: undrift memory conflicts{again(home)}")


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A new memory, the ones that it superseded, and those it conflicts with, each with the reason."""

    entry: MemoryEntry
    superseded: list[MemoryEntry]
    conflicts: list[tuple[str, MemoryEntry]]


def _remembered(chosen: Session, text: str, fields: dict[str, Any]) -> _Remembered:
    entry = chosen.remember(text, **fields)
    changed = [old for old in chosen.memories() if old.contradicted_by_entry_id == entry.id]
    pairs = [pair for pair in chosen.conflicts() if entry.id in (pair.newer.id, pair.older.id)]
    unsure = [(pair.reason, pair.older if pair.newer.id == entry.id else pair.newer) for pair in pairs]
    return _Remembered(entry, changed, unsure)


def _say_remembered(done: _Remembered) -> None:
    click.echo(done.entry.id)
    for fact in said_again(done.entry):
        note(f"{safe(fact)}; the memory says: {first_line(done.entry.content)}")
    for old in done.superseded:
        note(f"supersedes {old.id}: {first_line(old.content)}")
    if done.entry.is_contradicted:
        by = safe(done.entry.contradicted_by_entry_id or "")
        note(f"superseded by {by}, which is valid from a later time")
    for reason, other in done.conflicts:
        note(f"in conflict with {other.id} ({OPEN_BECAUSE.get(reason, reason)}): {first_line(other.content)}")


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
    then = None if known_at is None else moment_of(known_at)
    by_id: dict[str, tuple[str, ScoredMemoryEntry]] = {}
    session_id, rated = "", Precision(0, None, 0, alert=False)
    warnings: dict[str, None] = {}
    for name, chosen in each_session(home, session):
        for hit in chosen.search(query, k=limit, only_valid=valid, known_at=then):
            by_id.setdefault(hit.entry.id, ("" if hit.entry.scope == "user" else name, hit))
        session_id, rated = chosen.id, chosen.search_precision()
        warnings |= dict.fromkeys(chosen.memory.warnings())
    hits = list(by_id.values())
    if is_wide():
        hits = sorted(hits, key=lambda one: -one[1].decayed_score)[:limit]
    if as_json:
        found = [{**_hit_as_json(hit), "project": name or None} for name, hit in hits]
        said = {"session_id": session_id, "query": query, "found": found, "precision": asdict(rated)}
        echo_json({**said, "warnings": list(warnings)})
        return
    days = {hit.entry.id: day(hit.entry) for _, hit in hits}
    for name, hit in hits:
        _show_hit(hit, name, days)
    if not hits:
        note(NOTHING_FITS)
        say_how_to_search_by_meaning()
    for one in warnings:
        note(f"Searched without a part of your own: {safe(one)}")
    if rated.alert:
        note(f"Only {rated.value:.0%} of the results of the last {rated.samples} rated searches were useful.")


@click.command("conflicts")
@session_options
def conflicts_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Show contradictions that are not resolved.

    Each is a pair of memories that exclude each other; the one that counts more stands first. To resolve a pair,
    forget one of them, or run `undrift memory remember` with the right fact.

    \b
    undrift memory conflicts
    """
    by_ids: dict[tuple[str, str], Conflict] = {}
    session_id = ""
    for _, chosen in each_session(home, session):
        by_ids |= {(pair.newer.id, pair.older.id): pair for pair in chosen.conflicts()}
        session_id = chosen.id
    found = list(by_ids.values())
    if as_json:
        pairs = [
            {
                "newer": as_json_of(pair.newer),
                "older": as_json_of(pair.older),
                **{name: getattr(pair, name) for name in ("rule", "evidence", "confidence", "reason")},
            }
            for pair in found
        ]
        echo_json({"session_id": session_id, "conflicts": pairs})
        return
    for pair in found:
        because = OPEN_BECAUSE.get(pair.reason, safe(pair.reason))
        say(f"These two exclude each other ({pair.confidence:.0%} sure). Both stay active: {because}.", hang="  ")
        for entry in sorted((pair.newer, pair.older), key=counts_less):
            say(f"  {entry.id}  {day(entry)}  {where(entry)}  trust {entry.trust}")
            say(f"    {excerpt(entry.content, 100)}", hang="")
    if found:
        next_commands(
            To_keep_one_of_them=f"undrift memory forget ID_OF_THE_OTHER{again(home)}",
            To_state_the_right_fact=f'undrift memory remember "THE RIGHT FACT"{again(home, session)}',
        )
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
    here = place_here(home)
    wanted = (*places_here(home), place_at(user_records(here))) if is_wide() else (here,)
    places = [place for place in wanted if has_store(place)]
    if not places:
        raise RecallError(no_store((str(here.records),), MAKES_OWN))
    done = [_rebuilt(place) for place in places]
    if as_json:
        echo_json({"home": str(here.home), "rebuilt": done} if is_wide() else done[0])
    else:
        for one in done:
            say(f"Rebuilt the search indexes of {safe(one['home'])}: {count(one['memories'], 'memory', 'memories')}.")
    if wrong := next((one for one in done if one["damaged"]), None):
        first = wrong["damaged"][0]
        raise StoreError(f"{wrong['home']}: {first}; `undrift doctor{again(home)}` lists what is damaged")


def _rebuilt(place: Place) -> dict[str, Any]:
    settings = settings_in(place)
    with open_store(place, Scope(), create=False) as store:
        store.rebuild_search()
        memories = repository_of(store, settings).rebuild()
        return {"home": settings.home, "memories": memories, "damaged": list(store.integrity())}


def _show_hit(hit: ScoredMemoryEntry, project: str, days: Mapping[str, str]) -> None:
    entry = hit.entry
    conflicts: Sequence[str] = hit.why.get("disputes", ())
    by = entry.contradicted_by_entry_id or entry.contradicted_by_task_id
    state = f"superseded by {safe(by[:40])}" if by else "active"
    place = f"{where(entry)} in {excerpt(project, 24)}" if project else where(entry)
    facts = f"{day(entry)}  {place}  {entry.type}, trust {entry.trust}, {state}"
    say(f"{hit.decayed_score:.2f}  {safe(entry.id[:40])}  {facts}", hang="      ")
    say(f"      {excerpt(entry.content, 100)}")
    for fact in said_again(entry):
        say(f"      {excerpt(fact, 100)}")
    if conflicts:
        say(f"      IN CONFLICT with {named([safe(one[:40]) for one in conflicts], days)}")


def _hit_as_json(hit: ScoredMemoryEntry) -> dict[str, Any]:
    return {**as_json_of(hit.entry), "score": hit.decayed_score, "raw_score": hit.raw_score, "why": dict(hit.why)}
