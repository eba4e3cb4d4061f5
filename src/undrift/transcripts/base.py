"""The values of every reader of recorded sessions. Pure: no I/O, no clock; a reader turns lines into a `Recording`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from undrift.values.window import ContextEntry, EntryType

__all__ = ["Kind", "Part", "Reader", "RecordedBlock", "Recording", "Role", "Skip"]

Role = Literal["user", "assistant", "system"]
Kind = Literal["text", "thinking", "call", "result", "image", "summary", "other"]


@dataclass(frozen=True, slots=True)
class Recording:
    """The content of one session file, in the order in which the provider saw it.

    Args:
        entries: One per block; message numbers and timestamps never run backwards.
        skipped: Reason -> how many records, blocks or parts of a block did not become (part of) an entry.
        model: The model most often named by the session; the later of equals; None if none is named.
        compactions: Ascending indices into `entries`: before that entry the client compacted. May be 0 (the file opens
            with a compaction) and ``len(entries)`` (the compaction is the last thing recorded).
        unfinished: The last line was cut: the session is being written, or its writer was killed.
    """

    format: str
    entries: tuple[ContextEntry, ...]
    skipped: Mapping[str, int]
    model: str | None
    session_id: str | None
    cwd: str | None
    compactions: tuple[int, ...]
    unfinished: bool

    @property
    def title(self) -> str:
        """The last part of the folder and the user's first words, on one line; empty if the file has neither."""
        folder = (self.cwd or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
        texts = (entry.content.strip() for entry in self.entries if _is_of_user(entry))
        words = next((text for text in texts if text and not text.startswith(_NOT_THE_USERS)), "")
        return " · ".join(filter(None, (folder, " ".join(_beginning(words).split()))))


def _beginning(words: str) -> str:
    """Return the first words, without the beginning of one: half of a secret would not be known for one."""
    short = words[:_TITLE_CHARACTERS]
    if len(words) <= len(short) or words[len(short)].isspace() or short[-1].isspace():
        return short
    whole, _, rest = short.rpartition(" ")
    return short if not rest.isascii() else whole or f"{rest[:_LONG_WORD_CHARACTERS]}…"


_LONG_WORD_CHARACTERS = 12
_TITLE_CHARACTERS = 80
_NOT_THE_USERS = ("<", "# AGENTS.md", "Caveat: The messages below", "This session is being continued from")
"""How texts begin that a client writes in the user's name."""


def _is_of_user(entry: ContextEntry) -> bool:
    metadata = entry.metadata or {}
    return metadata.get("role") == "user" and metadata.get("kind") == "text"


class Reader(Protocol):
    """The interface of a module in the table `FORMATS`."""

    def read(self, lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
        """Read a whole session; malformed lines never raise an error."""

    def recognises(self, lines: Sequence[str]) -> bool:
        """Tell whether a file with these first lines has this format."""


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """One block of a message, before it gets an id, a time and a place.

    `extra`: further metadata. ``call_id`` pairs calls with results; it is absent where the record names none.
    """

    kind: Kind
    role: Role
    content: str
    type: EntryType = "reasoning"
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skip:
    """A part of a record that became no entry; `reason` is a short stable phrase."""

    reason: str


Part = RecordedBlock | Skip
"""The kinds of a record's parts."""
