"""Chats of Qwen Code: one JSON record a line, under ``~/.qwen/projects/*/chats``. Pure.

================================================== ==========================================================
record                                             becomes
================================================== ==========================================================
user                                               what its parts become (`gemini_parts`); ``meta: True`` where its
                                                   provenance is not a person
assistant                                          what its parts become
tool_result                                        ``result``
system/chat_compression                            a compaction, counted "compaction boundary"; the first text of its
                                                   history: ``summary``, role user; each other message of that
                                                   history: counted "kept by the compaction"
a realtime_message                                 counted "client record: realtime_message": no part of a prompt
other system records (`_CLIENT`)                   counted "client record: SUBTYPE"
anything else                                      counted "unknown record: TYPE"
================================================== ==========================================================

`toolCallResult` is what the client showed, not what the model saw; it is left aside. Messages that the user
rewound stay, in the order of the file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.gemini_parts import contents
from undrift.transcripts.lines import decode, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "qwen-code"

_MESSAGES = frozenset({"assistant", "tool_result", "user"})
_REALTIME = "realtime_message"
_CLIENT = frozenset(
    {
        "at_command",
        "attribution_snapshot",
        "branch_checkpoint",
        "custom_title",
        "file_history_snapshot",
        "goal_state",
        "goal_turn_end",
        "omni_recall",
        "parent_session",
        "rewind",
        "session_artifact_event",
        "session_artifact_snapshot",
        "session_model",
        "session_recording_degraded",
        "session_source",
        "session_sources_snapshot",
        "slash_command",
        "ui_telemetry",
        "user_text_elements",
    }
)


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether one of the lines is a record that only Qwen Code writes."""
    return any(_is_ours(record) for line in lines for record in decode(line)[0])


def _is_ours(record: Mapping[str, Any]) -> bool:
    if not {"uuid", "parentUuid", "sessionId"} <= record.keys():
        return False
    if text_at(record, "type") in _MESSAGES:
        return isinstance(object_at(record, "message").get("parts"), list)
    return record.get("type") == "system" and "systemPayload" in record


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a chat of Qwen Code; see `Reader.read`."""
    collector = Collector(FORMAT)
    for place, record in collector.records(lines):
        collector.identify(record.get("sessionId"), record.get("cwd"))
        collector.name_model(record.get("model"))
        if _compacts(record):
            collector.compaction()
        collector.add(_parts(record), place, record.get("timestamp"), name=text_at(record, "uuid"))
    return collector.recording(count=count)


def _compacts(record: Mapping[str, Any]) -> bool:
    kept = object_at(record, "systemPayload").get("compressedHistory")
    return record.get("subtype") == "chat_compression" and isinstance(kept, list)


def _parts(record: Mapping[str, Any]) -> Iterator[Part]:
    kind, subtype = text_at(record, "type"), text_at(record, "subtype")
    if _compacts(record):
        yield from _compaction(list_at(object_at(record, "systemPayload"), "compressedHistory"))
    elif (kind == "system" and subtype in _CLIENT | {"chat_compression"}) or (
        kind in _MESSAGES and subtype == _REALTIME
    ):
        yield Skip(f"client record: {subtype}")
    elif kind in _MESSAGES:
        message = object_at(record, "message").get("parts")
        is_written = kind == "user" and text_at(record, "provenance") not in ("", "real_user")
        for part in contents("assistant" if kind == "assistant" else "user", message):
            yield _marked(part) if is_written else part
    else:
        yield Skip(f"unknown record: {printable(subtype or kind)}")


def _marked(part: Part) -> Part:
    return replace(part, extra={**part.extra, "meta": True}) if isinstance(part, RecordedBlock) else part


def _compaction(kept: Sequence[Any]) -> Iterator[Part]:
    """The history that the client continues with: its summary, then what it kept."""
    yield Skip("compaction boundary")
    first = [
        part for message in kept[:1] if isinstance(message, dict) for part in contents("user", message.get("parts"))
    ]
    summary = "\n".join(part.content for part in first if isinstance(part, RecordedBlock))
    yield RecordedBlock("summary", "user", summary, "summary") if summary.strip() else Skip("empty text")
    yield from (Skip("kept by the compaction") for _ in kept[1:])
