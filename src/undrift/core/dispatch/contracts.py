"""Reads an agent's output: one JSON block between two marker lines; a wrong block is refused with reasons. Pure.

Law: for any output of an agent, the only error that leaves this module is `ContractError`; the time is linear in the output.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from undrift.errors import ContractError
from undrift.values.facts import ImplementerResult, RanTest, ReviewerResult, ReviewIssue

__all__ = [
    "ASSESSMENTS",
    "BEGIN",
    "END",
    "MOST_ITEMS",
    "Role",
    "SEVERITIES",
    "STATUSES",
    "read_block",
    "read_implementer_result",
    "read_reviewer_result",
]

Role = Literal["implementer", "reviewer"]

BEGIN = "BEGIN_DISPATCH_RESULT"
END = "END_DISPATCH_RESULT"
STATUSES = ("completed", "blocked", "failed")
ASSESSMENTS = ("approved", "needs_changes", "blocked")
SEVERITIES = ("critical", "important", "minor")
MOST_ITEMS = 1_000
"""The most items of one list: ten times what an agent has reason to list, and still read in milliseconds."""

_MOST_PROBLEMS_SHOWN = 5
_LONGEST_SHOWN = 60
_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)
# The text about a fault goes into the next prompt. There the marks of a result are removed from all quotes: the guide
# alone names them, so that no agent is asked for marks that are refused.
_REPEAT = "End the answer with exactly one result block, as the guide shows it"

_Check = Callable[[Any, str], None]


def read_implementer_result(output: str) -> ImplementerResult:
    """Read the result in an implementer's output.

    The block holds ``task_id``, ``status`` (one of `STATUSES`) and ``summary``, and may hold ``files_changed`` (or
    ``files_modified``), ``tests`` (each with ``command``, ``passed`` and maybe ``failures``), ``follow_up_actions``,
    ``conventions`` and ``blockers``. A list that is missing is None, an empty one is empty. Other names are passed over.

    Raises ContractError: its `code` is ``marker_missing``, ``json_parse_failed`` or ``schema_invalid``.
    """
    fields = _ResultFields(read_block(output))
    fields.needs("task_id", _text)
    fields.needs("status", _one_of(STATUSES))
    fields.needs("summary", _text)
    for name in ("files_changed", "files_modified", "follow_up_actions", "conventions", "blockers"):
        fields.may(name, _list_of(_text))
    fields.may("tests", _list_of(_object({"command": _text, "passed": _boolean}, {"failures": _list_of(_text)})))
    taken = fields.checked()
    if "tests" in taken:
        taken["tests"] = [RanTest(one["command"], one["passed"], one.get("failures")) for one in taken["tests"]]
    return ImplementerResult(**taken)


def read_reviewer_result(output: str) -> ReviewerResult:
    """Read the result in a reviewer's output.

    The block holds ``task_id`` and ``assessment`` (one of `ASSESSMENTS`), and may hold ``strengths``, ``issues`` (each
    with ``message`` and maybe ``severity``, one of `SEVERITIES`, ``file`` and ``fix``) and ``required_fixes``.

    Raises ContractError: its `code` is ``marker_missing``, ``json_parse_failed`` or ``schema_invalid``.
    """
    fields = _ResultFields(read_block(output))
    fields.needs("task_id", _text)
    fields.needs("assessment", _one_of(ASSESSMENTS))
    fields.may("strengths", _list_of(_text))
    optional = {"severity": _one_of(SEVERITIES), "file": _text, "fix": _text}
    fields.may("issues", _list_of(_object({"message": _text}, optional)))
    fields.may("required_fixes", _list_of(_text))
    taken = fields.checked()
    if "issues" in taken:
        taken["issues"] = [_issue(one) for one in taken["issues"]]
    return ReviewerResult(**taken)


def read_block(output: str) -> dict[str, Any]:
    """Return the JSON object of the one block in an output.

    The marks are counted everywhere, within the JSON too: with two of one kind it is not known which block the agent
    meant, and which one a file that it quoted. A fence of Markdown around the object is skipped.

    Raises ContractError: ``marker_missing`` if there is not exactly one of each mark in this order,
    ``json_parse_failed`` where no JSON stands between them, ``schema_invalid`` where it is no object.
    """
    begins, ends = output.count(BEGIN), output.count(END)
    start, end = output.find(BEGIN) + len(BEGIN), output.find(END)
    if (begins, ends) != (1, 1):
        raise ContractError(
            "marker_missing",
            f"the output has {begins} begin marks and {ends} end marks of a result block. {_REPEAT}, "
            "and write its marks nowhere else",
        )
    if end < start:
        raise ContractError("marker_missing", f"the end mark stands before the begin mark. {_REPEAT}")
    text = output[start:end].strip()
    fenced = _FENCE.fullmatch(text) if text.startswith("```") else None
    try:
        value = json.loads(fenced[1] if fenced else text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ContractError("json_parse_failed", f"the JSON is nested too deeply. {_REPEAT}") from None
    except ValueError as error:  # malformed, or a number of more digits than Python reads
        raise ContractError("json_parse_failed", f"no JSON between the marks: {str(error)[:200]}. {_REPEAT}") from None
    if not isinstance(value, dict):
        raise ContractError("schema_invalid", f"between the marks stands {_kind(value)}, not an object. {_REPEAT}")
    return value


class _ResultFields:
    """The fields of one object while they are checked: all faults are reported at once."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self._taken: dict[str, Any] = {}
        self._problems: list[str] = []

    def needs(self, name: str, check: _Check) -> None:
        if name not in self._given:
            self._problems.append(f"{name} is missing")
        else:
            self._take(name, check)

    def may(self, name: str, check: _Check) -> None:
        """Take a field that can be missing; null is the same as missing."""
        if self._given.get(name) is not None:
            self._take(name, check)

    def _take(self, name: str, check: _Check) -> None:
        try:
            check(self._given[name], name)
        except _WrongError as wrong:
            self._problems.append(str(wrong))
        else:
            self._taken[name] = self._given[name]

    def checked(self) -> dict[str, Any]:
        if not self._problems:
            return self._taken
        more = len(self._problems) - _MOST_PROBLEMS_SHOWN
        shown = "; ".join(self._problems[:_MOST_PROBLEMS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise ContractError("schema_invalid", f"{shown}. Correct this and print the whole block again")


class _WrongError(Exception):
    """A value does not match its schema; the text names its place."""


def _issue(given: dict[str, Any]) -> ReviewIssue:
    return ReviewIssue(
        given["message"], **{name: given[name] for name in ("severity", "file", "fix") if given.get(name)}
    )


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _text(value: Any, at: str) -> None:
    if not isinstance(value, str):
        raise _WrongError(f"{at} must be a text, not {_kind(value)}")


def _boolean(value: Any, at: str) -> None:
    if not isinstance(value, bool):
        raise _WrongError(f"{at} must be true or false, not {_kind(value)}")


def _one_of(allowed: Sequence[str]) -> _Check:
    def check(value: Any, at: str) -> None:
        if not isinstance(value, str) or value not in allowed:
            raise _WrongError(f"{at} must be one of {', '.join(allowed)}, not {_kind(value)}")

    return check


def _list_of(item: _Check) -> _Check:
    def check(value: Any, at: str) -> None:
        if not isinstance(value, list):
            raise _WrongError(f"{at} must be a list, not {_kind(value)}")
        if len(value) > MOST_ITEMS:
            raise _WrongError(f"{at} has {len(value):,} items, at most {MOST_ITEMS:,} are read")
        for number, one in enumerate(value):
            item(one, f"{at}[{number}]")

    return check


def _object(needed: dict[str, _Check], optional: dict[str, _Check]) -> _Check:
    def check(value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise _WrongError(f"{at} must be an object, not {_kind(value)}")
        for name, one in needed.items():
            if name not in value:
                raise _WrongError(f"{at}.{name} is missing")
            one(value[name], f"{at}.{name}")
        for name, one in optional.items():
            if value.get(name) is not None:
                one(value[name], f"{at}.{name}")

    return check


def _kind(value: Any) -> str:
    """Name a value of JSON; of a text its beginning, with escapes: an error is shown, and given to the next agent."""
    if isinstance(value, str):
        shown = ascii(value[:_LONGEST_SHOWN])
        return shown if len(value) <= _LONGEST_SHOWN else f"{shown}..."
    names: tuple[tuple[type, str], ...] = (
        (bool, "true or false"),
        (int, "a number"),
        (float, "a number"),
        (list, "a list"),
        (dict, "an object"),
    )
    return next((name for type_, name in names if isinstance(value, type_)), "null")
