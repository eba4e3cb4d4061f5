"""The values of memories that a store takes and gives, whichever engine keeps them. Pure: no I/O."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from undrift.values.memory import MemoryEntry

__all__ = [
    "MemoryChange",
    "MemoryLine",
    "MemoryLines",
    "MemoryUpdate",
    "Place",
    "Unchanged",
    "Viewer",
    "content_digest",
]


class MemoryUpdate(NamedTuple):
    """A memory before (None: there was none) and after a change; it is written only if the store still holds `before`."""

    before: MemoryEntry | None
    after: MemoryEntry | None
    """None: it is taken out of sight, as by pruning; every version stays on disk."""


class Viewer(NamedTuple):
    """Who asks, and as of when.

    Args:
        agent: Sees what belongs to this agent.
        session_id: Sees what belongs to this session.
        seq: Right after this operation of the session; None for now.
    """

    agent: str
    session_id: str
    seq: int | None = None


class MemoryChange(NamedTuple):
    """Changes of memories that are written with something else, in one commit: all of it or nothing.

    Args:
        changes: Of memories, what makes them searchable, and what they rest on; not empty.
        payload: Of them, for the log.
    """

    changes: Sequence[Any]
    payload: Mapping[str, Any]


class Unchanged(NamedTuple):
    """What new memories rest on: no process has added one that they had to be compared with; else nothing is written.

    Args:
        digest: Of the new one's content.
        same: Ids of those with this content, the new one's included.
        keys: Pairs of relation and entity that the new one states something about.
        alike: Ids of those about one of them, the new one's included.
        viewer: Who remembers.
    """

    digest: str
    same: Collection[str]
    keys: Collection[tuple[str, str]]
    alike: Collection[str]
    viewer: Viewer


class MemoryLine(NamedTuple):
    """What is indexed of a memory.

    Args:
        id: Of the memory.
        text: Its content.
        source: Where it comes from; memories of one source are neighbours, those of an empty one have none.
        speaker: Words that stand for who said it, none when nobody did; found by all of them or by the first.
        seq: Its place in the order of all memories; memories of one place are in the order in which they were added.
        scope: To whom it belongs; neighbours are of one scope.
        type: As filters name it.
        asks: Whether it ends as a question.
        tier: Of trust; 0: nobody vouches for it.
    """

    id: str
    text: str
    source: str = ""
    speaker: str = ""
    seq: int = 0
    scope: str = ""
    type: str = ""
    asks: bool = False
    tier: int = 1


class Place(NamedTuple):
    """Where a memory stands: its neighbours' numbers, nearest first, None if there is none or none was asked for."""

    number: int
    id: str
    speaker: str
    asks: bool
    length: int
    tier: int
    source: str
    before: tuple[int | None, int | None]
    after: tuple[int | None, int | None]

    @property
    def untrusted(self) -> str | None:
        """The source, where nobody vouches for it; else None."""
        return None if self.tier else self.source


class MemoryLines(NamedTuple):
    """Memories that become searchable in the commit that writes them.

    Args:
        lines: Their words.
        embedder: Id of what made the vectors; empty if there are none.
        dimension: Length of each vector.
        vectors: One for each line.
    """

    lines: Sequence[MemoryLine]
    embedder: str = ""
    dimension: int = 0
    vectors: Iterable[Any] = ()


def content_digest(content: str) -> str:
    """Return what two contents share that have the same words."""
    words = " ".join(content.casefold().split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]
