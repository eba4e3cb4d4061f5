"""``undrift memory list`` and ``undrift memory preview``: what is remembered, and what an agent gets to see of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.lookup import MAKES_MEMORIES, has_store, no_store
from undrift.cli.memory_view import (
    MEMORY_TYPE,
    NOTHING_FITS,
    as_json,
    entry_rows,
    say_how_to_search_by_meaning,
    short_ids,
)
from undrift.cli.of_session import TOKENS, Whole, home_options, one_session_options, open_session, opened
from undrift.cli.place import is_wide, place_here, places_here
from undrift.cli.show import again, columns, count, echo_json, note, safe
from undrift.core.text.tokens import counter
from undrift.errors import RecallError
from undrift.memory.scopes import USER_SESSION
from undrift.session.session import Session
from undrift.stores.opening import open_store
from undrift.stores.projects import place_at, user_records
from undrift.values.extras import command_for
from undrift.values.memory import MemoryEntry, MemoryScope
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = ["all_memories", "each_session", "list_command", "memories_by_project", "preview_command"]

_BRIEF_TOKENS = 500
"""The default of `Session.brief`."""
_SCOPES = {
    "project": "for the project",
    "user": "for you in every project",
    "session": "for one session",
    "agent": "for one agent",
}


@click.command("list")
@click.option("--all", "shows_all", is_flag=True, help="Show superseded memories too.")
@click.option("--type", "type_", type=MEMORY_TYPE, metavar="TYPE", help="Only this type.")
@click.option("--scope", type=click.Choice(get_args(MemoryScope)), help="Only this scope.")
@click.option(
    "--limit", type=Whole(min=1, max=100_000), default=50, metavar="N", help="Show at most N memories (default: 50)."
)
@home_options
def list_command(
    *, shows_all: bool, type_: str | None, scope: str | None, limit: int, home: str | None, as_json: bool
) -> None:
    """List the memories: active ones first, the newest first.

    Each has a short id for `undrift memory edit` and `undrift memory forget`, its scope (who sees it), its type and
    its trust.

    \b
    undrift memory list --scope project
    """
    groups = memories_by_project(home)
    project_of = {entry.id: name for name, some in groups for entry in some}
    entries = sorted((entry for _, some in groups for entry in some), key=lambda one: (one.recorded_at_ms, one.seq))
    chosen = [one for one in entries if type_ in (None, one.type) and scope in (None, one.scope)]
    superseded = [one for one in chosen if one.is_contradicted]
    active = [one for one in chosen if not one.is_contradicted]
    listed = [*reversed(active), *(reversed(superseded) if shows_all else ())]
    if as_json:
        counts = {"active": len(active), "superseded": len(superseded)}
        memories = [{**_as_json(one), "project": project_of[one.id] or None} for one in listed[:limit]]
        echo_json({**counts, "memories": memories})
        return
    say(_headline(active, superseded, shows_all=shows_all), bold=bool(active))
    short = short_ids(entries)
    for one in listed[:limit]:
        for line in entry_rows(one, short[one.id], columns(), project_of[one.id] if is_wide() else ""):
            click.echo(line)
    if len(listed) > limit:
        note(f"{count(len(listed) - limit, 'more memory', 'more memories')}: --limit {len(listed)}")
    if listed:
        next_commands(
            To_change_one=f"undrift memory edit ID{again(home)}",
            To_remove_some=f"undrift memory forget ID...{again(home)}",
        )
    else:
        next_commands(
            To_add_one=f'undrift memory remember "TEXT"{again(home)}',
            To_take_over_a_file=f"undrift memory import CLAUDE.md{again(home)}",
        )


@click.command("preview")
@click.argument("question")
@click.option("--tokens", type=TOKENS, metavar="N", help="At most N tokens (default: `memory_tokens`, else 500).")
@one_session_options
def preview_command(question: str, tokens: int | None, session: str | None, home: str | None, as_json: bool) -> None:
    """Show the text that an agent would see for a question.

    With the setting memory_tokens above 0, this is the note that a window gets for the user's words. Else it is the
    text of `Session.brief`, which a program can ask for. stdout has exactly this text.

    \b
    undrift memory preview "which database does billing use"
    """
    with _opened(home, session) as chosen:
        settings = chosen.settings
        most = tokens if tokens is not None else settings.memory_tokens or _BRIEF_TOKENS
        text = chosen.brief(question, most, shows_scores=not settings.memory_tokens)
    used = counter(settings.token_counter, command_for)(text) if text else 0
    if as_json:
        in_windows = bool(settings.memory_tokens)
        echo_json({"session_id": chosen.id, "text": text, "tokens": used, "most": most, "in_windows": in_windows})
        return
    if text:
        click.echo(safe(text, keep="\n"))
        note(f"{count(used, 'token')} of at most {most:,}.")
    else:
        note(f"{NOTHING_FITS} So an agent sees no text.")
        say_how_to_search_by_meaning()
    if not settings.memory_tokens:
        note("Windows hold no such text now. To add it to them: set UNDRIFT_MEMORY_TOKENS=500.")


def all_memories(place: Place) -> list[MemoryEntry]:
    """Return every memory of a project and of its user that is not forgotten, oldest first.

    Raises RecallError: there is no store.
    """
    folders = dict.fromkeys((place.records, user_records(place)))
    found = [folder for folder in folders if has_store(folder)]
    if not found:
        raise RecallError(no_store((str(place.records),), MAKES_MEMORIES))
    return [entry for folder in found for entry in _memories_in(folder)]


@contextmanager
def _opened(home: str | None, session: str | None) -> Iterator[Session]:
    """Open a session to look at memories; if this project has none yet, those that hold in every project.

    Raises RecallError: there is none.
    """
    place = place_here(home)
    records = user_records(place)
    if session is None and not is_wide() and not has_store(place) and has_store(records):
        with open_session(place_at(records), USER_SESSION) as found:
            yield found
    else:
        with opened(home, session, makes=MAKES_MEMORIES) as found:
            yield found


def each_session(home: str | None, session: str | None) -> Iterator[tuple[str, Session]]:
    """Open a session to look at memories; if all projects are meant, one of each after the other, with its name.

    Raises RecallError: there is none.
    """
    if not is_wide():
        with _opened(home, session) as found:
            yield "", found
        return
    is_empty = True
    for place in places_here(home):
        if not has_store(place):
            continue
        with open_store(place, Scope(), create=False) as store:
            chosen = store.newest_session() if session is None else session
            is_there = chosen is not None and store.last_seq(chosen) > 0
        if chosen is not None and is_there:
            is_empty = False
            with open_session(place, chosen) as found:
                yield "" if place.project is None else place.project.name, found
    if is_empty:
        with _opened(home, session) as found:
            yield "", found


def memories_by_project(home: str | None) -> list[tuple[str, list[MemoryEntry]]]:
    """Return the memories by project: its name (empty for what holds in every project), oldest first."""
    here = place_here(home)
    if not is_wide():
        found = all_memories(here)
        name = "" if here.project is None else here.project.name
        return [
            (name, [one for one in found if one.scope != "user"]),
            ("", [one for one in found if one.scope == "user"]),
        ]
    places = [one for one in places_here(home) if has_store(one)]
    found_in = [("" if one.project is None else one.project.name, _memories_in(one.records)) for one in places]
    records = user_records(here)
    if has_store(records) and records not in [one.records for one in places]:
        found_in.append(("", _memories_in(records)))
    if not found_in:
        raise RecallError(no_store((str(here.records),), MAKES_MEMORIES))
    return found_in


def _memories_in(folder: Path) -> list[MemoryEntry]:
    with open_store(folder, Scope(), create=False) as store:
        return store.memories.seen(None)


def _as_json(entry: MemoryEntry) -> dict[str, object]:
    return {**as_json(entry), "session_id": entry.session_id, "agent": entry.agent}


def _headline(active: Sequence[MemoryEntry], superseded: Sequence[MemoryEntry], *, shows_all: bool) -> str:
    kinds = Counter(one.scope for one in active)
    parts = [f"{kinds[scope]:,} {words}" for scope, words in _SCOPES.items() if kinds[scope]]  # type: ignore[index]
    words = f"{count(len(active), 'active memory', 'active memories')}"
    head = f"{words}: {', '.join(parts)}." if parts else "No memory is active."
    if superseded:
        head += f" {len(superseded):,} superseded{'' if shows_all else ': add --all'}."
    return head
