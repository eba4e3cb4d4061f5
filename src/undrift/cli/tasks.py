"""``undrift session tasks``: the tasks of a session, their status and the tokens that they free."""

from pathlib import Path

import click

from undrift.cli import lookup
from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.of_session import home_options
from undrift.cli.show import again, count, echo_json, safe
from undrift.cli.task_view import TaskView, moment, shown_id
from undrift.stores.contract import Store
from undrift.tasks.archive import Archive

__all__ = ["tasks_command"]

_REMEDY = "a session has tasks when its agent reports some; --home DIR names another folder"
_COLUMNS = (
    Column("task", words=True),
    Column("status", words=True),
    Column("verdict", words=True),
    Column("freed"),
    Column("completed"),
    Column("title", words=True, short=True),
)


@click.command("tasks")
@click.argument("session", required=False)
@home_options
def tasks_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Show the tasks of a session.

    SESSION is a session's id (default: the newest session that has tasks). The table shows the status of each task.
    `verdict` is the score of its summary, from 0 to 1. `freed` is the number of tokens that removing its logs saves
    in each window. `completed` is in UTC.

    \b
    undrift session tasks
    """
    missing = "there is no task" + ("" if session is None else f" of session {session[:80]!r}")
    session_id, folder, facts = lookup.first(
        lookup.homes_of(home), missing, lambda store, folder: _facts(store, folder, session), remedy=_REMEDY
    )
    if as_json:
        tasks = [view.as_json() for view in facts]
        echo_json({"home": str(folder.absolute()), "session_id": session_id, "tasks": tasks})
        return
    say(f"Session {safe(session_id)}: {count(len(facts), 'task')}", bold=True)
    draw(_COLUMNS, [_row(view) for view in facts])
    if any(view.refs for view in facts):
        next_commands(
            Print_everything_that_a_task_removed=f"undrift recall task:ID{again(home, session_id)}",
            Write_it_into_a_file_to_search_with_grep=f"undrift session archive ID{again(home, session_id)}",
        )


def _facts(store: Store, folder: Path, session: str | None) -> tuple[str, Path, list[TaskView]]:
    session_id, tasks = lookup.tasks_in(store, session)
    archive = Archive(store, session_id)
    return session_id, folder, [TaskView.of(archive, task_id) for task_id in tasks.by_id]


def _row(view: TaskView) -> tuple[str, ...]:
    return (
        shown_id(view.task.id),
        view.task.status.replace("_", " "),
        view.verdict,
        f"{view.tokens_saved:,}" if view.refs else "",
        "" if view.completed_at_ms is None else moment(view.completed_at_ms)[:16],
        view.title,
    )
