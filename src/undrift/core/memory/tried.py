"""Finds what a session tried: commands that failed, with the reason, and the command that then worked. Pure.

Law: the words of a tool have the trust of a tool. A program counts only if it is no search and no look at files.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from undrift.profiles import acts_of, printed
from undrift.profiles.reading import is_reading
from undrift.profiles.shell import commands_of
from undrift.values.memory import Trust
from undrift.values.window import ContextEntry

__all__ = ["Attempt", "tried"]

_NEAR_CALLS = 6
"""A command that worked at most so many calls after one that failed is the answer to it."""

_COMMAND_CHARACTERS = 160
_REASON_CHARACTERS = 200
_LEAST_SAME_WORDS = 2
_OF_SETUP = re.compile(
    r"(?:command not found|not found|no such file or directory|cannot find module|no module named|missing script"
    r"|unknown (?:option|command|flag|argument|subcommand)|unrecognized (?:option|arguments?)|not installed|permission denied"
    r"|not permitted|is not recognized|unsupported|requires? (?:node|python|go|version|at least)|invalid (?:option|flag|choice)"
    r"|cannot connect|connection refused|could not resolve|not a git repository|no matching distribution|externally[- ]managed"
    r"|does not exist|no rule to make target|usage:)",
    re.IGNORECASE,
)
"""Failures that come from the environment or from a wrong call. A failing test says something about the code of the day."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A command that failed and the one that worked. `place`: the number of the entry with the result that worked."""

    text: str
    kind: str
    trust: Trust
    sign: str
    place: int


@dataclass(frozen=True, slots=True)
class _FailedCommand:
    command: str
    reason: str
    call: int


def tried(entries: Sequence[ContextEntry]) -> list[Attempt]:
    """Return the commands that failed for a reason of the environment and worked in another form soon after."""
    commands: dict[str, str] = {}
    waiting: list[_FailedCommand] = []
    found: dict[str, Attempt] = {}
    calls = 0
    for place, entry in enumerate(entries):
        about = entry.metadata or {}
        pair = entry.pair_id or ""
        if about.get("kind") == "call":
            calls += 1
            commands[pair] = _command(about)
        elif about.get("kind") == "result" and (command := commands.get(pair, "")):
            waiting = [one for one in waiting if calls - one.call <= _NEAR_CALLS]
            if about.get("is_error") is True:
                reason = _reason(entry.content)
                waiting += [_FailedCommand(command, reason, calls)] if reason else []
            elif (
                failed := next((one for one in reversed(waiting) if _answers(command, one.command)), None)
            ) is not None:
                waiting.remove(failed)
                text = f"`{failed.command}` failed: {failed.reason} `{command}` worked."
                found.setdefault(failed.command, Attempt(text, "command", "tool", "worked after", place))
    return list(found.values())


def _command(about: Mapping[str, object]) -> str:
    """Return the one short command of a call; empty if it has none, several, or only shows what exists."""
    given = about.get("input")
    acts = acts_of(str(about.get("tool_name") or ""), given if isinstance(given, Mapping) else {})
    if len(acts) != 1 or not acts[0].command or acts[0].kind != "shell" or is_reading(acts[0]):
        return ""
    command = " ".join(acts[0].command.split())
    return command if len(command) <= _COMMAND_CHARACTERS and "\n" not in acts[0].command.strip() else ""


def _reason(output: str) -> str:
    """Return the first line of an output that names a cause in the environment; empty if none does."""
    lines = (" ".join(line.split()) for line in printed(output[:20_000])[0])
    found = next((line for line in lines if _OF_SETUP.search(line[:400])), "")
    if ": cd: " in found:  # the folder of the moment
        return ""
    return found[:_REASON_CHARACTERS].rstrip(".") + "." if found else ""


def _answers(worked: str, failed: str) -> bool:
    """Tell whether a command is another form of one that failed: it shares words, and is not the same."""
    if worked == failed or "||" in worked:  # behind `||` it may have failed too
        return False
    of_worked, of_failed = ({word for one in commands_of(text) for word in one.words} for text in (worked, failed))
    programs = [{one.words[0] for one in commands_of(text)} for text in (worked, failed)]
    shared = (of_worked & of_failed) - {"cd"}
    return len(shared) >= _LEAST_SAME_WORDS and bool(programs[0] & programs[1] or len(shared) > len(of_failed) // 2)
