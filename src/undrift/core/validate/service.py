"""The ValidationService: "distill or die". Pure: the same task, summary and log give the same verdict and annotation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from undrift.core.agent_rules import MIN_SUMMARY_CHARACTERS
from undrift.core.validate.claims import EvidenceLog, unsupported_in
from undrift.core.validate.criteria import Criterion, criterion_of, is_met
from undrift.core.validate.runs import Failure, LogOutcome, outcome_of
from undrift.core.validate.words import FAIL_STEMS, PASS, Sentence, SummaryClause, sentences_of
from undrift.errors import SummaryRejected

__all__ = [
    "GROUNDING",
    "READ_CHARACTERS",
    "SCORE_THRESHOLD",
    "ValidatedTask",
    "ValidationResult",
    "ValidationService",
    "without_annotation",
]

SCORE_THRESHOLD = 0.7
"""Least score, in [0, 1], of a verdict that counts as partly met."""

READ_CHARACTERS = 20_000
"""How much of a summary is read: one that is longer is no summary, and what stands behind meets no criterion."""

GROUNDING = "grounding evidence"
"""The name of a missing grounding requirement among the missing criteria."""

_FAILURE = "\n\n\u26a0\ufe0f [Sigma Validation] Missing criteria: "
_SUCCESS = "\n\n\u2705 [Sigma Validation] All criteria met (Score: "
_ANNOTATION = re.compile(
    r"[^\w\n\[]{0,12}\w{0,4}[^\w\n\[]{0,12}\[\s{0,4}sigma\s{1,4}validation\s{0,4}\]", re.IGNORECASE
)
_MENDED = frozenset({
    "fix", "handl", "prevent", "avoid",
})  # fmt: skip


class ValidatedTask(Protocol):
    """The fields of a task that a verdict needs."""

    @property
    def acceptance_criteria(self) -> Sequence[str]:
        """The criteria that the result has to meet, merged from all updates."""

    @property
    def grounding(self) -> object:
        """The grounding requirement: a mapping or a value with ``strategy`` and ``evidence_required``, or None."""

    @property
    def grounding_evidence(self) -> object:
        """The evidence, with ``queries_executed``, ``overlays_consulted`` and ``citations``; a mapping or an object, or None."""


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The verdict on a summary.

    Args:
        is_valid: At least one criterion or grounding requirement was checked, and none is missing.
        score: Share of the checks that are met, in [0, 1]; 0 if there was nothing to check.
        missing_criteria: The criteria that are not met, as given, on one line each; `GROUNDING` for the evidence.
        reason: One sentence for the agent.
        evidence_found: Whether the task has any grounding evidence.
        unsupported: Names, paths, quotes, numbers and verdicts of the summary that the raw log does not hold.
        hidden_failures: Failures that the raw log ends with and the summary does not report.
        annotation: What is appended to the summary: a blank line and the verdict; empty if nothing was checked.
    """

    is_valid: bool
    score: float
    missing_criteria: tuple[str, ...]
    reason: str
    evidence_found: bool
    unsupported: tuple[str, ...] = ()
    hidden_failures: tuple[str, ...] = ()
    annotation: str = ""

    @property
    def is_partly_met(self) -> bool:
        """True if a criterion is missing and the score still reaches `SCORE_THRESHOLD`."""
        return not self.is_valid and SCORE_THRESHOLD <= self.score < 1

    @property
    def is_faithful(self) -> bool:
        """True if the log holds all that the summary names, and the summary reports the log's failures."""
        return not self.unsupported and not self.hidden_failures


class ValidationService:
    """Check a result summary against its task and against the raw log that it is to replace."""

    __slots__ = ()

    def validate(self, task: ValidatedTask, summary: str, log_texts: Sequence[str] = ()) -> ValidationResult:
        """Judge one summary.

        Args:
            task: The merged task.
            summary: The result summary; an annotation in it is not read.
            log_texts: The raw texts that the summary is to replace, in order; none: they are not checked.

        Raises:
            SummaryRejected: The summary is shorter than `MIN_SUMMARY_CHARACTERS`.
        """
        said = without_annotation(summary)
        if len(said) < MIN_SUMMARY_CHARACTERS:
            raise SummaryRejected(
                f"result_summary has {len(said)} characters of at least {MIN_SUMMARY_CHARACTERS}: "
                "say what was found or changed, where, and what was verified, then complete the task again"
            )
        said = said[:READ_CHARACTERS]
        sentences = sentences_of(said)
        unsupported: tuple[str, ...] = ()
        hidden: tuple[Failure, ...] = ()
        if any(text.strip() for text in log_texts):
            outcome = outcome_of(log_texts)
            unsupported = unsupported_in(said, sentences, EvidenceLog(log_texts))
            hidden = _hidden(outcome, sentences)
        criteria = [criterion_of(text) for text in task.acceptance_criteria if text.strip()]
        missing = [each.text for each in criteria if not is_met(each, sentences) or _contradicts(hidden, each)]
        evidence = _has_evidence(task.grounding_evidence, of_citations=False)
        checks = len(criteria)
        if (needed := _needed_evidence(task.grounding)) is not None:
            checks += 1
            if not _has_evidence(task.grounding_evidence, of_citations=needed == "citations"):
                missing.append(GROUNDING)
        score = (checks - len(missing)) / checks if checks else 0.0
        return ValidationResult(
            is_valid=bool(checks) and not missing,
            score=score,
            missing_criteria=tuple(missing),
            reason=_reason(checks, missing, unsupported, hidden),
            evidence_found=evidence,
            unsupported=unsupported,
            hidden_failures=tuple(str(failure) for failure in hidden),
            annotation=_annotation(checks, missing, score),
        )


def without_annotation(summary: str) -> str:
    """Return a summary trimmed, without lines that are, or look like, an annotation of ours."""
    if "[" not in summary:
        return summary.strip()
    return "\n".join(line for line in summary.split("\n") if not _ANNOTATION.match(line.strip()[:80])).strip()


def _annotation(checks: int, missing: Sequence[str], score: float) -> str:
    """Give the seed's words."""
    if not checks:
        return ""
    if not missing:
        return f"{_SUCCESS}{score:.2f})"
    return _FAILURE + ", ".join(missing) + (f" (Score: {score:.2f})" if score >= SCORE_THRESHOLD else "")


def _reason(checks: int, missing: Sequence[str], unsupported: Sequence[str], hidden: Sequence[Failure]) -> str:
    parts = []
    if not checks:
        parts.append("nothing was checked: the task has no acceptance criteria and needs no evidence")
    elif missing:
        parts.append(f"{len(missing)} of {checks} criteria are missing")
    else:
        parts.append("all criteria met" if checks > 1 else "the criterion is met")
    if unsupported:
        parts.append(f"not in the raw log: {', '.join(unsupported[:5])}{', ...' if len(unsupported) > 5 else ''}")
    if hidden:
        parts.append(f"the raw log ends with a failure that the summary does not report: {hidden[0]}")
    return "; ".join(parts)


def _hidden(outcome: LogOutcome, sentences: Sequence[Sentence]) -> tuple[Failure, ...]:
    """Return the failures at the log's end that no clause admits; one that names a failure speaks for that one alone."""
    if not outcome.failures:
        return ()
    admissions = [clause.text for sentence in sentences for clause in sentence.clauses if _admits(clause)]
    named = {index for index, each in enumerate(outcome.failures) if any(_names(each, text) for text in admissions)}
    if admissions and not named:
        return ()
    return tuple(each for index, each in enumerate(outcome.failures) if index not in named)


def _admits(clause: SummaryClause) -> bool:
    """Tell whether a clause says that something fails, or denies that it passes; "fixed the failing test" does not."""
    if clause.denied and PASS in clause.stems:
        return True
    return bool(clause.stems & FAIL_STEMS) and not clause.stems & _MENDED


def _names(failure: Failure, text: str) -> bool:
    short = [name.rpartition("::")[2] for name in failure.names]
    return any(name and name in text for name in (*failure.names, *short, *failure.tools))


def _contradicts(hidden: Sequence[Failure], criterion: Criterion) -> bool:
    """Tell whether a hidden failure speaks against a criterion that asks for a pass: another command's does not."""
    if not criterion.wants_pass:
        return False
    if not criterion.commands:
        return bool(hidden)
    return any(
        not failure.tools or any(tool in command for tool in failure.tools for command in criterion.commands)
        for failure in hidden
    )


def _field(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return value.get(name)
    return getattr(value, name, None)


def _needed_evidence(grounding: object) -> str | None:
    """Return what kind of evidence is required: "citations", "any", or None for none."""
    strategy = str(_field(grounding, "strategy") or "none")
    if strategy == "pgc_cite":
        return "citations"
    return "any" if _field(grounding, "evidence_required") else None


def _has_evidence(evidence: object, *, of_citations: bool) -> bool:
    names = ("citations",) if of_citations else ("citations", "queries_executed", "overlays_consulted")
    return any(bool(_field(evidence, name)) for name in names)
