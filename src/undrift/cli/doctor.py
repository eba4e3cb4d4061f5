"""``undrift doctor``: the things that are wrong, and what to do."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from undrift import __version__
from undrift.cli.draw import say
from undrift.cli.lookup import has_store
from undrift.cli.place import HOME_HELP, home_of, places_here, project_options
from undrift.cli.show import count, echo_json, note, safe
from undrift.doctor import Finding, examine, report
from undrift.errors import SettingsError
from undrift.settings import Settings
from undrift.stores.projects import user_records

__all__ = ["doctor_command"]

_MARKS = {"wrong": "WRONG", "note": "note ", "ok": "ok   "}
"""The state of a finding to its mark, in the order in which they are shown."""


@click.command("doctor")
@click.option("-v", "--verbose", is_flag=True, help="Also show all settings and other details.")
@click.option("--full", is_flag=True, help="Read every record again.")
@click.option("--report", "as_report", is_flag=True, help="Print what an issue needs, without paths, names and texts.")
@click.option("--home", metavar="DIR", help=HOME_HELP)
@project_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.pass_context
def doctor_command(
    context: click.Context, verbose: bool, full: bool, as_report: bool, home: str | None, as_json: bool
) -> None:
    """Say what is wrong, and what to do.

    It checks the records of the store against their SHA-256. It reads those that are new since its last check without
    findings; after 7 days, or with --full, it reads all. So it finds a damage of old records at the latest after 7 days.

    It also looks at files and permissions, the search index, hooks, gateways, settings and free space. It changes
    nothing but undrift.checked, its note beside the store. The exit code is 1 if something is wrong.

    \b
    undrift doctor
    undrift doctor --report
    """
    homes, stores = _looked_at(home)
    overrides = {} if home is None else {"home": home}
    found = tuple(examine(homes, stores=stores, overrides=overrides, full=full))
    bad = [finding for finding in found if finding.state == "wrong"]
    if as_report:
        for line in report(found, overrides=overrides):
            click.echo(line)
        note("Paths, names and texts are left out. Read the report before you publish it.")
    elif as_json:
        echo_json({"version": __version__, "ok": not bad, "findings": [asdict(finding) for finding in found]})
    else:
        say(f"{count(len(bad), 'thing is', 'things are')} wrong" if bad else "Nothing is wrong.", bold=True)
        for finding in sorted(found, key=lambda finding: list(_MARKS).index(finding.state)):
            _say(finding, verbose=verbose, homes=len({one.home for one in found if one.home}))
        if not verbose:
            say("All settings and other details: undrift doctor -v")
    if bad:
        context.exit(1)


def _looked_at(given: str | None) -> tuple[Sequence[str], Sequence[str]]:
    """Return the home, and the folders of the stores: of this project or of all, and those of earlier versions."""
    try:
        places = places_here(given)
    except SettingsError:  # a finding of its own
        return (str(Settings().home if given is None else given),), ()
    except RuntimeError:  # the user's home folder is not known
        return (str(home_of(given)),), ()
    if all(place.project is None for place in places):
        return tuple(str(place.records) for place in places), ()
    mine = user_records(places[0])
    others = (str(mine),) if has_store(mine) else ()
    return (str(places[0].home),), (*(str(place.records) for place in places), *others)


def _say(finding: Finding, *, verbose: bool, homes: int) -> None:
    """Print a finding; if several homes were looked at, each says which one it is about."""
    where = f" ({finding.home})" if homes > 1 and finding.home and finding.home not in finding.text else ""
    say(f"{_MARKS[finding.state]}  {finding.name}: {safe(finding.text + where)}")
    for line in finding.details if verbose or finding.state != "ok" else ():
        say(f"         {safe(line)}")
    if finding.remedy:
        say(f"       do: {safe(finding.remedy)}")
