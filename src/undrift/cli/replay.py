"""``undrift replay``: recorded sessions run through the engine."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from undrift.cli.machine import as_json as shown_as_json
from undrift.cli.of_session import BUDGET, one_home_options, settings_in
from undrift.cli.own import FORMATS_READ, own_recordings, session_options
from undrift.cli.place import place_here
from undrift.cli.show import at_terminal, echo_json, first_line, note, safe
from undrift.errors import TranscriptError
from undrift.recordings.figures import recorded_figures
from undrift.recordings.files import open_recording
from undrift.recordings.replay import ReplayReport, replay
from undrift.settings import Settings
from undrift.stores.projects import keep
from undrift.values.project import Place

__all__ = ["replay_command"]

_BAR_COLUMNS = 36
"""The space next to the name: the shortest useful bar, and the turns done, which must not be cut."""
_Progress = Callable[[int, int], None]


@click.command("replay", epilog=FORMATS_READ)
@session_options(5, "replay at most N of your sessions")
@click.option(
    "--budget",
    type=BUDGET,
    metavar="N",
    help="The most tokens that a prompt may have, such as 60k, or auto (the default).",
)
@one_home_options
def replay_command(
    files: tuple[Path, ...],
    budget: int | str | None,
    format_: str | None,
    home: str | None,
    as_json: bool,
    limit: int,
    **homes: Path | None,
) -> None:
    """Run recorded sessions through undrift: show what it would prune, why, and at what cost.

    FILE is a recorded session. One FILE gives a full report, several give a table. Without FILE, your newest
    sessions are replayed. No session file is changed. A copy of what left is kept in the home, for `undrift
    recall`: the report says where, how large it is, and how to remove it. The next replay of a file replaces it.

    \b
    undrift replay
    undrift replay session.jsonl --budget 60000
    """
    place = place_here(home)
    settings = settings_in(place, budget_tokens=budget)
    own = () if files else own_recordings("undrift replay", **homes)
    batch = _ReplayBatch(place, settings, format_ if files else None, quiet=as_json)
    batch.run(files or own, wanted=None if files else limit)
    if as_json:
        found = {} if files else {"found": len(own)}
        failed = [{"path": str(path), "error": message} for path, message in batch.failed]
        echo_json({"sessions": [shown_as_json(report) for report in batch.reports], "failed": failed, **found})
    elif batch.reports:
        from undrift.cli import story

        if len(files) == 1:
            story.show_one(batch.reports[0], home)
        else:
            older = max(0, len(own) - len(batch.reports) - len(batch.failed))
            story.show_several(batch.reports, home, budget, older=older)
    for _, message in batch.failed:
        note(f"undrift: {safe(message)}")
    if (batch.failed and files) or not batch.reports:
        sys.exit(1)


@dataclass(slots=True)
class _ReplayBatch:
    """Files, replayed one after the other; one that cannot be read does not stop the others."""

    place: Place
    settings: Settings
    format: str | None
    quiet: bool
    reports: list[ReplayReport] = field(default_factory=list)
    failed: list[tuple[Path, str]] = field(default_factory=list)

    def run(self, files: Sequence[Path], *, wanted: int | None) -> None:
        """Replay the files until there are `wanted` reports. None means: replay all files."""
        total = len(files) if wanted is None else min(wanted, len(files))
        with _progress(self.quiet) as show:
            for path in files:
                if len(self.reports) == wanted:
                    break
                number = f"{len(self.reports) + 1} of {total}: " if total > 1 else ""
                try:
                    recording = open_recording(path, format=self.format)
                    recorded = recorded_figures(path, recording.format)
                except TranscriptError as error:
                    self.failed.append((path, str(error)))
                    continue
                self.reports.append(
                    replay(
                        recording,
                        path,
                        home=keep(self.place),
                        settings=self.settings,
                        progress=show(number + safe(path.name)),
                        recorded=recorded,
                    )
                )


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], _Progress | None]]:
    """Give a function from a title to the one that `replay` reports to: a bar on stderr if that is a terminal, else None."""
    if quiet or not at_terminal(sys.stderr):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns: list[Any] = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bar:

        def show(title: str) -> _Progress:
            for task in bar.task_ids:
                bar.remove_task(task)
            task = bar.add_task(first_line(title, max(12, console.width - _BAR_COLUMNS)), total=None)
            return lambda done, total: bar.update(task, completed=done, total=total)

        yield show
