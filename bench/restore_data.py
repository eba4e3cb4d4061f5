"""Recorded sessions as lessons for `restore`: where each is cut, what the agent used afterwards, and what a text holds of it.

Law: only reads. What a need is, and when a text holds it, is `undrift.core.autopsy.used`'s to say; nothing is defined
here a second time.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from undrift.core.autopsy.findings import Held
from undrift.core.autopsy.steps import Step, steps_of
from undrift.core.autopsy.used import WINDOW_CALLS, Learned, Used, window_of
from undrift.core.restore.history import history_of
from undrift.core.restore.trace import Trace, trace_of
from undrift.core.restore.worth import line_features, name_features
from undrift.core.text.references import NameTable, Reference, lines_of
from undrift.core.text.tokens import characters_per_4
from undrift.errors import TranscriptError
from undrift.recordings.files import open_recording
from undrift.transcripts import FORMATS
from undrift.values.window import ContextEntry

__all__ = [
    "Cut",
    "Judge",
    "Lesson",
    "Lessons",
    "Recorded",
    "entries_before",
    "judges",
    "lessons_of",
    "recorded_below",
]

_LEAST_CALLS = 15  # before a compaction: with less, there is not much to lose
_FIRST_CALLS = 40  # before the first cut that is made up
_CALLS_LEFT = 10  # after a cut that is made up
_APART_CALLS = 15  # between a cut that is made up and a compaction

Lesson = tuple[tuple[int, ...], bool]
"""The bins of a name's or line's features, and whether the agent used it again."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """How often each lesson was met; the tables of weights are fitted on these counts."""

    names: Counter[Lesson]
    lines: Counter[Lesson]

    @classmethod
    def of(cls, many: Iterable["Lessons"]) -> "Lessons":
        """Add many up."""
        total = cls(Counter(), Counter())
        for one in many:
            total.names.update(one.names)
            total.lines.update(one.lines)
        return total


@dataclass(frozen=True, slots=True)
class Cut:
    """A place at which a session is looked at.

    Args:
        index: Of the first step behind it.
        is_real: The client compacted here; otherwise the cut is made up, and the agent still had its context.
        used: What the agent had learned before and used in the calls behind it.
    """

    index: int
    is_real: bool
    used: Used


@dataclass(frozen=True, slots=True)
class Recorded:
    """A session: whose it is, which client wrote it, its steps, its cuts in order, and the file that it was read from."""

    repository: str
    client: str
    steps: tuple[Step, ...]
    cuts: tuple[Cut, ...]
    path: Path = Path()


def recorded_below(
    folder: Path, *, every_calls: int, repository: re.Pattern[str] | None = None, clients: Collection[str] = FORMATS
) -> tuple[list[Recorded], int]:
    """Read the sessions below a folder.

    Args:
        folder: Its ``*.jsonl`` files are read, at any depth.
        every_calls: Distance of the cuts that are made up.
        repository: Found in a file's path below the folder, its first group (or all of it) names the repository;
            None: the name's part before ``__``, else the folder that the file is in.
        clients: Keys of `FORMATS`; recordings of others are left out.

    Returns:
        The sessions with at least one cut, and how many files were left out or of no known format. Sessions continue and repeat
        each other: a cut that was seen in an earlier file is left out.
    """
    found: list[Recorded] = []
    others = 0
    seen: set[tuple[str, frozenset[Reference]]] = set()
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            recording = open_recording(path)
        except TranscriptError:
            others += 1
            continue
        if recording.format not in clients:
            others += 1
            continue
        steps = steps_of(recording.entries)
        cuts = []
        for cut in _cuts(steps, recording.compactions, every_calls):
            key = (steps[cut.index - 1].entry.content, cut.used.references)
            if key not in seen:
                seen.add(key)
                cuts.append(cut)
        if cuts:
            owner = _repository(path, path.relative_to(folder).as_posix(), repository)
            found.append(Recorded(owner, recording.format, steps, tuple(cuts), path))
    return found, others


def _repository(path: Path, shown: str, pattern: re.Pattern[str] | None) -> str:
    if pattern is None:
        name, mark, _ = path.name.partition("__")
        return name if mark else path.parent.name
    match = pattern.search(shown)
    return (match[1] if pattern.groups else match[0]) if match else "(none)"


def _cuts(steps: Sequence[Step], compactions: Sequence[int], every_calls: int) -> Iterator[Cut]:
    """Yield the cuts behind which the agent used something that it had learned before."""
    learned = Learned()
    taken = 0
    for index, is_real in _places(steps, compactions, every_calls):
        for step in steps[taken:index]:
            learned.take(step)
        taken = index
        end = next((place for place in compactions if place > index), len(steps))
        after = steps[index:end]
        used = learned.used_in(window_of(after), _put_in(after) if is_real else frozenset())
        if used.references:
            yield Cut(index, is_real, used)


def _places(steps: Sequence[Step], compactions: Sequence[int], every_calls: int) -> list[tuple[int, bool]]:
    """Give where to cut: at each compaction, and every so many calls where the agent was about to speak."""
    real = [index for index in compactions if 0 < index < len(steps) and steps[index - 1].call >= _LEAST_CALLS]
    places = [(index, True) for index in real]
    calls_at = [steps[index - 1].call for index in compactions if index]
    following = _FIRST_CALLS
    for before, step in pairwise(steps):
        if before.call < following or not _is_of_agent(step) or _is_of_agent(before):
            continue
        following = before.call + every_calls
        is_apart = all(abs(before.call - calls) >= _APART_CALLS for calls in calls_at)
        if is_apart and steps[-1].call - before.call >= _CALLS_LEFT:
            places.append((step.index, False))
    return sorted(places)


def _put_in(after: Sequence[Step]) -> frozenset[int]:
    """Give the steps by which the client itself told the agent something at a compaction: no news of the user."""
    return frozenset(
        step.index
        for step in takewhile(lambda step: not _is_of_agent(step), after)
        if step.kind == "summary" or (step.kind == "client" and (step.entry.metadata or {}).get("attachment"))
    )


def _is_of_agent(step: Step) -> bool:
    """Say whether the agent wrote it, its thinking included."""
    return (step.entry.metadata or {}).get("role") == "assistant"


def entries_before(session: Recorded, cut: Cut) -> list[ContextEntry]:
    """Give what `restore` may know at a cut."""
    return [step.entry for step in session.steps[: cut.index]]


def _remembering() -> Callable[[ContextEntry, Mapping[str, Any], NameTable], Trace | None]:
    """Give a `trace_of` that reads each entry of a session once: the cuts of a session share most of them."""
    known: dict[int, Trace | None] = {}
    names = NameTable()

    def remembered(entry: ContextEntry, call: Mapping[str, Any], _: NameTable) -> Trace | None:
        if id(entry) not in known:
            known[id(entry)] = trace_of(entry, call, names)
        return known[id(entry)]

    return remembered


def lessons_of(session: Recorded) -> Lessons:
    """Count what each cut teaches: the features of every name and line, and whether it was used."""
    read = _remembering()
    names: Counter[Lesson] = Counter()
    lines: Counter[Lesson] = Counter()
    for cut in session.cuts:
        history = history_of(entries_before(session, cut), read=read)
        used = cut.used.references
        names.update((features, ("identifier", name) in used) for name, features in name_features(history))
        lines.update((features, ("line", line) in used) for line, features in line_features(history))
    return Lessons(names, lines)


@dataclass(frozen=True, slots=True)
class Judge:
    """Says what a text would have held at one cut."""

    cut: Cut
    learned: Learned

    def held(self, text: str) -> Held:
        """Count what the text holds; an identifier counts only in a line that stood in the history."""
        return self.learned.held(self.cut.used, [text], tokens=characters_per_4(text), strict=True)


def judges(session: Recorded) -> Iterator[Judge]:
    """Yield a judge for each compaction, and for cuts made up so far apart that no call is looked at behind two of them.

    Each is good until the next is asked for.
    """
    learned = Learned()
    taken = following = 0
    for cut in session.cuts:
        calls = session.steps[cut.index - 1].call
        if not cut.is_real and calls < following:
            continue
        if not cut.is_real:
            following = calls + WINDOW_CALLS
        for step in session.steps[taken : cut.index]:
            if step.kind != "silent":
                learned.lines.update(lines_of(step.entry.content))
        taken = cut.index
        yield Judge(cut, learned)
