"""``undrift archive``: what tasks let go, written into files that grep reads."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from undrift.cli import lookup
from undrift.cli.show import count, echo_json, safe
from undrift.cli.task_view import shown_id
from undrift.errors import RecallError, StoreError, TaskError
from undrift.stores.contract import Store
from undrift.stores.exports import Exports
from undrift.tasks.archive import Archive

__all__ = ["archive_command"]

_REMEDY = "a session has tasks once its agent has told of them (`undrift tasks` lists them); --home names another home"


@dataclass(frozen=True, slots=True)
class _ArchiveLog:
    """One log, written, or the fault that stood in the way."""

    session_id: str
    task_id: str
    path: Path
    fault: str = ""


@click.command("archive")
@click.argument("task_ids", nargs=-1, metavar="[TASK]...")
@click.option("--session", metavar="ID", help="Of which session (default: the newest that has these tasks).")
@click.option("--all", "is_all", is_flag=True, help="The tasks of all sessions.")
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def archive_command(
    task_ids: tuple[str, ...], session: str | None, is_all: bool, home: str | None, as_json: bool
) -> None:
    """Write what tasks let go into files that grep reads.

    TASK is a task's id; without one, all tasks of the session that let something go. The files stand in the folder
    archives of the home, one a task, and are made anew from the store; their paths are printed.
    """
    if is_all and (task_ids or session is not None):
        raise click.UsageError("--all goes without TASK and without --session")
    places, wanted = lookup.homes_of(home), "any task" if session is None else f"a task of session {session}"

    def export(store: Store, folder: Path) -> tuple[Path, list[_ArchiveLog]]:
        return folder, _exported(store, folder, task_ids, session, is_all=is_all)

    folder, logs = lookup.first(places, wanted, export, remedy=_REMEDY)
    failed = [one for one in logs if one.fault]
    if as_json:
        _echo_json(folder, [one for one in logs if not one.fault], failed)
    else:
        _echo([one for one in logs if not one.fault], failed)
    if failed:
        raise click.exceptions.Exit(1)


def _exported(
    store: Store, folder: Path, task_ids: Sequence[str], session: str | None, *, is_all: bool
) -> list[_ArchiveLog]:
    found: Iterable[tuple[Archive, Sequence[str]]]
    if is_all:
        found, where = _all(store), "any session"
    else:
        archive, ids = _chosen(store, task_ids, session)
        found, where = [(archive, ids)], f"session {archive.session_id[:80]!r}"
    exports = Exports(folder, scratchpad_limit_bytes=1)  # no scratchpad is looked at
    logs = [_log(archive, exports, task_id) for archive, ids in found for task_id in ids]
    if not logs:
        raise TaskError(f"no task of {where} has let anything go: that happens at a request after its completion")
    return logs


def _all(store: Store) -> Iterator[tuple[Archive, Sequence[str]]]:
    lookup.tasks_in(store)
    for row in store.sessions():
        archive = Archive(store, row.session_id)
        yield archive, archive.evicted_ids


def _chosen(store: Store, task_ids: Sequence[str], session: str | None) -> tuple[Archive, Sequence[str]]:
    """The session and its tasks; where no session has all those that were given, the newest one says what it has."""
    try:
        session_id, _ = lookup.tasks_in(store, session, task_ids)
    except RecallError:
        session_id, _ = lookup.tasks_in(store, session)
    archive = Archive(store, session_id)
    for task_id in task_ids:
        archive.task(task_id)
    return archive, tuple(dict.fromkeys(task_ids)) or archive.evicted_ids


def _log(archive: Archive, exports: Exports, task_id: str) -> _ArchiveLog:
    path = exports.log_path(archive.session_id, task_id)
    try:
        archive.export(exports, task_id)
    except StoreError as error:  # the others are written
        return _ArchiveLog(archive.session_id, task_id, path, str(error))
    return _ArchiveLog(archive.session_id, task_id, path)


def _echo(written: Sequence[_ArchiveLog], failed: Sequence[_ArchiveLog]) -> None:
    for one in written:
        click.echo(safe(str(one.path)))
    if written:
        logs = count(len(written), "log is", "logs are")
        click.echo(f"{logs} written, plain text that grep reads, as in: grep -n WORDS PATH", err=True)
    for one in failed:
        click.echo(f"undrift: task {shown_id(one.task_id)}: {safe(one.fault)}", err=True)


def _echo_json(folder: Path, written: Sequence[_ArchiveLog], failed: Sequence[_ArchiveLog]) -> None:
    named = [(one, {"session_id": one.session_id, "task_id": one.task_id}) for one in (*written, *failed)]
    echo_json(
        {
            "home": str(folder.absolute()),
            "logs": [{**names, "path": str(one.path.absolute())} for one, names in named if not one.fault],
            "failed": [{**names, "error": one.fault} for one, names in named if one.fault],
        }
    )
