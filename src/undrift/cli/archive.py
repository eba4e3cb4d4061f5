"""``undrift session archive``: the logs of finished tasks, as files for grep."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from undrift.cli import lookup
from undrift.cli.of_session import home_options
from undrift.cli.place import place_here
from undrift.cli.show import count, echo_json, note, safe
from undrift.cli.task_view import shown_id
from undrift.errors import RecallError, StoreError, TaskError
from undrift.stores.contract import Store
from undrift.stores.exports import Exports
from undrift.stores.projects import place_at
from undrift.tasks.archive import Archive

__all__ = ["archive_command"]

_REMEDY = "`undrift session tasks` lists tasks; --home DIR names another folder"


@dataclass(frozen=True, slots=True)
class _ArchiveLog:
    """One log, written, or the fault that prevented it."""

    session_id: str
    task_id: str
    path: Path
    fault: str = ""


@click.command("archive")
@click.argument("task_ids", nargs=-1, metavar="[TASK]...")
@click.option("--session", metavar="ID", help="The session's id (default: the newest session that has every TASK).")
@click.option("--all", "is_all", is_flag=True, help="Write the tasks of all sessions.")
@home_options
def archive_command(
    task_ids: tuple[str, ...], session: str | None, is_all: bool, home: str | None, as_json: bool
) -> None:
    """Write the removed logs of finished tasks into files, to search them with grep.

    TASK is a task's id. Without TASK, all tasks of the session are written. Each task has its own file in the
    folder `.undrift/archives` of the repository, or of --home. The command prints the paths.

    \b
    undrift session archive
    """
    if is_all and (task_ids or session is not None):
        raise click.UsageError("--all cannot be used with TASK or --session")
    missing = "there is no task" + ("" if session is None else f" of session {session[:80]!r}")

    def export(store: Store, folder: Path) -> tuple[Path, list[_ArchiveLog]]:
        return folder, _exported(store, _exports(home, folder), task_ids, session, is_all=is_all)

    folder, logs = lookup.first(lookup.homes_of(home), missing, export, remedy=_REMEDY)
    failed = [log for log in logs if log.fault]
    if as_json:
        _echo_json(folder, [log for log in logs if not log.fault], failed)
    else:
        _echo([log for log in logs if not log.fault], failed)
    if failed:
        raise click.exceptions.Exit(1)


def _exports(home: str | None, folder: Path) -> Exports:
    """Return the place for files of a store: the checkout that the person works in, if it is of that project."""
    here = place_here(home)
    place = here if here.records == folder else place_at(folder)
    is_hostile = place.files != place.records
    return Exports(place.files, scratchpad_limit_bytes=1, is_hostile=is_hostile)  # no scratchpad is looked at


def _exported(
    store: Store, exports: Exports, task_ids: Sequence[str], session: str | None, *, is_all: bool
) -> list[_ArchiveLog]:
    found: Iterable[tuple[Archive, Sequence[str]]]
    if is_all:
        found, where = _all(store), "any session"
    else:
        archive, ids = _chosen(store, task_ids, session)
        found, where = [(archive, ids)], f"session {archive.session_id[:80]!r}"
    logs = [_log(archive, exports, task_id) for archive, ids in found for task_id in ids]
    if not logs:
        raise TaskError(
            f"no task of {where} has removed anything yet: its log is removed at a request after the task is completed"
        )
    return logs


def _all(store: Store) -> Iterator[tuple[Archive, Sequence[str]]]:
    lookup.tasks_in(store)
    for row in store.sessions():
        archive = Archive(store, row.session_id)
        yield archive, archive.evicted_ids


def _chosen(store: Store, task_ids: Sequence[str], session: str | None) -> tuple[Archive, Sequence[str]]:
    """Return the session and its tasks; if no session has all of the given ones, the newest one names its tasks."""
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
    for log in written:
        click.echo(safe(str(log.path)))
    if written:
        note(f"{count(len(written), 'log')} written. To search one: grep -n WORDS PATH")
    for log in failed:
        note(f"undrift: task {shown_id(log.task_id)}: {safe(log.fault)}")


def _echo_json(folder: Path, written: Sequence[_ArchiveLog], failed: Sequence[_ArchiveLog]) -> None:
    named = [(log, {"session_id": log.session_id, "task_id": log.task_id}) for log in (*written, *failed)]
    echo_json(
        {
            "home": str(folder.absolute()),
            "logs": [{**names, "path": str(log.path.absolute())} for log, names in named if not log.fault],
            "failed": [{**names, "error": log.fault} for log, names in named if log.fault],
        }
    )
