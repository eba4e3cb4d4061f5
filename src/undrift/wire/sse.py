"""Joins a streamed answer: from the bytes of a stream to the answer that `Session.record` reads. Pure.

Law: an answer comes out only of a stream that reached its terminal event. A stream that was cut, at any byte, and one that
ended in an error give None; nothing raises, and the time is linear in the bytes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from undrift.errors import WireError
from undrift.wire import event_stream, raw

__all__ = ["answer_of", "events", "joined"]

_DATA = b"\ndata: "
_DONE = b"[DONE]"
_Json = dict[str, Any]
_ALWAYS: Mapping[str, tuple[bytes, ...]] = {
    "anthropic": (),
    "openai-chat": (),
    "openai-responses": (b'.delta"',),  # each item comes again when it is done
    "gemini": (),
}
"""No event that counts has this in it. Within a JSON string the closing quote would have a backslash before it."""
_SAID: Mapping[str, tuple[bytes, ...]] = {
    "anthropic": (b'"text_delta"', b'"thinking_delta"'),
    "openai-chat": (),
    "openai-responses": (),
    "gemini": (),
}


def answer_of(wire: str, body: bytes, *, with_text: bool = True) -> _Json | None:
    """Return the whole answer from a body with status 200. None means: the answer is not complete.

    Args:
        wire: The provider's form, as `Session.record` takes it.
        body: A stream of events (lines or Amazon's frames), one JSON object, or Gemini's array of chunks; without any content coding.
        with_text: Without it, what was only said may be missing of a stream: usage, calls and the end are all that a
            gateway has a use for, and most events of a long answer need not be looked into.
    """
    if body.lstrip()[:1] in (b"{", b"["):
        return _whole(wire, body)
    try:
        passed_over = _ALWAYS[wire] if with_text else (*_ALWAYS[wire], *_SAID[wire])
        if event_stream.is_event_stream(body):
            found = [event for event in event_stream.events(body) if not any(mark in event for mark in passed_over)]
            return _ASSEMBLERS[wire](found)
        return _ASSEMBLERS[wire](events(body, passed_over))
    except WireError:  # an event that is no JSON: what was cut, or no stream of this provider
        return None


def joined(wire: str, found: Sequence[Mapping[str, Any]]) -> _Json | None:
    """Return the whole answer from the events of a stream, as an SDK gives them. None means: the answer is not complete."""
    try:
        data = [raw.encode(event) for event in found]
        if wire == "openai-chat":
            data.append(_DONE)  # an SDK keeps this event to itself
        return _ASSEMBLERS[wire](data)
    except WireError:
        return None


def events(stream: bytes, passed_over: Sequence[bytes] = ()) -> list[bytes]:
    """Return the data of each complete event; an event without its final empty line is dropped.

    Lines end as the standard allows: LF, CR LF or CR. Names, comments and other fields are passed over: each form says in
    its data what an event is.

    `passed_over`: an event with one of these in it is left out, before anything else is done with it.
    """
    text = stream.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    *finished, _ = text.split(b"\n\n")
    if len(passed_over) == 2:  # in one go: this is most of what a long answer costs
        first, second = passed_over
        finished = [event for event in finished if first not in event and second not in event]
    else:
        finished = [event for event in finished if not any(mark in event for mark in passed_over)]
    found: list[bytes] = []
    for event in finished:
        start = event.find(_DATA)  # nearly always a name and one line of data
        if start > 0 and event.find(b"\n", start + 1) < 0 and not event.startswith(b"data"):
            found.append(event[start + len(_DATA) :])
        elif lines := [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]:
            found.append(b"\n".join(lines))
    return found


def _whole(wire: str, body: bytes) -> _Json | None:
    """Return an answer that was not streamed, if it is complete JSON and no error."""
    try:
        answer = raw.decode(body)
    except WireError:
        return None
    if isinstance(answer, list):
        return _gemini_of(answer) if wire == "gemini" else None
    if not isinstance(answer, dict) or answer.get("type") == "error" or answer.get("error"):
        return None
    return answer


def _anthropic(found: list[bytes]) -> _Json | None:
    message: _Json | None = None
    content: dict[int, _Json] = {}
    pieces: dict[tuple[int, str], list[str]] = {}
    is_over = False
    for event in _decoded(found):
        kind = event.get("type")
        if kind == "content_block_delta":
            _take_delta(_object(event.get("delta")), _number(event.get("index")), pieces)
        elif kind == "message_start" and isinstance(event.get("message"), dict):
            message = dict(event["message"])
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            content[_number(event.get("index"))] = dict(event["content_block"])
        elif kind == "message_delta" and message is not None:
            message |= _object(event.get("delta"))
            message["usage"] = _object(message.get("usage")) | _given(event.get("usage"))
        elif kind == "error":
            return None
        elif kind == "message_stop":
            is_over = True
    if message is None or not is_over:
        return None
    for (index, field), texts in pieces.items():
        if index in content:
            _put_delta(content[index], field, "".join(texts))
    message["content"] = [content[index] for index in sorted(content)]
    return message


_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
    "compaction_delta": "content",
}


def _take_delta(delta: _Json, index: int, pieces: dict[tuple[int, str], list[str]]) -> None:
    field = _DELTAS.get(str(delta.get("type")))
    text = delta.get(field) if field else None
    if field and isinstance(text, str):
        pieces.setdefault((index, field), []).append(text)


def _put_delta(block: _Json, field: str, text: str) -> None:
    if field != "partial_json":
        block[field] = _text(block.get(field)) + text
        return
    try:
        block["input"] = raw.decode(text.encode("utf-8", "surrogatepass")) if text.strip() else {}
    except WireError:  # cut short by the limit of tokens: the client sees the same
        block["input"] = {}


def _chat(found: list[bytes]) -> _Json | None:
    """Join an answer of Chat Completions; it is complete after ``[DONE]``, even without usage."""
    if not any(data.strip() == _DONE for data in found):
        return None
    answer: _Json = {}
    message: _Json = {"role": "assistant", "content": None}
    texts: dict[str, list[str]] = {"content": [], "refusal": []}
    calls: dict[int, _Json] = {}
    finish: Any = None
    for chunk in _decoded(found):
        if chunk.get("error"):
            return None
        answer |= {name: value for name, value in chunk.items() if name != "choices" and value is not None}
        for choice in _list(chunk.get("choices")):
            if _number(choice.get("index")) != 0:
                continue
            finish = choice.get("finish_reason") or finish
            delta = _object(choice.get("delta"))
            for field, parts in texts.items():
                parts.append(_text(delta.get(field)))
            for call in _list(delta.get("tool_calls")):
                _take_call(call, calls)
    if finish is None:
        return None
    for field, parts in texts.items():
        if joined := "".join(parts):
            message[field] = joined
    if calls:
        message["tool_calls"] = [_joined_call(calls[index]) for index in sorted(calls)]
    return answer | {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def _take_call(piece: _Json, calls: dict[int, _Json]) -> None:
    call = calls.setdefault(_number(piece.get("index")), {"type": "function", "texts": {}})
    if isinstance(piece.get("id"), str) and piece["id"]:
        call["id"] = piece["id"]
    for kind, field in (("function", "arguments"), ("custom", "input")):
        inner = piece.get(kind)
        if isinstance(inner, dict):
            call["type"] = kind
            call["texts"].setdefault(field, []).append(_text(inner.get(field)))
            call["name"] = _text(inner.get("name")) or call.get("name", "")


def _joined_call(call: _Json) -> _Json:
    inner = {"name": call.get("name", "")} | {field: "".join(texts) for field, texts in call["texts"].items()}
    return {"id": call.get("id", ""), "type": call["type"], call["type"]: inner}


def _responses(found: list[bytes]) -> _Json | None:
    items: dict[int, _Json] = {}
    for event in _decoded(found):
        kind = event.get("type")
        if kind == "response.output_item.done" and isinstance(event.get("item"), dict):
            items[_number(event.get("output_index"))] = event["item"]
        elif kind in ("response.completed", "response.incomplete") and isinstance(event.get("response"), dict):
            answer: _Json = event["response"]
            return answer if answer.get("output") else answer | {"output": [items[i] for i in sorted(items)]}
        elif kind in ("error", "response.failed"):
            return None
    return None


def _gemini(found: list[bytes]) -> _Json | None:
    return _gemini_of(list(_decoded(found)))


def _gemini_of(chunks: list[Any]) -> _Json | None:
    """Join an answer of Gemini; it is complete when a chunk names the reason why it ended."""
    answer: _Json = {}
    parts: list[Any] = []
    finish: Any = None
    for chunk in _list(chunks):
        if chunk.get("error"):
            return None
        answer |= {name: value for name, value in chunk.items() if name != "candidates"}
        for candidate in _list(chunk.get("candidates")):
            if _number(candidate.get("index")) == 0:
                parts += _list(_object(candidate.get("content")).get("parts"))
                finish = candidate.get("finishReason") or finish
    if finish is None and not _object(answer.get("promptFeedback")).get("blockReason"):
        return None
    content = {"role": "model", "parts": parts}
    return answer | {"candidates": [{"index": 0, "content": content, "finishReason": finish}]}


_ASSEMBLERS: Mapping[str, Callable[[list[bytes]], _Json | None]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}


def _decoded(found: list[bytes]) -> Iterator[_Json]:
    """Decode all events in one step: 500 separate calls of a decoder take five times as long."""
    data = [one for one in found if one.strip() != _DONE]
    values = raw.decode(b"[" + b",".join(data) + b"]")
    return (value for value in values if isinstance(value, dict))


def _number(value: Any) -> int:
    return value if type(value) is int else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(value: Any) -> _Json:
    return value if isinstance(value, dict) else {}


def _given(value: Any) -> _Json:
    return {name: one for name, one in _object(value).items() if one is not None}


def _list(value: Any) -> list[_Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
