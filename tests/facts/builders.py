"""Small facts and results, and a clock that a test sets."""

from typing import Any

from undrift.values.facts import FactQuery, ImplementerResult, ReviewerResult, SessionFact, create_fact_id

__all__ = ["Clock", "fact", "implemented", "query", "reviewed", "triples"]


class Clock:
    """Stands still until it is moved."""

    def __init__(self, at_ms: int = 1_000) -> None:
        self.at_ms = at_ms

    def __call__(self) -> int:
        return self.at_ms


def fact(subject: str = "a.py", relation: str = "modified_by", object: str = "task:1", **fields: Any) -> SessionFact:  # noqa: A002
    """A fact as an extractor makes it; `task` and `role` are short for their fields."""
    fields["source_task_id"] = fields.pop("task", "1")
    fields["source_role"] = fields.pop("role", "implementer")
    values: dict[str, Any] = {"tags": ("file_change",), "valid_from": 1_000, **fields}
    return SessionFact(create_fact_id(subject, relation, object), subject, relation, object, **values)


def implemented(task_id: str = "1", **fields: Any) -> ImplementerResult:
    values: dict[str, Any] = {"status": "completed", "summary": "Login reads the token", **fields}
    return ImplementerResult(task_id, **values)


def reviewed(task_id: str = "1", assessment: str = "needs_changes", **fields: Any) -> ReviewerResult:
    return ReviewerResult(task_id, assessment, **fields)


def query(description: str = "", task_id: str = "other", **fields: Any) -> FactQuery:
    return FactQuery(description, task_id, **fields)


def triples(facts) -> list[tuple[str, str, str]]:
    return [one.triple for one in facts]
