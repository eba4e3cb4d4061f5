"""``undrift autopsy``: the things that compactions removed from recorded sessions, and that agents needed later."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from undrift.cli.autopsy_json import as_json as shown_as_json
from undrift.cli.autopsy_pages import Pages, page_options
from undrift.cli.of_session import TOKENS
from undrift.cli.own import FORMATS_READ, own_recordings, session_options
from undrift.cli.show import at_terminal, count, echo_json, note, safe
from undrift.errors import TranscriptError
from undrift.recordings.autopsy import Postmortem, SubAgentSession, counted_once, examine, names_a_compaction, totals
from undrift.settings import Settings
from undrift.settings.model_table import Model, read_models

__all__ = ["autopsy_command", "progress"]

_Show = Callable[[int, Path], None]


@click.command("autopsy", epilog=FORMATS_READ)
@session_options(20, "examine at most N of your sessions that have a compaction")
@click.option(
    "--budget",
    type=TOKENS,
    default=5_000,
    show_default=True,
    metavar="N",
    help="The most tokens that undrift would restore after each compaction.",
)
@page_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def autopsy_command(
    files: tuple[Path, ...],
    budget: int,
    format_: str | None,
    pages: Pages,
    as_json: bool,
    limit: int,
    **homes: Path | None,
) -> None:
    """Show what compactions removed although the agent needed it later.

    For each compaction, it lists what the agent used afterwards. It says how much of this the client's own summary
    contains, and how much undrift would restore. It also lists what the agent read again, and which of your rules
    were never mentioned again.

    FILE is a recorded session. One FILE gives a full report, several give a table. Without FILE, your newest
    sessions are examined. No session file is changed.

    \b
    undrift autopsy
    undrift autopsy session.jsonl
    undrift autopsy --html autopsy.html
    undrift autopsy --share page.html --picture card.svg
    """
    pages.check(files)
    settings = Settings.from_environment()
    own = () if files else own_recordings("undrift autopsy", **homes)
    batch = _AutopsyBatch(budget, format_ if files else None, read_models(settings.models_file), quiet=as_json)
    batch.run(files or own, wanted=None if files else limit)
    found = tuple(counted_once(batch.found))
    if as_json:
        sums = totals(found)
        failed = [{"path": str(path), "error": message} for path, message in batch.failed]
        more = {} if files else {"found": len(own)}
        echo_json(shown_as_json(found, sums) | {"failed": failed, "sub_agents": batch.sub_agents, **more})
    elif found:
        if len(files) == 1:
            from undrift.cli.autopsy_text import show_one

            show_one(found[0])
        else:
            from undrift.cli.autopsy_table import show_several

            show_several(found, totals(found))
    _report(batch, files, own)
    pages.write(found, quiet=as_json)
    if (batch.failed and files) or ((batch.failed or files) and not found):
        sys.exit(1)


def _report(batch: "_AutopsyBatch", files: Sequence[Path], own: Sequence[Path]) -> None:
    """Say on stderr which files could not be examined, or that there was nothing to examine."""
    for _, message in batch.failed:
        note(f"undrift: {safe(message)}")
    if batch.sub_agents:
        note(f"{count(batch.sub_agents, 'session')} of sub-agents not counted")
    if not files and not batch.found and not batch.failed:
        early = f" as far as they are recorded ({count(batch.early, 'compaction')} before the first call)"
        sessions = "Your only session was never" if len(own) == 1 else f"None of your {len(own):,} sessions was"
        note(f"{sessions} compacted{early if batch.early else ''}. To see what undrift would do: undrift replay")


@dataclass(slots=True)
class _AutopsyBatch:
    """Files, examined one after the other; one that cannot be read does not stop the others."""

    budget_tokens: int
    format: str | None
    models: Sequence[Model]
    quiet: bool
    found: list[Postmortem] = field(default_factory=list)
    failed: list[tuple[Path, str]] = field(default_factory=list)
    sub_agents: int = 0
    early: int = 0

    def run(self, files: Sequence[Path], *, wanted: int | None) -> None:
        """Examine all files, or those with a compaction until there are `wanted` of them."""
        with progress(self.quiet, len(files)) as show:
            for number, path in enumerate(files):
                if len(self.found) == wanted:
                    break
                show(number, path)
                if wanted is None or names_a_compaction(path):
                    self._examine(path, keep_all=wanted is None)

    def _examine(self, path: Path, *, keep_all: bool) -> None:
        try:
            one = examine(path, budget_tokens=self.budget_tokens, format=self.format, models=self.models)
        except SubAgentSession:
            self.sub_agents += 1
        except TranscriptError as error:
            self.failed.append((path, str(error)))
        else:
            self.early += one.autopsy.early_compactions
            if keep_all or one.autopsy.compactions:
                self.found.append(one)


@contextmanager
def progress(quiet: bool, total: int) -> Iterator[_Show]:
    """Give the function that a batch reports to: a line on stderr if that is a terminal, else nothing."""
    if quiet or not at_terminal(sys.stderr):
        yield lambda _number, _path: None
        return
    from rich.console import Console

    with Console(stderr=True, markup=False, highlight=False, emoji=False).status("") as status:
        yield lambda number, path: status.update(f"{number + 1:,} of {total:,}: {safe(path.name)}")
