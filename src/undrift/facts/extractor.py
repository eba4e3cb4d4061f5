"""Facts from results, by rules; the shell that owns the clock and logs what a rule could not read.

Law: it never raises for what an agent wrote. A rule that fails is logged with its traceback and passed over, the others
run; programming errors at construction and KeyboardInterrupt are not its business.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from undrift.core.facts.changes import EndedFacts, FactBatch
from undrift.core.facts.extract import IMPLEMENTER_RULES, REVIEWER_RULES, FactRule, FactSource
from undrift.facts.intake import Clock
from undrift.values.clock import now_ms
from undrift.values.facts import FactRole, ImplementerResult, ReviewerResult, SessionFact

__all__ = ["RULES", "RuleBasedFactExtractor"]

RULES: Mapping[FactRole, tuple[FactRule, ...]] = {"implementer": IMPLEMENTER_RULES, "reviewer": REVIEWER_RULES}
"""The rules of each role."""

_MOST_LOGGED = 10

_log = logging.getLogger("undrift.facts")


class RuleBasedFactExtractor:
    """`undrift.values.facts.FactExtractor` by a tuple of pure rules for each role.

    Args:
        rules: For each role its rules, as `RULES`; a role that is missing has those of `RULES`. To add one:
            ``{"reviewer": (*RULES["reviewer"], mine)}``.
        clock: Gives Unix milliseconds.
    """

    def __init__(self, *, rules: Mapping[FactRole, Iterable[FactRule]] | None = None, clock: Clock = now_ms) -> None:
        given = {**RULES, **(rules or {})}
        self._rules: dict[FactRole, tuple[FactRule, ...]] = {role: tuple(given[role]) for role in RULES}
        self._clock = clock

    def extract_from_implementer(self, result: ImplementerResult | Mapping[str, Any], task_id: str) -> FactBatch:
        """Return the facts of an implementer's result.

        Args:
            result: The record, or a mapping with its fields.
            task_id: The task that the run is bound to; another one in the result is logged and does not count.

        Returns:
            A list; handed to a store's `add` as it is, it also ends what the result says is so no more.
        """
        return self._extract("implementer", result, task_id)

    def extract_from_reviewer(self, result: ReviewerResult | Mapping[str, Any], task_id: str) -> FactBatch:
        """Return the facts of a reviewer's result; see `extract_from_implementer`."""
        return self._extract("reviewer", result, task_id)

    def _extract(self, role: FactRole, result: object, task_id: str) -> FactBatch:
        source = FactSource(result, str(task_id), role, self._clock())
        facts: list[SessionFact] = []
        ended: list[EndedFacts] = []
        problems: list[str] = []
        for rule in self._rules[role]:
            try:
                found = rule(source)
                facts += found.facts
                ended += found.ended
                problems += found.problems
            except Exception:  # noqa: BLE001 - a foreign rule; logged, and the others run
                _log.warning("a rule for the %s's result of task %r failed", role, source.task_id[:80], exc_info=True)
        said = source.field("task_id")
        if said is not None and said != source.task_id:
            problems.append(f"task_id: the result is of task {str(said)[:80]!r}, it counts for the task of the run")
        _tell(problems, role, source.task_id)
        unique: dict[tuple[str, str, str], SessionFact] = {}
        for fact in facts:
            unique.setdefault(fact.triple, fact)
        return FactBatch(unique.values(), ended)


def _tell(problems: Sequence[str], role: str, task_id: str) -> None:
    for problem in problems[:_MOST_LOGGED]:
        _log.warning("the %s's result of task %r: %s", role, task_id[:80], problem)
    if len(problems) > _MOST_LOGGED:
        _log.warning("the %s's result of task %r: %d problems more", role, task_id[:80], len(problems) - _MOST_LOGGED)
