"""The entries of a session's recording, read once for as long as the file stays the same."""

from collections.abc import Sequence

from undrift import transcripts
from undrift.core.window.sent_prompt import own_hash
from undrift.errors import TranscriptError
from undrift.values.window import ContextEntry
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["RecordedBlocks", "entries_of", "recorded_blocks"]


def entries_of(source: PageSource, one: WatchedSession) -> Sequence[ContextEntry]:
    """Return the entries of a recording, in order; none if it cannot be read."""
    return source.kept(one, "entries", lambda: _read(one))


def recorded_blocks(source: PageSource, one: WatchedSession) -> "RecordedBlocks":
    """Return the blocks of a recording; each text is hashed once for as long as the file stays the same."""
    return source.kept(one, "blocks", lambda: RecordedBlocks(entries_of(source, one)))


def _read(one: WatchedSession) -> Sequence[ContextEntry]:
    try:
        with one.path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            return transcripts.read(list(file), format=one.format).entries
    except (OSError, TranscriptError):
        return ()


class RecordedBlocks:
    """The blocks of a recording, by what the store knows of them."""

    def __init__(self, entries: Sequence[ContextEntry]) -> None:
        self._by_call = {(one.pair_id, one.meta("kind")): one for one in entries if one.pair_id}
        self.by_hash: dict[str, ContextEntry] = {}
        """The newest block with each text, by its hash."""

        self.first_lines: dict[str, int] = {}
        """The line of the first block with each text, by its hash; 0: it has none."""

        for one in entries:
            if hash_ := own_hash(one.content):
                line = one.meta("line")
                self.by_hash[hash_] = one
                self.first_lines.setdefault(hash_, line if isinstance(line, int) else 0)

    def of(self, stored: ContextEntry) -> ContextEntry | None:
        """Return the recorded block of a stored one: by its call, else by its text; two results may have the same text."""
        call_id = (stored.pair_id or "").rpartition(":")[2]
        return self._by_call.get((call_id, stored.meta("kind"))) or self.by_hash.get(own_hash(stored.content))
