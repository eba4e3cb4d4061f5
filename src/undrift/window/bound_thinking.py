"""Thinking that a provider binds to what stands before it: what may be rewritten, and what must be sent with it. No I/O.

Law: nothing that was sent is rewritten before live thinking unless that thinking leaves with it, or the provider is
told in the same request that it may drop what no longer fits. Docs: docs/adr/0012-bound-thinking.md.

Source: WIRE A10 to A12.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from undrift.settings import Settings
from undrift.settings.models import Model
from undrift.window.conversation import Conversation
from undrift.wire.anthropic import editing

__all__ = ["Binding", "binding_of", "headers_for"]


@dataclass(frozen=True, slots=True)
class Binding:
    """How one request treats thinking.

    Args:
        mode: The setting `bound_thinking`; empty where the model binds nothing.
        thinks: Whether the request asks for thinking.
        append_only: The setting of that name.
        budget_tokens: In force.
        keep_tool_results: In force.
    """

    mode: str
    thinks: bool
    append_only: bool
    budget_tokens: int
    keep_tool_results: int

    @property
    def strips(self) -> bool:
        """Whether thinking leaves that is bound to words which are sent otherwise by now."""
        return self.mode in ("drop_block", "strip")

    @property
    def may_wait(self) -> bool:
        """Whether the thinking of an answer may stay while its calls are being answered."""
        return self.mode == "drop_block" and self.thinks

    def holds(self, conversation: Conversation) -> str:
        """Say why nothing may be rewritten at this turn; empty when it may."""
        if self.append_only:
            return "append_only is set: nothing that was sent is rewritten"
        if not self.mode or not conversation.has_thinking():
            return ""
        if self.mode == "server":
            return "the provider clears old tool results itself (bound_thinking=server)"
        if self.mode == "keep":
            return "the model binds its thinking to the history as it was sent (bound_thinking=keep)"
        if self.mode == "strip" and self.thinks and conversation.round_is_open:
            return "thinking is never taken out between a call and its result (bound_thinking=strip)"
        return ""

    def fields(self, conversation: Conversation, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the body that have to change, for good from the first edit on.

        A pin is enough: it may stand in a message that a fork of this history had already sent without it.
        """
        if self.mode == "server":
            management = editing.clear_tool_uses(
                body.get("context_management"),
                trigger_tokens=self.budget_tokens,
                keep_tool_uses=self.keep_tool_results,
            )
            return {} if management is None or "compaction" in body else {"context_management": management}
        if self.may_wait and not conversation.untouched:
            return {"thinking": editing.drop_block(body["thinking"])}
        return {}


def binding_of(body: Mapping[str, Any], wire: str, model: Model, settings: Settings, budget_tokens: int) -> Binding:
    """Return what holds for a request.

    Args:
        body: Its fields.
        wire: Name of its form; only Anthropic's has thinking that is bound.
        model: It is sent to.
        settings: In force.
        budget_tokens: In the provider's tokens.
    """
    is_bound = wire == "anthropic" and model.binds_thinking
    return Binding(
        mode=settings.bound_thinking if is_bound else "",
        thinks=is_bound and editing.thinks(body),
        append_only=settings.append_only,
        budget_tokens=budget_tokens,
        keep_tool_results=settings.keep_tool_results,
    )


def headers_for(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that must go with changed fields."""
    betas = {"thinking": editing.BINDING_BETA, "context_management": editing.CLEARING_BETA}
    return editing.merged_betas([betas[name] for name in fields])
