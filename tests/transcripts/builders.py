"""Small records of the two clients, as they write them; every test says only what matters to it."""

import itertools
import json
from collections.abc import Iterable
from typing import Any

from undrift.values.window import ContextEntry

_numbers = itertools.count(1)


def lines(*records: Any) -> list[str]:
    """One JSON document a line; a string stands for itself, as on a damaged line."""
    return [record if isinstance(record, str) else json.dumps(record) for record in records]


def claude(type_: str, content: Any = None, **more: Any) -> dict[str, Any]:
    """A record of Claude Code with an own uuid; `message` holds what goes into the message beside role and content."""
    message = {"role": type_, "content": content, **more.pop("message", {})}
    stamp = {"timestamp": "2026-01-02T03:04:05.678Z", "sessionId": "s-1", "cwd": "/repo"}
    record = {"type": type_, "uuid": f"uuid-{next(_numbers)}", "isSidechain": False, **stamp, **more}
    return record if content is None else {**record, "message": message}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return claude("user", content, **more)


def assistant(*blocks: Any, id: str | None = None, model: str = "claude-x", **more: Any) -> dict[str, Any]:
    return claude("assistant", list(blocks), message={"model": model, **({"id": id} if id else {})}, **more)


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def called(call_id: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def answered(call_id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def attached(type_: str, **fields: Any) -> dict[str, Any]:
    return claude("attachment", attachment={"type": type_, **fields})


def codex(type_: str, **payload: Any) -> dict[str, Any]:
    """A line of a rollout; `kind` is the payload's own type."""
    if "kind" in payload:
        payload["type"] = payload.pop("kind")
    return {"timestamp": "2026-01-02T03:04:05.678Z", "type": type_, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return codex("response_item", kind=kind, **fields)


def spoken(role: str, *texts: str) -> dict[str, Any]:
    return item("message", role=role, content=[{"type": "input_text", "text": text} for text in texts])


def shape(entries: Iterable[ContextEntry]) -> list[tuple[str, str, str]]:
    """What most tests ask of entries: role, kind, content."""
    return [(e.metadata["role"], e.metadata["kind"], e.content) for e in entries if e.metadata]


def meta(entry: ContextEntry) -> dict[str, Any]:
    assert entry.metadata is not None
    return dict(entry.metadata)
