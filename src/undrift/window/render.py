"""Writes a window in the client's own notation. No I/O.

Law: an item that was not edited is the very object of the client. An edited item is written once, as long as neither
the item nor its replacement changes. The sent items of the known beginning are kept joined until a replacement among
them changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.window.window import Window
from undrift.values.window import Sent
from undrift.window.conversation import Conversation
from undrift.window.request import Request
from undrift.wire import raw
from undrift.wire.form import View

__all__ = ["Renderer"]


@dataclass(frozen=True, slots=True)
class _Written:
    given: View
    sent: Sent
    items: (
        tuple[bytes, ...] | None
    )  # None where they are values: the caller may change those, so they are made each time
    views: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class _Settled:
    """The first sent items of a history as joined bytes; they never change for this beginning."""

    stem: object
    sent: Mapping[int, Sent]
    count: int
    joined: bytes


class Renderer:
    """Writes the windows of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._written: dict[int, _Written] = {}
        self._settled: _Settled | None = None

    def render(self, window: Window, request: Request) -> list[Any]:
        """Return the items to send, in the notation of the request; as bytes, several may be joined by commas.

        If the window changes nothing, the list is empty: the request itself is sent.
        """
        if not window.sent:
            return []
        settled = self._joined(window, request)
        start = 0 if settled is None else settled.count
        out = [settled.joined] if settled is not None and settled.joined else []
        return [*out, *self._rendered(window, request, start, request.count)]

    def _rendered(self, window: Window, request: Request, start: int, end: int) -> list[Any]:
        """Return the items that replace some items of the history."""
        out: list[Any] = []
        for number in range(start, end):
            sent = window.sent.get(number)
            if sent is not None:
                out += self._items(number, sent, request)
            else:
                out.append(request.item(number))
        return out

    def _joined(self, window: Window, request: Request) -> _Settled | None:
        """Return the joined items of the known beginning. None means: unknown, or a replacement has changed."""
        stem = None if request.beginning is None else request.beginning.stem
        known = self._settled
        if known is None or stem is None or known.stem is not stem or known.sent is not window.sent:
            # a new plan may change with the next turn, so nothing is joined before the second turn
            self._settled = None if stem is None else _Settled(stem, window.sent, 0, b"")
            return None
        if known.count < request.known:
            more = self._rendered(window, request, known.count, request.known)
            joined = b",".join([known.joined, *more] if known.joined else more)
            known = self._settled = _Settled(stem, window.sent, request.known, joined)
        return known

    def views(self, window: Window) -> list[View]:
        """Return the history as last rendered; edited items are parsed again."""
        messages, sent = self._conversation.messages, window.sent
        return [
            view
            for number in range(len(messages))
            for view in (self.views_of(number, sent[number]) if number in sent else (messages[number].view,))
        ]

    def views_of(self, number: int, sent: Sent) -> tuple[View, ...]:
        """Return a replacement as it was last rendered, parsed again; nothing if the item is removed."""
        return () if _is_gone(sent) else self._written[number].views

    def _items(self, number: int, sent: Sent, request: Request) -> Sequence[Any]:
        if _is_gone(sent):
            return ()
        given, known = self._conversation.messages[number].view, self._written.get(number)
        if known is not None and (known.sent is not sent or known.given is not given):
            known = None
        if known is not None and known.items is not None and request.is_bytes:
            return known.items
        edited = self._edited(number, sent, request)
        items = tuple(map(raw.encode, edited)) if request.is_bytes else None
        form = self._conversation.form
        read = (form.read(one, f"{form.HISTORY}[{number}]") for one in edited)
        self._written[number] = _Written(given, sent, items, tuple(read) if known is None else known.views)
        return edited if items is None else items

    def _edited(self, number: int, sent: Sent, request: Request) -> list[Any]:
        """Return the JSON values that replace an item: what remains of it, and our notes after a tool's result."""
        form = self._conversation.form
        beside = sent.appended if self._conversation.messages[number].item.role == "tool" else ()
        edited = form.edit(request.load(number), sent.edits, () if beside else sent.appended)
        return [*([] if edited is None else [edited]), *map(form.user_item, beside)]


def _is_gone(sent: Sent) -> bool:
    """Return whether an item is removed without a replacement; it need not be read then."""
    return bool(sent.edits) and not sent.entries
