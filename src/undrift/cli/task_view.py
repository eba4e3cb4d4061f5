"""A task as every command shows it: its state, its summary with the verdict, and what it removed. Pure.

Law: an agent writes ids, titles and summaries; none of them reaches a terminal unescaped.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from undrift.cli.show import first_line, safe
from undrift.tasks.archive import Archive
from undrift.values.window import Task

__all__ = ["TaskView", "moment", "shown_id"]

_LONGEST_ID_SHOWN = 48


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task and what it removed.

    `refs`: the reference of each block that it removed, in the order of their removal.
    """

    session_id: str
    task: Task
    refs: tuple[str, ...]
    tokens_saved: int
    completed_at_ms: int | None

    @classmethod
    def of(cls, archive: Archive, task_id: str) -> Self:
        """Load a task of an archive, with its references and saving. Raises TaskError: there is no such task."""
        task, decisions = archive.task(task_id), archive.decisions(task_id)
        completed = archive.changed_at_ms(task_id) if task.status == "completed" else None
        refs = tuple(decision.ref for decision in decisions)
        return cls(archive.session_id, task, refs, sum(decision.tokens_saved for decision in decisions), completed)

    @property
    def title(self) -> str:
        """The task's content on one line; empty if the content is only the task's id."""
        return "" if self.task.content == self.task.id else first_line(self.task.content)

    @property
    def state(self) -> str:
        """The status, with the time if it is completed."""
        if self.completed_at_ms is None:
            return self.task.status.replace("_", " ")
        return f"completed {moment(self.completed_at_ms)} UTC"

    @property
    def line(self) -> str:
        """The task in one line."""
        return f"{shown_id(self.task.id)}{f' ({self.title})' if self.title else ''}, {self.state}"

    @property
    def verdict(self) -> str:
        """The score of the task's summary as text; empty if the summary had nothing to check."""
        found = self.task.validation or {}
        if self.score is None or not (found.get("is_valid") or found.get("missing_criteria")):
            return ""
        return f"{self.score:.2f}" if found.get("is_faithful", True) else f"{self.score:.2f}, unlike its log"

    @property
    def score(self) -> float | None:
        """Share of the checks that its summary met, in [0, 1]; None without a verdict."""
        score = (self.task.validation or {}).get("score")
        return float(score) if isinstance(score, int | float) else None

    def summary_lines(self) -> list[str]:
        """Return the task's summary with its verdict, safe and indented, so that it cannot imitate output of undrift."""
        text = self.task.annotated_summary.strip()
        if not text:
            return []
        lines = ["Its summary:", *(f"  {safe(line, keep=chr(9))}".rstrip() for line in text.split("\n"))]
        verdict = self.task.validation or {}
        if verdict.get("is_valid") and not verdict.get("evidence_found", True):
            lines.append("The verdict is about the criteria alone: no evidence was given, and none was required.")
        return lines

    def as_json(self) -> dict[str, Any]:
        """Return it for `--json`."""
        task = self.task
        return {
            "id": task.id,
            "ordinal": task.ordinal,
            "status": task.status,
            "title": task.content,
            "agent": task.agent,
            "summary": task.annotated_summary,
            "score": self.score,
            "validation": None if task.validation is None else dict(task.validation),
            "completed_at_ms": self.completed_at_ms,
            "tokens_saved": self.tokens_saved,
            "refs": list(self.refs),
        }


def moment(at_ms: int) -> str:
    """Return a time as ``2026-03-01 10:00:00``, in UTC."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def shown_id(task_id: str) -> str:
    """Return a task's id made safe, and short enough for a line; ``--json`` has all of it."""
    shown = safe(task_id[: _LONGEST_ID_SHOWN + 1])
    return shown if len(shown) <= _LONGEST_ID_SHOWN else f"{shown[: _LONGEST_ID_SHOWN - 1]}\u2026"
