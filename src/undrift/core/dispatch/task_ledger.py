"""The ledger of a task: the results of its attempts, and the next action. Pure.

Law: a retry learns of the attempt before by the ledger alone: facts leave a task's own results out. Every
text in it is an agent's, and went through `one_line`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from undrift.core.dispatch.contracts import Role
from undrift.core.dispatch.one_line import one_line, one_lines
from undrift.values.facts import ImplementerResult, RanTest, ReviewerResult, ReviewIssue

__all__ = [
    "NextAction",
    "ReviewLoop",
    "Stalled",
    "TaskLedger",
    "after_fault",
    "after_implementer",
    "after_reviewer",
    "reopened",
    "role_of",
]

NextAction = Literal[
    "dispatch_implementer",
    "dispatch_reviewer",
    "retry_implementer",
    "retry_implementer_with_constraints",
    "dispatch_implementer_fixes",
    "advance_to_next_task",
    "halt_and_escalate",
]

_AFTER_IMPLEMENTER: Mapping[str, NextAction] = {
    "completed": "dispatch_reviewer",
    "blocked": "retry_implementer_with_constraints",
    "failed": "retry_implementer",
}
_AFTER_REVIEWER: Mapping[str, NextAction] = {
    "approved": "advance_to_next_task",
    "needs_changes": "dispatch_implementer_fixes",
    "blocked": "halt_and_escalate",
}

_SUMMARY = 500
_FIX = 1_000
_LINE = 500
_PATH = 300
_MOST_FIXES = 50
_MOST_LINES = 20
_MOST_FILES = 100

_STALLED = (
    "The last {} attempts made no progress. Do not repeat them: do the smallest part that can be shown to work, "
    "by another way, and say under blockers what stands against the rest."
)
_LOOP = "The same review came {} times in a row"
_USED_UP = "{} attempts are used up"


@dataclass(frozen=True, slots=True)
class Stalled:
    """Counts the attempts in a row without progress; at the threshold the next one is asked to try another way."""

    count: int = 0
    threshold: int = 2

    @property
    def flagged(self) -> bool:
        """True if the threshold is reached."""
        return self.count >= self.threshold


@dataclass(frozen=True, slots=True)
class ReviewLoop:
    """Counts how often in a row a reviewer asked for the very same changes; at the threshold the task halts."""

    count: int = 0
    threshold: int = 2
    fingerprint: str = ""

    @property
    def flagged(self) -> bool:
        """True if the threshold is reached."""
        return self.count >= self.threshold


@dataclass(frozen=True, slots=True)
class TaskLedger:
    """The state of one task of a run.

    Args:
        faults: How many of the last reviewers in a row gave no result.
        base_attempts: Attempts before the task was started again after a halt; they do not count against the limit.
    """

    run_id: str
    task_id: str
    plan_version: int = 1
    summary: str = ""
    status: str = ""
    files_changed: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    reviewer_assessment: str = ""
    reviewer_issues: tuple[str, ...] = ()
    required_fixes: tuple[str, ...] = ()
    stalled: Stalled = Stalled()
    review_loop: ReviewLoop = ReviewLoop()
    replan_hint: str = ""
    attempts: int = 0
    reviews: int = 0
    faults: int = 0
    base_attempts: int = 0
    next_action: NextAction = "dispatch_implementer"
    halt_reason: str = ""
    fingerprint: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_done(self) -> bool:
        """True if a reviewer approved it."""
        return self.next_action == "advance_to_next_task"

    @property
    def is_halted(self) -> bool:
        """True if the task waits for a person."""
        return self.next_action == "halt_and_escalate"

    def answered(self, role: Role) -> int:
        """Return how many agents of a role have answered: the number of the newest dispatch."""
        return self.attempts if role == "implementer" else self.reviews


def role_of(action: NextAction) -> Role | None:
    """Return the role to dispatch next. None means: no agent is needed."""
    if action == "dispatch_reviewer":
        return "reviewer"
    return None if action in ("advance_to_next_task", "halt_and_escalate") else "implementer"


def after_implementer(ledger: TaskLedger, result: ImplementerResult, *, output: str, max_attempts: int) -> TaskLedger:
    """Return the ledger after an implementer's result. `result`: as it was read. `max_attempts`: at least 1.

    The requests of the last review stay until the next one: its reviewer has to see whether they were met.
    """
    tests = [one for one in result.tests or () if isinstance(one, RanTest)]
    files = (*(result.files_changed or ()), *(result.files_modified or ()))
    fingerprint = _fingerprint(
        result.status, result.summary, sorted(files), [(one.command, one.passed) for one in tests]
    )
    progressed = result.status == "completed" and fingerprint != ledger.fingerprint
    changed = replace(
        ledger,
        summary=one_line(result.summary, _SUMMARY),
        status=result.status,
        files_changed=one_lines(files, _MOST_FILES, _PATH),
        tests=one_lines(
            (f"{'passed' if one.passed else 'FAILED'}: {one.command}" for one in tests), _MOST_LINES, _LINE
        ),
        follow_ups=one_lines(result.follow_up_actions, _MOST_LINES, _LINE),
        failures=one_lines(_failures(tests), _MOST_LINES, _LINE),
        blockers=one_lines(result.blockers, _MOST_LINES, _LINE),
        attempts=ledger.attempts + 1,
        faults=0,
        fingerprint=fingerprint,
        outputs={**ledger.outputs, "implementer": output},
        next_action=_AFTER_IMPLEMENTER[result.status],
    )
    return _limited(_stalled(changed, progressed=progressed), max_attempts)


def after_reviewer(ledger: TaskLedger, result: ReviewerResult, *, output: str, max_attempts: int) -> TaskLedger:
    """Return the ledger after a reviewer's result; arguments as of `after_implementer`."""
    issues = [one for one in result.issues or () if isinstance(one, ReviewIssue)]
    action = _AFTER_REVIEWER[result.assessment]
    changed = replace(
        ledger,
        reviewer_assessment=result.assessment,
        reviewer_issues=one_lines(map(_issue, issues), _MOST_LINES, _LINE),
        required_fixes=() if action == "advance_to_next_task" else one_lines(result.required_fixes, _MOST_FIXES, _FIX),
        reviews=ledger.reviews + 1,
        faults=0,
        outputs={**ledger.outputs, "reviewer": output},
        next_action=action,
    )
    if action == "advance_to_next_task":
        return replace(
            changed,
            failures=(),
            blockers=(),
            stalled=Stalled(),
            review_loop=ReviewLoop(),
            replan_hint="",
            halt_reason="",
        )
    if action == "halt_and_escalate":
        blockers = changed.reviewer_issues or changed.required_fixes
        said = f": {blockers[0]}" if blockers else ""
        return replace(changed, blockers=blockers, halt_reason=f"the reviewer is blocked{said}")
    asked = sorted(" ".join(fix.casefold().split()) for fix in result.required_fixes or ())
    found = sorted((one.file or "", " ".join(one.message.casefold().split())) for one in issues)
    fingerprint = _fingerprint(asked, found)
    before = ledger.review_loop
    loop = replace(before, fingerprint=fingerprint, count=before.count + 1 if before.fingerprint == fingerprint else 1)
    changed = replace(changed, review_loop=loop)
    if loop.flagged:
        return _halted(changed, f"{_LOOP.format(loop.count)}: split the task or make its criteria clearer")
    return _limited(changed, max_attempts)


def after_fault(ledger: TaskLedger, role: Role, evidence: str, *, output: str, max_attempts: int) -> TaskLedger:
    """Return the ledger after a program that gave no result: it broke the contract, ended badly or took too long.

    `max_attempts`: at least 1; also how many reviewers in a row may give no result.
    """
    changed = replace(ledger, failures=(one_line(evidence, _SUMMARY),), outputs={**ledger.outputs, role: output})
    if role == "reviewer":
        changed = replace(changed, reviews=ledger.reviews + 1, faults=ledger.faults + 1)
        if changed.faults >= max_attempts:
            return _halted(
                changed, f"{changed.faults} reviewers in a row gave no result, the last: {changed.failures[0]}"
            )
        return replace(changed, next_action="dispatch_reviewer")
    changed = replace(changed, attempts=ledger.attempts + 1, next_action="retry_implementer")
    return _limited(_stalled(changed, progressed=False), max_attempts)


def reopened(ledger: TaskLedger) -> TaskLedger:
    """Return the ledger of a halted task that starts again: the requests stay, the counts restart."""
    action: NextAction = "dispatch_implementer_fixes" if ledger.required_fixes else "retry_implementer"
    return replace(
        ledger,
        next_action=action,
        halt_reason="",
        replan_hint="",
        stalled=Stalled(),
        review_loop=ReviewLoop(),
        faults=0,
        base_attempts=ledger.attempts,
    )


def _stalled(ledger: TaskLedger, *, progressed: bool) -> TaskLedger:
    stalled = replace(ledger.stalled, count=0 if progressed else ledger.stalled.count + 1)
    return replace(ledger, stalled=stalled, replan_hint=_STALLED.format(stalled.count) if stalled.flagged else "")


def _limited(ledger: TaskLedger, max_attempts: int) -> TaskLedger:
    """Halt a task that would be tried once too often."""
    used = ledger.attempts - ledger.base_attempts
    if role_of(ledger.next_action) != "implementer" or used < max_attempts:
        return ledger
    last = (*ledger.failures, *ledger.blockers, *ledger.required_fixes, *ledger.reviewer_issues)
    return _halted(ledger, _USED_UP.format(used) + (f", the last one ended with: {last[0]}" if last else ""))


def _halted(ledger: TaskLedger, reason: str) -> TaskLedger:
    return replace(ledger, next_action="halt_and_escalate", halt_reason=one_line(reason, _LINE))


def _failures(tests: Iterable[RanTest]) -> Iterable[str]:
    for one in tests:
        if not one.passed:
            yield f"{one.command}: {'; '.join(one.failures[:_MOST_LINES])}" if one.failures else f"{one.command} failed"


def _issue(issue: ReviewIssue) -> str:
    where = f" {issue.file}" if issue.file else ""
    return f"{issue.severity}{where}: {issue.message}" + (f" (fix: {issue.fix})" if issue.fix else "")


def _fingerprint(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode("ascii")).hexdigest()[:16]
