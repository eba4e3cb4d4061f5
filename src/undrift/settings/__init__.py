"""The settings: one frozen object, checked once when it is made.

Law: the only reader of the environment; no value is read again later. A setting is one field of `Settings`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from undrift.errors import SettingsError
from undrift.settings.rules import (
    COUNT,
    COUNT_OR_NONE,
    COUNTER,
    PASTE,
    PORTION,
    PROVIDER,
    SHARE,
    STALENESS,
    SWITCH,
    TEXT,
    Setting,
    choice,
    is_count,
    setting,
    settings_of,
)
from undrift.values.memory import CONTRADICTION_PENALTY, MIN_DECAY_FLOOR, PHASE_WEIGHT, STALE_THRESHOLD

__all__ = [
    "PRUNE_THRESHOLD",
    "SETTINGS",
    "Setting",
    "Settings",
    "TERMINAL_OBSERVATION_WINDOW",
    "environment",
    "sources",
]

PRUNE_THRESHOLD = 800_000
"""Default of `prune_threshold_tokens`; what is in force is the settings object's value (R2-20, A0-5)."""

TERMINAL_OBSERVATION_WINDOW = 5
"""Default of `keep_tool_results`; what is in force is the settings object's value (R0-01, A0-5)."""

_SHOWN_CHARACTERS = 80  # an error quotes a value, it does not repeat a megabyte of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Hold every setting, valid from construction on; `SETTINGS` says what each one means.

    Raises:
        SettingsError: A value breaks its rule; the message names the field, the value and the rule.

    Source: R2-20, R2-21, R0-01, R0-13, A0-5, A2-3, A2-12, AX-4, AX-7.
    """

    budget_tokens: int | None = setting(
        None,
        COUNT,
        "Most tokens to send, system and tools included. Not set: the smaller of prune_threshold_tokens and "
        "window_share of the model's window.",
    )
    prune_threshold_tokens: int = setting(
        PRUNE_THRESHOLD,
        COUNT,
        "Without budget_tokens: a window above this many tokens is pruned, however large the model's own is.",
        also="DEVS_PRUNE_THRESHOLD",
    )
    prune_target_ratio: float = setting(
        0.75,
        SHARE,
        "How far down one pruning goes: for a session at least so large a share of the budget, for a "
        "TieredMemoryManager the share of what its pins leave free. 1 prunes just enough, and therefore nearly "
        "every turn.",
    )
    prune_when: str = setting(
        "pauses",
        choice("pauses", "cheapest", "over_budget"),
        "When a session prunes: `over_budget`, only then; `pauses`, also where the prompt is written anew anyway; "
        "`cheapest`, likewise, and mostly behind the window's beginning, which stays cached.",
    )
    policy: str = setting(
        "worth",
        choice("worth", "recency"),
        "What leaves a session's window first: `worth`, the lines and blocks that are least likely to be needed "
        "again; or `recency`, the oldest blocks, whole. A TieredMemoryManager always goes by recency.",
    )
    keep_tool_results: int = setting(
        TERMINAL_OBSERVATION_WINDOW,
        COUNT,
        "The newest tool results that stay in the window unchanged.",
        also="DEVS_TERMINAL_WINDOW_SIZE",
    )
    keep_user_text_tokens: int = setting(
        2_000,
        PASTE,
        "A user's text up to this many tokens stays whole; a longer paste may lose its middle.",
    )
    bound_thinking: str = setting(
        "drop_block",
        choice("drop_block", "strip", "server", "keep"),
        "What becomes of thinking that a model binds to the history as it was sent, when that is rewritten. "
        "drop_block: it leaves, and the provider is told to drop what no longer fits (a beta header). strip: it "
        "leaves, but never while calls are being answered. server: nothing is rewritten, the provider clears old "
        "tool results. keep: nothing is rewritten.",
    )
    eviction_respects_anchor: str = setting(
        "on_failed_validation",
        choice("on_failed_validation", "always", "never"),
        "When a completed task's newest tool results stay raw until newer ones displace them: only where nothing "
        "confirmed its summary, always, or never.",
    )
    rolling_tool_results: int = setting(
        0,
        COUNT_OR_NONE,
        "Tool results of one task that is still open which stay in the window: at half as many again the older "
        "ones leave. 0 switches it off; never fewer than keep_tool_results stay.",
    )
    tombstone_share: float = setting(
        0.05,
        SHARE,
        "The share of the budget that the tombstones of finished tasks may take before the oldest are rolled up.",
    )
    finished_tasks_shown: int = setting(
        10,
        COUNT_OR_NONE,
        "How many finished tasks, whose tombstones have left, stand with id, title and summary in one list at the "
        "end of the window. 0 shows none.",
    )
    task_markers: bool = setting(
        False,
        SWITCH,
        "Believe the marker that Session.mark puts behind a tool result, where a call has no id by which it could "
        "be tagged. Off, no text decides which task a result belongs to.",
    )
    debug_archive: bool = setting(
        False,
        SWITCH,
        "Write what a finished task lets go to archives/SESSION/TASK.log as well, for grep. The store keeps it anyway.",
        also="DEBUG_ARCHIVE",
    )
    embedder: str = setting(
        "auto",
        choice("auto", "wordllama", "none"),
        "What makes the vectors by which memories are found besides their words. auto: wordllama where it is "
        "installed (pip install 'undrift[vectors]'), else none. Nothing is ever downloaded.",
    )
    vector_index: str = setting(
        "exact",
        choice("exact", "lance"),
        "What searches the vectors. exact compares them all; lance hands them to LanceDB (pip install "
        "'undrift[lancedb]').",
    )
    route_simple: str = setting(
        "simple",
        PROVIDER,
        "The provider that undrift dispatch sends tasks to that look simple: the name of one of the plan's commands.",
    )
    route_complex: str = setting(
        "complex",
        PROVIDER,
        "The provider that undrift dispatch sends all other tasks to.",
    )
    window_share: float = setting(
        0.75,
        SHARE,
        "The share of the model's window that is the budget where none is set.",
    )
    token_counter: str = setting(
        "estimate",
        COUNTER,
        "How tokens are counted. estimate needs no download, characters/4 rounds up, tiktoken needs that package "
        "and its vocabulary.",
    )
    mask_secrets: bool = setting(
        True,
        SWITCH,
        "Mask API keys, tokens and private keys before anything is written to disk.",
    )
    models_file: str | None = setting(
        None,
        TEXT,
        "A JSON file that overrides or extends the table of models.",
    )
    home: str = setting(
        ".undrift",
        TEXT,
        "The folder in which sessions are stored, made when first needed.",
    )
    session: str | None = setting(
        None,
        TEXT,
        "The session that undrift mcp serves. Not set: each server process has its own, named after its folder "
        "and client.",
    )
    phase_weight: int = setting(
        PHASE_WEIGHT,
        COUNT,
        "How many tasks of age one phase counts when memories decay; should exceed the number of tasks in a phase.",
        also="DEVS_PHASE_WEIGHT",
    )
    contradiction_penalty: float = setting(
        CONTRADICTION_PENALTY,
        SHARE,
        "What is left of the score of a memory that a later one contradicts.",
        also="DEVS_CONTRADICTION_PENALTY",
    )
    min_decay_floor: float = setting(
        MIN_DECAY_FLOOR,
        PORTION,
        "The score that a memory keeps however old it is, unless it never had as much.",
        also="DEVS_MIN_DECAY_FLOOR",
    )
    stale_eviction_threshold: float = setting(
        STALE_THRESHOLD,
        STALENESS,
        "Below which stored weight Session.prune_memories takes a memory out of sight; a contradicted one below "
        "twice of it, its age counted in. Age alone never does.",
        also="DEVS_STALE_EVICTION_THRESHOLD",
    )
    retrieval_monitor_window: int = setting(
        20,
        COUNT,
        "How many of the newest rated searches the precision is the mean of.",
        also="DEVS_RETRIEVAL_MONITOR_WINDOW",
    )
    remember_tasks: bool = setting(
        True,
        SWITCH,
        "Remember the summary of a completed task whose verdict is that it is valid and faithful to the raw logs.",
    )
    memory_tokens: int = setting(
        0,
        COUNT_OR_NONE,
        "How many tokens of what is remembered about the user's newest words go into the window, as a note. 0: none.",
    )

    def __post_init__(self) -> None:
        for row in SETTINGS:
            value = getattr(self, row.name)
            if value is None and row.default is None:
                continue
            if not row.check(value):
                raise SettingsError(f"{row.name}={_shown(value)}: must be {row.rule}")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """Read the settings from environment variables; an override wins over its variable.

        Args:
            environ: Variables to read; None reads those of this process, once.
            overrides: Fields of `Settings`. A variable is checked even where an override replaces its value: a wrong
                one is never passed over in silence.

        Raises:
            SettingsError: A value breaks its rule, or two variables of one setting differ; the message names the
                variables, the values and the rule.

        Source: R0-13, A0-5.
        """
        variables = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for row in SETTINGS:
            found = {name: _parsed(row, name, variables[name]) for name in row.environment if name in variables}
            first, *others = found.values() or [row.default]
            if any(other != first for other in others):
                named = " and ".join(f"{name}={_shown(variables[name])}" for name in found)
                raise SettingsError(
                    f"{named} set the same thing to different values: set one of them, or both alike; "
                    f"must be {row.rule}"
                )
            if found:
                values[row.name] = first
        return cls(**(values | overrides))

    def budget_for(self, window_tokens: int) -> int:
        """Return the budget in tokens for a model with that window: at least 1.

        An explicit `budget_tokens` wins; else the smaller of `prune_threshold_tokens` and `window_share` of the window.

        Raises:
            SettingsError: `window_tokens` is not an integer of at least 1.

        Source: "Precedence of limits", section 2.
        """
        if not is_count(window_tokens):
            raise SettingsError(f"window_tokens={_shown(window_tokens)}: must be {COUNT.words}")
        if self.budget_tokens is not None:
            return self.budget_tokens
        return max(1, min(self.prune_threshold_tokens, int(window_tokens * self.window_share)))


SETTINGS = settings_of(Settings)
"""One row for each field of `Settings`; `.env.example` and `docs/settings.md` agree with them (tests/settings/test_settings.py)."""


def sources(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return for each setting where its value comes from: the name of its variable, or ``default``.

    Args:
        environ: Variables to look into; None takes those of this process.
    """
    variables = os.environ if environ is None else environ
    return {s.name: next((name for name in s.environment if name in variables), "default") for s in SETTINGS}


def _parsed(setting: Setting, variable: str, text: str) -> Any:
    """The value of one variable, checked; the error names the variable, its text and the rule."""
    try:
        value = setting.parse(text)
    except ValueError:
        value = None  # no check accepts None
    if not setting.check(value):
        raise SettingsError(f"{variable}={_shown(text)}: must be {setting.rule}")
    return value


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer beyond Python's own limit of digits
        return f"<an integer of {value.bit_length()} bits>" if isinstance(value, int) else f"<{type(value).__name__}>"
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"


def environment() -> dict[str, str]:
    """Return the variables of this process, for a program that is started in its place."""
    return dict(os.environ)
