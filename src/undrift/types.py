"""The values that travel between the floors. Frozen; valid from construction on.

Timestamps are Unix milliseconds, sizes are tokens unless a name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from undrift.errors import WindowError

__all__ = [
    "Action",
    "ContextEntry",
    "Decision",
    "ENTRY_TYPES",
    "EntryType",
    "MaskedSpan",
    "Original",
    "PINNED_TYPES",
    "Prepared",
]

EntryType = Literal["tas", "requirements", "reasoning", "tool_result", "spec", "summary"]
"""A string union, not an enum, so that it survives a JSON round trip as a plain string (R2-03)."""

ENTRY_TYPES: frozenset[str] = frozenset(get_args(EntryType))

PINNED_TYPES: frozenset[str] = frozenset({"tas", "requirements", "spec"})
"""Types that no budget ever removes; a new pinned type is one edit here (R2-06, [3_MCP-RISK-303])."""


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """One entry of a context window.

    Args:
        id: Unique within its window; not empty.
        type: One of `ENTRY_TYPES`.
        content: The text; may be empty.
        token_count: Tokens of `content`, at least 0.
        timestamp: Unix milliseconds, at least 0.
        metadata: JSON values. Known keys: ``role``, ``pair_id`` (a call and its result share it), ``tool_name``,
            ``slot`` (a pinned document's name: a newer version supersedes the older), ``task_id``.
        seq: Order of insertion; breaks ties of `timestamp`. Entries with equal `seq` keep their order in the list. No
            part of an entry's identity: it does not count for equality.

    Raises:
        WindowError: A field has the wrong type or range; the message names the entry and the field.

    Source: R2-01 to R2-03, A0-2, A2-6.
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

    @property
    def pair_id(self) -> str | None:
        """What a call and its result share, or None."""
        value = self.metadata.get("pair_id") if self.metadata else None
        return value if isinstance(value, str) and value else None


@dataclass(frozen=True, slots=True)
class MaskedSpan:
    """A secret that was masked before the first write: its kind and where it stood in the original, in characters."""

    name: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Action:
    """What was done to one block of the window, and why.

    Args:
        kind: ``pruned`` (left whole), ``cut`` (middle of a long paste left) or ``pinned`` (a pin was put in).
        entry_id: The block's id, stable across turns and restarts.
        reason: One sentence for a human.
        tokens_saved: What it frees in each window from now on; negative for a pin.
        ref: What `recall` takes; empty where there is nothing to recall.
    """

    kind: Literal["pruned", "cut", "pinned"]
    entry_id: str
    reason: str
    tokens_saved: int
    ref: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A provider body that fits, and what was done to make it fit.

    Args:
        body: What to send: the type that was given, and the very same object when nothing changed.
        tokens_before: All that came in, system and tools included.
        tokens_after: All that is to be sent.
        budget_tokens: The budget that was in force.
        actions: One per block that left or changed, re-applied ones included, in the order of the window.
        headers: HTTP headers that must go with the edited body.
        warnings: Sentences for a human; empty when all is well.
    """

    body: Any
    tokens_before: int
    tokens_after: int
    budget_tokens: int
    actions: tuple[Action, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What the engine decided about one block, once and for good: it is re-applied on every later turn.

    Args:
        entry_id: The block, or for ``pinned`` the place: ``<message>:<pin>``.
        kind: As in `Action`.
        reason: One sentence for a human.
        tokens_saved: As in `Action`.
        ref: As in `Action`.
        detail: ``at``, the chain id of the newest message when it was taken: it holds in every history that contains
            that message, and in no other. Beside it JSON values that the act needs again (``keep_head`` and ``keep_tail`` in characters of a cut, the
            ``anchor`` and ``pin`` of a pin) and the figures behind the decision (for ``why``). Never content.
    """

    entry_id: str
    kind: Literal["pruned", "cut", "pinned"]
    reason: str
    tokens_saved: int
    ref: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Original:
    """An entry as the store keeps it: secrets masked, found again by `ref`.

    Args:
        ref: Opaque, unique over all sessions of a home: 16 characters of ``[0-9a-f]``.
        session_id: The session it belongs to.
        source: ``buffer`` (an entry of a `TieredMemoryManager`), ``window`` (a block of a provider body) or ``pin``.
        entry: The entry; `entry.content` is what is stored and hashed.
        masked: What was masked before the write; positions refer to the unmasked text.
    """

    ref: str
    session_id: str
    source: Literal["buffer", "window", "pin"]
    entry: ContextEntry
    masked: tuple[MaskedSpan, ...] = ()
