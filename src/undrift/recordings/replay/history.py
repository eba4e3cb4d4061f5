"""Builds from a recording the history that its client would have sent without any compaction. Pure.

The client's own compactions are undone: their summaries and the files that they attached again are left out and
counted, as what was summarised stands in the recording whole. `ReplayedHistory.restarts` has them. Thinking is left out as well: most recordings hold no
signature that a provider would take. A call without its result, or a result without its call, stays out; the reader counts it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from undrift.transcripts import Recording
from undrift.values.window import ContextEntry

__all__ = [
    "ATTACHED_AGAIN",
    "ReplayedHistory",
    "Restart",
    "SUMMARY",
    "THINKING",
    "TOO_EARLY",
    "history_of",
    "metadata_of",
]

THINKING = "thinking"
SUMMARY = "summary of the client's own compaction"
ATTACHED_AGAIN = "attached again after the client's own compaction"
TOO_EARLY = "before the user's first message"
_EMPTY = "empty text"


@dataclass(frozen=True, slots=True)
class Restart:
    """One compaction of the client's own: its place in the history, and the entries that the client put in.

    Args:
        index: Its index among the entries of the recording.
        messages: The messages of the history before it.
        blocks: The blocks that the last of them had then.
    """

    index: int
    messages: int
    blocks: int
    put_in: list[ContextEntry] = field(default_factory=list)


@dataclass(slots=True)
class ReplayedHistory:
    """Messages that a provider accepts, and the recorded entry behind each block.

    Args:
        messages: Of the Anthropic form: user first, roles in turn, every call answered in the very next message.
        left_out: Reason -> entries that are not replayed, beside those that the reader has counted.
        restarts: The client's own compactions after the agent's first word, in order.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    entries: list[list[ContextEntry]] = field(default_factory=list)
    system: list[ContextEntry] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    restarts: list[Restart] = field(default_factory=list)

    @property
    def turns(self) -> tuple[int, ...]:
        """The numbers of the agent's messages, ascending."""
        return tuple(number for number, message in enumerate(self.messages) if message["role"] == "assistant")

    @property
    def numbered(self) -> Iterator[ContextEntry]:
        """Every entry in order, with the metadata that `undrift.core.autopsy.survival.Needs` asks for."""
        for entry in self.system:
            yield replace(entry, metadata={"role": "system", "kind": "text", "message": 0})
        for number, (message, entries) in enumerate(zip(self.messages, self.entries, strict=True)):
            for entry in entries:
                kind = metadata_of(entry, "kind")
                kind = kind if kind in ("call", "result") else "text"
                yield replace(entry, metadata={"role": message["role"], "kind": kind, "message": number})


def metadata_of(entry: ContextEntry, name: str) -> Any:
    """Return one value of an entry's metadata. None means: it has no such value."""
    return entry.metadata.get(name) if entry.metadata else None


def history_of(recording: Recording) -> ReplayedHistory:
    """Build the history of a recording; it may be empty, or have no message of the agent."""
    builder = _Builder(recording)
    for index, entry in enumerate(recording.entries):
        builder.take(index, entry)
    builder.answer()
    return builder.history


class _Builder:
    """Goes through the entries once."""

    def __init__(self, recording: Recording) -> None:
        self.history = ReplayedHistory()
        self._results = {e.pair_id: e for e in recording.entries if e.pair_id and metadata_of(e, "kind") == "result"}
        self._compactions = frozenset(recording.compactions)
        self._compacting = False
        self._spoken = False  # whether the agent has said anything yet
        self._waiting: list[ContextEntry] = []
        self._number: Any = None

    def take(self, index: int, entry: ContextEntry) -> None:
        """Add an entry to its message, or count it as skipped."""
        role, kind = metadata_of(entry, "role"), metadata_of(entry, "kind")
        if metadata_of(entry, "message") != self._number:
            self.answer()
            self._number = metadata_of(entry, "message")
        if index in self._compactions and self._spoken:
            messages = self.history.messages
            self.history.restarts.append(Restart(index, len(messages), len(messages[-1]["content"])))
        self._compacting = (self._compacting or index in self._compactions) and role != "assistant"
        if (reason := self._refused(entry, role, kind)) is not None:
            self.history.left_out[reason] += 1
            if self._compacting and reason in (SUMMARY, ATTACHED_AGAIN) and self.history.restarts:
                self.history.restarts[-1].put_in.append(entry)
        elif role == "system" and not self._spoken:
            self.history.system.append(entry)
        elif kind == "call":
            self._call(entry)
        elif kind != "result":  # a result stands with its call
            self._put("assistant" if role == "assistant" else "user", entry, {"type": "text", "text": entry.content})

    def _refused(self, entry: ContextEntry, role: Any, kind: Any) -> str | None:
        if kind == "thinking":
            return THINKING
        if role == "assistant" and not self.history.messages:
            return TOO_EARLY
        if kind not in ("call", "result") and not entry.content.strip():
            return _EMPTY
        if not self._spoken:  # a file that opens with a summary: nothing else is left of what was before
            return None
        if entry.type == "summary":
            return SUMMARY
        if self._compacting and metadata_of(entry, "attachment") and metadata_of(entry, "meta"):
            return ATTACHED_AGAIN
        return None

    def _call(self, entry: ContextEntry) -> None:
        result = self._results.get(entry.pair_id or "")
        if result is None:
            return
        name = metadata_of(entry, "tool_name") or "unknown"
        given = metadata_of(entry, "input") or {}
        self._put("assistant", entry, {"type": "tool_use", "id": entry.pair_id, "name": name, "input": given})
        self._waiting.append(result)

    def answer(self) -> None:
        """Add the results of the last message directly after it."""
        for entry in self._waiting:
            block = {"type": "tool_result", "tool_use_id": entry.pair_id, "content": entry.content}
            self._put("user", entry, {**block, "is_error": True} if metadata_of(entry, "is_error") else block)
        self._waiting.clear()

    def _put(self, role: Literal["user", "assistant"], entry: ContextEntry, block: dict[str, Any]) -> None:
        """Add a block to the last message, or to a new one where that is the other's."""
        history = self.history
        if not history.messages or history.messages[-1]["role"] != role:
            history.messages.append({"role": role, "content": []})
            history.entries.append([])
        history.messages[-1]["content"].append(block)
        history.entries[-1].append(entry)
        self._spoken = self._spoken or role == "assistant"
