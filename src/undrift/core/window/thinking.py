"""The places where an assistant's thinking may legally be. Pure.

The provider merges neighbouring messages of one role. An answer with thinking must begin with it, and must not end with
it. So all thinking of a message is one unit, and a removal may require further removals.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import takewhile

from undrift.core.window.prune import unit_key
from undrift.values.window import ContextEntry

__all__ = ["is_thinking", "key_of", "latest_answer", "unsettled"]


def is_thinking(entry: ContextEntry) -> bool:
    """Return whether an entry is a thinking block."""
    return entry.metadata is not None and entry.metadata.get("kind") == "thinking"


def key_of(entry: ContextEntry) -> Hashable:
    """Return the key of a unit: a call with its result, all thinking of one message, or a single entry."""
    return ("thinking", entry.meta("message")) if is_thinking(entry) and not entry.pair_id else unit_key(entry)


def latest_answer(seen: Sequence[ContextEntry]) -> list[ContextEntry]:
    """Return the assistant's last texts and calls; they may be in several messages."""
    return list(takewhile(_is_assistant, reversed(seen)))[::-1]


def unsettled(
    entries: Sequence[ContextEntry], gone_ids: Collection[str], is_protected: Callable[[ContextEntry], bool]
) -> set[str]:
    """Return the other entries that must be removed too, because thinking would be in an illegal place."""
    leave: set[str] = set()
    for answer in _answers([e for e in entries if e.id not in gone_ids]):
        before = list(takewhile(lambda e: not is_thinking(e), answer))
        if len(before) == len(answer):
            continue  # no thinking
        words = [e for e in before if not is_protected(e) and e.pair_id is None]
        if before and len(words) == len(before):
            leave.update(e.id for e in words)
        elif before:
            leave.update(e.id for e in answer if is_thinking(e) and not is_protected(e))
        ends = {key_of(e) for e in takewhile(is_thinking, reversed(answer)) if not is_protected(e)}
        leave.update(e.id for e in answer if key_of(e) in ends)
    return leave


def _answers(kept: Sequence[ContextEntry]) -> Iterator[list[ContextEntry]]:
    answer: list[ContextEntry] = []
    for entry in kept:
        if _is_assistant(entry):
            answer.append(entry)
        elif answer:
            yield answer
            answer = []
    if answer:
        yield answer


def _is_assistant(entry: ContextEntry) -> bool:
    return bool(entry.meta("role") == "assistant")
