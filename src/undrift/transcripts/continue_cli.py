"""Sessions of Continue's CLI: one JSON document, under ``~/.continue/sessions``. Pure.

================================================== ==========================================================
item of the history                                becomes
================================================== ==========================================================
message                                            as a message of a chat (`chat`); toolCalls: ``call`` each
toolCallStates                                     ``result`` of each that has an output, after its message; error
                                                   where its status is errored or canceled
conversationSummary                                a compaction, counted "compaction boundary"; the summary:
                                                   ``summary``, role user, in place of the message
contextItems                                       counted "context item": the editor's copy of what the message holds
other members of the document (`_CLIENT`)          counted "client record: KEY"
anything else                                      counted "unknown record: KEY"
================================================== ==========================================================

The file has no times and no ids of messages.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks, chat
from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.document import members, outline
from undrift.transcripts.lines import list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "continue"

_SESSION = frozenset({"sessionId", "workspaceDirectory"})
_CLIENT = frozenset({"chatModelTitle", "mode", "title", "usage"})
_FAILED = ("canceled", "errored")


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the lines begin a session of Continue."""
    keys = outline(lines)
    return keys >= _SESSION and bool({"history", "history[].message"} & keys)


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of Continue; see `Reader.read`."""
    collector = Collector(FORMAT)
    for key, place, value in members(collector, lines, ("history",)):
        if key == "history":
            item = value if isinstance(value, dict) else {}
            message = object_at(item, "message")
            collector.name_model(object_at(message, "usage").get("model"))
            if _summary(item):
                collector.compaction()
            collector.add(_parts(item, message), place, None)
        elif key == "sessionId":
            collector.identify(value, None)
        elif key == "workspaceDirectory":
            collector.identify(None, value)
        else:
            collector.skip(f"client record: {key}" if key in _CLIENT else f"unknown record: {printable(key)}")
    return collector.recording(count=count)


def _summary(item: Mapping[str, Any]) -> str:
    return text_at(item, "conversationSummary").strip()


def _parts(item: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[Part]:
    yield from (Skip("context item") for _ in list_at(item, "contextItems"))
    if summary := _summary(item):
        yield Skip("compaction boundary")
        yield RecordedBlock("summary", "user", summary, "summary")
        return
    yield from chat.parts({**message, "tool_calls": list_at(message, "toolCalls")})
    for state in list_at(item, "toolCallStates"):
        if isinstance(state, dict) and state.get("output") is not None:
            yield from _result(state)


def _result(state: Mapping[str, Any]) -> Iterator[Part]:
    texts = [output.get("content") if isinstance(output, dict) else output for output in list_at(state, "output")]
    failed = state.get("status") in _FAILED
    yield from blocks.result("user", state.get("toolCallId"), texts, is_error=failed)
