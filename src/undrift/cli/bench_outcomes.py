"""``undrift bench outcomes``: whether runs that solved their task kept more of what they needed."""

import sys
from pathlib import Path

import click

from undrift.cli.show import note, safe

__all__ = ["outcomes_command"]


@click.command("outcomes")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.25,
    show_default=True,
    metavar="F",
    help="The budget as a share of each run's tokens.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def outcomes_command(folder: Path, fraction: float, as_json: bool) -> None:
    """Compare the survival of needed text in solved and in failed runs.

    DIR is a folder of trajectories that carry their outcome, or that a file of results names; docs/peers.md says which,
    and where to get some. None of them is changed. Each run is replayed within the budget. The table has the difference
    and the correlation with their 95% intervals, over all runs and within each task.

    \b
    undrift bench outcomes sessions
    """
    from undrift.bench.outcomes import measure

    report = measure(folder, fraction=fraction, progress=lambda line: note(f"measuring {safe(line)} ..."))
    click.echo(report.as_json() if as_json else report.as_markdown(), nl=False)
    sys.stdout.flush()
