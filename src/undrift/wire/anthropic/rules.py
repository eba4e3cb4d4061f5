"""The histories that Anthropic refuses: one rule, one function, the provider's words in its docstring. Pure.

The provider merges neighbouring messages of one role before it looks, and so do the rules. Rules that depend
on what the provider has sent itself, as signatures do, are kept by never touching what they speak of (`core.thinking`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from undrift.wire.anthropic.editing import opens_turns
from undrift.wire.form import MAX_ITEMS, Block, View, marker_of
from undrift.wire.loading import unloaded_calls
from undrift.wire.offered import offered_tools

__all__ = ["problems"]

_MARKERS = 4
_MARKERS_IN_THREAD = 3


@dataclass(frozen=True, slots=True)
class _Turn:
    """Messages of one role in a row: the number of the first, and the view of each."""

    number: int
    role: str
    views: tuple[View, ...]

    @property
    def blocks(self) -> Iterator[Block]:
        return (block for view in self.views for block in view.blocks)


@dataclass(frozen=True, slots=True)
class _MessagesRequest:
    turns: tuple[_Turn, ...]
    views: Sequence[View]
    beside: Mapping[str, Any]


def problems(views: Sequence[View], beside: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what the provider would refuse; see `Form.problems`."""
    request = _MessagesRequest(tuple(_merged(views)), views, beside)
    return tuple(text for rule in _RULES for text in rule(request))


def _merged(views: Sequence[View]) -> Iterator[_Turn]:
    number, group = 0, list(views[:1])
    for place, view in enumerate(views[1:], start=1):
        if view.role == group[0].role != "system":
            group.append(view)
            continue
        yield _Turn(number, group[0].role, tuple(group))
        number, group = place, [view]
    if group:
        yield _Turn(number, group[0].role, tuple(group))


def _length(request: _MessagesRequest) -> Iterator[str]:
    """``messages: at most 100000 messages`` (A4; the documented limit, the provider's words are not known)."""
    if len(request.views) > MAX_ITEMS:
        yield f"messages: at most {MAX_ITEMS} messages, not {len(request.views)}"


def _first(request: _MessagesRequest) -> Iterator[str]:
    """``messages.0: the first message must have the role user`` (the words are not known)."""
    if request.turns and request.turns[0].role != "user":
        yield f"messages.0: the first message must have the role user, not {request.turns[0].role}"


def _answered(request: _MessagesRequest) -> Iterator[str]:
    """``messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: ...`` (A1).

    The next message answers all of them before it says anything else.
    """
    for number, open_ids, answered in _rounds(request.turns):
        missing = [id_ for id_ in open_ids if id_ not in answered]
        if missing:
            yield (
                f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )


def _asked(request: _MessagesRequest) -> Iterator[str]:
    """``unexpected `tool_use_id` found in `tool_result` blocks: ...`` (A2)."""
    open_ids: set[str] = set()
    for turn in request.turns:
        if turn.role == "system":
            continue
        for id_ in _ids(turn, "result"):
            if turn.role != "user" or id_ not in open_ids:
                yield f"messages.{turn.number}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}"
        open_ids = set(_ids(turn, "call")) if turn.role == "assistant" else set()


def _once(request: _MessagesRequest) -> Iterator[str]:
    """``each tool_use must have a single result. Found multiple `tool_result` blocks with id: ...``."""
    for turn in request.turns:
        for id_, count in Counter(_ids(turn, "result")).items():
            if count > 1:
                yield (
                    f"messages.{turn.number}: each tool_use must have a single result. Found multiple `tool_result` "
                    f"blocks with id: {id_}"
                )


def _unique(request: _MessagesRequest) -> Iterator[str]:
    """``messages.N: `tool_use` ids must be unique`` (A3)."""
    seen: set[str] = set()
    for turn in request.turns:
        if turn.role == "assistant":
            for id_ in _ids(turn, "call"):
                if id_ in seen:
                    yield f"messages.{turn.number}: `tool_use` ids must be unique: {id_}"
                seen.add(id_)


def _systems(request: _MessagesRequest) -> Iterator[str]:
    """No ``role: system`` message is between a call and its result (A7; the provider's words are not known)."""
    for before, turn in zip(request.turns, request.turns[1:], strict=False):
        if turn.role == "system" and before.role == "assistant" and _ids(before, "call"):
            yield f"messages.{turn.number}: a system message stands between a tool_use and its tool_result"


def _content(request: _MessagesRequest) -> Iterator[str]:
    """``messages.N: user messages must have non-empty content``, ``messages: text content blocks must be non-empty``,
    ``messages: text content blocks must contain non-whitespace text`` of a block that stands alone (A6).

    An assistant message may be empty as a whole, a tool result always.
    """
    for number, view in enumerate(request.views):
        texts = [block.text for block in view.blocks if block.kind == "text"]
        if view.is_empty:
            if view.role != "assistant":
                yield f"messages.{number}: {view.role} messages must have non-empty content"
        elif "" in texts:
            yield f"messages.{number}: text content blocks must be non-empty"
        elif len(view.blocks) == 1 and texts and not texts[0].strip():
            yield f"messages.{number}: text content blocks must contain non-whitespace text"


def _markers(request: _MessagesRequest) -> Iterator[str]:
    """``A maximum of 4 blocks with cache_control may be provided. Found 5.`` and ``thread: a maximum of 3 ...`` (A16)."""
    found = len(list(_ttls(request)))
    limit = _MARKERS_IN_THREAD if request.beside.get("thread") is not None else _MARKERS
    if found > limit:
        if limit == _MARKERS_IN_THREAD:
            yield f"thread: a maximum of {limit} blocks with cache_control may be provided when thread is set"
        else:
            yield f"A maximum of {limit} blocks with cache_control may be provided. Found {found}."


def _lifetimes(request: _MessagesRequest) -> Iterator[str]:
    """``a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block`` (A16)."""
    ttls = list(_ttls(request))
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        yield (
            "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
            "Note that blocks are processed in the following order: tools, system, messages."
        )


def _marked(request: _MessagesRequest) -> Iterator[str]:
    """Thinking and empty texts have no cache marker (A16; the provider's words are not known)."""
    for turn in request.turns:
        for block in turn.blocks:
            if block.marker and (block.kind == "thinking" or (block.kind == "text" and not block.text)):
                yield f"messages.{turn.number}: cache_control cannot be set on {block.kind} blocks without text"


def _opening(request: _MessagesRequest) -> Iterator[str]:
    """``Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant`
    message must start with a thinking block`` (A9): the first answer since the user's last words, while calls are open.
    """
    if not opens_turns(request.beside):
        return
    opening: tuple[int, Block] | None = None
    is_open = False
    for turn in reversed(request.turns):
        if turn.role == "user":
            if not _ids(turn, "result"):
                break
            is_open = True
        elif turn.role == "assistant" and is_open:
            first = next(turn.blocks, None)
            opening = opening if first is None else (turn.number, first)
    if opening is not None and opening[1].kind != "thinking":
        yield f"messages.{opening[0]}: Expected `thinking`, but found {opening[1].kind}: `thinking` is enabled"


def _loaded(request: _MessagesRequest) -> Iterator[str]:
    """The model sees a deferred tool only by a ``tool_reference`` to it.

    The provider says nothing; its model does not know the tool that it has called.
    """
    for name in unloaded_calls(request.views, offered_tools(request.beside)):
        yield f"messages: {name} is deferred, it is called, and no `tool_reference` loads it"


_RULES: tuple[Callable[[_MessagesRequest], Iterator[str]], ...] = (
    _length,
    _first,
    _answered,
    _asked,
    _once,
    _unique,
    _systems,
    _content,
    _markers,
    _lifetimes,
    _marked,
    _opening,
    _loaded,
)


def _ids(turn: _Turn, kind: str) -> list[str]:
    return [b.call_id for b in turn.blocks if b.kind == kind and b.call_id is not None]


def _rounds(turns: Sequence[_Turn]) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield each answer with calls: its number, its calls, and the calls that the next message answers."""
    spoken = [turn for turn in turns if turn.role != "system"]
    for place, turn in enumerate(spoken):
        calls = _ids(turn, "call") if turn.role == "assistant" else []
        if calls:
            after = spoken[place + 1] if place + 1 < len(spoken) else None
            number = turn.number + len(turn.views) - 1
            yield number, calls, _leading(after) if after is not None and after.role == "user" else []


def _leading(turn: _Turn) -> list[str]:
    """Return the calls that a message answers at its beginning, before any text."""
    results = takewhile(lambda block: block.kind == "result", turn.blocks)
    return [block.call_id for block in results if block.call_id is not None]


def _ttls(request: _MessagesRequest) -> Iterator[str]:
    """Return the cache markers in the order in which the provider reads them: tools, system, messages.

    That of the whole request stands on the last block, unless that has its own.
    """
    for name in ("tools", "system"):
        parts = request.beside.get(name)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping) and (ttl := marker_of(part)):
                yield ttl
    blocks = [block for view in request.views for block in view.blocks]
    yield from (block.marker for block in blocks if block.marker)
    whole = marker_of(request.beside)
    if whole and not (blocks and blocks[-1].marker):
        yield whole
