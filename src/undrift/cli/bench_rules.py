"""``undrift bench rules``: whether an agent that follows what it sees still keeps the user's rules after compactions."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from undrift.cli.draw import Column, draw, say
from undrift.cli.of_session import Whole
from undrift.cli.show import count, echo_json, note, safe
from undrift.errors import InputError

if TYPE_CHECKING:
    from undrift.bench.rules import Mode
    from undrift.bench.rules_report import RulesReport, RulesShare

__all__ = ["rules_command"]

_TITLES: "dict[Mode, str]" = {
    "always": "control: the rule in every prompt",
    "never": "control: the rule in no prompt",
    "lifted": "control: quotes as rules, no withdrawal",
    "nothing": "the client alone, a summary of the work",
    "summary": "the client's summary, as recorded",
    "hooks": "hooks alone",
    "gateway": "gateway alone",
    "warn": "guard alone, warn",
    "ask": "guard alone, ask",
}


def _numbers(_: click.Context, __: click.Parameter, value: str) -> tuple[int, ...]:
    """Read numbers of compactions, with commas between them."""
    try:
        found = sorted({int(part) for part in value.split(",")})
    except ValueError:
        found = []
    if not found or not all(1 <= number <= 50 for number in found):
        raise click.BadParameter(f"{value!r} is not a list of numbers from 1 to 50; type for example 1,3,10")
    return tuple(found)


@click.command("rules")
@click.argument("file", required=False, metavar="[FILE]", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--compactions",
    default="1,3,10,20",
    show_default=True,
    callback=_numbers,
    metavar="N,N",
    help="After which compactions to judge.",
)
@click.option(
    "--episodes",
    "wanted",
    type=Whole(min=1),
    default=1_000,
    show_default=True,
    metavar="N",
    help="Play each rule at more places until there are N episodes, at 4 places at most.",
)
@click.option("--modes", default="all", show_default=True, metavar="NAME,NAME", help="Measure only these rows.")
@click.option("--limit", type=Whole(min=1), metavar="N", help="Take only the first N rules.")
@click.option("--jobs", type=Whole(min=1), metavar="N", help="Use N processes (default: one for each core, at most 4).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def rules_command(
    file: Path | None,
    compactions: tuple[int, ...],
    wanted: int,
    modes: str,
    limit: int | None,
    jobs: int | None,
    *,
    as_json: bool,
) -> None:
    """Measure whether an agent still keeps your rules after compactions.

    A scripted agent follows every instruction that it can see in its prompt, and forgets what it cannot. Each of its
    calls is judged. No model is asked. FILE has one rule a line, with the calls that it forbids (see docs/rules.md).
    Without FILE the rules that come with undrift are used.

    \b
    undrift bench rules
    undrift bench rules --limit 10 --compactions 1,3
    """
    from undrift.bench.rules import MODES, SuitePlan, judged, placements_for
    from undrift.bench.rules_file import own_rules, read_rules
    from undrift.bench.rules_report import RulesReport

    names = MODES if modes == "all" else tuple(name.strip() for name in modes.split(","))
    chosen = tuple(mode for mode in MODES if mode in names)
    if unknown := sorted(set(names) - set(MODES)):
        raise InputError(f"no such row: {safe(', '.join(unknown))}; there are {', '.join(MODES)}")
    cases = (read_rules(file) if file else own_rules())[:limit]
    placements = placements_for(len(cases), len(compactions), wanted)
    plan = SuitePlan(modes=chosen, compactions=compactions, placements=placements)
    found, faults = judged(cases, plan, jobs=jobs, progress=lambda line: note(f"playing {safe(line)} ..."))
    report = RulesReport(found, faults)
    if as_json:
        echo_json(report.as_value())
        return
    _show(report)


def _show(report: "RulesReport") -> None:
    """Print the tables."""
    say(
        f"{count(report.rules, 'rule')}, {count(report.episodes, 'episode')} of each row. A violation is a call against a "
        "rule that holds, obedience to a quoted text, or to a rule that was withdrawn.",
        bold=True,
    )
    click.echo()
    names = ("", "violations", "decisions", "share", "95%", "broken episodes")
    rows = []
    for mode in report.modes():
        whole = report.share(mode)
        interval = f"{whole.low:.1%} to {whole.high:.1%}"
        figures = (f"{whole.violations:,}", f"{whole.decisions:,}", f"{whole.share:.1%}", interval)
        rows.append([_TITLES[mode], *figures, f"{report.broken(mode):,}"])
    draw([Column(name, words=not name) for name in names], rows)
    click.echo()
    say("Violations of decisions, by what is judged and by the number of compactions before:")
    click.echo()
    kinds, numbers = report.kinds(), report.compactions()
    rows = []
    for mode in report.modes():
        by_kind = [report.share(mode, lambda one, kind=kind: one.kind == kind) for kind in kinds]  # type: ignore[misc]
        after = [report.share(mode, lambda one, n=n: one.compactions == n) for n in numbers]  # type: ignore[misc]
        rows.append([_TITLES[mode], *(_cell(one) for one in (*by_kind, *after))])
    draw([Column("", words=True), *(Column(name) for name in (*kinds, *(f"after {n}" for n in numbers)))], rows)
    if report.faults:
        click.echo()
        say(f"Faults in the logs: {len(report.faults)}. The first: {safe(report.faults[0])}")


def _cell(share: "RulesShare") -> str:
    return f"{share.violations:,}/{share.decisions:,}" if share.decisions else ""
