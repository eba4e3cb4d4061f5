"""The recorded sessions of a folder, each as a history with what its agent needed later.

Law: only reads. A file that is no session is counted with its reason. Copies and continuations begin alike: only the
longest of them counts.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from undrift.core.autopsy.survival import Needs
from undrift.core.text.tokens import counter
from undrift.core.window.turn import KEPT_TEXT_TOKENS
from undrift.errors import InputError, TranscriptError
from undrift.recordings.files import open_recording
from undrift.recordings.replay.history import ReplayedHistory, history_of, metadata_of
from undrift.recordings.replay.texts import ReplayTexts, Text
from undrift.settings import Settings
from undrift.transcripts import Recording

__all__ = ["COUNTER", "Case", "RecordedSessions", "files_below", "sessions_in", "sessions_of"]

COUNTER = "characters/4"
"""Every system's tokens are counted by this counter, not by its own."""

_STATE = "base_state.json"  # of a conversation with one file for each event: it names all of them
_SAME_MESSAGES = 8
_SAME_CHARACTERS = 300


class Case:
    """One session, ready to be sent turn by turn."""

    def __init__(self, name: str, recording: Recording) -> None:
        self.name = name
        self.model = recording.model
        self.history: ReplayedHistory = history_of(recording)
        self.count = counter(COUNTER)
        self.texts = ReplayTexts(self.history, self.count)
        self._defaults = Settings()
        self.is_timed = any(entry.timestamp for entry in recording.entries)
        self._everything: list[Text] = list(self.texts.system)
        self._ends: list[int] = []
        for message in self.history.messages:
            self._ends.append(len(self._everything))
            self._everything += self.texts.of_message(message)

    @property
    def tokens(self) -> int:
        """All that the session's last prompt could hold."""
        return sum(tokens for _, tokens in self._everything)

    @property
    def system_tokens(self) -> int:
        """The tokens of the system text, which every prompt holds."""
        return sum(tokens for _, tokens in self.texts.system)

    def size(self, blocks: Iterable[Mapping[str, Any]]) -> int:
        """Count the tokens of blocks, original or edited."""
        return sum(self.texts.of_block(block)[1] for block in blocks)

    def size_of(self, messages: Iterable[Mapping[str, Any]]) -> int:
        """Count the tokens of messages, original or edited."""
        return sum(tokens for message in messages for _, tokens in self.texts.of_message(message))

    @property
    def calls(self) -> int:
        """The calls of tools that were answered."""
        return sum(metadata_of(entry, "kind") == "call" for entries in self.history.entries for entry in entries)

    @property
    def beginning(self) -> tuple[str, ...]:
        """The part that two recordings of one session have in common."""
        entries = [entry for entries in self.history.entries[:_SAME_MESSAGES] for entry in entries]
        return tuple(entry.content[:_SAME_CHARACTERS] for entry in entries)

    @cached_property
    def needs(self) -> Needs:
        """The needs of each message of the agent, in the history before it."""
        return Needs(tuple(self.history.numbered))

    def everything(self, number: int) -> list[Text]:
        """Give all texts before a message."""
        return self._everything[: self._ends[number]]

    def must_stay(self, number: int) -> int:
        """Count the tokens that every compared system must keep, in the history before message `number`.

        That is the system's text, the user's (of a long one the part that stays), the newest tool results, those that
        the agent has not seen yet, and the calls which they answer.
        """
        defaults = self._defaults
        entries = self.history.entries[:number]
        results = [e.pair_id for message in entries for e in message if metadata_of(e, "kind") == "result"]
        stay = {*results[-defaults.keep_tool_results :], *(e.pair_id for e in entries[-1])} - {None}
        total = self.system_tokens
        for message, sources in zip(self.history.messages[:number], entries, strict=True):
            for entry, (_, tokens) in zip(sources, self.texts.of_message(message), strict=True):
                if metadata_of(entry, "kind") in ("call", "result"):
                    total += tokens if entry.pair_id in stay else 0
                elif message["role"] == "user":
                    total += min(tokens, KEPT_TEXT_TOKENS)
        return total


@dataclass(slots=True)
class RecordedSessions:
    """The sessions of a folder that are large enough, in the order of their paths, and why the others are not there."""

    paths: list[Path] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def sessions_in(root: Path, *, min_calls: int, every: int = 1) -> RecordedSessions:
    """Find the sessions of a folder and of the folders in it, as `sessions_of`. Raises InputError: it cannot be read."""
    return sessions_of(files_below(root), min_calls=min_calls, every=every)


def sessions_of(paths: Iterable[Path], *, min_calls: int, every: int = 1, limit: int | None = None) -> RecordedSessions:
    """Find the sessions among files.

    Each file is read and closed again: a folder of a thousand sessions takes the memory of one.

    `min_calls`: sessions with fewer answered calls of tools are left out; at least 0. `limit`: the first so many sessions.
    """
    found = RecordedSessions()
    longest: dict[tuple[str, ...], tuple[int, Path]] = {}
    for path in paths:
        if len(longest) == limit:
            break
        try:
            case = Case(path.name, open_recording(path))
        except TranscriptError:
            found.left_out["no recorded session"] += 1
            continue
        if case.calls < min_calls or not case.history.turns:
            found.left_out[f"fewer than {min_calls} answered calls"] += 1
            continue
        key, size = case.beginning, len(case.history.messages)
        if key in longest:
            found.left_out["begins as a longer one does"] += 1
        if key not in longest or longest[key][0] < size:
            longest[key] = (size, path)
    chosen = sorted(path for _, path in longest.values())
    found.paths = chosen[::every]
    if left := len(chosen) - len(found.paths):
        found.left_out[f"passed over by --every {every}"] += left
    return found


def files_below(root: Path) -> Iterator[Path]:
    """Yield every file below a folder in the order of names; a conversation of many files once; of a file itself.

    Raises InputError: a folder cannot be read.
    """
    if root.is_file():
        yield root
        return

    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror}); check the folder") from error

    for folder, folders, names in os.walk(root, onerror=refuse):
        if _STATE in names:
            folders.clear()
            names = [_STATE]
        folders.sort()
        events = sorted(name for name in names if name.startswith("event-") and name.endswith(".json"))
        for name in sorted(set(names) - set(events[1:])):
            yield Path(folder, name)
