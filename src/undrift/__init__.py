"""undrift: keeps a long agent session on course.

It decides what leaves a context window, keeps every original recallable, and explains every cut. No LLM, no network.
Law: `import undrift` costs next to nothing; each public name loads its module on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undrift.core.agent_rules import AGENT_RULES, TASK_TOOL_SCHEMA
    from undrift.core.decay import apply_semantic_decay
    from undrift.core.evict import prune_task_logs
    from undrift.core.marker import StreamStripper, strip_markers
    from undrift.core.observation_window import TerminalObservationWindow
    from undrift.core.stale import Precision
    from undrift.core.tokens import token_count
    from undrift.core.validate import ValidationResult, ValidationService
    from undrift.errors import (
        Declined,
        DimensionError,
        InputError,
        RecallError,
        SettingsError,
        StoreBusy,
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
    from undrift.memory import MemoryRefresher, TieredMemoryManager
    from undrift.pruner import ContextPruner
    from undrift.purging import Purged
    from undrift.records import (
        CONTRADICTION_PENALTY,
        MIN_DECAY_FLOOR,
        PHASE_WEIGHT,
        MemoryEntry,
        RunContext,
        ScoredMemoryEntry,
    )
    from undrift.remembering import Conflict
    from undrift.restoring import Restored, restore
    from undrift.rewinding import Diff, Rewound
    from undrift.session import Session
    from undrift.settings import PRUNE_THRESHOLD, TERMINAL_OBSERVATION_WINDOW, Settings
    from undrift.tending import StalePruned
    from undrift.types import PINNED_TYPES, Action, ContextEntry, Decision, EntryType, Original, Prepared, Task

__all__ = [
    "AGENT_RULES",
    "Action",
    "CONTRADICTION_PENALTY",
    "Conflict",
    "ContextEntry",
    "ContextPruner",
    "Decision",
    "Declined",
    "Diff",
    "DimensionError",
    "EntryType",
    "InputError",
    "MIN_DECAY_FLOOR",
    "MemoryEntry",
    "MemoryRefresher",
    "Original",
    "PHASE_WEIGHT",
    "PINNED_TYPES",
    "PRUNE_THRESHOLD",
    "Precision",
    "Prepared",
    "Purged",
    "RecallError",
    "Restored",
    "Rewound",
    "RunContext",
    "ScoredMemoryEntry",
    "Session",
    "Settings",
    "SettingsError",
    "StalePruned",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreVersionError",
    "StreamStripper",
    "SummaryRejected",
    "TASK_TOOL_SCHEMA",
    "TERMINAL_OBSERVATION_WINDOW",
    "Task",
    "TaskError",
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
    "prune_task_logs",
    "restore",
    "strip_markers",
    "token_count",
]

__version__ = "0.1.0"

_ROOMS = {
    "undrift.core.agent_rules": ("AGENT_RULES", "TASK_TOOL_SCHEMA"),
    "undrift.core.decay": ("apply_semantic_decay",),
    "undrift.core.evict": ("prune_task_logs",),
    "undrift.core.marker": ("StreamStripper", "strip_markers"),
    "undrift.core.observation_window": ("TerminalObservationWindow",),
    "undrift.core.stale": ("Precision",),
    "undrift.core.tokens": ("token_count",),
    "undrift.core.validate": ("ValidationResult", "ValidationService"),
    "undrift.errors": (
        "Declined",
        "DimensionError",
        "InputError",
        "RecallError",
        "SettingsError",
        "StoreBusy",
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
    "undrift.memory": ("MemoryRefresher", "TieredMemoryManager"),
    "undrift.pruner": ("ContextPruner",),
    "undrift.purging": ("Purged",),
    "undrift.records": (
        "CONTRADICTION_PENALTY",
        "MIN_DECAY_FLOOR",
        "MemoryEntry",
        "PHASE_WEIGHT",
        "RunContext",
        "ScoredMemoryEntry",
    ),
    "undrift.remembering": ("Conflict",),
    "undrift.restoring": ("Restored", "restore"),
    "undrift.rewinding": ("Diff", "Rewound"),
    "undrift.session": ("Session",),
    "undrift.settings": ("PRUNE_THRESHOLD", "Settings", "TERMINAL_OBSERVATION_WINDOW"),
    "undrift.tending": ("StalePruned",),
    "undrift.types": (
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
