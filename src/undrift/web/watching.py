"""One recorded session as it grows: its window by kinds, its prompts, and the state of its cache.

Law: a file is read once, then only what was appended to it; a file that became shorter is read again. Nothing is written.
"""

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from undrift import transcripts
from undrift.core.guard import CacheWatch, watched
from undrift.core.text.tokens import characters_per_4
from undrift.errors import TranscriptError
from undrift.profiles import PROFILES
from undrift.recordings.costs import written_usd
from undrift.settings.model_table import Model, lookup
from undrift.stores.contract import Store
from undrift.transcripts.figures import FiguresReader, RecordedFigures
from undrift.values.project import Place
from undrift.values.window import ContextEntry

__all__ = ["KINDS", "WatchedSession", "kind_of"]

KINDS = ("user", "results", "answers", "calls")
"""The parts of a window that the recording shows; system prompt and tools are what the provider counted beside them."""

_MOST_BYTES = 64 << 20
"""The end of a longer file is read."""

_LONGEST_LINE = 32 << 20
_CHUNK = 1 << 20
_ALIKE = frozenset({"events"})
"""File names that all sessions of a client have."""

_HEAD_LINES = 64
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class WatchedSession:
    """One session. `look` reads what is new; all else is what was read then."""

    def __init__(self, path: Path, models: Sequence[Model] = ()) -> None:
        self.path = path
        name = path.parent.name if path.stem in _ALIKE else path.stem
        self.key = os.fsencode(name).decode("utf-8", "backslashreplace")  # a name need not be text; an address is
        named = _UUID.search(path.stem)
        self.session_id = named[0] if named else ""
        """The client's own id of it."""
        self.title = self.folder = self.model = self.format = ""
        self.last_ms = 0
        self.is_session = False
        self.is_recorded = True
        """False: its client keeps no recording here."""

        self.place: Place | None = None
        """The place of its records, if it is known without its folder."""
        self.figures = RecordedFigures()
        self.cache = CacheWatch()
        """The state of the prompt's cache."""
        self._models = models
        self._head: list[str] = []
        self._reader: FiguresReader | None = None
        self._offset = 0
        self._seen = (0, 0)
        self._since: Counter[str] = Counter()

    def look(self) -> None:
        """Read what was appended since the last look; a file that cannot be read shows nothing new."""
        try:
            status = self.path.stat()
            if (status.st_mtime_ns, status.st_size) == self._seen:
                return
            if status.st_size < self._offset:
                self._begin()
            with _opened(self.path) as file:
                lines = self._appended(file, status.st_size)
            self._seen = (status.st_mtime_ns, status.st_size)
            self.last_ms = status.st_mtime_ns // 1_000_000
        except OSError:
            return
        if lines:
            self._take(lines)

    @property
    def client(self) -> str:
        """The client's name, as it is typed."""
        return next((name for name, one in PROFILES.items() if one.format == self.format), self.format)

    @property
    def project(self) -> str:
        """The last part of the folder it worked in, of any system."""
        return self.folder.replace("\\", "/").rstrip("/").rpartition("/")[2]

    @property
    def used_tokens(self) -> int:
        """The newest prompt, as the provider counted it; before the first answer an estimate of what is recorded."""
        newest = self.figures.prompts[-1].prompt_tokens if self.figures.prompts else 0
        return newest or sum(self._since.values())

    @property
    def window_tokens(self) -> int:
        """The size of the model's window."""
        return lookup(self.model, self._models).window_tokens

    @property
    def client_id(self) -> str:
        """The id under which the hooks keep it."""
        return f"{self.client}:{self.session_id or self.key}"

    def ids_in(self, store: Store) -> list[str]:
        """Return our ids of it in a store: that of the hooks, and that of the gateway."""
        return [row.session_id for row in store.sessions() if self.is_named(row.session_id)]

    def is_named(self, session_id: str) -> bool:
        """Tell whether an id of ours, such as ``claude:ID`` or ``anthropic:ID``, is of this session."""
        return session_id.partition(":")[2] in (self.session_id or self.key, self.key)

    def parts(self) -> Mapping[str, int]:
        """Return the tokens of the window by kind, in the provider's count; ``system`` is what no recording shows."""
        own = {kind: self._since[kind] for kind in KINDS}
        return {"system": max(0, self.used_tokens - sum(own.values())), **own}

    def usd_of(self, tokens: int, *, is_cold: bool) -> float | None:
        """Return the price of a prompt of this model: read from the cache, or written to it again; None: unknown."""
        row = lookup(self.model, self._models)
        if row.input_usd_per_million is None:
            return None
        ratio = row.write_ratio_for(None) if is_cold else row.read_ratio
        return tokens * ratio * row.input_usd_per_million / 1_000_000

    def _written_usd(self, model: str, life_seconds: int) -> float | None:
        return written_usd(model, life_seconds, self._models)

    def _begin(self) -> None:
        self._head.clear()
        self._reader, self._offset = None, 0
        self._since.clear()

    def _appended(self, file: BinaryIO, size: int) -> list[str]:
        """Return the complete lines behind what was read; of a very long file the last ones."""
        found = []
        if not self._offset and size > _MOST_BYTES:  # the beginning names the session
            found = [text for text, _ in islice(_lines(file), _HEAD_LINES)]
            file.seek(size - _MOST_BYTES)
            self._offset = size - _MOST_BYTES + next((bytes_ for _, bytes_ in _lines(file)), 0)
        file.seek(self._offset)
        for text, bytes_ in _lines(file):
            self._offset += bytes_
            found.append(text)
        return found

    def _take(self, lines: list[str]) -> None:
        if self._reader is None:
            if len(self._head) >= _HEAD_LINES:  # no session of a client that we know
                return
            self._head += lines
            try:
                head = transcripts.read(self._head[:_HEAD_LINES])
            except TranscriptError:  # it has only begun, or is no session at all
                del self._head[_HEAD_LINES:]
                return
            named = _UUID.search(self.path.stem)  # a session that was resumed holds the ids of others too
            self.session_id = named[0] if named else head.session_id or ""
            self.format, self.title, self.folder = head.format, head.title, head.cwd or ""
            self.model = head.model or ""
            self._reader, lines, self._head = FiguresReader(self.format), self._head, []
        before = self._reader.lines
        self._reader.take(lines)
        self.figures = self._reader.found()
        self.is_session = not self.figures.sub_agent
        prompts = self.figures.prompts
        self.model = next((one.model for one in reversed(prompts) if one.model), self.model)
        before_first = CacheWatch.before(prompts[0] if prompts else None)
        self.cache = watched(self.figures.in_order(), self._written_usd, before_first)
        self._count_kinds(lines, before)

    def _count_kinds(self, lines: list[str], before: int) -> None:
        """Add the new entries to the window's parts; a compaction empties them. `before`: the lines before these."""
        newest = self.figures.boundaries[-1].line if self.figures.boundaries else 0
        if newest > before:
            self._since.clear()
            lines = lines[newest - before - 1 :]
        try:
            entries = transcripts.read(lines, format=self.format).entries
        except TranscriptError:
            return
        for entry in entries:
            self._since[kind_of(entry)] += characters_per_4(entry.content)


def _opened(path: Path) -> BinaryIO:
    """Open a regular file; a pipe or a device in its place raises OSError at once."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return os.fdopen(descriptor, "rb")


def _lines(file: BinaryIO) -> Iterator[tuple[str, int]]:
    """Yield the complete lines from here on, with their bytes; one that is too long is an empty line."""
    while line := file.readline(_LONGEST_LINE):
        size = len(line)
        if line.endswith(b"\n"):
            yield line.decode("utf-8", "replace"), size
            continue
        if size < _LONGEST_LINE:
            return
        while (piece := file.readline(_CHUNK)) and not piece.endswith(b"\n"):
            size += len(piece)
        if not piece:
            return
        yield "\n", size + len(piece)


def kind_of(entry: ContextEntry) -> str:
    """Return the part of the window that an entry belongs to: one of `KINDS`, or ``system`` if the client records it."""
    about: Mapping[str, Any] = entry.metadata or {}
    if about.get("kind") == "call":
        return "calls"
    if about.get("kind") == "result":
        return "results"
    if about.get("role") == "system":
        return "system"
    return "user" if about.get("role") == "user" else "answers"
