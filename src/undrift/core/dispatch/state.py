"""A run as its store keeps it: records of JSON values by name, and back. Pure.

Law: what is read again is equal to what was written; a record of another shape is refused, never guessed at.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from undrift.core.dispatch.classify import Classification
from undrift.core.dispatch.plan import PlanTask
from undrift.core.dispatch.task_ledger import TaskLedger
from undrift.errors import DispatchError

__all__ = ["RUN", "Run", "ledger_from", "ledger_name", "record_of", "run_from"]

_T = TypeVar("_T")

RUN = "run"
"""The name of the record of the run itself; `ledger_name` gives those of its tasks."""


@dataclass(frozen=True, slots=True)
class Run:
    """A plan that is being run. `plan_version`: 1, plus one for each change of the plan."""

    id: str
    tasks: tuple[PlanTask, ...]
    classes: Mapping[str, Classification] = field(default_factory=dict, hash=False)
    context: str = ""
    max_attempts: int = 6
    plan_version: int = 1

    def task(self, task_id: str) -> PlanTask:
        """Return a task. Raises DispatchError: the plan has none of this id."""
        found = next((task for task in self.tasks if task.id == task_id), None)
        if found is None:
            raise DispatchError(
                f"run {self.id[:64]!r} has no task {str(task_id)[:64]!r}: use the id of one of its plan"
            )
        return found


def ledger_name(task_id: str) -> str:
    """Return the name of the record of a task."""
    return f"task:{task_id}"


def record_of(value: Run | TaskLedger) -> dict[str, Any]:
    """Return a run or a ledger as JSON values."""
    record: dict[str, Any] = msgspec.to_builtins(value)
    return record


def run_from(record: Mapping[str, Any]) -> Run:
    """Return a run. Raises DispatchError: the record is none."""
    return _from(record, Run)


def ledger_from(record: Mapping[str, Any]) -> TaskLedger:
    """Return a ledger. Raises DispatchError: the record is none."""
    return _from(record, TaskLedger)


def _from(record: Mapping[str, Any], type_: type[_T]) -> _T:
    try:
        return msgspec.convert(record, type_)
    except msgspec.ValidationError as error:
        raise DispatchError(
            f"a record of the run was not written by this undrift: {error}; begin a new run with --run NAME"
        ) from error
