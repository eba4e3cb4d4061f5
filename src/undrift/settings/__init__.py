"""The settings: one frozen object, checked once when it is made.

Law: the only reader of the environment. A setting is one field of `Settings`. An argument wins over a variable, a
variable over the project's `undrift.toml`, that file over the user's, and the user's over the default.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from undrift.errors import SettingsError
from undrift.settings.files import Placed, from_files
from undrift.settings.folder import folder_of
from undrift.settings.keys import KEYS
from undrift.settings.removed import check_renamed, removed_in, unknown_in
from undrift.settings.rules import (
    AUTO,
    BUDGET,
    COUNT,
    COUNT_OR_NONE,
    COUNTER,
    EMBEDDER,
    PORTION,
    PROVIDER,
    RERANKER,
    RETENTION,
    SHARE,
    STALENESS,
    SWITCH,
    TEXT,
    Setting,
    choice,
    is_count,
    parsed,
    setting,
    settings_of,
    share_of,
    shown,
)
from undrift.values.memory import CONTRADICTION_PENALTY, MIN_DECAY_FLOOR, PHASE_WEIGHT, STALE_THRESHOLD

__all__ = [
    "PRUNE_THRESHOLD",
    "SETTINGS",
    "Setting",
    "Settings",
    "TERMINAL_OBSERVATION_WINDOW",
    "environment",
    "removed_variables",
    "sources",
    "unknown_variables",
    "working_folder",
]

_log = logging.getLogger("undrift.settings")

PRUNE_THRESHOLD = 800_000
"""Default of `prune_threshold_tokens`. The settings object holds the active value."""

TERMINAL_OBSERVATION_WINDOW = 5
"""Default of `keep_tool_results`. The settings object holds the active value."""

_SIZE = "How much is sent"
_LEAVES = "Leaving the window"
_MEMORY, _RULES, _KEPT = "Memory", "Rules", "The store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a session. They are checked when the object is made, and never change.

    Every setting is a keyword; `undrift config NAME` and docs/settings.md explain each one.

    >>> Settings(budget_tokens=60_000).budget_for(window_tokens=200_000)
    60000
    >>> Settings(policy="newest")
    Traceback (most recent call last):
    undrift.errors.SettingsError: policy='newest': must be worth or recency

    Raises:
        SettingsError: A value breaks its rule; the message names the field, the value and the rule.
    """

    budget_tokens: int | str = setting(
        AUTO,
        BUDGET,
        "The most tokens to send, with system prompt and tools. auto: 75% of the model's window, at most "
        "prune_threshold_tokens. Below it text leaves where that costs nothing, or out of savings. 60%: auto with "
        "another share.",
        group=_SIZE,
    )
    token_counter: str = setting(
        "estimate",
        COUNTER,
        "The way to count tokens. estimate needs nothing else. characters/4 rounds up. tiktoken needs that package and "
        "its vocabulary.",
        group=_SIZE,
        is_private=True,
    )
    models_file: str | None = setting(
        None,
        TEXT,
        "A JSON file with your own figures about models: it changes or extends the table of models.",
        group=_SIZE,
        is_private=True,
    )
    prune_when: str = setting(
        "pauses",
        choice("pauses", "cheapest", "over_budget"),
        "The moments of a prune. With over_budget only when the window is too large. With pauses also after a pause, "
        "when the provider's cache is cold. With cheapest most prunes also keep the cached beginning.",
        group=_LEAVES,
    )
    policy: str = setting(
        "worth",
        choice("worth", "recency"),
        "The order in which text leaves. worth: first the lines and blocks that are least likely to be needed again. recency: the "
        "oldest blocks, whole.",
        group=_LEAVES,
    )
    keep_tool_results: int = setting(
        TERMINAL_OBSERVATION_WINDOW,
        COUNT,
        "The number of newest tool results that stay in the window unchanged.",
        group=_LEAVES,
        also="DEVS_TERMINAL_WINDOW_SIZE",
    )
    bound_thinking: str = setting(
        "drop_block",
        choice("drop_block", "strip", "server", "keep"),
        "The rule for thinking that the provider signs over the history. With drop_block it leaves when the history "
        "changes. With strip too, but not between a call and its result. With server the provider prunes. With keep "
        "nothing changes.",
        group=_LEAVES,
    )
    embedder: str = setting(
        "auto",
        EMBEDDER,
        "The model that makes vectors, so that memories are found by meaning too. auto: wordllama if it is installed (extra "
        "vectors). Other names are models of your own. Nothing is downloaded.",
        group=_MEMORY,
    )
    reranker: str | None = setting(
        None,
        RERANKER,
        "A model of your own that reorders the first 50 hits of a search. Nothing is downloaded.",
        group=_MEMORY,
        is_private=True,
    )
    learns: str = setting(
        "tasks",
        choice("all", "tasks", "off"),
        "Memories without a request. tasks: confirmed summaries of tasks. all: lasting statements and attempts too.",
        group=_MEMORY,
        is_private=True,
    )
    memory_tokens: int = setting(
        0,
        COUNT_OR_NONE,
        "The most tokens of memories about the user's newest words that are added to the window. 0: none.",
        group=_MEMORY,
        is_private=True,
    )
    rule_guard: str = setting(
        "warn",
        choice("warn", "ask", "off"),
        "A call contradicts a rule of yours: the agent sees your sentence, or you are asked. Only your own file counts.",
        group=_RULES,
        is_private=True,
    )
    home: str = setting(
        "~/.undrift",
        TEXT,
        "The folder that holds the records of all projects. It is made when it is first needed.",
        group=_KEPT,
        is_private=True,
    )
    retention: str = setting(
        "off",
        RETENTION,
        "The limits for the removed texts of old sessions. A hook sweeps the oldest beyond them, as undrift store sweep does.",
        group=_KEPT,
        is_private=True,
    )
    mask_secrets: bool = setting(
        True,
        SWITCH,
        "Mask API keys, tokens and private keys before anything is written to disk.",
        group=_KEPT,
        is_private=True,
    )
    prune_threshold_tokens: int = setting(
        PRUNE_THRESHOLD,
        COUNT,
        "The most tokens to send, if budget_tokens is auto, no matter how large the model's window is.",
        also="DEVS_PRUNE_THRESHOLD",
    )
    prune_target_ratio: float = setting(
        0.75,
        SHARE,
        "The size to which one prune goes down, as a share of the budget. A TieredMemoryManager applies it to the room that pins "
        "leave free.",
    )
    eviction_respects_anchor: str = setting(
        "on_failed_validation",
        choice("on_failed_validation", "always", "never"),
        "Keep the newest tool results of a completed task raw: if nothing confirmed its summary, always, or never.",
    )
    rolling_tool_results: int = setting(
        0,
        COUNT_OR_NONE,
        "The number of newest tool results of one open task that stay; the older ones leave in batches of half as many. "
        "0: all stay.",
    )
    tombstone_share: float = setting(
        0.05, SHARE, "The share of the budget for the tombstones of finished tasks. Beyond it the oldest leave."
    )
    finished_tasks_shown: int = setting(
        10,
        COUNT_OR_NONE,
        "The number of finished tasks that stay in a list with their summaries after their tombstones left. 0: none.",
    )
    task_markers: bool = setting(
        False,
        SWITCH,
        "Trust the marker that Session.mark writes after a tool result, if the call has no id. Off: no text decides "
        "which task a result belongs to.",
        is_private=True,
    )
    debug_archive: bool = setting(
        False,
        SWITCH,
        "Also write the logs of a finished task to archives/SESSION/TASK.log, for grep. The store keeps them anyway.",
        also="DEBUG_ARCHIVE",
        is_private=True,
    )
    vector_index: str = setting(
        "exact",
        choice("exact", "lance", "pgvector"),
        "The index of the vectors. exact compares all of them. lance uses LanceDB (extra lancedb), pgvector the home's server.",
    )
    route_simple: str = setting(
        "simple",
        PROVIDER,
        "The provider for tasks that look simple: a name among the plan's commands.",
        is_private=True,
    )
    route_complex: str = setting("complex", PROVIDER, "The provider for all other tasks.", is_private=True)
    phase_weight: int = setting(
        PHASE_WEIGHT,
        COUNT,
        "The age of one phase, in tasks. It should exceed the number of tasks in a phase.",
        also="DEVS_PHASE_WEIGHT",
    )
    contradiction_penalty: float = setting(
        CONTRADICTION_PENALTY,
        SHARE,
        "The factor on the score of a memory that a later one contradicts.",
        also="DEVS_CONTRADICTION_PENALTY",
    )
    min_decay_floor: float = setting(
        MIN_DECAY_FLOOR,
        PORTION,
        "The score that an old memory keeps, unless it never had as much.",
        also="DEVS_MIN_DECAY_FLOOR",
    )
    stale_eviction_threshold: float = setting(
        STALE_THRESHOLD,
        STALENESS,
        "Session.prune_memories hides a memory below this stored weight, and a contradicted one below twice of it. Age "
        "alone hides none.",
        also="DEVS_STALE_EVICTION_THRESHOLD",
    )
    retrieval_monitor_window: int = setting(
        20,
        COUNT,
        "The precision of searches is the mean of this many newest ratings.",
        also="DEVS_RETRIEVAL_MONITOR_WINDOW",
    )

    def __post_init__(self) -> None:
        for row in SETTINGS:
            value = getattr(self, row.name)
            if value is None and row.default is None:
                continue
            if not row.check(value):
                raise SettingsError(f"{row.name}={shown(value)}: must be {row.rule}")
        if self.home.startswith("~"):
            object.__setattr__(self, "home", os.path.expanduser(self.home))  # noqa: PTH111 - it does not raise

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """Read the settings of this process: its variables, then the `undrift.toml` of the project and of the user.

        Args:
            environ: Variables to read in place of the process's own; then no file is read.
            overrides: Fields of `Settings`; they win. A wrong variable is an error even then.

        Raises:
            SettingsError: A value breaks its rule, two variables of one setting differ, or a file has a key that is no
                setting. The message names the place, the value and the rule.
        """
        found = _found(environ)
        if environ is None:
            _warn_once(removed_variables())
        return cls(**({name: one.value for name, one in found.items()} | overrides))

    @property
    def is_auto(self) -> bool:
        """True if the budget is not a number: text leaves where that costs nothing, out of savings, and at the model's limit."""
        return not isinstance(self.budget_tokens, int)

    @property
    def window_share(self) -> float:
        """The limit as a share of the model's window, if the budget is not a number."""
        return share_of(self.budget_tokens)

    def budget_for(self, window_tokens: int) -> int:
        """Return the budget in tokens for a model with that window: at least 1.

        A number in `budget_tokens` wins; else the smaller of `prune_threshold_tokens` and a share of the window.

        Raises SettingsError: `window_tokens` is not an integer of at least 1.
        """
        if not is_count(window_tokens):
            raise SettingsError(f"window_tokens={shown(window_tokens)}: must be {COUNT.words}")
        if isinstance(self.budget_tokens, int):
            return self.budget_tokens
        return max(1, min(self.prune_threshold_tokens, int(window_tokens * self.window_share)))


SETTINGS = settings_of(Settings)
"""One row for each field of `Settings`; `.env.example` and `docs/settings.md` agree with them (tests/settings)."""


def working_folder() -> Path:
    """Return the folder that this process works for: the one that its client names, else the current folder."""
    return folder_of(os.environ)


def sources(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the place that each setting comes from: its variable, ``FILE:LINE``, or ``default``.

    `environ`: variables to read in place of the process's own; then no file is read. Raises SettingsError: as
    `Settings.from_environment`.
    """
    found = _found(environ)
    return {row.name: found[row.name].source if row.name in found else "default" for row in SETTINGS}


def removed_variables(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return a warning for each variable that is set and is no setting any more; it says what takes its place."""
    return removed_in(os.environ if environ is None else environ)


def unknown_variables(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return a sentence for each variable that looks like a setting and is none; it names the nearest one."""
    known = [*(name for row in SETTINGS for name in row.environment), *KEYS.values()]
    return unknown_in(os.environ if environ is None else environ, known)


def environment() -> dict[str, str]:
    """Return the environment variables of this process, to be passed on to another program."""
    return dict(os.environ)


@cache
def _warn_once(warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        _log.warning("%s", warning)


def _found(environ: Mapping[str, str] | None) -> dict[str, Placed]:
    """Return the settings that are not at their default, each with the place that sets it."""
    variables = os.environ if environ is None else environ
    check_renamed(variables)
    found = {} if environ is not None else from_files(SETTINGS, _folder(), variables)
    for row in SETTINGS:
        given = {name: parsed(row, name, variables[name]) for name in row.environment if name in variables}
        if len(set(given.values())) > 1:
            named = " and ".join(f"{name}={shown(variables[name])}" for name in given)
            raise SettingsError(
                f"{named} set the same thing to different values: set one of them, or both alike; must be {row.rule}"
            )
        if given:
            name = next(iter(given))
            found[row.name] = Placed(given[name], name)
    return found


def _folder() -> Path | None:
    """Return the working directory; None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None
