"""The view of tasks and sub-agents: what each task found, the verdict on it, and what each sub-agent cost and brought back.

Law: the store's tasks and the clients' recordings are shown as they are. A time or a price that is not known is null.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.errors import StoreError
from undrift.stores.contract import Store
from undrift.tasks.archive import Archive
from undrift.values.clock import now_ms
from undrift.values.facts import SessionFact
from undrift.values.window import Task
from undrift.web.agents import WatchedAgent
from undrift.web.bill import priced_prompts
from undrift.web.now import session_json
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["fact_json", "task_marks", "tasks"]

_MOST_SESSIONS = 40
_MOST_ROWS = 200
"""Stored sessions of one project that are looked at for tasks."""

_MOST_TASKS = 500
_NEWEST_TASKS = 6
_MOST_FACTS = 500
_ID_CHARACTERS = 80
_LINE_CHARACTERS = 200
_SUMMARY_CHARACTERS = 4_000
_SAID_CHARACTERS = 1_200
_AGENT_ID_CHARACTERS = 8
"""The end of a sub-agent's id that stands behind its task in its facts."""

_OPEN = frozenset({"pending", "in_progress"})


def tasks(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the tasks and sub-agents of a session, or of the newest sessions. `query`: ``key``; none: all sessions."""
    if not query.get("key"):
        return _newest(source)
    one = source.session(query["key"])
    rows, facts = _stored(source, one)
    agents = source.agents(one)
    by_agent = _by_agent(facts, agents)
    return {
        "session": session_json(source, one, now_ms(), source.open_here()),
        "tasks": rows[-_MOST_TASKS:],
        "count": len(rows),
        "agents": [_agent_json(source, agent, by_agent.pop(agent.agent_id, [])) for agent in agents],
        "reports": [_report(name, found) for name, found in by_agent.items()],
    }


def task_marks(source: PageSource, one: WatchedSession) -> list[dict[str, Any]]:
    """Return the marks of a session's tasks for its timeline: where each started, and where it ended with which verdict.

    A mark stands at the first turn after what it marks, as all marks do.
    """
    found: list[dict[str, Any]] = []
    for row in _stored(source, one, with_facts=False)[0]:
        name = row["title"] or row["id"]
        if row["started_ms"] is not None:
            found.append({"at_ms": row["started_ms"], "text": f"task started: {name}"})
        elif row["known_ms"] is not None:
            found.append({"at_ms": row["known_ms"], "text": f"task reported: {name}"})
        if row["ended_ms"] is not None:
            verdict = f", {row['verdict']['words']}" if row["verdict"] else ""
            found.append({"at_ms": row["ended_ms"], "text": f"task {row['status']}{verdict}: {name}"})
    times = [prompt.at_ms or 0 for prompt in one.figures.prompts]
    marks = [{"kind": "task", "turn": 1 + sum(at < mark["at_ms"] for at in times), **mark} for mark in found]
    return sorted(marks, key=lambda mark: mark["at_ms"])


def fact_json(fact: SessionFact) -> dict[str, Any]:
    """Return a fact for the page: each text one line, without secrets."""
    return {
        "subject": label(fact.subject, _LINE_CHARACTERS),
        "relation": label(fact.relation, _ID_CHARACTERS),
        "object": label(fact.object, _LINE_CHARACTERS),
        "task": label(fact.source_task_id, _LINE_CHARACTERS),
        "role": fact.source_role,
        "at_ms": fact.valid_from,
        "is_valid": fact.valid_to is None,
    }


def _stored(
    source: PageSource, one: WatchedSession, *, with_facts: bool = True
) -> tuple[list[dict[str, Any]], list[SessionFact]]:
    """Return a session's tasks, oldest first, and the valid facts of its sub-agents; none if undrift keeps nothing of it."""
    rows: list[dict[str, Any]] = []
    facts: list[SessionFact] = []
    try:
        with source.store(source.place_of(one)) as store:
            if store is None:
                return [], []
            for session_id in one.ids_in(store):
                rows += _task_rows(store, session_id)
                if with_facts:
                    facts += [found.fact for found in store.facts(session_id) if found.fact.valid_to is None]
    except StoreError:
        return [], []
    return rows, facts[-_MOST_FACTS:]


def _task_rows(store: Store, session_id: str) -> Iterator[dict[str, Any]]:
    archive = Archive(store, session_id)
    if not archive.tasks.by_id:
        return
    times: dict[str, list[int]] = {}
    for operation in store.operations(session_id, ("task",)):
        for task_id in (operation.payload or {}).get("tasks") or ():
            times.setdefault(task_id, []).append(operation.at_ms)
    for task in archive.tasks.by_id.values():
        decisions = archive.decisions(task.id)
        yield {
            **_task_json(task, times.get(task.id, [])),
            "session_id": session_id,
            "tokens_saved": sum(decision.tokens_saved for decision in decisions),
            "blocks": len(decisions),
        }


def _task_json(task: Task, times: list[int]) -> dict[str, Any]:
    """Return one task. `times`: of all changes of it, oldest first.

    The log says when a task was changed, but not how. So its start is known if no change was anything but a start or an end.
    """
    changes = 2 * len(task.segments) - task.is_worked_on
    has_ended = task.status not in _OPEN
    return {
        "id": label(task.id, _ID_CHARACTERS),
        "title": "" if task.content == task.id else label(task.content, _LINE_CHARACTERS),
        "status": task.status,
        "agent": label(task.agent, _ID_CHARACTERS),
        "delegated_to": label(task.delegated_to, _ID_CHARACTERS),
        "known_ms": times[0] if times else None,
        "started_ms": times[0] if times and changes == len(times) else None,
        "ended_ms": times[-1] if times and has_ended else None,
        "criteria": [label(text, _LINE_CHARACTERS) for text in task.acceptance_criteria],
        "summary": mask(task.annotated_summary or task.result_summary).text[:_SUMMARY_CHARACTERS],
        "verdict": _verdict(task),
    }


def _verdict(task: Task) -> dict[str, Any] | None:
    """Return the verdict on a task's summary in words; None: it has none."""
    found = task.validation
    if found is None:
        return None
    missing, is_faithful = list(found.get("missing_criteria") or ()), found.get("is_faithful", True) is True
    hidden = len(found.get("hidden_failures") or ())
    is_checked = bool(found.get("is_valid") or missing)
    score = found.get("score")
    words = "verdict: met" if is_checked and not missing else "not checked"
    if missing:
        words = f"verdict: {len(missing)} of {len(task.acceptance_criteria) or len(missing)} criteria missing"
    if hidden:
        words = "verdict: hides a failure"
    elif not is_faithful:
        words = "verdict: unlike its log"
    return {
        "words": words,
        "score": float(score) if is_checked and isinstance(score, int | float) else None,
        "is_good": is_checked and not missing and is_faithful and not hidden,
        "is_checked": is_checked or not is_faithful or hidden > 0,
        "missing": [label(str(text), _LINE_CHARACTERS) for text in missing[:20]],
    }


def _by_agent(facts: Iterable[SessionFact], agents: Iterable[WatchedAgent]) -> dict[str, list[SessionFact]]:
    """Return the facts by the sub-agent that reported them; those of one without a recording by their task.

    A dispatcher's facts stand in a run of their own, so all of these come from sub-agents of the client.
    """
    known = {agent.agent_id[-_AGENT_ID_CHARACTERS:]: agent.agent_id for agent in agents}
    found: dict[str, list[SessionFact]] = {}
    for fact in facts:
        name = known.get(fact.source_task_id.rpartition(" ")[2], fact.source_task_id)
        found.setdefault(name, []).append(fact)
    return found


def _report(name: str, facts: list[SessionFact]) -> dict[str, Any]:
    """Return what a sub-agent without a recording reported. `name`: its task, as its facts name it."""
    lines = next((str(one.metadata["report"]) for one in facts if one.metadata and "report" in one.metadata), "")
    return {
        "task": label(name, _LINE_CHARACTERS),
        "at_ms": max(fact.seen for fact in facts),
        "said": mask(lines).text[:_SAID_CHARACTERS],
        "facts": [fact_json(fact) for fact in facts],
    }


def _agent_json(source: PageSource, agent: WatchedAgent, facts: list[SessionFact]) -> dict[str, Any]:
    priced = list(priced_prompts(agent, source.models))
    prices = [sum(causes) for _, causes in priced if causes is not None]
    prompts = agent.figures.prompts
    first = next((line for line in agent.prompt.splitlines() if line.strip()), "")
    return {
        "id": label(agent.agent_id, _ID_CHARACTERS),
        "parent": label(agent.parent_agent, _ID_CHARACTERS),
        "kind": label(agent.kind, _ID_CHARACTERS),
        "name": label(agent.name, _LINE_CHARACTERS),
        "asked": label(first, _LINE_CHARACTERS),
        "model": label(agent.model, _ID_CHARACTERS),
        "prompts": len(prompts),
        "calls": agent.calls,
        "tokens": sum(prompt.prompt_tokens for prompt in prompts),
        "largest_tokens": max((prompt.prompt_tokens for prompt in prompts), default=0),
        "answered_tokens": sum(prompt.answer_tokens for prompt in prompts),
        "usd": round(sum(prices), 6) if prices else None,
        "unpriced": len(priced) - len(prices),
        "first_ms": next((prompt.at_ms for prompt in prompts if prompt.at_ms), None),
        "last_ms": agent.last_ms,
        "said": mask(agent.said).text[:_SAID_CHARACTERS],
        "said_tokens": agent.said_tokens,
        "is_fork": agent.is_fork,
        "facts": [fact_json(fact) for fact in facts],
    }


def _newest(source: PageSource) -> dict[str, Any]:
    """Return the newest tasks of the sessions of all projects, and the sessions that have sub-agents."""
    recorded = source.sessions()
    found: list[dict[str, Any]] = []
    for place in source.places():
        project = place.project.name if place.project is not None else ""
        try:
            with source.store(place) as store:
                found += [] if store is None else _with_tasks(source, store, project, recorded)
        except StoreError:
            continue
    found.sort(key=lambda row: -row["last_ms"])
    agents = [(one, len(source.agent_paths(one))) for one in recorded]
    return {
        "sessions": found[:_MOST_SESSIONS],
        "agents": [_named(source, one) | {"count": count} for one, count in agents if count],
    }


def _with_tasks(
    source: PageSource, store: Store, project: str, recorded: list[WatchedSession]
) -> Iterator[dict[str, Any]]:
    """Yield the newest sessions of a store that have tasks."""
    left = _MOST_SESSIONS
    for row in store.sessions()[:_MOST_ROWS]:
        by_id = store.tasks(row.session_id).by_id
        if not by_id:
            continue
        one = next((one for one in recorded if one.is_named(row.session_id)), None)
        named = _named(source, one) if one is not None else {"key": "", "name": label(row.name or row.session_id)}
        yield {
            "project": label(project),
            **named,
            "session_id": label(row.session_id, _LINE_CHARACTERS),
            "last_ms": row.last_at_ms,
            "count": len(by_id),
            "open": sum(task.status in _OPEN for task in by_id.values()),
            "tasks": [_task_json(task, []) for task in list(by_id.values())[-_NEWEST_TASKS:]],
        }
        left -= 1
        if not left:
            return


def _named(source: PageSource, one: WatchedSession) -> dict[str, Any]:
    return {
        "key": one.key,
        "name": source.named(one.title),
        "project": label(one.project, _LINE_CHARACTERS),
        "last_ms": one.last_ms,
    }
