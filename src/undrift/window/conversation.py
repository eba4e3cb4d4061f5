"""One conversation of a client between two turns: its history as it came in, read once, and its window as it stands.

Law: the state is a function of the history that came in and the decisions on disk, so that a restart, a retry and a
fork see the same window. Nothing here is written anywhere. No I/O.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from undrift.core.text.refs import message_id
from undrift.core.window.value import KnownReferences
from undrift.core.window.window import Window
from undrift.values.items import Items
from undrift.values.window import ContextEntry, Item
from undrift.window.decisions import Decisions
from undrift.window.pairing import Pairing
from undrift.window.request import Request
from undrift.wire.beginning import Beginning
from undrift.wire.form import BlockPlace, Form, View, entry_of

__all__ = ["Conversation", "Message"]

_MOST_SPARED = 64


@dataclass(slots=True)
class Message:
    """One item of the history, read.

    Args:
        raw: Its bytes as they came in last; None where the conversation's beginning has them.
        digest: What items share that mean the same.
        view: As the form reads it.
        run: Id of the run that it belongs to, and whether that has more than reasoning.
        item: As the window knows it.
    """

    raw: bytes | None
    digest: bytes
    view: View
    run: tuple[str, bool]
    item: Item


class Conversation:
    """One history as the client sends it, and the window that is made of it.

    Args:
        form: Of the provider.
        decisions: The session's; shared by all its conversations.
        count: The token counter; called once in the life of an entry.
        defers_tools: Whether its requests defer tools: then what loads some stays, and comes back where it had left.
    """

    def __init__(
        self, form: Form, decisions: Decisions, count: Callable[[str], int], *, defers_tools: bool = False
    ) -> None:
        self.form = form
        self.messages: list[Message] = []
        self.beginning: Beginning | None = None  # of the newest body: what begins so need not be read again
        self._missed = self._spared = (
            0  # bodies in a row that began otherwise, and those for which no beginning is made
        )
        self._items: list[Item] = []  # of the messages
        self._marked: set[int] = set()  # numbers of the messages that have a cache marker
        self._decisions = decisions
        self.count = count
        self._defers_tools = defers_tools
        self._loading: frozenset[str] = frozenset()  # pair ids of the searches that have loaded tools
        self._pairing = Pairing(is_adjacent=form.ADJACENT)
        self._numbers: dict[str, int] = {}  # chain id -> number of an item
        self._window: Window | None = None
        self._version = -1  # of the decisions that the window holds; -1 where it must be made again
        self._seq = 0
        self._mentioned: tuple[KnownReferences, int] | None = None  # what the first so many items mention

    def starts_with(self, raw: bytes, digest: bytes) -> bool:
        """Tell whether the first item is this one."""
        return bool(self.messages) and (self._raw(0) == raw or self.messages[0].digest == digest)

    def suits(self, form: Form, count: Callable[[str], int], *, defers_tools: bool) -> bool:
        """Tell whether it was opened with these."""
        return self.form is form and self.count is count and self._defers_tools == defers_tools

    @property
    def window(self) -> Window:
        """The history of the newest turn with every decision that counts in it."""
        if self._window is None or self._version != self._decisions.version:
            items = Items(self._items)
            self._window = Window.of(items, self._numbers, self._decisions, self.count, self._loading)
            self._version = self._decisions.version
        return self._window

    def keep(self, window: Window) -> None:
        """Take a window for the one that stands: it was found legal, and what is new in it is among the decisions."""
        self._window = window.settled()
        self._version = self._decisions.version

    @property
    def newest_id(self) -> str:
        """Chain id of the newest item; it stands for the whole history."""
        return self.messages[-1].item.id

    def tail(self, most: int) -> list[tuple[bytes, View]]:
        """Return the digests and views of the last items of the history."""
        return [(m.digest, m.view) for m in self.messages[-most:]]

    @property
    def views(self) -> list[View]:
        """The history as it came in, read."""
        return [m.view for m in self.messages]

    @property
    def marked(self) -> list[View]:
        """The items that have a cache marker, in order."""
        return [self.messages[number].view for number in sorted(self._marked)]

    @property
    def numbers(self) -> Mapping[str, int]:
        """Chain id of each item -> its number."""
        return self._numbers

    @property
    def entries(self) -> list[ContextEntry]:
        """The entries of the history that came in, in order; without words that a tombstone beside them stands for."""
        return [e for e in self.all_entries if not self.window.is_absorbed(e)]

    @property
    def all_entries(self) -> Iterator[ContextEntry]:
        """The entries of the history that came in, in order, all of them."""
        return (e for item in self._items for e in item.entries)

    @property
    def newest_entries(self) -> Iterator[ContextEntry]:
        """The entries of the history that came in, the newest first."""
        return (e for m in reversed(self.messages) for e in reversed(m.item.entries))

    def calls_after(self, number: int) -> list[tuple[str, str]]:
        """Return the calls that the model made behind an item, in order: pair id, which no other call has, and tool."""
        entries = (e for item in self._items[number + 1 :] if item.role == "assistant" for e in item.entries)
        calls = (e for e in entries if e.meta("kind") == "call" and e.pair_id)
        return [(e.pair_id or "", e.meta("tool_name") or "") for e in calls]

    def newest_answer(self) -> int:
        """Number of the first item of the model's newest answer, which may stand in several."""
        return self.window.newest_answer

    def known(self, window: Window) -> KnownReferences:
        """Return what the history that came in mentions, for the plan of this turn."""
        known, learned = self._mentioned or (KnownReferences(), 0)
        for message in self.messages[learned:]:
            for entry in message.item.entries:
                known.learn(entry)
        known.keep({e.id for e in window.entries})
        self._mentioned = known, len(self.messages)
        return known

    def follow(self, request: Request, now_ms: int) -> None:
        """Take in the history of this turn; what is known already costs a comparison of bytes.

        Args:
            request: Opened; the beginning that it goes on with is this conversation's.
            now_ms: The session's clock.

        Raises:
            WireError: A new item has the wrong shape.
        """
        known = self._known(request)
        if known < len(self.messages):  # a fork, or an earlier item was edited
            self._forget(known)
        try:
            for number in range(known, request.count):
                self._take(self._read(request.tail[number - request.known], request.load(number), number, now_ms))
        except BaseException:
            self._forget(known)
            raise
        self._hold(request)
        if self._window is not None and self._version == self._decisions.version:
            self._window = self._window.grown(Items(self._items), self._decisions, self._loading)

    def _take(self, message: Message) -> None:
        number = message.item.number
        self.messages.append(message)
        self._items.append(message.item)
        self._numbers[message.item.id] = number
        self._note_marker(number)
        if self._decisions.decided_at(message.item.id):  # what was decided at it, about what is before it, counts again
            self._version = -1

    def _known(self, request: Request) -> int:
        """How many items stand at the beginning of the request as well; it has the same bytes as far as it is known."""
        end = min(request.count, len(self.messages))
        for number in range(request.known, end):
            raw, message = request.tail[number - request.known], self.messages[number]
            if raw != self._raw(number):
                given = request.load(number)
                if not isinstance(given, dict) or self.form.digest(given) != message.digest:
                    return number
                message.raw = raw
                message.view = self.form.read(given, f"{self.form.HISTORY}[{number}]")  # its cache marker has moved
                self._note_marker(number)
        return end

    def _raw(self, number: int) -> bytes:
        raw = self.messages[number].raw
        if raw is None:
            assert self.beginning is not None, "an item without bytes stands in the beginning"
            raw = self.beginning.item(number)
        return raw

    def _hold(self, request: Request) -> None:
        """Keep the request's beginning, and of the items in it no bytes besides."""
        former, self.beginning = self.beginning, request.grown() if self._is_worth_one(request) else None
        held, now = (0 if one is None else one.count for one in (former, self.beginning))
        for number in range(now, held):
            self.messages[number].raw = request.bytes_of(number)
        for number in range(0 if self.beginning is None or former is None else held, now):
            self.messages[number].raw = None

    def _is_worth_one(self, request: Request) -> bool:
        """Whether the next body may begin as this one: a client that changes its head with each costs little more so."""
        if request.beginning is not None:
            self._missed = self._spared = 0
        elif self.beginning is not None:
            self._missed += 1
            self._spared = min(2**self._missed, _MOST_SPARED)
        self._spared -= self._spared > 0
        return not self._spared

    def _note_marker(self, number: int) -> None:
        self._marked.discard(number)
        if any(block.marker for block in self.messages[number].view.blocks):
            self._marked.add(number)

    def _read(self, raw: bytes, given: Any, number: int, now_ms: int) -> Message:
        view = self.form.read(given, f"{self.form.HISTORY}[{number}]")
        before = self.messages[-1] if self.messages else None
        digest = self.form.digest(given)
        id_ = message_id(before.item.id if before else "", digest)
        run = self._run_of(view, id_, before)
        self._pairing.take(view, id_, run[0], role_before=before.item.role if before else "")
        entries = []
        for place, block in enumerate(view.blocks):
            self._seq += 1
            pair_id = self._pairing.pair_of(block, id_) or run[0] or None
            block = self._pairing.named(block)
            if block.kind == "result" and pair_id is None:  # its call is held by the provider, so it can never leave
                block = replace(block, is_pinned=True)
            if block.loads_tools and self._defers_tools:
                block = replace(block, is_pinned=True)
                self._loading |= {pair_id} if pair_id is not None else frozenset()
            at = BlockPlace(id_, place, now_ms, self._seq)
            entries.append(entry_of(block, view.role, at, pair_id, self.count))
        item = Item(number, id_, view.role, tuple(entries), sum(e.token_count for e in entries))
        return Message(raw, digest, view, run, item)

    def _run_of(self, view: View, id_: str, before: Message | None) -> tuple[str, bool]:
        """The run of the model's items that an item belongs to: it begins with reasoning and ends before the next."""
        if view.role != "assistant":
            joins = view.bundle == "run" and before is not None and before.item.role == "assistant"
            return (before.run[0] if before and joins else "", joins)
        run, has_more = before.run if before else ("", False)
        if view.bundle == "run":
            return (run, False) if run and not has_more else (id_, False)
        return run, bool(run)

    def _forget(self, known: int) -> None:
        """Drop the items from a number on, and note again which calls are open before it."""
        del self.messages[known:]
        self._items = self._items[:known]  # windows of before keep theirs
        self._marked = {number for number in self._marked if number < known}
        if self.beginning is not None and self.beginning.count > known:
            for message in self.messages:
                message.raw = message.raw or self.beginning.item(message.item.number)
            self.beginning = None
        self._numbers = {message.item.id: number for number, message in enumerate(self.messages)}
        if self._mentioned is not None and self._mentioned[1] > known:
            self._mentioned = None
        self._window, self._version = None, -1
        self._pairing.clear()
        for number, message in enumerate(self.messages):
            before = self.messages[number - 1].item.role if number else ""
            self._pairing.take(message.view, message.item.id, message.run[0], role_before=before)
