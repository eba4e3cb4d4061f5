"""A body of the Messages interface, read into blocks whose paths are those of the provider's error texts.

Pure. Refuses only what has no shape at all; what the blocks may say to each other is in `anthropic_rules`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.testing.simulators.base import Refused, mark_of

__all__ = ["CheckedBlock", "CheckedGroup", "CheckedMessage", "CheckedRequest", "invalid", "merged", "read_request"]

_ROLES = ("user", "assistant", "system")
_MAXIMUM_MESSAGES = 100_000
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NEEDED: Mapping[str, tuple[tuple[str, type, str], ...]] = {
    "text": (("text", str, "string"),),
    "thinking": (("thinking", str, "string"), ("signature", str, "string")),
    "redacted_thinking": (("data", str, "string"),),
    "tool_use": (("id", str, "string"), ("name", str, "string"), ("input", Mapping, "dictionary")),
    "tool_result": (("tool_use_id", str, "string"),),
}
_ONLY_IN = {"thinking": "assistant", "redacted_thinking": "assistant", "tool_use": "assistant", "tool_result": "user"}


@dataclass(frozen=True, slots=True)
class CheckedBlock:
    """One content block. `value`: as sent; a string content stands here as one text block."""

    message: int
    index: int
    kind: str
    value: Mapping[str, Any]

    @property
    def path(self) -> str:
        """As error texts name it."""
        return f"messages.{self.message}.content.{self.index}"

    @property
    def is_thinking(self) -> bool:
        """True if it is thinking, readable or not."""
        return self.kind in ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class CheckedMessage:
    """One message as sent."""

    index: int
    role: str
    blocks: Sequence[CheckedBlock]
    extras: Mapping[str, Any]
    is_setting: bool = False
    """It changes settings of the output: Claude Code sends such a system message without a text."""


@dataclass(frozen=True, slots=True)
class CheckedGroup:
    """Neighbours of one role, which the provider takes as one message."""

    role: str
    messages: Sequence[CheckedMessage]

    @property
    def blocks(self) -> list[CheckedBlock]:
        """The blocks of all its messages."""
        return [block for message in self.messages for block in message.blocks]

    def of_kind(self, kind: str) -> Iterator[CheckedBlock]:
        """Yield the blocks of one type."""
        return (block for message in self.messages for block in message.blocks if block.kind == kind)


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """One request."""

    body: Mapping[str, Any]
    model: str
    betas: frozenset[str]
    tools: Sequence[Mapping[str, Any]]
    system: Sequence[Mapping[str, Any]]
    messages: Sequence[CheckedMessage]
    groups: Sequence[CheckedGroup]

    @property
    def thinking(self) -> Mapping[str, Any]:
        """Its `thinking` setting; empty if it has none."""
        value = self.body.get("thinking")
        return value if isinstance(value, Mapping) else {}


def invalid(text: str, rule: str = "", *, details: Mapping[str, Any] | None = None) -> Refused:
    """Build the refusal of a request that is wrong: status 400, the provider's envelope."""
    error: dict[str, Any] = {"type": "invalid_request_error", "message": text}
    if details is not None:
        error["details"] = dict(details)
    name = "".join(letter for letter in mark_of(text) if letter.isalnum())[:24]
    return Refused(400, text, {"type": "error", "error": error, "request_id": f"req_{name}"}, rule=rule)


def read_request(body: Any, model: str | None, betas: frozenset[str]) -> CheckedRequest:
    """Read a body. Raises Refused: it has not the shape of a request."""
    if not isinstance(body, Mapping):
        raise invalid("Input should be a valid dictionary")
    model = model if model is not None else _field(body, "model", str, "string", "model")
    messages = [_message(index, value) for index, value in enumerate(_listed_messages(body))]
    tools = body.get("tools") or []
    if not _is_list(tools) or not all(isinstance(tool, Mapping) for tool in tools):
        raise invalid("tools: Input should be a valid list")
    return CheckedRequest(body, model, betas, tools, _system(body.get("system")), messages, merged(messages))


def merged(messages: Sequence[CheckedMessage]) -> list[CheckedGroup]:
    """Put neighbours of one role together."""
    groups: list[tuple[str, list[CheckedMessage]]] = []
    for message in messages:
        if groups and groups[-1][0] == message.role:
            groups[-1][1].append(message)
        else:
            groups.append((message.role, [message]))
    return [CheckedGroup(role, together) for role, together in groups]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _listed_messages(body: Mapping[str, Any]) -> Sequence[Any]:
    if "messages" not in body:
        raise invalid("messages: Field required")
    messages: Sequence[Any] = body["messages"]
    if not _is_list(messages):
        raise invalid("messages: Input should be a valid list")
    if not messages:
        raise invalid("messages: at least one message is required")
    if len(messages) > _MAXIMUM_MESSAGES:
        raise invalid(f"messages: List should have at most {_MAXIMUM_MESSAGES} items, not {len(messages)}", "A4")
    return messages


def _system(value: Any) -> Sequence[Mapping[str, Any]]:
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if not _is_list(value):
        raise invalid("system: Input should be a valid list")
    for index, block in enumerate(value):
        if not isinstance(block, Mapping):
            raise invalid(f"system.{index}: Input should be a valid dictionary")
        _field(block, "text", str, "string", f"system.{index}.text")
    blocks: Sequence[Mapping[str, Any]] = value
    return blocks


def _message(index: int, value: Any) -> CheckedMessage:
    path = f"messages.{index}"
    if not isinstance(value, Mapping):
        raise invalid(f"{path}: Input should be a valid dictionary")
    role = _field(value, "role", str, "string", f"{path}.role")
    if role not in _ROLES:
        raise invalid(f"{path}.role: Input should be 'user', 'assistant' or 'system'")
    if "content" not in value:
        raise invalid(f"{path}.content: Field required")
    content = value["content"]
    if isinstance(content, str):
        blocks = [CheckedBlock(index, 0, "text", {"type": "text", "text": content})] if content else []
    elif _is_list(content):
        blocks = [_block(index, place, role, block) for place, block in enumerate(content)]
    else:
        raise invalid(f"{path}.content: Input should be a valid list")
    extras: Mapping[str, Any] = {}
    if len(value) > 2:  # role and content; effort (output_config) may change without a consequence
        known = ("role", "content", "output_config", "cache_control")
        extras = {key: item for key, item in value.items() if key not in known and item is not None}
    return CheckedMessage(index, role, blocks, extras, role == "system" and "output_config" in value)


def _block(message: int, index: int, role: str, value: Any) -> CheckedBlock:
    path = f"messages.{message}.content.{index}"
    if not isinstance(value, Mapping):
        raise invalid(f"{path}: Input should be a valid dictionary")
    kind = _field(value, "type", str, "string", f"{path}.type")
    for name, wanted, called in _NEEDED.get(kind, ()):
        _field(value, name, wanted, called, f"{path}.{kind}.{name}")
    if _ONLY_IN.get(kind, role) != role:
        raise invalid(f"messages.{message}: `{kind}` blocks can only be in `{_ONLY_IN[kind]}` messages")
    if kind == "tool_use" and not _ID.fullmatch(value["id"]):
        raise invalid(f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if kind == "tool_result":
        _tool_result(path, value.get("content"))
    return CheckedBlock(message, index, kind, value)


def _tool_result(path: str, content: Any) -> None:
    if content is None or isinstance(content, str):
        return
    if not _is_list(content) or not all(isinstance(block, Mapping) for block in content):
        raise invalid(f"{path}.tool_result.content: Input should be a valid list")


def _field(value: Mapping[str, Any], name: str, wanted: type, called: str, path: str) -> Any:
    if name not in value:
        raise invalid(f"{path}: Field required")
    if not isinstance(value[name], wanted):
        raise invalid(f"{path}: Input should be a valid {called}")
    return value[name]
