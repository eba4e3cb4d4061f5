"""Sessions of Claude Code: one JSON record a line, under ``~/.claude/projects``. Pure.

================================================== ==========================================================
record or block                                    becomes
================================================== ==========================================================
user, assistant: text                              ``text``; ``meta: True`` where the client wrote it (isMeta,
                                                   or an origin other than human)
user, assistant: thinking                          ``thinking`` with ``signature``; without text "empty thinking"
redacted_thinking                                  counted "encrypted thinking"
tool_use, server_tool_use, mcp_tool_use            ``call``
tool_result and every ``..._tool_result``          ``result``; pictures in it read ``[image]``, a tool_reference
                                                   reads as the tool's name, other parts as JSON
image; document                                    ``image`` "[image]"; ``other``; counted "image data",
                                                   "document data" (a document of plain text keeps its text)
other blocks                                       counted "unknown block: TYPE"; without text "empty text"
user, isCompactSummary                             ``summary``, role user, after a compaction
system/compact_boundary                            a compaction; counted "compaction boundary"
system/microcompact_boundary                       counted "microcompaction boundary"; no compaction: the client only
                                                   blanked old tool results
system/local_command                               ``text``, role user: the client sends it to the model
other system records                               counted "system record: SUBTYPE"
attachment that reached the model (`_ATTACHMENTS`) ``text`` (``image``), role user, ``attachment: TYPE``, first line
                                                   the file's name if there is one; ``meta: True`` but for a
                                                   queued_command, which is what the user typed; without text
                                                   counted "empty attachment"
other attachments                                  counted "attachment: TYPE"
isSidechain; progress of a sub-agent               counted "side chain": another agent's context; a file that
                                                   begins with isSidechain is that agent's own and is read
other progress                                     counted "progress"
assistant, isApiErrorMessage                       counted "api error": shown to the user, never sent
a uuid seen before                                 counted "repeated record": written again by a resume
titles, modes, copies of requests (`_CLIENT`)      counted "client record: TYPE"
anything else                                      counted "unknown record: TYPE"
================================================== ==========================================================

`toolUseResult` is the client's own copy of a result, not what the model saw; it is left aside. Branches that the user
abandoned by going back stay, in the order of the file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Recording, Role, Skip
from undrift.transcripts.collect import Collector
from undrift.transcripts.lines import decode, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "claude-code"

_CLIENT = frozenset(
    {
        "agent-color",
        "agent-name",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "cost-state",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "summary",
        "tag",
        "tools-used",
    }
)


def recognises(lines: Sequence[str]) -> bool:
    """Say whether one of the lines is a record that only Claude Code writes."""
    return any(_is_ours(record) for line in lines for record in decode(line)[0])


def _is_ours(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant", "system", "attachment", "progress"):
        return "isSidechain" in record
    return (kind == "summary" and "leafUuid" in record) or (kind == "file-history-snapshot" and "messageId" in record)


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of Claude Code; see `Reader.read`."""
    collector = Collector(FORMAT)
    seen: set[str] = set()
    summary_due = False
    sub_agent: bool | None = None
    for place, record in collector.records(lines):
        uuid = text_at(record, "uuid")
        if uuid in seen:
            collector.skip("repeated record")
            continue
        if uuid:
            seen.add(uuid)
        collector.identify(record.get("sessionId"), record.get("cwd"))
        if sub_agent is None and isinstance(record.get("isSidechain"), bool):
            sub_agent = record["isSidechain"]
        if record.get("isSidechain") and not sub_agent:
            collector.skip("side chain")
            continue
        message = object_at(record, "message")
        if record.get("type") == "assistant":
            collector.name_model(message.get("model"))
        boundary, summary = _compaction(record)
        if boundary or (summary and not summary_due):
            collector.compaction()
        summary_due = boundary or (summary_due and not summary and record.get("type") != "assistant")
        message_id = text_at(message, "id") or None
        collector.add(_parts(record), place, record.get("timestamp"), name=uuid, message_id=message_id)
    return collector.recording(count=count)


def _compaction(record: Mapping[str, Any]) -> tuple[bool, bool]:
    """Say whether the record is a compaction's boundary, and whether it is its summary."""
    kind = record.get("type")
    boundary = kind == "system" and record.get("subtype") == "compact_boundary"
    return boundary, kind == "user" and bool(record.get("isCompactSummary"))


def _parts(record: Mapping[str, Any]) -> Iterator[Part]:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        yield from _message(record, "user" if kind == "user" else "assistant")
    elif kind == "attachment":
        yield from _attachment(object_at(record, "attachment"))
    elif kind == "system":
        yield from _system(record)
    elif kind == "progress":
        yield Skip("side chain" if object_at(record, "data").get("type") == "agent_progress" else "progress")
    elif isinstance(kind, str) and kind in _CLIENT:
        yield Skip(f"client record: {kind}")
    else:
        yield Skip(f"unknown record: {printable(kind)}")


def _system(record: Mapping[str, Any]) -> Iterator[Part]:
    subtype = record.get("subtype")
    if subtype == "local_command":
        yield blocks.text("user", text_at(record, "content"), meta=True)
    elif subtype == "compact_boundary":
        yield Skip("compaction boundary")
    elif subtype == "microcompact_boundary":
        yield Skip("microcompaction boundary")
    else:
        yield Skip(f"system record: {printable(subtype)}")


def _message(record: Mapping[str, Any], role: Role) -> Iterator[Part]:
    if record.get("isApiErrorMessage"):
        yield Skip("api error")
        return
    content = object_at(record, "message").get("content")
    if role == "user" and record.get("isCompactSummary"):
        flat, skips = blocks.flatten(content)
        yield RecordedBlock("summary", "user", flat, "summary")
        yield from skips
        return
    if not isinstance(content, str | list) or not content:
        yield Skip("message without content")
        return
    author = text_at(object_at(record, "origin"), "kind") or "human"
    extra = {"meta": True} if record.get("isMeta") or author != "human" else {}
    for block in [content] if isinstance(content, str) else content:
        yield from _block(block, role, extra)


def _block(block: Any, role: Role, extra: Mapping[str, Any]) -> Iterator[Part]:
    if isinstance(block, str):
        yield blocks.text(role, block, **extra)
        return
    if not isinstance(block, dict):
        yield Skip("unknown block: (none)")
        return
    kind = text_at(block, "type")
    if kind == "text":
        yield blocks.text(role, text_at(block, "text"), **extra)
    elif kind == "thinking":
        yield _thinking(block)
    elif kind == "redacted_thinking":
        yield Skip("encrypted thinking")
    elif kind.endswith("tool_use"):
        yield blocks.call(block.get("id"), block.get("name"), block.get("input"))
    elif kind.endswith("tool_result"):
        is_error = block.get("is_error") is True
        yield from blocks.result(role, block.get("tool_use_id"), block.get("content"), is_error=is_error)
    elif kind == "image":
        yield from blocks.image(role)
    elif kind == "document":
        flat, skips = blocks.flatten(block)
        yield RecordedBlock("other", role, flat)
        yield from skips
    else:
        yield Skip(f"unknown block: {printable(kind)}")


def _thinking(block: Mapping[str, Any]) -> Part:
    thought = text_at(block, "thinking")
    if not thought.strip():
        return Skip("empty thinking")
    signature = text_at(block, "signature")
    return RecordedBlock("thinking", "assistant", thought, extra={"signature": signature} if signature else {})


def _attachment(attachment: Mapping[str, Any]) -> Iterator[Part]:
    kind = text_at(attachment, "type")
    extract = _ATTACHMENTS.get(kind)
    given = extract(attachment) if extract else None
    if given is None:
        yield Skip(f"attachment: {printable(kind)}")
        return
    flat, skips = blocks.flatten(given)
    extra: dict[str, Any] = {"attachment": kind}
    if kind != "queued_command" or text_at(attachment, "commandMode") not in ("", "prompt"):
        extra["meta"] = True
    if flat == blocks.IMAGE:
        yield RecordedBlock("image", "user", flat, extra=extra)
    elif flat.strip():
        name = text_at(attachment, "filename") or text_at(attachment, "path")
        body = f"{name}\n{flat}" if name and name != flat else flat
        yield RecordedBlock("text", "user", body, extra=extra)
    else:
        yield Skip("empty attachment")
    yield from skips


def _file(attachment: Mapping[str, Any]) -> Any:
    content = object_at(attachment, "content")
    return content if content.get("type") == "image" else object_at(content, "file").get("content")


# The hooks whose plain output the client hands to the model; of others it hands on additional context only.
_TELLING_HOOKS = ("SessionStart", "UserPromptSubmit")

# The attachments that reached the model, and their place in the record. The model did not get a hook's message to the user
# (hook_system_message) and permissions (command_permissions), so they are left out.
_ATTACHMENTS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "agent_listing_delta": lambda a: a.get("addedLines"),
    "compact_file_reference": lambda a: a.get("filename"),
    "deferred_tools_delta": lambda a: a.get("addedLines"),
    "edited_text_file": lambda a: a.get("snippet"),
    "file": _file,
    "hook_additional_context": lambda a: a.get("content"),
    "hook_success": lambda a: a.get("content") if a.get("hookEvent") in _TELLING_HOOKS else None,
    "mcp_instructions_delta": lambda a: a.get("addedBlocks"),
    "nested_memory": lambda a: object_at(a, "content").get("content"),
    "queued_command": lambda a: a.get("prompt"),
    "skill_listing": lambda a: a.get("content"),
    "task_reminder": lambda a: a.get("content"),
}
