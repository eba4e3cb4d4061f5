"""``undrift doctor``: the things that are wrong, and what to do."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from undrift import __version__
from undrift.cli.draw import say
from undrift.cli.show import count, echo_json, safe
from undrift.doctor import Finding, examine
from undrift.errors import SettingsError
from undrift.settings import Settings

__all__ = ["doctor_command"]

_MARKS = {"wrong": "WRONG", "note": "note ", "ok": "ok   "}
"""The state of a finding to its mark, in the order in which they are shown."""


@click.command("doctor")
@click.option("-v", "--verbose", is_flag=True, help="Also show all settings and other details.")
@click.option(
    "--home", metavar="DIR", help="The folder of undrift's data (default: your `home` setting, and ~/.undrift)."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.pass_context
def doctor_command(context: click.Context, verbose: bool, home: str | None, as_json: bool) -> None:
    """Say what is wrong, and what to do.

    It checks every record of the store against its SHA-256. It also looks at files and permissions, the search index,
    hooks, gateways, settings and free space. It changes nothing. The exit code is 1 if something is wrong.

    \b
    undrift doctor
    """
    found = tuple(examine(_homes(home), overrides={} if home is None else {"home": home}))
    bad = [finding for finding in found if finding.state == "wrong"]
    if as_json:
        echo_json({"version": __version__, "ok": not bad, "findings": [asdict(finding) for finding in found]})
    else:
        say(f"{count(len(bad), 'thing is', 'things are')} wrong" if bad else "Nothing is wrong.", bold=True)
        for finding in sorted(found, key=lambda finding: list(_MARKS).index(finding.state)):
            _say(finding, verbose=verbose, homes=len({one.home for one in found if one.home}))
        if not verbose:
            say("All settings and other details: undrift doctor -v")
    if bad:
        context.exit(1)


def _homes(given: str | None) -> Sequence[str]:
    """Return the given home; else the setting's, and that of the hooks if it is another one and exists."""
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


def _say(finding: Finding, *, verbose: bool, homes: int) -> None:
    """Print a finding; if several homes were looked at, each says which one it is about."""
    where = f" ({finding.home})" if homes > 1 and finding.home and finding.home not in finding.text else ""
    say(f"{_MARKS[finding.state]}  {finding.name}: {safe(finding.text + where)}")
    for line in finding.details if verbose or finding.state != "ok" else ():
        say(f"         {safe(line)}")
    if finding.remedy:
        say(f"       do: {safe(finding.remedy)}")
