"""The actions of a window: one for each block that left or changed, named for a person. Pure."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from undrift.core.text.secrets import mask
from undrift.values.items import outlined
from undrift.values.window import Action, ContextEntry, Decision, Item, Sent

__all__ = ["actions_of", "scaled"]

_LOOKED_AT_CHARACTERS = 400  # of a call's arguments: a file to write may be long
_SHOWN_CHARACTERS = 60
_FIRST_TEXT = re.compile(r'"\s*:\s*"((?:[^"\\]|\\.){1,200})')


def actions_of(
    items: Sequence[Item],
    sent: Mapping[int, Sent],
    ruling: Mapping[str, Decision],
    placed_in: Callable[[str], Sequence[Decision]],
) -> tuple[Action, ...]:
    """Return the changes of a history's blocks, in order; a purged original has none.

    Args:
        items: The history.
        sent: Number of an item to its replacement.
        ruling: Id of a block to its decision.
        placed_in: Returns the decisions about our own texts in an item, by the item's id.
    """
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
    return tuple(
        Action(d.kind, d.entry_id, d.reason, d.tokens_saved, d.ref, "" if block is None else _name(block, calls))
        for d, block in found
        if d.ref
    )


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
