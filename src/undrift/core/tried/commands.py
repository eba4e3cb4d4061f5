"""Finds the commands of a session that failed for a reason of the environment, and those that then worked. Pure.

Law: a program counts only if it is no search and no look at files. A command that worked later, as it was, did not fail.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from undrift.profiles import acts_of, printed
from undrift.profiles.reading import is_reading
from undrift.profiles.shell import commands_of
from undrift.values.attempt import Attempt
from undrift.values.window import ContextEntry

__all__ = ["failed_commands", "one_command"]

_NEAR_CALLS = 6
"""A command that worked at most so many calls after one that failed is the answer to it."""

_COMMAND_CHARACTERS = 160
_MISSING_FILE = re.compile(r"no such file or directory|directory not found|does not exist|not found in", re.IGNORECASE)
"""A cause of the moment: of another folder, or of a file that is not written yet."""

_ASKS = frozenset(
    {
        "--help",
        "--version",
        "-V",
        "-h",
        "-v",
        "config",
        "doctor",
        "env",
        "get-url",
        "info",
        "list",
        "ls",
        "remote",
        "show",
    }
    | {"status", "which"}
)
"""A command with one of these words only looks at what there is."""

_LOOKS_IN = re.compile(r"[\"'&;] ?(?:cat|ls|grep|head|tail) ")
"""A look at files inside another program's words, as of ssh."""

_ABSENT = re.compile(
    r"no module named ['\"]?(?P<module>[\w-]{2,60})|command not found: (?P<program>[\w-]{2,60})", re.IGNORECASE
)
_MODULE = re.compile(r"(?:\bimport|\bfrom| -m) ([\w-]{2,60})")
_USED_CHARACTERS = 4_000
_FINDERS = frozenset({"-v", "hash", "type", "whereis", "which"})
"""Programs that answer whether another one is there; ``-v`` is what is left of ``command -v``."""

_REASON_CHARACTERS = 200
_EDGE_LINES = 5
"""A command that cannot run says so at once, or last; what stands in the middle of a long output is of what it ran."""

_WARNS = re.compile(r"\bWARN(?:ING)?\b|\bwarning:|Warning:|\bdeprecated\b|\b(?:INFO|DEBUG|NOTICE)\b")
"""A line of a log below an error, by its first words: the program continued behind it."""

_HEAD_CHARACTERS = 80
_EXCHANGES = frozenset({"fetch", "pull", "push"})
"""Acts of git between a branch and a remote."""

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
class _FailedCommand:
    command: str
    reason: str
    call: int
    entry_ids: tuple[str, ...]
    place: int


def failed_commands(entries: Sequence[ContextEntry]) -> list[Attempt]:
    """Return the commands that failed, each once, with the other form of it that worked soon after, if one did."""
    commands: dict[str, tuple[str, str]] = {}
    open_ones: dict[str, _FailedCommand] = {}
    absent: dict[str, str] = {}  # a program or module that was not there, and the command that wanted it
    users: dict[str, set[str]] = {}
    found: dict[str, Attempt] = {}
    calls = 0
    for place, entry in enumerate(entries):
        about = entry.metadata or {}
        pair = entry.pair_id or ""
        if about.get("kind") == "call":
            calls += 1
            commands[pair] = one_command(about), entry.id
            if absent and (names := _used(about) & absent.keys()):
                users[pair] = names
        elif about.get("kind") == "result" and pair in commands:
            if pair in users and about.get("is_error") is not True and not _OF_SETUP.search(entry.content[:2_000]):
                for name in users.pop(pair):
                    open_ones.pop(absent.pop(name, ""), None)  # it is there by now
            if not (command := commands[pair][0]):
                continue
            if about.get("is_error") is True:
                if (reason := _reason(entry.content)) and not _not_written(command, reason):
                    ids = (commands[pair][1], entry.id)
                    open_ones.pop(command, None)  # the newest stands last
                    open_ones[command] = _FailedCommand(command, reason, calls, ids, place)
                    if (missing := _ABSENT.search(reason)) is not None:
                        absent[missing["program"] or missing["module"]] = command
                continue
            open_ones.pop(command, None)
            found.pop(command, None)
            failed = next((one for one in _newest(open_ones, calls) if _answers(command, one)), None)
            if failed is not None:
                del open_ones[failed.command]
                evidence = (*failed.entry_ids, commands[pair][1], entry.id)
                found[failed.command] = _attempt(failed, command, evidence, place)
    left = [one for one in open_ones.values() if not _MISSING_FILE.search(one.reason)]
    return [*found.values(), *(_attempt(one, "", one.entry_ids, one.place) for one in left)]


def _newest(failed: dict[str, _FailedCommand], calls: int) -> Iterator[_FailedCommand]:
    return takewhile(lambda one: calls - one.call <= _NEAR_CALLS, reversed(failed.values()))


def _attempt(failed: _FailedCommand, worked: str, entry_ids: tuple[str, ...], place: int) -> Attempt:
    return Attempt("command", failed.command, failed.reason, "", worked, entry_ids, place, lasts=bool(worked))


def one_command(about: Mapping[str, object]) -> str:
    """Return the one short command of a call; empty if it has none, several, or only shows or asks what exists."""
    given = about.get("input")
    acts = acts_of(str(about.get("tool_name") or ""), given if isinstance(given, Mapping) else {})
    if len(acts) != 1 or not acts[0].command or acts[0].kind != "shell" or is_reading(acts[0]):
        return ""
    if all(one.words[0] in _FINDERS for one in commands_of(acts[0].command)):
        return ""
    command = " ".join(acts[0].command.split())
    return command if len(command) <= _COMMAND_CHARACTERS and "\n" not in acts[0].command.strip() else ""


def _used(about: Mapping[str, object]) -> set[str]:
    """Return the programs that a call runs and the Python modules that it takes in; none where another command stands in."""
    given = about.get("input")
    acts = acts_of(str(about.get("tool_name") or ""), given if isinstance(given, Mapping) else {})
    texts = [act.command[:_USED_CHARACTERS] for act in acts if act.kind == "shell" and "||" not in act.command]
    programs = {one.words[0] for text in texts for one in commands_of(text)}
    return programs | {name for text in texts for name in _MODULE.findall(text)}


def _reason(output: str) -> str:
    """Return the first line of an output that names a cause in the environment and is no warning; empty if none does."""
    lines = [flat for line in printed(output[:20_000])[0] if (flat := " ".join(line.split()))]
    lines = [line for line in lines if not _WARNS.search(line[:_HEAD_CHARACTERS])]
    edges = lines if len(lines) <= 3 * _EDGE_LINES else [*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:]]
    found = next((line for line in edges if _OF_SETUP.search(line[:400])), "")
    if ": cd: " in found:  # the folder of the moment
        return ""
    return found[:_REASON_CHARACTERS].rstrip(".") + "." if found else ""


def _not_written(command: str, reason: str) -> bool:
    """Tell whether the shell could not open the file that a command writes into: its folder is missing, for the moment."""
    return any(path in reason for one in commands_of(command) for path in one.into if "/" in path)


def _answers(worked: str, one: _FailedCommand) -> bool:
    """Tell whether a command is another form of one that failed: it shares words, and does not only ask."""
    failed = one.command
    if worked == failed or "||" in worked or _LOOKS_IN.search(worked):  # behind `||` it may have failed too
        return False
    of_worked, of_failed = ({word for one in commands_of(text) for word in one.words} for text in (worked, failed))
    if not _ASKS.isdisjoint(of_worked - of_failed):
        return False
    if _MISSING_FILE.search(one.reason) and all(any("/" in w for w in some) for some in _apart(of_worked, of_failed)):
        return False  # the same of another file
    if not _same_branch(worked, failed):
        return False
    programs = [{one.words[0] for one in commands_of(text)} for text in (worked, failed)]
    shared = (of_worked & of_failed) - {"cd"}
    return len(shared) >= _LEAST_SAME_WORDS and bool(programs[0] & programs[1] or len(shared) > len(of_failed) // 2)


def _same_branch(worked: str, failed: str) -> bool:
    """Tell whether two commands do not exchange different branches, or one branch with different remotes.

    A remote may stand by its name in one and by its address in the other.
    """
    (remote, branches), (old_remote, old_branches) = _exchanged(worked), _exchanged(failed)
    if branches and old_branches and branches != old_branches:
        return False
    return not (remote and old_remote) or remote == old_remote or (":" in remote) != (":" in old_remote)


def _exchanged(command: str) -> tuple[str, tuple[str, ...]]:
    """Return the remote and the branches of the first exchange of git in a command; empty where it names none."""
    for one in commands_of(command):
        named = [word for word in one.words[1:] if not word.startswith("-")]
        if one.words[0] == "git" and named and named[0] in _EXCHANGES:
            return "".join(named[1:2]), tuple(named[2:])
    return "", ()


def _apart(one: set[str], other: set[str]) -> tuple[set[str], set[str]]:
    return one - other, other - one
