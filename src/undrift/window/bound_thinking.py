"""Thinking that a provider binds to the words before it: which edits are legal, and which fields they need. No I/O.

Law: nothing is rewritten before live thinking unless that thinking leaves too, or the same request allows the provider
to drop it. Why: docs/adr/0012-bound-thinking.md.
"""

from collections.abc import Mapping
from typing import Any

from undrift.core.window.turn import Binding
from undrift.core.window.window import Window
from undrift.settings import Settings
from undrift.settings.model_table import Model
from undrift.wire.anthropic import editing

__all__ = ["binding_of", "changes"]


def changes(
    binding: Binding, window: Window, body: Mapping[str, Any], trigger_tokens: int, keep_tool_results: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields and headers that every request needs after the first edit.

    A pin is enough: it may stand in a message that a fork of this history had already sent without it.

    Args:
        trigger_tokens: The size at which the provider itself clears old results, in its tokens.
        keep_tool_results: How many results it keeps.
    """
    if binding.mode == "server":
        management = editing.clear_tool_uses(
            body.get("context_management"), trigger_tokens=trigger_tokens, keep_tool_uses=keep_tool_results
        )
        if management is not None and "compaction" not in body:
            return editing.with_beta(body, {"context_management": management}, editing.CLEARING_BETA)
    elif binding.may_wait and window.sent:
        return editing.with_beta(body, {"thinking": editing.drop_block(body["thinking"])}, editing.BINDING_BETA)
    return {}, {}


def binding_of(body: Mapping[str, Any], wire: str, model: Model, settings: Settings) -> Binding:
    """Return how a request's provider binds thinking to the words before it.

    `wire`: name of its form; only Anthropic's binds thinking.
    """
    is_bound = wire == "anthropic" and model.binds_thinking
    mode = settings.bound_thinking if is_bound else ""
    opens_turns = wire == "anthropic" and editing.opens_turns(body)
    return Binding(mode, thinks=is_bound and editing.thinks(body), opens_turns=opens_turns)
