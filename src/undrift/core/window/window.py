"""The window of one turn: a history, the decisions about it, and the entries to send. Pure.

Law: a window never changes; `with_` gives another one. The first of two decisions about one block at one place counts.
A prune replaces a decision that this very turn made in the same place. A decision counts in every history that contains
the item at which it was made, and in no other (docs/adr/0009-conversations-know-themselves.md).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from undrift.core.window.actions import actions_of, is_gone
from undrift.core.window.additions import note_entry, pin_text
from undrift.core.window.fit import TurnPlan
from undrift.core.window.log import PLACED, Log, place_of, place_rewritten, taken_at
from undrift.core.window.shrink import shortened
from undrift.core.window.thinking import is_thinking
from undrift.values.items import Items, Outline, are_made, outlined
from undrift.values.window import Action, ContextEntry, Decision, Edit, Item, Sent

__all__ = ["Window"]

_GONE = Edit()

_OF_SENT = (
    "rewritten_at",
    "actions",
    "action_count",
    "gone",
    "gone_count",
    "notes",
)  # cached values that depend on `sent` alone
_OF_ITEMS = ("entries", "thinking", "_shorter")  # those that also depend on the items


@dataclass(frozen=True)
class Window:
    """A history, the decisions that count in it, and the entries to send.

    Args:
        decided: Ids of entries with a stored decision at the newest item; nothing more is decided about them this turn.
        sent: Number of an item to its replacement; an item without one is sent unchanged.
        stays: Pair ids of calls about which no decision counts: their results loaded tools that are still deferred.
        before: The window before this turn's first decision; None for that window itself.
        plan: The budget's plan for this turn; None if it required nothing.
        decides_at: Chain id of the item at which this turn decides; empty for the newest one.
    """

    items: Sequence[Item]
    numbers: Mapping[str, int]
    count: Callable[[str], int]
    pins: Mapping[str, ContextEntry]
    ruling: Mapping[str, Decision]
    placed: Mapping[str, tuple[Decision, ...]]
    decided: Collection[str]
    sent: Mapping[int, Sent]
    stays: frozenset[str]
    tokens_before: int
    tokens_after: int
    new: tuple[Decision, ...] = ()
    before: "Window | None" = None
    was_checked: bool = False
    plan: TurnPlan | None = None
    decides_at: str = ""

    @classmethod
    def of(
        cls,
        items: Sequence[Item],
        numbers: Mapping[str, int],
        log: Log,
        count: Callable[[str], int],
        stays: frozenset[str] = frozenset(),
    ) -> "Window":
        """Return the window of a history with the session's decisions."""
        ruling = log.ruling(numbers)
        placed = {id_: d for id_, d in log.placed(numbers).items() if not items[numbers[id_]].is_replaced}
        tokens = items.tokens if isinstance(items, Items) else sum(item.tokens for item in items)
        decided = log.decided_at(items[-1].id) if items else ()
        bare = cls(items, numbers, count, log.pins, ruling, placed, decided, {}, stays, tokens, tokens)
        touched = {numbers[place] for entry_id in ruling if (place := place_of(entry_id)) in numbers}
        return bare._sending(touched | {numbers[anchor] for anchor in placed})

    def grown(self, items: Sequence[Item], log: Log, stays: frozenset[str] = frozenset()) -> "Window":
        """Return the window of a longer history without decisions about the new items; the old ones cost no time."""
        added = items[len(self.items) :]
        more = sum(item.tokens for item in added)
        longer = replace(
            self,
            items=items,
            pins=log.pins,
            decided=log.decided_at(items[-1].id),
            stays=stays,
            decides_at="",
            tokens_before=self.tokens_before + more,
            tokens_after=self.tokens_after + more,
        )
        known = self.__dict__
        if "entries" in known or "_shorter" in known:
            longer.__dict__["_shorter"] = self if "entries" in known else known["_shorter"]
        if "thinking" in known:
            thinking = [(item.number, e) for item in added for e in item.entries if is_thinking(e)]
            longer.__dict__["thinking"] = (*self.thinking, *thinking)
        return longer._knowing(self, _OF_SENT)

    def with_(self, decisions: Iterable[Decision]) -> "Window":
        """Return the window with more decisions at its newest item; the same window if they change nothing."""
        given = [replace(d, detail={**d.detail, "at": self.place}) for d in decisions]
        mine = {d.entry_id: d for d in self.new}
        first = {d.entry_id: d for d in reversed(given)}  # two passes may name one block: the first counts
        news = [d for d in reversed(first.values()) if d.entry_id not in mine and d.entry_id not in self.decided]
        prunes = [d for d in given if d.kind == "pruned" and _gives_way(mine.get(d.entry_id))]
        replaced = {d.entry_id for d in prunes}
        news += [d for d in prunes if mine[d.entry_id].kind != "noted"]  # a pruned note of this turn was never there
        if not news and not replaced:
            return self
        new = (*(d for d in self.new if d.entry_id not in replaced), *news)
        return (self.before or self)._with_new(new, self, {*replaced, *(d.entry_id for d in news)})

    def settled(self) -> "Window":
        """Return the window after its turn: it was found legal, and its new decisions are stored."""
        if self.was_checked and not self.new and self.before is None and self.plan is None:
            return self
        return replace(self, new=(), before=None, was_checked=True, plan=None)._knowing(self, (*_OF_SENT, *_OF_ITEMS))

    def _knowing(self, former: "Window", names: Iterable[str]) -> "Window":
        """Return this window with those cached values of an earlier window that are still right."""
        self.__dict__.update({name: former.__dict__[name] for name in names if name in former.__dict__})
        return self

    def _with_new(self, new: tuple[Decision, ...], former: "Window", changed: Collection[str]) -> "Window":
        """Return the window with decisions of this turn; `former` has all of them except the changed ones."""
        ruling, placed = {**former.ruling}, {**former.placed}
        by_id = {d.entry_id: d for d in new}
        for entry_id in changed:
            decision = by_id.get(entry_id) or self.ruling.get(entry_id)
            if decision is None:
                ruling.pop(entry_id, None)
            else:
                ruling[entry_id] = decision
        anchors = {anchor for entry_id in changed if (anchor := place_of(entry_id)) in self.numbers}
        mine: dict[str, list[Decision]] = {anchor: [] for anchor in anchors}
        for decision in new:  # once: a prune of a long history has thousands of them, and as many anchors
            if decision.kind in PLACED and decision.detail["anchor"] in mine:
                mine[decision.detail["anchor"]].append(decision)
        for anchor in anchors:
            if mine[anchor] or anchor in placed:
                placed[anchor] = (*self.placed.get(anchor, ()), *mine[anchor])
        window = replace(former, ruling=ruling, placed=placed, new=new, before=self)
        return window._sending({self.numbers[anchor] for anchor in anchors})

    def _sending(self, touched: Collection[int]) -> "Window":
        """Return this window with rebuilt replacements of some items."""
        sent, tokens = {**self.sent}, self.tokens_after
        for number in touched:
            outline, former = outlined(self.items, number), sent.pop(number, None)
            unchanged = self.items[number].tokens if outline is None else outline.tokens
            tokens -= unchanged if former is None else former.tokens
            replacement = self._replacement_unread(outline) or self._replacement(self.items[number])
            if replacement is not None:
                sent[number] = replacement
            tokens += unchanged if replacement is None else replacement.tokens
        return replace(self, sent=sent, tokens_after=tokens)

    def _replacement_unread(self, outline: Outline | None) -> Sent | None:
        """Return the replacement of an item that was never built, if the item is wholly removed."""
        if outline is None or outline.id in self.placed or not self.stays.isdisjoint(outline.pairs):
            return None
        about = [d for block in outline.blocks if (d := self.ruling.get(block)) is not None and d.kind == "pruned"]
        if not about or len(about) < len(outline.pairs):
            return None
        actions = sum(1 for d in about if d.ref)
        return _nothing(len(about), actions, self._rewritten_at(about), sum(map(is_gone, about)))

    def _rewritten_at(self, about: Iterable[Decision | None]) -> int:
        """Return the number of the newest item when the last of these decisions was made."""
        return max([self.numbers.get(place_rewritten(d), -1) for d in about if d is not None], default=-1)

    def _replacement(self, item: Item) -> Sent | None:
        """Return the replacement of an item. None means: the item is sent unchanged."""
        about, placed = [self.decision_about(e) for e in item.entries], self.placed_in(item.id)
        found = [d for d in (*about, *placed) if d is not None]
        if not found:
            return None
        rewritten_at = self._rewritten_at(about)
        actions, destroyed = sum(1 for d in found if d.ref), sum(map(is_gone, found))
        if len(found) == len(about) and all(d.kind == "pruned" for d in found):  # most items of a long history
            return _nothing(len(about), actions, rewritten_at, destroyed)
        edits: dict[int, Edit] = {}
        live, appended = [], []
        for place, (entry, decision) in enumerate(zip(item.entries, about, strict=True)):
            if decision is None:
                live.append(entry)
            else:
                edits[place], left = self._left(entry, decision)
                live += left
        for decision in placed:
            entry, text = self._put_in(decision, item)
            live.append(entry)
            appended.append(text)
        tokens = sum(e.token_count for e in live)
        return Sent(tuple(live), edits, tuple(appended), actions, tokens, rewritten_at, destroyed)

    def _left(self, entry: ContextEntry, decision: Decision) -> tuple[Edit, list[ContextEntry]]:
        """Return the edit of a block, and the entry that replaces it."""
        if decision.kind == "pruned":
            return _GONE, []
        if decision.kind == "evicted":
            text = decision.detail["text"]
            live = [] if text is None else [self._tombstone(entry, text, decision.detail["task"])]
            return Edit(text, is_tombstone=True), live
        text, left = shortened(entry, decision)
        metadata = {**(entry.metadata or {}), **left}
        return Edit(text), [replace(entry, token_count=self.count(text), metadata=metadata)]

    def _tombstone(self, entry: ContextEntry, text: str, task_id: str) -> ContextEntry:
        """Return the summary that replaces an evicted block; a prune may remove it like any other entry."""
        kind = "result" if entry.type == "tool_result" else "text"
        metadata = {**(entry.metadata or {}), "kind": kind, "task": task_id}
        return replace(entry, type="summary", content=text, token_count=self.count(text), metadata=metadata)

    def _put_in(self, decision: Decision, item: Item) -> tuple[ContextEntry, str]:
        """Return a pin or note as an entry in its item, and its text."""
        if decision.kind == "noted":
            at_ms = item.entries[0].timestamp if item.entries else 0
            entry = note_entry(decision, timestamp_ms=at_ms, count=self.count)
            return entry, entry.content
        pin = self.pins[decision.detail["pin"]]
        text = pin_text(pin)
        return replace(pin, id=decision.entry_id, token_count=self.count(text)), text

    # ------------------------------------------------------------------------------------------------- for the passes
    @property
    def newest_id(self) -> str:
        """Chain id of the newest item; it identifies the whole history."""
        return self.items[-1].id

    @property
    def place(self) -> str:
        """Chain id of the item at which this turn decides; the next history contains it."""
        return self.decides_at or self.newest_id

    @cached_property
    def entries(self) -> tuple[ContextEntry, ...]:
        """The entries to send, in order."""
        shorter: Window | None = self.__dict__.pop("_shorter", None)  # the window before new items, with its entries
        if shorter is not None:
            return (*shorter.entries, *(e for item in self.items[len(shorter.items) :] for e in item.entries))
        return tuple(e for _, entries in self._by_item() for e in entries)

    @cached_property
    def seen(self) -> int:
        """The number of `entries` that the model has seen."""
        return len(self.entries) - sum(len(entries) for _, entries in self._by_item(self.first_unseen))

    @property
    def given(self) -> Iterator[ContextEntry]:
        """The entries of the client's history, in order."""
        return (e for item in self.items for e in item.entries)

    @cached_property
    def gone_unseen(self) -> Mapping[int, Outline]:
        """The removed items that were never built, by number; no block of them is pinned."""
        numbers = () if are_made(self.items) else self.sent
        found = ((number, outlined(self.items, number)) for number in numbers)
        return {number: outline for number, outline in found if outline is not None}

    @property
    def looked_at(self) -> Iterator[Item]:
        """All items except `gone_unseen`, in order."""
        gone = self.gone_unseen
        if not gone:
            return iter(self.items)
        return (self.items[number] for number in range(len(self.items)) if number not in gone)

    @property
    def gone_pairs(self) -> set[str]:
        """The pair ids of the blocks that were removed as a whole."""
        unseen = (pair_id for item in self.gone_unseen.values() for pair_id in item.pairs)
        seen = (e.pair_id for item in self.looked_at for e in item.entries if self.is_gone(e))
        return {pair_id for pair_id in (*unseen, *seen) if pair_id is not None}

    @cached_property
    def first_unseen(self) -> int:
        """The number of the first item after the newest answer; the last item never counts as an answer."""
        for number in range(len(self.items) - 2, -1, -1):
            if self.items[number].role == "assistant":
                return number + 1
        return 0

    @property
    def newest_answer(self) -> int:
        """The number of the first item of the model's newest answer; an answer may have several items."""
        number = self.first_unseen
        while number and self.items[number - 1].role == "assistant":
            number -= 1
        return number

    @property
    def round_is_open(self) -> bool:
        """True if the model has not yet seen the results of its newest calls."""
        unseen = self.items[self.first_unseen :]
        return any(e.meta("kind") == "result" for item in unseen for e in item.entries)

    @property
    def open_answer(self) -> frozenset[str]:
        """The ids of the newest answer's items while its calls are open; otherwise none."""
        if not self.round_is_open:
            return frozenset()
        return frozenset(item.id for item in self.items[self.newest_answer : self.first_unseen])

    @property
    def anchor(self) -> str | None:
        """The chain id of the item that gets new texts, after everything sent. None means: there is none.

        Before the first answer it is the user's first message, later the user's last one, unless it was answered.
        """
        spoken = [item.id for item in self.items[self.first_unseen :] if item.role == "user"]
        if not spoken:
            return self.newest_id if self.items[-1].role == "tool" else None
        return spoken[-1] if self.first_unseen else spoken[0]

    @cached_property
    def thinking(self) -> tuple[tuple[int, ContextEntry], ...]:
        """The thinking blocks to send, in order, each with its item's number."""
        sent = ((number, e) for number, entries in self._by_item() for e in entries)
        return tuple((number, e) for number, e in sent if is_thinking(e))

    @property
    def has_thinking(self) -> bool:
        """True if a thinking block is sent; the provider may have bound it to the words before it."""
        return bool(self.thinking)

    @cached_property
    def rewritten_at(self) -> int:
        """The number of the item that was newest at the last rewrite; -1 if there was none."""
        return max((one.rewritten_at for one in self.sent.values()), default=-1)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The changes of this history's blocks that can be recalled, in order."""
        return actions_of(self.items, self.sent, self.ruling, self.placed_in)

    @cached_property
    def action_count(self) -> int:
        """The number of `actions`, without building them."""
        return sum(sent.actions for sent in self.sent.values())

    @property
    def decided_here(self) -> frozenset[str]:
        """The ids of blocks with a decision at the newest item; this turn decides nothing more about them."""
        at, ids = self.place, {*self.decided, *(d.entry_id for d in self.new)}
        found = ((id_, self.ruling.get(id_)) for id_ in ids)
        return frozenset(id_ for id_, d in found if d and taken_at(d) == at and d.kind not in PLACED)

    def placed_in(self, item_id: str) -> list[Decision]:
        """Return the pins and notes of an item, oldest first."""
        return [d for d in self.placed.get(item_id, ()) if self.ruling.get(d.entry_id) is d]

    @cached_property
    def notes(self) -> tuple[Decision, ...]:
        """The notes in this history, in order."""
        anchors = sorted((anchor for anchor in self.placed if anchor in self.numbers), key=self.numbers.__getitem__)
        return tuple(d for anchor in anchors for d in self.placed_in(anchor) if d.kind == "noted")

    def decision_about(self, entry: ContextEntry) -> Decision | None:
        """Return the decision about a block that counts here. None means: the block is sent unchanged."""
        return None if self.stays and entry.pair_id in self.stays else self.ruling.get(entry.id)

    def is_gone(self, entry: ContextEntry) -> bool:
        """Return whether a block is removed completely."""
        decision = self.decision_about(entry)
        return decision is not None and decision.kind == "pruned"

    def is_absorbed(self, entry: ContextEntry) -> bool:
        """Return whether a block is removed because another block's tombstone replaces both."""
        decision = self.decision_about(entry)
        return decision is not None and decision.kind == "evicted" and decision.detail["text"] is None

    def _by_item(self, first: int = 0) -> Iterator[tuple[int, tuple[ContextEntry, ...]]]:
        """Yield each item's number and its sent entries; an item without sent entries is not built."""
        if are_made(self.items):  # the faster way
            for item in self.items[first:] if first else self.items:
                sent = self.sent.get(item.number)
                yield item.number, item.entries if sent is None else sent.entries
            return
        for number in range(first, len(self.items)):
            sent = self.sent.get(number)
            yield number, self.items[number].entries if sent is None else sent.entries


@lru_cache(maxsize=1_000)
def _nothing(blocks: int, actions: int, rewritten_at: int, destroyed: int) -> Sent:
    """Return the replacement of a removed item; all items that one prune removed share it."""
    return Sent((), dict.fromkeys(range(blocks), _GONE), (), actions, 0, rewritten_at, destroyed)


def _gives_way(decision: Decision | None) -> bool:
    """Return whether a prune may replace a decision of the same turn: not if that removed or pinned an entry."""
    return decision is not None and decision.kind not in ("pruned", "pinned")
