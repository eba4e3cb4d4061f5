"""Runs a plan from its first task to its last: prompt, agent, result, until every task is done or one is halted.

Law: everything that it knows is in the manager's store, so it can be killed at any moment and begun again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from undrift.core.dispatch.contracts import Role
from undrift.core.dispatch.prompt import Stage
from undrift.core.dispatch.task_ledger import NextAction, TaskLedger
from undrift.dispatch.agents import Agents
from undrift.dispatch.manager import DispatchRuntimeManager
from undrift.errors import ContractError, DispatchError

__all__ = ["Event", "EventKind", "RunReport", "TaskReport", "TaskState", "dispatch", "report_of"]

EventKind = Literal["prompt", "result", "fault"]
TaskState = Literal["open", "done", "halted"]


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a run, for a report of its progress.

    `kind`: ``prompt``: an agent is about to be sent one; ``result``: what it printed was taken in; ``fault``: it gave
    no result. `facts`: how many facts of other tasks stood in the prompt, or how many the result gave.
    """

    kind: EventKind
    task_id: str
    role: Role
    attempt: int
    provider: str = ""
    tokens: int = 0
    facts: int = 0
    stage: Stage = "whole"
    next_action: NextAction | Literal[""] = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The state of one task of a run."""

    task_id: str
    state: TaskState
    ledger: TaskLedger


@dataclass(frozen=True, slots=True)
class RunReport:
    """The state of a run: its tasks in the plan's order, and how many facts are valid."""

    run_id: str
    plan_version: int
    tasks: tuple[TaskReport, ...]
    facts: int

    @property
    def is_done(self) -> bool:
        """True if every task is done."""
        return all(task.state == "done" for task in self.tasks)


def dispatch(
    manager: DispatchRuntimeManager,
    run_id: str,
    agents: Agents,
    *,
    on_event: Callable[[Event], None] = lambda _: None,
    take_up: Iterable[str] = (),
) -> RunReport:
    """Run the open tasks of a run in order; stop at a halted task, because later tasks may need it.

    `on_event`: called with each step, after it is on disk. `take_up`: ids of halted tasks to start again. Raises
    DispatchError: there is no such run, or an agent cannot be started. Raises StoreError: the disk refuses, or another
    process continues the same run.
    """
    for task_id in take_up:
        manager.reopen(run_id, task_id)
    for task_id, ledger in manager.ledgers(run_id).items():
        while not (ledger.is_done or ledger.is_halted):
            ledger = _step(manager, run_id, task_id, agents, on_event)
        if ledger.is_halted:
            break
    return report_of(manager, run_id)


def report_of(manager: DispatchRuntimeManager, run_id: str) -> RunReport:
    """Return the state of a run. Raises DispatchError: the run is unknown."""
    tasks = tuple(
        TaskReport(task_id, "done" if ledger.is_done else "halted" if ledger.is_halted else "open", ledger)
        for task_id, ledger in manager.ledgers(run_id).items()
    )
    return RunReport(run_id, manager.run(run_id).plan_version, tasks, manager.fact_count())


def _step(
    manager: DispatchRuntimeManager, run_id: str, task_id: str, agents: Agents, on_event: Callable[[Event], None]
) -> TaskLedger:
    """Dispatch one agent and record its output."""
    prompt = manager.compile_prompt(run_id, task_id)
    role, attempt = prompt.role, prompt.attempt
    sent = Event(
        "prompt", task_id, role, attempt, prompt.provider, prompt.tokens, len(prompt.fact_ids), prompt.stage
    )  # fmt: skip
    on_event(sent)
    reply = agents.answer(prompt)
    fault = reply.fault
    if not fault:
        try:
            taken = manager.ingest_output(run_id, task_id, role, reply.output, attempt=attempt)
        except ContractError as error:
            fault = str(error)
        else:
            if taken.repeated:
                raise DispatchError(f"task {task_id}: {role} {attempt} was answered meanwhile; resume the run")
            ledger = taken.ledger
            text = ledger.summary if role == "implementer" else _reviewed(ledger)
            on_event(
                Event("result", task_id, role, attempt, prompt.provider, prompt.tokens, len(taken.facts),
                      prompt.stage, ledger.next_action, text)
            )  # fmt: skip
            return ledger
    ledger = manager.note_fault(run_id, task_id, role, fault, output=reply.output, attempt=attempt).ledger
    on_event(
        Event(
            "fault", task_id, role, attempt, prompt.provider, prompt.tokens, 0, prompt.stage, ledger.next_action, fault
        )
    )
    return ledger


def _reviewed(ledger: TaskLedger) -> str:
    asked = ledger.required_fixes or ledger.reviewer_issues
    said = ledger.reviewer_assessment.replace("_", " ")
    return f"{said}: {'; '.join(asked)}" if asked and not ledger.is_done else said
