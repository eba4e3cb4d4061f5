"""A plan: its tasks in order, and which program plays which role. Pure.

Law: a plan is checked whole before anything of it runs; an error names the place in the file and the remedy.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from undrift.errors import DispatchError

__all__ = ["MOST_TASKS", "Plan", "PlanTask", "ROLES", "parse_plan", "words"]

ROLES = ("implementer", "reviewer")
MOST_TASKS = 1_000
"""The most characters of a plan; each dispatch reads the plan of its run, which takes milliseconds up to here."""
_MOST_CHARACTERS = 1_000_000
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)
_ID_RULE = "1 to 64 letters, digits, _, . and -, the first one no . or -"


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One task of a plan. Raises DispatchError: a field has the wrong type or range.

    `id`: unique within the plan: 1 to 64 letters, digits, ``_``, ``.`` and ``-``.
    """

    id: str
    prompt: str
    criteria: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise DispatchError(f"id must have {_ID_RULE}, not {_shown(self.id)}")
        if not isinstance(self.prompt, str) or not self.prompt.strip() or len(self.prompt) > _MOST_CHARACTERS:
            raise DispatchError(
                f"prompt of task {self.id} must be a text that says something, of at most {_MOST_CHARACTERS:,} characters"
            )
        for name in ("criteria", "files"):
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
            elif not isinstance(value, tuple):
                raise DispatchError(f"{name} of task {self.id} must be a list of texts, not {_shown(value)}")
            if not all(isinstance(one, str) and one.strip() for one in value):
                raise DispatchError(f"{name} of task {self.id} must be a list of texts that say something")


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: the tasks to dispatch.

    Args:
        commands: For each role the words of its program by the name of a provider; under ``""`` one for every provider.
        timeout_s: How long one run of a program may take, in seconds; above 0.
    """

    tasks: tuple[PlanTask, ...]
    commands: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict, hash=False)
    context: str = ""
    max_attempts: int = 6
    timeout_s: float = 1_800.0


def parse_plan(text: str, form: Literal["json", "toml"]) -> Plan:
    """Parse a plan. Raises DispatchError: it is invalid; the message names the place and the remedy.

    It has ``tasks``, a list of objects with ``id``, ``prompt`` and maybe ``criteria`` and ``files``, and may have
    ``commands``, ``context``, ``max_attempts`` and ``timeout_s``. A command is a line of words, quoted as for a shell but
    never given to one. It may also be an object from providers' names to such lines.
    """
    try:
        given = json.loads(text) if form == "json" else tomllib.loads(text)
    except RecursionError:
        raise DispatchError(f"no {form.upper()}: it is nested too deeply") from None
    except ValueError as error:
        raise DispatchError(f"no {form.upper()}: {str(error)[:300]}") from None
    top = _object(given, "the plan", ("tasks", "commands", "context", "max_attempts", "timeout_s"))
    tasks = top.get("tasks")
    if not isinstance(tasks, list) or not 1 <= len(tasks) <= MOST_TASKS:
        raise DispatchError(f"tasks must be a list of 1 to {MOST_TASKS:,} objects: add [[tasks]] with id and prompt")
    made = tuple(_task(one, f"tasks[{number}]") for number, one in enumerate(tasks))
    seen: set[str] = set()
    for task in made:
        if task.id in seen:
            raise DispatchError(f"two tasks have the id {task.id}: give each its own, as a run is resumed by them")
        seen.add(task.id)
    return Plan(made, _commands(top.get("commands", {})), *_limits(top))


def _limits(top: Mapping[str, Any]) -> tuple[str, int, float]:
    context, attempts, timeout = top.get("context", ""), top.get("max_attempts", 6), top.get("timeout_s", 1_800.0)
    if not isinstance(context, str) or len(context) > _MOST_CHARACTERS:
        raise DispatchError(f"context must be a text of at most {_MOST_CHARACTERS:,} characters")
    if type(attempts) is not int or not 1 <= attempts <= 1_000:
        raise DispatchError(f"max_attempts must be an integer from 1 to 1,000, not {_shown(attempts)}")
    if type(timeout) not in (int, float) or not 0 < timeout <= 1_000_000:
        raise DispatchError(f"timeout_s must be a number of seconds above 0, at most 1,000,000, not {_shown(timeout)}")
    return context, attempts, float(timeout)


def _task(given: Any, at: str) -> PlanTask:
    fields = _object(given, at, ("id", "prompt", "criteria", "files"))
    for name in ("id", "prompt"):
        if name not in fields:
            raise DispatchError(f"{at}.{name} is missing: add it")
    try:
        return PlanTask(**fields)
    except DispatchError as error:
        raise DispatchError(f"{at}: {error}") from None


def _commands(given: Any) -> dict[str, dict[str, tuple[str, ...]]]:
    roles = _object(given, "commands", ROLES)
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for role, value in roles.items():
        lines = value if isinstance(value, dict) else {"": value}
        found[role] = {
            name: words(line, f"commands.{role}" + (f".{name}" if name else "")) for name, line in lines.items()
        }
    return found


def words(line: Any, at: str) -> tuple[str, ...]:
    """Split a command into words as a shell would, without running a shell.

    Raises DispatchError: it is no text, has an open quote, or no word.
    """
    if not isinstance(line, str) or "\0" in line:
        raise DispatchError(f"{at} must be a line of words, not {_shown(line)}")
    try:
        found = tuple(shlex.split(line))
    except ValueError as error:
        raise DispatchError(f"{at}: {error}: close the quote, or put a backslash before it") from None
    if not found or not found[0]:
        raise DispatchError(f"{at} is empty: name a program that reads a prompt on stdin and prints a result")
    return found


def _object(given: Any, at: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise DispatchError(f"{at} must be an object, not {_shown(given)}")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise DispatchError(f"{at} has no {_shown(unknown[0])}: it may have {', '.join(known)}")
    return given


def _shown(value: Any) -> str:
    if isinstance(value, str):
        value = value[:81]
    shown = ascii(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
