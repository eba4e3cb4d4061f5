"""What the dictionary store holds: of each session its log, and what was active right after each operation.

Law: a state is never changed once its operation is done. Going back in time is taking an earlier state again.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from undrift.errors import InputError
from undrift.stores.base import Document, Mark, Operation
from undrift.values.facts import FactVersion
from undrift.values.memory import MemoryEntry
from undrift.values.readings import StretchReading
from undrift.values.window import Decision, Original, Tag, Task

__all__ = ["Event", "Home", "Session", "State", "Where", "as_json", "integer"]

Where = tuple[str, tuple[str, ...]]
"""Kind and path of a document."""


@dataclass
class State:
    """What is active in a session. An original that left a window is always: it is an archive.

    Args:
        counted: Operations that count: those that no rewinding took back.
        originals: References of pins and of entries in a buffer.
        decisions: By entry and by the message at which they were taken.
        tasks: By id.
        tags: By call.
        facts: By sequence.
        documents: By kind and path.
    """

    counted: dict[int, None] = field(default_factory=dict)
    originals: dict[str, Original] = field(default_factory=dict)
    decisions: dict[tuple[str, str], Decision] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    tags: dict[str, Tag] = field(default_factory=dict)
    facts: dict[int, FactVersion] = field(default_factory=dict)
    documents: dict[Where, Document] = field(default_factory=dict)

    def copied(self) -> Self:
        return replace(self, **{one.name: dict(getattr(self, one.name)) for one in fields(self)})


@dataclass
class Session:
    """All that one session has.

    Args:
        log: Its operations.
        past: Sequence number to what was active right after the operation.
        now: What is active.
        archive: Reference to number and original, active or not.
        runs: Name to record of a dispatched run.
        marks: Text to mark, and when it was left.
        readings: What was read of histories, oldest first.
        made: Ids of tasks, in the order in which they were first made.
        ordinals: How many tasks were taken up.
        sequences: How many versions of facts there were.
        facts_at: The operation that last changed a fact.
    """

    log: list[Operation] = field(default_factory=list)
    past: dict[int, State] = field(default_factory=dict)
    now: State = field(default_factory=State)
    archive: dict[str, tuple[int, Original]] = field(default_factory=dict)
    runs: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, tuple[int, Mark]] = field(default_factory=dict)
    readings: list[StretchReading] = field(default_factory=list)
    made: dict[str, None] = field(default_factory=dict)
    ordinals: int = 0
    sequences: int = 0
    facts_at: int = 0

    def copied(self) -> Self:
        parts = ("log", "past", "archive", "runs", "marks", "readings", "made")
        return replace(self, now=self.now.copied(), **{name: copy.copy(getattr(self, name)) for name in parts})

    @property
    def last(self) -> int:
        return self.log[-1].seq if self.log else 0

    def until(self, seq: int | None) -> int:
        """Return the newest operation up to a number."""
        return max((one.seq for one in self.log if seq is None or one.seq <= seq), default=0)

    def then(self, seq: int | None) -> State:
        """Return what was active right after an operation; None: what is."""
        return self.now if seq is None else self.past.get(self.until(seq), State())


@dataclass(frozen=True)
class Event:
    """One change of a memory: by which operation of which session, and what it became; None: it was taken out of sight."""

    session: str
    seq: int
    id: str
    entry: MemoryEntry | None


@dataclass
class Home:
    """All that is kept of one scope.

    Args:
        sessions: By id.
        order: Session and number of every operation, in the order in which they were written.
        events: Changes of memories, likewise.
        lines: What is searched, by id of the memory.
        vectors: By embedder and id of the memory.
        numbers: How many numbers were given out to originals, documents and marks.
    """

    sessions: dict[str, Session] = field(default_factory=dict)
    order: list[tuple[str, int]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    lines: dict[str, Any] = field(default_factory=dict)
    vectors: dict[tuple[str, str], Any] = field(default_factory=dict)
    numbers: int = 0

    def of(self, session_id: str) -> Session:
        return self.sessions.get(session_id, Session())

    def drafted(self, session_id: str) -> tuple["Home", Session]:
        """Return a copy to write into, with the session in it: what fails leaves nothing."""
        draft = replace(
            self,
            sessions=dict(self.sessions),
            order=list(self.order),
            events=list(self.events),
            lines=dict(self.lines),
            vectors=dict(self.vectors),
        )
        session = draft.sessions[session_id] = self.of(session_id).copied()
        return draft, session

    def adopt(self, draft: "Home") -> None:
        vars(self).update(vars(draft))

    def number(self) -> int:
        self.numbers += 1
        return self.numbers


def integer(name: str, value: Any) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise InputError(f"{name}: not an integer of 64 bits")
    return value


def as_json(value: Any, name: str) -> Any:
    """Return a copy of JSON values, as they come back from anywhere."""

    def plain(one: object) -> object:
        if isinstance(one, Mapping):
            return dict(one)
        raise TypeError(type(one).__name__)

    try:
        return json.loads(json.dumps(value, default=plain, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {error}") from None
