"""The entries of a session's recording, read once for as long as the file stays the same."""

from collections.abc import Sequence

from undrift import transcripts
from undrift.errors import TranscriptError
from undrift.values.window import ContextEntry
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["entries_of"]


def entries_of(source: PageSource, one: WatchedSession) -> Sequence[ContextEntry]:
    """Return the entries of a recording, in order; none if it cannot be read."""
    return source.kept(one, "entries", lambda: _read(one))


def _read(one: WatchedSession) -> Sequence[ContextEntry]:
    try:
        with one.path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            return transcripts.read(list(file), format=one.format).entries
    except (OSError, TranscriptError):
        return ()
