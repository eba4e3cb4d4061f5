"""The default dispatcher of a process: everything in memory, created on first use.

Law: no work at import; there is one of it.
"""

import functools

from undrift.core.dispatch.classify import HeuristicComplexityClassifier
from undrift.dispatch.manager import DispatchRuntimeManager
from undrift.dispatch.routing import RoutingTable
from undrift.dispatch.runs import RunStore, SqliteRunStore
from undrift.facts.extractor import RuleBasedFactExtractor
from undrift.facts.memory import InMemorySessionFactStore
from undrift.facts.retriever import KeywordFactRetriever
from undrift.facts.sqlite import SqliteSessionFactStore
from undrift.settings import Settings
from undrift.values.facts import SessionFactStore

__all__ = ["dispatch_runtime_manager", "stored_manager"]


@functools.cache
def dispatch_runtime_manager() -> DispatchRuntimeManager:
    """Return the process's own dispatcher: heuristic classifier, routing from the environment, facts in memory.

    Raises:
        SettingsError: A variable is wrong; the message names it.
    """
    return _manager(InMemorySessionFactStore(), Settings.from_environment())


def stored_manager(facts: SqliteSessionFactStore, settings: Settings) -> DispatchRuntimeManager:
    """Return a dispatcher whose run is in a home's store. `facts`: the run's facts; the caller closes them."""
    return _manager(facts, settings, SqliteRunStore(facts))


def _manager(facts: SessionFactStore, settings: Settings, runs: RunStore | None = None) -> DispatchRuntimeManager:
    return DispatchRuntimeManager(
        HeuristicComplexityClassifier(),
        RoutingTable.from_settings(settings),
        facts,
        RuleBasedFactExtractor(),
        KeywordFactRetriever(facts),
        runs=runs,
        mask_secrets=settings.mask_secrets,
    )
