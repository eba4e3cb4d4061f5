"""Sessions of pi: one JSON record a line, under ``~/.pi/agent/sessions``. Pure.

================================================== ==========================================================
record or block                                    becomes
================================================== ==========================================================
session (the first line)                           names the session, its folder and its model
message, user                                      ``text`` / ``image`` per part of its content
message, assistant: text, thinking, toolCall       ``text``, ``thinking`` with ``signature``, ``call``; redacted
                                                   thinking: counted "encrypted thinking"
message, toolResult                                ``result``
message, bashExecution                             ``text``, role user, ``meta: True``: the command and its output, as
                                                   the client sends them; counted "shell command kept from the agent"
                                                   if it does not
message, custom or hookMessage; custom_message     ``text`` / ``image``, role user, ``meta: True``
message, branchSummary; branch_summary             ``summary``, role user
an errorMessage                                    counted "api error"
compaction                                         a compaction, counted "compaction boundary"; its summary:
                                                   ``summary``, role user
model_change and the like (`_CLIENT`)              counted "client record: TYPE"
anything else                                      counted "unknown record: TYPE", "unknown block: TYPE"
================================================== ==========================================================

`details` of a result is what the client showed, not what the model saw; it is left aside. Branches that the user
abandoned stay, in the order of the file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.lines import decode, epoch_ms, milliseconds, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "pi"

_CLIENT = frozenset(
    [
        "active_tools_change",
        "context_transform",
        "custom",
        "ephemeral",
        "label",
        "leaf",
        "model_change",
        "session",
        "session_info",
        "thinking_level_change",
    ]
)


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether one of the lines is a record that only pi writes."""
    return any(_is_ours(record) for line in lines for record in decode(line)[0])


def _is_ours(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind == "session":
        return "id" in record and "cwd" in record and ("version" in record or "modelId" in record)
    message = object_at(record, "message")
    return kind == "message" and "timestamp" in record and "role" in message and "timestamp" in message


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of pi; see `Reader.read`."""
    collector = Collector(FORMAT)
    for place, record in collector.records(lines):
        kind, message = text_at(record, "type"), object_at(record, "message")
        if kind == "session":
            collector.identify(record.get("id"), record.get("cwd"))
        elif kind == "compaction":
            collector.compaction()
        if kind in ("session", "model_change"):
            collector.name_model(record.get("modelId"))
        elif message.get("role") == "assistant":
            collector.name_model(message.get("model"))
        at_ms = milliseconds(record.get("timestamp"))
        at_ms = epoch_ms(message.get("timestamp")) if at_ms is None else at_ms
        collector.add(_parts(kind, record), place, None, name=text_at(record, "id"), at_ms=at_ms)
    return collector.recording(count=count)


def _parts(kind: str, record: Mapping[str, Any]) -> Iterator[Part]:
    if kind == "message":
        yield from _message(object_at(record, "message"))
    elif kind == "custom_message":
        yield from blocks.contents("user", record.get("content"), meta=True)
    elif kind == "compaction":
        yield Skip("compaction boundary")
        yield _summary(record)
    elif kind == "branch_summary":
        yield _summary(record)
    elif kind in _CLIENT:
        yield Skip(f"client record: {kind}")
    else:
        yield Skip(f"unknown record: {printable(kind)}")


def _summary(record: Mapping[str, Any]) -> Part:
    text = text_at(record, "summary")
    return RecordedBlock("summary", "user", text, "summary") if text.strip() else Skip("empty text")


def _message(message: Mapping[str, Any]) -> Iterator[Part]:
    role = text_at(message, "role")
    if role == "user":
        yield from blocks.contents("user", message.get("content"))
    elif role == "assistant":
        yield from _assistant(message)
    elif role == "toolResult":
        failed = message.get("isError") is True
        yield from blocks.result("user", message.get("toolCallId"), message.get("content"), is_error=failed)
    elif role == "bashExecution":
        yield _shell(message)
    elif role in ("custom", "hookMessage"):
        yield from blocks.contents("user", message.get("content"), meta=True)
    elif role in ("branchSummary", "compactionSummary"):
        yield _summary(message)
    else:
        yield Skip(f"unknown record: {printable(role)}")


def _assistant(message: Mapping[str, Any]) -> Iterator[Part]:
    if message.get("errorMessage"):
        yield Skip("api error")
    content = message.get("content")
    if not isinstance(content, list) or not content:
        yield from blocks.contents("assistant", content)
        return
    for block in content:
        yield _block(block)


def _block(block: Any) -> Part:
    if not isinstance(block, dict):
        return Skip("unknown block: (none)")
    kind = text_at(block, "type")
    if kind == "text":
        return blocks.text("assistant", text_at(block, "text"))
    if kind == "toolCall":
        return blocks.call(block.get("id"), block.get("name"), block.get("arguments"))
    if kind != "thinking":
        return Skip(f"unknown block: {printable(kind)}")
    thought, signature = text_at(block, "thinking"), text_at(block, "thinkingSignature")
    if block.get("redacted") is True:
        return Skip("encrypted thinking")
    if not thought.strip():
        return Skip("empty thinking")
    return RecordedBlock("thinking", "assistant", thought, extra={"signature": signature} if signature else {})


def _shell(message: Mapping[str, Any]) -> Part:
    if message.get("excludeFromContext") is True:
        return Skip("shell command kept from the agent")
    return blocks.text("user", f"Ran `{text_at(message, 'command')}`\n{text_at(message, 'output')}", meta=True)
