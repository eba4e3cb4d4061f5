"""``undrift session checkpoint``, ``rewind``, ``undo``, ``history`` and ``diff``; ``undrift store purge``."""

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.draw import say
from undrift.cli.of_session import moment_of, one_session_options, opened, session_options, settings_of
from undrift.cli.show import again, at_terminal, count, echo_json, first_line, note, safe
from undrift.cli.task_view import moment
from undrift.errors import InputError, RecallError
from undrift.session.purge import Purged
from undrift.session.rewind import Rewound
from undrift.stores.base import Operation
from undrift.stores.opening import engine_of, open_store
from undrift.values.scope import Scope

__all__ = [
    "checkpoint_command",
    "diff_command",
    "history_command",
    "purge_command",
    "purged_json",
    "rewind_command",
    "show_purged",
    "undo_command",
]

_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_NAMED = ("label", "to", "of", "tasks", "memory", "superseded", "pruned", "forgotten", "imported", "what", "removed")
"""The fields of an operation that are shown."""


@click.command("checkpoint")
@click.argument("label", default="")
@one_session_options
def checkpoint_command(label: str, session: str | None, home: str | None, as_json: bool) -> None:
    """Give the present state of a session a name, to rewind to it later.

    LABEL is any text. The command prints a number. `undrift session rewind` accepts LABEL or this number.

    \b
    undrift session checkpoint before-refactoring
    """
    with opened(home, session, keeps_notes=True) as chosen:
        seq = chosen.checkpoint(label)
    if as_json:
        echo_json({"session_id": chosen.id, "seq": seq, "label": label})
    else:
        click.echo(seq)


@click.command("rewind")
@click.argument("to")
@one_session_options
def rewind_command(to: str, session: str | None, home: str | None, as_json: bool) -> None:
    """Take a session back in time: its decisions, tasks, pins, memories and notes.

    TO is the number of a step in `undrift session history`; 0 is the state before the first. It can also be the
    label of a checkpoint, or task:ID for the newest change of a task. Nothing is deleted, and `undrift session
    undo` reverses it.

    \b
    undrift session rewind before-refactoring
    """
    with opened(home, session, keeps_notes=True) as chosen:
        done = chosen.rewind(moment_of(to))
    _show_rewound(chosen.id, done, home, as_json=as_json)


@click.command("undo")
@one_session_options
def undo_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Undo the newest rewind of a session.

    \b
    undrift session undo
    """
    with opened(home, session, keeps_notes=True) as chosen:
        done = chosen.undo_rewind()
    _show_rewound(chosen.id, done, home, as_json=as_json)


@click.command("history")
@session_options
def history_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Show every step (operation) of a session with its number, oldest first.

    Steps that were undone are shown as well. `undrift session rewind` takes a number.

    \b
    undrift session history
    """
    with opened(home, session) as chosen:
        found = chosen.history()
    if as_json:
        operations = [{"seq": x.seq, "kind": x.kind, "at_ms": x.at_ms, "payload": x.payload} for x in found]
        echo_json({"session_id": chosen.id, "operations": operations})
        return
    for operation in found:
        at = moment(min(operation.at_ms, _LATEST_MS))
        say(f"{operation.seq:>6}  {at}  {safe(operation.kind):<10}  {_summary(operation)}".rstrip())
    note(f"To go back to one: undrift session rewind NUMBER{again(home, chosen.id)}")


@click.command("diff")
@click.argument("earlier")
@click.argument("later", required=False)
@session_options
def diff_command(earlier: str, later: str | None, session: str | None, home: str | None, as_json: bool) -> None:
    """Show what changed in a session between two steps.

    EARLIER and LATER are written as for `undrift session rewind`: a step's number, a checkpoint's label or task:ID.
    LATER defaults to the present.

    \b
    undrift session diff before-refactoring
    """
    with opened(home, session) as chosen:
        found = chosen.diff(moment_of(earlier), None if later is None else moment_of(later))
    parts: dict[str, Mapping[str, Sequence[str]]] = {
        "added": found.added,
        "removed": found.removed,
        "changed": found.changed,
    }
    if as_json:
        shown = {name: {kind: list(ids) for kind, ids in part.items()} for name, part in parts.items()}
        echo_json({"session_id": chosen.id, **shown})
        return
    for name, part in parts.items():
        for kind, ids in part.items():
            click.echo(f"{name}: {kind}")
            for id_ in ids:
                click.echo(f"  {safe(id_[:120])}")
    if not any(parts.values()):
        note("There is no difference.")


@click.command("purge")
@click.argument("what")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--search-files", is_flag=True, help="Search large files for copies as well: seconds per GB.")
@one_session_options
def purge_command(
    what: str, yes: bool, search_files: bool, session: str | None, home: str | None, as_json: bool
) -> None:
    """Delete stored data for good. Only it and `undrift store sweep` delete any.

    WHAT is a reference, task:ID or a memory's id. With --session, it can also be document:PATH, or the word
    `session` for the whole session. The bytes are overwritten in the store's file. Then the files of this project in
    undrift's data folder, and its agents' files, are searched for copies. These are 16 MiB, the smallest files
    first; with --search-files it is all of them. Give it now: afterwards the text is unknown. The exit code is 1 if a copy is left.

    \b
    undrift store purge REF --yes
    """
    if session is None and (what == "session" or what.startswith("document:")):
        raise click.UsageError(f"purge {safe(what[:80])} needs --session ID")
    chosen_id = session if session is not None else _session_of(home, what)
    if not yes and not (at_terminal(sys.stdin) and _is_sure(home, chosen_id, what)):
        raise InputError("nothing was purged, because a purge cannot be undone; --yes does it without asking")
    with opened(home, chosen_id) as chosen:
        done = chosen.purge(what, search_files=search_files)
    if as_json:
        echo_json({"session_id": chosen.id, **purged_json(done)})
    else:
        show_purged(done, engine_of(settings_of(home).home).own_files)
    if done.traces or not done.removed:
        raise click.exceptions.Exit(1)


def _session_of(home: str | None, what: str) -> str | None:
    """Return the session that a reference or a task belongs to; None for the newest."""
    folder = settings_of(home).home
    if not lookup.has_store(folder):
        raise RecallError(lookup.no_store((folder,)))
    with open_store(folder, Scope(), create=False) as store:
        try:
            if what.startswith(lookup.TASK_PREFIX):
                return lookup.tasks_in(store, None, (what.removeprefix(lookup.TASK_PREFIX),))[0]
            return lookup.original_in(store, what).session_id
        except RecallError:
            return None


def _is_sure(home: str | None, session_id: str | None, what: str) -> bool:
    """Ask, and name the memories that go with a session: typed and imported ones belong to the newest."""
    more = ""
    if what == "session":
        with opened(home, session_id) as chosen:
            number = sum(one.session_id == chosen.id for one in chosen.memories())
        more = f", with {count(number, 'memory', 'memories')} that it recorded" if number else ""
    return click.confirm(f"Delete {safe(what[:80])} for good{more}?", err=True)


def purged_json(done: Purged) -> dict[str, Any]:
    """Return the result of a purge as JSON values."""
    removed, traces, copies = dict(done.removed), list(done.traces), list(done.copies)
    unsearched = list(done.unsearched)
    found = {"traces": traces, "copies": copies, "remains": done.remains, "unsearched": unsearched}
    return {"kind": done.kind, "removed": removed, **found}


def show_purged(done: Purged, own_files: Collection[str]) -> None:
    """Print the result of a purge. `own_files`: the names of the store's files."""
    removed = ", ".join(f"{number:,} of {kind}" for kind, number in done.removed.items())
    say(
        f"Purged ({done.kind}): {removed}." if removed else "Nothing is stored under that name; the files were cleaned."
    )
    for copy in done.copies:
        note(f"{safe(copy)} has the same words; purge it too if they must be deleted.")
    for trace in done.traces:
        remedy = f"To delete it, delete this file: {safe(trace)}"
        if trace in own_files:  # no one is asked to delete the store
            remedy = "" if done.remains else "Run the same purge again."
        note(f"A trace is left in {safe(trace)}. {remedy}".rstrip())
    if done.remains:
        note(done.remains)
    if done.unsearched and done.removed:
        note(
            f"Not searched for copies: {_files(done.unsearched)}. `undrift store purge` searches them with --search-files."
        )


def _files(names: Sequence[str]) -> str:
    more = f" and {count(len(names) - 3, 'other file')}" if len(names) > 3 else ""
    return f"{', '.join(safe(name) for name in names[:3])}{more}"


def _show_rewound(session_id: str, done: Rewound, home: str | None, *, as_json: bool) -> None:
    if as_json:
        echo_json(
            {
                "session_id": session_id,
                "seq": done.seq,
                "to_seq": done.to_seq,
                "closed": dict(done.closed),
                "opened": dict(done.opened),
            }
        )
        return
    undone, restored = sum(done.closed.values()), sum(done.opened.values())
    say(
        f"Rewound session {safe(session_id[:80])} to operation {done.to_seq:,} "
        f"({count(undone, 'change')} undone, {restored:,} restored)."
    )
    note(f"To undo that: undrift session undo{again(home, session_id)}")


def _summary(operation: Operation) -> str:
    """Return what an operation names, in words: lists as their items."""
    fields = operation.payload or {}
    parts = []
    for name in _NAMED:
        value = fields.get(name)
        if value:
            parts.append(f"{name} {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}")
    return first_line("; ".join(parts), 100)
