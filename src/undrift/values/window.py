"""The values that travel between the floors. Frozen; valid from construction on.

Timestamps are Unix milliseconds, sizes are tokens unless a name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from undrift.errors import TaskError, WindowError
from undrift.values.shown import quoted, saved

__all__ = [
    "Action",
    "ContextEntry",
    "Decision",
    "ENTRY_TYPES",
    "Edit",
    "EntryType",
    "Item",
    "MaskedSpan",
    "Moment",
    "Original",
    "PINNED_TYPES",
    "Segment",
    "SegmentEnd",
    "Sent",
    "TASK_STATUSES",
    "Tag",
    "Task",
    "TaskStatus",
    "TaskUpdate",
    "Tasks",
]

EntryType = Literal["tas", "requirements", "reasoning", "tool_result", "spec", "summary"]
"""A string union, not an enum, so that it survives a JSON round trip as a plain string."""

ENTRY_TYPES: frozenset[str] = frozenset(get_args(EntryType))

PINNED_TYPES: frozenset[str] = frozenset({"tas", "requirements", "spec"})
"""Types that no budget ever removes; a new pinned type is one edit here."""

TaskStatus = Literal["pending", "in_progress", "completed", "delegated", "cancelled"]
"""A string union, like `EntryType`."""

TASK_STATUSES: tuple[str, ...] = get_args(TaskStatus)

SegmentEnd = Literal["", "pending", "stacked", "completed", "delegated", "cancelled"]
"""How a segment ended: not yet, by its task's new status, or by another task that was put on top of it."""


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """One entry of a context window.

    Args:
        id: Unique within its window; not empty.
        type: One of `ENTRY_TYPES`.
        content: The text; may be empty.
        token_count: Tokens of `content`, at least 0.
        timestamp: Unix milliseconds, at least 0.
        metadata: JSON values, or None. These keys have a meaning:

            - ``role``: who wrote it
            - ``pair_id``: the same id in a call and its result
            - ``tool_name``: the tool of a call or a result
            - ``slot``: the name of a pinned document; a newer version supersedes the older one
            - ``task_id``: the task that it belongs to
        seq: Order of insertion; breaks ties of `timestamp`. Entries with equal `seq` keep their order in the list. No
            part of an entry's identity: it does not count for equality.

    Raises:
        WindowError: A field has the wrong type or range; the message names the entry and the field.
    """

    id: str
    type: EntryType
    content: str
    token_count: int
    timestamp: int
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    seq: int = field(default=0, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise WindowError(f"entry id must be a non-empty string, not {self.id!r}")
        if self.type not in ENTRY_TYPES:
            raise WindowError(f"entry {self.id!r}: type must be one of {sorted(ENTRY_TYPES)}, not {self.type!r}")
        if not isinstance(self.content, str):
            raise WindowError(f"entry {self.id!r}: content must be a string, not {type(self.content).__name__}")
        for name in ("token_count", "timestamp", "seq"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:  # bool and NaN are refused as well
                raise WindowError(f"entry {self.id!r}: {name} must be an integer of at least 0, not {value!r}")
        if self.metadata is not None and not isinstance(self.metadata, Mapping):
            raise WindowError(f"entry {self.id!r}: metadata must be a mapping, not {type(self.metadata).__name__}")
        if self.metadata is not None:  # a copy: what the caller does with its own is no concern of the window
            object.__setattr__(self, "metadata", dict(self.metadata))

    def meta(self, name: str) -> Any:
        """Return a value of `metadata`, or None."""
        return self.metadata.get(name) if self.metadata else None

    @property
    def what(self) -> str:
        """The text's kind for a person, such as ``result of Read`` or ``text of the user``."""
        kind, role = self.meta("kind"), self.meta("role")
        if kind == "result" or self.type == "tool_result":
            return f"result of {self.meta('tool_name') or 'a tool'}"
        if kind == "call":
            return f"call of {self.meta('tool_name') or 'a tool'}"
        return {"user": "text of the user", "assistant": "text of the agent"}.get(str(role), self.type)

    @property
    def pair_id(self) -> str | None:
        """The id that a call and its result share, or None."""
        value = self.metadata.get("pair_id") if self.metadata else None
        return value if isinstance(value, str) and value else None


@dataclass(frozen=True, slots=True)
class MaskedSpan:
    """A secret that was masked before the first write: its kind and where it stood in the original, in characters."""

    name: str
    start: int
    length: int


@dataclass(frozen=True, slots=True, repr=False)
class Action:
    """A change of one block of the window, with its reason.

    >>> Action("pruned", "m1.0", "pruned to 45,000 tokens", tokens_saved=1_200, ref="0123456789abcdef").kind
    'pruned'

    Args:
        kind: One of these:

            - ``pruned``: it left whole
            - ``cut``: the middle of a long paste left
            - ``trimmed``: lines of a result left
            - ``folded``: the noise of a result left
            - ``evicted``: its task has ended, and a tombstone takes its place
            - ``pinned``, ``noted``: a pin or a note was added
            - ``purged``, ``swept``: it left, and its original is destroyed; only in `Prepared.gone`
        entry_id: The block's id, stable across turns and restarts.
        reason: One sentence for a human.
        tokens_saved: What it frees in each window from now on; negative for a pin and a note. In the provider's tokens
            once it has reported some.
        ref: The reference for `Session.recall` and `Session.why`; of a destroyed original, `Session.recall` says when.
        what: The block for a person, such as ``result of Read src/app.py`` or ``text of the agent``. A call leaves with
            its result, as two actions, the call first. Empty for a pin and a note, and for a block that left before
            this process began.
    """

    kind: Literal["pruned", "cut", "trimmed", "folded", "evicted", "pinned", "noted", "purged", "swept"]
    entry_id: str
    reason: str
    tokens_saved: int
    ref: str
    what: str = field(default="", compare=False)

    def __repr__(self) -> str:
        about = (quoted(self.what),) if self.what else ()
        parts = (
            quoted(self.kind),
            *about,
            saved(self.tokens_saved),
            f"ref={quoted(self.ref)}",
            quoted(self.reason, 50),
        )
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Edit:
    """The edit of one block: `text` replaces it; None removes it.

    Args:
        text: Of the same side of the conversation; a result keeps its place and its call.
        is_tombstone: Whether it replaces the whole block: thinking becomes a text, and where the provider wants
            a signature on it, it has that of its item.
    """

    text: str | None = None
    is_tombstone: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the client's history, unchanged: a message, a content, an input item.

    `role`: ``user``, ``assistant`` (the model), ``system``, ``tool``, or what was given. `is_replaced`: whether the
    provider drops it for a compaction of its own that stands after it. Then it has no entries, costs nothing and is
    sent unchanged.
    """

    number: int
    id: str
    role: str
    entries: tuple[ContextEntry, ...]
    tokens: int
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about one block; it is made one time and applied again on every later turn.

    Args:
        entry_id: The block; for ``pinned`` and ``noted`` the place: ``<message>:<pin>``.
        reason: One sentence for a human.
        kind: As in `Action`.
        tokens_saved: As in `Action`.
        ref: As in `Action`.
        detail: ``at``, the chain id of the newest message when it was made: it holds in every history that contains
            that message, and in no other. The other JSON values are for the same act on later turns, and the figures
            behind the decision. Never content:

            - ``keep_head``, ``keep_tail``: characters that a cut keeps
            - ``rules``: places of rules between them that it keeps as well
            - ``rows``: lines that a trimmed result keeps
            - ``fold``: how a result is folded
            - ``anchor``, ``pin``: the place of a pin
            - ``text``: a tombstone or a note
            - ``gone``, ``gone_ref``: of a destroyed original: ``purged`` or ``swept``, and the reference that it had
    """

    entry_id: str
    kind: Literal["pruned", "cut", "trimmed", "folded", "evicted", "pinned", "noted"]
    reason: str
    tokens_saved: int
    ref: str
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_about_our_text(self) -> bool:
        """True if it is about a pin or a note of ours, not about a block of the client."""
        return ":" in self.entry_id


@dataclass(frozen=True, slots=True)
class Sent:
    """The parts that replace an edited item.

    `rewritten_at`: number of the history's newest item when something of it was last rewritten; -1 for never. `destroyed`:
    the number of its blocks whose originals are destroyed; `actions` does not count them.
    """

    entries: tuple[ContextEntry, ...]
    edits: Mapping[int, Edit]
    appended: tuple[str, ...]
    actions: int
    tokens: int
    rewritten_at: int
    destroyed: int = 0


@dataclass(frozen=True, slots=True)
class Original:
    """A stored entry, with secrets masked; `ref` finds it.

    Args:
        ref: Opaque, unique over all sessions of a home: 16 characters of ``[0-9a-f]``.
        entry: Its text with its type, time and metadata.
        source: ``buffer`` (an entry of a `TieredMemoryManager`), ``window`` (a block of a provider body) or ``pin``.
        masked: What was masked before the write; positions refer to the unmasked text.
    """

    ref: str
    session_id: str
    source: Literal["buffer", "window", "pin"]
    entry: ContextEntry
    masked: tuple[MaskedSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """A place in a history: the chain id of its newest item at that time, and how many items there were, for display.

    The id is empty before the first item..
    """

    id: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a history in which the agent worked on one task.

    Args:
        start: The item at which it began. The items after this one belong to the segment.
        end: The item at which it ended; None while it is open. This item and the later ones do not belong to it.
            Both ends are left out, so the calls that start and end a task stay.
        ended: How it ended; ``stacked``: another task was put on top of it.
        summary: The summary with which it ended.
    """

    start: Moment
    end: Moment | None = None
    ended: SegmentEnd = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a session, as its agents reported it.

    >>> with Session.open("run-3", home=home) as session:
    ...     _ = session.start_task("fix-login", content="Fix the login")
    ...     _ = session.complete_task("fix-login", result_summary="The token had expired; it is renewed now.")
    ...     task = session.tasks()[0]
    >>> task.id, task.status
    ('fix-login', 'completed')

    Args:
        id: As the agent named it; any text that is not empty, unique within its session.
        content: The work to do.
        active_form: The same as an activity, as in "Fixing the parser"; may be empty.
        status: One of `TASK_STATUSES`.
        agent: The agent that works on it.
        acceptance_criteria: The criteria for its result; its summary is judged by them.
        grounding: How the result is to be confirmed: JSON values with ``strategy`` and ``evidence_required``, or None.
        grounding_evidence: How it was confirmed: JSON values, or None.
        result_summary: What was found and done; empty until the task is completed.
        annotated_summary: The same with the verdict on it; a tombstone shows it.
        delegated_to: The agent that continues it, if `status` is ``delegated``.
        ordinal: 1 for the session's first task that started, and so on; the store assigns it, 0 until then.
        phase_index: The phase of the work that it belongs to, at least 0.
        depth: In progress: 1, or more on top of other tasks of the same agent; else 0.
        segments: The stretches of work on it, oldest first; all but the last have an end.
        validation: The verdict on its summary as JSON values; None until it is judged.

    Raises:
        TaskError: A field has the wrong type or range.
    """

    id: str
    content: str = ""
    active_form: str = ""
    status: TaskStatus = "pending"
    agent: str = "main"
    acceptance_criteria: tuple[str, ...] = ()
    grounding: Mapping[str, Any] | None = field(default=None, hash=False)
    grounding_evidence: Mapping[str, Any] | None = field(default=None, hash=False)
    result_summary: str = ""
    annotated_summary: str = ""
    delegated_to: str = ""
    ordinal: int = 0
    phase_index: int = 0
    depth: int = 0
    segments: tuple[Segment, ...] = ()
    validation: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        for name in ("id", "agent"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise TaskError(f"a task's {name} must be a text that is not empty, not {value!r}")
        if self.status not in TASK_STATUSES:
            raise TaskError(f"task {self.id!r}: status must be one of {', '.join(TASK_STATUSES)}, not {self.status!r}")

    @property
    def is_worked_on(self) -> bool:
        """True if the task has an open segment; an agent has at most one such task."""
        return bool(self.segments) and self.segments[-1].end is None


@dataclass(frozen=True, slots=True)
class Tag:
    """The task of a tool call, and the segment in which it was made: `segment` indexes `Task.segments`."""

    call_id: str
    task_id: str
    segment: int


@dataclass(frozen=True, slots=True)
class Tasks:
    """All tasks of a session in the order in which they were made, by id, and the tag of each tagged call, by call id."""

    by_id: Mapping[str, Task] = field(default_factory=dict, hash=False)
    tags: Mapping[str, Tag] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class TaskUpdate:
    """A task before (None: there was none) and after a change; a store writes it only if it still holds `before`."""

    before: Task | None
    after: Task
