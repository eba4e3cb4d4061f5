"""The places where an assistant's thinking may legally be. Pure.

The provider merges neighbouring messages of one role. An answer with thinking must begin with it, and must not end with
it. So all thinking of a message is one unit, and a removal may require further removals.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import islice, takewhile

from undrift.core.window.prune import unit_key
from undrift.values.window import ContextEntry

__all__ = ["is_thinking", "key_of", "latest_answer", "opened", "opens_with_thinking", "unsettled"]


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


def opened(
    entries: Sequence[ContextEntry], gone_ids: Collection[str], is_protected: Callable[[ContextEntry], bool]
) -> set[str]:
    """Return the removed entries so that the first answer of the open row of calls begins with its thinking.

    Answers that the model gave without thinking leave from the beginning of that row. If one of them must stay, the
    last answer before it that has thinking stays too.
    """
    gone = set(gone_ids)
    members: dict[Hashable, list[ContextEntry]] = {}
    for entry in entries:
        members.setdefault(key_of(entry), []).append(entry)
    opening: list[ContextEntry] = []
    start = _open_row(entries, ())
    if _open_row(entries, gone) < start:  # without its last words the row before would be open again
        closing = [*_answers(entries[:start])][-1:]
        gone.difference_update(e.id for answer in closing for e in answer if not e.pair_id and not is_thinking(e))
    for answer in _answers(entries[min(_open_row(entries, gone), start) :]):
        kept = [e for e in answer if e.id not in gone]
        if kept and is_thinking(kept[0]):
            break
        whole = [e for key in dict.fromkeys(map(key_of, answer)) for e in members[key]]
        opening = whole if is_thinking(answer[0]) else opening
        if any(map(is_protected, kept)):
            gone.difference_update(e.id for e in opening)
            break
        gone.update(e.id for e in whole if kept)
    return gone


def opens_with_thinking(entries: Sequence[ContextEntry]) -> bool:
    """Return whether the first answer of the open row of calls begins with thinking."""
    return any(is_thinking(answer[0]) for answer in islice(_answers(entries[_open_row(entries, ()) :]), 1))


def _open_row(entries: Sequence[ContextEntry], gone_ids: Collection[str]) -> int:
    """Return the place after the last words of the user that no result stands beside: the provider joins neighbours."""
    words, has_result, is_user = 0, False, False
    for number in range(len(entries) - 1, -1, -1):
        entry = entries[number]
        if entry.id in gone_ids:
            continue
        if is_user and _is_assistant(entry):
            if not has_result:
                break
            words, has_result, is_user = 0, False, False
        elif not _is_assistant(entry):
            words = words if is_user else number + 1
            is_user, has_result = True, has_result or entry.meta("kind") == "result"
    return 0 if has_result else words


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
