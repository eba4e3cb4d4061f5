"""Decides which results become memories without a request. Pure.

Law: a closed list; everything else stays out, for every caller.
"""

from collections.abc import Mapping
from typing import Any

from undrift.values.window import Task

__all__ = ["ADMITTED", "is_admitted", "is_borne_out"]

ADMITTED: frozenset[tuple[str, str]] = frozenset(
    {("task_outcome", "approved"), ("architectural_decision", "verified"), ("lesson_learned", "verified")}
)
"""Type and status of the review. Research never: a text that was read somewhere is no result of the work."""


def is_admitted(type_: str, status: str) -> bool:
    """Tell whether a result of this type and status may become a memory without a request."""
    return (type_, status) in ADMITTED


def is_borne_out(task: Task) -> bool:
    """Tell whether a task is completed and its summary is valid and faithful to its raw logs."""
    verdict: Mapping[str, Any] = task.validation or {}
    return task.status == "completed" and bool(verdict.get("is_valid")) and bool(verdict.get("is_faithful"))
