"""Keeps the report of a client's sub-agent as facts of its parent's session, and reads them for the brief of the next one.

Law: a report is data of another agent: bounded and masked before it is written. The same report is kept once.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from undrift.core.facts.changes import FactBatch
from undrift.core.handoff.reports import AgentReport, EndedAgent
from undrift.facts.extractor import RuleBasedFactExtractor
from undrift.facts.sqlite import SqliteSessionFactStore
from undrift.profiles import acts_of
from undrift.settings import Settings
from undrift.stores.contract import Store
from undrift.values.window import ContextEntry

__all__ = ["changed_files", "keep_report", "reports_of", "run_of"]

_MOST_FACTS = 500
_MOST_REPORTS = 50
_MOST_FILES = 50
_LINES, _TASK = "report", "task"
"""In a fact's metadata: the telling lines of the last message, and the task in its parent's words."""


def run_of(client: str, session_id: str) -> str:
    """Return the run of the facts of a client's session. `session_id`: as the client calls it."""
    return f"{client}:{session_id}"


def keep_report(store: Store, run_id: str, ended: EndedAgent) -> bool:
    """Write the facts, unless they were written before; those of an earlier sub-agent with the same task stay beside them.

    Returns whether they were new. Raises StoreError: nothing was written.
    """
    lines = ended.lines()
    batch = RuleBasedFactExtractor().extract_from_implementer(ended.result(lines), ended.task_id)
    about = {_LINES: "\n".join(lines), _TASK: ended.shown_task}
    facts = [replace(one, metadata={**about}) if one.relation == "summary" else one for one in batch]
    return _facts_of(store, run_id).add_once(FactBatch(facts, batch.ended), ended.key, _MOST_FACTS)


def reports_of(store: Store, run_id: str) -> Iterator[AgentReport]:
    """Yield what sub-agents of a session reported, the newest first. Raises StoreError: the store cannot be read."""
    facts = _facts_of(store, run_id).get_valid()
    found = [one.metadata for one in reversed(facts) if one.metadata and _LINES in one.metadata]
    for metadata in found[:_MOST_REPORTS]:
        yield AgentReport(str(metadata.get(_TASK, "")), str(metadata[_LINES]).split("\n"))


def changed_files(entries: Iterable[ContextEntry], folder: str) -> tuple[str, ...]:
    """Return the files that calls changed, each once; those below a folder as seen from there."""
    found: dict[str, None] = {}
    for entry in entries:
        about = entry.metadata or {}
        given = about.get("input", entry.content)
        if about.get("kind") == "call" and isinstance(given, Mapping | str):
            acts = acts_of(str(about.get("tool_name")), given)
            found |= {_below(act.path, folder): None for act in acts if act.kind == "edit" and act.path}
    return tuple(found)[:_MOST_FILES]


def _below(path: str, folder: str) -> str:
    return PurePath(path).relative_to(folder).as_posix() if folder and PurePath(path).is_relative_to(folder) else path


def _facts_of(store: Store, run_id: str) -> SqliteSessionFactStore:
    """Open the facts with settings of no file and no variable: a project controls the environment of a hook."""
    return SqliteSessionFactStore(run_id=run_id, store=store, settings=Settings())
