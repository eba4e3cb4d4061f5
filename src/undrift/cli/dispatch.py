"""``undrift agent dispatch``: a plan, task after task, by programs that the user names."""

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

from undrift.cli.of_session import Whole, one_home_options, settings_in
from undrift.cli.place import kept_place
from undrift.cli.show import at_terminal, columns, count, echo_json, first_line, note, safe
from undrift.core.dispatch.plan import ROLES, Plan, parse_plan, words
from undrift.dispatch.agents import CommandAgents
from undrift.dispatch.default import stored_manager
from undrift.dispatch.runner import Event, RunReport, TaskReport, dispatch
from undrift.errors import DispatchError
from undrift.facts.sqlite import SqliteSessionFactStore

__all__ = ["dispatch_command"]

_LARGEST_PLAN_BYTES = 32 << 20
_INTERRUPTED = 130
_Show = Callable[[Event], None]


class _Seconds(click.FloatRange):
    """A time in seconds, with its range in words."""

    def _describe_range(self) -> str:
        return "above 0"


@click.command("dispatch")
@click.argument("plan_file", metavar="PLAN", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--run",
    "run_id",
    metavar="NAME",
    help="The name of the run (default: made from the path of PLAN). A new name starts a new run.",
)
@click.option("--implementer", metavar="COMMAND", help="The command that starts the implementer (default: from PLAN).")
@click.option("--reviewer", metavar="COMMAND", help="The command that starts the reviewer (default: from PLAN).")
@click.option(
    "--timeout", type=_Seconds(min=0, min_open=True), metavar="S", help="Wait at most S seconds for each answer."
)
@click.option("--max-attempts", type=Whole(min=1), metavar="N", help="Try each task at most N times.")
@click.option("--retry-halted", is_flag=True, help="Retry each task that stopped the run.")
@one_home_options
def dispatch_command(
    plan_file: Path,
    run_id: str | None,
    implementer: str | None,
    reviewer: str | None,
    timeout: float | None,
    max_attempts: int | None,
    retry_halted: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Run the tasks of a plan with agents, one task after another.

    An implementer agent works on each task until a reviewer agent approves the work. PLAN is a TOML or JSON file
    with tasks and a command for each role. undrift gives a command its prompt on stdin, and the command prints its
    result. Each prompt has the facts that earlier agents learned. To continue a run, run the same command again.

    \b
    undrift agent dispatch plan.toml
    """
    plan = _read(plan_file)
    given = {"implementer": implementer, "reviewer": reviewer}
    commands = {role: dict(plan.commands.get(role, {})) for role in ROLES}
    commands |= {role: {"": words(line, f"--{role}")} for role, line in given.items() if line is not None}
    agents = CommandAgents(commands, plan_file.absolute().parent, timeout_s=timeout or plan.timeout_s)
    name = run_id or _run_of(plan_file)
    settings = settings_in(kept_place(home))
    with closing(SqliteSessionFactStore(run_id=name, settings=settings)) as facts:
        manager = stored_manager(facts, settings)
        manager.init_run(name, plan.tasks, context=plan.context, max_attempts=max_attempts or plan.max_attempts)
        halted = [one for one, ledger in manager.ledgers(name).items() if ledger.is_halted]
        try:
            with _live(plan, quiet=as_json) as show:
                report = dispatch(manager, name, agents, on_event=show, take_up=halted if retry_halted else ())
        except KeyboardInterrupt:
            note("undrift: interrupted; run the same command again to continue")
            sys.exit(_INTERRUPTED)
    if as_json:
        echo_json(_as_json(report))
    else:
        _show(report)
    if not report.is_done:
        sys.exit(1)


def _read(path: Path) -> Plan:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_PLAN_BYTES + 1)
        if len(data) > _LARGEST_PLAN_BYTES:
            raise DispatchError(f"more than {_LARGEST_PLAN_BYTES:,} bytes: split it into several plans")
        return parse_plan(data.decode("utf-8-sig"), "json" if path.suffix.lower() == ".json" else "toml")
    except UnicodeDecodeError as error:
        raise DispatchError(f"{path}: not UTF-8: {error}; save it as UTF-8") from error
    except DispatchError as error:
        raise DispatchError(f"{path}: {error}") from error


def _run_of(path: Path) -> str:
    """Return the name of a file's run: a file of the same name in another folder has another run."""
    resolved = path.resolve()
    return f"{resolved.stem[:64]}-{hashlib.sha256(str(resolved).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


@contextmanager
def _live(plan: Plan, *, quiet: bool) -> Iterator[_Show]:
    """Give the function that shows a step: a line each, and on a terminal the present step below them."""
    if quiet:
        yield lambda _: None
        return
    from rich.console import Console

    ids = [task.id for task in plan.tasks]
    if not at_terminal(sys.stdout):
        yield lambda event: click.echo(_line(event, ids))
        return
    with Console(highlight=False, markup=False, emoji=False).status("") as status:

        def show(event: Event) -> None:
            from rich.text import Text

            line = _line(event, ids)
            status.update(Text(line))
            if event.kind != "prompt":
                status.console.print(Text(line))

        yield show


def _line(event: Event, ids: list[str]) -> str:
    place = f"{ids.index(event.task_id) + 1:>{len(str(len(ids)))}}/{len(ids)}"
    about = f"{place}  {event.task_id}  {event.role} {event.attempt}"
    if event.kind == "prompt":
        given = f", {count(event.facts, 'fact')}" if event.facts else ""
        short = "" if event.stage == "whole" else f", shortened: {event.stage.replace('_', ' ')}"
        return f"{about}: sent {count(event.tokens, 'token')}{given}{short}"
    what = "no result: " if event.kind == "fault" else ""
    return f"{about}: {what}{first_line(event.text, max(40, columns() - 40))} → {event.next_action.replace('_', ' ')}"


def _show(report: RunReport) -> None:
    """Draw the end of a run."""
    from undrift.cli.draw import Column, draw, say

    columns_ = (
        Column("task", words=True),
        Column("state"),
        Column("attempts"),
        Column("reviews"),
        Column("result", words=True, short=True),
    )
    rows = [
        (task.task_id, task.state, f"{task.ledger.attempts}", f"{task.ledger.reviews}", first_line(_end_of(task), 200))
        for task in report.tasks
    ]
    done = sum(task.state == "done" for task in report.tasks)
    tasks, facts = count(len(report.tasks), "task"), count(report.facts, "fact")
    say(f"\nRun {safe(report.run_id)}: {done:,} of {tasks} done, {facts} kept.".lstrip("\n"), bold=True)
    draw(columns_, rows)
    for task in report.tasks:
        if task.state == "halted":
            say(f"Task {task.task_id} is halted: {safe(task.ledger.halt_reason)}.")
            say("Change the plan or remove the obstacle. To continue, run the same command with --retry-halted.")


def _end_of(task: TaskReport) -> str:
    return task.ledger.halt_reason if task.state == "halted" else task.ledger.summary


def _as_json(report: RunReport) -> dict[str, Any]:
    return {
        "run": report.run_id,
        "plan_version": report.plan_version,
        "done": report.is_done,
        "facts": report.facts,
        "tasks": [
            {
                "id": task.task_id,
                "state": task.state,
                "attempts": task.ledger.attempts,
                "reviews": task.ledger.reviews,
                "next_action": task.ledger.next_action,
                "assessment": task.ledger.reviewer_assessment,
                "summary": task.ledger.summary,
                "required_fixes": list(task.ledger.required_fixes),
                "failures": list(task.ledger.failures),
                "halt_reason": task.ledger.halt_reason,
            }
            for task in report.tasks
        ],
    }
