"""A window written back in the client's own notation. No I/O.

Law: what was not edited is the very object that came in. What was edited is written once, as long as neither the item nor
what is sent of it changes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.window.window import Window
from undrift.values.window import Sent
from undrift.window.conversation import Conversation
from undrift.wire.form import View

__all__ = ["Renderer"]


@dataclass(frozen=True, slots=True)
class _Written:
    raw: bytes
    sent: Sent
    items: tuple[Any, ...]
    views: tuple[View, ...]


class Renderer:
    """Writes the windows of one conversation.

    Args:
        conversation: It holds the items as they came in.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._written: dict[int, _Written] = {}

    def render(
        self, window: Window, given: Sequence[Any], load: Callable[[int], Any], dump: Callable[[Any], Any]
    ) -> list[Any]:
        """Return the items to send.

        Args:
            window: Of the conversation.
            given: The items that came in, as bytes or JSON values.
            load: Number of an item to its JSON value.
            dump: A JSON value to an item in the notation of `given`.
        """
        out: list[Any] = []
        position = 0
        for number in sorted(window.sent):
            out += given[position:number]
            out += self._items(number, window.sent[number], given[number], load, dump)
            position = number + 1
        out += given[position:]
        return out

    def views(self, window: Window) -> list[View]:
        """Return the history as it was rendered last, read again where it was edited."""
        messages = self._conversation.messages
        return [
            view
            for number, message in enumerate(messages)
            for view in ((message.view,) if number not in window.sent else self._views(number, window.sent[number]))
        ]

    def _views(self, number: int, sent: Sent) -> tuple[View, ...]:
        return () if _is_gone(sent) else self._written[number].views

    def _items(
        self, number: int, sent: Sent, item: Any, load: Callable[[int], Any], dump: Callable[[Any], Any]
    ) -> Sequence[Any]:
        if _is_gone(sent):
            return ()
        raw, known = self._conversation.messages[number].raw, self._written.get(number)
        if known is None or known.sent is not sent or known.raw is not raw:
            form = self._conversation.form
            edited, path = self._edited(number, sent, load(number)), f"{form.HISTORY}[{number}]"
            known = _Written(raw, sent, tuple(map(dump, edited)), tuple(form.read(one, path) for one in edited))
            self._written[number] = known
        elif not isinstance(
            item, bytes
        ):  # the caller may do with values what it likes, so that they are made each time
            return [dump(one) for one in self._edited(number, sent, load(number))]
        return known.items

    def _edited(self, number: int, sent: Sent, item: Any) -> list[Any]:
        """What is sent in place of an item: what is left of it, and behind a tool's result what is said besides."""
        form = self._conversation.form
        beside = sent.appended if self._conversation.messages[number].item.role == "tool" else ()
        edited = form.edit(item, sent.edits, () if beside else sent.appended)
        return [*([] if edited is None else [edited]), *map(form.said, beside)]


def _is_gone(sent: Sent) -> bool:
    """Whether nothing is sent in its place, so that the item need not even be looked into."""
    return bool(sent.edits) and not sent.entries
