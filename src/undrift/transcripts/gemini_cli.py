"""Chats of Gemini CLI: one JSON document, since 2026 one record a line, under ``~/.gemini/tmp/*/chats``. Pure.

================================================== ==========================================================
record or part                                     becomes
================================================== ==========================================================
user                                               ``text`` / ``image`` per part of its content
gemini: thoughts                                   ``thinking`` each: its subject, a line end, its description
gemini: content                                    ``text`` per part; parts with thought true: ``thinking``
gemini: toolCalls                                  ``call`` each, then ``result`` each: what its functionResponse
                                                   holds under output or error, else the whole as JSON; error where
                                                   the status is error or cancelled, or it holds an error
functionCall, functionResponse in a content        the same, but for those that stand in a toolCalls as well: counted
                                                   "repeated call", "repeated result"
inlineData                                         ``image`` "[image]" (counted "image data"), other kinds ``other``
other parts                                        ``other``: as JSON
info, warning, error                               counted "client message: TYPE": written for the screen
a message written again (one record a line)        stands where it stood first, as it was written last; counted
                                                   "repeated record"
$set with messages that lack earlier ones          a compaction, counted "compaction boundary"; those messages of it
                                                   that are new stand after it, a state snapshot is a ``summary``
$rewindTo                                          counted "rewind": what was abandoned stays
summary and the like                               counted "client record: KEY"
anything else                                      counted "unknown record: KEY"
================================================== ==========================================================

`resultDisplay` and `displayContent` are what the client showed, not what the model saw; they are left aside.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, Recording, Skip
from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.document import members, outline
from undrift.transcripts.gemini_parts import contents, texts, thinking
from undrift.transcripts.lines import decode, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "gemini-cli"

_HEAD_LINES = 64
_SESSION = frozenset({"directories", "kind", "lastUpdated", "projectHash", "sessionId", "startTime"})
_CLIENT = frozenset({"activeExtensionName", "memoryScratchpad", "summary"})


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the lines begin a document of Gemini CLI, or contain a record that only it writes."""
    keys = outline(lines)
    return (
        {"sessionId", "projectHash"} <= keys
        or {"messages[].type", "messages[].toolCalls"} <= keys
        or any(_is_appended(record) for line in lines for record in decode(line)[0])
    )


def _is_appended(record: Mapping[str, Any]) -> bool:
    """Say whether a record is one of a file that grows line by line."""
    if isinstance(record.get("messages"), list):
        return False  # a whole document on one line
    return (
        ("sessionId" in record and "projectHash" in record)
        or (record.get("type") == "gemini" and "id" in record)
        or isinstance(record.get("$rewindTo"), str)
    )


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a chat of Gemini CLI, in either of its forms; see `Reader.read`."""
    chat = _GeminiChat(Collector(FORMAT))
    stream = iter(lines)
    head = list(islice(stream, _HEAD_LINES))
    if any(_is_appended(record) for line in head for record in decode(line)[0]):
        for place, record in chat.collector.records(chain(head, stream)):
            chat.take(place, record)
    else:
        for key, place, value in members(chat.collector, chain(head, stream), ("messages",)):
            if key == "messages":
                chat.message(place, value)
            else:
                chat.about({key: value})
    chat.finish()
    return chat.collector.recording(count=count)


@dataclass(slots=True)
class _GeminiChat:
    """The messages in the order of their first writing, each as it was written last; None marks a compaction."""

    collector: Collector
    messages: dict[str, tuple[RecordPlace, Mapping[str, Any] | None]] = field(default_factory=dict)

    def take(self, place: RecordPlace, record: Mapping[str, Any]) -> None:
        """Read a record of a file that grows line by line."""
        if "$rewindTo" in record:
            self.collector.skip("rewind")
        elif isinstance(record.get("$set"), dict):
            changed = record["$set"]
            if isinstance(changed.get("messages"), list):
                self._rewritten(place, changed["messages"])
            self.about({key: value for key, value in changed.items() if key != "messages"})
        elif "type" in record:
            self.message(place, record)
        else:
            self.about(record)

    def message(self, place: RecordPlace, record: Any) -> None:
        """Add a message; a known message is replaced at its old place."""
        if not isinstance(record, dict):
            self.collector.skip("unknown record: (none)")
            return
        name = text_at(record, "id") or f"{place.name} without id"
        if name in self.messages:
            self.collector.skip("repeated record")
            place = self.messages[name][0]
        self.messages[name] = (place, record)

    def _rewritten(self, place: RecordPlace, messages: list[Any]) -> None:
        """Take the list that replaces the history: the client has shortened it, or brought it up to date."""
        kept = {text_at(record, "id") for record in messages if isinstance(record, dict)}
        known = {name for name, (_, record) in self.messages.items() if record is not None}
        if known - kept:
            self.collector.skip("compaction boundary")
            self.messages[f"compaction {len(self.messages)}"] = (place, None)
        for number, record in enumerate(messages):
            if isinstance(record, dict) and text_at(record, "id") in known:
                self.collector.skip("repeated record")
            else:
                self.message(RecordPlace(place.line, number), record)

    def about(self, record: Mapping[str, Any]) -> None:
        """Read the session's id and folder from a record about the session."""
        directories = [name for name in list_at(record, "directories") if isinstance(name, str)]
        self.collector.identify(record.get("sessionId"), directories[0] if directories else None)
        for key in record:
            if key not in _SESSION:
                self.collector.skip(f"client record: {key}" if key in _CLIENT else f"unknown record: {printable(key)}")

    def finish(self) -> None:
        """Pass the messages to the collector."""
        called = {
            text_at(call, "id")
            for _, record in self.messages.values()
            for call in list_at(record or {}, "toolCalls")
            if isinstance(call, dict)
        }
        for name, (place, record) in self.messages.items():
            if record is None:
                self.collector.compaction()
                continue
            self.collector.name_model(record.get("model"))
            own = name if text_at(record, "id") else ""
            self.collector.add(_message(record, called), place, record.get("timestamp"), name=own)


def _message(record: Mapping[str, Any], called: set[str]) -> Iterator[Part]:
    kind = text_at(record, "type")
    if kind == "user":
        yield from contents("user", record.get("content"), called)
    elif kind == "gemini":
        yield from _answer(record, called)
    elif kind in ("info", "warning", "error"):
        yield Skip(f"client message: {kind}")
    else:
        yield Skip(f"unknown record: {printable(kind)}")


def _answer(record: Mapping[str, Any], called: set[str]) -> Iterator[Part]:
    calls = [call for call in list_at(record, "toolCalls") if isinstance(call, dict)]
    thoughts = [thought for thought in list_at(record, "thoughts") if isinstance(thought, dict)]
    for thought in thoughts:
        yield thinking("\n".join(filter(None, (text_at(thought, "subject"), text_at(thought, "description")))))
    if record.get("content") or not (calls or thoughts):
        yield from contents("assistant", record.get("content"), called)
    for call in calls:
        yield blocks.call(call.get("id"), call.get("name"), call.get("args"))
    for call in calls:
        yield from _result(call, called)


def _result(call: Mapping[str, Any], called: set[str]) -> Iterator[Part]:
    """The output of a tool; a call that was never answered has none."""
    given = call.get("result")
    if given is None:
        return
    failed = call.get("status") in ("error", "cancelled")
    kept: list[Any] = []
    for part in given if isinstance(given, list) else [given]:
        response = object_at(part, "functionResponse") if isinstance(part, dict) else {}
        other = text_at(response, "id")
        if other in called and other != call.get("id"):  # all answers of one turn, noted with each of its calls
            yield Skip("repeated result")
            continue
        failed = failed or "error" in object_at(response, "response")
        kept += texts(part)
    yield from blocks.result("user", call.get("id"), kept, is_error=failed)
