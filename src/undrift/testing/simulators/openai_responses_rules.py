"""The rules of OpenAI Responses that need no memory of what was issued: types, fields, roles, pairs of calls and outputs.

Pure: a rule takes the items of a request and raises `Refused`; it names its id in the provider rules and quotes the error.
Rules without an id keep the types and sizes that the API documents.
"""

from collections.abc import Mapping
from typing import Any

from undrift.testing.simulators.openai_chat import refuse

__all__ = [
    "CALL_TYPES",
    "Items",
    "OUTPUT_TYPES",
    "has_a_known_type",
    "has_a_role",
    "has_an_id_of_its_type",
    "has_content_of_its_role",
    "has_no_item_twice",
    "has_what_its_type_requires",
    "keeps_outputs_behind_their_calls",
    "pairs_calls_and_outputs",
    "type_of",
]

Items = list[Mapping[str, Any]]

_ROLES = ("user", "assistant", "system", "developer")
_SEARCH, _FOUND = "tool_search_call", "tool_search_output"
"""Without a call id the provider has run the search itself."""
CALL_TYPES = ("function_call", "custom_tool_call", "shell_call", "apply_patch_call", "computer_call", _SEARCH)
OUTPUT_TYPES = {**{f"{kind}_output": kind for kind in CALL_TYPES if kind != _SEARCH}, _FOUND: _SEARCH}
_OTHER_TYPES = frozenset({"additional_tools", "compaction", "compaction_summary", "compaction_trigger"})
_REQUIRED = {
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "reasoning": ("summary",),
    "item_reference": ("id",),
    _SEARCH: (),
    _FOUND: (),
}
_ID_BEGINNINGS = {"function_call": "fc", "function_call_output": "fc", "message": "msg", "reasoning": "rs"}
_ASSISTANT_PARTS = ("output_text", "refusal")
_INPUT_PARTS = ("input_text", "input_image", "input_file", "input_audio")
_LONGEST_ID = 64


def type_of(item: Mapping[str, Any]) -> str:
    kind = item.get("type")
    if kind is None and "role" in item:
        return "message"
    return kind if isinstance(kind, str) else ""


def has_a_known_type(item: Mapping[str, Any], position: int) -> None:
    """An item has a type that is known here, or an id: ``Invalid value: '...'.`` with param ``input[N]``."""
    kind = type_of(item)
    known = kind == "message" or kind in _REQUIRED or kind in CALL_TYPES or kind in OUTPUT_TYPES
    identified = kind and (item.get("id") or item.get("call_id"))
    if not known and kind not in _OTHER_TYPES and not identified:
        refuse(f"Invalid value: '{kind}'.", f"input[{position}]", "invalid_value")


def has_what_its_type_requires(item: Mapping[str, Any], position: int) -> None:
    """An item has the fields of its type: ``Missing required parameter: 'input[N].call_id'.``."""
    kind = type_of(item)
    required = _REQUIRED.get(kind, ("call_id",) if kind in CALL_TYPES or kind in OUTPUT_TYPES else ())
    for name in required:
        value = item.get(name)
        place = f"input[{position}].{name}"
        if value is None:
            refuse(f"Missing required parameter: '{place}'.", place, "missing_required_parameter")
        if not isinstance(value, list if name == "summary" else (str, list) if name == "output" else str):
            refuse(f"Invalid type for '{place}'.", place, "invalid_type")


def has_an_id_of_its_type(item: Mapping[str, Any], position: int) -> None:
    """An id begins as its type's do, and has at most 64 characters: ``Invalid 'input[N].id': '...'. Expected an ID ...``."""
    for name in ("id", "call_id"):
        value = item.get(name)
        place = f"input[{position}].{name}"
        if isinstance(value, str) and len(value) > _LONGEST_ID:
            text = (
                f"Invalid '{place}': string too long. Expected a string with maximum length {_LONGEST_ID}, but got a "
                f"string with length {len(value)} instead."
            )
            refuse(text, place, "string_above_max_length")
    value, beginning = item.get("id"), _ID_BEGINNINGS.get(type_of(item), "")
    if value is not None and not str(value).startswith(beginning):
        place = f"input[{position}].id"
        refuse(f"Invalid '{place}': '{value}'. Expected an ID that begins with '{beginning}'.", place, "invalid_value")


def has_a_role(item: Mapping[str, Any], position: int) -> None:
    """A message is of one of four roles: ``Invalid value: 'tool'. Supported values are: ...``."""
    if (role := item.get("role")) not in _ROLES:
        text = f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        refuse(text, f"input[{position}]", "invalid_value")


def has_content_of_its_role(item: Mapping[str, Any], position: int) -> None:
    """A message has a text, or parts of its role: ``Invalid value: 'input_text'. Supported values are: 'output_text' ...``."""
    content = item.get("content")
    place = f"input[{position}].content"
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        text = f"Invalid type for '{place}': expected one of an array of objects or string, but got null instead."
        refuse(text if content is None else text.partition(", but")[0] + ".", place, "invalid_type")
    supported = _ASSISTANT_PARTS if item["role"] == "assistant" else _INPUT_PARTS
    for number, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind not in supported:
            listed = ", ".join(f"'{one}'" for one in supported[:-1])
            text = f"Invalid value: '{kind}'. Supported values are: {listed} and '{supported[-1]}'."
            refuse(text, f"{place}[{number}]", "invalid_value")


def has_no_item_twice(items: Items) -> None:
    """``Duplicate item found with id fc_.... Remove duplicate items from your input and try again.``."""
    known: set[tuple[str, str]] = set()
    for item in items:
        keys = [("id", item.get("id"))]
        if type_of(item) in CALL_TYPES:
            keys.append(("call_id", item.get("call_id")))
        for kind, value in keys:
            if value is None:
                continue
            if (kind, value) in known:
                text = f"Duplicate item found with id {value}. Remove duplicate items from your input and try again."
                refuse(text, "input")
            known.add((kind, value))


def pairs_calls_and_outputs(items: Items) -> None:
    """Each call must have one output anywhere after it, and each output a call (rules R1, R2).

    ``No tool output found for function call call_....`` and
    ``No tool call found for function call output with call_id call_....``
    """
    open_calls: dict[str, str] = {}
    for item in items:
        kind = type_of(item)
        if item.get("call_id") is None:
            continue
        if kind in CALL_TYPES:
            open_calls[item["call_id"]] = kind
        elif kind in OUTPUT_TYPES and open_calls.pop(item["call_id"], None) != OUTPUT_TYPES[kind]:
            text = f"No tool call found for {_spoken(kind)} with call_id {item['call_id']}."
            refuse(text, "input", rule="R2")
    for call_id, kind in open_calls.items():
        refuse(f"No tool output found for {_spoken(kind)} {call_id}.", "input", rule="R1")


def keeps_outputs_behind_their_calls(items: Items) -> None:
    """A run of calls must be followed at once by a run of their outputs (rule R1, for clones of the API)."""
    waiting: list[str] = []
    answering = False
    for item in items:
        kind = type_of(item)
        if kind in (_SEARCH, _FOUND) and item.get("call_id") is None:
            continue
        if kind in OUTPUT_TYPES and item["call_id"] in waiting:
            waiting.remove(item["call_id"])
            answering = bool(waiting)
            continue
        if waiting and (answering or kind not in CALL_TYPES):
            refuse(f"No tool output found for tool call {waiting[0]}", "input", rule="R1")
        if kind in CALL_TYPES:
            waiting.append(item["call_id"])


def _spoken(kind: str) -> str:
    return kind.replace("_", " ")
