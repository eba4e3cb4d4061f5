"""``undrift memory edit`` and ``undrift memory forget``: memories that a person corrects or removes."""

import sys
from collections.abc import Sequence

import click

from undrift.cli.draw import say
from undrift.cli.lookup import has_store
from undrift.cli.memory_list import all_memories
from undrift.cli.memory_view import as_json as shown_json
from undrift.cli.memory_view import day, memory_named, short_ids, where
from undrift.cli.of_session import FIRST_SESSION, one_session_options, open_session
from undrift.cli.place import place_here
from undrift.cli.show import again, at_terminal, count, echo_json, excerpt, note, safe
from undrift.cli.time_travel import purged_json, show_purged
from undrift.errors import InputError
from undrift.memory.handling import Forgotten
from undrift.memory.learning import learned_from
from undrift.memory.scopes import USER_SESSION
from undrift.session.purge import Purged
from undrift.stores.opening import engine_of, open_store
from undrift.stores.projects import keep, user_records
from undrift.values.memory import MemoryEntry
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = ["edit_command", "forget_command"]


@click.command("edit")
@click.argument("id")
@click.option("--text", metavar="TEXT", help="The new words; without it, an editor opens.")
@one_session_options
def edit_command(*, id: str, text: str | None, session: str | None, home: str | None, as_json: bool) -> None:
    """Change the words of a memory.

    ID is an id of `undrift memory list`, or its beginning. The editor is the one that VISUAL or EDITOR names. The new
    memory supersedes the old one, which is kept, and has the trust of a user.

    \b
    undrift memory edit ID --text "The main database is SQLite."
    """
    place = place_here(home)
    old = memory_named(all_memories(place), id)
    said = _edited(old.content) if text is None else text
    with open_session(keep(place), session or _session_of(place, old)) as chosen:
        entry = chosen.memory.edit(old.id, said)
    if as_json:
        superseded = [] if entry.id == old.id else [old.id]
        echo_json({"session_id": chosen.id, "memory": shown_json(entry), "superseded": superseded})
        return
    if entry.id == old.id:
        note("The words are the same; nothing was changed.")
        return
    click.echo(entry.id)
    note(f"supersedes {old.id}: {excerpt(old.content, 100)}")
    note(f"To see both: undrift memory list --all{again(home)}")


@click.command("forget")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--learned", metavar="SESSION", help="All that was learned from this session; all: from every session.")
@click.option("--purge", is_flag=True, help="Destroy them for good; nothing brings them back.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@one_session_options
def forget_command(
    *,
    ids: tuple[str, ...],
    learned: str | None,
    purge: bool,
    yes: bool,
    session: str | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Remove memories: no agent sees them any more.

    ID is an id of `undrift memory list`, or its beginning. A forgotten memory stays on disk, and a rewind of the
    session brings it back. With --purge it is destroyed.

    \b
    undrift memory forget ID
    undrift memory forget --learned all
    """
    if bool(ids) == (learned is not None):
        raise click.UsageError("name the memories by ID, or all that was learned by --learned")
    place = place_here(home)
    entries = all_memories(place)
    chosen = list({entry.id: entry for entry in (memory_named(entries, one) for one in ids)}.values())
    if learned is not None:
        chosen = _learned(entries, learned)
    if not yes and chosen:
        _ask(chosen, purge=purge)
    by_session: dict[str, list[MemoryEntry]] = {}
    for entry in chosen:
        by_session.setdefault(session or _session_of(place, entry), []).append(entry)
    source = None if learned in (None, "all") else learned_from(learned)
    done: dict[str, Forgotten] = {}
    for session_id, some in by_session.items() if source is not None or not purge else ():
        with open_session(keep(place), session_id) as opened:
            done[session_id] = opened.memory.forget(*(entry.id for entry in some), source=source)
    if purge:
        _purge(place, by_session, as_json=as_json)
        return
    if as_json:
        forgotten = [
            {"session_id": session_id, "seq": one.seq, "user_seq": one.user_seq, "ids": [x.id for x in one.entries]}
            for session_id, one in done.items()
        ]
        echo_json({"forgotten": forgotten})
        return
    say(f"Forgot {count(len(chosen), 'memory', 'memories')}: no agent sees them any more.")
    _name_superseded(entries, chosen)
    for session_id, one in done.items():
        if one.seq:
            note(f"To bring them back: undrift session rewind {one.seq - 1}{again(home, session_id)}")
        if one.user_seq:
            own = again(str(user_records(place)), USER_SESSION)
            note(f"To bring back those of every project: undrift session rewind {one.user_seq - 1}{own}")


def _learned(entries: Sequence[MemoryEntry], session_id: str) -> list[MemoryEntry]:
    """Return the memories that were learned from a session, or from every one. Raises InputError: that session taught none."""
    sources = {entry.source for entry in entries} if session_id == "all" else {learned_from(session_id)}
    found = [entry for entry in entries if "learned" in entry.metadata and entry.source in sources]
    if not found and session_id != "all":
        raise InputError(f"nothing was learned from {session_id[:64]!r}; `undrift memory list` shows what there is")
    return found


def _edited(content: str) -> str:
    """Return the text as a person leaves it in the editor."""
    if not at_terminal(sys.stdin):
        raise InputError("there is no terminal for an editor; give the new words with --text")
    said = click.edit(content + "\n", extension=".md")
    if said is None:
        raise InputError("nothing was changed: the editor did not save the text")
    return said.strip()


def _session_of(place: Place, entry: MemoryEntry) -> str:
    """Return the session that may change a memory: its own for the scope `session`, else the newest."""
    if entry.scope == "session":
        return entry.session_id
    if not has_store(place):
        return FIRST_SESSION
    with open_store(place, Scope(), create=False) as store:
        return store.newest_session() or FIRST_SESSION


def _ask(chosen: Sequence[MemoryEntry], *, purge: bool) -> None:
    short = short_ids(chosen)
    for entry in chosen:
        facts = f"{where(entry)}, trust {entry.trust}, {day(entry)}"
        click.echo(f"{safe(short[entry.id])}  {excerpt(entry.content, 66)}\n{'':10}{facts}", err=True)
    words = count(len(chosen), "memory", "memories")
    question = f"Destroy {words} for good?" if purge else f"Forget {words}?"
    if not (at_terminal(sys.stdin) and click.confirm(question, err=True)):
        raise InputError("nothing was removed; --yes does it without asking")


def _name_superseded(entries: Sequence[MemoryEntry], forgotten: Sequence[MemoryEntry]) -> None:
    """Say that a memory which a forgotten one superseded stays superseded."""
    ids = {entry.id for entry in forgotten}
    for entry in entries:
        if entry.contradicted_by_entry_id in ids and entry.id not in ids:
            note(
                f"{entry.id} stays superseded: {excerpt(entry.content, 60)}\n"
                "  To make it active, remember it again: undrift memory remember TEXT"
            )


def _purge(place: Place, by_session: dict[str, list[MemoryEntry]], *, as_json: bool) -> None:
    done: list[tuple[str, Purged]] = []
    for session_id, some in by_session.items():
        with open_session(keep(place), session_id) as opened:
            done += [(entry.id, opened.purge(entry.id)) for entry in some]
    if as_json:
        echo_json({"purged": [{"id": id_, **purged_json(one)} for id_, one in done]})
    else:
        for id_, one in done:
            click.echo(id_)
            show_purged(one, engine_of(place).own_files)
    if any(one.traces or not one.removed for _, one in done):
        raise click.exceptions.Exit(1)
