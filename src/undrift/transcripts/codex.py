"""Sessions of Codex: rollouts, one JSON record a line, under ``~/.codex/sessions``; the older flat form as well. Pure.

========================================================= =======================================================
record or item                                            becomes
========================================================= =======================================================
session_meta (flat: the first line)                       its base instructions: ``text``, role system, type spec;
                                                          the same text again: counted "repeated instructions";
                                                          without: "client record: session_meta"
turn_context                                              names the model; counted "client record: turn_context"
message: user, assistant                                  ``text`` / ``image`` per part of its content
message: developer, system                                the same, role system, type spec
reasoning                                                 ``thinking`` per text of its summary and content; counted
                                                          "encrypted content", and "empty thinking" if no text is
function_call                                             ``call``; arguments that are no JSON object go under
                                                          ``input``, so does the text of a custom_tool_call
custom_tool_call, tool_search_call                        ``call``
local_shell_call, web_search_call, image_generation_call  ``call``; the last two have no result in the file
every ``..._output``                                      ``result``; error if it says success false or a process
                                                          exit code other than 0 in its header
agent_message (from another agent)                        ``text``, role user
compacted                                                 a compaction, counted "compaction boundary"; its message
                                                          and the texts of its replacement history that were not
                                                          seen before: ``summary`` (developer texts: ``text``, spec);
                                                          texts seen before: counted "text kept by a compaction"
compaction items                                          counted "encrypted content"
ghost_snapshot, additional_tools                          counted "client record: TYPE"
event_msg                                                 counted "event": it repeats the items for the screen
world_state and the like (`_CLIENT`)                      counted "client record: TYPE"
other items, other records                                counted "unknown item: TYPE", "unknown record: TYPE"
========================================================= =======================================================

Turns that the user rolled back stay, in the order of the file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Recording, Role, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.lines import decode, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "codex"

_CLIENT = frozenset(
    {"inter_agent_communication_metadata", "state", "token_usage_record", "turn_context", "world_state"}
)
_RECORDS = frozenset({"compacted", "event_msg", "response_item", "session_meta", "turn_context"})
_COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
_CALLS: Mapping[str, tuple[str | None, str]] = {  # item type -> tool name where the item has none, key of its input
    "custom_tool_call": (None, "input"),
    "function_call": (None, "arguments"),
    "image_generation_call": ("image_generation", "revised_prompt"),
    "local_shell_call": ("local_shell", "action"),
    "tool_search_call": ("tool_search", "arguments"),
    "web_search_call": ("web_search", "action"),
}
_FROM_CLIENT = frozenset({"additional_tools", "ghost_snapshot"})
_ITEMS = frozenset({"message", "reasoning", "agent_message", *_FROM_CLIENT, *_CALLS, *_COMPACTIONS})
_EXIT = re.compile(r'(?:Process exited with code |Exit code: |"exit_code":\s*)(-?\d+)')
# Codex puts the exit code into the first lines, before "Output:"; the older form is an object that ends with it
_HEADER_CHARACTERS = 400
_TRAILER_CHARACTERS = 200


def recognises(lines: Sequence[str]) -> bool:
    """Say whether one of the lines is a record that only Codex writes."""
    return any(_is_ours(record) for line in lines for record in decode(line)[0])


def _is_ours(record: Mapping[str, Any]) -> bool:
    kind, payload = _unwrapped(record)
    if payload is record:  # the flat form: its first line, or an item that other clients write differently
        item = text_at(record, "type")
        return "instructions" in record or (item == "message" and "role" in record and "content" in record)
    return kind in _RECORDS and isinstance(record.get("payload"), dict)


def _unwrapped(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Give the record's type and body; in the flat form items stand bare and the first line has no type."""
    kind = text_at(record, "type")
    if isinstance(record.get("payload"), dict):
        return kind, object_at(record, "payload")
    if kind in _ITEMS or kind.endswith("_call_output"):
        return "response_item", record
    if not kind and "record_type" in record:
        return text_at(record, "record_type"), record
    if not kind and "id" in record and "timestamp" in record:
        return "session_meta", record
    return kind, {}


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of Codex; see `Reader.read`."""
    collector = Collector(FORMAT)
    seen: set[str] = set()
    for place, record in collector.records(lines):
        kind, payload = _unwrapped(record)
        if kind == "session_meta":
            collector.identify(payload.get("id"), payload.get("cwd"))
        elif kind == "turn_context":
            collector.identify(None, payload.get("cwd"))
            collector.name_model(payload.get("model"))
        elif kind == "compacted":
            collector.compaction()
        parts = list(_parts(kind, payload, seen))
        seen.update(
            part.content for part in parts if isinstance(part, RecordedBlock) and part.kind in ("text", "summary")
        )
        collector.add(parts, place, record.get("timestamp"))
    return collector.recording(count=count)


def _parts(kind: str, payload: Mapping[str, Any], seen: set[str]) -> Iterator[Part]:
    if kind == "response_item":
        yield from _item(payload)
    elif kind == "session_meta":
        yield _instructions(payload, seen)
    elif kind == "compacted":
        yield from _replacement(payload, seen)
    elif kind == "event_msg":
        yield Skip("event")
    elif kind in _CLIENT:
        yield Skip(f"client record: {kind}")
    else:
        yield Skip(f"unknown record: {printable(kind)}")


def _instructions(meta: Mapping[str, Any], seen: set[str]) -> Part:
    given = meta.get("base_instructions") or meta.get("instructions")
    text = text_at(given, "text") if isinstance(given, dict) else given
    if not isinstance(text, str) or not text.strip():
        return Skip("client record: session_meta")
    return Skip("repeated instructions") if text in seen else blocks.text("system", text)


def _item(item: Mapping[str, Any]) -> Iterator[Part]:
    kind = text_at(item, "type")
    if kind == "message":
        yield from _message(item)
    elif kind == "reasoning":
        yield from _reasoning(item)
    elif kind in _CALLS:
        yield from _call(item, *_CALLS[kind])
    elif kind.endswith("_output"):
        output = item.get("tools") if kind == "tool_search_output" else item.get("output")
        yield from blocks.result("user", item.get("call_id"), _unpacked(output), is_error=_failed(output))
    elif kind == "agent_message":
        yield from _contents(item, "user")
    elif kind in _COMPACTIONS:
        yield Skip("encrypted content")
    elif kind in _FROM_CLIENT:
        yield Skip(f"client record: {kind}")
    else:
        yield Skip(f"unknown item: {printable(kind)}")


def _message(item: Mapping[str, Any]) -> Iterator[Part]:
    roles: Mapping[str, Role] = {"assistant": "assistant", "developer": "system", "system": "system"}
    yield from _contents(item, roles.get(text_at(item, "role"), "user"))


def _contents(item: Mapping[str, Any], role: Role) -> Iterator[Part]:
    """One block per part: texts and pictures; encrypted parts are counted."""
    content = item.get("content")
    if not isinstance(content, str | list) or not content:
        yield Skip("message without content")
        return
    for part in [content] if isinstance(content, str) else content:
        if isinstance(part, dict) and part.get("type") == "encrypted_content":
            yield Skip("encrypted content")
            continue
        flat, skips = blocks.flatten(part)
        yield RecordedBlock("image", role, flat) if flat == blocks.IMAGE else blocks.text(role, flat)
        yield from skips


def _reasoning(item: Mapping[str, Any]) -> Iterator[Part]:
    thoughts = [blocks.flatten(part)[0] for key in ("summary", "content") for part in list_at(item, key)]
    thoughts = [thought for thought in thoughts if thought.strip()]
    yield from (RecordedBlock("thinking", "assistant", thought) for thought in thoughts)
    if item.get("encrypted_content"):
        yield Skip("encrypted content")
    if not thoughts:
        yield Skip("empty thinking")


def _call(item: Mapping[str, Any], default_name: str | None, key: str) -> Iterator[Part]:
    name = text_at(item, "name") or default_name
    namespace = text_at(item, "namespace")
    if name and namespace:
        name = namespace + ("" if name.startswith("_") else "__") + name
    yield blocks.call(
        item.get("call_id"), name, blocks.arguments(item.get(key)) if key == "arguments" else item.get(key)
    )
    if item.get("result"):
        yield Skip("image data")


def _unpacked(output: Any) -> Any:
    """Take the content out of the wrapping ``{"content": ..., "success": ...}``."""
    return output["content"] if isinstance(output, dict) and "content" in output else output


def _failed(output: Any) -> bool:
    if isinstance(output, dict) and output.get("success") is False:
        return True
    text = blocks.flatten(_unpacked(output))[0]
    if text.startswith('{"output"'):
        found = _EXIT.search(text[-_TRAILER_CHARACTERS:])
    else:
        header, separator, _ = text[:_HEADER_CHARACTERS].partition("\nOutput:")
        found = _EXIT.search(header) if separator else None
    return found is not None and found.group(1) != "0"


def _replacement(compacted: Mapping[str, Any], seen: set[str]) -> Iterator[Part]:
    """Read what a compaction put in place of the history, if it says anything new."""
    yield Skip("compaction boundary")
    known = set(seen)
    message = text_at(compacted, "message")
    if message.strip() and message not in known:
        known.add(message)
        yield RecordedBlock("summary", "user", message, "summary")
    for item in list_at(compacted, "replacement_history"):
        if not isinstance(item, dict):
            yield Skip("unknown item: (none)")
            continue
        for part in _item(item):
            yield _renewed(part, known)


def _renewed(part: Part, known: set[str]) -> Part:
    if not isinstance(part, RecordedBlock):
        return part
    if part.content in known or part.kind == "image":
        return Skip("text kept by a compaction" if part.kind != "image" else "image kept by a compaction")
    if part.kind != "text":
        return Skip(f"{part.kind} kept by a compaction")
    known.add(part.content)
    return part if part.role == "system" else RecordedBlock("summary", part.role, part.content, "summary")
