"""Sessions of Kimi Code: one JSON record a line, ``agents/main/wire.jsonl`` under ``~/.kimi-code/sessions``. Pure.

================================================== ==========================================================
record                                             becomes
================================================== ==========================================================
profile.bind                                       its systemPrompt: ``text``, role system; names the folder
context.append_message                             as a message of a chat (`chat`); toolCalls: ``call`` each;
                                                   ``meta: True`` where its origin is not the user
context.append_loop_event: content.part            ``text``, ``image``, ``thinking``
context.append_loop_event: tool.call, tool.result  ``call``, ``result``
context.append_loop_event: step.begin, step.end    counted "client record: TYPE"
context.apply_compaction                           a compaction, counted "compaction boundary"; its summary:
                                                   ``summary``, role user
events (agent.…), requests, counts (`_CLIENT`)     counted "client record: TYPE": they repeat what stands above
anything else                                      counted "unknown record: TYPE"
================================================== ==========================================================

Messages that the user undid stay, in the order of the file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from undrift.transcripts import blocks, chat
from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.lines import decode, epoch_ms, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "kimi-code"

_LOOP = "context.append_loop_event"
_CLIENT = frozenset(
    {
        "agent",
        "full_compaction",
        "llm",
        "metadata",
        "permission",
        "plugin",
        "prompt",
        "runtime",
        "token_counting",
        "turn",
        "usage",
    }
)
"""The first words of records that are no part of the history."""


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether one of the lines is a record that only Kimi Code writes."""
    return any(_is_ours(record) for line in lines for record in decode(line)[0])


def _is_ours(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind == "profile.bind":
        return "systemPrompt" in record and "modelAlias" in record
    return kind in (_LOOP, "context.append_message") and ("event" in record or "message" in record) and "time" in record


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of Kimi Code; see `Reader.read`."""
    collector = Collector(FORMAT)
    for place, record in collector.records(lines):
        kind = text_at(record, "type")
        if kind == "profile.bind":
            collector.identify(None, object_at(record, "environmentDisclosure").get("cwd"))
        elif kind == "llm.request":
            collector.name_model(record.get("model"))
        elif kind == "context.apply_compaction":
            collector.compaction()
        collector.add(_parts(kind, record), place, None, at_ms=epoch_ms(record.get("time")))
    return collector.recording(count=count)


def _parts(kind: str, record: Mapping[str, Any]) -> Iterator[Part]:
    if kind == "profile.bind":
        yield blocks.text("system", text_at(record, "systemPrompt"))
    elif kind == "context.append_message":
        yield from _message(object_at(record, "message"))
    elif kind == _LOOP:
        yield from _event(object_at(record, "event"))
    elif kind == "context.apply_compaction":
        yield Skip("compaction boundary")
        summary = text_at(record, "summary") or text_at(record, "contextSummary")
        yield RecordedBlock("summary", "user", summary, "summary") if summary.strip() else Skip("empty text")
    elif kind.partition(".")[0] in _CLIENT:
        yield Skip(f"client record: {printable(kind)}")
    else:
        yield Skip(f"unknown record: {printable(kind)}")


def _message(message: Mapping[str, Any]) -> Iterator[Part]:
    calls = {"tool_calls": list_at(message, "toolCalls"), "tool_call_id": message.get("toolCallId")}
    is_written = object_at(message, "origin").get("kind") not in (None, "user")
    for part in chat.parts({**message, **calls}):
        if is_written and isinstance(part, RecordedBlock) and part.role == "user":
            yield replace(part, extra={**part.extra, "meta": True})
        else:
            yield part


def _event(event: Mapping[str, Any]) -> Iterator[Part]:
    kind = text_at(event, "type")
    if kind == "content.part":
        yield from _content(object_at(event, "part"))
    elif kind == "tool.call":
        yield blocks.call(event.get("toolCallId"), event.get("name"), event.get("args"))
    elif kind == "tool.result":
        result = object_at(event, "result")
        failed = result.get("isError") is True
        yield from blocks.result("user", event.get("toolCallId"), result.get("output"), is_error=failed)
    elif kind in ("step.begin", "step.end"):
        yield Skip(f"client record: {kind}")
    else:
        yield Skip(f"unknown record: {printable(kind)}")


def _content(part: Mapping[str, Any]) -> Iterator[Part]:
    if part.get("type") == "think":
        part = {"type": "thinking", "thinking": text_at(part, "think")}
    yield from chat.parts({"role": "assistant", "content": [part]})
