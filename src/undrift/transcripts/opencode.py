"""Sessions of opencode, as ``opencode export`` writes them: one JSON document. Pure.

========================================================= =======================================================
record or part                                            becomes
========================================================= =======================================================
text                                                      ``text``; ``meta: True`` where it is synthetic; counted
                                                          "ignored text" where the client does not send it
reasoning                                                 ``thinking``, with its ``signature`` if there is one;
                                                          without text "empty thinking"
tool                                                      ``call``, and at the end of the step ``result``: its output,
                                                          or its error; none while it is pending or running;
                                                          pictures attached to it are counted "image data"
file: a picture                                           ``image`` "[image]"; counted "image data"
file: text, a folder                                      counted "file reference": what was read of it stands in a
                                                          synthetic text
other files                                               ``other`` "[document NAME]"; counted "document data"
compaction                                                a compaction; counted "compaction boundary"
texts of an assistant's message that is a summary         ``summary``
step-start, step-finish, patch and the like (`_CLIENT`)   counted "client part: TYPE"
other parts                                               counted "unknown part: TYPE"
an assistant's message with an error                      counted "api error"; its parts stay
system (older versions write it beside a message)         ``text``, role system, type spec, once
other members of the document                             counted "client record: KEY"
========================================================= =======================================================

A result's title and metadata are what the client showed, not what the model saw; they are left aside. Results that
opencode itself has since blanked stand as they were.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.document import members, outline
from undrift.transcripts.lines import epoch_ms, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "opencode"

_CLIENT = frozenset({"agent", "patch", "retry", "snapshot", "step-finish", "step-start", "subtask"})
_PARTED = ("step-start", "step-finish")


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the lines begin a session that opencode exported."""
    keys = outline(lines)
    of_project = {"info.projectID", "info.directory", "info.slug"} & keys
    return ({"info.id", "info.time"} <= keys and bool(of_project)) or {"messages[].info", "messages[].parts"} <= keys


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read an exported session of opencode; see `Reader.read`."""
    session = _OpencodeSession(Collector(FORMAT))
    for key, place, value in members(session.collector, lines, ("messages",)):
        if key == "messages" and isinstance(value, dict):
            session.message(place, value)
        elif key == "info" and isinstance(value, dict):
            session.collector.identify(value.get("id"), value.get("directory"))
        else:
            unknown = key in ("messages", "info")
            session.collector.skip(f"{'unknown' if unknown else 'client'} record: {printable(key)}")
    return session.collector.recording(count=count)


class _OpencodeSession:
    """Goes through the messages once."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._instructions: set[str] = set()
        self._due = False  # a compaction's summary is still to come

    def message(self, place: RecordPlace, record: Mapping[str, Any]) -> None:
        """Add a message with its parts; the results of a step come after its calls."""
        info = object_at(record, "info")
        at_ms = epoch_ms(object_at(info, "time").get("created"))
        assistant = info.get("role") == "assistant"
        if assistant:
            self.collector.name_model(info.get("modelID"))
        for part in self._system(info):
            self.collector.add([part], place, None, at_ms=at_ms)
        if object_at(info, "error"):
            self.collector.skip("api error")
        parts = list_at(record, "parts")
        summary = assistant and bool(info.get("summary"))
        if summary and not self._due:
            self.collector.compaction()
        self._due = self._due and not assistant
        if not parts:
            self.collector.skip("message without content")
        answers: list[tuple[str, int | None, list[Part]]] = []
        for part in parts:
            if not isinstance(part, dict):
                self.collector.skip("unknown part: (none)")
                continue
            kind = text_at(part, "type")
            if kind in _PARTED:
                self._answer(place, answers, at_ms)
            if kind == "compaction":
                self.collector.compaction()
                self._due = True
            name = text_at(part, "id")
            self.collector.add(_parts(part, assistant=assistant, summary=summary), place, None, name=name, at_ms=at_ms)
            if kind == "tool":
                answers.append((name and f"{name}:result", *_result(part)))
        self._answer(place, answers, at_ms)

    def _system(self, info: Mapping[str, Any]) -> Iterator[Part]:
        given = info.get("system")
        for text in given if isinstance(given, list) else [given]:
            if isinstance(text, str) and text not in self._instructions:
                self._instructions.add(text)
                yield blocks.text("system", text)

    def _answer(self, place: RecordPlace, answers: list[tuple[str, int | None, list[Part]]], at_ms: int | None) -> None:
        for name, end_ms, parts in answers:
            self.collector.add(parts, place, None, name=name, at_ms=at_ms if end_ms is None else end_ms)
        answers.clear()


def _parts(part: Mapping[str, Any], *, assistant: bool, summary: bool) -> Iterator[Part]:
    kind = text_at(part, "type")
    if kind == "text":
        yield _text(part, assistant=assistant, summary=summary)
    elif kind == "reasoning":
        yield _thinking(part)
    elif kind == "tool":
        yield blocks.call(part.get("callID"), part.get("tool"), object_at(part, "state").get("input"))
    elif kind == "file":
        yield from _file(part, assistant=assistant)
    elif kind == "compaction":
        yield Skip("compaction boundary")
    elif kind in _CLIENT:
        yield Skip(f"client part: {kind}")
    else:
        yield Skip(f"unknown part: {printable(kind)}")


def _text(part: Mapping[str, Any], *, assistant: bool, summary: bool) -> Part:
    text = text_at(part, "text")
    if part.get("ignored") is True:
        return Skip("ignored text")
    if summary and text.strip():
        return RecordedBlock("summary", "assistant", text, "summary")
    meta = {"meta": True} if part.get("synthetic") is True else {}
    return blocks.text("assistant" if assistant else "user", text, **meta)


def _thinking(part: Mapping[str, Any]) -> Part:
    thought = text_at(part, "text")
    if not thought.strip():
        return Skip("empty thinking")
    signature = text_at(object_at(object_at(part, "metadata"), "anthropic"), "signature")
    return RecordedBlock("thinking", "assistant", thought, extra={"signature": signature} if signature else {})


def _file(part: Mapping[str, Any], *, assistant: bool) -> Iterator[Part]:
    mime = text_at(part, "mime")
    if mime.startswith("image/"):
        yield from blocks.image("assistant" if assistant else "user")
    elif not mime or mime.startswith("text/") or mime == "application/x-directory":
        yield Skip("file reference")
    else:
        name = printable(part.get("filename"))
        yield RecordedBlock("other", "assistant" if assistant else "user", f"[document {name}]")
        yield Skip("document data")


def _result(part: Mapping[str, Any]) -> tuple[int | None, list[Part]]:
    """Say when a tool ended, and what it gave."""
    state = object_at(part, "state")
    status = state.get("status")
    if status not in ("completed", "error"):
        return None, []
    given = [state.get("output") if status == "completed" else state.get("error")]
    for attached in list_at(state, "attachments"):
        picture = isinstance(attached, dict) and text_at(attached, "mime").startswith("image/")
        given.append({"type": "image" if picture else "document"})
    failed = status == "error"
    parts = list(blocks.result("user", part.get("callID"), given, is_error=failed))
    return epoch_ms(object_at(state, "time").get("end")), parts
