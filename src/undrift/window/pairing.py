"""Pairs each result with its call among the calls that are open there. No I/O.

Law: a provider's id of a call can repeat. A pair id is unique in its history because it holds the id of the call's
item.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from undrift.wire.form import Block, View

__all__ = ["Pairing", "calls_of", "served_by", "whole_of"]


def whole_of(item_id: str) -> str:
    """Return the pair id of an item whose calls leave together."""
    return f"{item_id}:*"


def calls_of(view: View, item_id: str, run: str) -> Iterator[tuple[str, str, str]]:
    """Yield each call of an answer: its id, pair id and tool."""
    whole = run or (whole_of(item_id) if view.bundle == "item" else "")
    for block in view.blocks if view.role == "assistant" else ():
        if block.kind == "call" and block.call_id:
            yield block.call_id, whole or f"{item_id}:{block.call_id}", block.tool_name or ""


def served_by(view: View, item_id: str) -> Iterator[tuple[str, str]]:
    """Yield each call that the provider runs itself: its id and the id of its item."""
    for block in view.blocks:
        if block.kind == "other" and block.call_id is not None and not block.answers:
            yield block.call_id, item_id


class Pairing:
    """The open calls that later items may answer.

    `is_adjacent`: whether a result must follow its call directly; else it may stand anywhere.
    """

    def __init__(self, *, is_adjacent: bool) -> None:
        self._is_adjacent = is_adjacent
        self._pairs: dict[str, str] = {}  # call id -> pair id
        self._tools: dict[str, str] = {}  # call id -> tool; empty if calls of several tools share the id
        self._server_pairs: dict[str, str] = {}

    def clear(self) -> None:
        """Forget the open calls, but not those that the provider runs itself."""
        self._pairs = {}

    def take(self, view: View, item_id: str, run: str, *, role_before: str) -> None:
        """Add the calls of an answer to those of the answers next to it, because the provider joins them.

        Args:
            run: Id of the run that the item belongs to, if any.
            role_before: The role of the item before it; empty for the first.
        """
        if view.role != "assistant":
            return
        if self._is_adjacent and role_before != "assistant":
            self._pairs = {}
        for call_id, pair_id, tool in calls_of(view, item_id, run):
            self._pairs[call_id] = pair_id
            self._name(call_id, tool)

    def go_on(
        self, calls: Sequence[tuple[str, str, str]], served: Sequence[tuple[str, str]], still_open: Mapping[str, str]
    ) -> None:
        """Add the calls of known items, which are not read again.

        `still_open`: call id to pair id, for calls that the next items may answer.
        """
        self._pairs = (
            {**still_open} if self._is_adjacent else {**self._pairs, **{call: pair for call, pair, _ in calls}}
        )
        for call_id, _, tool in calls:
            self._name(call_id, tool)
        self._server_pairs.update((call_id, f"{item_id}:{call_id}") for call_id, item_id in served)

    def _name(self, call_id: str, tool: str) -> None:
        self._tools[call_id] = tool if self._tools.get(call_id, tool) == tool else ""

    def named(self, block: Block) -> Block:
        """Return a result with the name of the called tool added, if the result has no name."""
        if block.kind == "result" and block.tool_name is None and (tool := self._tools.get(block.call_id or "")):
            return replace(block, tool_name=tool)
        return block

    def pair_of(self, block: Block, item_id: str) -> str | None:
        """Return the pair id of a call or of a result. None means: it has no partner."""
        if block.call_id is None:
            return None
        if block.kind != "other":
            return self._pairs.get(block.call_id)
        if not block.answers:  # a call that the provider runs itself; its answer may stand in a later message
            self._server_pairs[block.call_id] = f"{item_id}:{block.call_id}"
        return self._server_pairs.get(block.call_id)
