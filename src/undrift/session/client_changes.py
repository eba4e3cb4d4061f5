"""Compares each request of a client with its earlier ones, to find the place from which the client changed its prompts.

Law: only requests whose prefix the provider may still have count, and only those of this process: after a restart
nothing is said of the first request. One of several earlier requests is enough to keep a prefix warm.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from undrift.core.window.client_change import ClientChange, tokens_before
from undrift.core.window.low_water import Cache
from undrift.window.conversation import Conversation
from undrift.window.request import Request
from undrift.wire.beginning import Beginning
from undrift.wire.cached_prefix import first_change, offset_of

__all__ = ["Asking", "ClientChanges"]

_EARLIER = 6
"""Requests of a conversation that are remembered: side requests may stand between two of the main work."""

_SAME_ITEMS = 2
"""Items behind a changed first one that must be equal: then it is the same conversation."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The time of a request, its model, what is known of that model's cache, and the tokens beside the history."""

    now_ms: int
    model: str
    cache: Cache
    fixed_tokens: int


@dataclass(frozen=True, slots=True)
class _Earlier:
    """An earlier request: `numbers` has the chain ids of its `count` items."""

    at_ms: int
    model: str
    fields: Mapping[str, bytes]
    numbers: Mapping[str, int]
    count: int


class ClientChanges:
    """Remembers the newest requests of each conversation of a session."""

    def __init__(self) -> None:
        self._earlier: WeakKeyDictionary[Conversation, deque[_Earlier]] = WeakKeyDictionary()

    def follow(self, conversation: Conversation, request: Request, asking: Asking) -> ClientChange | None:
        """Return the client's change against its earlier requests, and remember this one. None means: there is none.

        `request`: opened, and followed by the conversation.
        """
        met = self._earlier.get(conversation)
        fields = {name: request.raw_of(name) for name in conversation.form.CACHED}
        if met is None:
            found = self._first_item(conversation, request, asking)
            met = self._earlier[conversation] = deque(maxlen=_EARLIER)
        else:
            fields = {
                name: met[-1].fields[name] if met[-1].fields[name] == data else data for name, data in fields.items()
            }
            found = self._against(met, fields, conversation, request, asking)
        met.append(_Earlier(asking.now_ms, asking.model, fields, conversation.numbers, request.count))
        return found

    def _against(
        self,
        met: Iterable[_Earlier],
        fields: Mapping[str, bytes],
        conversation: Conversation,
        request: Request,
        asking: Asking,
    ) -> ClientChange | None:
        """Return the change against the earlier request that shares most with this one."""
        known = [one for one in met if not asking.cache.is_cold(asking.now_ms - one.at_ms)]
        if not known:  # a pause: all is written again, with or without a change
            return None
        common = []
        for one in reversed(known):  # the newest one shares all of it, as a rule
            if one.model == asking.model and first_change(one.fields, fields) is None:
                common.append(_common(one, conversation))
                # The newest item alone is no change: clients write more into it than stands there later.
                if common[-1] >= min(one.count - 1, request.count):
                    return None
        if not common:
            return _field(known[-1], fields, request, asking)
        return self._item(max(common), conversation, request, asking)

    def _first_item(self, conversation: Conversation, request: Request, asking: Asking) -> ClientChange | None:
        """Return a change of the first item alone: with it a conversation looks like a new one."""
        places = range(1, 1 + _SAME_ITEMS)
        for other, earlier in self._earlier.items():
            is_recent = other is not conversation and not asking.cache.is_cold(asking.now_ms - earlier[-1].at_ms)
            is_long = min(len(other.messages), request.count) > _SAME_ITEMS
            if not is_recent or not is_long or other.form is not conversation.form or earlier[-1].model != asking.model:
                continue
            if all(other.messages[n].digest == conversation.messages[n].digest for n in places):
                return self._item(0, conversation, request, asking)
        return None

    @staticmethod
    def _item(number: int, conversation: Conversation, request: Request, asking: Asking) -> ClientChange:
        tokens = asking.fixed_tokens + tokens_before(conversation.window, number)
        byte = _item_offset(request, conversation.form.HISTORY, number) if request.is_bytes else None
        return ClientChange(f"message {number}", tokens, byte)


def _field(one: _Earlier, fields: Mapping[str, bytes], request: Request, asking: Asking) -> ClientChange:
    """Return the change of the model or of a field before the history."""
    changed = None if one.model != asking.model else first_change(one.fields, fields)
    if changed is None:
        return ClientChange("model", 0)
    part, at = changed
    start = offset_of(bytes(request.body), part, fields[part]) if request.is_bytes else None
    return ClientChange(part, 0, None if start is None else start + at)


def _common(one: _Earlier, conversation: Conversation) -> int:
    """Return how many items at its beginning the conversation shares with an earlier request."""
    if one.numbers is conversation.numbers:  # it has only grown since
        return one.count
    ids = [*conversation.numbers]
    low, high = 0, min(one.count, len(ids))
    while low < high:  # a chain id identifies all items before it too
        middle = (low + high + 1) // 2
        low, high = (middle, high) if ids[middle - 1] in one.numbers else (low, middle - 1)
    return low


def _item_offset(request: Request, name: str, number: int) -> int | None:
    """Return where an item begins in the body; None if that is unclear."""
    body = bytes(request.body)
    head = Beginning.head(body, name)
    if head is None:
        return None
    at = head[0]
    for place in range(number):
        item = request.bytes_of(place)
        at = body.find(item, at)
        if at < 0:
            return None
        at += len(item)
    return max(body.find(request.bytes_of(number), at), at)
