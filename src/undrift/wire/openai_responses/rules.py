"""The histories that OpenAI Responses refuses: one rule, one function, the provider's words in its docstring. Pure.

A call needs the reasoning that it came from. That cannot be seen in a history that lacks it;
it is kept by letting a run leave as a whole (`View.bundle`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.wire.form import Block, View
from undrift.wire.loading import unloaded_calls
from undrift.wire.offered import offered_tools
from undrift.wire.openai_responses.reading import APPROVAL, REFERENCE

__all__ = ["problems"]


@dataclass(frozen=True, slots=True)
class _ResponsesRequest:
    views: Sequence[View]
    beside: Mapping[str, Any]
    is_whole: bool
    """Return whether every call stands here: the provider holds none of the items."""

    @property
    def blocks(self) -> Iterator[Block]:
        return (block for view in self.views for block in view.blocks)


def problems(views: Sequence[View], beside: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what the provider would refuse; see `Form.problems`."""
    held = any(beside.get(name) is not None for name in ("previous_response_id", "conversation"))
    request = _ResponsesRequest(views, beside, not held and all(view.role != REFERENCE for view in views))
    return tuple(text for rule in _RULES for text in rule(request))


def _answered(request: _ResponsesRequest) -> Iterator[str]:
    """``No tool output found for function call call_...`` (R1). Its output may stand anywhere behind it."""
    open_calls: dict[str, None] = {}
    for block in request.blocks:
        if block.call_id is not None and block.kind == "call" and not block.call_id.startswith(APPROVAL):
            open_calls[block.call_id] = None
        elif block.call_id is not None and block.kind == "result":
            open_calls.pop(block.call_id, None)
    yield from (f"No tool output found for function call {call_id}." for call_id in open_calls)


def _referred(request: _ResponsesRequest) -> Iterator[str]:
    """R1 for calls that are only referred to: their ids are not known here, but each has its output here."""
    calls = sum(block.kind == "call" for view in request.views if view.role == REFERENCE for block in view.blocks)
    known = {block.call_id for block in request.blocks if block.kind == "call"}
    outputs = sum(block.kind == "result" and block.call_id not in known for block in request.blocks)
    if outputs < calls:
        yield f"No tool output found for function call: {calls} calls are referred to, {outputs} outputs answer them."


def _asked(request: _ResponsesRequest) -> Iterator[str]:
    """``No tool call found for function call output with call_id call_...`` (R2); one output for each call."""
    open_calls: set[str] = set()
    for block in request.blocks if request.is_whole else ():
        if block.call_id is None:
            continue
        if block.kind == "call":
            open_calls.add(block.call_id)
        elif block.kind == "result":
            if block.call_id not in open_calls:
                yield f"No tool call found for function call output with call_id {block.call_id}."
            open_calls.discard(block.call_id)


def _unique(request: _ResponsesRequest) -> Iterator[str]:
    """``Duplicate item found with id .... Remove duplicate items from your input and try again.``."""
    seen: set[str] = set()
    for block in request.blocks:
        if block.kind == "call" and block.call_id is not None:
            if block.call_id in seen:
                text = "Remove duplicate items from your input and try again."
                yield f"Duplicate item found with id {block.call_id}. {text}"
            seen.add(block.call_id)


def _followed(request: _ResponsesRequest) -> Iterator[str]:
    """``Item 'rs_...' of type 'reasoning' was provided without its required following item.`` (R3)."""
    for number, view in enumerate(request.views):
        if view.bundle != "run":
            continue
        after = request.views[number + 1] if number + 1 < len(request.views) else None
        if after is None or after.role not in ("assistant", REFERENCE):
            yield f"Item {number} of type 'reasoning' was provided without its required following item."


def _loaded(request: _ResponsesRequest) -> Iterator[str]:
    """The model sees a deferred tool only by the ``tool_search_output`` that holds it; the provider says nothing."""
    for name in unloaded_calls(request.views, offered_tools(request.beside)) if request.is_whole else ():
        yield f"input: {name} is deferred, it is called, and no `tool_search_output` loads it"


_RULES: tuple[Callable[[_ResponsesRequest], Iterator[str]], ...] = (
    _answered,
    _referred,
    _asked,
    _unique,
    _followed,
    _loaded,
)
