"""The actions of a window: one for each block that left or changed, named for a person. Pure.

Law: what an action of `actions_of` names can be recalled; what one of `gone_of` names is destroyed.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from undrift.core.text.secrets import mask
from undrift.values.items import outlined
from undrift.values.window import Action, ContextEntry, Decision, Item, Sent

__all__ = ["actions_of", "count_gone", "gone_of", "is_gone", "scaled"]

_LOOKED_AT_CHARACTERS = 400  # of a call's arguments: a file to write may be long
_SHOWN_CHARACTERS = 60
_UNDATED = "its original was purged"
_FIRST_TEXT = re.compile(r'"\s*:\s*"((?:[^"\\]|\\.){1,200})')


def actions_of(
    items: Sequence[Item],
    sent: Mapping[int, Sent],
    ruling: Mapping[str, Decision],
    placed_in: Callable[[str], Sequence[Decision]],
) -> tuple[Action, ...]:
    """Return the changes of a history's blocks, in order; those whose originals are destroyed are in `gone_of`.

    Args:
        items: The history.
        sent: Number of an item to its replacement.
        ruling: Id of a block to its decision.
        placed_in: Returns the decisions about our own texts in an item, by the item's id.
    """
    return tuple(
        Action(d.kind, d.entry_id, d.reason, d.tokens_saved, d.ref, name)
        for d, name in _changes(items, sent, ruling, placed_in)
        if d.ref
    )


def gone_of(
    items: Sequence[Item],
    sent: Mapping[int, Sent],
    ruling: Mapping[str, Decision],
    placed_in: Callable[[str], Sequence[Decision]],
) -> tuple[Action, ...]:
    """Return the changes of a history's blocks whose originals are destroyed, in order; for the arguments see `actions_of`."""
    return tuple(
        Action(_gone_as(d), d.entry_id, d.reason, d.tokens_saved, str(d.detail.get("gone_ref", "")), name)
        for d, name in _changes(items, sent, ruling, placed_in)
        if is_gone(d)
    )


def count_gone(sent: Mapping[int, Sent]) -> int:
    """Return the number of `gone_of`, without building them."""
    return sum(one.destroyed for one in sent.values())


def is_gone(decision: Decision) -> bool:
    """Tell whether the original of a decision is destroyed. Earlier versions noted that in the reason alone."""
    return not decision.ref and ("gone" in decision.detail or decision.reason == _UNDATED)


def _gone_as(decision: Decision) -> Literal["purged", "swept"]:
    return "swept" if decision.detail.get("gone") == "swept" else "purged"


def _changes(
    items: Sequence[Item],
    sent: Mapping[int, Sent],
    ruling: Mapping[str, Decision],
    placed_in: Callable[[str], Sequence[Decision]],
) -> Iterator[tuple[Decision, str]]:
    """Yield the decision about each block that left or changed, in order, with the block's name for a person."""
    found: list[tuple[Decision, ContextEntry | None]] = []
    for number in sorted(sent):
        edits, outline = sent[number], outlined(items, number)
        if outline is not None:
            found += [(ruling[block], None) for block in outline.blocks]
            continue
        blocks = (items[number].entries[place] for place in edits.edits)
        found += [(ruling[block.id], block) for block in blocks]
        found += [(placed, None) for placed in placed_in(items[number].id)] if edits.appended else []
    calls = _calls(items, {block.pair_id for _, block in found if block is not None and block.pair_id is not None})
    for decision, block in found:
        yield decision, "" if block is None else _name(block, calls)


def _calls(items: Sequence[Item], pair_ids: Collection[str]) -> dict[str, str]:
    """Return the arguments of these calls, as far as the history was decoded."""
    numbers = (number for number in range(len(items)) if pair_ids and outlined(items, number) is None)
    blocks = (block for number in numbers for block in items[number].entries if block.meta("kind") == "call")
    return {block.pair_id: block.content for block in blocks if block.pair_id in pair_ids and block.pair_id}


def scaled(actions: Sequence[Action], slope: float) -> tuple[Action, ...]:
    """Return actions with their savings in the provider's tokens. `slope`: its tokens for each one of ours."""
    if slope == 1.0:
        return tuple(actions)
    return tuple(replace(one, tokens_saved=round(slope * one.tokens_saved)) for one in actions)


def _name(block: ContextEntry, calls: Mapping[str, str]) -> str:
    """Return the block's kind, with the first argument of its call if that is known."""
    arguments = calls.get(block.pair_id or "", "")
    return f"{block.what} {_first_argument(arguments[:_LOOKED_AT_CHARACTERS])}".rstrip()


@lru_cache(maxsize=4_096)
def _first_argument(arguments: str) -> str:
    """Return the start of the first text among a call's arguments, on one line, without secrets."""
    found = _FIRST_TEXT.search(arguments)
    text = arguments
    if found is not None:
        text = found[1]
        with suppress(ValueError):
            text = json.loads(f'"{text}"')
    line = "".join(c if c.isprintable() else " " for c in mask(text).text).strip()
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"
