"""Trajectories of mini-swe-agent: one JSON document, with its ``info`` beside the messages, or the messages alone. Pure.

Messages become what `undrift.transcripts.chat` says. Up to its first version, and later on request, the agent
writes its one command into the text, between fences; there

======================================= =====================================================================
message                                 becomes
======================================= =====================================================================
assistant with exactly one command      the ``text`` around it, and a ``call`` of ``bash`` with the ``command``
assistant with none, or several         ``text``: the agent refuses to run anything, and the next message says so
the user message behind a command       its ``result``: the agent runs what it has read before it says anything else;
                                        an error where the return code in it, or in its ``extra``, is not 0
exit                                    counted "exit message": it is written for the record, not for the model
======================================= =====================================================================

A call that has no id in the record is named after its place among the messages. ``extra`` repeats what was sent and
received, for the record; only the command, the time and the return code are read from it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks, chat, conversations
from undrift.transcripts.base import Part, Recording, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.document import outline
from undrift.transcripts.lines import list_at, object_at, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "mini-swe-agent"

_ARRAYS = ("messages",)
_MARKS = ("mswea_bash_command", "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
"""The form that its instructions ask the model for; the first two or three messages hold them."""

_OWN_FENCES = (("```mswea_bash_command", "\n```"), ("<mswea_bash_command>", "</mswea_bash_command>"))
_FENCES = (("```bash", "\n```"),)
_RETURN_CODE = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>")


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the file begins as the agent writes it: with its keys, or its instructions to the model."""
    text = "\n".join(lines)
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return False
    if "trajectory_format" in text or "mini_version" in text:
        keys = outline(lines)
        if "info.mini_version" in keys or ("trajectory_format" in keys and '"mini-swe-agent' in text):
            return True
    marked = any(mark in text for mark in _MARKS)
    return marked and conversations.begins_with(lines, _ARRAYS, _is_instruction, until=_is_answer)


def _is_instruction(message: Any) -> bool:
    if not chat.is_message(message) or message.get("role") not in ("system", "user"):
        return False
    said = blocks.flatten(message.get("content"))[0].strip()
    return any(mark in said and said != mark for mark in _MARKS)


def _is_answer(message: Any) -> bool:
    return chat.is_message(message) and message.get("role") == "assistant"


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a trajectory of mini-swe-agent; see `Reader.read`."""
    collector = Collector(FORMAT)
    reader = _MessagesReader()
    for key, place, value in conversations.first(collector, lines, _ARRAYS, chat.is_message):
        if key in ("", *_ARRAYS):
            stamp = object_at(value, "extra").get("timestamp") if isinstance(value, dict) else None
            collector.add(reader.parts(value), place, None, at_ms=chat.moment(stamp))
        elif key == "info" and isinstance(value, dict):
            config = object_at(value, "config")
            collector.name_model(object_at(config, "model").get("model_name"))
            collector.identify(None, object_at(config, "environment").get("cwd"))
        elif key == "instance_id":
            collector.identify(value, None)
    return collector.recording(count=count)


class _MessagesReader:
    """Knows which fences the session uses, and the command that waits for its result."""

    def __init__(self) -> None:
        self._fences: tuple[tuple[str, str], ...] = _FENCES
        self._number = 0
        self._waiting: str | None = None

    def parts(self, message: Any) -> Iterator[Part]:
        """Yield the blocks of one message."""
        self._number += 1
        waiting, self._waiting = self._waiting, None
        role = text_at(message, "role") if isinstance(message, dict) else ""
        if role == "exit":
            yield Skip("exit message")
        elif role == "user" and waiting is not None:
            content = message.get("content")
            yield from blocks.result("user", waiting, content, is_error=_failed(message))
        elif role == "assistant" and isinstance(message.get("content"), str) and not list_at(message, "tool_calls"):
            yield from self._asked(message)
        else:
            if _is_instruction(message) and _MARKS[0] in blocks.flatten(message.get("content"))[0]:
                self._fences = _OWN_FENCES
            yield from chat.parts(message)

    def _asked(self, message: Mapping[str, Any]) -> Iterator[Part]:
        content = text_at(message, "content")
        found = next((found for fence in self._fences if (found := list(_commands(content, *fence)))), [])
        if len(found) != 1:
            yield from chat.parts(message)
            return
        start, end, command = found[0]
        around = [part.strip() for part in (content[:start], content[end:])]
        rest = "\n\n".join(part for part in around if part)
        if rest or text_at(message, "reasoning_content"):
            yield from chat.parts({**message, "content": rest})
        self._waiting = f"command-{self._number}"
        yield blocks.call(self._waiting, "bash", {"command": command})


def _commands(text: str, opening: str, closing: str) -> Iterator[tuple[int, int, str]]:
    """Yield the place of each command with its fence, and the command; in linear time for any text."""
    at = end = 0
    while (start := text.find(opening, at)) >= 0:
        at = start + len(opening)
        end = end if end >= at else text.find(closing, at)
        if end < 0:
            return
        first_line, _, rest = text[at:end].partition("\n")
        command = rest if closing.startswith("\n") else text[at:end]
        if command.strip() and not (closing.startswith("\n") and first_line.strip()):
            at = end + len(closing)
            yield start, at, command.strip()


def _failed(message: Mapping[str, Any]) -> bool:
    code = object_at(message, "extra").get("returncode")
    if isinstance(code, int):
        return code != 0
    found = _RETURN_CODE.match(blocks.flatten(message.get("content"))[0])
    return found is not None and found.group(1) != "0"
