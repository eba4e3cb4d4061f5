"""The settings: their names, defaults and ranges.

Law: the only home of a setting's name, default and rule, and the only reader of the environment. Everything is checked
once, at construction; no value is read again later.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from undrift.errors import SettingsError

__all__ = [
    "PRUNE_THRESHOLD",
    "SETTINGS",
    "Setting",
    "Settings",
    "TERMINAL_OBSERVATION_WINDOW",
    "sources",
]

PRUNE_THRESHOLD = 800_000
"""Default of `prune_threshold_tokens`; what is in force is the settings object's value (R2-20, A0-5)."""

TERMINAL_OBSERVATION_WINDOW = 5
"""Default of `keep_tool_results`; what is in force is the settings object's value (R0-01, A0-5)."""

_INTEGER_LIMIT = 2**63  # what SQLite holds; sys.maxsize still means "never"
_SHOWN_CHARACTERS = 80  # an error quotes a value, it does not repeat a megabyte of it


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table of settings.

    Args:
        name: The field of `Settings`.
        environment: The variables that set it, the product's own first.
        default: The value without any variable; None means "not set".
        rule: What a value must be, in words that follow "must be".
        parse: The text of a variable -> a value; raises ValueError for another notation.
        check: Whether a value (parsed, or given to `Settings`) has the right type and range.
        help: What it does, one sentence.
    """

    name: str
    environment: tuple[str, ...]
    default: Any
    rule: str
    parse: Callable[[str], Any]
    check: Callable[[Any], bool]
    help: str


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
    keep_tool_results: int = TERMINAL_OBSERVATION_WINDOW
    keep_user_text_tokens: int = 2_000
    bound_thinking: str = "drop_block"
    append_only: bool = False
    eviction_respects_anchor: str = "on_failed_validation"
    plan_tasks: str = "off"
    rolling_tool_results: int = 0
    tombstone_share: float = 0.05
    finished_tasks_shown: int = 10
    task_markers: bool = False
    scratchpad_limit_bytes: int = 8_192
    debug_archive: bool = False
    window_share: float = 0.75
    token_counter: str = "estimate"
    mask_secrets: bool = True
    models_file: str | None = None
    home: str = ".undrift"

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
        if not _is_count(window_tokens):
            raise SettingsError(f"window_tokens={_shown(window_tokens)}: must be {_COUNT_RULE}")
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


def _integer(text: str) -> int:
    """Digits only: int() alone would take "5_0", " 5" and digits of other scripts."""
    if not re.fullmatch(r"-?[0-9]+", text):
        raise ValueError(text)
    return int(text)


def _decimal(text: str) -> float:
    """Digits and one point: float() alone would take "nan", "inf" and "1e-1"."""
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    if text not in ("true", "false", "1", "0"):
        raise ValueError(text)
    return text in ("true", "1")


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value < _INTEGER_LIMIT  # type(), because a bool is an int too


def _is_kept_text(value: object) -> bool:
    return type(value) is int and 2 <= value < _INTEGER_LIMIT


def _is_share(value: object) -> bool:
    return (type(value) is float or type(value) is int) and 0 < value <= 1  # NaN fails every comparison


def _is_counter(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"estimate|characters/4|tiktoken:[a-z0-9_]+", value) is not None


def _is_bound_thinking(value: object) -> bool:
    return isinstance(value, str) and value in ("drop_block", "strip", "server", "keep")


def _is_anchor_rule(value: object) -> bool:
    return isinstance(value, str) and value in ("on_failed_validation", "always", "never")


def _is_plan_rule(value: object) -> bool:
    return isinstance(value, str) and value in ("at_once", "under_pressure", "off")


def _is_count_or_none(value: object) -> bool:
    return type(value) is int and 0 <= value < _INTEGER_LIMIT


def _is_boolean(value: object) -> bool:
    return type(value) is bool


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


_COUNT_RULE = "an integer of at least 1 (and under 2^63)"
_COUNT_OR_NONE_RULE = "an integer of at least 0 (and under 2^63)"
_SHARE_RULE = "a decimal number above 0 and at most 1"
_TEXT_RULE = "a text that is not empty and has no NUL character"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="budget_tokens",
        environment=("UNDRIFT_BUDGET_TOKENS",),
        default=None,
        rule=_COUNT_RULE,
        parse=_integer,
        check=_is_count,
        help="Most tokens to send, system and tools included. "
        "Not set: the smaller of prune_threshold_tokens and window_share of the model's window.",
    ),
    Setting(
        name="prune_threshold_tokens",
        environment=("UNDRIFT_PRUNE_THRESHOLD_TOKENS", "DEVS_PRUNE_THRESHOLD"),
        default=PRUNE_THRESHOLD,
        rule=_COUNT_RULE,
        parse=_integer,
        check=_is_count,
        help="Without budget_tokens: a window above this many tokens is pruned, however large the model's own is.",
    ),
    Setting(
        name="prune_target_ratio",
        environment=("UNDRIFT_PRUNE_TARGET_RATIO",),
        default=0.75,
        rule=_SHARE_RULE,
        parse=_decimal,
        check=_is_share,
        help="How far down one pruning goes: for a session a share of the budget, for a TieredMemoryManager the share "
        "of what its pins leave free. 1 prunes just enough, and therefore nearly every turn.",
    ),
    Setting(
        name="keep_tool_results",
        environment=("UNDRIFT_KEEP_TOOL_RESULTS", "DEVS_TERMINAL_WINDOW_SIZE"),
        default=TERMINAL_OBSERVATION_WINDOW,
        rule=_COUNT_RULE,
        parse=_integer,
        check=_is_count,
        help="The newest tool results that stay in the window unchanged.",
    ),
    Setting(
        name="keep_user_text_tokens",
        environment=("UNDRIFT_KEEP_USER_TEXT_TOKENS",),
        default=2_000,
        rule="an integer of at least 2 (and under 2^63)",  # 2: one token for the beginning, one for the end
        parse=_integer,
        check=_is_kept_text,
        help="A user's text up to this many tokens stays whole; a longer paste may lose its middle.",
    ),
    Setting(
        name="bound_thinking",
        environment=("UNDRIFT_BOUND_THINKING",),
        default="drop_block",
        rule="drop_block, strip, server or keep",
        parse=str,
        check=_is_bound_thinking,
        help="What becomes of thinking that a model binds to the history as it was sent, when that is rewritten. "
        "drop_block: it leaves, and the provider is told to drop what no longer fits (a beta header). strip: it leaves, "
        "but never while calls are being answered. server: nothing is rewritten, the provider clears old tool results. "
        "keep: nothing is rewritten.",
    ),
    Setting(
        name="append_only",
        environment=("UNDRIFT_APPEND_ONLY",),
        default=False,
        rule="true or false (in the environment also 1 or 0)",
        parse=_boolean,
        check=_is_boolean,
        help="Never rewrite what was sent, whatever the budget says.",
    ),
    Setting(
        name="eviction_respects_anchor",
        environment=("UNDRIFT_EVICTION_RESPECTS_ANCHOR",),
        default="on_failed_validation",
        rule="on_failed_validation, always or never",
        parse=str,
        check=_is_anchor_rule,
        help="When a completed task's newest tool results stay raw until newer ones displace them: only where nothing "
        "confirmed its summary, always, or never.",
    ),
    Setting(
        name="plan_tasks",
        environment=("UNDRIFT_PLAN_TASKS",),
        default="off",
        rule="at_once, under_pressure or off",
        parse=str,
        check=_is_plan_rule,
        help="When the steps of a client's own plan or todo tool give way to a summary distilled by rule, once ticked off: "
        "at once, only in a turn that exceeds the budget, or never.",
    ),
    Setting(
        name="rolling_tool_results",
        environment=("UNDRIFT_ROLLING_TOOL_RESULTS",),
        default=0,
        rule=_COUNT_OR_NONE_RULE,
        parse=_integer,
        check=_is_count_or_none,
        help="Tool results of one task that is still open which stay in the window: at half as many again the older ones "
        "leave. 0 switches it off; never fewer than keep_tool_results stay.",
    ),
    Setting(
        name="tombstone_share",
        environment=("UNDRIFT_TOMBSTONE_SHARE",),
        default=0.05,
        rule=_SHARE_RULE,
        parse=_decimal,
        check=_is_share,
        help="The share of the budget that the tombstones of finished tasks may take before the oldest are rolled up.",
    ),
    Setting(
        name="finished_tasks_shown",
        environment=("UNDRIFT_FINISHED_TASKS_SHOWN",),
        default=10,
        rule=_COUNT_OR_NONE_RULE,
        parse=_integer,
        check=_is_count_or_none,
        help="How many finished tasks, whose tombstones have left, stand with id, title and summary in one list at the "
        "end of the window. 0 shows none.",
    ),
    Setting(
        name="task_markers",
        environment=("UNDRIFT_TASK_MARKERS",),
        default=False,
        rule="true or false (in the environment also 1 or 0)",
        parse=_boolean,
        check=_is_boolean,
        help="Believe the marker that Session.mark puts behind a tool result, where a call has no id by which it could be "
        "tagged. Off, no text decides which task a result belongs to.",
    ),
    Setting(
        name="scratchpad_limit_bytes",
        environment=("UNDRIFT_SCRATCHPAD_LIMIT_BYTES",),
        default=8_192,
        rule=_COUNT_OR_NONE_RULE,
        parse=_integer,
        check=_is_count_or_none,
        help="How much of the agent's notes, active_context.md, stands in the window: their end. 0: there are no notes.",
    ),
    Setting(
        name="debug_archive",
        environment=("UNDRIFT_DEBUG_ARCHIVE", "DEBUG_ARCHIVE"),
        default=False,
        rule="true or false (in the environment also 1 or 0)",
        parse=_boolean,
        check=_is_boolean,
        help="Write what a finished task lets go to archives/SESSION/TASK.log as well, for grep. The store keeps it anyway.",
    ),
    Setting(
        name="window_share",
        environment=("UNDRIFT_WINDOW_SHARE",),
        default=0.75,
        rule=_SHARE_RULE,
        parse=_decimal,
        check=_is_share,
        help="The share of the model's window that is the budget where none is set.",
    ),
    Setting(
        name="token_counter",
        environment=("UNDRIFT_TOKEN_COUNTER",),
        default="estimate",
        rule="estimate, characters/4 or tiktoken:ENCODING (such as tiktoken:o200k_base)",
        parse=str,
        check=_is_counter,
        help="How tokens are counted. "
        "estimate needs no download, characters/4 rounds up, tiktoken needs that package and its vocabulary.",
    ),
    Setting(
        name="mask_secrets",
        environment=("UNDRIFT_MASK_SECRETS",),
        default=True,
        rule="true or false (in the environment also 1 or 0)",
        parse=_boolean,
        check=_is_boolean,
        help="Mask API keys, tokens and private keys before anything is written to disk.",
    ),
    Setting(
        name="models_file",
        environment=("UNDRIFT_MODELS_FILE",),
        default=None,
        rule=_TEXT_RULE,
        parse=str,
        check=_is_text,
        help="A JSON file that overrides or extends the table of models.",
    ),
    Setting(
        name="home",
        environment=("UNDRIFT_HOME",),
        default=".undrift",
        rule=_TEXT_RULE,
        parse=str,
        check=_is_text,
        help="The folder in which sessions are stored, made when first needed.",
    ),
)
"""The table of settings: fields, parsing, `.env.example` and `docs/settings.md` agree with it (tests/test_settings.py)."""
