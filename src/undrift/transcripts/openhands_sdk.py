"""Converts events of the OpenHands SDK, which have a ``kind``, to blocks. Pure.

================================================== ==========================================================
event                                              becomes
================================================== ==========================================================
SystemPromptEvent                                  ``text`` each of the prompt and its dynamic part, role system; its
                                                   tools: counted "tool definitions"
MessageEvent                                       what its message becomes, and what the client added to it
ActionEvent                                        thinking, thought and ``call``, as parts of one answer; the arguments
                                                   as the model wrote them, else of the action
ObservationEvent                                   ``result``, with what the environment put around the output
UserRejectObservation, AgentErrorEvent             ``result``, an error
Condensation                                       a compaction, counted "compaction boundary"; its summary: ``summary``
any other kind that the SDK has (`_CLIENT`)        counted "client event: KIND"
anything else                                      counted "unknown event: KIND"
================================================== ==========================================================

`undrift.transcripts.chat` says what a message becomes. A message that a condensation removed stays at its place.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.transcripts import blocks, chat
from undrift.transcripts.base import Part, RecordedBlock, Skip
from undrift.transcripts.lines import list_at, object_at, printable, text_at

__all__ = ["CONDENSATION", "is_event", "message_id", "parts"]

CONDENSATION = "Condensation"

_CLIENT = frozenset(
    {
        "CondensationRequest",
        "CondensationSummaryEvent",  # made of a condensation for each prompt; if it is kept, it repeats that one
        "ConversationErrorEvent",
        "ConversationStateUpdateEvent",
        "LLMCompletionLogEvent",
        "PauseEvent",
        "StreamingDeltaEvent",
        "TokenEvent",
    }
)
_RUNNING = -1
"""The exit code of a command that has not ended yet."""
_SOURCES = frozenset({"agent", "environment", "hook", "user"})


def is_event(value: Any) -> bool:
    """Tell whether a value is an event of the SDK in a conversation."""
    if not isinstance(value, dict) or text_at(value, "source") not in _SOURCES:
        return False
    kind = value.get("kind")
    return isinstance(kind, str) and (kind in _PARTS or kind in _CLIENT)


def message_id(event: Mapping[str, Any]) -> str | None:
    """Return the id of the model's answer that an event is part of. None means: it is no part of one."""
    return (text_at(event, "llm_response_id") or None) if event.get("source") == "agent" else None


def parts(event: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the blocks of an event."""
    kind = text_at(event, "kind")
    if kind in _PARTS:
        yield from _PARTS[kind](event)
    else:
        yield Skip(f"{'client' if kind in _CLIENT else 'unknown'} event: {printable(event.get('kind'))}")


def _system(event: Mapping[str, Any]) -> Iterator[Part]:
    told = [object_at(event, key) for key in ("system_prompt", "dynamic_context")]
    yield from chat.parts({"role": "system", "content": [part for part in told if part]})
    if list_at(event, "tools"):
        yield Skip("tool definitions")


def _message(event: Mapping[str, Any]) -> Iterator[Part]:
    message = object_at(event, "llm_message")
    role = text_at(message, "role") or ("assistant" if event.get("source") == "agent" else "user")
    content = message.get("content")
    said = [content] if isinstance(content, str) else list_at(message, "content")
    yield from chat.parts({**message, "role": role, "content": said + list_at(event, "extended_content")})


def _action(event: Mapping[str, Any]) -> Iterator[Part]:
    item = object_at(event, "responses_reasoning_item")
    if list_at(item, "summary") or list_at(item, "content"):
        yield from chat.parts({"summary": item.get("summary"), "content": item.get("content"), "type": "reasoning"})
    elif item.get("encrypted_content"):
        yield Skip("encrypted thinking")
    said = {key: event.get(key) for key in ("reasoning_content", "thinking_blocks")}
    # without the call: an answer that only calls has no content, which is nothing to be counted
    told = list(chat.parts({**said, "role": "assistant", "content": list_at(event, "thought")}))
    yield from (part for part in told if part != Skip("message without content"))
    asked = object_at(event, "tool_call")
    given = blocks.arguments(asked.get("arguments"))
    if given is None:
        given = {key: value for key, value in object_at(event, "action").items() if key != "kind"}
    name = text_at(event, "tool_name") or text_at(asked, "name")
    yield blocks.call(text_at(event, "tool_call_id") or asked.get("id"), name, given)


def _observation(event: Mapping[str, Any]) -> Iterator[Part]:
    seen = object_at(event, "observation")
    content = seen.get("content", seen.get("output"))
    if content is None:
        content = blocks.dump({key: value for key, value in seen.items() if key != "kind"}) if seen else ""
    around = object_at(seen, "metadata")
    prefix, suffix = text_at(around, "prefix"), text_at(around, "suffix")
    told = content if isinstance(content, list) else [content]
    flat, skips = blocks.flatten(told)
    more, others = blocks.flatten(list_at(event, "extended_content"))
    code = around.get("exit_code", seen.get("exit_code"))
    failed = seen.get("is_error") is True or (isinstance(code, int) and code not in (0, _RUNNING))
    text = "\n".join(piece for piece in (f"{prefix}{flat}{suffix}", more) if piece)
    yield from blocks.result("user", event.get("tool_call_id"), text, is_error=failed)
    yield from [*skips, *others]
    if text_at(seen, "screenshot_data"):
        yield Skip("image data")


def _refused(event: Mapping[str, Any]) -> Iterator[Part]:
    text = f"Action rejected: {text_at(event, 'rejection_reason')}"
    yield from blocks.result("user", event.get("tool_call_id"), text, is_error=True)


def _failed(event: Mapping[str, Any]) -> Iterator[Part]:
    yield from blocks.result("user", event.get("tool_call_id"), text_at(event, "error"), is_error=True)


def _condensed(event: Mapping[str, Any]) -> Iterator[Part]:
    yield Skip("compaction boundary")
    if summary := text_at(event, "summary"):
        yield RecordedBlock("summary", "user", summary, "summary")


_PARTS = {
    "ActionEvent": _action,
    "AgentErrorEvent": _failed,
    CONDENSATION: _condensed,
    "MessageEvent": _message,
    "ObservationEvent": _observation,
    "SystemPromptEvent": _system,
    "UserRejectObservation": _refused,
}
