"""The user's own sessions in ``undrift autopsy``: the newest first, then all of them, with the index between the runs.

Law: what was read is kept as soon as it is read, so Ctrl-C loses nothing.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from undrift.cli.show import at_terminal, count, note
from undrift.recordings.autopsy import Postmortem
from undrift.recordings.index import AutopsyIndex, AutopsyReading

__all__ = ["OwnSessions"]

_FILES_A_LINE = 200
"""Without a terminal, one line of progress for so many files."""

_Show = Callable[[int], None]


@dataclass(slots=True)
class OwnSessions:
    """The recordings of a user, newest first, and what is known of them so far.

    Args:
        texts: Whether the newest sessions are read with all their texts, if they are read now.
        quiet: Show no progress.
    """

    index: AutopsyIndex
    paths: Sequence[Path]
    texts: bool = False
    quiet: bool = False
    readings: dict[Path, AutopsyReading] = field(default_factory=dict)
    _rest: Iterator[AutopsyReading] = field(default_factory=lambda: iter(()), init=False)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Take in what the index knows, and stop all reading at the end."""
        self.readings = self.index.known(self.paths)
        unread = [path for path in self.paths if path not in self.readings]
        with closing(self.index), closing(self.index.read(unread, texts=self.texts)) as self._rest:
            yield

    @property
    def unread(self) -> int:
        """The number of recordings that are not read yet."""
        return len(self.paths) - len(self.readings)

    def newest(self, wanted: int, *, within_s: float = math.inf) -> tuple[Postmortem, ...]:
        """Read until the newest sessions with a compaction are known; return them, newest first.

        `within_s`: after so many seconds those that are known by then are enough, if there is one.
        """
        place, found = 0, list[Postmortem]()
        until = time.monotonic() + within_s
        with _progress(self.quiet or not self.unread, wanted, "Reading your newest sessions") as show:
            while place < len(self.paths) and len(found) < wanted:
                reading = self.readings.get(self.paths[place])
                if reading is None:
                    if found and time.monotonic() > until:
                        break
                    self._take(next(self._rest))
                    continue
                place += 1
                if reading.compacted is not None:
                    found.append(reading.compacted)
                    show(len(found))
        return tuple(found)

    def all(self) -> tuple[Postmortem, ...]:
        """Read all that is not read yet; return all sessions with a compaction, newest first."""
        if self.unread:
            with _progress(self.quiet, len(self.paths), "Reading your other sessions") as show:
                show(len(self.readings))
                for reading in self._rest:
                    self._take(reading.without_texts())
                    show(len(self.readings))
            self.index.forget_missing(self.paths)
        return self.known()

    def known(self) -> tuple[Postmortem, ...]:
        """Return the sessions with a compaction that are known so far, newest first."""
        known = (self.readings[path].compacted for path in self.paths if path in self.readings)
        return tuple(one for one in known if one is not None)

    def in_full(self, found: Sequence[Postmortem]) -> tuple[Postmortem, ...]:
        """Read those again of which the index has no texts; a session that has changed since is as it is now."""
        brief = [Path(one.path) for one in found if one.brief]
        with (
            _progress(self.quiet, len(brief), "Reading the texts again") as show,
            closing(self.index.read(brief, texts=True)) as rest,
        ):
            again = dict[str, Postmortem]()
            for number, reading in enumerate(rest, 1):
                show(number)
                if reading.found is not None:
                    again[reading.path] = reading.found
        return tuple(again.get(one.path, one) for one in found)

    def _take(self, reading: AutopsyReading) -> None:
        self.readings[Path(reading.path)] = reading


@contextmanager
def _progress(quiet: bool, total: int, words: str) -> Iterator[_Show]:
    """Give the function that takes how many files are read: a bar on a terminal, else a line now and then."""
    if quiet or not total:
        yield lambda _done: None
    elif not at_terminal(sys.stderr):
        yield (
            lambda done: None if not done or done % _FILES_A_LINE else note(f"{done:,} of {count(total, 'file')} read")
        )
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(words, total=total)
            yield lambda done: bar.update(task, completed=done)
