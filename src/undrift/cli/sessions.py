"""``undrift sessions``: what a home holds, each session under the name by which a person knows it again."""

from pathlib import Path

import click

from undrift.cli import lookup
from undrift.cli.draw import Column, console, draw, say
from undrift.cli.show import count, echo_json, first_line, safe
from undrift.cli.task_view import moment
from undrift.errors import RecallError
from undrift.stores.base import SessionRow
from undrift.stores.contract import Store

__all__ = ["sessions_command"]

_REMEDY = "a session is listed once something of it was written; --home names another home"
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_COLUMNS = (
    Column("session", words=True),
    Column("last written (UTC)"),
    Column("originals"),
    Column("decisions"),
    Column("name", words=True, short=True),
)


@click.command("sessions")
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The most sessions shown.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def sessions_command(home: str | None, limit: int, as_json: bool) -> None:
    """List the sessions of a home, the one written last first.

    The gateway names a session by its folder, its client and the user's first words, with secrets masked. A session that
    came another way has its id alone.
    """
    folder, rows = lookup.first(lookup.homes_of(home), "any session", _listed, remedy=_REMEDY)
    shown = rows[:limit]
    if as_json:
        found = [
            {
                "session_id": row.session_id,
                "name": row.name,
                "operations": row.operations,
                "originals": row.originals,
                "decisions": row.decisions,
                "first_at_ms": row.first_at_ms,
                "last_at_ms": row.last_at_ms,
            }
            for row in shown
        ]
        echo_json({"home": str(folder.absolute()), "count": len(rows), "sessions": found})
        return
    on = console()
    say(on, f"{count(len(rows), 'session')} in {safe(str(folder))}\n")
    draw(on, _COLUMNS, [_row(row) for row in shown])
    if len(rows) > len(shown):
        say(on, f"{len(rows) - len(shown):,} more: --limit N shows them")


def _listed(store: Store, folder: Path) -> tuple[Path, tuple[SessionRow, ...]]:
    if not (rows := store.sessions()):
        raise RecallError("no session")
    return folder, rows


def _row(row: SessionRow) -> tuple[str, ...]:
    last = moment(max(0, min(row.last_at_ms, _LATEST_MS)))
    return first_line(row.session_id, 40), last, f"{row.originals:,}", f"{row.decisions:,}", first_line(row.name, 200)
