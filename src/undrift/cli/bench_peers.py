"""``undrift bench peers``: context managers side by side on recorded sessions."""

import json
import sys
from pathlib import Path

import click

from undrift.cli.bench import which_fewest, which_fractions
from undrift.cli.of_session import Whole
from undrift.cli.show import note, safe

__all__ = ["peers_command"]


@click.command("peers")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@which_fractions
@which_fewest(min_calls=60)
@click.option("--sample", type=Whole(min=1), metavar="N", help="Measure N sessions, chosen by the hash of their bytes.")
@click.option(
    "--talks",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A file of LoCoMo's form: ask its questions at the end of its talks.",
)
@click.option(
    "--manager",
    "yours",
    metavar="MODULE:NAME",
    multiple=True,
    help="A function of yours: messages and a budget in, messages out. You can repeat this option.",
)
@click.option("--jobs", type=Whole(min=1), default=1, show_default=True, metavar="N", help="Use N processes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def peers_command(
    folder: Path,
    fractions: tuple[float, ...] | None,
    min_calls: int,
    sample: int | None,
    talks: Path | None,
    yours: tuple[str, ...],
    jobs: int,
    as_json: bool,
) -> None:
    """Measure context managers side by side: ours, others that are installed, and yours.

    DIR is a folder of recorded sessions; none of them is changed. Each manager gets the same messages and budget. The
    tables show the share of needed text and rules in the windows, the cost, and the windows that providers refuse.
    A second table is about the client's own compactions. No model is asked. Controls that must fail stand beside them; if one does not, the command
    ends with 1.

    \b
    undrift bench peers sessions --min-calls 0
    """
    from undrift.bench.peers import FRACTIONS, PeersPlan, measure
    from undrift.bench.peers_report import peers_tables

    plan = PeersPlan(talks, fractions or FRACTIONS, min_calls, sample, yours)
    value = measure(folder, plan, jobs=jobs, progress=lambda line: note(f"measured {safe(line)}")).as_value()
    click.echo(json.dumps(value, indent=1, ensure_ascii=False) + "\n" if as_json else peers_tables(value), nl=False)
    sys.stdout.flush()
    if not all(one["is"] for one in value["controls"]):
        raise click.exceptions.Exit(1)
