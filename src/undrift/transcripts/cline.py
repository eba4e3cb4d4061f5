"""Sessions of Cline's CLI: one JSON document, ``*.messages.json`` under ``~/.cline/data/sessions``. Pure.

================================================== ==========================================================
member of the document, or part of a message       becomes
================================================== ==========================================================
system_prompt                                      ``text``, role system, before the messages
text, image, thinking, tool_use                    ``text``, ``image``, ``thinking``, ``call``; the tags
                                                   ``<user_input>`` around what the user typed are taken off
tool_result                                        ``result``: the result of each command or file in it; error where
                                                   one of them has no success
other parts                                        counted "unknown block: TYPE"
other members of the document (`_CLIENT`)          counted "client record: KEY"
anything else                                      counted "unknown record: KEY"
================================================== ==========================================================

A compaction leaves this file as it is: the client keeps it in another one, which is not read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks, chat
from undrift.transcripts.base import Part, Recording, Skip
from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.document import members, outline
from undrift.transcripts.lines import epoch_ms, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "cline"

_CLIENT = frozenset({"agent", "origin", "updated_at", "version"})
_TYPED = re.compile(r"<user_input[^<>]*>(.*)</user_input>", re.DOTALL)
_ROLES = ("assistant", "user")


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the lines begin a session of Cline's CLI."""
    return {"sessionId", "agent", "origin.source", "messages"} <= outline(lines)


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of Cline's CLI; see `Reader.read`."""
    collector = Collector(FORMAT)
    messages: list[tuple[RecordPlace, Any]] = []
    for key, place, value in members(collector, lines, ("messages",)):
        if key == "messages":
            messages.append((place, value))  # the instructions stand behind them in the file
        elif key == "system_prompt":
            collector.add([blocks.text("system", value if isinstance(value, str) else "")], place, None)
        elif key == "sessionId":
            collector.identify(value, None)
        else:
            collector.skip(f"client record: {key}" if key in _CLIENT else f"unknown record: {printable(key)}")
    for place, value in messages:
        message = value if isinstance(value, dict) else {}
        collector.name_model(object_at(message, "modelInfo").get("id"))
        at_ms = epoch_ms(message.get("ts"))
        collector.add(_parts(message), place, None, name=text_at(message, "id"), at_ms=at_ms)
    return collector.recording(count=count)


def _parts(message: Mapping[str, Any]) -> Iterator[Part]:
    role, content = text_at(message, "role"), message.get("content")
    if role not in _ROLES:
        yield Skip(f"unknown role: {printable(role)}")
        return
    if not isinstance(content, list):
        content = [{"type": "text", "text": content}]
    for part in content:
        kind = text_at(part, "type") if isinstance(part, dict) else ""
        if kind == "tool_result":
            yield from _result(part)
        elif kind == "text":
            yield from chat.parts({"role": role, "content": [{**part, "text": _typed(text_at(part, "text"))}]})
        else:
            yield from chat.parts({"role": role, "content": [part]})


def _typed(text: str) -> str:
    found = _TYPED.fullmatch(text.strip())
    return found[1] if found else text


def _result(part: Mapping[str, Any]) -> Iterator[Part]:
    given = part.get("content")
    outcomes = [one for one in list_at(part, "content") if isinstance(one, dict) and "success" in one]
    failed = part.get("is_error") is True or any(one["success"] is False for one in outcomes)
    texts = [one.get("result", one) if one in outcomes else one for one in given] if isinstance(given, list) else given
    yield from blocks.result("user", part.get("tool_use_id"), texts, is_error=failed)
