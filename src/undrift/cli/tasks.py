"""``undrift tasks``: the tasks of a session, how they ended, and what they let go."""

from pathlib import Path

import click

from undrift.cli import lookup
from undrift.cli.draw import Column, console, draw, say
from undrift.cli.show import count, echo_json, safe
from undrift.cli.task_view import TaskView, moment, shown_id
from undrift.stores.contract import Store
from undrift.tasks.archive import Archive

__all__ = ["tasks_command"]

_REMEDY = "a session has tasks once its agent has told of them; --home names another home"
_COLUMNS = (
    Column("task", words=True),
    Column("no."),
    Column("status", words=True),
    Column("verdict", words=True),
    Column("tokens freed"),
    Column("completed (UTC)"),
    Column("title", words=True, short=True),
)


@click.command("tasks")
@click.argument("session", required=False)
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def tasks_command(session: str | None, home: str | None, as_json: bool) -> None:
    """Show the tasks of a session.

    SESSION is its id; without it the newest session that has tasks. Of each task: when it was taken up among the others,
    its status, the verdict on its summary, what its tombstones free in each window, and when it was completed.
    """
    wanted = "any task" if session is None else f"a task of session {session}"
    session_id, folder, facts = lookup.first(
        lookup.homes_of(home), wanted, lambda store, folder: _facts(store, folder, session), remedy=_REMEDY
    )
    if as_json:
        tasks = [one.as_json() for one in facts]
        echo_json({"home": str(folder.absolute()), "session_id": session_id, "tasks": tasks})
        return
    on = console()
    say(on, f"session {safe(session_id)}: {count(len(facts), 'task')}\n")
    draw(on, _COLUMNS, [_row(one) for one in facts])
    if any(one.refs for one in facts):
        on.print()
        say(on, "All that a task let go: undrift recall task:ID. As a file for grep: undrift archive ID")


def _facts(store: Store, folder: Path, session: str | None) -> tuple[str, Path, list[TaskView]]:
    session_id, tasks = lookup.tasks_in(store, session)
    archive = Archive(store, session_id)
    return session_id, folder, [TaskView.of(archive, task_id) for task_id in tasks.by_id]


def _row(one: TaskView) -> tuple[str, ...]:
    return (
        shown_id(one.task.id),
        str(one.task.ordinal or ""),
        one.task.status.replace("_", " "),
        one.verdict,
        f"{one.tokens_saved:,}" if one.refs else "",
        "" if one.completed_at_ms is None else moment(one.completed_at_ms),
        one.title,
    )
