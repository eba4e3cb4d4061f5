"""``undrift bench restore``: what texts hold of what agents needed after their compactions."""

from pathlib import Path

import click

from undrift.cli.of_session import TOKENS
from undrift.cli.own import FORMATS_READ, client_folders, own_recordings
from undrift.cli.show import note, safe
from undrift.errors import InputError

__all__ = ["bench_restore_command"]


@click.command("restore", epilog=FORMATS_READ)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--budget",
    "budgets",
    type=TOKENS,
    metavar="N",
    multiple=True,
    help="A size of the restore text in tokens; 5000 and 10000 by default. You can repeat this option.",
)
@client_folders
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def bench_restore_command(
    files: tuple[Path, ...], budgets: tuple[int, ...], as_json: bool, **homes: Path | None
) -> None:
    """Measure what a restore text holds of what the agents needed after compactions.

    FILE is a recorded session or a folder of them; without FILE, your own sessions are measured. None of them is
    changed. Each compaction of Claude Code and Codex after 15 calls counts once. The table shows the share of the
    identifiers and lines of code that the agent used in its next 30 calls and had learned before. A mean counts each
    compaction alike; its 95% interval comes from drawing the compactions again.

    \b
    undrift bench restore
    undrift bench restore sessions --budget 5000
    """
    from undrift.bench.restore import BUDGETS_TOKENS, measure

    report = measure(
        files or own_recordings("undrift bench restore", **homes),
        budgets=budgets or BUDGETS_TOKENS,
        progress=lambda name: note(f"measuring {safe(name)} ..."),
    )
    if not report.found:
        raise InputError(
            "no session of Claude Code or Codex was compacted after 15 calls or more; name a folder of longer sessions"
        )
    click.echo(report.as_json() if as_json else report.as_markdown(), nl=False)
