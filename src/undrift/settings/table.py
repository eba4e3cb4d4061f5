"""The table of settings: each one's name, variables, default, rule and meaning.

Law: the only home of these. Nothing is read here; `undrift.settings` does, once.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from undrift.values.memory import (
    CONTRADICTION_PENALTY,
    DECAY_RATE,
    MIN_DECAY_FLOOR,
    MOST_STALE_THRESHOLD,
    PHASE_WEIGHT,
    STALE_THRESHOLD,
)

__all__ = [
    "COUNT_RULE",
    "INTEGER_LIMIT",
    "PRUNE_THRESHOLD",
    "SETTINGS",
    "Setting",
    "TERMINAL_OBSERVATION_WINDOW",
    "is_count",
]

PRUNE_THRESHOLD = 800_000
"""Default of `prune_threshold_tokens`; what is in force is the settings object's value (R2-20, A0-5)."""

TERMINAL_OBSERVATION_WINDOW = 5
"""Default of `keep_tool_results`; what is in force is the settings object's value (R0-01, A0-5)."""

INTEGER_LIMIT = 2**63
"""What SQLite holds; sys.maxsize still means "never"."""


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


def is_count(value: object) -> bool:
    """Tell whether a value is an integer of at least 1 that SQLite holds."""
    return type(value) is int and 1 <= value < INTEGER_LIMIT  # type(), because a bool is an int too


def _one_of(*values: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in values


def _is_from(least: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value < INTEGER_LIMIT


def _is_share(value: object) -> bool:
    return (type(value) is float or type(value) is int) and 0 < value <= 1  # NaN fails every comparison


def _up_to(most: float) -> Callable[[object], bool]:
    return lambda value: (type(value) is float or type(value) is int) and 0 <= value <= most


def _matches(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _is_boolean(value: object) -> bool:
    return type(value) is bool


COUNT_RULE = "an integer of at least 1 (and under 2^63)"
_COUNT_OR_NONE_RULE = "an integer of at least 0 (and under 2^63)"
_PROVIDER_RULE = "a name of 1 to 64 letters, digits, _, . and -, the first one no . or -"
_SHARE_RULE = "a decimal number above 0 and at most 1"
_PORTION_RULE = "a decimal number from 0 to 1"
_TEXT_RULE = "a text that is not empty and has no NUL character"


def _switch(name: str, default: bool, meaning: str) -> Setting:
    """A setting that is on or off."""
    rule = "true or false (in the environment also 1 or 0)"
    return Setting(name, (f"UNDRIFT_{name.upper()}",), default, rule, _boolean, _is_boolean, meaning)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="budget_tokens",
        environment=("UNDRIFT_BUDGET_TOKENS",),
        default=None,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="Most tokens to send, system and tools included. "
        "Not set: the smaller of prune_threshold_tokens and window_share of the model's window.",
    ),
    Setting(
        name="prune_threshold_tokens",
        environment=("UNDRIFT_PRUNE_THRESHOLD_TOKENS", "DEVS_PRUNE_THRESHOLD"),
        default=PRUNE_THRESHOLD,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="Without budget_tokens: a window above this many tokens is pruned, however large the model's own is.",
    ),
    Setting(
        name="prune_target_ratio",
        environment=("UNDRIFT_PRUNE_TARGET_RATIO",),
        default=0.75,
        rule=_SHARE_RULE,
        parse=_decimal,
        check=_is_share,
        help="How far down one pruning goes: for a session at least so large a share of the budget, for a "
        "TieredMemoryManager the share of what its pins leave free. 1 prunes just enough, and therefore nearly every turn.",
    ),
    Setting(
        name="prune_when",
        environment=("UNDRIFT_PRUNE_WHEN",),
        default="pauses",
        rule="pauses, cheapest or over_budget",
        parse=str,
        check=_one_of("pauses", "cheapest", "over_budget"),
        help="When a session prunes: `over_budget`, only then; `pauses`, also where the prompt is written anew anyway; "
        "`cheapest`, likewise, and mostly behind the window's beginning, which stays cached.",
    ),
    Setting(
        name="policy",
        environment=("UNDRIFT_POLICY",),
        default="worth",
        rule="worth or recency",
        parse=str,
        check=_one_of("worth", "recency"),
        help="What leaves a session's window first: `worth`, the lines and blocks that are least likely to be needed "
        "again; or `recency`, the oldest blocks, whole. A TieredMemoryManager always goes by recency.",
    ),
    Setting(
        name="keep_tool_results",
        environment=("UNDRIFT_KEEP_TOOL_RESULTS", "DEVS_TERMINAL_WINDOW_SIZE"),
        default=TERMINAL_OBSERVATION_WINDOW,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="The newest tool results that stay in the window unchanged.",
    ),
    Setting(
        name="keep_user_text_tokens",
        environment=("UNDRIFT_KEEP_USER_TEXT_TOKENS",),
        default=2_000,
        rule="an integer of at least 2 (and under 2^63)",  # 2: one token for the beginning, one for the end
        parse=_integer,
        check=_is_from(2),
        help="A user's text up to this many tokens stays whole; a longer paste may lose its middle.",
    ),
    _switch(
        "first_send_shrink",
        False,
        "Fold large noise of a tool's result (escape codes, overwritten or repeated lines, long data) before its first send.",
    ),
    Setting(
        name="bound_thinking",
        environment=("UNDRIFT_BOUND_THINKING",),
        default="drop_block",
        rule="drop_block, strip, server or keep",
        parse=str,
        check=_one_of("drop_block", "strip", "server", "keep"),
        help="What becomes of thinking that a model binds to the history as it was sent, when that is rewritten. "
        "drop_block: it leaves, and the provider is told to drop what no longer fits (a beta header). strip: it leaves, "
        "but never while calls are being answered. server: nothing is rewritten, the provider clears old tool results. "
        "keep: nothing is rewritten.",
    ),
    _switch(
        "append_only",
        False,
        "Never rewrite what was sent, whatever the budget says.",
    ),
    Setting(
        name="eviction_respects_anchor",
        environment=("UNDRIFT_EVICTION_RESPECTS_ANCHOR",),
        default="on_failed_validation",
        rule="on_failed_validation, always or never",
        parse=str,
        check=_one_of("on_failed_validation", "always", "never"),
        help="When a completed task's newest tool results stay raw until newer ones displace them: only where nothing "
        "confirmed its summary, always, or never.",
    ),
    Setting(
        name="plan_tasks",
        environment=("UNDRIFT_PLAN_TASKS",),
        default="off",
        rule="at_once, under_pressure or off",
        parse=str,
        check=_one_of("at_once", "under_pressure", "off"),
        help="When the steps of a client's own plan or todo tool give way to a summary distilled by rule, once ticked off: "
        "at once, only in a turn that exceeds the budget, or never.",
    ),
    Setting(
        name="rolling_tool_results",
        environment=("UNDRIFT_ROLLING_TOOL_RESULTS",),
        default=0,
        rule=_COUNT_OR_NONE_RULE,
        parse=_integer,
        check=_is_from(0),
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
        name="left_note_share",
        environment=("UNDRIFT_LEFT_NOTE_SHARE",),
        default=0.0,
        rule=_PORTION_RULE,
        parse=_decimal,
        check=_up_to(1),
        help="The share of the budget that a list of the calls that left the window, and how to recall them, may take. 0: none.",
    ),
    Setting(
        name="finished_tasks_shown",
        environment=("UNDRIFT_FINISHED_TASKS_SHOWN",),
        default=10,
        rule=_COUNT_OR_NONE_RULE,
        parse=_integer,
        check=_is_from(0),
        help="How many finished tasks, whose tombstones have left, stand with id, title and summary in one list at the "
        "end of the window. 0 shows none.",
    ),
    _switch(
        "task_markers",
        False,
        "Believe the marker that Session.mark puts behind a tool result, where a call has no id by which it could be "
        "tagged. Off, no text decides which task a result belongs to.",
    ),
    Setting(
        name="scratchpad_limit_bytes",
        environment=("UNDRIFT_SCRATCHPAD_LIMIT_BYTES",),
        default=8_192,
        rule=_COUNT_OR_NONE_RULE,
        parse=_integer,
        check=_is_from(0),
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
        name="embedder",
        environment=("UNDRIFT_EMBEDDER",),
        default="auto",
        rule="auto, wordllama or none",
        parse=str,
        check=_one_of("auto", "wordllama", "none"),
        help="What makes the vectors by which memories are found besides their words. auto: wordllama where it is installed "
        "(pip install 'undrift[vectors]'), else none. Nothing is ever downloaded.",
    ),
    Setting(
        name="vector_index",
        environment=("UNDRIFT_VECTOR_INDEX",),
        default="exact",
        rule="exact or lance",
        parse=str,
        check=_one_of("exact", "lance"),
        help="What searches the vectors. exact compares them all; lance hands them to LanceDB (pip install 'undrift[lancedb]').",
    ),
    Setting(
        name="max_facts",
        environment=("UNDRIFT_MAX_FACTS",),
        default=500,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="The most valid facts that a run of dispatches keeps; the oldest leave first.",
    ),
    Setting(
        name="prompt_facts",
        environment=("UNDRIFT_PROMPT_FACTS",),
        default=10,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="The most facts that one prompt of a dispatch is given.",
    ),
    Setting(
        name="prompt_fact_tokens",
        environment=("UNDRIFT_PROMPT_FACT_TOKENS",),
        default=500,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="The most tokens of a prompt that facts take, header and task names included.",
    ),
    Setting(
        name="route_simple",
        environment=("UNDRIFT_ROUTE_SIMPLE",),
        default="simple",
        rule=_PROVIDER_RULE,
        parse=str,
        check=_matches(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"),
        help="The provider that undrift dispatch sends tasks to that look simple: the name of one of the plan's commands.",
    ),
    Setting(
        name="route_complex",
        environment=("UNDRIFT_ROUTE_COMPLEX",),
        default="complex",
        rule=_PROVIDER_RULE,
        parse=str,
        check=_matches(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"),
        help="The provider that undrift dispatch sends all other tasks to.",
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
        check=_matches(r"estimate|characters/4|tiktoken:[a-z0-9_]+"),
        help="How tokens are counted. "
        "estimate needs no download, characters/4 rounds up, tiktoken needs that package and its vocabulary.",
    ),
    _switch(
        "mask_secrets",
        True,
        "Mask API keys, tokens and private keys before anything is written to disk.",
    ),
    Setting(
        name="models_file",
        environment=("UNDRIFT_MODELS_FILE",),
        default=None,
        rule=_TEXT_RULE,
        parse=str,
        check=_matches(r"[^\0]+"),
        help="A JSON file that overrides or extends the table of models.",
    ),
    Setting(
        name="home",
        environment=("UNDRIFT_HOME",),
        default=".undrift",
        rule=_TEXT_RULE,
        parse=str,
        check=_matches(r"[^\0]+"),
        help="The folder in which sessions are stored, made when first needed.",
    ),
    Setting(
        name="session",
        environment=("UNDRIFT_SESSION",),
        default=None,
        rule=_TEXT_RULE,
        parse=str,
        check=_matches(r"[^\0]+"),
        help="The session that undrift mcp serves. Not set: each server process has its own, named after its folder and "
        "client.",
    ),
    Setting(
        name="phase_weight",
        environment=("UNDRIFT_PHASE_WEIGHT", "DEVS_PHASE_WEIGHT"),
        default=PHASE_WEIGHT,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="How many tasks of age one phase counts when memories decay; should exceed the number of tasks in a phase.",
    ),
    Setting(
        name="contradiction_penalty",
        environment=("UNDRIFT_CONTRADICTION_PENALTY", "DEVS_CONTRADICTION_PENALTY"),
        default=CONTRADICTION_PENALTY,
        rule=_SHARE_RULE,
        parse=_decimal,
        check=_is_share,
        help="What is left of the score of a memory that a later one contradicts.",
    ),
    Setting(
        name="min_decay_floor",
        environment=("UNDRIFT_MIN_DECAY_FLOOR", "DEVS_MIN_DECAY_FLOOR"),
        default=MIN_DECAY_FLOOR,
        rule=_PORTION_RULE,
        parse=_decimal,
        check=_up_to(1),
        help="The score that a memory keeps however old it is, unless it never had as much.",
    ),
    Setting(
        name="decay_rate",
        environment=("UNDRIFT_DECAY_RATE",),
        default=DECAY_RATE,
        rule="a decimal number of at least 0",
        parse=_decimal,
        check=_up_to(sys.float_info.max),
        help="How fast memories decay for each task of age: 0.05 leaves half after 13.9 tasks, 0 switches decay off.",
    ),
    Setting(
        name="contradiction_similarity",
        environment=("UNDRIFT_CONTRADICTION_SIMILARITY",),
        default=0.85,
        rule=_PORTION_RULE,
        parse=_decimal,
        check=_up_to(1),
        help="How similar, by vectors, a memory must be to a new one to be looked at for a contradiction. It nominates "
        "beside the search by words and decides nothing.",
    ),
    Setting(
        name="stale_eviction_threshold",
        environment=("UNDRIFT_STALE_EVICTION_THRESHOLD", "DEVS_STALE_EVICTION_THRESHOLD"),
        default=STALE_THRESHOLD,
        rule="a decimal number from 0 to 0.5",
        parse=_decimal,
        check=_up_to(MOST_STALE_THRESHOLD),
        help="Below which stored weight Session.prune_memories takes a memory out of sight; a contradicted one below twice of "
        "it, its age counted in. Age alone never does.",
    ),
    Setting(
        name="retrieval_monitor_window",
        environment=("UNDRIFT_RETRIEVAL_MONITOR_WINDOW", "DEVS_RETRIEVAL_MONITOR_WINDOW"),
        default=20,
        rule=COUNT_RULE,
        parse=_integer,
        check=is_count,
        help="How many of the newest rated searches the precision is the mean of.",
    ),
    _switch(
        "remember_tasks",
        True,
        "Remember the summary of a completed task whose verdict is that it is valid and faithful to the raw logs.",
    ),
    Setting(
        name="memory_tokens",
        environment=("UNDRIFT_MEMORY_TOKENS",),
        default=0,
        rule=_COUNT_OR_NONE_RULE,
        parse=_integer,
        check=_is_from(0),
        help="How many tokens of what is remembered about the user's newest words go into the window, as a note. 0: none.",
    ),
)
"""The table of settings: fields, parsing, `.env.example` and `docs/settings.md` agree with it (tests/settings/test_settings.py)."""
