"""Needed-reference survival: does a managed window still hold what the agent uses next? Pure.

The *needs* of an assistant message are the identifiers and lines of code in its texts and calls that the agent learned
from its environment (first seen in a user's text or in a result), that were mentioned at most `RARE_MENTIONS` times and
last more than `AGE_MESSAGES` messages ago. A need is held if the window contains it in a text of the history, or in a
line that stood in the history: a bag of names does not count. Thinking neither teaches nor needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from undrift.core.text.references import RARE_MENTIONS, Reference, lines_of, references_in
from undrift.errors import InputError, WindowError
from undrift.values.window import ContextEntry

__all__ = ["AGE_MESSAGES", "Need", "NeedKind", "Needs", "Survival", "SurvivalCount"]

AGE_MESSAGES = 20
"""A reference counts as a need only when its latest mention is more messages back than this."""

NeedKind = Literal["identifier", "line"]

_ROLES = ("user", "assistant", "system")
_KINDS = ("text", "thinking", "call", "result")


@dataclass(frozen=True, slots=True)
class Need:
    """One reference that an assistant message needs.

    Args:
        kind: ``identifier`` or ``line`` (a line of code).
        holder: Index, into the entries given to `Needs`, of the entry that mentioned it last.
    """

    kind: NeedKind
    text: str
    holder: int


@dataclass(frozen=True, slots=True)
class SurvivalCount:
    """Counts of the needs that were held, identifiers and lines of code apart; all at least 0."""

    identifiers_held: int
    identifiers: int
    lines_held: int
    lines: int

    @property
    def needs(self) -> int:
        """All needs."""
        return self.identifiers + self.lines

    @property
    def identifier_share(self) -> float:
        """Share of the identifiers that were held, in [0, 1]; 1.0 when none was needed."""
        return _share(self.identifiers_held, self.identifiers)

    @property
    def line_share(self) -> float:
        """Share of the lines of code that were held, in [0, 1]; 1.0 when none was needed."""
        return _share(self.lines_held, self.lines)

    @property
    def share(self) -> float:
        """Share of all needs that were held, in [0, 1]; 1.0 when there were none."""
        return _share(self.identifiers_held + self.lines_held, self.needs)


@dataclass(slots=True)
class _Mentions:
    """The state of one reference so far."""

    from_environment: bool
    last_message: int = 0
    holders: list[int] | None = None  # indices of entries; None once there are too many to matter


class Needs:
    """The needs of every assistant message of a recorded session.

    A system text is known from the start and always sent: what stands there first is no need.

    `entries`: the session in order. Metadata of each: ``role`` (user, assistant or system), ``kind`` (text, thinking,
    call or result) and ``message`` (the running number of its message, at least 0, never falling). Raises WindowError:
    metadata is missing or wrong; the message names the entry.
    """

    __slots__ = ("_by_message", "_entries", "_holders", "_messages")

    def __init__(self, entries: Sequence[ContextEntry]) -> None:
        self._entries: tuple[ContextEntry, ...] = tuple(entries)
        self._messages: list[int] = []
        self._by_message: dict[int, tuple[Need, ...]] = {}
        self._holders: dict[tuple[int, Reference], tuple[str, ...]] = {}
        _check(self._entries)
        seen: dict[Reference, _Mentions] = {}
        start = 0
        while start < len(self._entries):
            message = _message(self._entries[start])
            stop = start
            while stop < len(self._entries) and _message(self._entries[stop]) == message:
                stop += 1
            self._read(message, range(start, stop), seen)
            start = stop

    def of(self, message: int) -> tuple[Need, ...]:
        """Give the needs of one message, sorted by kind and text; empty if it has none."""
        return self._by_message.get(message, ())

    @property
    def messages(self) -> tuple[int, ...]:
        """The numbers of the messages that need something, ascending."""
        return tuple(self._by_message)

    @property
    def entries(self) -> tuple[ContextEntry, ...]:
        """The entries that were given."""
        return self._entries

    def holding_texts(self, message: int, need: Need) -> tuple[str, ...]:
        """Give the texts before a message that mention one of its needs; at most `RARE_MENTIONS`."""
        return self._holders[message, (need.kind, need.text)]

    def _read(self, message: int, indices: range, seen: dict[Reference, _Mentions]) -> None:
        """Find what one message needs, then learn what it mentions."""
        mentioned = [
            (index, references_in(self._entries[index].content)) for index in indices if _is_read(self._entries[index])
        ]
        needs: dict[Reference, Need] = {}
        for index, references in mentioned:
            if _field(self._entries[index], "role") != "assistant" or _field(self._entries[index], "kind") == "result":
                continue
            for reference in references:
                known = seen.get(reference)
                if known and known.from_environment and known.holders and message - known.last_message > AGE_MESSAGES:
                    needs[reference] = Need(*reference, holder=known.holders[-1])
                    self._holders[message, reference] = tuple(self._entries[holder].content for holder in known.holders)
        if needs:
            self._by_message[message] = tuple(needs[reference] for reference in sorted(needs))
        for index, references in mentioned:
            environment = _is_environment(self._entries[index])
            for reference in references:
                known = seen.get(reference)
                if known is None:
                    known = seen[reference] = _Mentions(environment, holders=[])
                known.last_message = message
                if known.holders is not None:
                    known.holders.append(index)
                    if len(known.holders) > RARE_MENTIONS:
                        known.holders = None


class Survival:
    """Count, message by message, which needs the windows of a replay still held.

    Linear in the window for a message with needs, constant for one without. Windows come in ascending order.
    """

    __slots__ = ("_counts", "_foreign", "_lines", "_needs", "_next", "_texts")

    def __init__(self, needs: Needs) -> None:
        self._needs = needs
        self._counts = {"identifier": [0, 0], "line": [0, 0]}  # held, all
        self._texts: set[str] = set()
        self._lines: set[str] = set()
        self._next = 0
        self._foreign: dict[str, _Foreign] = {}

    def observe(self, message_number: int, window_texts: Sequence[str]) -> tuple[Need, ...]:
        """Add what the window of one message holds. Returns the needs that the window lost, in the order of `Needs.of`.

        `message_number`: the assistant message that is answered with this window; never falling. Raises InputError: the
        message number is smaller than one before.
        """
        needs = self._needs.of(message_number)
        self._learn(message_number)
        if not needs:
            return ()
        window = set(window_texts)
        # Texts of the window that the history does not hold whole: tombstones, cut pastes, pins. Read once each.
        self._foreign = {text: self._foreign.get(text) or _Foreign(text) for text in window - self._texts}
        lost: list[Need] = []
        for need in needs:
            held = not window.isdisjoint(self._needs.holding_texts(message_number, need)) or any(
                text.holds(need, self._lines) for text in self._foreign.values()
            )
            count = self._counts[need.kind]
            count[0] += held
            count[1] += 1
            if not held:
                lost.append(need)
        return tuple(lost)

    @property
    def result(self) -> SurvivalCount:
        """The counts so far."""
        return SurvivalCount(*self._counts["identifier"], *self._counts["line"])

    def _learn(self, message_number: int) -> None:
        """Take the entries before a message into the history."""
        entries = self._needs.entries
        if self._next and message_number <= _message(entries[self._next - 1]):
            raise InputError(f"windows must come in order: message {message_number} follows a later one")
        while self._next < len(entries) and _message(entries[self._next]) < message_number:
            entry = entries[self._next]
            self._next += 1
            if _is_read(entry) and entry.content not in self._texts:
                self._texts.add(entry.content)
                self._lines.update(lines_of(entry.content))


class _Foreign:
    """A text of a window that did not stand in the history as a whole: what it mentions, and in which lines."""

    __slots__ = ("_lines", "_references")

    def __init__(self, text: str) -> None:
        self._references = references_in(text)
        self._lines = tuple(lines_of(text))

    def holds(self, need: Need, history_lines: set[str]) -> bool:
        """Say whether a line that stood in the history brings the need."""
        return (need.kind, need.text) in self._references and any(
            need.text in line and line in history_lines for line in self._lines
        )


def _check(entries: Sequence[ContextEntry]) -> None:
    """Refuse entries without the metadata that the measure stands on."""
    before = 0
    for entry in entries:
        if _field(entry, "role") not in _ROLES:
            raise WindowError(f"entry {entry.id!r}: metadata 'role' must be one of {_ROLES}")
        if _field(entry, "kind") not in _KINDS:
            raise WindowError(f"entry {entry.id!r}: metadata 'kind' must be one of {_KINDS}")
        number = _field(entry, "message")
        if type(number) is not int or number < before:
            raise WindowError(f"entry {entry.id!r}: metadata 'message' must be an integer of at least {before}")
        before = number


def _field(entry: ContextEntry, name: str) -> object:
    return entry.metadata.get(name) if entry.metadata else None


def _message(entry: ContextEntry) -> int:
    number = _field(entry, "message")
    assert isinstance(number, int)  # _check has seen every entry
    return number


def _is_read(entry: ContextEntry) -> bool:
    return _field(entry, "kind") != "thinking"


def _is_environment(entry: ContextEntry) -> bool:
    kind = _field(entry, "kind")
    return kind == "result" or (kind == "text" and _field(entry, "role") == "user")


def _share(held: int, needed: int) -> float:
    return held / needed if needed else 1.0
