"""``undrift store sweep``: the originals of old sessions go."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from undrift.cli.autopsy import progress
from undrift.cli.draw import next_commands, say
from undrift.cli.lookup import MAKES_OWN, has_store, no_store
from undrift.cli.of_session import one_home_options
from undrift.cli.place import place_here
from undrift.cli.show import again, at_terminal, count, echo_json, safe
from undrift.core.home_age import LEAST_DAYS, swept_by
from undrift.errors import InputError, StoreError
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.values.clock import day_of, now_ms
from undrift.values.retention import Retention, SessionSize
from undrift.values.scope import Scope
from undrift.window.sweep import sweep_sessions

__all__ = ["sweep_command"]

_SHOWN = 20


@click.command("sweep")
@click.option("--older-than", metavar="AGE", help='Sweep sessions not used for so long, such as "365d".')
@click.option("--larger-than", metavar="SIZE", help='Sweep the oldest while texts use more, such as "10GB".')
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and change nothing.")
@one_home_options
def sweep_command(
    older_than: str | None, larger_than: str | None, yes: bool, dry_run: bool, home: str | None, as_json: bool
) -> None:
    """Delete the removed texts of old sessions for good.

    It shows the sessions first, and asks. Pins, memories and tasks stay, and so does any session that was used in the
    last 30 days. Each decision stays with the day of the sweep, so a window of such a session is the same, and
    `undrift recall` says when its original went.

    \b
    undrift store sweep --older-than 365d
    """
    limits = _limits(older_than, larger_than)
    folder = str(place_here(home).records)
    if not has_store(folder):
        raise StoreError(no_store((folder,), MAKES_OWN))
    with open_store(folder, Scope(), create=False) as store:
        sessions = store.sweepable()
        chosen = swept_by(limits, sessions, now_ms=now_ms())
        if not as_json:
            _show(chosen, sessions)
        swept = 0
        if chosen and not dry_run:
            if not yes and not (at_terminal(sys.stdin) and click.confirm("Delete these texts for good?", err=True)):
                raise InputError("nothing was swept, because a sweep cannot be undone; --yes does it without asking")
            swept = _swept(store, chosen, as_json)
    if as_json:
        echo_json({"home": folder, "dry_run": dry_run, "swept": swept, "sessions": [_as_json(one) for one in chosen]})
    elif swept:
        say(f"Swept {count(swept, 'text')} of {count(len(chosen), 'session')}. The store uses the room again.")
    elif dry_run and chosen:
        next_commands(To_do_it=_again(older_than, larger_than, home))


def _limits(older_than: str | None, larger_than: str | None) -> Retention:
    parts = [part for part in (older_than, larger_than) if part]
    if not parts:
        raise click.UsageError("give --older-than AGE or --larger-than SIZE: without a limit nothing is swept")
    found = Retention.of(",".join(parts))
    if (found.days is None) != (older_than is None) or (found.size_bytes is None) != (larger_than is None):
        raise click.UsageError('--older-than takes an age such as "365d", --larger-than a size such as "10GB"')
    return found


def _swept(store: Store, chosen: Sequence[SessionSize], quiet: bool) -> int:
    with progress(quiet, len(chosen)) as show:
        return sweep_sessions(
            store, chosen, at_ms=now_ms(), tell=lambda number: show(min(number, len(chosen) - 1), Path("sessions"))
        )


def _show(chosen: Sequence[SessionSize], sessions: Sequence[SessionSize]) -> None:
    every = sum(one.size_bytes for one in sessions)
    if not chosen:
        say(
            f"Nothing to sweep: {_megabytes(every)} of {count(len(sessions), 'session')}, none of them beyond the limit."
        )
        say(f"A session that was used in the last {LEAST_DAYS} days always stays.")
        return
    frees = sum(one.size_bytes for one in chosen)
    say(
        f"A sweep deletes the removed texts of {count(len(chosen), 'session')}: {_megabytes(frees)} of {_megabytes(every)}."
    )
    for one in chosen[:_SHOWN]:
        texts = count(one.originals, "text")
        say(f"  {day_of(one.last_at_ms)}  {_megabytes(one.size_bytes):>10}  {texts:>12}  {safe(one.session_id[:40])}")
    if len(chosen) > _SHOWN:
        say(f"  and {count(len(chosen) - _SHOWN, 'more session')}")


def _as_json(one: SessionSize) -> dict[str, Any]:
    return {
        "session_id": one.session_id,
        "last_used": day_of(one.last_at_ms),
        "originals": one.originals,
        "size_bytes": one.size_bytes,
    }


def _again(older_than: str | None, larger_than: str | None, home: str | None) -> str:
    given = "".join(
        f' {name} "{safe(value)}"'
        for name, value in (("--older-than", older_than), ("--larger-than", larger_than))
        if value
    )
    return f"undrift store sweep{given}{again(home)}"


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
