"""Thinking that a provider binds to what stands before it: what may be rewritten, and what must be sent with it. No I/O.

Law: nothing that was sent is rewritten before live thinking unless that thinking leaves with it, or the provider is
told in the same request that it may drop what no longer fits. Docs: docs/adr/0012-bound-thinking.md.

Source: WIRE A10 to A12.
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
    """Return the fields of the body that have to change, for good from the first edit on, and the headers that go with them.

    A pin is enough: it may stand in a message that a fork of this history had already sent without it.

    Args:
        binding: Of the request.
        window: As it is sent.
        body: Its fields.
        trigger_tokens: From where on the provider clears old results itself, in its tokens.
        keep_tool_results: How many of them it keeps.
    """
    if binding.mode == "server":
        management = editing.clear_tool_uses(
            body.get("context_management"), trigger_tokens=trigger_tokens, keep_tool_uses=keep_tool_results
        )
        if management is not None and "compaction" not in body:
            return {"context_management": management}, editing.merged_betas([editing.CLEARING_BETA])
    elif binding.may_wait and window.sent:
        return {"thinking": editing.drop_block(body["thinking"])}, editing.merged_betas([editing.BINDING_BETA])
    return {}, {}


def binding_of(body: Mapping[str, Any], wire: str, model: Model, settings: Settings) -> Binding:
    """Return what holds for a request.

    Args:
        body: Its fields.
        wire: Name of its form; only Anthropic's has thinking that is bound.
        model: It is sent to.
        settings: In force.
    """
    is_bound = wire == "anthropic" and model.binds_thinking
    return Binding(
        mode=settings.bound_thinking if is_bound else "",
        thinks=is_bound and editing.thinks(body),
    )
