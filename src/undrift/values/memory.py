"""The values of long-term memory: an entry, a scored hit, and where a run stands.

Law: frozen and valid from construction on; what depends on the time of the question (a decayed score) is never part of
an entry.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from undrift.errors import InputError
from undrift.values.shown import quoted

__all__ = [
    "CONTRADICTION_PENALTY",
    "DECAY_RATE",
    "MEMORY_TYPES",
    "MIN_DECAY_FLOOR",
    "MOST_STALE_THRESHOLD",
    "MemoryEntry",
    "MemoryScope",
    "MemoryStatus",
    "MemoryType",
    "PHASE_WEIGHT",
    "RunContext",
    "STALE_THRESHOLD",
    "ScoredMemoryEntry",
    "Slot",
    "TRUST_TIERS",
    "Trust",
    "UNKNOWN_TASK",
    "heir_id",
    "reopened",
]

PHASE_WEIGHT = 50
"""How many tasks of age one phase counts; should exceed the tasks in a phase. Default of the setting."""

MIN_DECAY_FLOOR = 0.05
"""The least share of its score that a valid entry keeps, at any age. Default of the setting."""

CONTRADICTION_PENALTY = 0.6
"""The share of its score that a contradicted entry keeps. Default of the setting."""

DECAY_RATE = 0.05
"""Decay for each task of age: half is left after 13.9 tasks. Default of the setting."""

STALE_THRESHOLD = 0.05
"""Below this stored weight a memory is stale; a contradicted one at twice of it, age included. Default of the setting."""

MOST_STALE_THRESHOLD = 0.5
"""A higher threshold would take away what is worth more than half: it is refused."""

MemoryType = Literal[
    "note",
    "architectural_decision",
    "user_preference",
    "req_context",
    "lesson_learned",
    "task_outcome",
    "tool_log",
    "summary",
    "research",
]
"""The kind of statement; a string union, so that it survives a JSON round trip as a plain string."""

MEMORY_TYPES: frozenset[str] = frozenset(get_args(MemoryType))

MemoryStatus = Literal["pending", "approved", "verified"]
"""The state of an entry's review."""

MemoryScope = Literal["project", "user", "session", "agent"]
"""Who sees an entry: all agents of the project, this person in every project, one session, or one agent of the project."""

Trust = Literal["tool", "assistant", "task", "user", "spec"]
"""The trust in an entry, by its source: a tool's output, the agent, an approved task result, the user, a specification."""

TRUST_TIERS: Mapping[str, int] = {"tool": 0, "assistant": 1, "task": 2, "user": 3, "spec": 3}
"""A lower tier never supersedes a higher one; a user's word and a specification stand on one tier."""

UNKNOWN_TASK = "unknown"
"""The task id of what was remembered outside a task."""

_CHOICES: Mapping[str, Any] = {
    "type": MEMORY_TYPES,
    "status": frozenset(get_args(MemoryStatus)),
    "trust": frozenset(TRUST_TIERS),
    "scope": frozenset(get_args(MemoryScope)),
}
_TEXTS = ("content", "task_id", "contradiction_rule", "source", "speaker", "agent", "session_id")
_TIMES = ("created_at_ms", "contradicted_at_ms", "valid_from_ms", "valid_to_ms", "recorded_at_ms", "seq")


def heir_id(id: str) -> str:
    """Return the id of the memory that takes the place of another one, of which another session's words stay."""
    return f"m{hashlib.sha256(f'heir of {id}'.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Slot:
    """One statement in four normalised parts: in `scope`, the `relation` of `entity` is `value`.

    Args:
        entity: What it is about, as ``auth service``; empty for the project as a whole.
        relation: The property, as ``port``.
        value: Its value, as ``8080``.
        scope: Where it holds, as ``tests``; empty for everywhere.
    """

    entity: str
    relation: str
    scope: str
    value: str


@dataclass(frozen=True, slots=True, repr=False)
class MemoryEntry:
    """One remembered statement, with two times: when it holds, and when it was recorded.

    >>> with Session.open("run-4", home=home) as session:
    ...     entry = session.remember("Use SQLite for local runs", type="architectural_decision", source="design.md")
    >>> entry.content, entry.type, entry.pinned
    ('Use SQLite for local runs', 'architectural_decision', False)

    Args:
        id: Unique within its home; not empty.
        content: The text; not empty.
        type: One of `MEMORY_TYPES`.
        task_id: In which task it was remembered; `UNKNOWN_TASK` outside one.
        phase_index: Of that task, at least 0.
        task_index: The ordinal of that task, at least 0.
        created_at_ms: Unix milliseconds.
        decay_weight: Its stored weight without age, 0 to 1; age is applied at each search.
        contradicted_by_task_id: Task of the entry that superseded this one, or None.
        contradicted_by_entry_id: That entry, or None.
        contradicted_at_ms: When, or None.
        contradiction_rule: The rule that superseded it; empty if none did.
        pinned: Exempt from decay and never superseded.
        status: Of the review: pending, approved or verified.
        source: Document, tool or conversation it comes from; may be empty.
        speaker: Who said it; may be empty.
        trust: The trust in its source, one of `TRUST_TIERS`.
        scope: Who sees it. An entry of scope ``user`` belongs to no task, and has no age.
        agent: The agent it belongs to; an entry of scope ``agent`` needs it.
        session_id: The session it belongs to; an entry of scope ``session`` needs it.
        valid_from_ms: Since when it holds; left out: `created_at_ms`.
        valid_to_ms: Until when, this moment left out; None: it still holds.
        recorded_at_ms: When it became known; left out: `created_at_ms`.
        seq: Order of recording, at least 0; breaks ties of time.
        slots: What it states about keyed things.
        metadata: JSON values.

    Raises:
        InputError: A field has the wrong type or range; the message names the entry and the field.
    """

    id: str
    content: str
    type: MemoryType = "note"
    task_id: str = UNKNOWN_TASK
    phase_index: int = 0
    task_index: int = 0
    created_at_ms: int = 0
    decay_weight: float = 1.0
    contradicted_by_task_id: str | None = None
    contradicted_by_entry_id: str | None = None
    contradicted_at_ms: int | None = None
    contradiction_rule: str = ""
    pinned: bool = False
    status: MemoryStatus = "pending"
    source: str = ""
    speaker: str = ""
    trust: Trust = "assistant"
    scope: MemoryScope = "project"
    agent: str = ""
    session_id: str = ""
    valid_from_ms: int = -1
    valid_to_ms: int | None = None
    recorded_at_ms: int = -1
    seq: int = 0
    slots: tuple[Slot, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise InputError(f"memory id must be a text that is not empty, not {self.id!r}")
        for name in ("valid_from_ms", "recorded_at_ms"):
            if getattr(self, name) == -1:
                object.__setattr__(self, name, self.created_at_ms)
        problem = _problem(self)
        if problem:
            raise InputError(f"memory {self.id[:100]!r}: {problem}")
        object.__setattr__(self, "metadata", dict(self.metadata))

    def __repr__(self) -> str:
        state = ["pinned"] if self.pinned else []
        state += ["superseded"] if self.is_contradicted else []
        parts = [quoted(self.content, 50), f"type={quoted(self.type)}", f"id={quoted(self.id, 24)}", *state]
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def is_contradicted(self) -> bool:
        """True if a later statement superseded this one, by either of its two fields."""
        return self.contradicted_by_task_id is not None or self.contradicted_by_entry_id is not None

    @property
    def task_position(self) -> tuple[int, int]:
        """Phase and task, in the order of a run."""
        return self.phase_index, self.task_index


def reopened(entry: MemoryEntry) -> MemoryEntry:
    """Return a memory that nothing supersedes and that has no end."""
    return replace(
        entry,
        contradicted_by_task_id=None,
        contradicted_by_entry_id=None,
        contradicted_at_ms=None,
        contradiction_rule="",
        valid_to_ms=None,
    )


@dataclass(frozen=True, slots=True, repr=False)
class ScoredMemoryEntry:
    """A hit: an entry and its score for one question at one time. Never stored.

    >>> with Session.open("run-5", home=home) as session:
    ...     _ = session.remember("The login service runs on port 8080")
    ...     hits = session.search("port of the login service", k=1)
    >>> hits[0].entry.content, 0 <= hits[0].decayed_score <= 1
    ('The login service runs on port 8080', True)

    Args:
        entry: The entry.
        raw_score: 0 to 1, before decay; what is beyond is cut off, NaN counts as 0.
        decayed_score: After decay; 0 until it is computed.
        why: The parts of the score by name; JSON values.
    """

    entry: MemoryEntry
    raw_score: float
    decayed_score: float = 0.0
    why: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("raw_score", "decayed_score"):
            value = getattr(self, name)
            clamped = min(1.0, float(value)) if value > 0 else 0.0  # NaN is not above 0
            object.__setattr__(self, name, clamped)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.decayed_score:.2f}, {self.entry!r})"


@dataclass(frozen=True, slots=True)
class RunContext:
    """The current task and phase of a session, for decay, and the agent that asks.

    `rewind_point`: the last operation that is to be seen; None: all of them.
    """

    session_id: str
    task_id: str = UNKNOWN_TASK
    phase_index: int = 0
    task_index: int = 0
    agent: str = "main"
    run_id: str = ""
    rewind_point: int | None = None


def _problem(entry: MemoryEntry) -> str:
    """Return what is wrong with an entry, or an empty text."""
    for name in _TEXTS:
        if not isinstance(getattr(entry, name), str):
            return f"{name} must be a text, not {type(getattr(entry, name)).__name__}"
    for name, choices in _CHOICES.items():
        value = getattr(entry, name)
        if not isinstance(value, str) or value not in choices:
            return f"{name} must be one of {', '.join(sorted(choices))}, not {str(value)[:100]!r}"
    for name in ("phase_index", "task_index", *_TIMES):
        value = getattr(entry, name)
        if not (value is None and name in ("contradicted_at_ms", "valid_to_ms")) and not _is_count(value):
            return f"{name} must be an integer of at least 0, not {value!r}"
    for name in ("contradicted_by_task_id", "contradicted_by_entry_id"):
        if getattr(entry, name) is not None and not isinstance(getattr(entry, name), str):
            return f"{name} must be a text or None, not {type(getattr(entry, name)).__name__}"
    if entry.contradicted_by_entry_id == entry.id:
        return "an entry cannot contradict itself"
    return _problem_of_values(entry)


def _problem_of_values(entry: MemoryEntry) -> str:
    if not entry.content.strip():
        return "content must not be empty"
    weight = entry.decay_weight
    if type(weight) not in (int, float) or not 0 <= weight <= 1:  # NaN fails every comparison
        return f"decay_weight must be a number from 0 to 1, not {weight!r}"
    if entry.valid_to_ms is not None and entry.valid_to_ms < entry.valid_from_ms:
        return f"valid_to_ms={entry.valid_to_ms} must not be before valid_from_ms={entry.valid_from_ms}"
    if entry.scope in ("agent", "session") and not (entry.agent if entry.scope == "agent" else entry.session_id):
        return f"scope {entry.scope} needs the {'agent' if entry.scope == 'agent' else 'session_id'} that it belongs to"
    if not isinstance(entry.metadata, Mapping):
        return f"metadata must be a mapping, not {type(entry.metadata).__name__}"
    if not isinstance(entry.slots, tuple) or not all(isinstance(one, Slot) for one in entry.slots):
        return "slots must be a tuple of Slot"
    return ""


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63
