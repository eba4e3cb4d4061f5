"""``undrift autopsy``: the things that compactions removed from recorded sessions, and that agents needed later."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from undrift.cli.autopsy_json import as_json as shown_as_json
from undrift.cli.autopsy_json import totals_as_json
from undrift.cli.autopsy_own import OwnSessions
from undrift.cli.autopsy_pages import Pages, page_options
from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import TOKENS
from undrift.cli.own import FORMATS_READ, own_recordings, session_options
from undrift.cli.place import HOME_HELP, home_settings
from undrift.cli.show import at_terminal, count, echo_json, note, safe
from undrift.errors import TranscriptError
from undrift.recordings.autopsy import Postmortem, SubAgentSession, counted_once, examine, totals
from undrift.recordings.headline import headline
from undrift.recordings.index import AutopsyIndex
from undrift.settings.model_table import Model, read_models
from undrift.stores.served import home_path

__all__ = ["autopsy_command", "progress"]

_MOST_FAILURES = 8
_INTERRUPTED = 130
_FIRST_REPORT_S = 7.0
"""At a terminal the first report does not wait longer; the sessions that it lacks are read right after it."""


@click.command("autopsy", epilog=FORMATS_READ)
@session_options(20, "report on your N newest sessions that have a compaction")
@click.option("--all", "everything", is_flag=True, help="Without FILE: read all your sessions before the report.")
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
@click.option("--home", metavar="DIR", help=HOME_HELP)
def autopsy_command(
    files: tuple[Path, ...],
    budget: int,
    format_: str | None,
    pages: Pages,
    as_json: bool,
    limit: int,
    everything: bool,
    home: str | None,
    **homes: Path | None,
) -> None:
    """Show what compactions removed although the agent needed it later.

    For each compaction, it lists what the agent used afterwards. It says how much of this the client's own summary
    contains, and how much undrift would restore. It also lists what the agent read again, and which of your rules
    were never mentioned again.

    FILE is a recorded session. One FILE gives a full report, several give a table. No session file is changed.

    Without FILE, the report is about your newest sessions in all projects. At a terminal, undrift then reads the others
    and keeps what it found in its data folder. From then on the report is about all your sessions, within seconds.
    Ctrl-C stops the reading, and the next run continues it.

    \b
    undrift autopsy
    undrift autopsy session.jsonl
    undrift autopsy --html autopsy.html
    undrift autopsy --share page.html --picture card.svg
    """
    settings = home_settings(home)
    asked = _Asked(budget, read_models(settings.models_file), pages, as_json)
    pages.check(files)
    if files:
        _examine_files(files, format_, asked)
        return
    own = own_recordings("undrift autopsy", **homes)
    index = AutopsyIndex(home_path(settings.home), budget_tokens=budget, models=asked.models)
    sessions = OwnSessions(index, own, texts=asked.texts, quiet=as_json)
    is_limited = click.get_current_context().get_parameter_source("limit") is not ParameterSource.DEFAULT
    with sessions.opened():
        _examine_own(sessions, limit, asked, everything=everything, is_limited=is_limited)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options that say how to examine and how to report."""

    budget_tokens: int
    models: Sequence[Model]
    pages: Pages
    as_json: bool

    @property
    def texts(self) -> bool:
        """True: the report needs all that was found, and the index does not keep all."""
        return self.as_json or self.pages.any


def _examine_files(files: Sequence[Path], format_: str | None, asked: _Asked) -> None:
    """Report on the given files; one that cannot be read does not stop the others."""
    read: list[Postmortem] = []
    failed: list[tuple[str, str]] = []
    sub_agents = 0
    with progress(asked.as_json, len(files)) as show:
        for number, path in enumerate(files):
            show(number, path)
            try:
                read.append(examine(path, budget_tokens=asked.budget_tokens, format=format_, models=asked.models))
            except SubAgentSession:
                sub_agents += 1
            except TranscriptError as error:
                failed.append((str(path), str(error)))
    found = tuple(counted_once(read))
    if asked.as_json:
        _echo(found, failed, sub_agents, {})
    elif len(files) == 1 and found:
        from undrift.cli.autopsy_text import show_one

        show_one(found[0])
    elif found:
        from undrift.cli.autopsy_table import show_several

        show_several(found, totals(found))
    _note_failures(failed, sub_agents)
    asked.pages.write(found, quiet=asked.as_json)
    if failed or not found:
        sys.exit(1)


def _examine_own(sessions: OwnSessions, limit: int, asked: _Asked, *, everything: bool, is_limited: bool) -> None:
    """Report on the user's own sessions: the newest, or all of them when all are read; then read the others."""
    is_read_on = not (is_limited or everything or asked.as_json) and at_terminal(sys.stdout) and at_terminal(sys.stderr)
    newest = tuple(counted_once(sessions.newest(limit, within_s=_FIRST_REPORT_S if is_read_on else math.inf)))
    if everything:
        _read_all(sessions)
    every = () if sessions.unread else tuple(counted_once(sessions.all()))
    found = newest if is_limited or sessions.unread else every
    detailed = tuple(counted_once(sessions.in_full(newest))) if asked.texts else ()
    readings = sessions.readings.values()
    failed = [(reading.path, reading.failure) for reading in readings if reading.failure]
    sub_agents = sum(reading.is_sub_agent for reading in readings)
    if asked.as_json:
        known = every or tuple(counted_once(sessions.known()))
        sums = {"files": len(sessions.paths), "unread": sessions.unread, "sessions": len(known)}
        more = {"found": len(sessions.paths), "all": sums | {"totals": totals_as_json(totals(known))}}
        _echo(detailed, failed, sub_agents, more)
    elif found:
        from undrift.cli.autopsy_table import show_several

        hint = {"Read_all_your_sessions_once": "undrift autopsy --all"} if sessions.unread and not is_read_on else {}
        show_several(found, totals(found), about=_about(sessions, found, is_limited=is_limited), more=hint)
    _note_failures(failed, sub_agents)
    if not newest and not failed:
        _note_nothing(sessions)
    asked.pages.write(detailed, quiet=asked.as_json)
    if is_read_on and sessions.unread:
        _read_on(sessions)
    if sessions.index.problem:
        note(f"undrift: the next run must read the sessions again: {safe(sessions.index.problem)}")
    if failed and not newest:
        sys.exit(1)


def _about(sessions: OwnSessions, found: Sequence[Postmortem], *, is_limited: bool) -> str:
    """Say which sessions the report is about, and how many recordings are not read yet."""
    recordings = count(len(sessions.paths), "recording")
    if not sessions.unread and not is_limited:
        return f"{count(len(found), 'session')} with a compaction, in {recordings} that your clients keep."
    newest = f"These are your {len(found):,} newest sessions" if len(found) > 1 else "This is your newest session"
    are = "is" if sessions.unread == 1 else "are"
    unread = f" {sessions.unread:,} of {recordings} {are} not read yet." if sessions.unread else ""
    return f"{newest} with a compaction.{unread}"


def _read_all(sessions: OwnSessions) -> None:
    """Read all sessions; Ctrl-C ends the command, and what was read is kept."""
    try:
        sessions.all()
    except KeyboardInterrupt:
        note(f"Stopped. Not read yet: {count(sessions.unread, 'recording')}; the next undrift autopsy continues.")
        sys.exit(_INTERRUPTED)


def _read_on(sessions: OwnSessions) -> None:
    """After the report: read the other sessions, and say what all of them come to."""
    click.echo()
    note(f"Now reading the other {count(sessions.unread, 'recording')}, once. Ctrl-C stops it and loses nothing.")
    _read_all(sessions)
    found = tuple(counted_once(sessions.all()))
    if found:
        say(f"All {count(len(found), 'session')} with a compaction: {headline(totals(found))}", bold=True)
    next_commands(The_report_on_all_your_sessions="undrift autopsy")


def _echo(
    found: Sequence[Postmortem], failed: Sequence[tuple[str, str]], sub_agents: int, more: Mapping[str, Any]
) -> None:
    failures = [{"path": path, "error": message} for path, message in failed]
    echo_json({**shown_as_json(found, totals(found)), "failed": failures, "sub_agents": sub_agents, **more})


def _note_failures(failed: Sequence[tuple[str, str]], sub_agents: int) -> None:
    """Say on stderr which files could not be examined."""
    for _, message in failed[:_MOST_FAILURES]:
        note(f"undrift: {safe(message)}")
    if len(failed) > _MOST_FAILURES:
        note(f"undrift: {len(failed) - _MOST_FAILURES:,} more files cannot be examined (--json lists them)")
    if sub_agents:
        note(f"{count(sub_agents, 'session')} of sub-agents not counted")


def _note_nothing(sessions: OwnSessions) -> None:
    """Say on stderr that there was nothing to examine."""
    known = [one.found for one in sessions.readings.values() if one.found is not None]
    early = sum(one.autopsy.early_compactions for one in known)
    said = f" as far as they are recorded ({count(early, 'compaction')} before the first call)" if early else ""
    number = len(sessions.paths)
    whose = "Your only session was never" if number == 1 else f"None of your {number:,} sessions was"
    note(f"{whose} compacted{said}. To see what undrift would do: undrift replay")


@contextmanager
def progress(quiet: bool, total: int) -> Iterator[Callable[[int, Path], None]]:
    """Give the function that takes a number and a path: a line on stderr if that is a terminal, else nothing."""
    if quiet or not at_terminal(sys.stderr):
        yield lambda _number, _path: None
        return
    from rich.console import Console

    with Console(stderr=True, markup=False, highlight=False, emoji=False).status("") as status:
        yield lambda number, path: status.update(f"{number + 1:,} of {total:,}: {safe(path.name)}")
