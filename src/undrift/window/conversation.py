"""One conversation of a client between two turns: its parsed history and its current window.

Law: the state is a function of the client's history and the decisions on disk. So a restart, a retry and a fork see the
same window. Nothing here is written anywhere. No I/O.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from undrift.core.text.refs import message_id
from undrift.core.window.value import KnownReferences
from undrift.core.window.window import Window
from undrift.values.items import Growing, Items
from undrift.values.readings import StretchReading
from undrift.values.window import ContextEntry, Item
from undrift.window.decisions import Decisions
from undrift.window.message import Message, record_of
from undrift.window.pairing import Pairing, whole_of
from undrift.window.readings import Recorder, TakenOver
from undrift.window.request import Request
from undrift.window.standing import Standing
from undrift.wire import raw as raw_json
from undrift.wire.beginning import Beginning
from undrift.wire.form import BlockPlace, Form, View, entry_of
from undrift.wire.offered import Offered

__all__ = ["Conversation"]

_MOST_SPARED = 64
_NOTHING = Offered({})


class Conversation:
    """One history of a client, and its window.

    Args:
        decisions: The session's; shared by all its conversations.
        count: The token counter; called once in the life of an entry.
        ties_thinking: Whether an answer's thinking and its calls leave together.
    """

    def __init__(
        self, form: Form, decisions: Decisions, count: Callable[[str], int], *, ties_thinking: bool = False
    ) -> None:
        self.form = form
        self.messages: Growing[Message] = Growing()
        self.beginning: Beginning | None = None  # of the newest body; the next one is read from its end on
        # bodies in a row that began otherwise, and those for which no beginning is kept
        self._missed = self._spared = 0
        self._items: Growing[Item] = Growing()  # of the messages
        self._marked: set[int] = set()  # numbers of the messages that have a cache marker
        self._decisions = decisions
        self.count = count
        self._ties_thinking = ties_thinking
        self._standing = Standing()
        self._pairing = Pairing(is_adjacent=form.ADJACENT)
        self._numbers: dict[str, int] = {}  # chain id -> number of an item
        self._window: Window | None = None
        self._version = -1  # of the decisions that the window holds; -1 if it must be rebuilt
        self._seq = 0
        self._mentioned: tuple[KnownReferences, int] | None = None  # references of the first items, and their number
        self.past: TakenOver | None = None  # readings of the first items from before the session was opened
        self._past_ms = 0
        self._recorder = Recorder()
        self.offers_tools = False  # the newest request, beside its history or in it
        self.is_dressed = self._was_once = False  # the newest message, two times in a row; the last time

    def starts_with(self, raw: bytes, digest: bytes) -> bool:
        """Return whether the history begins with this item."""
        return bool(self.messages) and (self._raw(0) == raw or self.messages[0].digest == digest)

    def suits(self, form: Form, count: Callable[[str], int], *, ties_thinking: bool) -> bool:
        """Return whether the conversation was opened with these arguments."""
        return self.form is form and self.count is count and self._ties_thinking == ties_thinking

    @property
    def window(self) -> Window:
        """The window of the newest turn: the history with all its active decisions."""
        if self._window is None or self._version != self._decisions.version:
            items = Items(self._items)
            window = Window.of(items, self._numbers, self._decisions, self.count, self._standing.stays)
            self._window = self._deciding(window)
            self._version = self._decisions.version
        return self._window

    def _deciding(self, window: Window) -> Window:
        """Return a window whose decisions count in the next history too: that has not the newest message of this one."""
        if not self.is_dressed or not self.id_before_newest:
            return window
        place = self.id_before_newest
        return replace(window, decides_at=place, decided=self._decisions.decided_at(place))

    def window_with(self, decisions: Decisions) -> Window:
        """Return the window that this history would have with other decisions."""
        return Window.of(Items(self._items), self._numbers, decisions, self.count, self._standing.stays)

    def keep(self, window: Window) -> None:
        """Make a window the current one. The caller has checked it and stored its new decisions."""
        self._window = window.settled()
        self._version = self._decisions.version

    @property
    def newest_id(self) -> str:
        """Chain id of the newest item; it identifies the whole history."""
        return self.messages[-1].item.id

    @property
    def id_before_newest(self) -> str:
        """Chain id of the item before the newest one; empty if there is none."""
        return self._items[-2].id if len(self._items) > 1 else ""

    def tail(self, most: int) -> list[tuple[bytes, View]]:
        """Return the digest and the view of each of the last items."""
        return [(m.digest, m.view) for m in self.messages[-most:]]

    @property
    def views(self) -> list[View]:
        """The parsed items of the client's history."""
        return [m.view for m in self.messages]

    @property
    def marked(self) -> list[View]:
        """The items with a cache marker, in order."""
        return [self.messages[number].view for number in sorted(self._marked)]

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each item, by chain id."""
        return self._numbers

    @property
    def entries(self) -> list[ContextEntry]:
        """The entries of the client's history, in order, without those that another entry's tombstone covers."""
        return [e for e in self.all_entries if not self.window.is_absorbed(e)]

    @property
    def all_entries(self) -> Iterator[ContextEntry]:
        """All entries of the client's history, in order."""
        return (e for item in self._items for e in item.entries)

    @property
    def newest_entries(self) -> Iterator[ContextEntry]:
        """The entries of the client's history, the newest first."""
        return (e for m in reversed(self.messages) for e in reversed(m.item.entries))

    @property
    def listed_tools(self) -> list[Offered]:
        """The tools that items of the history add to those of the request."""
        return self._standing.listed

    @property
    def tool_names(self) -> set[str]:
        """The names of all tools that items of the history list, or announce as tools to load."""
        return self._standing.names

    def calls_after(self, number: int) -> list[tuple[str, str]]:
        """Return the model's calls after an item, in order: pair id, unique in the history, and tool."""
        entries = (e for item in self._items[number + 1 :] if item.role == "assistant" for e in item.entries)
        calls = (e for e in entries if e.meta("kind") == "call" and e.pair_id)
        return [(e.pair_id or "", e.meta("tool_name") or "") for e in calls]

    def newest_answer(self) -> int:
        """The number of the first item of the model's newest answer; an answer may have several items."""
        return self.window.newest_answer

    def known(self, window: Window) -> KnownReferences:
        """Return the references that the client's history mentions, for this turn's plan."""
        known, learned = self._mentioned or (KnownReferences(), 0)
        for message in self.messages[learned:]:
            for entry in message.item.entries:
                known.learn(entry)
        known.keep({e.id for e in window.entries})
        self._mentioned = known, len(self.messages)
        return known

    def follow(self, request: Request, now_ms: int, offered: Offered = _NOTHING) -> None:
        """Parse the history of this turn; items that are known are only compared by their bytes.

        `request`: opened. `offered`: the tools beside the history; what loads deferred ones stays. Raises WireError: a new item has the wrong shape.
        """
        if request.beginning is not self.beginning:  # it has another one's bytes, as after a change of the model
            request.read_whole()
        known = self._known(request)
        if 1 < len(self.messages) < request.count:  # its newest message was answered: it stands there as it was, or not
            was_dressed = known == len(self.messages) - 1 and self._was_dressed(request)
            self.is_dressed, self._was_once = was_dressed and (self._was_once or self.is_dressed), was_dressed
        if known < len(self.messages):  # a fork, or an earlier item was edited
            self._forget(known)
        try:
            for number in range(known, request.count):
                self._take(self._read(request.tail[number - request.known], request.load(number), number, now_ms))
        except BaseException:
            self._forget(known)
            raise
        self._hold(request)
        self._settle(offered)
        self.offers_tools = bool(offered.names or self.listed_tools)
        if self._window is not None and self._version == self._decisions.version:
            grown = self._window.grown(Items(self._items), self._decisions, self._standing.stays)
            self._window = self._deciding(grown)

    def _was_dressed(self, request: Request) -> bool:
        """Return whether the newest message had more text than this request's one, or stood behind the one that was
        answered."""
        number = len(self.messages) - 1
        before = self.messages[number].view
        now = self.form.read(request.load(number), f"{self.form.HISTORY}[{number}]")
        if before.role not in ("user", "system"):
            return False
        if now.role == "assistant":
            return self._items[number - 1].role != "assistant"
        words = _text_of(now)
        return bool(words) and words in _text_of(before)

    def _settle(self, offered: Offered) -> None:
        """Put in the items that count otherwise from this request on."""
        changed = self._standing.changed(offered, lambda number: self.messages[number].item)
        if self._window is not None and any(number < len(self._window.items) for number in changed):
            self._items, self._window = Growing.of(self._items), None  # earlier windows keep theirs
        for number, item in changed.items():
            self._items[number] = item

    @property
    def first_stretch(self) -> str:
        """The SHA-256 of the first stored stretch; empty if no stretch is stored."""
        return self._recorder.first

    def take_over(self, past: TakenOver | None, recorder: Recorder, now_ms: int) -> None:
        """Begin with readings that an earlier process stored, and store new ones from now on.

        `past`: the readings of the next history; None without any. `recorder`: knows that these readings are on disk.
        """
        self._recorder = recorder
        if past is None:
            return
        self.past, self._past_ms, self.beginning = past, now_ms, past.beginning
        self.messages = Growing(past.count, self._thawed)
        self._items = Growing(past.count, lambda number: self.messages[number].item, past.outline)
        self._numbers = dict(zip(past.ids, range(past.count), strict=True))
        self._marked = set(past.marked)
        self._seq = past.firsts[-1]
        for one in past.stretches:
            self._pairing.go_on(one.calls, one.served, one.open)
        for number in sorted(past.fixed | {0}):  # a client announces its tools in the first item
            self._standing.take(number, self.messages[number].view, past.pairs[number])

    def _thawed(self, number: int) -> Message:
        """Return an item from its stored reading."""
        past = self.past
        assert past is not None, "only what was taken over is made later"
        id_, (run, has_more, blocks) = past.ids[number], past.item(number)
        given = raw_json.decode(past.beginning.item(number), f"{self.form.HISTORY}[{number}]")
        view, entries = self._view(given, number), []
        for place, (block, pair_id, (tokens, tool, is_fixed)) in enumerate(
            zip(view.blocks, past.pairs[number], blocks, strict=True)
        ):
            block = replace(block, tool_name=tool, is_pinned=is_fixed)
            at = BlockPlace(id_, place, self._past_ms, past.firsts[number] + place + 1)
            entry = entry_of(block, view.role, place=at, pair_id=pair_id, count=lambda _: 0)
            entries.append(replace(entry, token_count=tokens))
        item = Item(number, id_, view.role, tuple(entries), past.tokens[number])
        return Message(None, self.form.digest(given), view, (run, has_more), item)

    def unrecorded(self) -> list[StretchReading]:
        """Return the readings to store; none if they are too small for a record."""
        numbers = self._recorder.due(self.beginning)
        if not numbers or self.beginning is None:
            return []
        found = self._recorder.reading(self.beginning, lambda places: record_of(self.messages, numbers, places))
        return [] if found is None else [found]

    def recorded(self, readings: Sequence[StretchReading]) -> None:
        """Note that these readings are stored."""
        for one in readings:
            assert self.beginning is not None, "it was read from there"
            self._recorder.written(one, self.beginning)

    def _take(self, message: Message) -> None:
        number = message.item.number
        self.messages.append(message)
        self._items.append(message.item)
        self._standing.take(number, message.view, (e.pair_id for e in message.item.entries))
        self._numbers[message.item.id] = number
        self._note_marker(number)
        if self._decisions.decided_at(message.item.id):  # decisions made at it, about items before it, count again
            self._version = -1

    def _known(self, request: Request) -> int:
        """Return how many items at the request's beginning are known, as far as their bytes were compared."""
        end = min(request.count, len(self.messages))
        for number in range(request.known, end):
            raw, message = request.tail[number - request.known], self.messages[number]
            if raw != self._raw(number):
                given = request.load(number)
                if not isinstance(given, dict) or self.form.digest(given) != message.digest:
                    return number
                message.raw = raw
                message.view = self._view(given, number)  # its cache marker has moved
                self._note_marker(number)
        return end

    def _raw(self, number: int) -> bytes:
        raw = self.messages[number].raw if self.messages.has(number) else None
        if raw is None:
            assert self.beginning is not None, "an item without bytes stands in the beginning"
            raw = self.beginning.item(number)
        return raw

    def _hold(self, request: Request) -> None:
        """Keep the bytes of the request's beginning as one piece, and drop the bytes of each item."""
        former, self.beginning = self.beginning, request.grown() if self._is_worth_one(request) else None
        held, now = (0 if one is None else one.count for one in (former, self.beginning))
        for number in range(now, held):
            self.messages[number].raw = request.bytes_of(number)
        for number in range(0 if self.beginning is None or former is None else held, now):
            if self.messages.has(number):
                self.messages[number].raw = None
        if self.past is not None and self.beginning is not None and now >= self.past.count:
            self.past.beginning = self.beginning

    def _is_worth_one(self, request: Request) -> bool:
        """Return whether to keep this body's beginning: not if the client changes its first part each time."""
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

    def _view(self, given: Any, number: int) -> View:
        """Parse an item; if the provider wants an answer's thinking before its calls, they leave together."""
        view = self.form.read(given, f"{self.form.HISTORY}[{number}]")
        kinds = {block.kind for block in view.blocks} if self._ties_thinking else ()
        return replace(view, bundle="item") if "thinking" in kinds and "call" in kinds else view

    def _read(self, raw: bytes, given: Any, number: int, now_ms: int) -> Message:
        view = self._view(given, number)
        before = self.messages[-1] if self.messages else None
        digest = self.form.digest(given)
        id_ = message_id(before.item.id if before else "", digest)
        run = self._run_of(view, id_, before)
        self._pairing.take(view, id_, run[0], role_before=before.item.role if before else "")
        entries = []
        for place, block in enumerate(view.blocks):
            self._seq += 1
            pair_id = self._pairing.pair_of(block, id_) or run[0] or None
            if block.kind == "thinking" and view.bundle == "item":
                pair_id = whole_of(id_)
            block = self._pairing.named(block)
            if block.kind == "result" and pair_id is None:  # the provider holds its call, so it can never leave
                block = replace(block, is_pinned=True)
            at = BlockPlace(id_, place, now_ms, self._seq)
            entries.append(entry_of(block, view.role, at, pair_id, self.count))
        item = Item(number, id_, view.role, tuple(entries), sum(e.token_count for e in entries))
        return Message(raw, digest, view, run, item)

    def _run_of(self, view: View, id_: str, before: Message | None) -> tuple[str, bool]:
        """Return the model's items that belong together with this item: they begin with reasoning."""
        if view.role != "assistant":
            joins = view.bundle == "run" and before is not None and before.item.role == "assistant"
            return (before.run[0] if before and joins else "", joins)
        run, has_more = before.run if before else ("", False)
        if view.bundle == "run":
            return (run, False) if run and not has_more else (id_, False)
        return run, bool(run)

    def _forget(self, known: int) -> None:
        """Drop all items from a number on, and find the open calls before it again."""
        self.messages, self._items = Growing.of(self.messages), Growing.of(self._items)  # earlier windows keep theirs
        self.past = None
        self._recorder.forget(known)
        del self.messages[known:]
        del self._items[known:]
        self._standing.forget(known)
        self._items[:] = [message.item for message in self.messages]
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


def _text_of(view: View) -> str:
    return "".join(block.text for block in view.blocks if block.kind == "text").strip()
