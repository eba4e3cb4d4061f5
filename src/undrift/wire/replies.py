"""Takes a provider's answer as a program has it, and refuses what is none. Pure.

Law: what cannot be an answer of this wire is an error that says what to pass instead; it is never taken for an empty answer.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire import objects, raw, sse

__all__ = ["answer_from"]

_WHOLE = f"give the whole reply of the SDK, a dict, or JSON bytes; {objects.REMEDY}"

_DECIDES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("content",),
    "openai-chat": ("choices",),
    "openai-responses": ("output",),
    "gemini": ("candidates", "usageMetadata", "usage_metadata", "promptFeedback", "prompt_feedback"),
}
"""The fields that only an answer of this wire has."""

_USAGE: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "openai-chat": ("prompt_tokens", "completion_tokens"),
    "openai-responses": ("input_tokens", "output_tokens"),
    "gemini": (),
}
"""Fields of ``usage``, for an answer of which nothing else is there."""

_EVENTS = ("message_stop", "response.completed", "response.incomplete")
"""The last event of a stream; helpers of the SDKs put the whole answer into it, as ``message`` or ``response``."""


def answer_from(reply: Any, wire: str) -> Mapping[str, Any]:
    """Return an answer as plain JSON.

    Args:
        reply: An SDK's object, a dict, JSON bytes, the bytes of a stream, a raw response with `parse` or `content`, or the
            list of all events of a stream.
        wire: The name of the form that the answer should have.

    Raises:
        WireError: It is no answer, or one of another wire; the message says what to pass.
    """
    answer = _fields(reply, wire)
    for name in ("message", "response"):
        inner = answer.get(name)
        if answer.get("type") in _EVENTS and isinstance(inner, Mapping):
            answer = inner
    _check(answer, wire)
    return answer


def _fields(reply: Any, wire: str) -> Mapping[str, Any]:
    given = _opened(reply, wire)
    if isinstance(given, (bytes, bytearray, memoryview)):
        return _of_bytes(bytes(given), wire)
    if isinstance(given, list):
        return _of_events(given, wire)
    answer = given if isinstance(given, Mapping) else objects.dumped(given)
    if not isinstance(answer, Mapping):
        raise WireError(_refusal(given))
    try:
        found: Mapping[str, Any] = objects.plain(answer)[1]
    except WireError:  # a value that JSON cannot hold is left unchanged: a form skips it
        return answer
    return found


def _opened(reply: Any, wire: str) -> Any:
    """Return what a raw response of an SDK or of its HTTP client holds; any other value unchanged."""
    if isinstance(reply, (Mapping, type)) or callable(getattr(reply, "model_dump", None)):
        return reply
    parse = getattr(reply, "parse", None)
    if hasattr(reply, "http_response") and callable(parse):
        if inspect.iscoroutinefunction(parse):
            raise WireError("the response was not parsed: give `await response.parse()`")
        return _fields(_of_foreign(parse, "the response could not be parsed"), wire)
    if hasattr(reply, "status_code") and hasattr(reply, "headers") and hasattr(type(reply), "content"):
        held = _of_foreign(lambda: reply.content, "the response was not read: call `response.read()` first")
        return held if isinstance(held, bytes) else reply
    return reply


def _of_foreign(call: Callable[[], Any], failed: str) -> Any:
    try:
        return call()
    except WireError:
        raise
    except Exception as error:  # foreign code may raise anything
        raise WireError(f"{failed}: {error}") from error


def _of_bytes(given: bytes, wire: str) -> Mapping[str, Any]:
    try:
        answer = raw.decode(given)
    except WireError as error:
        joined = sse.answer_of(wire, given)
        if joined is None:
            raise WireError(f"a reply must be JSON or a whole stream of the wire {wire!r}: {error}") from None
        return joined
    if isinstance(answer, list):
        return _of_events(answer, wire)
    if not isinstance(answer, Mapping):
        raise WireError(_refusal(answer))
    return answer


def _of_events(given: list[Any], wire: str) -> Mapping[str, Any]:
    """Join the events of a stream. Raises WireError: they are no events, or not all of them."""
    try:
        events = [_bare(objects.plain(event)[1]) for event in given]
    except WireError:
        events = []
    joined = sse.joined(wire, events) if events and all(isinstance(event, Mapping) for event in events) else None
    if joined is None:
        raise WireError(f"a reply must not be a list, unless it holds all events of one stream; {_WHOLE}")
    return joined


def _bare(event: Any) -> Any:
    """Return the chunk in an event of a helper of OpenAI's SDK; every other event unchanged."""
    is_wrapped = isinstance(event, Mapping) and event.get("type") == "chunk"
    return event.get("chunk") if is_wrapped and isinstance(event.get("chunk"), Mapping) else event


def _refusal(given: Any) -> str:
    """Say what is wrong with a value that is no answer, and what to pass."""
    found = f"a reply must be a dict, JSON bytes or an SDK's object, not {type(given).__name__}"
    if inspect.isawaitable(given):
        return f"{found}: it was not awaited; give `await` of it"
    if isinstance(given, BaseException):
        return f"{found}: the provider refused the request, so there is nothing to record"
    if isinstance(given, (Iterator, AsyncIterator)) or hasattr(given, "__aiter__") or hasattr(given, "__stream__"):
        return f"{found}: read the stream to its end and give its final message, or the list of all its events"
    if hasattr(given, "__enter__") or hasattr(given, "__aenter__"):
        return f"{found}: enter it with `with`, read the stream and give its final message"
    return f"{found}; {_WHOLE}"


def _check(answer: Mapping[str, Any], wire: str) -> None:
    """Raise WireError if an answer is of another wire, or none at all."""
    if _is_of(answer, wire):
        return
    others = [name for name in _DECIDES if name != wire and _is_of(answer, name)]
    if others:
        raise WireError(f"this reply is not of the wire {wire!r}: say wire={others[0]!r}")
    if answer.get("error") or answer.get("type") == "error":
        raise WireError("this is an error of the provider, no reply: there is nothing to record")
    for name in ("messages", "input", "contents"):
        if name in answer:
            raise WireError(f"this is a request (it has `{name}`), no reply: give what the provider answered to it")
    if _is_chunk(answer) or answer.get("type") == "message_start":
        raise WireError(f"this is one event of a stream; {_WHOLE}")
    if "role" in answer or "parts" in answer:
        raise WireError(f"this is a message of a reply; {_WHOLE}")
    if "type" in answer or "delta" in answer:
        raise WireError(f"this is a part of a reply, or one event of a stream; {_WHOLE}")
    raise WireError(f"this is no reply of the wire {wire!r}: it has no `{_DECIDES[wire][0]}`; {_WHOLE}")


def _is_of(answer: Mapping[str, Any], wire: str) -> bool:
    """Tell whether an answer has the field that only this wire has; without any such field its usage decides."""
    held = {name for names in _DECIDES.values() for name in names if answer.get(name) is not None}
    usage = answer.get("usage")
    if not held:
        return isinstance(usage, Mapping) and any(name in usage for name in _USAGE[wire])
    if held == {"content"}:  # an item of a Responses answer has it too, with a status of its own
        return wire == "anthropic" and isinstance(answer["content"], list) and "status" not in answer
    if _is_chunk(answer):
        return False
    return any(name in held for name in _DECIDES[wire] if name != "content")


def _is_chunk(answer: Mapping[str, Any]) -> bool:
    """Tell whether this is one event of a Chat Completions stream."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {"delta": None}
    is_delta = isinstance(first, Mapping) and "delta" in first and "message" not in first
    return is_delta and str(answer.get("object", "")).endswith(".chunk")
