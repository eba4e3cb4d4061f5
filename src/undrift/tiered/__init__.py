"""The short-term buffer over a store, and the rules around it: the classes of the seed documents, under their names.

`ContextPruner` prunes a list of `ContextEntry` to a budget. `TieredMemoryManager` holds such a list over a store and prunes it by
itself. `MemoryRefresher` writes what left. `apply_semantic_decay` ranks memories by age. `ValidationService` judges the summary of
a task, and `prune_task_logs` removes its logs. A new program uses `undrift.Session`, which applies the same rules to requests.

>>> entries = [ContextEntry("plan", "tas", "Build it.", 3, 1), ContextEntry("talk", "reasoning", "Hm.", 1, 2)]
>>> [entry.id for entry in ContextPruner().prune(entries, token_budget=3)]
['plan']

Law: a program that only prunes loads no database, so the manager is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from undrift.core.memory.decay import apply_semantic_decay
from undrift.core.validate.service import ValidationResult, ValidationService
from undrift.core.window.ended_tasks import prune_task_logs
from undrift.core.window.last_results import TerminalObservationWindow
from undrift.settings import PRUNE_THRESHOLD, TERMINAL_OBSERVATION_WINDOW
from undrift.tiered.pruner import ContextPruner
from undrift.values.memory import CONTRADICTION_PENALTY, MIN_DECAY_FLOOR, PHASE_WEIGHT
from undrift.values.window import PINNED_TYPES, ContextEntry, EntryType

if TYPE_CHECKING:
    from undrift.tiered.manager import MemoryRefresher, TieredMemoryManager

__all__ = [
    "CONTRADICTION_PENALTY",
    "ContextEntry",
    "ContextPruner",
    "EntryType",
    "MIN_DECAY_FLOOR",
    "MemoryRefresher",
    "PHASE_WEIGHT",
    "PINNED_TYPES",
    "PRUNE_THRESHOLD",
    "TERMINAL_OBSERVATION_WINDOW",
    "TerminalObservationWindow",
    "TieredMemoryManager",
    "ValidationResult",
    "ValidationService",
    "apply_semantic_decay",
    "prune_task_logs",
]


def __getattr__(name: str) -> Any:
    if name not in ("MemoryRefresher", "TieredMemoryManager"):
        raise AttributeError(f"module 'undrift.tiered' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("undrift.tiered.manager"), name)
    return value
