"""``undrift checkpoint``, ``rewind``, ``undo``, ``history``, ``diff`` and ``purge``: a session back in time, and what ends."""

import sys
from collections.abc import Collection, Mapping, Sequence

import click

from undrift.cli import lookup
from undrift.cli.of_session import moment_of, opened, session_options, settings_of
from undrift.cli.show import at_terminal, count, echo_json, first_line, safe
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
    "rewind_command",
    "undo_command",
]

_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_NAMED = ("label", "to", "of", "tasks", "memory", "superseded", "pruned", "what", "removed")
"""What is shown of an operation's payload."""


@click.command("checkpoint")
@click.argument("label", default="")
@session_options
def checkpoint_command(label: str, session: str | None, home: str | None, as_json: bool) -> None:
    """Name this moment of a session, to go back to.

    LABEL is any text; its number is printed, and does as well.
    """
    with opened(home, session, keeps_notes=True) as chosen:
        seq = chosen.checkpoint(label)
    if as_json:
        echo_json({"session_id": chosen.id, "seq": seq, "label": label})
    else:
        click.echo(seq)


@click.command("rewind")
@click.argument("to")
@session_options
def rewind_command(to: str, session: str | None, home: str | None, as_json: bool) -> None:
    """Take a session back: everything answers as right after an operation.

    TO is the number of an operation (0: before the first), a checkpoint's label, or task:ID: right after its newest change.
    Nothing is deleted, and `undrift undo` takes it back.
    """
    with opened(home, session, keeps_notes=True) as chosen:
        done = chosen.rewind(moment_of(to))
    _show_rewound(chosen.id, done, as_json=as_json)


@click.command("undo")
@session_options
def undo_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Take back the newest rewinding of a session."""
    with opened(home, session, keeps_notes=True) as chosen:
        done = chosen.undo_rewind()
    _show_rewound(chosen.id, done, as_json=as_json)


@click.command("history")
@session_options
def history_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Show the operations of a session, oldest first, those that were taken back included."""
    with opened(home, session) as chosen:
        found = chosen.history()
    if as_json:
        operations = [{"seq": x.seq, "kind": x.kind, "at_ms": x.at_ms, "payload": x.payload} for x in found]
        echo_json({"session_id": chosen.id, "operations": operations})
        return
    for one in found:
        click.echo(f"{one.seq:>8}  {moment(min(one.at_ms, _LATEST_MS))}  {safe(one.kind):<12}  {_said(one)}".rstrip())


@click.command("diff")
@click.argument("earlier")
@click.argument("later", required=False)
@session_options
def diff_command(earlier: str, later: str | None, session: str | None, home: str | None, as_json: bool) -> None:
    """Show what differs between two moments of a session.

    EARLIER and LATER are given as for `undrift rewind`; without LATER it is now.
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
    for sign, part in zip("+-~", parts.values(), strict=True):
        for kind, ids in part.items():
            for one in ids:
                click.echo(f"{sign} {kind:<10} {safe(one[:120])}")
    if not any(parts.values()):
        click.echo("nothing differs", err=True)


@click.command("purge")
@click.argument("what")
@click.option("--yes", is_flag=True, help="Do not ask.")
@session_options
def purge_command(what: str, yes: bool, session: str | None, home: str | None, as_json: bool) -> None:
    """Destroy something for good: the only command that deletes what was stored.

    WHAT is a reference, task:ID, a memory's id, or, of the session that --session names, document:PATH (what a framework keeps
    there) or the word session for all of it. It is overwritten in the store's file, and every file of the home is searched for
    what is left. The exit code is 1 where something is. Others can write meanwhile.
    """
    if session is None and (what == "session" or what.startswith("document:")):
        raise click.UsageError(f"purge {safe(what[:80])} needs --session ID: the newest is not taken for it")
    chosen_id = session if session is not None else _session_of(home, what)
    if not yes and not (at_terminal(sys.stdin) and click.confirm(f"destroy {safe(what[:80])} for good?", err=True)):
        raise InputError("nothing was purged: it cannot be taken back; --yes does it without asking")
    with opened(home, chosen_id) as chosen:
        done = chosen.purge(what)
    if as_json:
        echo_json(
            {
                "session_id": chosen.id,
                "kind": done.kind,
                "removed": dict(done.removed),
                "traces": list(done.traces),
                "copies": list(done.copies),
                "remains": done.remains,
            }
        )
    else:
        _show_purged(done, engine_of(settings_of(home).home).own_files)
    if done.traces or not done.removed:
        raise click.exceptions.Exit(1)


def _session_of(home: str | None, what: str) -> str | None:
    """The session that a reference or a task belongs to; None leaves it to the newest."""
    with open_store(settings_of(home).home, Scope(), create=False) as store:
        try:
            if what.startswith(lookup.TASK_PREFIX):
                return lookup.tasks_in(store, None, (what.removeprefix(lookup.TASK_PREFIX),))[0]
            return lookup.original_in(store, what).session_id
        except RecallError:
            return None


def _show_purged(done: Purged, own_files: Collection[str]) -> None:
    gone = ", ".join(f"{number:,} of {kind}" for kind, number in done.removed.items())
    click.echo(f"purged ({done.kind}): {gone}" if gone else "nothing is stored under that name any more; cleaned again")
    for one in done.copies:
        click.echo(f"the same words are also in {safe(one)}; purge it too if they have to go", err=True)
    for one in done.traces:
        own = one in own_files  # nobody is told to delete the store
        remedy = (
            "see below"
            if own and done.remains
            else "purge the same again"
            if own
            else "delete that file if it has to go"
        )
        click.echo(f"a trace is left in {safe(one)}; {remedy}", err=True)
    if done.remains:
        click.echo(done.remains, err=True)


def _show_rewound(session_id: str, done: Rewound, *, as_json: bool) -> None:
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
    closed, opened_again = sum(done.closed.values()), sum(done.opened.values())
    click.echo(
        f"session {safe(session_id[:80])} is as right after operation {done.to_seq:,}: "
        f"{count(closed, 'record')} taken back, {count(opened_again, 'record')} in force again"
    )


def _said(one: Operation) -> str:
    given = one.payload or {}
    return first_line(", ".join(f"{name}: {given[name]}" for name in _NAMED if given.get(name)), 100)
