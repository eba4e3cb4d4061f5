"""Adds our entries to a settings file that lists hooks by event, and removes them. Pure.

Everything is put in as a few pieces of text, and nothing else is touched: with those pieces remembered, taking them out
gives the very bytes from before. If the client has rewritten its file in between, our entries are found by their
content, and the containers that were made for them and are empty now go with them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.clients.jsonedit import inserted, item_span, member_span, shown
from undrift.clients.jsontext import Node, parse
from undrift.errors import InputError

__all__ = ["Edited", "Groups", "has_hooks", "our_commands", "with_hooks", "without_hooks"]

Groups = Mapping[str, Sequence[Mapping[str, Any]]]
"""Event -> entries as they stand in its list."""

_HOOKS = "hooks"
_BLANK = "\ufeff \t\r\n"


@dataclass(frozen=True, slots=True)
class Edited:
    """A text with our entries.

    `containers`: containers that were not there before: ``hooks``, or the name of an event.
    """

    text: str
    pieces: tuple[str, ...]
    containers: tuple[str, ...]


def has_hooks(text: str, wanted: Groups, is_ours: Callable[[str], bool], *, comments: bool = False) -> bool:
    """Tell whether the text has exactly the wanted entries of ours."""
    hooks = _hooks(parse(text, comments=comments))
    found: dict[str, list[Any]] = {}
    for event, node in hooks.members.items() if hooks else ():
        ours = [item.value for item in node.items if any(True for _ in _ours(item, is_ours))]
        if ours:
            found[event] = ours
    return found == {event: list(groups) for event, groups in wanted.items()}


def our_commands(text: str, is_ours: Callable[[str], bool], *, comments: bool = False) -> tuple[str, ...]:
    """Return the commands of our entries, in the order of the text."""
    hooks = _hooks(parse(text, comments=comments))
    groups = [group for listed in hooks.members.values() for group in listed.items] if hooks else []
    return tuple(inner.items[index].value["command"] for group in groups for inner, index in _ours(group, is_ours))


def with_hooks(text: str, wanted: Groups, *, comments: bool = False) -> Edited:
    """Add our entries. Raises InputError: the text is malformed, or has something other than hooks there.

    `text`: the file, without entries of ours; blank if there is none.
    """
    if not text.strip(_BLANK):
        document = json.dumps({_HOOKS: wanted}, indent=2) + "\n"
        return Edited(text + document, (document,), (_HOOKS, *wanted))
    pieces: list[str] = []
    containers: list[str] = []
    root = parse(text, comments=comments)
    hooks = _hooks(root)
    missing = {event: groups for event, groups in wanted.items() if hooks is None or event not in hooks.members}
    containers += [*([] if hooks else [_HOOKS]), *missing]
    if missing:
        into, members = (root, {_HOOKS: missing}) if hooks is None else (hooks, missing)
        depth = 1 if hooks is None else 2
        parts = [f"{json.dumps(name)}: {shown(value, text, depth)}" for name, value in members.items()]
        text, piece = inserted(text, into, parts, depth)
        pieces.append(piece)
    for event, groups in wanted.items():
        if event not in missing:
            hooks = _hooks(parse(text, comments=comments))
            if hooks is None or hooks.members[event].kind != "array":
                raise InputError(f"{event!r} in {_HOOKS!r} is not a list")
            text, piece = inserted(text, hooks.members[event], [shown(group, text, 3) for group in groups], 3)
            pieces.append(piece)
    return Edited(text, tuple(pieces), tuple(containers))


def without_hooks(
    text: str,
    is_ours: Callable[[str], bool],
    *,
    pieces: Sequence[str] = (),
    containers: Sequence[str] | None = None,
    comments: bool = False,
) -> str:
    """Remove our entries. Raises InputError: the text is malformed.

    `containers`: from `with_hooks` as well; None if nothing is remembered: then empty ones are removed.
    """
    exact = text
    for piece in reversed(pieces):
        if exact.count(piece) != 1:
            break
        exact = exact.replace(piece, "")
    else:
        if pieces and (not exact.strip(_BLANK) or _is_without(exact, is_ours, comments)):
            return exact
    before = text
    while (span := next(_all_ours(text, is_ours, comments), None)) is not None:
        event, (start, end) = span
        text = text[:start] + text[end:]
        hooks = _hooks(parse(text, comments=comments))
        if (
            hooks
            and event in hooks.members
            and not hooks.members[event].items
            and (containers is None or event in containers)
        ):
            start, end = member_span(hooks, event)
            text = text[:start] + text[end:]
    root = parse(text, comments=comments)
    hooks = _hooks(root)
    if text != before and hooks is not None and not hooks.members and (containers is None or _HOOKS in containers):
        start, end = member_span(root, _HOOKS)
        text = text[:start] + text[end:]
    return text


def _hooks(root: Node) -> Node | None:
    if root.kind != "object":
        raise InputError("is not a JSON object")
    hooks = root.members.get(_HOOKS)
    if hooks is not None and hooks.kind != "object":
        raise InputError(f"keeps something else under {_HOOKS!r}")
    return hooks


def _ours(group: Node, is_ours: Callable[[str], bool]) -> Iterator[tuple[Node, int]]:
    """Yield the list of a group's hooks and the place of each of ours in it."""
    listed = group.members.get(_HOOKS) if group.kind == "object" else None
    for index, hook in enumerate(listed.items if listed else ()):
        command = hook.value.get("command") if hook.kind == "object" else None
        if listed and isinstance(command, str) and is_ours(command):
            yield listed, index


def _is_without(text: str, is_ours: Callable[[str], bool], comments: bool) -> bool:
    """Return whether a text is well-formed, and has no entry of ours."""
    try:
        return not any(_all_ours(text, is_ours, comments))
    except InputError:
        return False


def _all_ours(text: str, is_ours: Callable[[str], bool], comments: bool) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the event and the span of each entry of ours; of a group with others in it only our part."""
    hooks = _hooks(parse(text, comments=comments))
    for event, listed in hooks.members.items() if hooks else ():
        for place, group in enumerate(listed.items):
            for inner, index in _ours(group, is_ours):
                whole = len(inner.items) == 1
                yield event, item_span(listed, place) if whole else item_span(inner, index)
