"""The rules of Gemini `generateContent` that need no memory of what was issued: forms, roles, turn order, pairs. Pure.

A rule takes contents and raises `Refused`; it names its id in the provider rules (G3 to G10) and quotes the error. Field
names are taken in camelCase and in snake_case, as the provider takes them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from undrift.testing.simulators.base import Refused

__all__ = [
    "Content",
    "answers_calls_in_the_next_content",
    "content_of",
    "current_turn",
    "ends_with_the_user",
    "field_of",
    "has_contents",
    "keeps_calls_behind_a_user_turn",
    "missing_signature",
    "pairs_responses_by_id_or_position",
    "refuse",
    "starts_with_the_user",
]

_DATA_FIELDS = (
    *("text", "functionCall", "functionResponse", "inlineData", "fileData"),
    *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
)
_NUMBER_TEXT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
_CALL_TURN_TEXT = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_TURN_TEXT = "Please ensure that function response turn comes immediately after a function call turn."
_MIXED_TEXT = (
    "Please ensure that function call turn contains at least one function_call part which can not be mixed with "
    "function_response parts."
)


@dataclass(frozen=True, slots=True)
class Content:
    """One content, its calls and responses taken out of its parts once."""

    role: str
    parts: Sequence[Mapping[str, Any]]
    calls: tuple[Mapping[str, Any], ...]
    responses: tuple[Mapping[str, Any], ...]


def has_contents(contents: Any) -> list[Mapping[str, Any]]:
    """Contents are a list that is not empty: ``* GenerateContentRequest.contents: contents is not specified``."""
    if not isinstance(contents, list) or not contents or not all(isinstance(one, Mapping) for one in contents):
        refuse("* GenerateContentRequest.contents: contents is not specified\n")
    return contents


def has_a_valid_role(content: Mapping[str, Any]) -> None:
    """The role of a content is user or model: ``Please use a valid role: user, model.``."""
    if content.get("role") not in ("user", "model"):
        refuse("Please use a valid role: user, model.")


def has_parts(content: Mapping[str, Any], position: int) -> None:
    """A content has parts: ``* GenerateContentRequest.contents[N].parts: contents.parts must not be empty.``."""
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
        refuse(f"* GenerateContentRequest.contents[{position}].parts: contents.parts must not be empty.\n")


def has_data_in_each_part(content: Mapping[str, Any], position: int) -> None:
    """A part is something: ``...parts[M].data: required oneof field 'data' must have one initialized field``."""
    for number, part in enumerate(content["parts"]):
        if not any(value is not None and name in _data_names() for name, value in part.items()):
            refuse(
                f"* GenerateContentRequest.contents[{position}].parts[{number}].data: required oneof field 'data' must "
                "have one initialized field\n"
            )


def has_values_of_the_right_types(content: Mapping[str, Any], position: int) -> None:
    """A text is a string, a function's response an object: ``Invalid value at 'contents[N].parts[M]...' (TYPE)``."""
    for number, part in enumerate(content["parts"]):
        place = f"contents[{position}].parts[{number}]"
        if not isinstance(part.get("text") or "", str):
            refuse(f"Invalid value at '{place}.text' (TYPE_STRING)")
        call, response = field_of(part, "functionCall"), field_of(part, "functionResponse")
        if call is not None:
            _is_an_object(call, f"{place}.function_call")
            if call.get("args") is not None:
                _is_an_object(call["args"], f"{place}.function_call.args")
        if response is not None:
            _is_an_object(response, f"{place}.function_response")
            _is_an_object(response.get("response"), f"{place}.function_response.response")


def _is_an_object(value: Any, place: str) -> None:
    if not isinstance(value, Mapping):
        refuse(f"Invalid value at '{place}' (type.googleapis.com/google.protobuf.Struct)", rule="G10")


def names_its_functions(content: Mapping[str, Any], position: int) -> None:
    """A call and a response have a name: ``* GenerateContentRequest....function_response.name: Name cannot be empty.``."""
    for number, part in enumerate(content["parts"]):
        for name in ("functionCall", "functionResponse"):
            held = field_of(part, name)
            if held is not None and not held.get("name"):
                place = f"contents[{position}].parts[{number}].{_snake(name)}.name"
                refuse(f"* GenerateContentRequest.{place}: Name cannot be empty.\n", rule="G10")


def does_not_mix_calls_and_responses(content: Content) -> None:
    """Calls and responses must be in separate contents: FC1, FC2, then FR1, FR2 (rule G3).

    ``Please ensure that function call turn contains at least one function_call part which can not be mixed with
    function_response parts.``
    """
    calls, responses = content.calls, content.responses
    if (calls and (responses or content.role != "model")) or (responses and content.role != "user"):
        refuse(_MIXED_TEXT, rule="G3")


def starts_with_the_user(contents: Sequence[Content]) -> None:
    """The user speaks first; G5's text for a call, the one of the older models for a text."""
    first = contents[0]
    if first.role != "user":
        if first.calls:
            refuse(_CALL_TURN_TEXT, rule="G5")
        refuse("Please ensure that multiturn requests alternate between user and model.")


def keeps_calls_behind_a_user_turn(contents: Sequence[Content]) -> None:
    """``Please ensure that function call turn comes immediately after a user turn or after a function response turn.``
    (rule G5).
    """
    for position, content in enumerate(contents):
        if content.calls and (position == 0 or contents[position - 1].role != "user"):
            refuse(_CALL_TURN_TEXT, rule="G5")


def answers_calls_in_the_next_content(contents: Sequence[Content]) -> None:
    """The next content must have as many responses as there are calls; without calls it has none (rule G4).

    ``Please ensure that the number of function response parts is equal to the number of function call parts of the
    function call turn.`` and ``Please ensure that function response turn comes immediately after a function call turn.``
    """
    called = 0
    for content in contents:
        responses = len(content.responses)
        if responses and not called:
            refuse(_RESPONSE_TURN_TEXT, rule="G4")
        if responses != called:
            refuse(_NUMBER_TEXT, rule="G4")
        called = len(content.calls)
    if called:
        refuse(_NUMBER_TEXT, rule="G4")


def pairs_responses_by_id_or_position(contents: Sequence[Content]) -> None:
    """A response names the function of its call. It pairs with the call by id, else by position (rule G10)."""
    calls: Sequence[Mapping[str, Any]] = ()
    for content in contents:
        by_id = {call["id"]: call for call in calls if call.get("id")}
        met: set[str] = set()
        for response, call in zip(content.responses, calls, strict=False):
            identity = response.get("id")
            if by_id and identity:
                if identity in met or identity not in by_id:
                    refuse(_RESPONSE_TURN_TEXT, rule="G10")
                met.add(identity)
                call = by_id[identity]
            if response.get("name") != call.get("name"):
                refuse(_RESPONSE_TURN_TEXT, rule="G10")
        calls = content.calls


def ends_with_the_user(contents: Sequence[Content], model: str) -> None:
    """After 3.1, the model does not continue a turn of its own: ``Requests ending with a model turn are not supported.``."""
    if contents[-1].role == "model" and not re.search(r"gemini-(2|3-|3\.1-)", model):
        refuse("Requests ending with a model turn are not supported.")


def current_turn(contents: Sequence[Content]) -> int:
    """Return where the current turn begins: at the newest user content that is more than responses, else at 0."""
    for position in range(len(contents) - 1, -1, -1):
        content = contents[position]
        if content.role == "user" and len(content.responses) < len(content.parts):
            return position
    return 0


def missing_signature(name: Any, position: int) -> NoReturn:
    """Refuse a call without its signature (G1)."""
    refuse(f"Function call `{name}` in the `{position}.` content block is missing a `thought_signature`.", rule="G1")


def refuse(text: str, *, rule: str = "") -> NoReturn:
    """Raise Gemini's 400 with a message."""
    raise Refused(400, text, {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}, rule=rule)


# ----------------------------------------------------------------------------------------------------------------- reading
def field_of(holder: Mapping[str, Any], name: str) -> Any:
    """Return a field by its camelCase name, or by its snake_case one."""
    value = holder.get(name)
    return holder.get(_snake(name)) if value is None else value


@lru_cache(maxsize=64)
def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


@lru_cache(maxsize=1)
def _data_names() -> frozenset[str]:
    return frozenset(_DATA_FIELDS) | {_snake(name) for name in _DATA_FIELDS}


def content_of(given: Mapping[str, Any], position: int) -> Content:
    """Return a content whose form has been checked."""
    has_a_valid_role(given)
    has_parts(given, position)
    has_data_in_each_part(given, position)
    has_values_of_the_right_types(given, position)
    names_its_functions(given, position)
    parts = given["parts"]
    calls, responses = (
        tuple(held for part in parts if (held := field_of(part, name)) is not None)
        for name in ("functionCall", "functionResponse")
    )
    content = Content(given["role"], parts, calls, responses)
    does_not_mix_calls_and_responses(content)
    return content
