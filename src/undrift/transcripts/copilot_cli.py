"""Sessions of GitHub Copilot CLI: one JSON event a line, under ``~/.copilot/session-state``. Pure.

========================================== ==================================================================
event                                      becomes
========================================== ==================================================================
session.start, session.resume              name the session, its folder and its model; counted as client records
session.model_change                       names the model; counted as a client record
system.message                             ``text``, role system, type spec; the same text again: counted
                                           "repeated instructions"
user.message                               ``text``: what the client made of it (transformedContent), else what was
                                           typed; ``meta: True`` where it was not typed; attachments are counted
                                           "attachment: TYPE"
assistant.message: reasoningText           ``thinking``; reasoningOpaque and the like: counted "encrypted content"
assistant.message: content                 ``text``
assistant.message: toolRequests            ``call`` each
assistant.reasoning                        ``thinking``
tool.execution_start                       counted "repeated call"; ``call`` where no message has asked for it
tool.execution_complete                    ``result``: its content, or the message of its error
system.notification                        ``text``, role user, ``meta: True``
session.compaction_complete                a compaction, counted "compaction boundary"; its summaryContent:
                                           ``summary``; one that failed: counted as a client record
any record with a parentToolCallId          counted "side chain": another agent's context
other events of a known kind               counted "client record: TYPE"
anything else                              counted "unknown record: TYPE"
========================================== ==================================================================

`detailedContent` of a result is what the client showed, not what the model saw; it is left aside.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.lines import decode, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "copilot-cli"

_KINDS = frozenset(
    [
        "abort",
        "assistant",
        "capabilities",
        "command",
        "elicitation",
        "exit_plan_mode",
        "external_tool",
        "hook",
        "mcp",
        "model",
        "pending_messages",
        "permission",
        "session",
        "skill",
        "subagent",
        "system",
        "tool",
        "user",
        "user_input",
    ]
)
_SEALED = ("encryptedContent", "reasoningOpaque")


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether one of the lines is an event that only Copilot CLI writes."""
    return any(_is_ours(record) for line in lines for record in decode(line)[0])


def _is_ours(record: Mapping[str, Any]) -> bool:
    kind, _, name = text_at(record, "type").partition(".")
    return bool(name) and kind in _KINDS and isinstance(record.get("data"), dict) and "parentId" in record


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of Copilot CLI; see `Reader.read`."""
    collector = Collector(FORMAT)
    called: set[str] = set()
    instructions: set[str] = set()
    for place, record in collector.records(lines):
        kind, data = text_at(record, "type"), object_at(record, "data")
        if data.get("parentToolCallId"):
            collector.skip("side chain")
            continue
        if kind.startswith("session."):
            collector.identify(data.get("sessionId"), object_at(data, "context").get("cwd"))
            collector.name_model(data.get("selectedModel") or data.get("newModel"))
        elif kind == "assistant.message":
            collector.name_model(data.get("model"))
        if _compacts(kind, data):
            collector.compaction()
        parts = list(_parts(kind, data, called, instructions))
        collector.add(parts, place, record.get("timestamp"), name=text_at(record, "id"))
        for part in parts:
            if isinstance(part, RecordedBlock) and part.kind == "call":
                called.add(part.extra.get("call_id", ""))
            elif isinstance(part, RecordedBlock) and part.role == "system":
                instructions.add(part.content)
    return collector.recording(count=count)


def _compacts(kind: str, data: Mapping[str, Any]) -> bool:
    return kind == "session.compaction_complete" and data.get("success") is not False


def _parts(kind: str, data: Mapping[str, Any], called: set[str], instructions: set[str]) -> Iterator[Part]:
    if kind == "user.message":
        yield from _user(data)
    elif kind == "assistant.message":
        yield from _assistant(data)
    elif kind == "assistant.reasoning":
        thought = text_at(data, "content")
        yield RecordedBlock("thinking", "assistant", thought) if thought.strip() else Skip("empty thinking")
    elif kind == "tool.execution_start":
        if text_at(data, "toolCallId") in called:
            yield Skip("repeated call")
        else:
            yield blocks.call(data.get("toolCallId"), data.get("toolName"), data.get("arguments"))
    elif kind == "tool.execution_complete":
        yield from _result(data)
    elif kind == "system.message":
        content = text_at(data, "content")
        yield Skip("repeated instructions") if content in instructions else blocks.text("system", content)
    elif kind == "system.notification":
        yield blocks.text("user", text_at(data, "content"), meta=True)
    elif _compacts(kind, data):
        yield Skip("compaction boundary")
        if text_at(data, "summaryContent").strip():
            yield RecordedBlock("summary", "user", text_at(data, "summaryContent"), "summary")
    elif kind.partition(".")[0] in _KINDS:
        yield Skip(f"client record: {printable(kind)}")
    else:
        yield Skip(f"unknown record: {printable(kind)}")


def _user(data: Mapping[str, Any]) -> Iterator[Part]:
    content = text_at(data, "transformedContent") or data.get("content")
    meta = {"meta": True} if text_at(data, "source") not in ("", "user") else {}
    yield from blocks.contents("user", content, **meta)
    for attached in list_at(data, "attachments"):
        yield Skip(f"attachment: {printable(attached.get('type') if isinstance(attached, dict) else None)}")


def _assistant(data: Mapping[str, Any]) -> Iterator[Part]:
    thought = text_at(data, "reasoningText")
    if thought.strip():
        yield RecordedBlock("thinking", "assistant", thought)
    yield from (Skip("encrypted content") for key in _SEALED if data.get(key))
    requests = [request for request in list_at(data, "toolRequests") if isinstance(request, dict)]
    if data.get("content") or not (requests or thought):
        yield from blocks.contents("assistant", data.get("content"))
    for request in requests:
        given = request.get("arguments")
        yield blocks.call(request.get("toolCallId"), request.get("name"), blocks.arguments(given))


def _result(data: Mapping[str, Any]) -> Iterator[Part]:
    result, error = data.get("result"), data.get("error")
    given = result.get("content") if isinstance(result, dict) else result
    if given is None:
        given = error.get("message") if isinstance(error, dict) else error
    failed = data.get("success") is False or bool(error)
    yield from blocks.result("user", data.get("toolCallId"), given, is_error=failed)
