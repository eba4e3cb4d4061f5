"""Finds what a session tried: commands that failed and the ones that then worked, and reasons that the agent gave. Pure.

Law: the words of a tool have the trust of a tool, and those of an agent the trust of an agent. A program counts only if it
is no search and no look at files.
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
_LOOKS_IN = re.compile(r"[\"'&;] ?(?:cat|ls|grep|head|tail) ")
"""A look at files inside another program's words, as of ssh."""

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


_NEAR_ENTRIES = 3
"""An agent's sentence at most so many entries after a failure is about it."""

_MOST_CHARACTERS = 1_500
_SENTENCE_CHARACTERS = (25, 240)
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=\S)")
_GIVEN_UP = re.compile(
    r"\b(?:won'?t|doesn'?t|does not|don'?t|can'?t|cannot|isn'?t|aren'?t|is not|are not|not) (?:work|available|supported|allowed"
    r"|possible|reachable|delivered|installed|permitted|accessible)\b"
    r"|\b(?:blocked|forbids?|refuses?|rejects?) (?:that|the|it|by|to)\b|\bturns out\b|\btoo slow\b|\bis stale\b"
)
_OPEN = re.compile(r"\b(?:let me|i'?ll|i will|maybe|might|probably|likely|may|should|would|could|if)\b|\?$")


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that was tried. `place`: the number of the entry with the result that worked, or with the agent's words."""

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
    """Return the commands that failed for a reason of the environment and worked in another form soon after.

    And the sentences in which the agent says behind a failure why something cannot be done.
    """
    commands: dict[str, str] = {}
    waiting: list[_FailedCommand] = []
    found: dict[str, Attempt] = {}
    calls, last_failure = 0, -_NEAR_ENTRIES - 1
    for place, entry in enumerate(entries):
        about = entry.metadata or {}
        pair = entry.pair_id or ""
        if about.get("kind") == "result" and about.get("is_error") is True:
            last_failure = place
        if about.get("kind") == "text" and about.get("role") == "assistant":
            if place - last_failure <= _NEAR_ENTRIES:
                for said in _given_up(entry.content):
                    found.setdefault(said, Attempt(said, "failure", "assistant", "given up", place))
        elif about.get("kind") == "call":
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


def _given_up(text: str) -> list[str]:
    """Return the sentences of an agent that say, without a doubt, that something cannot be done."""
    if len(text) > _MOST_CHARACTERS:
        return []
    least, most = _SENTENCE_CHARACTERS
    sentences = (" ".join(one.split()) for one in _SENTENCE_END.split(text))
    return [
        one
        for one in sentences
        if least <= len(one) <= most
        and _GIVEN_UP.search(low := one.lower().replace("\u2019", "'"))
        and not _OPEN.search(low)
    ]


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
    if worked == failed or "||" in worked or _LOOKS_IN.search(worked):  # behind `||` it may have failed too
        return False
    of_worked, of_failed = ({word for one in commands_of(text) for word in one.words} for text in (worked, failed))
    programs = [{one.words[0] for one in commands_of(text)} for text in (worked, failed)]
    shared = (of_worked & of_failed) - {"cd"}
    return len(shared) >= _LEAST_SAME_WORDS and bool(programs[0] & programs[1] or len(shared) > len(of_failed) // 2)
