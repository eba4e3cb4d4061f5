"""The order in which docs/api.md shows the public names: as a person meets them.

Law: each public name and each public method stands in exactly one place; a test compares these lists with the package.
"""

__all__ = ["FACETS", "FIRST", "GROUPS", "LITERALS", "OURS_ALONE", "RESULTS", "ROOMS", "ROOMS_HEADING"]

FIRST: tuple[tuple[str, str], ...] = (
    ("The ways in", "trim wrap Session AsyncSession Settings"),
    ("Values of a turn", "Prepared Action Task"),
    ("Values of the memory", "MemoryEntry ScoredMemoryEntry"),
    ("After a compaction", "restore Restored"),
    ("Texts and counts", "AGENT_RULES TASK_TOOL_SCHEMA token_count __version__"),
    ("The errors that most programs meet", "UndriftError SettingsError StoreError SummaryRejected"),
)
"""The names of `undrift.__all__` under their headings."""

RESULTS = (
    "Values that calls return",
    (
        "undrift.window.once.Trimmed undrift.window.once.LeftBlock undrift.values.window.Decision undrift.values.window.Original "
        "undrift.values.window.ContextEntry undrift.stores.base.Found undrift.wire.form.ProviderReply "
        "undrift.wire.form.ToolCall undrift.wire.form.ToolResult undrift.values.window.Segment "
        "undrift.core.budget_price.BudgetPrice undrift.values.memory.Slot undrift.memory.memories.Conflict "
        "undrift.memory.upkeep.StalePruned undrift.core.memory.stale.Precision undrift.memory.handling.Forgotten "
        "undrift.memory.handling.TakenIn undrift.session.rewind.Rewound undrift.session.rewind.Diff "
        "undrift.stores.base.Operation undrift.session.purge.Purged undrift.core.restore.RestoredItem"
    ),
)
"""Values that a program gets and does not make, with the module of each."""

LITERALS = (
    "Texts with few values",
    (
        "undrift.values.window.EntryType undrift.values.window.TaskStatus undrift.values.memory.MemoryType "
        "undrift.values.memory.MemoryStatus undrift.values.memory.MemoryScope undrift.values.memory.Trust"
    ),
)
"""The unions of strings that signatures name."""

ROOMS_HEADING = "Further names of `undrift`"
ROOMS: tuple[tuple[str, str, str], ...] = (
    ("undrift.errors", "", ""),
    ("undrift", "Few programs need these.", "StreamStripper strip_markers RunContext"),
    ("undrift.tiered", "", ""),
    ("undrift.facts", "", ""),
    ("undrift.dispatch", "", ""),
    ("undrift.testing", "", ""),
    ("undrift.integrations.anthropic_memory", "", ""),
    ("undrift.integrations.langchain", "", ""),
    ("undrift.integrations.langgraph", "", ""),
    ("undrift.integrations.openai_agents", "", ""),
    ("undrift.integrations.pydantic_ai", "", ""),
)
"""Each further room with its sentence and its names; an empty sentence is the room's own, empty names its `__all__`."""

GROUPS: dict[str, tuple[tuple[str, str], ...]] = {
    "Session": (
        ("Open and close", "open recognise close"),
        ("A turn", "prepare record budget_price"),
        ("What left", "recall original why find"),
        ("What stays", "pin unpin bring_back scratchpad"),
        ("Tasks", "start_task update_task complete_task change_tasks tasks mark"),
        (
            "Memory",
            (
                "remember search brief memories conflicts admit memory.edit memory.forget memory.take_in memory.learn "
                "memory.warnings"
            ),
        ),
        ("Time", "checkpoint rewind undo_rewind diff history facts"),
        ("Care", "prune_memories rate_search search_precision purge"),
    ),
}
"""The methods of a class, grouped as a person uses them."""

FACETS = {"memory": ("undrift.session.memory", "SessionMemory")}
"""The class of each attribute that a method in `GROUPS` is called on."""

OURS_ALONE = frozenset({"Prepared.telling"})
"""Methods without an underscore that other rooms of the package call, and no program."""
