"""What a stretch of work came to, as rules can say it: files changed, runs and how they ended, the agent's last words. Pure.

Law: nothing stands in it that the log does not hold, and no failure that the log ends with is left out; the same log gives
the same text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.tasks.plan_tools import is_plan_tool
from undrift.core.text.calls import changed_paths, command_of, is_look, read_path
from undrift.core.text.safe_lines import label
from undrift.core.validate.claims import EvidenceLog, unsupported_in
from undrift.core.validate.runs import Failure, outcome_of
from undrift.core.validate.words import sentences_of

__all__ = ["DISTILLED", "LONGEST_DISTILLED", "TaskCall", "distil", "log_of"]

DISTILLED = "(distilled by rule)"
"""How a summary begins that no agent wrote."""

LONGEST_DISTILLED = 1_200
"""Most characters of such a summary."""

_FAILURES, _CHANGED, _RUNS, _READ, _CALLED, _SAID = 380, 250, 220, 100, 80, 130  # characters, with what announces them
_COMMAND, _LINE, _PATH, _NAME = 90, 110, 70, 40  # characters of one of them
_MANY = 12  # a larger count is not said: the log need not hold the number
_PROMPT = 390  # of a command stand on a prompt's line: a longer line is no prompt to those who read logs
_WORDS = 4_000  # of the last words, how many are looked at
_PASSED = re.compile(
    r"\b\d{1,9} (?:tests? )?(?:passed|passing)\b|^ok\b|^PASS\b|^All .{1,40} pass|\b0 (?:errors|failures|issues)\b"
    r"|BUILD SUCCESS|^Success\b|test result: ok",
    re.IGNORECASE,
)
_ERROR = re.compile(r"error|fail|cannot|can't|not found|no such|denied|invalid|exception|panic|timeout", re.IGNORECASE)
_EXIT = re.compile(r"\bexit(?:ed)?[ _](?:with )?(?:code|status):? (\d{1,5})\b|<returncode>(\d{1,5})", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MARKUP = re.compile(r"^[\s>#*-]{1,20}|[*`]{1,3}")
_PLANNED = re.compile(
    r"(?:(?:now|next|then|first|and|ok|okay|good|great|perfect)[,. !]{1,3}){0,3}(?:let me|let's|i'll|i will|i need)\b",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s?\d?>|[|;&,():<]")
_ALONE = re.compile(r"\s[.!?;]{1,5}(?=\s|$)")  # would end a sentence in the middle of a command
_ASKED = ("pattern", "query", "url", "description", "name", "skill")


@dataclass(frozen=True, slots=True)
class TaskCall:
    """One call of the agent and what came of it.

    Args:
        tool: The tool's name.
        given: Its arguments.
        result: What it gave back; empty where nothing did.
        is_error: The client said that it failed.
    """

    tool: str
    given: Mapping[str, Any]
    result: str = ""
    is_error: bool = False

    @property
    def command(self) -> str:
        """What it handed to a shell, on one line; empty where it handed it nothing."""
        return " ".join(command_of(self.tool, self.given).split())

    @property
    def about(self) -> str:
        """The command, or the tool and its file."""
        path = next(iter(changed_paths(self.tool, self.given)), "") or read_path(self.tool, self.given)
        return self.command or f"{self.tool} {_path(path)}".strip()

    @property
    def log(self) -> str:
        """What was called and what came back; a command stands as a prompt has it, so that its run is known by it."""
        command, error = self.command, "\nis_error: true" if self.is_error else ""
        if command:
            return f"$ {command[:_PROMPT]}\n{command[_PROMPT:]}\n{self.result}{error}"
        plain = [value if isinstance(value, str) else _dumped(value) for value in self.given.values()]
        return "\n".join([self.tool, *plain, f"{self.result}{error}"])


def log_of(calls: Iterable[TaskCall], last_words: str = "") -> list[str]:
    """Give the log that a distilled summary is checked against: each call with its result, then the last words."""
    texts = [call.log for call in calls]
    return [*texts, last_words] if last_words.strip() else texts


def distil(calls: Sequence[TaskCall], last_words: str = "") -> str:
    """Say what a stretch of work came to.

    Args:
        calls: Its calls, in order.
        last_words: What the agent said last in it; sentences that name what the log of the calls does not hold are left
            out.

    Returns:
        Lines of plain text, from 15 to `LONGEST_DISTILLED` characters, the first of them `DISTILLED`.
    """
    calls = [call for call in calls if not is_plan_tool(call.tool)]
    log = EvidenceLog(log_of(calls))
    failed = [bool(call.command) and outcome_of([call.log]).failed for call in calls]
    lines = [
        *_failures(calls, failed, log),
        *_listed("Changed", _changed(calls), _CHANGED, log, ", "),
        *_listed("Ran", _ran(calls, failed), _RUNS, log, "; "),
        *_listed("Read", _read(calls), _READ, log, ", "),
        *_listed("Called", _called(calls), _CALLED, log, "; "),
        *_said(last_words, log),
    ]
    text = "\n".join([DISTILLED, *(lines or ["No change, run or statement stands in the log."])])
    return text.encode("utf-8", "replace").decode()


def _failures(calls: Sequence[TaskCall], failed: Sequence[bool], log: EvidenceLog) -> Iterator[str]:
    """Yield a line for each failure that was left at the end, and one for those that there is no room for."""
    runs = [call for call in calls if call.command]
    failures = outcome_of(log_of(runs)).failures
    known = {failure.line for failure in failures}
    shown = [one.line for one in outcome_of(log_of(calls)).failures if one.line not in known]
    said = [_failure(failure, runs) for failure in failures]
    said += [(_clip(call.about, _PATH) or call.tool, _telling(call.result)) for call in _refused(calls, failed)]
    said += [("Output that reads as if it", line) for line in shown]  # of what was read, not run; or so it seems
    said = list(dict.fromkeys(said))
    characters = _FAILURES - 30
    for number, (name, line) in enumerate(said):
        full, short = f"{name} failed: {label(line, _LINE)}", f"{name} failed"
        if not _is_held(short, log):  # what cannot be shown was taken out of the name, and joined what it stood between
            short = "A run failed"
        chosen = full if len(full) < characters and _is_held(full, log) else short
        if len(chosen) >= characters:
            left = len(said) - number
            yield f"{left} more failed" if left <= _MANY else f"more than {_MANY} more failed"
            return
        characters -= len(chosen) + 1
        yield chosen


def _failure(failure: Failure, runs: Sequence[TaskCall]) -> tuple[str, str]:
    """Give what failed, its tool first, and the line that tells most."""
    for run in reversed(runs):
        command = run.command
        found = [(at, tool) for tool in failure.tools if (at := command.find(tool)) >= 0]
        if failure.line in run.log and (found or not failure.tools):
            at, tool = min(found, default=(0, ""))
            start = max(command.rfind(sign, 0, at) for sign in "|&;(") + 1
            part = command[start : at + len(tool)] + _SEPARATOR.split(command[at + len(tool) : at + 200])[0]
            line = _telling(run.result) if _EXIT.search(failure.line) else failure.line
            return _clip(_ALONE.sub("", part), _PATH) or tool or "A run", line
    return min(failure.tools, default="A run"), failure.line


def _telling(result: str) -> str:
    """The last short line of an output that tells of an error, else the first that is not blank."""
    lines = [line for line in (*result[:2_000].split("\n"), *result[2_000:][-20_000:].split("\n")) if line.strip()]
    short = [line for line in lines if len(line) <= 400 and _ERROR.search(line)]
    return short[-1] if short else lines[0] if lines else ""


def _refused(calls: Sequence[TaskCall], failed: Sequence[bool]) -> Iterable[TaskCall]:
    """Calls that failed otherwise than a run does, and did not succeed later."""
    left: dict[str, TaskCall] = {}
    for call, is_failed_run in zip(calls, failed, strict=True):
        if not call.is_error:
            left.pop(call.about, None)
        elif not is_failed_run:
            left[call.about] = call
    return left.values()


def _changed(calls: Sequence[TaskCall]) -> Iterator[tuple[str, str]]:
    """Yield the files, the newest first, as `_listed` takes them."""
    times: dict[str, int] = {}
    for call in calls:
        if not call.is_error:
            for path in changed_paths(call.tool, call.given):
                times[path] = times.pop(path, 0) + 1
    for path in reversed(times):
        shown = _path(path)
        yield f"{shown} ({times[path]} edits)" if 1 < times[path] <= _MANY else shown, shown


def _ran(calls: Sequence[TaskCall], failed: Sequence[bool]) -> Iterator[tuple[str, str]]:
    """Yield the commands that did something: those that tell a verdict before the others, the newest first."""
    told: dict[str, str] = {}
    for call, is_failed in zip(calls, failed, strict=True):
        if not (command := call.command) or is_look(call.tool, call.given):
            continue
        told.pop(command, None)
        if not call.is_error and not is_failed:
            told[command] = _verdict(call.result)
    newest = list(told)[::-1]
    for command in sorted(newest, key=lambda one: not told[one]):
        shown = _clip(command, _COMMAND)
        yield f"{shown} -> {told[command]}" if told[command] else shown, shown


def _verdict(result: str) -> str:
    """The last short line that tells of success, else the exit code; empty where there is neither."""
    lines = [line for line in result[-20_000:].split("\n") if len(line) <= 400]
    found = next((line for line in reversed(lines) if _PASSED.search(line.strip())), "")
    if not found and (code := _EXIT.search(result[:400]) or _EXIT.search(result[-200:])):
        found = f"exit {code[1] or code[2]}"
    return _clip(found, _LINE)


def _read(calls: Sequence[TaskCall]) -> Iterator[tuple[str, str]]:
    paths: dict[str, None] = {}
    for call in calls:
        if (path := read_path(call.tool, call.given)) and not call.is_error:
            name = _clip(re.split(r"[/\\]", path)[-1] or path, _NAME)
            paths.pop(name, None)
            paths[name] = None
    yield from ((name, name) for name in reversed(paths))


def _called(calls: Sequence[TaskCall]) -> Iterator[tuple[str, str]]:
    """Yield the calls that are neither commands nor of files: searches, pages, other agents."""
    names: dict[tuple[str, str], None] = {}
    for call in calls:
        is_of_file = changed_paths(call.tool, call.given) or read_path(call.tool, call.given)
        if not call.command and not is_of_file and not call.is_error:
            asked = (call.given.get(key) for key in _ASKED)
            what = next((text for text in asked if isinstance(text, str) and text.strip()), "")
            name = label(call.tool, _NAME)
            names[f"{name} {_clip(what, _NAME)}".strip(), name] = None
    yield from reversed(names)


def _said(last_words: str, log: EvidenceLog) -> Iterator[str]:
    """The first sentences of the last words that name nothing unknown; those that tell of plans only where all do."""
    plain = [label(_MARKUP.sub("", one[:1_000]), 1_000) for one in _SENTENCE.split(last_words[:_WORDS])]
    told = [one for one in plain if any(map(str.isalpha, one))]
    said = ""
    for sentence in [one for one in told if not _PLANNED.match(one)] or told:
        clipped = _clip(sentence, _SAID - 15 - len(said))
        if len(clipped) < min(len(sentence), 40):
            break
        if _is_held(clipped, log):
            said = f"{said} {clipped}".strip()
    if said:
        yield f"Said last: {said}"


def _listed(
    title: str, parts: Iterable[tuple[str, str]], characters: int, log: EvidenceLog, between: str
) -> Iterator[str]:
    """Yield one line with as many parts as fit, each in its long form or, where the log does not hold that, its short one."""
    shown: dict[str, None] = {}
    left_out = 0
    characters -= len(title) + 25
    for full, short in parts:
        chosen = next((one for one in (full, short) if one and len(one) <= characters and _is_held(one, log)), "")
        if not chosen:
            left_out += 1
        elif chosen not in shown:
            characters -= len(chosen) + len(between)
            shown[chosen] = None
    if left_out:
        count = str(left_out) if left_out <= _MANY else f"more than {_MANY}"
        shown[f"and {count} more" if shown else f"{count} not shown here"] = None
    if shown:
        yield f"{title}: {between.join(shown)}"


def _path(path: str) -> str:
    """A path on one line, the beginning left out of a long one."""
    line = label(path, 2_000)
    if len(line) <= _PATH:
        return line
    start = line.find("/", len(line) - _PATH + 1)
    return "\u2026" + line[start if start >= 0 else len(line) - _PATH + 1 :]


def _clip(text: str, characters: int) -> str:
    """One line, cut between words: half a name is none that the log holds."""
    line = label(text[:2_000], 2_000)
    if len(line) <= characters:
        return line
    kept = line[: max(characters - 1, 0)].rpartition(" ")[0].rstrip(" ,;:")
    return f"{kept} \u2026" if kept else ""


def _is_held(text: str, log: EvidenceLog) -> bool:
    return not unsupported_in(text, sentences_of(text), log)


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
