"""``undrift bench drift``: what windows still hold of recorded sessions, next to other tools."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from undrift.cli.of_session import TOKENS, Whole
from undrift.cli.show import note, safe
from undrift.errors import InputError

__all__ = ["drift_command", "overhead_command", "store_command", "which_fewest", "which_fractions", "which_sessions"]

F = TypeVar("F", bound=Callable[..., Any])


@click.command("overhead", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1)
@click.pass_context
def overhead_command(context: click.Context, words: tuple[str, ...]) -> None:  # noqa: ARG001 - accepted, as before
    """Say where this measure is now."""
    _say_where(context)


@click.command("store", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1)
@click.pass_context
def store_command(context: click.Context, words: tuple[str, ...]) -> None:  # noqa: ARG001 - accepted, as before
    """Say where this measure is now."""
    _say_where(context)


def _say_where(context: click.Context) -> None:
    raise InputError(
        f"this measurement moved to bench/ of undrift's repository; run there: python -m bench.run {context.info_name}"
    )


def _fractions(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """Read budgets as shares: numbers above 0 and at most 1, with commas between them."""
    if value is None:
        return None
    try:
        shares = tuple(float(share) for share in value.split(","))
    except ValueError:
        shares = ()
    if not shares or not all(0 < share <= 1 for share in shares):
        raise click.BadParameter(f"{value!r} is not a list of numbers above 0 and at most 1; type for example 0.5,0.25")
    return tuple(dict.fromkeys(shares))


def which_fractions(command: F) -> F:
    """Give a measure the option --fractions."""
    option = click.option(
        "--fractions",
        metavar="F,F",
        callback=_fractions,
        help="Budgets as shares of each session's tokens, such as 0.5,0.25.",
    )
    return option(command)


def which_fewest(*, min_calls: int) -> Callable[[F], F]:
    """Give a measure the option --min-calls. `min_calls`: the default."""
    return click.option(
        "--min-calls",
        type=Whole(min=0),
        default=min_calls,
        show_default=True,
        metavar="N",
        help="Skip sessions with fewer than N calls.",
    )


def which_sessions(*, min_calls: int) -> Callable[[F], F]:
    """Give a measure the options --min-calls and --every. `min_calls`: the default."""
    fewest = which_fewest(min_calls=min_calls)
    every = click.option(
        "--every", type=Whole(min=1), default=1, show_default=True, metavar="N", help="Measure only every N-th session."
    )
    return lambda command: fewest(every(command))


@click.command("drift")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@which_fractions
@click.option(
    "--budget",
    "budgets",
    type=TOKENS,
    metavar="N",
    multiple=True,
    help="A budget in tokens. You can repeat this option.",
)
@which_sessions(min_calls=60)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write drift.json and drift.md into this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def drift_command(
    folder: Path,
    fractions: tuple[float, ...] | None,
    budgets: tuple[int, ...],
    min_calls: int,
    every: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure the share of needed text that stays in the window, and the cost.

    DIR is a folder of recorded sessions; none of them is changed. Each session is replayed within each budget: with
    undrift's two policies, and with other tools that are installed. For comparison it is also replayed whole. The
    default budgets are half, a quarter and an eighth of the session's tokens.

    \b
    undrift bench drift sessions --min-calls 0
    """
    from undrift.bench.drift import FRACTIONS, measure

    given = fractions if fractions is not None else () if budgets else FRACTIONS
    report = measure(
        folder,
        fractions=given,
        budgets=tuple(dict.fromkeys(budgets)),
        min_calls=min_calls,
        every=every,
        progress=lambda line: note(f"measuring {safe(line)} ..."),
    )
    if out is not None:
        report.write(out)
    click.echo(report.as_json() if as_json else report.as_markdown(), nl=False)
    sys.stdout.flush()
