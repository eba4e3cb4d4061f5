"""The values of memories that a store accepts and returns, for any engine. Pure: no I/O."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from undrift.values.memory import MemoryEntry

__all__ = [
    "Heir",
    "MemoryChange",
    "MemoryLine",
    "MemoryLines",
    "MemoryPlace",
    "MemoryUpdate",
    "Unchanged",
    "Viewer",
    "WordHit",
    "content_digest",
]


class MemoryUpdate(NamedTuple):
    """A memory before (None: it is new) and after a change; the store refuses it if `before` is outdated."""

    before: MemoryEntry | None
    after: MemoryEntry | None
    """None: it is taken out of sight, as by pruning; every version stays on disk."""


class Viewer(NamedTuple):
    """The reader of memories, and the moment as of which they are read.

    Args:
        agent: The reader sees this agent's memories.
        session_id: The reader sees this session's memories.
        seq: The moment right after this operation of the session; None for now.
    """

    agent: str
    session_id: str
    seq: int | None = None


class MemoryChange(NamedTuple):
    """Changes of memories that are written in one commit with other changes, all or nothing.

    `changes`: `MemoryUpdate`, `MemoryLines` and `Unchanged` values; not empty. `payload`: JSON values for the log.
    """

    changes: Sequence[Any]
    payload: Mapping[str, Any]


class Unchanged(NamedTuple):
    """The condition for new memories: no other process has added a memory that they should be compared with.

    Args:
        digest: The digest of the new memory's content.
        same: Ids of the memories with this content, the new one included.
        keys: Pairs of relation and entity in the new memory's statements.
        alike: Ids of the memories about one of these pairs, the new one included.
    """

    digest: str
    same: Collection[str]
    keys: Collection[tuple[str, str]]
    alike: Collection[str]
    viewer: Viewer


class MemoryLine(NamedTuple):
    """The indexed parts of a memory.

    Args:
        source: Memories of one source are neighbours; an empty source has none.
        speaker: The words of the speaker's name, empty if unknown; found by all of them or by the first.
        seq: Its place in the order of all memories; memories of one place keep the order of their addition.
        scope: The owner; neighbours have one scope.
        type: Its type in filters.
        asks: True if it ends as a question.
        tier: The tier of trust, one of `TRUST_TIERS`; 0: untrusted.
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


class MemoryPlace(NamedTuple):
    """The numbers of a memory's neighbours, nearest first; None if there are none or they were not requested."""

    number: int
    id: str
    speaker: str
    asks: bool
    length: int
    tier: int
    source: str
    before: tuple[int | None, int | None]
    after: tuple[int | None, int | None]


class WordHit(NamedTuple):
    """A memory that was found by words.

    Args:
        score: Above 0; it compares within one search.
        together: The share of the words, each weighed by its rarity, that stand together in its text, 0 to 1.
    """

    number: int
    score: float
    together: float = 1.0


class MemoryLines(NamedTuple):
    """Memories that become searchable in the commit that writes them.

    Args:
        embedder: The id of the vectors' embedder; empty if there are no vectors.
        dimension: The length of each vector.
        vectors: One for each line; or several rows, its own and below it those of its passages.
    """

    lines: Sequence[MemoryLine]
    embedder: str = ""
    dimension: int = 0
    vectors: Iterable[Any] = ()


Heir = Callable[[MemoryEntry], tuple[MemoryEntry, MemoryLine] | None]
"""Returns the version that takes the place of a purged one, with its search line. None: it goes as a whole.

It gets the version with those restatements alone that other sessions wrote. The new id is `heir_id` of the old one.
"""


def content_digest(content: str) -> str:
    """Return a digest that is equal for contents with the same words."""
    words = " ".join(content.casefold().split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]
