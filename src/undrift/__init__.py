"""undrift: keeps a long agent session on course.

It decides what leaves a context window, keeps every original recallable, and explains every cut. No LLM, no network.

    >>> from undrift import Session, Settings
    >>> body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}
    >>> with Session.open("run-42", home=home, settings=Settings(budget_tokens=60_000)) as session:
    ...     prepared = session.prepare(body, wire="anthropic")
    >>> prepared.body is body  # it fits, so it is sent unchanged
    True

The names in `__all__` are what most programs need. More stand in `undrift.errors`, `undrift.tiered` (the buffer classes of the
seed documents), `undrift.facts` and `undrift.dispatch`; each of them can also be imported from `undrift`.

Law: `import undrift` costs next to nothing; each public name loads its module on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undrift.core.agent_rules import AGENT_RULES, TASK_TOOL_SCHEMA
    from undrift.core.memory.stale import Precision as Precision
    from undrift.core.text.marker import StreamStripper as StreamStripper
    from undrift.core.text.marker import strip_markers as strip_markers
    from undrift.core.text.tokens import token_count
    from undrift.dispatch import CompiledPrompt as CompiledPrompt
    from undrift.dispatch import DispatchRuntimeManager as DispatchRuntimeManager
    from undrift.dispatch import HeuristicComplexityClassifier as HeuristicComplexityClassifier
    from undrift.dispatch import PlanTask as PlanTask
    from undrift.dispatch import RoutingTable as RoutingTable
    from undrift.dispatch import TaskLedger as TaskLedger
    from undrift.dispatch import build_dispatch_dynamic_tail as build_dispatch_dynamic_tail
    from undrift.dispatch import dispatch_runtime_manager as dispatch_runtime_manager
    from undrift.errors import *  # noqa: F403 - a type checker sees the names of its __all__
    from undrift.errors import SettingsError, StoreError, SummaryRejected, UndriftError
    from undrift.facts import *  # noqa: F403 - a type checker sees the names of its __all__
    from undrift.memory.memories import Conflict as Conflict
    from undrift.memory.upkeep import StalePruned as StalePruned
    from undrift.recordings.restore import Restored, restore
    from undrift.sdk.wrap import wrap
    from undrift.session.async_session import AsyncSession
    from undrift.session.purge import Purged as Purged
    from undrift.session.rewind import Diff as Diff
    from undrift.session.rewind import Rewound as Rewound
    from undrift.session.session import Session
    from undrift.settings import Settings
    from undrift.tiered import *  # noqa: F403 - a type checker sees the names of its __all__
    from undrift.values.memory import MemoryEntry, ScoredMemoryEntry
    from undrift.values.memory import RunContext as RunContext
    from undrift.values.prepared import Prepared
    from undrift.values.window import Action, Task
    from undrift.values.window import Decision as Decision
    from undrift.values.window import Original as Original
    from undrift.window.once import LeftBlock as LeftBlock
    from undrift.window.once import Trimmed as Trimmed
    from undrift.window.once import trim

__all__ = [
    "AGENT_RULES",
    "Action",
    "AsyncSession",
    "MemoryEntry",
    "Prepared",
    "Restored",
    "ScoredMemoryEntry",
    "Session",
    "Settings",
    "SettingsError",
    "StoreError",
    "SummaryRejected",
    "TASK_TOOL_SCHEMA",
    "Task",
    "UndriftError",
    "__version__",
    "restore",
    "token_count",
    "trim",
    "wrap",
]

__version__ = "0.1.0"
"""The version of the package, as `undrift --version` prints it."""

_ROOMS = {
    "undrift.core.agent_rules": "AGENT_RULES TASK_TOOL_SCHEMA",
    "undrift.core.memory.stale": "Precision",
    "undrift.core.text.marker": "StreamStripper strip_markers",
    "undrift.core.text.tokens": "token_count",
    "undrift.dispatch": (
        "CompiledPrompt DispatchRuntimeManager HeuristicComplexityClassifier PlanTask RoutingTable TaskLedger "
        "build_dispatch_dynamic_tail dispatch_runtime_manager"
    ),
    "undrift.errors": (
        "ContractError Declined DimensionError DispatchError GoneError InputError PartError RecallError SettingsError StoreBusy "
        "StoreConflict StoreCorrupt StoreError StoreVersionError SummaryRejected TaskError TranscriptError UndriftError "
        "WindowError WireError"
    ),
    "undrift.facts": (
        "FactExtractor FactQuery FactRetriever ImplementerResult InMemorySessionFactStore KeywordFactRetriever RanTest "
        "ReviewIssue ReviewerResult RuleBasedFactExtractor SessionFact SessionFactStore SessionFactTag "
        "SqliteSessionFactStore create_fact_id format_session_facts"
    ),
    "undrift.memory.memories": "Conflict",
    "undrift.memory.upkeep": "StalePruned",
    "undrift.recordings.restore": "Restored restore",
    "undrift.sdk.wrap": "wrap",
    "undrift.session.async_session": "AsyncSession",
    "undrift.session.purge": "Purged",
    "undrift.session.rewind": "Diff Rewound",
    "undrift.session.session": "Session",
    "undrift.settings": "Settings",
    "undrift.tiered": (
        "CONTRADICTION_PENALTY ContextEntry ContextPruner EntryType MIN_DECAY_FLOOR MemoryRefresher PHASE_WEIGHT "
        "PINNED_TYPES PRUNE_THRESHOLD TERMINAL_OBSERVATION_WINDOW TerminalObservationWindow TieredMemoryManager "
        "ValidationResult ValidationService apply_semantic_decay prune_task_logs"
    ),
    "undrift.values.memory": "MemoryEntry RunContext ScoredMemoryEntry",
    "undrift.values.prepared": "Prepared",
    "undrift.values.window": "Action Decision Original Task",
    "undrift.window.once": "LeftBlock Trimmed trim",
}
"""The module of each name, which is loaded when the name is first used."""


if not TYPE_CHECKING:  # a checker that saw it would take every name, misspelled ones too

    def __getattr__(name: str) -> Any:
        for room, names in _ROOMS.items():
            if name in names.split():
                value = globals()[name] = getattr(import_module(room), name)
                return value
        raise AttributeError(f"module 'undrift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
