"""The rules of the Messages interface that a request can be judged by alone, one function a rule.

Pure. Each function returns where the rule is kept and raises `Refused` with the provider's text where it is broken;
those that need to know what the simulator has issued are in `anthropic_binding`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from undrift.testing.simulators.anthropic_models import accepts_prefill, accepts_system_role
from undrift.testing.simulators.anthropic_shape import CheckedBlock, CheckedGroup, CheckedRequest, invalid

__all__ = ["BINDING_BETA", "CONTEXT_BETA", "DROP_BLOCK", "RULES", "check", "drops_blocks"]

BINDING_BETA = "thinking-binding-controls-2026-08-01"
CONTEXT_BETA = "context-management-2025-06-27"
DROP_BLOCK = "drop_block"

_MAXIMUM_MARKERS = 4


def check(request: CheckedRequest) -> None:
    """Judge a request by every rule of this module, in the order of `RULES`.

    Raises Refused: the first rule that it breaks.
    """
    for rule in RULES:
        rule(request)


def thread_is_not_served(request: CheckedRequest) -> None:
    """Refuse a request of a thread: ``thread_unsupported_request``; clients then send the whole history (rule A24)."""
    if request.body.get("thread") is not None:
        raise invalid(
            "thread: message threads are not supported for this request",
            "A24",
            details={"error_code": "thread_unsupported_request"},
        )


def context_management_needs_its_beta(request: CheckedRequest) -> None:
    """``context_management`` needs its beta header: ``context_management: Extra inputs are not permitted``."""
    if request.body.get("context_management") is not None and CONTEXT_BETA not in request.betas:
        raise invalid("context_management: Extra inputs are not permitted", "context_management")


def block_binding_needs_its_beta(request: CheckedRequest) -> None:
    """``block_binding`` needs its beta header: ``thinking.block_binding: Extra inputs are not permitted`` (rule A11)."""
    if request.thinking.get("block_binding") is not None and BINDING_BETA not in request.betas:
        raise invalid("thinking.block_binding: Extra inputs are not permitted", "A11")


def markers_are_placed_and_ordered(request: CheckedRequest) -> None:
    """At most 4 markers, none on thinking or on an empty text, none of an hour after one of five minutes (rule A16).

    ``A maximum of 4 blocks with cache_control may be provided. Found 5.``
    """
    found = list(_markers(request))
    for path, marker, block in found:
        _marker_is_whole(path, marker)
        if block is not None and block.get("type") in ("thinking", "redacted_thinking"):
            raise invalid(f"{path}.{block['type']}.cache_control: Extra inputs are not permitted", "A16")
        if block is not None and block.get("type") == "text" and not block.get("text"):
            raise invalid(f"{path}.text: cache_control cannot be set for empty text blocks", "A16")
    if len(found) > _MAXIMUM_MARKERS:
        text = f"A maximum of 4 blocks with cache_control may be provided. Found {len(found)}."
        raise invalid(text, "A16")
    seen_short = False
    for path, marker, _ in found:
        is_long = marker.get("ttl") == "1h"
        if is_long and seen_short:
            raise invalid(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: tools, system, messages.",
                "A16",
            )
        seen_short = seen_short or not is_long


def contents_are_not_empty(request: CheckedRequest) -> None:
    """Contents must not be empty, except an assistant's content, a tool result and a change of settings (rule A6).

    ``messages.0: user messages must have non-empty content``, ``messages: text content blocks must be non-empty``,
    ``messages: text content blocks must contain non-whitespace text``.
    """
    if any(block.get("type") == "text" and not block["text"] for block in request.system):
        raise invalid("system: text content blocks must be non-empty", "A6")
    for message in request.messages:
        if not message.blocks and message.role != "assistant" and not message.is_setting:
            raise invalid(f"messages.{message.index}: {message.role} messages must have non-empty content", "A6")
        texts = [block.value["text"] for block in message.blocks if block.kind == "text"]
        if "" in texts:
            raise invalid("messages: text content blocks must be non-empty", "A6")
        if len(message.blocks) == 1 and texts and not texts[0].strip():
            raise invalid("messages: text content blocks must contain non-whitespace text", "A6")


def first_message_is_the_users(request: CheckedRequest) -> None:
    """The first message has the role user."""
    if request.messages[0].role != "user":
        raise invalid('messages: first message must use the "user" role', "first")


def system_role_is_known_to_the_model(request: CheckedRequest) -> None:
    """The model must know the role system: ``role 'system' is not supported on this model`` (rule A7)."""
    if not accepts_system_role(request.model) and any(message.role == "system" for message in request.messages):
        raise invalid("role 'system' is not supported on this model", "A7")


def calls_have_their_own_ids(request: CheckedRequest) -> None:
    """The ids of all ``tool_use`` blocks of a request must differ (rule A3)."""
    seen: set[str] = set()
    for group in request.groups:
        for block in group.of_kind("tool_use"):
            if block.value["id"] in seen:
                raise invalid(f"{block.path}: `tool_use` ids must be unique", "A3")
            seen.add(block.value["id"])


def calls_are_answered_at_once(request: CheckedRequest) -> None:
    """The next message answers every call before any other text (rule A1), without a system message between (A7).

    ``messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_... Each `tool_use`
    block must have a corresponding `tool_result` block in the next message.``
    """
    following: list[CheckedGroup | None] = [*request.groups[1:], None]
    for group, after in zip(request.groups, following, strict=True):
        calls = list(group.of_kind("tool_use")) if group.role == "assistant" else []
        if not calls:
            continue
        answered = _leading_results(after)
        missing = [block for block in calls if block.value["id"] not in answered]
        if missing:
            between = after is not None and after.role == "system"
            ids = ", ".join(block.value["id"] for block in missing)
            raise invalid(
                f"messages.{missing[0].message}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
                "message.",
                "A7" if between else "A1",
            )


def results_have_their_calls(request: CheckedRequest) -> None:
    """Each result must answer a call of the message before, and each call has one result (rule A2).

    ``unexpected `tool_use_id` found in `tool_result` blocks: ...``
    """
    open_ids: set[str] = set()
    for group in request.groups:
        answered: set[str] = set()
        for block in group.of_kind("tool_result"):
            name = block.value["tool_use_id"]
            if name not in open_ids:
                raise invalid(
                    f"{block.path}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each `tool_result` "
                    "block must have a corresponding `tool_use` block in the previous message.",
                    "A2",
                )
            if name in answered:
                raise invalid(
                    f"{block.path}: each tool_use must have a single result. Found multiple `tool_result` blocks with "
                    f"id: {name}",
                    "A2",
                )
            answered.add(name)
        open_ids = {block.value["id"] for block in group.of_kind("tool_use")}


def last_message_is_no_prefill(request: CheckedRequest) -> None:
    """From generation 4.6 on, the last message must not be the assistant's (rule A5)."""
    if request.messages[-1].role == "assistant" and not accepts_prefill(request.model):
        raise invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
            "A5",
        )


def manual_thinking_opens_the_turn(request: CheckedRequest) -> None:
    """With thinking ``enabled``, an open tool loop and each message with thinking must start with thinking (rule A9).

    ``messages.N.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is
    enabled, a final `assistant` message must start with a thinking block ...``
    """
    if request.thinking.get("type") != "enabled":
        return
    for message in request.messages:
        if any(block.is_thinking for block in message.blocks) and not message.blocks[0].is_thinking:
            raise invalid(
                f"messages.{message.index}.content.0.type: If an assistant message contains any thinking blocks, the "
                f"first block must be thinking or redacted_thinking. Found {message.blocks[0].kind}.",
                "A9",
            )
    opening = _opening_block(request.groups)
    if opening is not None and not opening.is_thinking:
        raise invalid(
            f"{opening.path}.type: Expected `thinking` or `redacted_thinking`, but found `{opening.kind}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
            "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
            "previous turns. To avoid this requirement, disable `thinking`.",
            "A9",
        )


RULES = (
    thread_is_not_served,
    context_management_needs_its_beta,
    block_binding_needs_its_beta,
    markers_are_placed_and_ordered,
    contents_are_not_empty,
    first_message_is_the_users,
    system_role_is_known_to_the_model,
    calls_have_their_own_ids,
    calls_are_answered_at_once,
    results_have_their_calls,
    last_message_is_no_prefill,
    manual_thinking_opens_the_turn,
)
"""Every rule of this module, in the order in which a request is judged."""


def drops_blocks(request: CheckedRequest) -> bool:
    """Tell whether the request asks the provider to drop thinking blocks whose signed prefix has changed."""
    binding = request.thinking.get("block_binding")
    return isinstance(binding, Mapping) and binding.get("prefix_mismatch_behavior") == DROP_BLOCK


def _marker_is_whole(path: str, marker: Any) -> None:
    if not isinstance(marker, Mapping) or marker.get("type") != "ephemeral":
        raise invalid(f"{path}.cache_control.type: Input should be 'ephemeral'", "A16")
    if marker.get("ttl") not in (None, "5m", "1h"):
        raise invalid(f"{path}.cache_control.ttl: Input should be '5m' or '1h'", "A16")


def _markers(request: CheckedRequest) -> Iterator[tuple[str, Any, Mapping[str, Any] | None]]:
    """Yield path, marker and marked block; tools, system, messages, then the one of the whole request."""
    for name, values in (("tools", request.tools), ("system", request.system)):
        for index, value in enumerate(values):
            if value.get("cache_control") is not None:
                yield f"{name}.{index}", value["cache_control"], value
    last: CheckedBlock | None = None
    for message in request.messages:
        for block in message.blocks:
            last = block
            if block.value.get("cache_control") is not None:
                yield block.path, block.value["cache_control"], block.value
            if block.kind == "tool_result":
                yield from _markers_within(block)
    whole = request.body.get("cache_control")
    if whole is not None and (last is None or last.value.get("cache_control") is None):
        yield "request", whole, None


def _markers_within(block: CheckedBlock) -> Iterator[tuple[str, Any, Mapping[str, Any] | None]]:
    content = block.value.get("content")
    for index, value in enumerate(content if isinstance(content, list | tuple) else ()):
        if value.get("cache_control") is not None:
            yield f"{block.path}.tool_result.content.{index}", value["cache_control"], value


def _leading_results(group: CheckedGroup | None) -> set[str]:
    """Return the ids that a user's message answers before it says anything else."""
    answered: set[str] = set()
    if group is None or group.role != "user":
        return answered
    for message in group.messages:
        for block in message.blocks:
            if block.kind != "tool_result":
                return answered
            answered.add(block.value["tool_use_id"])
    return answered


def _opening_block(groups: Sequence[CheckedGroup]) -> CheckedBlock | None:
    """Return the first block that the assistant said in the open tool loop; None if no loop is open.

    A user's message with a tool result continues the loop, any other starts a new one; role system does neither.
    """
    opening: CheckedBlock | None = None
    is_open = False
    for group in reversed(groups):
        if group.role == "user":
            if next(group.of_kind("tool_result"), None) is None:
                break
            is_open = True
        elif group.role == "assistant" and is_open:
            opening = next(iter(group.blocks), opening)
    return opening
