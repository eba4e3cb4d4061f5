"""The view of dispatched runs: the agents of each task, and the facts that flowed from one to another.

Law: the facts of a prompt are found by the dispatcher's own code, in the facts as they were before the answer to it. They
are not recorded, so a plan that was changed since gives those of the present plan.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.core.dispatch.classify import HeuristicComplexityClassifier
from undrift.core.dispatch.contracts import Role
from undrift.core.dispatch.plan import PlanTask
from undrift.core.dispatch.state import RUN, Run, ledger_from, ledger_name, run_from
from undrift.core.dispatch.task_ledger import TaskLedger
from undrift.core.facts.retrieve import retrieve, wanted
from undrift.core.text.safe_lines import label
from undrift.dispatch.manager import DispatchRuntimeManager
from undrift.dispatch.routing import RoutingTable
from undrift.dispatch.runs import SqliteRunStore
from undrift.errors import DispatchError, InputError, StoreError
from undrift.facts.extractor import RuleBasedFactExtractor
from undrift.facts.sqlite import SqliteSessionFactStore
from undrift.settings import Settings
from undrift.stores.base import Operation
from undrift.stores.contract import Store
from undrift.values.facts import FactQuery, SessionFact
from undrift.values.project import Place
from undrift.web.source import PageSource
from undrift.web.tasks import fact_json

__all__ = ["dispatch"]

_MOST_RUNS = 50
_MOST_ROWS = 300
_MOST_STEPS = 100
"""Answers of a run whose prompts are looked into, the newest; each takes about 3 ms."""

_MOST_TASKS = 200
_ROLES: tuple[Role, ...] = ("implementer", "reviewer")
_ANSWERS = ("dispatch_result", "dispatch_fault")
_TEXT_CHARACTERS = 300
_KEY_CHARACTERS = 80


def dispatch(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the runs of all projects, the newest first, and one of them whole. `query`: ``run``, ``place``; none: the newest."""
    runs: list[dict[str, Any]] = []
    places = {place.records.name: place for place in source.places()}
    for name, place in places.items():
        try:
            with source.store(place) as store:
                runs += [] if store is None else [row | {"place": name} for row in _runs(store, place)]
        except StoreError:
            continue
    runs.sort(key=lambda row: -row["last_ms"])
    wanted_run = (query["run"], query.get("place", "")) if query.get("run") else None
    found = [row for row in runs if wanted_run in (None, (row["run"], row["place"]))]
    if not found and wanted_run is not None:
        raise InputError("this run is not stored here any more; go back to the list of runs")
    if not found:
        return {"runs": [], "run": None}
    with source.store(places[found[0]["place"]]) as store:
        assert store is not None, "it was listed from this store"
        return {"runs": runs[:_MOST_RUNS], "run": found[0] | _graph(store, found[0]["run"])}


def _runs(store: Store, place: Place) -> Iterator[dict[str, Any]]:
    for row in store.sessions()[:_MOST_ROWS]:
        records = store.run_records(row.session_id, (RUN,))
        if RUN not in records:
            continue
        try:
            run = run_from(records[RUN])
        except DispatchError:  # an earlier undrift wrote it
            continue
        states = [_state(ledger) for ledger in _ledgers(store, run).values()]
        yield {
            "run": row.session_id,
            "name": label(row.session_id, _KEY_CHARACTERS),
            "project": label(place.project.name if place.project is not None else "", _KEY_CHARACTERS),
            "last_ms": row.last_at_ms,
            "tasks": len(run.tasks),
            **{state: states.count(state) for state in ("done", "halted", "open")},
        }


def _ledgers(store: Store, run: Run) -> dict[str, TaskLedger]:
    records = store.run_records(run.id)
    found = {}
    for task in run.tasks:
        record = records.get(ledger_name(task.id))
        try:
            found[task.id] = TaskLedger(run.id, task.id) if record is None else ledger_from(record)
        except DispatchError:
            found[task.id] = TaskLedger(run.id, task.id)
    return found


def _state(ledger: TaskLedger) -> str:
    return "done" if ledger.is_done else "halted" if ledger.is_halted else "open"


def _graph(store: Store, run_id: str) -> dict[str, Any]:
    """Return the tasks of a run, its agents, and the edges between them with the facts that flowed."""
    run = run_from(store.run_records(run_id, (RUN,))[RUN])
    ledgers = _ledgers(store, run)
    steps = store.operations(run_id, _ANSWERS)
    flow = _flow(store, run, steps[-_MOST_STEPS:])
    learned = [version.fact for version in store.facts(run_id)]
    tasks = run.tasks[:_MOST_TASKS]
    return {
        "context": label(run.context, _TEXT_CHARACTERS),
        "plan_version": run.plan_version,
        "list": [_task(run, task.id, task.prompt, ledgers[task.id]) for task in tasks],
        "agents": list(_agents(tasks, steps, learned)),
        "edges": [{"from": a, "to": b, "facts": list(found)} for (a, b), found in flow.edges.items()],
        "facts": [fact_json(fact) for fact in flow.facts.values()],
        "steps": len(steps),
        "steps_read": min(len(steps), _MOST_STEPS),
        "learned": sum(fact.valid_to is None for fact in learned),
    }


def _task(run: Run, task_id: str, prompt: str, ledger: TaskLedger) -> dict[str, Any]:
    first = next((line for line in prompt.splitlines() if line.strip()), "")
    return {
        "id": label(task_id, _KEY_CHARACTERS),
        "prompt": label(first, _TEXT_CHARACTERS),
        "level": run.classes[task_id].level if task_id in run.classes else "",
        "state": _state(ledger),
        "attempts": ledger.attempts,
        "reviews": ledger.reviews,
        "summary": label(ledger.summary, _TEXT_CHARACTERS),
        "assessment": ledger.reviewer_assessment,
        "asked": [label(text, _TEXT_CHARACTERS) for text in (ledger.required_fixes or ledger.reviewer_issues)[:10]],
        "halt_reason": label(ledger.halt_reason, _TEXT_CHARACTERS),
        "files": [label(path, _TEXT_CHARACTERS) for path in ledger.files_changed[:20]],
    }


def _agents(
    tasks: Sequence[PlanTask], steps: Sequence[Operation], learned: Sequence[SessionFact]
) -> Iterator[dict[str, Any]]:
    """Yield the agents of the tasks: an implementer and a reviewer each, however often they were asked."""
    answers: dict[tuple[Any, Any], list[Operation]] = {}
    for step in steps:
        payload = step.payload or {}
        answers.setdefault((payload.get("task"), payload.get("role")), []).append(step)
    facts = Counter((fact.source_task_id, fact.source_role) for fact in learned)
    for task in tasks:
        for role in _ROLES:
            own = answers.get((task.id, role), [])
            yield {
                "id": f"{task.id}/{role}",
                "task": task.id,
                "role": role,
                "answers": len(own),
                "faults": sum(one.kind == "dispatch_fault" for one in own),
                "facts": facts[task.id, role],
                "last_ms": own[-1].at_ms if own else None,
            }


@dataclass
class _Flow:
    """The facts that stood in prompts, in order, and for each pair of agents the places of its facts."""

    facts: dict[tuple[str, ...], SessionFact] = field(default_factory=dict)
    edges: dict[tuple[str, str], dict[int, None]] = field(default_factory=dict)

    def add(self, fact: SessionFact, to: str) -> None:
        key = (*fact.triple, fact.source_task_id, fact.source_role)
        self.facts.setdefault(key, fact)
        place = list(self.facts).index(key)
        self.edges.setdefault((f"{fact.source_task_id}/{fact.source_role}", to), {})[place] = None


@dataclass
class _Then:
    """The retriever of a dispatcher, over the facts as they were."""

    facts: Sequence[SessionFact] = ()

    def retrieve(self, query: FactQuery) -> list[SessionFact]:
        return retrieve(self.facts, wanted(query))


def _flow(store: Store, run: Run, steps: Sequence[Operation]) -> _Flow:
    """Return the facts of each prompt: the dispatcher writes it once more, from what was known before its answer."""
    settings, then, flow = Settings(), _Then(), _Flow()
    kept = SqliteSessionFactStore(run_id=run.id, store=store, settings=settings)
    manager = DispatchRuntimeManager(
        HeuristicComplexityClassifier(),
        RoutingTable.from_settings(settings),
        kept,
        RuleBasedFactExtractor(),
        then,
        runs=SqliteRunStore(kept),
    )
    known = {task.id for task in run.tasks}
    for step in steps:
        payload = step.payload or {}
        task_id, role = payload.get("task"), payload.get("role")
        if task_id not in known or role not in _ROLES:
            continue
        versions = store.facts(run.id, as_of=step.seq - 1)
        then.facts = [version.fact for version in versions if version.fact.valid_to is None]
        if not then.facts:
            continue
        try:
            given = set(manager.compile_prompt(run.id, task_id, role).fact_ids)
        except DispatchError:  # an earlier undrift wrote the task's ledger
            continue
        for fact in then.facts:
            if fact.id in given:
                flow.add(fact, f"{task_id}/{role}")
    return flow
