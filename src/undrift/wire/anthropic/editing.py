"""Anthropic Messages: an edited message, and an edited request around it. Pure.

Law: what no edit names is the very object that was given.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from undrift.wire import raw
from undrift.wire.form import Edit

__all__ = [
    "BINDING_BETA",
    "CLEARING_BETA",
    "beta_in_body",
    "clear_tool_uses",
    "drop_block",
    "edit",
    "opens_turns",
    "thinks",
    "user_item",
    "with_beta",
]

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""Beta of `drop_block`."""

CLEARING_BETA = "context-management-2025-06-27"
"""Beta of `clear_tool_uses`."""

_BETAS = "anthropic_beta"
_CLEAR = "clear_tool_uses_20250919"


def edit(item: Any, edits: Mapping[int, Edit], appended: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return a copy of a message with `edits` and texts `appended`; see `Form.edit`."""
    content = item["content"]
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    kept: list[Any] = []
    for number, part in enumerate(parts):
        found = edits.get(number)
        if found is None:
            kept.append(part)
        elif found.text is not None:
            kept.append(_rewritten(part, found.text))
    kept.extend({"type": "text", "text": text} for text in appended)
    if not kept:
        return None
    if isinstance(content, str) and len(kept) == 1:
        return {**item, "content": kept[0]["text"]}
    return {**item, "content": kept}


def _rewritten(part: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a block with another text; a block that is neither text nor result becomes a text."""
    if part["type"] == "tool_result":
        return {**part, "content": text}
    return {**part, "text": text} if part["type"] == "text" else {"type": "text", "text": text}


def user_item(text: str) -> dict[str, Any]:
    """Return a message in which the user says `text`; see `Form.user_item`."""
    return {"role": "user", "content": text}


def thinks(body: Mapping[str, Any]) -> bool:
    """Tell whether a request asks for thinking, so that it can carry `drop_block`."""
    thinking = body.get("thinking")
    return isinstance(thinking, Mapping) and thinking.get("type") != "disabled"


def opens_turns(body: Mapping[str, Any]) -> bool:
    """Tell whether the first answer of a row of calls must begin with its thinking: where thinking is set by hand."""
    thinking = body.get("thinking")
    return isinstance(thinking, Mapping) and thinking.get("type") == "enabled"


def drop_block(thinking: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field ``thinking`` with the request to drop invalid thinking, not to refuse it."""
    binding = thinking.get("block_binding")
    given = binding if isinstance(binding, Mapping) else {}
    return {**thinking, "block_binding": {**given, "prefix_mismatch_behavior": "drop_block"}}


def clear_tool_uses(management: Any, *, trigger_tokens: int, keep_tool_uses: int) -> dict[str, Any] | None:
    """Return the field ``context_management``, which tells the provider to clear old tool results.

    The client's own orders stay, and stand first (``clear_thinking`` has to). If it clears tool results already, or the
    field has an unknown shape, nothing is added.

    `trigger_tokens`: input tokens above which the provider clears.
    """
    given = {} if management is None else management
    edits = given.get("edits") if isinstance(given, Mapping) else management
    if edits is None:
        edits = []
    if not isinstance(given, Mapping) or not isinstance(edits, list) or any(_clears_tool_uses(e) for e in edits):
        return None
    order = {
        "type": _CLEAR,
        "trigger": {"type": "input_tokens", "value": trigger_tokens},
        "keep": {"type": "tool_uses", "value": keep_tool_uses},
    }
    return {**given, "edits": [*edits, order]}


def _clears_tool_uses(order: Any) -> bool:
    type_ = order.get("type") if isinstance(order, Mapping) else None
    return isinstance(type_, str) and type_.startswith("clear_tool_uses")


def with_beta(body: Mapping[str, Any], fields: dict[str, Any], beta: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields and headers of a request that needs a beta flag.

    It goes into the header, which is to be joined to the client's own; for Bedrock, which reads no such header, into the body.
    """
    if not str(body.get("anthropic_version", "")).startswith("bedrock-"):
        return fields, {"anthropic-beta": beta}
    return {**fields, _BETAS: _joined(body.get(_BETAS), beta)}, {}


def beta_in_body(body: bytes, betas: str) -> bytes:
    """Return a body with the flags of a header in it, for Bedrock.

    The version in the body shows no longer which cloud it is for: only the path does.
    """
    given = raw.fields(body)
    known = raw.decode(given[_BETAS], _BETAS) if _BETAS in given else None
    for beta in betas.split(","):
        known = _joined(known, beta.strip())
    found = {**given, _BETAS: raw.encode(known, _BETAS)}
    return b"{" + b",".join(raw.encode(name) + b":" + bytes(value) for name, value in found.items()) + b"}"


def _joined(known: Any, beta: str) -> list[Any]:
    betas = known if isinstance(known, list) else []
    return betas if beta in betas else [*betas, beta]
