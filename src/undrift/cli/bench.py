"""``undrift bench``: what undrift costs on this machine, and what it keeps of recorded sessions."""

import sys
from pathlib import Path
from typing import Protocol

import click

from undrift.cli.show import safe

__all__ = ["bench_command"]


class _Report(Protocol):
    """What every part gives."""

    def as_json(self) -> str: ...
    def as_markdown(self) -> str: ...
    def write(self, folder: Path) -> None: ...


@click.group("bench")
def bench_command() -> None:
    """Measure what undrift costs on this machine, and what it keeps of recorded sessions, beside what else is installed.

    All of it happens in temporary folders; no store of yours is touched.
    """


@bench_command.command("overhead")
@click.option(
    "--rounds", type=click.IntRange(1, 1_000), default=5, show_default=True, help="Times that each is measured."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for bench.json and bench.md.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def overhead_command(rounds: int, out: Path | None, as_json: bool) -> None:
    """One turn of a session with 1,000 messages of made-up history.

    Beside langchain_core's trim_messages where that is installed. What is said are ratios of figures of one run.
    """
    from undrift.bench.overhead import measure

    click.echo(f"measuring overhead, {rounds} rounds ...", err=True)
    _show(measure(rounds), out, as_json)


@bench_command.command("store")
@click.option(
    "--rounds", type=click.IntRange(1, 1_000), default=5, show_default=True, help="Times that each is measured."
)
@click.option("--rows", type=click.IntRange(1_000, 10_000_000), default=100_000, show_default=True, help="Originals.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for bench.json and bench.md.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def store_command(rounds: int, rows: int, out: Path | None, as_json: bool) -> None:
    """Writing, reading and searching originals.

    Beside the same rows in plain SQLite. What is said are ratios of figures of one run.
    """
    from undrift.bench.store import measure

    click.echo(f"measuring store, {rounds} rounds ...", err=True)
    _show(measure(rounds, rows), out, as_json)


def _fractions(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """Read budgets as shares: numbers above 0 and at most 1, with commas between them."""
    if value is None:
        return None
    try:
        shares = tuple(float(share) for share in value.split(","))
    except ValueError:
        shares = ()
    if not shares or not all(0 < share <= 1 for share in shares):
        raise click.BadParameter(f"{value!r} is no list of numbers above 0 and at most 1, as in 0.5,0.25")
    return tuple(dict.fromkeys(shares))


@bench_command.command("drift")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@click.option("--fractions", metavar="F,F", callback=_fractions, help="Budgets as shares of each session's tokens.")
@click.option("--budget", "budgets", type=click.IntRange(min=1), metavar="N", multiple=True, help="A budget in tokens.")
@click.option(
    "--min-calls", type=click.IntRange(min=0), default=60, show_default=True, help="Only sessions with so many."
)
@click.option("--every", type=click.IntRange(min=1), default=1, show_default=True, help="Take every n-th session.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for drift.json and drift.md.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def drift_command(
    folder: Path,
    fractions: tuple[float, ...] | None,
    budgets: tuple[int, ...],
    min_calls: int,
    every: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """What windows still hold of what the agent needs later, and what all of it costs.

    DIR holds recorded sessions; they are only read. Each is sent turn by turn within each budget: whole, by undrift's
    policies recency and worth, and by what else is installed. Without a budget: half, a quarter and an eighth.
    """
    from undrift.bench.drift import FRACTIONS, measure

    given = fractions if fractions is not None else () if budgets else FRACTIONS
    report = measure(
        folder,
        fractions=given,
        budgets=tuple(dict.fromkeys(budgets)),
        min_calls=min_calls,
        every=every,
        progress=lambda line: click.echo(f"measuring {safe(line)} ...", err=True),
    )
    _show(report, out, as_json)


def _show(report: _Report, out: Path | None, as_json: bool) -> None:
    """Print a report, and write it where that was asked for."""
    if out is not None:
        report.write(out)
    click.echo(report.as_json() if as_json else report.as_markdown(), nl=False)
    sys.stdout.flush()
