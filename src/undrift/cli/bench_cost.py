"""``undrift bench cost``: what managed sessions cost, against sending everything and the client's own compaction."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undrift.cli.bench import which_sessions
from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.of_session import TOKENS, Whole
from undrift.cli.own import FORMATS_READ, client_folders, own_recordings
from undrift.cli.show import count, note, safe
from undrift.settings import Settings

if TYPE_CHECKING:
    from undrift.bench.cost import Budget, Scenario
    from undrift.bench.cost_report import CostReport
    from undrift.bench.sessions import RecordedSessions

__all__ = ["cost_command"]


class _Budgets(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number of tokens, or one of the two forms of auto."""

    name = "budget"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Budget":
        from undrift.bench.cost import AT_THE_CLIENTS_LIMIT

        return str(value) if value in ("auto", AT_THE_CLIENTS_LIMIT) else TOKENS.convert(value, param, ctx)


def _scenarios(_: click.Context, __: click.Parameter, value: str) -> "tuple[Scenario, ...]":
    """Read the names of prices, with commas between them."""
    from undrift.bench.cost import SCENARIOS

    names = list(SCENARIOS) if value == "all" else [name.strip() for name in value.split(",")]
    if wrong := [name for name in names if name not in SCENARIOS]:
        known = ", ".join(SCENARIOS)
        raise click.BadParameter(f"{wrong[0]!r} is none of: {known}; type for example 'own,1h .05'")
    return tuple(SCENARIOS[name] for name in dict.fromkeys(names))


@click.command("cost", epilog=FORMATS_READ)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--budget",
    "budgets",
    type=_Budgets(),
    metavar="N",
    multiple=True,
    help="auto, auto-native or a budget in tokens. You can repeat this option.",
)
@click.option(
    "--scenarios",
    callback=_scenarios,
    default="own",
    show_default=True,
    metavar="S,S",
    help="The prices: own, all, or a cache's life and the price of a cached token, such as '1h .05'.",
)
@click.option(
    "--fixed",
    type=Whole(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Tokens of system prompt and tools in every prompt.",
)
@which_sessions(min_calls=5)
@click.option(
    "--limit",
    type=Whole(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Without FILE: measure at most N of your sessions.",
)
@client_folders
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def cost_command(
    files: tuple[Path, ...],
    budgets: "tuple[Budget, ...]",
    scenarios: "tuple[Scenario, ...]",
    fixed: int,
    min_calls: int,
    every: int,
    limit: int,
    as_json: bool,
    **homes: Path | None,
) -> None:
    """Measure what undrift costs, against sending everything and against the client's own compaction.

    FILE is a recorded session or a folder of them. Without FILE, your newest sessions are measured. None of them is
    changed. Each session is sent turn by turn through undrift, by its own clock, and priced with its own cache. Text
    that was gone when the agent needed it is charged, on every side alike.

    \b
    undrift bench cost
    undrift bench cost --budget auto --budget 60k --scenarios 'own,1h .05'
    """
    from undrift.bench.cost import BUDGETS, measure

    found = _sessions(files, min_calls=min_calls, every=every, limit=limit, homes=homes)
    report = measure(
        found,
        budgets=tuple(dict.fromkeys(budgets)) or BUDGETS,
        scenarios=scenarios,
        fixed_tokens=fixed,
        models_file=Settings.from_environment().models_file,
        progress=lambda line: note(f"measuring {safe(line)} ..."),
    )
    if as_json:
        click.echo(report.as_json(), nl=False)
    else:
        _show(report)


def _sessions(
    files: tuple[Path, ...], *, min_calls: int, every: int, limit: int, homes: dict[str, Path | None]
) -> "RecordedSessions":
    from undrift.bench.sessions import files_below, sessions_of

    if not files:
        return sessions_of(own_recordings("undrift bench cost", **homes), min_calls=min_calls, every=every, limit=limit)
    paths = [path for file in files for path in files_below(file)]
    return sessions_of(paths, min_calls=min_calls, every=every)


def _show(report: "CostReport") -> None:
    """Print the answer, and the two tables."""
    rows = [row.as_value() for row in report.rows]
    first = rows[0]
    measured = "sessions cost" if first["sessions"] > 1 else "session costs"
    say(
        f"{first['budget']}: {first['above']:,} of {first['sessions']:,} {measured} more than sending everything. "
        f"All together cost {first['sum']:.3f} of it, and {first['survival']:.1%} was there when needed.",
        bold=True,
    )
    click.echo()
    names = ("budget", "prices", "dearer", "worst", "any turn", "mean", "sum", "survival")
    columns = [Column(name, words=name in ("budget", "prices")) for name in names]
    draw(
        columns,
        [
            (row["budget"], row["scenario"], f"{row['above']} of {row['sessions']}", *_shares(row, *_OF_EVERYTHING))
            for row in rows
        ],
    )
    say(
        "1.00 is the cost of sending everything. Dearer: sessions above it at their end. Any turn: the highest share that "
        "a session reached on its way."
    )
    click.echo()
    _show_native([row for row in rows if row["native_sessions"]])
    if report.left_out:
        say(
            "Left out: " + ", ".join(f"{number:,} {safe(why)}" for why, number in sorted(report.left_out.items())) + "."
        )
    next_commands(One_session_in_full="undrift replay FILE", All_figures="undrift bench cost --json")


_OF_EVERYTHING = ("worst", "worst_turn", "mean", "sum", "survival")
_OF_NATIVE = ("native_sum", "of_native", "of_native_alone", "survival_there", "native_survival")


def _shares(row: dict[str, Any], *names: str) -> list[str]:
    return [f"{row[name]:.3f}" for name in names]


def _show_native(rows: list[dict[str, Any]]) -> None:
    if not rows:
        say("No recording holds a compaction of its client's own, so there is none to compare with.")
        return
    names = ("budget", "prices", "dearer", "native", "of native", "alone", "survival", "native's")
    columns = [Column(name, words=name in ("budget", "prices")) for name in names]
    draw(
        columns,
        [
            (
                row["budget"],
                row["scenario"],
                f"{row['above_native']} of {row['native_sessions']}",
                *_shares(row, *_OF_NATIVE),
            )
            for row in rows
        ],
    )
    say(
        "Native is the client's own compaction, as recorded, as a share of sending everything. The next column is "
        "undrift as a share of it, with lost needs charged to both; alone, they are charged to undrift only."
    )
    if unreadable := max(row["native_unreadable"] for row in rows):
        summaries = count(unreadable, "summary is", "summaries are")
        say(f"{summaries} encrypted, so native's cost is too low by the writing of them.")
    say(
        "Tokens are characters / 4, about two thirds of real ones, so the limit of auto comes later than the client's, "
        "and 60,000 here are about 90,000 real ones. "
        "In auto-native it is where that recording was compacted."
    )
