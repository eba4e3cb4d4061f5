"""The settings: one frozen object, checked once when it is made.

Law: the only reader of the environment; no value is read again later. The table stands in `undrift.settings.table`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from undrift.errors import SettingsError
from undrift.settings.table import COUNT_RULE, PRUNE_THRESHOLD, SETTINGS, TERMINAL_OBSERVATION_WINDOW, Setting, is_count
from undrift.values.memory import CONTRADICTION_PENALTY, DECAY_RATE, MIN_DECAY_FLOOR, PHASE_WEIGHT, STALE_THRESHOLD

__all__ = [
    "PRUNE_THRESHOLD",
    "SETTINGS",
    "Setting",
    "Settings",
    "TERMINAL_OBSERVATION_WINDOW",
    "environment",
    "sources",
]

_SHOWN_CHARACTERS = 80  # an error quotes a value, it does not repeat a megabyte of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Hold every setting, valid from construction on; `SETTINGS` says what each one means.

    Raises:
        SettingsError: A value breaks its rule; the message names the field, the value and the rule.

    Source: R2-20, R2-21, R0-01, R0-13, A0-5, A2-3, A2-12, AX-4, AX-7.
    """

    budget_tokens: int | None = None
    prune_threshold_tokens: int = PRUNE_THRESHOLD
    prune_target_ratio: float = 0.75
    prune_when: str = "pauses"
    policy: str = "worth"
    keep_tool_results: int = TERMINAL_OBSERVATION_WINDOW
    keep_user_text_tokens: int = 2_000
    first_send_shrink: bool = False
    bound_thinking: str = "drop_block"
    append_only: bool = False
    eviction_respects_anchor: str = "on_failed_validation"
    plan_tasks: str = "off"
    rolling_tool_results: int = 0
    tombstone_share: float = 0.05
    left_note_share: float = 0.0
    finished_tasks_shown: int = 10
    task_markers: bool = False
    scratchpad_limit_bytes: int = 8_192
    debug_archive: bool = False
    embedder: str = "auto"
    vector_index: str = "exact"
    max_facts: int = 500
    prompt_facts: int = 10
    prompt_fact_tokens: int = 500
    route_simple: str = "simple"
    route_complex: str = "complex"
    window_share: float = 0.75
    token_counter: str = "estimate"
    mask_secrets: bool = True
    models_file: str | None = None
    home: str = ".undrift"
    session: str | None = None
    phase_weight: int = PHASE_WEIGHT
    contradiction_penalty: float = CONTRADICTION_PENALTY
    min_decay_floor: float = MIN_DECAY_FLOOR
    decay_rate: float = DECAY_RATE
    contradiction_similarity: float = 0.85
    stale_eviction_threshold: float = STALE_THRESHOLD
    retrieval_monitor_window: int = 20
    remember_tasks: bool = True
    memory_tokens: int = 0

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            value = getattr(self, setting.name)
            if value is None and setting.default is None:
                continue
            if not setting.check(value):
                raise SettingsError(f"{setting.name}={_shown(value)}: must be {setting.rule}")

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
        for setting in SETTINGS:
            found = {name: _parsed(setting, name, variables[name]) for name in setting.environment if name in variables}
            first, *others = found.values() or [setting.default]
            if any(other != first for other in others):
                named = " and ".join(f"{name}={_shown(variables[name])}" for name in found)
                raise SettingsError(
                    f"{named} set the same thing to different values: set one of them, or both alike; "
                    f"must be {setting.rule}"
                )
            if found:
                values[setting.name] = first
        return cls(**(values | overrides))

    def budget_for(self, window_tokens: int) -> int:
        """Return the budget in tokens for a model with that window: at least 1.

        An explicit `budget_tokens` wins; else the smaller of `prune_threshold_tokens` and `window_share` of the window.

        Raises:
            SettingsError: `window_tokens` is not an integer of at least 1.

        Source: "Precedence of limits", section 2.
        """
        if not is_count(window_tokens):
            raise SettingsError(f"window_tokens={_shown(window_tokens)}: must be {COUNT_RULE}")
        if self.budget_tokens is not None:
            return self.budget_tokens
        return max(1, min(self.prune_threshold_tokens, int(window_tokens * self.window_share)))


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
