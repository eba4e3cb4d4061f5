"""The fields of a task's update, checked: each of the right type, and in the form in which a task keeps it. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from undrift.errors import TaskError
from undrift.values.window import TASK_STATUSES

__all__ = ["checked_update", "json_object", "shown"]

_TEXTS = ("content", "active_form", "result_summary", "delegated_to")
_OBJECTS = ("grounding", "grounding_evidence")
_FIELDS = (*_TEXTS, "status", "acceptance_criteria", *_OBJECTS, "phase_index")
_MOST_UNKNOWN_SHOWN = 10
_LONGEST_ID_SHOWN = 100


def checked_update(update: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the id and the fields of one update, each of the right type."""
    if not isinstance(update, Mapping):
        raise TaskError(f"each update must be an object with id and the fields to change, not {type(update).__name__}")
    given = {name: value for name, value in update.items() if value is not None}
    task_id = given.pop("id", None)
    if not isinstance(task_id, str) or not task_id:
        raise TaskError(f"id must be a text that is not empty, not {task_id!r}: give each task one, as in fix-parser")
    unknown = sorted(str(name) for name in given if name not in _FIELDS)
    if unknown:
        names = ", ".join(one[:_LONGEST_ID_SHOWN] for one in unknown[:_MOST_UNKNOWN_SHOWN])
        raise TaskError(f"task {shown(task_id)}: unknown field {names}; a task has {', '.join(sorted(_FIELDS))}")
    return task_id, {name: _value(task_id, name, value) for name, value in given.items()}


def _value(task_id: str, name: str, value: Any) -> Any:
    """Return a field's value in the form in which a task keeps it."""
    wrong = f"task {shown(task_id)}: {name} must be"
    if name in _TEXTS:
        if not isinstance(value, str):
            raise TaskError(f"{wrong} a text, not {type(value).__name__}: send it again as one")
    elif name == "status":
        if value not in TASK_STATUSES:
            failed = ". A task that failed is cancelled" if value == "failed" else ""
            raise TaskError(f"{wrong} one of {', '.join(TASK_STATUSES)}, not {shown(value)}{failed}")
    elif name == "phase_index":
        if type(value) is not int or not 0 <= value < 2**31:
            raise TaskError(f"{wrong} an integer of at least 0, not {shown(value)}")
    elif name == "acceptance_criteria":
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one.strip() for one in value):
            raise TaskError(f"{wrong} a list of texts, none of them empty: send each criterion as one of them")
        return tuple(value)
    else:
        return json_object(task_id, name, value)
    return value


def json_object(task_id: str, name: str, value: Any) -> dict[str, Any]:
    """Return a JSON object as it will be after it was written to a store and read again."""
    wrong = f"task {shown(task_id)}: {name} must be an object of JSON values"
    if not isinstance(value, Mapping):
        raise TaskError(f"{wrong}, not {type(value).__name__}")
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TaskError(f"{wrong}: {error}") from None
    return plain


def shown(name: object) -> str:
    """Return a name as messages show it: quoted, what cannot be printed escaped, and not longer than one line."""
    text = name if isinstance(name, str) else repr(name)
    return repr(text if len(text) <= _LONGEST_ID_SHOWN else text[: _LONGEST_ID_SHOWN - 1] + "…")
