"""``undrift doctor``: what is wrong, and what to do."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from undrift import __version__
from undrift.cli.show import count, echo_json, safe
from undrift.doctor import Finding, examine
from undrift.errors import SettingsError
from undrift.settings import Settings

__all__ = ["doctor_command"]

_MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


@click.command("doctor")
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home, and the hooks' own).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def doctor_command(context: click.Context, home: str | None, as_json: bool) -> None:
    """Say what is wrong and what to do.

    Looks at the store (every record is read and compared with its SHA-256), its files and their permissions, the search
    index, the hooks and their log, the gateways, the settings in force, the free space. Changes nothing. The exit code is 1 when
    something is wrong.
    """
    overrides = {} if home is None else {"home": home}
    found = []
    for finding in examine(_homes(home), overrides=overrides):
        found.append(finding)
        if not as_json:
            _say(finding)
    bad = [finding for finding in found if finding.state == "wrong"]
    if as_json:
        echo_json({"version": __version__, "ok": not bad, "findings": [asdict(finding) for finding in found]})
    else:
        click.echo(f"\n{count(len(bad), 'thing is', 'things are')} wrong" if bad else "\nnothing is wrong")
    if bad:
        context.exit(1)


def _homes(given: str | None) -> Sequence[str]:
    """The home given; else the setting's, and the one where the hooks record, if that is another one and is there."""
    if given is not None:
        return (given,)
    try:
        own = Settings.from_environment().home
    except SettingsError:  # a finding of its own
        own = str(Settings().home)
    try:
        hooks = Path.home() / ".undrift"
    except RuntimeError:
        return (own,)
    return (own,) if not hooks.is_dir() or hooks.resolve() == Path(own).resolve() else (own, str(hooks))


def _say(finding: Finding) -> None:
    click.echo(f"{_MARKS[finding.state]}  {finding.name}: {safe(finding.text)}")
    for line in finding.details:
        click.echo(f"         {safe(line)}")
    if finding.remedy:
        click.echo(f"       do: {safe(finding.remedy)}")
