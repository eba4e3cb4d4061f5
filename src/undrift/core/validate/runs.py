"""The runs in a raw log and how they ended: which failures were still there at its end. Pure, linear in the log."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Failure", "LogOutcome", "outcome_of"]

_LINE_CHARACTERS = 400
"""A verdict stands in a short line; a longer one is data."""
_TELLING_LINES = 10_000
"""The most lines of one text that are read for a verdict: the last ones, as verdicts stand at the end."""
_NAMES = 20
"""How many failed tests of one run are kept by name."""

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_HINTS = (
    "fail",
    "error",
    "passed",
    "passing",
    "success",
    "conflict (",
    "traceback",
    "fatal:",
    "panic",
    "exit",
    "exception",
    "err!",
    "elifecycle",
)
"""Lower-case words, one of which stands in every line that tells a verdict and opens with none of `_OPENINGS`."""
_OPENINGS = ("$ ", "> ", "\u276f ", "ok", "pass", "segm", "found", "all ", "make")
_PROMPT = re.compile(
    r"(?:[$\u276f]|>(?=\s(?:run|npm|npx|yarn|pnpm|make|cargo|go|pytest|python3?|git|\./)\b)|[\w.-]{1,40}@[^\s$]{1,80}\$)\s+(\S.*)"
)
_EXIT = re.compile(
    r"\b(?:exit(?:ed)?(?:[ _](?:with|code|status)){1,2}|exit(?:ed)?)[:=\s]{1,3}(-?\d{1,5})\b", re.IGNORECASE
)
_COUNT = re.compile(
    r"\b(\d{1,9})\s(?:(?:tests?|specs?|suites?|examples?|scenarios?)\s)?(failed|failures?|errors?|failing)\b"
    r"|\b(failures|errors|failed)[=:]\s?(\d{1,9})\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b\d{1,9}\s(?:passed|passing|ok|tests?|examples?|specs?|scenarios?|assertions?|total|runs?|problems?)\b"
    r"|^found\s\d|^failed\s\(|^test result:|\btests\srun:|^=+\s.*\sin\s[\d.]+s",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"FAILED\s\((?:failures|errors)|BUILD\sFAIL|FAILURE:\sBuild|test\sresult:\sFAILED|---\sFAIL:|FAIL(?:\s|:|$)"
    r"|make(?:\[\d{1,3}\])?:\s\*\*\*|npm\sERR!|npm\serror\s|.{0,10}\bELIFECYCLE\b|error\sCommand\sfailed"
    r"|\S{1,200}\serror\sTS\d|\S{1,200}:\d{1,7}:\d{1,7}:\s(?:fatal\s)?error:"
)
_GENERIC = re.compile(
    r"Traceback\s\(most\srecent|(?:│\s)?Error:\s|error(?:\[E\d{1,5}\])?:\s|fatal:\s|CONFLICT\s\(|panic:\s"
    r"|thread\s'.{1,200}'\spanicked|Segmentation\sfault|(?:\w{1,80}\.){0,8}\w{0,60}(?:Error|Exception):\s"
)
_PASSES = re.compile(
    r"ok\s{1,4}\S|OK(?:\s\(|$)|PASS$|BUILD\sSUCCESS|Success:\sno\sissues|All\s(?:\w{1,20}\s)?(?:checks|tests|specs)\s(?:have\s)?pass"
    r"|test\sresult:\sok|Successfully\s|\d{1,9}\s(?:tests?\s)?(?:passed|passing)\b|Tests?:\s{1,12}\d{1,9}\spassed|0\serrors",
    re.IGNORECASE,
)
_FAILED_NAME = re.compile(
    r"(?:FAILED|ERROR)\s(\S{1,200}::\S{1,200}|\S{1,200}\.py)|---\sFAIL:\s(\S{1,200})|test\s(\S{1,200})\s\.\.\.\sFAILED"
    r"|(?:\S{1,200}\s>\s)(\S{1,200})\sFAILED|\s{0,8}(?:FAIL|✗|✕|\u00d7)\s(\S{1,200})|rspec\s(\S{1,200}:\d{1,7})\s#"
)

_WRAPPERS = frozenset({
    "sudo", "time", "env", "npx", "bundle", "exec", "poetry", "uv", "pipenv", "python", "python3", "-m", "run",
    "command", "pdm", "hatch",
})  # fmt: skip
_WITH_VERB = frozenset({
    "git", "npm", "yarn", "pnpm", "cargo", "go", "docker", "make", "terraform", "mix", "kubectl", "dotnet",
    "bin/rails", "rails", "gradle", "gradlew", "mvn", "mvnw",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed and was not put right later in the log. `line`: the line that says so."""

    tools: frozenset[str]
    names: tuple[str, ...]
    line: str

    def __str__(self) -> str:
        """Give command and line, on one line of at most 200 characters."""
        shown = f"{' && '.join(sorted(self.tools))}: {self.line}" if self.tools else self.line
        return shown if len(shown) <= 200 else shown[:199] + "…"


@dataclass(frozen=True, slots=True)
class LogOutcome:
    """The outcome of a log: the runs that it ends with.

    `failures`: the failed runs that no later run put right, in order.
    """

    failures: tuple[Failure, ...]
    passed: bool
    failed: bool


@dataclass(slots=True)
class _CommandRun:
    """One command and its output, while it is read."""

    tools: frozenset[str] = frozenset()
    targets: tuple[str, ...] = ()
    family: str = ""
    line: str = ""
    failed: bool = False
    passed: bool = False
    names: list[str] | None = None


def outcome_of(log_texts: Iterable[str]) -> LogOutcome:
    """Read the runs of a log, each text beginning a new one, and tell which failures were left at the end."""
    left: list[_CommandRun] = []
    passed = failed = False
    for run in _runs(log_texts):
        passed, failed = passed or run.passed, failed or run.failed
        if run.failed:
            left = [each for each in left if not _puts_right(run, each)][-_NAMES:]
            left.append(run)
        elif run.passed or run.tools:
            left = [each for each in left if not _puts_right(run, each)]
    failures = tuple(Failure(run.tools, tuple(run.names or ()), run.line) for run in left)
    return LogOutcome(failures, passed, failed)


def _runs(log_texts: Iterable[str]) -> Iterator[_CommandRun]:
    for text in log_texts:
        run = _CommandRun()
        for line in _telling_lines(text):
            prompt = _PROMPT.match(line)
            if prompt:
                yield run
                run = _CommandRun(*_read_command(prompt[1]))
                continue
            verdict = _verdict(line)
            if not verdict:
                continue
            if verdict == "pass" and run.failed and not run.tools:
                yield run  # no prompts in this text: a pass after a failure is another run
                run = _CommandRun()
            _note(run, verdict, line)
        yield run


def _telling_lines(text: str) -> Sequence[str]:
    """Return the short lines that may tell a verdict or a command, in order; of a flood of them, the end."""
    if "\x1b[" in text:
        text = _ANSI.sub("", text)
    telling = []
    for line in text.split("\n"):
        if not line or len(line) > _LINE_CHARACTERS:
            continue
        lower = line.lower()
        if lower.startswith(_OPENINGS) or any(hint in lower for hint in _HINTS) or "$ " in line or " ok, " in lower:
            telling.append(line.rstrip("\r"))
    return telling[-_TELLING_LINES:]


def _verdict(line: str) -> str:
    """Return "fail", "generic" (a failure of no known tool), "pass" or nothing."""
    line = line.strip()
    code = _EXIT.search(line)
    if code:
        return "pass" if int(code[1]) == 0 else "fail"
    counts = [int(a or b) for a, _, _, b in _COUNT.findall(line)]
    if counts and (_COUNTED.search(line) or len(counts) > 1):
        return "fail" if any(counts) else "pass"
    if _FAILS.match(line) or _FAILED_NAME.match(line) or (line.endswith(" FAILED") and len(line) < 200):
        return "fail"
    if _GENERIC.match(line):
        return "generic"
    return "pass" if _PASSES.match(line) else ""


def _note(run: _CommandRun, verdict: str, line: str) -> None:
    if verdict == "pass":
        run.passed = True
        return
    counted = bool(_COUNTED.search(line))
    if not run.failed or counted or (run.family == "generic" and verdict == "fail"):
        run.line = line.strip()
    run.family = verdict if not run.failed or verdict == "fail" else run.family
    run.failed = True
    name = _FAILED_NAME.match(line.strip())
    if name:
        run.names = run.names or []
        if len(run.names) < _NAMES:
            run.names.append(next(filter(None, name.groups())))


def _read_command(command: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the tools of a command line, as in ``git rebase``, and what they were run on (flags left out)."""
    tools: list[str] = []
    targets: list[str] = []
    for part in re.split(r"&&|\|\||[;|]", command[:_LINE_CHARACTERS]):
        tokens = [token for token in part.split() if "=" not in token.split("/")[0]]
        while tokens and tokens[0] in _WRAPPERS and len(tokens) > 1:
            tokens = tokens[1:]
        if not tokens or tokens[0] in ("cd", "echo", "head", "tail", "cat", "tee", "grep", "sed", "export"):
            continue
        tool = tokens[0].removeprefix("./")
        rest = [token for token in tokens[1:] if token[:1] not in "-<>2"]
        if tool in _WITH_VERB and rest:
            verb = 2 if rest[0] == "run" else 1
            tool, rest = " ".join([tool, *rest[:verb]]), rest[verb:]
        tools.append(tool)
        targets.extend(rest)
    return frozenset(tools), tuple(targets)


def _puts_right(run: _CommandRun, failure: _CommandRun) -> bool:
    """Tell whether a later run speaks for an earlier failed one: the same tool on as much, or on the tests that failed."""
    if not run.tools or not failure.tools:
        return run.passed or run.family == failure.family
    if not run.tools & failure.tools:
        return run.passed and failure.family == "generic" and not _is_check(failure)
    if not run.targets or (failure.targets and all(_within(target, run.targets) for target in failure.targets)):
        return True
    return bool(failure.names) and all(_within(name, run.targets) for name in failure.names or ())


def _is_check(run: _CommandRun) -> bool:
    return any(
        word in tool for tool in run.tools for word in ("test", "check", "lint", "build", "apply", "tsc", "mypy", "ci")
    )


def _within(target: str, targets: Sequence[str]) -> bool:
    return any(target.startswith(each.rstrip("/.") or target) or each in target for each in targets)
