"""Windows and turns of plain values, for the tests of the passes. One token a character; message n has the id `m<n>`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeAlias

from undrift.core.cost import Prices
from undrift.core.text.refs import ref_of
from undrift.core.window.low_water import Cache
from undrift.core.window.turn import Room, Rules, Tools, Turn
from undrift.core.window.value import KnownReferences
from undrift.core.window.window import Window
from undrift.settings import Settings
from undrift.values.window import ContextEntry, Decision, EntryType, Item, Original
from undrift.window.decisions import Decisions

__all__ = [
    "Message",
    "agent",
    "call",
    "content",
    "evicted",
    "noted",
    "pin",
    "pruned",
    "result",
    "rounds",
    "said",
    "thought",
    "turn_of",
    "user",
    "window_of",
]

Block: TypeAlias = tuple[str, str, str]
"""Kind, text, and what a call and its result share."""

Message: TypeAlias = tuple[str, tuple[Block, ...]]
"""Role and blocks."""


def said(text: str) -> Block:
    return ("text", text, "")


def thought(text: str) -> Block:
    return ("thinking", text, "")


def call(pair_id: str, given: str = "{}") -> Block:
    return ("call", given, pair_id)


def result(pair_id: str, text: str) -> Block:
    return ("result", text, pair_id)


def user(*blocks: Block | str) -> Message:
    """A message of the user; a text is written as it is."""
    return ("user", tuple(said(one) if isinstance(one, str) else one for one in blocks))


def agent(*blocks: Block | str) -> Message:
    """A message of the model."""
    return ("assistant", tuple(said(one) if isinstance(one, str) else one for one in blocks))


def rounds(count: int, *, thinks: bool = False, words: str = "", tokens: int = 100) -> list[Message]:
    """Calls `c0`, `c1` ... that are each answered before the next one is made."""
    found = []
    for number in range(count):
        before = [thought(f"thought {number}")] * thinks + [said(f"{words} {number}")] * bool(words)
        text = f"result {number} ".ljust(tokens, "x")
        found += [agent(*before, call(f"c{number}")), user(result(f"c{number}", text))]
    return found


def pin(ref: str, text: str) -> Original:
    return Original(ref, "s", "pin", ContextEntry(f"pin-{ref}", "requirements", text, len(text), 0))


def window_of(*messages: Message, decisions: Iterable[Decision] = (), pins: Iterable[Original] = ()) -> Window:
    """Return the window of a history. A decision without a place was taken at the newest message but one."""
    items = tuple(_item(number, role, blocks) for number, (role, blocks) in enumerate(messages))
    before = f"m{max(0, len(items) - 2)}"
    taken = [d if "at" in d.detail else replace(d, detail={**d.detail, "at": before}) for d in decisions]
    numbers = {item.id: item.number for item in items}
    return Window.of(items, numbers, Decisions("s", taken, pins), len)


def _item(number: int, role: str, blocks: tuple[Block, ...]) -> Item:
    entries = tuple(_entry(number, place, role, block) for place, block in enumerate(blocks))
    return Item(number, f"m{number}", role, entries, sum(entry.token_count for entry in entries))


def _entry(number: int, place: int, role: str, block: Block) -> ContextEntry:
    kind, text, pair_id = block
    metadata = {"role": role, "kind": kind, "message": f"m{number}"}
    metadata |= {"pair_id": pair_id, "tool_name": "Read"} if pair_id else {}
    type_: EntryType = "tool_result" if kind == "result" else "reasoning"
    return ContextEntry(f"m{number}.{place}", type_, text, len(text), 0, metadata, seq=number)


def pruned(entry_id: str, **detail: Any) -> Decision:
    return Decision(entry_id, "pruned", "too dear", 1, f"ref:{entry_id}", detail)


def evicted(entry_id: str, text: str | None = "a tombstone", task: str = "t", **detail: Any) -> Decision:
    return Decision(entry_id, "evicted", "its task ended", 1, f"ref:{entry_id}", {"task": task, "text": text, **detail})


def noted(name: str, text: str, *, anchor: str, **detail: Any) -> Decision:
    entry_id = f"{anchor}:note:{name}"
    more = {"anchor": anchor, "name": name, "text": text, **detail}
    return Decision(entry_id, "noted", name, -len(text), f"ref:{entry_id}", more)


_RULES = asdict(Rules.of(Settings()))


def turn_of(budget_tokens: int = 1_000_000, *, rules: Mapping[str, Any] | None = None, **given: Any) -> Turn:
    """Return a turn under the default settings, with nothing beside the history.

    Args:
        budget_tokens: The budget.
        rules: Settings that are not the default.
        given: Fields of `Turn`; `fixed_tokens` of its room.
    """
    room = Room(budget_tokens, given.pop("fixed_tokens", 0))
    tools = Tools(count=len, ref_of=partial(ref_of, "s"), known=_known)
    return Turn(
        room,
        Rules(**{**_RULES, **(rules or {})}),
        given.pop("tools", tools),
        now_ms=0,
        cache=given.pop("cache", Cache(Prices(0.1, 1.25), 300, 0)),
        **given,
    )


def _known(window: Window) -> KnownReferences:
    known = KnownReferences()
    for entry in window.given:
        known.learn(entry)
    return known


def content(window: Window) -> list[str]:
    """What is sent, as texts."""
    return [entry.content for entry in window.entries]
