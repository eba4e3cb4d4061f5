"""The inputs of one turn, apart from its window: room, rules, cache, tasks, and functions for the passes. Pure values.

Law: nothing here changes during a turn. The functions depend on their arguments and on the history alone.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from undrift.core.text.calibration import Calibration
from undrift.core.window.auto_budget import LEAST_HISTORY_TOKENS
from undrift.core.window.bank import Account
from undrift.core.window.low_water import Cache
from undrift.core.window.value import KnownReferences
from undrift.core.window.window import Window
from undrift.values.window import ContextEntry, Task, Tasks

__all__ = ["Binding", "KEPT_TEXT_TOKENS", "Past", "Room", "Rules", "Texts", "Tools", "Turn"]

_PLAN_AGENT = "plan"
"""Earlier versions could turn the steps of a client's own plan into tasks, and stored them under this agent."""


@dataclass(frozen=True, slots=True)
class Room:
    """The token budget of the window, and the tokens of the parts that are sent in addition to the history.

    `is_auto`: the budget is the model's limit, and below it text leaves where that costs nothing. `calibration`: turns our
    counts into the provider's, for sentences; all decisions are made in our counts.
    """

    budget_tokens: int
    fixed_tokens: int
    is_auto: bool = False
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def pruned_from_tokens(self) -> int:
        """The tokens of the smallest window that may be pruned."""
        return min(self.budget_tokens, self.fixed_tokens + LEAST_HISTORY_TOKENS) if self.is_auto else self.budget_tokens


KEPT_TEXT_TOKENS = 2_000
"""A text of the user up to this many tokens stays whole; a longer paste can lose its middle."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that passes obey; `Settings` describes each under the same name. `keep_user_text_tokens` is no setting."""

    policy: str
    prune_when: str
    prune_target_ratio: float
    keep_tool_results: int
    tombstone_share: float
    rolling_tool_results: int
    eviction_respects_anchor: str
    finished_tasks_shown: int
    keep_user_text_tokens: int = KEPT_TEXT_TOKENS

    @classmethod
    def of(cls, settings: object) -> "Rules":
        """Return those of a program's settings; what they do not name has its default."""
        return cls(**{name: getattr(settings, name) for name in cls.__dataclass_fields__ if hasattr(settings, name)})


@dataclass(frozen=True, slots=True)
class Binding:
    """The way in which a provider binds thinking to the words before it.

    `opens_turns`: whether the first answer of a row of calls must begin with its thinking.
    """

    mode: str = ""
    thinks: bool = False
    opens_turns: bool = False

    @property
    def strips(self) -> bool:
        """True if thinking blocks must be removed after a change of the text before them."""
        return self.mode in ("drop_block", "strip")

    @property
    def may_wait(self) -> bool:
        """True if an answer may keep its thinking while its calls are open."""
        return self.mode == "drop_block" and self.thinks

    def holds(self, window: Window) -> str:
        """Return the reason why this turn must not rewrite anything; empty if it may."""
        if not self.mode or not window.has_thinking:
            return ""
        if self.mode == "server":
            return "the provider clears old tool results itself (bound_thinking=server)"
        if self.mode == "keep":
            return "the model binds its thinking to the history as it was sent (bound_thinking=keep)"
        if self.mode == "strip" and self.thinks and window.round_is_open:
            return "thinking is never taken out between a call and its result (bound_thinking=strip)"
        return ""


@dataclass(frozen=True, slots=True)
class Past:
    """The decisions of earlier turns in this history; its functions are called only on demand.

    `partial_prunes`: how many of the newest prunes in a row left the beginning alone; None without any.
    """

    partial_prunes: Callable[[], int | None] = lambda: None
    is_furthest: Callable[[], bool] = lambda: True
    refs_of: Callable[[str], tuple[str, ...]] = lambda _: ()
    has_evicted: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """The current notes for the agent: the scratchpad, and memories about the user's newest words."""

    scratchpad: str = ""
    remembered: str = ""


@dataclass(frozen=True, slots=True)
class Tools:
    """The functions that passes call.

    Args:
        log_path: Task id to the path of its exported log; empty without one.
        names_recall: Whether new decisions may name the command that recalls a text.
        way_back: The words that tell the agent how to get a text back; empty if it cannot, as far as is known.
    """

    count: Callable[[str], int]
    ref_of: Callable[[str], str]
    known: Callable[[Window], KnownReferences]
    log_path: Callable[[str], str] = lambda _: ""
    names_recall: bool = True
    way_back: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """The inputs of one turn.

    Args:
        idle_ms: The least time without a request; None if unknown.
        changed_from_tokens: The tokens of the prompt before the first place that the client itself changed since its
            earlier requests, so that the provider writes all behind it again; None: it changed nothing.
        account: What may be spent on a prune that rewrites a warm window.
        due_pins: Pins that this history gets now: the reference of each, and the chain id of the item that gets it. They
            hold the rules that it lacks, and what the user brought back.
        is_aside: Whether the request is not part of the work, such as one for a title: it gets no notes.
    """

    room: Room
    rules: Rules
    tools: Tools
    now_ms: int
    cache: Cache
    idle_ms: int | None = None
    binding: Binding = Binding()
    tasks: Tasks = field(default_factory=Tasks)
    pins: Mapping[str, ContextEntry] = field(default_factory=dict)
    due_pins: tuple[tuple[str, str], ...] = ()
    past: Past = Past()
    texts: Texts = Texts()
    is_aside: bool = False
    changed_from_tokens: int | None = None
    account: Account = field(default_factory=Account)

    @property
    def reported_tasks(self) -> Collection[Task]:
        """The tasks that agents have reported."""
        return [task for task in self.tasks.by_id.values() if task.agent != _PLAN_AGENT]

    def total_tokens(self, window: Window) -> int:
        """Return the tokens of the whole prompt, with the parts next to the history."""
        return self.room.fixed_tokens + window.tokens_after
