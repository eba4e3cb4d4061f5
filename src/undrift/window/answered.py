"""The calls of some tools in a history that have their results, in the order of the results. No I/O.

Law: an item that an earlier process has read is read again only if one of its blocks belongs to such a tool.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from undrift.window.conversation import Conversation
from undrift.wire.form import Block

__all__ = ["AnsweredCall", "answered_calls"]

_FURTHEST = 200
"""Items between a result and its call: several calls at once may each be an item, and so may their results."""


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call and its result. `number`: of the item with the result. `arguments`: as JSON text."""

    number: int
    tool_name: str
    arguments: str
    result: str


def answered_calls(conversation: Conversation, tools: Collection[str], start: int) -> Iterator[AnsweredCall]:
    """Yield the calls whose results stand in the items from a number on. `tools`: their names, as the client writes them."""
    for number in range(start, len(conversation.messages)):
        if tools and _tools_in(conversation, number).isdisjoint(tools):
            continue
        message = conversation.messages[number]
        before: Counter[str] = Counter()  # some providers give all calls of an item one id: then their order counts
        for entry, block in zip(message.item.entries, message.view.blocks, strict=True):
            name = entry.meta("tool_name")
            if block.kind != "result" or name not in tools or not block.call_id:
                continue
            call = _call_of(conversation, number, block.call_id, before[block.call_id], tools)
            before[block.call_id] += 1
            if call is not None:
                yield AnsweredCall(number, name, call.text, block.text)


def _tools_in(conversation: Conversation, number: int) -> set[str | None]:
    past = conversation.past
    if past is None or conversation.messages.has(number):
        return {entry.meta("tool_name") for entry in conversation.messages[number].item.entries}
    _, _, blocks = past.item(number)
    return {tool for _, tool, _ in blocks}


def _call_of(conversation: Conversation, number: int, call_id: str, place: int, tools: Collection[str]) -> Block | None:
    """Return the call with an id, before an item; of several in one item the one at this place."""
    for earlier in range(number - 1, max(-1, number - 1 - _FURTHEST), -1):
        view = conversation.messages[earlier].view
        if view.role != "assistant":
            continue
        calls = [b for b in view.blocks if b.kind == "call" and b.call_id == call_id and b.tool_name in tools]
        if calls:
            return calls[place] if place < len(calls) else None
    return None
