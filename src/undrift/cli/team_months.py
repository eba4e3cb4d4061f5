"""``undrift team months`` and ``drop``: the retention of a server, by the month in which sessions began."""

from datetime import UTC, date, datetime

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.show import again, count, echo_json
from undrift.cli.team import people_of, team_options
from undrift.errors import InputError

__all__ = ["drop_command", "months_command"]


@click.command("months")
@team_options
def months_command(home: str | None, as_json: bool) -> None:
    """List the months of the server: a session stands in the month in which it began.

    \b
    undrift team months
    """
    from undrift.stores.postgres.retention import months

    with people_of(home) as people:
        found = months(people)
    if as_json:
        echo_json([{**one._asdict(), "month": f"{one.month:%Y-%m}"} for one in found])
        return
    for one in found:
        last = datetime.fromtimestamp(one.last_at_ms / 1000, UTC)
        say(
            f"{one.month:%Y-%m}  {count(one.sessions, 'session')}, {one.size_bytes / 1e6:,.1f} MB, last used {last:%Y-%m-%d}"
        )
    if found:
        next_commands(To_drop_the_oldest=f"undrift team drop {found[0].month:%Y-%m}{again(home)}")
    else:
        say("There are no sessions yet.")


@click.command("drop")
@click.argument("month")
@click.option("--yes", is_flag=True, help="Do not ask.")
@team_options
def drop_command(month: str, yes: bool, home: str | None, as_json: bool) -> None:
    """Drop the sessions that began in MONTH, such as 2026-01, of all people. Memories stay.

    It takes a moment, however large the month is. A month with a session that was used in the last 30 days is refused.

    \b
    undrift team drop 2026-01
    """
    from undrift.stores.postgres.retention import drop_month

    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError as error:
        raise InputError(f"{month[:40]!r} is no month; write it as 2026-01") from error
    with people_of(home) as people:
        if not yes and not click.confirm(f"Drop all sessions that began in {first:%Y-%m}, for ever?", err=True):
            raise InputError("nothing was dropped")
        dropped = drop_month(people, first)
    if as_json:
        echo_json({"month": f"{first:%Y-%m}", "sessions": dropped})
    else:
        say(f"Dropped {count(dropped, 'session')} of {first:%Y-%m}.")
