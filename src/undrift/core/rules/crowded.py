"""Bounds what is kept where one message, or one file, holds very many rules. Pure.

Law: too many rules of one message cost that message its later ones. They cost no other message a rule.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from undrift.core.rules.typed import TypedSaying

__all__ = ["MOST_OF_A_MESSAGE", "UNSURE", "first_of_each", "first_sayings", "left_out", "message_of"]

MOST_OF_A_MESSAGE = 50
"""A person who lays down rules writes fewer; a pasted document has more."""

_MOST_SAYINGS = 600
"""All messages together have at most so many of either kind; a session of a month has a few hundred."""

UNSURE = frozenset({"perhaps", "said"})
"""The kinds of sentences that no sign shows to be a rule."""

T = TypeVar("T")


def first_of_each(items: Sequence[T], source: Callable[[T], Hashable], each: int, most: int) -> tuple[T, ...]:
    """Return the items in their order, of each source the first ones.

    Args:
        items: Oldest first.
        source: The message or file of an item.
        each: The most of one source; all get fewer if they are too many together.
        most: The most of all. If there are more sources than that, the newest items count.
    """
    sizes = Counter(Counter(map(source, items)).values())
    while each > 1 and sum(min(size, each) * number for size, number in sizes.items()) > most:
        each -= 1
    seen: Counter[Hashable] = Counter()
    kept: list[T] = []
    for item in items:
        seen[source(item)] += 1
        if seen[source(item)] <= each:
            kept.append(item)
    return tuple(kept[-most:])


def first_sayings(typed: Iterable[TypedSaying]) -> tuple[TypedSaying, ...]:
    """Return the sentences in their order, of each message the first 50 that are surely about rules, and 50 others.

    The others take no room from them.
    """
    numbered = tuple(enumerate(typed))
    kept = [
        one
        for unsure in (True, False)
        for one in first_of_each(
            [one for one in numbered if (one[1].kind in UNSURE) is unsure],
            lambda one: message_of(one[1].where),
            MOST_OF_A_MESSAGE,
            _MOST_SAYINGS,
        )
    ]
    return tuple(saying for _, saying in sorted(kept, key=lambda one: one[0]))


def left_out(typed: Iterable[TypedSaying]) -> Mapping[str, int]:
    """Return how many sentences that are surely about rules are not kept, by message, such as ``request 3``."""
    sure = [one for one in typed if one.kind not in UNSURE]
    kept = Counter(message_of(one.where) for one in first_sayings(sure))
    counts = Counter(message_of(one.where) for one in sure)
    return {message: count - kept[message] for message, count in counts.items() if count > kept[message]}


def message_of(where: str) -> str:
    """Return the message of a place such as ``request 3, line 2``."""
    return where.partition(",")[0]
