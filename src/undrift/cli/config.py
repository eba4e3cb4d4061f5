"""``undrift config``: the active settings, and where each comes from."""

import textwrap
from typing import Any

import click

from undrift.cli.show import echo_json, safe
from undrift.settings import SETTINGS, Setting, Settings, removed_variables, sources
from undrift.settings.rules import suggestion

__all__ = ["config_command"]

_WIDTH = 80


@click.command("config")
@click.argument("name", required=False)
@click.option("--all", "is_all", is_flag=True, help="Also list rarely used settings that have their default value.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def config_command(name: str | None, is_all: bool, as_json: bool) -> None:
    """Show the active settings and where each comes from.

    A value comes from an environment variable, from undrift.toml (shown as FILE:LINE), or is the default. With
    NAME, the command explains that setting.

    \b
    undrift config
    undrift config budget_tokens
    """
    rows = SETTINGS if name is None else (_named(name),)
    settings, come_from = Settings.from_environment(), sources()
    if as_json:
        found = {row.name: _as_json(row, getattr(settings, row.name), come_from[row.name]) for row in rows}
        echo_json({"settings": found, "warnings": removed_variables()})
    elif name is None:
        _list(settings, come_from, is_all=is_all)
    else:
        _explain(rows[0], getattr(settings, rows[0].name), come_from[rows[0].name])


def _named(name: str) -> Setting:
    """The setting of that name or variable; else an error that suggests the nearest one."""
    known = {spelling: row for row in SETTINGS for spelling in (row.name, *row.environment)}
    if name not in known:
        meant = suggestion(name, known, 0.5)
        raise click.UsageError(f"There is no setting {safe(name[:80])!r}.{meant} undrift config --all lists all.")
    return known[name]


def _list(settings: Settings, come_from: dict[str, str], *, is_all: bool) -> None:
    shown = [row for row in SETTINGS if is_all or not row.is_seed or come_from[row.name] != "default"]
    longest = max(len(row.name) for row in shown)
    values = {row.name: safe(_text(getattr(settings, row.name))) for row in shown}
    wide = max(12, *(len(value) for value in values.values() if len(value) <= 20))
    group = ""
    for row in shown:
        if row.group != group:
            click.echo(f"{'' if not group else chr(10)}{row.group}")
            group = row.group
        line = f"  {row.name:{longest}}  {values[row.name]:{wide}}"
        place = safe(come_from[row.name])
        if len(line) + 2 + len(place) <= _WIDTH:
            click.echo(f"{line}  {place}")
        else:  # no path is broken
            click.echo(f"{line.rstrip()}\n      {place}")
    hidden = len(SETTINGS) - len(shown)
    click.echo(f"\n{hidden} rarely used ones have their default: undrift config --all" if hidden else "")
    click.echo("Next: undrift config NAME explains a setting; docs/settings.md explains all.")


def _explain(row: Setting, value: Any, place: str) -> None:
    click.echo(f"{row.name} = {safe(_text(value))}  ({safe(place)})\n")
    for text in (row.help, f"Accepted: {row.rule}.", f"Default: {_text(row.default)}."):
        click.echo(textwrap.fill(text, _WIDTH))
    click.echo(f"Variable: {' or '.join(row.environment)}")
    if row.is_private:
        click.echo("A project's undrift.toml cannot set it; your own can.")
    click.echo(f"In undrift.toml: {row.name} = {_toml(value if value is not None else row.default)}")


def _as_json(row: Setting, value: Any, place: str) -> dict[str, Any]:
    return {
        "value": value,
        "source": place,
        "default": row.default,
        "accepted": row.rule,
        "variables": row.environment,
        "group": row.group,
        "project_file": not row.is_private,
        "help": row.help,
    }


def _text(value: Any) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _toml(value: Any) -> str:
    """The value as one writes it in the file; of a setting that is not set, the place for one."""
    if value is None:
        return "..."
    return f'"{safe(value)}"' if isinstance(value, str) else _text(value)
