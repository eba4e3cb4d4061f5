"""The dispatcher of a run: chooses the next agent, writes its prompt, and records its output.

Law: the order is "plan, write, take over": a result counts once it is on disk, with its facts, in one transaction, and
never twice. `undrift.core.dispatch` decides about a result.
"""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, TypeVar

from undrift.core.dispatch import prompt as prompts
from undrift.core.dispatch.classify import ComplexityClassifier
from undrift.core.dispatch.contracts import Role, read_implementer_result, read_reviewer_result
from undrift.core.dispatch.one_line import one_line
from undrift.core.dispatch.plan import PlanTask
from undrift.core.dispatch.prompt import CompiledPrompt
from undrift.core.dispatch.state import RUN, Run, ledger_from, ledger_name, record_of, run_from
from undrift.core.dispatch.task_ledger import (
    NextAction,
    TaskLedger,
    after_fault,
    after_implementer,
    after_reviewer,
    reopened,
    role_of,
)
from undrift.core.facts.format import format_session_facts
from undrift.core.text.secrets import mask
from undrift.dispatch.routing import RoutingTable
from undrift.dispatch.runs import InMemoryRunStore, RunStore
from undrift.errors import DispatchError
from undrift.stores.base import RunChange
from undrift.values.facts import FactExtractor, FactQuery, FactRetriever, SessionFact, SessionFactStore

__all__ = ["DispatchRuntimeManager", "Ingested"]

_log = logging.getLogger("undrift.dispatch")

_LEAST_SCORE = 1e-9
"""Above 0: a fact that shares no word with the task is left out, and with it an empty section."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of recording an output. `repeated`: it was recorded before, so nothing changed."""

    task_id: str
    role: Role
    next_action: NextAction
    ledger: TaskLedger
    facts: tuple[SessionFact, ...] = ()
    warnings: tuple[str, ...] = ()
    repeated: bool = False


class DispatchRuntimeManager:
    """Dispatches the tasks of runs, and passes the facts of one agent to the next.

    Args:
        classifier: Says how hard a task looks.
        routing: Says where such a task goes.
        fact_store: Of the facts; the one that `runs` writes to.
        fact_extractor: Turns results into facts; does not raise.
        fact_retriever: Finds facts in `fact_store`; does not raise.
        runs: Where runs are kept, and where a result's facts go with them; None: in memory, and into `fact_store`.
        max_facts: How many valid facts are kept, at least 0; compacted after each result.
        prompt_facts: How many facts a prompt is given at most, at least 0.
        prompt_fact_tokens: How many tokens they take at most, header and task names included; at least 0.
        mask_secrets: Whether secrets in a result are masked before anything of it is kept.
    """

    def __init__(
        self,
        classifier: ComplexityClassifier,
        routing: RoutingTable,
        fact_store: SessionFactStore,
        fact_extractor: FactExtractor,
        fact_retriever: FactRetriever,
        *,
        runs: RunStore | None = None,
        max_facts: int = 500,
        prompt_facts: int = 10,
        prompt_fact_tokens: int = 500,
        mask_secrets: bool = True,
    ) -> None:
        self._classifier = classifier
        self._routing = routing
        self._facts = fact_store
        self._extractor = fact_extractor
        self._retriever = fact_retriever
        self._runs: RunStore = InMemoryRunStore(fact_store) if runs is None else runs
        self._max_facts = max_facts
        self._prompt_facts = prompt_facts
        self._prompt_fact_tokens = prompt_fact_tokens
        self._mask_secrets = mask_secrets

    def init_run(self, run_id: str, tasks: Sequence[PlanTask], *, context: str = "", max_attempts: int = 6) -> Run:
        """Start a run, or continue it; if the plan has changed since, the new plan is used.

        A finished task stays finished, also if the plan says otherwise now.

        Args:
            run_id: Any text that is not empty.
            tasks: In the order in which they run; at least one, each with an id of its own.
            context: What holds for every task.
            max_attempts: How often a task is tried before it is given up; at least 1.

        Raises:
            DispatchError: No task, two of one id, or an empty name.
            StoreError: The disk refuses.
        """
        if not isinstance(run_id, str) or not run_id:
            raise DispatchError("a run needs a name that is not empty: give it one with --run")
        if type(max_attempts) is not int or max_attempts < 1:
            raise DispatchError(f"max_attempts must be an integer of at least 1, not {max_attempts!r}")
        if not tasks or len({task.id for task in tasks}) < len(tasks):
            raise DispatchError("a run needs at least one task, and each needs an id of its own")
        before = self._runs.load(run_id, [RUN]).get(RUN)
        was = None if before is None else run_from(before)
        classes = {task.id: self._classifier.classify(task) for task in tasks}
        run = Run(run_id, tuple(tasks), classes, context, max_attempts, was.plan_version if was else 1)
        if was == run:
            return run
        if was is not None and (was.tasks, was.context) != (run.tasks, run.context):
            run = replace(run, plan_version=was.plan_version + 1)
        payload = {"plan_version": run.plan_version, "tasks": len(run.tasks)}
        self._runs.save(run_id, "dispatch_run", [RunChange(RUN, before, record_of(run))], payload=payload)
        return run

    def run(self, run_id: str) -> Run:
        """Return a run.

        Raises:
            DispatchError: There is none of this name.
        """
        return _run_of(run_id, self._runs.load(run_id, [RUN]))

    def ledgers(self, run_id: str) -> dict[str, TaskLedger]:
        """Return the ledger of each task of a run, in the plan's order.

        Raises:
            DispatchError: There is no run of this name.
        """
        records = self._runs.load(run_id)
        run = _run_of(run_id, records)
        return {task.id: _ledger_of(run, task.id, records) for task in run.tasks}

    def ledger(self, run_id: str, task_id: str) -> TaskLedger:
        """Return the ledger of one task: its attempts, results and next step.

        Raises:
            DispatchError: There is no such run, or no such task in it.
        """
        return self._state(run_id, task_id)[1]

    def compile_prompt(
        self,
        run_id: str,
        task_id: str,
        role: Role | None = None,
        *,
        max_output_tokens: int = prompts.MAX_OUTPUT_TOKENS,
        max_prompt_tokens: int = prompts.MAX_PROMPT_TOKENS,
    ) -> CompiledPrompt:
        """Return the prompt for the next agent; nothing is written, and a second call gives the same prompt.

        Args:
            run_id: The run.
            task_id: The task.
            role: The role that gets it; None: the next one.
            max_output_tokens: The limit that the prompt names.
            max_prompt_tokens: The limit of the whole prompt, estimated.

        Raises:
            DispatchError: There is no such task, or it has no next role: it is done or halted.
        """
        run, ledger, _ = self._state(run_id, task_id)
        task = run.task(task_id)
        chosen = role or role_of(ledger.next_action)
        if chosen is None:
            raise DispatchError(_nobody(ledger))
        query = FactQuery(
            task.prompt,
            task_id,
            max_facts=self._prompt_facts,
            max_tokens=self._prompt_fact_tokens,
            min_score=_LEAST_SCORE,
        )
        facts = self._retriever.retrieve(query)
        session_context = format_session_facts(facts, max_tokens=self._prompt_fact_tokens)
        shown = facts[: session_context.count("\n")]  # one line each, under the header
        return prompts.compile_prompt(
            task,
            replace(ledger, plan_version=run.plan_version),
            chosen,
            prompts.PromptContext(
                run.context,
                session_context,
                tuple(fact.id for fact in shown),
                self._routing.provider_for(run.classes[task_id].level),
            ),
            max_output_tokens=max_output_tokens,
            max_prompt_tokens=max_prompt_tokens,
        )

    def ingest_output(
        self, run_id: str, task_id: str, role: Role, output: str, *, attempt: int | None = None
    ) -> Ingested:
        """Record an agent's output in one transaction: the result, its facts and the ledger.

        Args:
            run_id: The run.
            task_id: The task that the agent was dispatched for; it counts, also if the result names another.
            role: Of the agent.
            output: All that it has printed.
            attempt: Which dispatch it answers, as `CompiledPrompt.attempt` says: one that was answered is not answered
                again. None: an output that equals the role's newest one is taken for the same.

        Raises:
            ContractError: It holds no result; nothing was changed. `note_fault` tells the next attempt.
            DispatchError: There is no such task, it is done or halted, or no agent was dispatched so far ahead.
            StoreError: The disk refuses, or another process has continued the run; nothing was changed.
        """
        run, ledger, record = self._state(run_id, task_id)
        digest = _digest(output)
        if self._was_answered(ledger, role, digest, attempt):
            return Ingested(task_id, role, ledger.next_action, ledger, repeated=True)
        _refuse_ended(ledger)
        ledger = replace(ledger, plan_version=run.plan_version)
        if role == "implementer":
            implemented = self._masked(read_implementer_result(output))
            facts = self._extractor.extract_from_implementer(implemented, task_id)
            said = implemented.task_id
            after = after_implementer(ledger, implemented, output=digest, max_attempts=run.max_attempts)
        else:
            reviewed = self._masked(read_reviewer_result(output))
            facts = self._extractor.extract_from_reviewer(reviewed, task_id)
            said = reviewed.task_id
            after = after_reviewer(ledger, reviewed, output=digest, max_attempts=run.max_attempts)
        self._save(after, record, "dispatch_result", role, facts)
        return Ingested(task_id, role, after.next_action, after, tuple(facts), _strange(said, task_id))

    def note_fault(
        self, run_id: str, task_id: str, role: Role, evidence: str, *, output: str = "", attempt: int | None = None
    ) -> Ingested:
        """Record that an agent gave no result; the next attempt gets the reason.

        Args:
            run_id: The run.
            task_id: The task.
            role: Of the agent.
            evidence: What went wrong, one sentence.
            output: What it printed; a broken output that is noted twice counts once.
            attempt: As of `ingest_output`.

        Raises:
            DispatchError: There is no such task, or it is done or halted.
            StoreError: As of `ingest_output`.
        """
        run, ledger, record = self._state(run_id, task_id)
        digest = _digest(output)
        if self._was_answered(ledger, role, digest if output else None, attempt):
            return Ingested(task_id, role, ledger.next_action, ledger, repeated=True)
        _refuse_ended(ledger)
        ledger = replace(ledger, plan_version=run.plan_version)
        said = mask(evidence).text if self._mask_secrets else evidence
        after = after_fault(ledger, role, said, output=digest, max_attempts=run.max_attempts)
        self._save(after, record, "dispatch_fault", role)
        return Ingested(task_id, role, after.next_action, after)

    def reopen(self, run_id: str, task_id: str) -> TaskLedger:
        """Restart a halted task: the required fixes stay, the counters start at 0.

        Raises:
            DispatchError: There is no such task, or it is not halted.
            StoreError: As of `ingest_output`.
        """
        _, ledger, record = self._state(run_id, task_id)
        if not ledger.is_halted:
            raise DispatchError(f"task {task_id} is not halted: it need not be reopened")
        after = reopened(ledger)
        change = RunChange(ledger_name(task_id), record, record_of(after))
        self._runs.save(run_id, "dispatch_reopen", [change], payload={"task": task_id})
        return after

    def fact_count(self) -> int:
        """Return how many facts are valid."""
        return self._facts.count()

    def _state(self, run_id: str, task_id: str) -> tuple[Run, TaskLedger, Mapping[str, Any] | None]:
        records = self._runs.load(run_id, [RUN, ledger_name(task_id)])
        run = _run_of(run_id, records)
        return run, _ledger_of(run, run.task(task_id).id, records), records.get(ledger_name(task_id))

    def _was_answered(self, ledger: TaskLedger, role: Role, digest: str | None, attempt: int | None) -> bool:
        answered = ledger.answered(role)
        if attempt is None:
            return digest is not None and ledger.outputs.get(role) == digest
        if attempt > answered + 1 or attempt < 1:
            raise DispatchError(
                f"task {ledger.task_id}: the next {role} is number {answered + 1}, not {attempt}: "
                "give the attempt of the prompt that the agent was sent"
            )
        if attempt <= answered and attempt == answered and digest is not None and ledger.outputs.get(role) != digest:
            _log.warning("task %.80r: a second answer of %s %d was passed over", ledger.task_id, role, attempt)
        return attempt <= answered

    def _save(
        self,
        after: TaskLedger,
        record: Mapping[str, Any] | None,
        kind: str,
        role: Role,
        facts: list[SessionFact] | None = None,
    ) -> None:
        payload = {
            "task": after.task_id,
            "role": role,
            "attempt": after.answered(role),
            "output_sha256": after.outputs[role],
            "next_action": after.next_action,
        }
        change = RunChange(ledger_name(after.task_id), record, record_of(after))
        self._runs.save(after.run_id, kind, [change], payload=payload, facts=facts, max_facts=self._max_facts)

    def _masked(self, result: _T) -> _T:
        masked: _T = _without_secrets(result) if self._mask_secrets else result
        return masked


def _run_of(run_id: str, records: Mapping[str, Mapping[str, Any]]) -> Run:
    if RUN not in records:
        raise DispatchError(
            f"there is no run {str(run_id)[:64]!r}: begin it with init_run, or check the name and --home"
        )
    return run_from(records[RUN])


def _ledger_of(run: Run, task_id: str, records: Mapping[str, Mapping[str, Any]]) -> TaskLedger:
    record = records.get(ledger_name(task_id))
    return TaskLedger(run.id, task_id, run.plan_version) if record is None else ledger_from(record)


def _refuse_ended(ledger: TaskLedger) -> None:
    if role_of(ledger.next_action) is None:
        raise DispatchError(_nobody(ledger))


def _nobody(ledger: TaskLedger) -> str:
    if ledger.is_done:
        return f"task {ledger.task_id} is done: no agent is dispatched for it any more"
    return f"task {ledger.task_id} is halted: {ledger.halt_reason}. Change the plan, then start it again with reopen"


def _strange(named: str, task_id: str) -> tuple[str, ...]:
    if named == task_id:
        return ()
    sentence = f"the result names task {one_line(named, 64)!a}; it counts for task {task_id}, for which it was asked"
    _log.warning("%s", sentence)
    return (sentence,)


def _digest(output: str) -> str:
    return hashlib.sha256(output.encode("utf-8", "surrogatepass")).hexdigest()


def _without_secrets(value: Any) -> Any:
    """Mask every text of a result; its records are no deeper than a list of records."""
    if isinstance(value, str):
        return mask(value).text
    if isinstance(value, tuple):
        return tuple(map(_without_secrets, value))
    if is_dataclass(value) and not isinstance(value, type):
        fields = {name: _without_secrets(getattr(value, name)) for name in value.__dataclass_fields__}
        return replace(value, **fields)
    return value
