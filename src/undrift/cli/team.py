"""``undrift team …``: the people of a server, their keys, and who read what of whom."""

from typing import Any

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.place import home_of
from undrift.cli.show import again, count, echo_json, safe
from undrift.errors import InputError
from undrift.stores.served import server_of

__all__ = [
    "audit_command",
    "destroy_command",
    "key_command",
    "keys_command",
    "login_command",
    "people_of",
    "revoke_command",
    "team_options",
]

_ADDRESS_HELP = "The address of the server (default: your `home` setting), as in postgresql://HOST/DATABASE."


def team_options(command: Any) -> Any:
    """Give a command the options --home and --json."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
    return click.option("--home", metavar="ADDRESS", help=_ADDRESS_HELP)(command)


@click.command("key")
@click.argument("person")
@click.option("--project", metavar="P", default="", help="The project of the sessions with this key (default: local).")
@click.option(
    "--days", metavar="N", type=click.IntRange(1, 36_500), help="Days until it ends (default: until you revoke it)."
)
@team_options
def key_command(person: str, project: str, days: int | None, home: str | None, as_json: bool) -> None:
    """Make a key of a person for the team's gateway; it is shown once.

    PERSON is a name, such as a mail address. A person who is new is added.

    \b
    undrift team key ann@example.org
    """
    from undrift.stores.postgres.people import key_label

    with people_of(home) as people:
        key = people.new_key(person, project, days=days)
    if as_json:
        echo_json({"person": person, "project": project, "key": key, "days": days})
        return
    click.echo(key)
    say(f"This is the key of {safe(person)}. It is shown once; the server keeps only its hash.")
    next_commands(To_revoke_it=f"undrift team revoke {key_label(key)}{again(home)}")


@click.command("keys")
@team_options
def keys_command(home: str | None, as_json: bool) -> None:
    """List the keys of all people, without the keys themselves.

    \b
    undrift team keys
    """
    with people_of(home) as people:
        found = people.keys()
    rows = [
        {"person": one.person, "project": one.project, "label": one.label, "made_at": one.made_at.isoformat(),
         "ends_at": None if one.ends_at is None else one.ends_at.isoformat()}
        for one in found
    ]  # fmt: skip
    if as_json:
        echo_json(rows)
        return
    if not rows:
        say("There are no keys yet.")
        next_commands(To_make_one=f"undrift team key PERSON{again(home)}")
        return
    for row in rows:
        of = f" for {safe(row['project'])}" if row["project"] else ""
        until = f" until {row['ends_at'][:10]}" if row["ends_at"] else ""
        say(f"{safe(row['label'] or '')}  {safe(row['person'] or '')}{of}, made {row['made_at'][:10]}{until}")


@click.command("revoke")
@click.argument("label")
@team_options
def revoke_command(label: str, home: str | None, as_json: bool) -> None:
    """Revoke a key. LABEL is its beginning, as `undrift team keys` prints it.

    \b
    undrift team revoke LABEL
    """
    with people_of(home) as people:
        revoked = people.revoke(label)
    if as_json:
        echo_json({"label": label, "revoked": revoked})
    elif not revoked:
        raise InputError(f"no key begins with {label[:40]!r}; `undrift team keys` lists them")
    else:
        say(f"Revoked {count(revoked, 'key')}. The gateways refuse it within a minute.")


@click.command("login")
@click.argument("person")
@click.argument("role")
@team_options
def login_command(person: str, role: str, home: str | None, as_json: bool) -> None:
    """Bind a login role of the database to one person: it reads and writes as this person alone.

    \b
    undrift team login ann@example.org ann
    """
    with people_of(home) as people:
        people.bind(person, role)
    if as_json:
        echo_json({"person": person, "role": role})
    else:
        say(f"A login as {safe(role)} is {safe(person)}.")


@click.command("audit")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Lines, newest first."
)
@team_options
def audit_command(limit: int, home: str | None, as_json: bool) -> None:
    """Show who read what other people wrote, the newest first.

    \b
    undrift team audit --limit 20
    """
    with people_of(home) as people:
        found = people.audit(limit)
    if as_json:
        echo_json([{**one._asdict(), "at": one.at.isoformat(), "names": list(one.names)} for one in found])
        return
    for one in found:
        things = count(len(one.names), "memory", "memories")
        say(f"{one.at:%Y-%m-%d %H:%M}  {safe(one.reader)} read {things} of {safe(one.person)} in {safe(one.project)}")
    if not found:
        say("No person has read what another one wrote.")


@click.command("destroy")
@click.option("--yes", is_flag=True, help="Do not ask.")
@team_options
def destroy_command(yes: bool, home: str | None, as_json: bool) -> None:
    """Destroy the organisation's key: no one can read its records any more, in any copy of the database.

    \b
    undrift team destroy
    """
    with people_of(home) as people:
        name = people.address.owner.organisation
        if not yes and not click.confirm(f"Destroy all records of {safe(name)}, for ever?", err=True):
            raise InputError("nothing was destroyed")
        destroyed = people.destroy()
    if as_json:
        echo_json({"organisation": name, "destroyed": destroyed})
    else:
        say(f"The key of {safe(name)} is destroyed." if destroyed else f"There is no organisation {safe(name)}.")


def people_of(home: str | None) -> Any:
    """Return the people of a home on a server. Raises InputError: the home is a folder of this machine."""
    address = server_of(home_of(home))
    if address is None:
        raise InputError(
            "a team's people are on a server: name its address, as --home postgresql://host/database?undrift_organisation=NAME"
        )
    from undrift.stores.postgres.people import ServerPeople

    return ServerPeople(address)
