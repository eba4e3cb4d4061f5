"""``undrift bench``: what undrift costs on this machine, in ratios."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click

from undrift.bench.figures import Report

__all__ = ["bench_command"]

_PARTS = ("overhead", "store")


@click.command("bench")
@click.argument("part", type=click.Choice(_PARTS))
@click.option(
    "--rounds", type=click.IntRange(1, 1_000), default=5, show_default=True, help="Times that each is measured."
)
@click.option(
    "--rows", type=click.IntRange(1_000, 10_000_000), default=100_000, show_default=True, help="For store: originals."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for bench.json and bench.md.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def bench_command(part: str, rounds: int, rows: int, out: Path | None, as_json: bool) -> None:
    """Measure what undrift costs, beside what else is installed.

    overhead: one turn of a session with 1,000 messages of made-up history, beside langchain_core's trim_messages where
    that is installed. store: writing, reading and searching originals, beside the same rows in plain SQLite. All of it
    happens in a temporary folder; what is said are ratios of figures of one run.
    """
    click.echo(f"measuring {part}, {rounds} rounds ...", err=True)
    report = _measured(part, rounds, rows)
    if out is not None:
        report.write(out)
    click.echo(report.as_json() if as_json else report.as_markdown(), nl=False)
    sys.stdout.flush()


def _measured(part: str, rounds: int, rows: int) -> Report:
    measure: Callable[..., Report] = import_module(f"undrift.bench.{part}").measure
    return measure(rounds, rows) if part == "store" else measure(rounds)
