"""undrift: keeps a long agent session on course.

It decides what leaves a context window, keeps every original recallable, and explains every cut. No LLM, no network.
Law: `import undrift` costs next to nothing; each public name loads its module on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undrift.core.agent_rules import AGENT_RULES, TASK_TOOL_SCHEMA
    from undrift.core.facts.format import format_session_facts
    from undrift.core.memory.decay import apply_semantic_decay
    from undrift.core.memory.stale import Precision
    from undrift.core.text.marker import StreamStripper, strip_markers
    from undrift.core.text.tokens import token_count
    from undrift.core.validate import ValidationResult, ValidationService
    from undrift.core.window.ended_tasks import prune_task_logs
    from undrift.core.window.last_results import TerminalObservationWindow
    from undrift.dispatch import (
        CompiledPrompt,
        DispatchRuntimeManager,
        HeuristicComplexityClassifier,
        PlanTask,
        RoutingTable,
        TaskLedger,
        build_dispatch_dynamic_tail,
        dispatch_runtime_manager,
    )
    from undrift.errors import (
        ContractError,
        Declined,
        DimensionError,
        DispatchError,
        InputError,
        RecallError,
        SettingsError,
        StoreBusy,
        StoreConflict,
        StoreCorrupt,
        StoreError,
        StoreVersionError,
        SummaryRejected,
        TaskError,
        TranscriptError,
        UndriftError,
        WindowError,
        WireError,
    )
    from undrift.facts import (
        InMemorySessionFactStore,
        KeywordFactRetriever,
        RuleBasedFactExtractor,
        SqliteSessionFactStore,
    )
    from undrift.memory.memories import Conflict
    from undrift.memory.upkeep import StalePruned
    from undrift.recordings.restore import Restored, restore
    from undrift.session.purge import Purged
    from undrift.session.rewind import Diff, Rewound
    from undrift.session.session import Session
    from undrift.settings import PRUNE_THRESHOLD, TERMINAL_OBSERVATION_WINDOW, Settings
    from undrift.tiered.manager import MemoryRefresher, TieredMemoryManager
    from undrift.tiered.pruner import ContextPruner
    from undrift.values.facts import (
        FactExtractor,
        FactQuery,
        FactRetriever,
        ImplementerResult,
        RanTest,
        ReviewerResult,
        ReviewIssue,
        SessionFact,
        SessionFactStore,
        SessionFactTag,
        create_fact_id,
    )
    from undrift.values.memory import (
        CONTRADICTION_PENALTY,
        MIN_DECAY_FLOOR,
        PHASE_WEIGHT,
        MemoryEntry,
        RunContext,
        ScoredMemoryEntry,
    )
    from undrift.values.window import PINNED_TYPES, Action, ContextEntry, Decision, EntryType, Original, Prepared, Task

__all__ = [
    "AGENT_RULES",
    "Action",
    "CONTRADICTION_PENALTY",
    "CompiledPrompt",
    "Conflict",
    "ContextEntry",
    "ContextPruner",
    "ContractError",
    "Decision",
    "Declined",
    "Diff",
    "DimensionError",
    "DispatchError",
    "DispatchRuntimeManager",
    "EntryType",
    "FactExtractor",
    "FactQuery",
    "FactRetriever",
    "HeuristicComplexityClassifier",
    "ImplementerResult",
    "InMemorySessionFactStore",
    "InputError",
    "KeywordFactRetriever",
    "MIN_DECAY_FLOOR",
    "MemoryEntry",
    "MemoryRefresher",
    "Original",
    "PHASE_WEIGHT",
    "PINNED_TYPES",
    "PRUNE_THRESHOLD",
    "PlanTask",
    "Precision",
    "Prepared",
    "Purged",
    "RanTest",
    "RecallError",
    "Restored",
    "ReviewIssue",
    "ReviewerResult",
    "Rewound",
    "RoutingTable",
    "RuleBasedFactExtractor",
    "RunContext",
    "ScoredMemoryEntry",
    "Session",
    "SessionFact",
    "SessionFactStore",
    "SessionFactTag",
    "Settings",
    "SettingsError",
    "SqliteSessionFactStore",
    "StalePruned",
    "StoreBusy",
    "StoreConflict",
    "StoreCorrupt",
    "StoreError",
    "StoreVersionError",
    "StreamStripper",
    "SummaryRejected",
    "TASK_TOOL_SCHEMA",
    "TERMINAL_OBSERVATION_WINDOW",
    "Task",
    "TaskError",
    "TaskLedger",
    "TerminalObservationWindow",
    "TieredMemoryManager",
    "TranscriptError",
    "UndriftError",
    "ValidationResult",
    "ValidationService",
    "WindowError",
    "WireError",
    "__version__",
    "apply_semantic_decay",
    "build_dispatch_dynamic_tail",
    "create_fact_id",
    "dispatch_runtime_manager",
    "format_session_facts",
    "prune_task_logs",
    "restore",
    "strip_markers",
    "token_count",
]

__version__ = "0.1.0"

_ROOMS = {
    "undrift.core.agent_rules": (
        "AGENT_RULES",
        "TASK_TOOL_SCHEMA",
    ),
    "undrift.core.memory.decay": ("apply_semantic_decay",),
    "undrift.core.window.ended_tasks": ("prune_task_logs",),
    "undrift.core.facts.format": ("format_session_facts",),
    "undrift.core.text.marker": (
        "StreamStripper",
        "strip_markers",
    ),
    "undrift.core.window.last_results": ("TerminalObservationWindow",),
    "undrift.core.memory.stale": ("Precision",),
    "undrift.core.text.tokens": ("token_count",),
    "undrift.core.validate": (
        "ValidationResult",
        "ValidationService",
    ),
    "undrift.dispatch": (
        "CompiledPrompt",
        "DispatchRuntimeManager",
        "HeuristicComplexityClassifier",
        "PlanTask",
        "RoutingTable",
        "TaskLedger",
        "build_dispatch_dynamic_tail",
        "dispatch_runtime_manager",
    ),
    "undrift.errors": (
        "ContractError",
        "Declined",
        "DimensionError",
        "DispatchError",
        "InputError",
        "RecallError",
        "SettingsError",
        "StoreBusy",
        "StoreConflict",
        "StoreCorrupt",
        "StoreError",
        "StoreVersionError",
        "SummaryRejected",
        "TaskError",
        "TranscriptError",
        "UndriftError",
        "WindowError",
        "WireError",
    ),
    "undrift.values.facts": (
        "FactExtractor",
        "FactQuery",
        "FactRetriever",
        "ImplementerResult",
        "RanTest",
        "ReviewIssue",
        "ReviewerResult",
        "SessionFact",
        "SessionFactStore",
        "SessionFactTag",
        "create_fact_id",
    ),
    "undrift.facts": (
        "InMemorySessionFactStore",
        "KeywordFactRetriever",
        "RuleBasedFactExtractor",
        "SqliteSessionFactStore",
    ),
    "undrift.tiered.manager": (
        "MemoryRefresher",
        "TieredMemoryManager",
    ),
    "undrift.tiered.pruner": ("ContextPruner",),
    "undrift.session.purge": ("Purged",),
    "undrift.values.memory": (
        "CONTRADICTION_PENALTY",
        "MIN_DECAY_FLOOR",
        "MemoryEntry",
        "PHASE_WEIGHT",
        "RunContext",
        "ScoredMemoryEntry",
    ),
    "undrift.memory.memories": ("Conflict",),
    "undrift.recordings.restore": (
        "Restored",
        "restore",
    ),
    "undrift.session.rewind": (
        "Diff",
        "Rewound",
    ),
    "undrift.session.session": ("Session",),
    "undrift.settings": (
        "PRUNE_THRESHOLD",
        "Settings",
        "TERMINAL_OBSERVATION_WINDOW",
    ),
    "undrift.memory.upkeep": ("StalePruned",),
    "undrift.values.window": (
        "Action",
        "ContextEntry",
        "Decision",
        "EntryType",
        "Original",
        "PINNED_TYPES",
        "Prepared",
        "Task",
    ),
}


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            value = globals()[name] = getattr(import_module(room), name)
            return value
    raise AttributeError(f"module 'undrift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
