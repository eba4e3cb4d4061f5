"""``undrift memory learn``: what recorded sessions teach.

Law: nothing is learned before it was shown, unless --yes was given.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from undrift.cli.autopsy import progress
from undrift.cli.draw import say
from undrift.cli.of_session import one_home_options, open_session
from undrift.cli.place import place_here
from undrift.cli.show import again, at_terminal, count, echo_json, excerpt, note, safe
from undrift.errors import InputError, TranscriptError
from undrift.recordings.learn import TaughtSession, recordings_below, taught_by
from undrift.stores.projects import keep
from undrift.values.memory import MemoryEntry

__all__ = ["learn_command"]

_ROWS = 20
"""Statements of one session that are shown before the question."""


@click.command("learn")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only show the statements; nothing is stored.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@one_home_options
def learn_command(*, paths: tuple[Path, ...], dry_run: bool, yes: bool, home: str | None, as_json: bool) -> None:
    """Learn from recorded sessions: your lasting statements, and what was tried.

    PATH is a session file of any known format, or a folder with such files. Your own words have the trust of a user,
    the output of a tool that of a tool. Each memory names its session and line. A statement that was ever stored, forgotten
    ones too, is not learned again. `undrift memory forget --learned all` forgets all that was learned.

    \b
    undrift memory learn session.jsonl --dry-run
    """
    read, failed = _read(paths, quiet=as_json)
    learned: dict[str, Sequence[MemoryEntry]] = {}
    if not as_json:
        for one in read:
            _show(one)
    if not dry_run and any(one.lessons for one in read):
        if not yes and not (at_terminal(sys.stdin) and click.confirm("Learn them?", err=True)):
            raise InputError("nothing was learned; --yes does it without asking")
        place = keep(place_here(home))
        for one in read:
            if one.lessons:
                with open_session(place, one.session_id) as session:
                    learned[one.session_id] = (*learned.get(one.session_id, ()), *session.memory.learn(one.entries))
    if as_json:
        echo_json(_as_json(read, failed, learned, dry_run=dry_run))
    else:
        _report(read, failed, learned, home, dry_run=dry_run)
    if not read:
        sys.exit(1)


def _read(paths: Sequence[Path], *, quiet: bool) -> tuple[list[TaughtSession], list[tuple[str, str]]]:
    """Read all recordings. In a folder other files are passed over; a file that was named must be a recording."""
    files = [(file, path.is_dir()) for path in paths for file in recordings_below(path)]
    read: list[TaughtSession] = []
    failed: list[tuple[str, str]] = []
    with progress(quiet, len(files)) as show:
        for number, (file, is_found) in enumerate(files):
            show(number, file)
            try:
                read.append(taught_by(file))
            except TranscriptError as error:
                if not is_found:
                    raise
                failed.append((str(file), str(error)))
    return read, failed


def _show(one: TaughtSession) -> None:
    if not one.lessons:
        return
    say(f"{safe(str(one.path))}: {count(len(one.lessons), 'statement')}")
    for lesson in one.lessons[:_ROWS]:
        place = f"line {lesson.line}" if lesson.line else ""
        click.echo(f"  {place:<11}{lesson.kind:<11}{excerpt(lesson.text, 56)}")
    if len(one.lessons) > _ROWS:
        click.echo(f"  ... and {len(one.lessons) - _ROWS:,} more")


def _report(
    read: Sequence[TaughtSession],
    failed: Sequence[tuple[str, str]],
    learned: dict[str, Sequence[MemoryEntry]],
    home: str | None,
    *,
    dry_run: bool,
) -> None:
    if failed:
        note(f"{count(len(failed), 'file')} passed over: not recorded sessions that undrift knows.")
    if sub_agents := sum(one.is_sub_agent for one in read):
        note(f"{count(sub_agents, 'session')} of sub-agents passed over: their user is an agent.")
    every = sum(len(one.lessons) for one in read)
    if dry_run or not every:
        say(f"{count(every, 'statement')} in {count(len(read), 'session')}.")
        return
    say(f"Learned {count(sum(map(len, learned.values())), 'memory', 'memories')}.")
    note(f"To see them: undrift memory list{again(home)}")
    note(f"To forget them: undrift memory forget --learned all{again(home)}")


def _as_json(
    read: Sequence[TaughtSession],
    failed: Sequence[tuple[str, str]],
    learned: dict[str, Sequence[MemoryEntry]],
    *,
    dry_run: bool,
) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "sessions": [
            {
                "path": str(one.path),
                "session_id": one.session_id,
                "format": one.format,
                "is_sub_agent": one.is_sub_agent,
                "statements": [
                    {
                        "text": lesson.text,
                        "kind": lesson.kind,
                        "trust": lesson.trust,
                        "type": lesson.type,
                        "line": lesson.line,
                        "rule": lesson.sign,
                        "said_at_ms": lesson.at_ms,
                    }
                    for lesson in one.lessons
                ],
            }
            for one in read
        ],
        "learned": {name: [entry.id for entry in some] for name, some in learned.items()},
        "passed_over": [{"path": path, "reason": reason} for path, reason in failed],
    }
