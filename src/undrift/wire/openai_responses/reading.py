"""OpenAI Responses: reads an input item into blocks. Pure.

The name of its type says what an item is, so that future types pair as those of today do. ``*_call`` with a ``call_id``
is a call, ``*_output`` its result, and a call that the provider runs itself (a web search, say) has no such id.

A reasoning item begins a run, and costs the text of its summary and what `parts.reasoning_tokens` makes of
its encrypted content. An item that sets something up for later items, or replaces absent ones, never leaves.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire.form import Block, Kind, View, json_text, string_at, unique_id
from undrift.wire.offered import offered_tools
from undrift.wire.openai_responses import editing, parts

__all__ = ["APPROVAL", "REFERENCE", "beside_texts", "delta", "items", "read", "session_id", "type_of"]

APPROVAL = "mcp_approval:"
"""Before the id of an approval, which may stay unanswered as no call may."""

REFERENCE = "reference"
"""Role of an item that stands at the provider; as a call it has no `call_id`."""

_CALL_IDS = ("fc_", "ctc_", "cu_", "lsh_", "sh_", "apc_")
_FROM_CLIENT = ("additional_tools", "agent_message", "compaction_trigger", "configuration_update")
_COMPACTIONS = ("compaction", "compaction_summary")
"""They replace the work before them: calls, outputs, reasoning and answers."""
_STAYS = (*_COMPACTIONS, "program", "program_output")
"""A program and its calls belong together by a fingerprint."""


def items(history: Any) -> list[Any]:
    """Return the input items; a string counts as one message of the user; see `Form.items`."""
    if isinstance(history, str):
        return [editing.user_item(history)]
    if not isinstance(history, list):
        raise WireError(f"must be a string or an array, not {type(history).__name__}", path="input")
    return history


def delta(body: Mapping[str, Any]) -> str | None:
    """Return the field that refers to a history stored by the provider; see `Form.delta`."""
    for name in ("previous_response_id", "conversation"):
        if body.get(name) is not None:
            return name
    return "prompt" if body.get("prompt") is not None and body.get("input") is None else None


def session_id(body: Mapping[str, Any]) -> str | None:
    """Return ``prompt_cache_key``, where Codex writes its thread's id; see `Form.session_id`."""
    return unique_id(body.get("prompt_cache_key"))


def beside_texts(beside: Mapping[str, Any]) -> Iterator[str]:
    """Yield instructions, tools and the answer's schema; see `Form.beside_texts`."""
    instructions = beside.get("instructions")
    if isinstance(instructions, str):
        yield instructions
    elif instructions:
        yield json_text(instructions)
    if tools := beside.get("tools"):
        yield json_text(tools)
    text = beside.get("text")
    format_ = text.get("format") if isinstance(text, Mapping) else None
    if isinstance(format_, Mapping) and "schema" in format_:
        yield json_text(format_)


def type_of(item: Mapping[str, Any]) -> Any:
    """Return an item's type. An item without a type is a message if it has a role, else a reference."""
    type_ = item.get("type")
    if type_ is not None:
        return type_
    return "item_reference" if item.get("role") is None and isinstance(item.get("id"), str) else "message"


def read(item: Any, path: str) -> View:
    """Read one item; see `Form.read`."""
    if not isinstance(item, Mapping):
        raise WireError(f"an input item must be an object, not {type(item).__name__}", path=path)
    type_ = type_of(item)
    if not isinstance(type_, str):
        raise WireError(f"must be a string, not {type(type_).__name__}", path=f"{path}.type")
    if type_ == "message":
        return _message(item, path)
    if type_ == "reasoning":
        return View("assistant", (_reasoning(item, path),), bundle="run")
    if type_ == "item_reference":
        return _reference(item, path)
    if type_ in _FROM_CLIENT:
        offers = offered_tools(item) if type_ == "additional_tools" else None
        return View("system", (Block("other", json_text(item, path), is_pinned=True, offers=offers),))
    if type_ == "mcp_approval_request":
        return View("assistant", (_asks(item, APPROVAL + string_at(item, "id", path), path),))
    if type_ == "mcp_approval_response":
        call_id = APPROVAL + string_at(item, "approval_request_id", path)
        return View("tool", (Block("result", json_text(item, path), call_id, True),))
    if type_.endswith("_output") and type_ != "program_output":
        role = "assistant" if item.get("execution") == "server" else "tool"
        return View(role, (_result(item, type_, path),))
    given_id = _call_id(item, type_, path) if type_.endswith("_call") else None
    if given_id is not None:
        return View("assistant", (_asks(item, given_id, path),))
    return View("assistant", (_other(item, type_, path),))


def _message(item: Mapping[str, Any], path: str) -> View:
    role, content = string_at(item, "role", path), item.get("content")
    role = "system" if role == "developer" else role
    if isinstance(content, str):
        return View(role, (Block("text", content),), is_empty=not content)
    if not isinstance(content, list):
        raise WireError(f"must be a string or an array, not {type(content).__name__}", path=f"{path}.content")
    found = tuple(parts.block(part, f"{path}.content[{i}]") for i, part in enumerate(content))
    return View(role, found, is_empty=not content)


def _reasoning(item: Mapping[str, Any], path: str) -> Block:
    """Read a reasoning item. Its kind is not `thinking`, because it is bound to the item after it."""
    said = []
    for name in ("summary", "content"):
        found = item.get(name)
        if found is not None:
            if not isinstance(found, list):
                raise WireError(f"must be an array, not {type(found).__name__}", path=f"{path}.{name}")
            said.append(parts.texts(found, f"{path}.{name}")[1])
    counted = "\n".join(text for text in said if text)
    tokens = parts.reasoning_tokens(item.get("encrypted_content"))
    return Block("other", counted or json_text(item, path), extra_tokens=tokens, counted=counted)


def _reference(item: Mapping[str, Any], path: str) -> View:
    """Read a reference to an item at the provider; the id's prefix tells the item's kind."""
    id_ = string_at(item, "id", path)
    if id_.startswith("rs_"):
        return View("assistant", (Block("other", json_text(item, path), is_pinned=True),), bundle="run")
    kind: Kind = "call" if id_.startswith(_CALL_IDS) else "other"
    return View(REFERENCE, (Block(kind, json_text(item, path), is_pinned=True),))


def _call_id(item: Mapping[str, Any], type_: str, path: str) -> str | None:
    """Return the id that pairs a call with its output; None for calls that the provider runs itself."""
    if item.get("call_id") is None:
        if type_.startswith("local_shell_call"):  # its output names the call under `id`
            return string_at(item, "id", path)
        if type_ not in ("function_call", "custom_tool_call"):
            return None
    return string_at(item, "call_id", path)


def _asks(item: Mapping[str, Any], call_id: str, path: str) -> Block:
    type_, name = str(item["type"]), item.get("name")
    given = item.get("input" if type_ == "custom_tool_call" else "arguments")
    caller = item.get("caller")
    return Block(
        "call",
        given if isinstance(given, str) else json_text(item, path),
        call_id,
        tool_name=name if isinstance(name, str) else type_.removesuffix("_call"),
        is_pinned=type_ in _STAYS or (isinstance(caller, Mapping) and caller.get("type") == "program"),
    )


def _result(item: Mapping[str, Any], type_: str, path: str) -> Block:
    """Read an output. An output that names no call has no pair."""
    given = item.get("output")
    text, counted, extra = (
        parts.texts(given, f"{path}.output") if given is not None else (whole := json_text(item, path), whole, 0)
    )
    call_id, is_search = _call_id(item, type_, path), type_ == "tool_search_output"
    return Block(
        "result",
        text,
        call_id,
        True,
        extra_tokens=extra,
        counted=counted,
        is_pinned=type_ in _STAYS or (is_search and call_id is None),
        loads=parts.loaded_tools(item, path) if is_search else (),
    )


def _other(item: Mapping[str, Any], type_: str, path: str) -> Block:
    """Read a call that the provider ran itself, or an item of an unknown type."""
    text, stays = json_text(item, path), type_ in (*_STAYS, "tool_search_call")  # the provider ran it: no id, no pair
    if type_ in _COMPACTIONS:
        tokens = parts.reasoning_tokens(item.get("encrypted_content"))
        return Block("other", text, extra_tokens=tokens, counted="", is_pinned=True, replaces="work")
    if type_ == "image_generation_call" and isinstance(item.get("result"), str):  # base64 of the picture
        return Block("other", text, extra_tokens=parts.IMAGE_TOKENS, counted="")
    return Block("other", text, is_pinned=stays)
