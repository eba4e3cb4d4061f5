"""One parsed item of a history, and the record of several for the next start. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass

from undrift.values.window import PINNED_TYPES, Item
from undrift.window.pairing import calls_of, served_by
from undrift.window.readings import StretchRecord, plain
from undrift.wire.form import View

__all__ = ["Message", "record_of"]


@dataclass(slots=True)
class Message:
    """One parsed item of the history.

    Args:
        raw: Its newest bytes from the client; None if the conversation's beginning has them.
        digest: Equal for items with the same meaning.
        run: Id of the run that it belongs to, and whether that has more than reasoning.
    """

    raw: bytes | None
    digest: bytes
    view: View
    run: tuple[str, bool]
    item: Item


def record_of(history: Sequence[Message], numbers: range, places: list[int]) -> StretchRecord:
    """Return the readings of some items of a history as a record. `places`: see `StretchRecord`."""
    messages = history[numbers.start : numbers.stop]
    calls = [call for m in messages for call in calls_of(m.view, m.item.id, m.run[0])]
    return StretchRecord(
        [m.item.id for m in messages],
        places,
        [m.item.tokens for m in messages],
        [[e.pair_id for e in m.item.entries] for m in messages],
        [
            plain((*m.run, [(e.token_count, e.meta("tool_name"), e.type == "spec") for e in m.item.entries]))
            for m in messages
        ],
        calls,
        [call for m in messages for call in served_by(m.view, m.item.id)],
        _open_at(history, numbers.stop),
        [n for n, m in enumerate(messages) if any(block.marker for block in m.view.blocks)],
        [n for n, m in enumerate(messages) if _is_fixed(m)],
    )


def _open_at(history: Sequence[Message], end: int) -> dict[str, str]:
    """Return the open calls of the last answer before an item, as id -> pair id."""
    while end and history[end - 1].item.role != "assistant":
        end -= 1
    first = end
    while first and history[first - 1].item.role == "assistant":
        first -= 1
    found = (call for m in history[first:end] for call in calls_of(m.view, m.item.id, m.run[0]))
    return {call_id: pair_id for call_id, pair_id, _ in found}


def _is_fixed(message: Message) -> bool:
    """Return whether an item has a block that never leaves, or that loads tools."""
    is_pinned = any(e.type in PINNED_TYPES for e in message.item.entries)
    return is_pinned or any(block.loads for block in message.view.blocks)
