"""A strict simulator of Gemini `generateContent`: turn order, thought signatures, the implicit cache.

Law: deterministic; a rule is one function that names its id in the provider rules (G1 to G11) and quotes the error.
Field names are taken in camelCase and in snake_case, as the provider takes them.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn

from undrift.testing.simulators.base import (
    Answered,
    Bill,
    Count,
    ModelTurn,
    Refused,
    canonical,
    characters_by_four,
    mark_of,
    parsed,
)
from undrift.testing.simulators.prefix import PrefixCache, Split

__all__ = ["DUMMY_SIGNATURES", "GeminiSimulator", "SignatureBook", "refuse"]

DUMMY_SIGNATURES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""What a call that the model did not make may carry instead of a signature (G6)."""

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
_CORRUPTED_TEXT = "Corrupted thought signature"
_INVALID_TEXT = "Invalid thought signature"


@dataclass(frozen=True, slots=True)
class Content:
    """One content, its calls and responses taken out of its parts once."""

    role: str
    parts: Sequence[Mapping[str, Any]]
    calls: tuple[Mapping[str, Any], ...]
    responses: tuple[Mapping[str, Any], ...]


class SignatureBook:
    """The thought signatures that were issued, and for what.

    Args:
        strict: Refuse a signature that was not issued here; False takes it for one of another account.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict
        self._issued: dict[str, bytes | None] = {}
        self._dummies = {_plain(dummy) for dummy in DUMMY_SIGNATURES} | {
            _plain(base64.b64encode(dummy.encode()).decode()) for dummy in DUMMY_SIGNATURES
        }

    def issue(self, name: str | None = None, arguments: Any = None) -> str:
        """Return a new signature: for a call, or for a text where no name is given."""
        signature = mark_of("thought signature", len(self._issued))
        self._issued[_plain(signature)] = None if name is None else _call_key(name, arguments)
        return signature

    def check_known(self, signature: Any) -> None:
        """G8: a signature comes back unaltered: ``Corrupted thought signature``."""
        if not isinstance(signature, str):
            refuse(_CORRUPTED_TEXT, rule="G8")
        plain = _plain(signature)
        if self._strict and plain not in self._issued and plain not in self._dummies:
            refuse(_CORRUPTED_TEXT, rule="G8")

    def check_belongs(self, signature: str, name: Any, arguments: Any) -> None:
        """G1, G8: a call carries the signature that was issued for it: ``Invalid thought signature``."""
        plain = _plain(signature)
        if plain in self._issued and self._issued[plain] != _call_key(name, arguments or {}):
            refuse(_INVALID_TEXT, rule="G8")


class GeminiSimulator:
    """Checks a `generateContent` request as Gemini does, answers it and writes the bill.

    Args:
        signatures: ``required`` for Gemini 3 and newer (G1), ``optional`` for 2.5 (G8).
        strict: Refuse signatures that were not issued here.
        ids: Give each function call an id; Vertex AI does not.
        minimum_tokens: Of an implicit cache hit; None takes the model's own (G11).
        ttl_ms: How long the implicit cache keeps a prompt; None for ever (the provider publishes no time).
        count: Tokens of a part's JSON text.
        default_model: Where neither the call nor the body names one: Gemini has it in the path.
    """

    name = "gemini"

    def __init__(
        self,
        *,
        signatures: Literal["required", "optional"] = "required",
        strict: bool = True,
        ids: bool = True,
        minimum_tokens: int | None = None,
        ttl_ms: int | None = None,
        count: Count = characters_by_four,
        default_model: str | None = None,
    ) -> None:
        self._signatures_required = signatures == "required"
        self._ids = ids
        self._minimum_tokens = minimum_tokens
        self._count = count
        self._default_model = default_model or ("gemini-3.8-flash" if self._signatures_required else "gemini-2.5-pro")
        self._cache = PrefixCache(ttl_ms=ttl_ms, count=count)
        self._book = SignatureBook(strict=strict)
        self._answers = self._calls = 0

    def send(
        self,
        body: Mapping[str, Any] | bytes,
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - the interface of all simulators
        *,
        turn: ModelTurn,
        model: str | None = None,
        now_ms: int | None = None,
    ) -> Answered:
        """Answer one request; see `Simulator.send`; the model is the one in the path."""
        request = _request(body)
        named = model or str(request.get("model") or self._default_model)
        contents = has_contents(request.get("contents"))
        self._check(contents, named)
        before = [_field(request, "systemInstruction"), request.get("tools"), _field(request, "toolConfig")]
        try:
            split = self._cache.send(named, [*before, *contents], self._minimum_of(named), now_ms)
        except (TypeError, ValueError):
            refuse("Invalid JSON payload received. ")
        return self._answer(request, turn, named, split)

    def _minimum_of(self, model: str) -> int:
        """G11: the shortest prefix that is read from the cache: 2,048 tokens for 2.5, 4,096 for newer models."""
        if self._minimum_tokens is not None:
            return self._minimum_tokens
        return 2048 if "gemini-2" in model else 4096

    def _check(self, given: Sequence[Mapping[str, Any]], model: str) -> None:
        contents = [_content(one, position) for position, one in enumerate(given)]
        starts_with_the_user(contents)
        keeps_calls_behind_a_user_turn(contents)
        answers_calls_in_the_next_content(contents)
        pairs_responses_by_id_or_position(contents)
        ends_with_the_user(contents, model)
        for content in contents:
            for part in content.parts:
                if signature := _field(part, "thoughtSignature"):
                    self._book.check_known(signature)
        signs_the_current_turn(contents, self._book, required=self._signatures_required)

    def _answer(self, request: Mapping[str, Any], turn: ModelTurn, model: str, split: Split) -> Answered:
        parts = self._thought_parts(request, turn) + self._said_parts(turn)
        self._answers += 1
        thought_tokens = self._count(turn.thinking) if turn.thinking else 0
        candidate_tokens = sum(self._count(canonical(part).decode()) for part in parts if not part.get("thought"))
        usage: dict[str, Any] = {
            "promptTokenCount": split.total_tokens,
            "candidatesTokenCount": candidate_tokens,
            "totalTokenCount": split.total_tokens + candidate_tokens + thought_tokens,
        }
        if split.read_tokens:
            usage["cachedContentTokenCount"] = split.read_tokens
        if thought_tokens:
            usage["thoughtsTokenCount"] = thought_tokens
        body = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage,
            "modelVersion": model,
            "responseId": f"response{self._answers:06}",
        }
        return Answered(body, Bill(split.rest_tokens, split.read_tokens, 0, candidate_tokens + thought_tokens))

    @staticmethod
    def _thought_parts(request: Mapping[str, Any], turn: ModelTurn) -> list[dict[str, Any]]:
        """G9: a summary of the thinking, only where the request asks for it."""
        config = _field(_field(request, "generationConfig") or {}, "thinkingConfig") or {}
        wanted = bool(_field(config, "includeThoughts"))
        return [{"text": turn.thinking, "thought": True}] if wanted and turn.thinking else []

    def _said_parts(self, turn: ModelTurn) -> list[dict[str, Any]]:
        """G3, G7: the first call is signed; without a call the text is, where the model thought."""
        parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text or not turn.calls else []
        thought = turn.thinking is not None
        if thought and not turn.calls:
            parts[-1]["thoughtSignature"] = self._book.issue()
        for number, call in enumerate(turn.calls):
            self._calls += 1
            made: dict[str, Any] = {"name": call.name, "args": dict(call.arguments)}
            part: dict[str, Any] = {"functionCall": made}
            if self._ids:
                made["id"] = f"fc_{self._calls:06}"
            if number == 0 and (thought or self._signatures_required):
                part["thoughtSignature"] = self._book.issue(call.name, dict(call.arguments))
            parts.append(part)
        return parts


# ------------------------------------------------------------------------------------------------------------- the rules
def has_contents(contents: Any) -> list[Mapping[str, Any]]:
    """Contents are a list that is not empty: ``* GenerateContentRequest.contents: contents is not specified``."""
    if not isinstance(contents, list) or not contents or not all(isinstance(one, Mapping) for one in contents):
        refuse("* GenerateContentRequest.contents: contents is not specified\n")
    return contents


def has_a_valid_role(content: Mapping[str, Any]) -> None:
    """A content is the user's or the model's: ``Please use a valid role: user, model.``."""
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
        call, response = _field(part, "functionCall"), _field(part, "functionResponse")
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
            held = _field(part, name)
            if held is not None and not held.get("name"):
                place = f"contents[{position}].parts[{number}].{_snake(name)}.name"
                refuse(f"* GenerateContentRequest.{place}: Name cannot be empty.\n", rule="G10")


def does_not_mix_calls_and_responses(content: Content) -> None:
    """G3: calls and responses stand in contents of their own: FC1, FC2, then FR1, FR2; each on its side.

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
    """G5: ``Please ensure that function call turn comes immediately after a user turn or after a function response turn.``."""
    for position, content in enumerate(contents):
        if content.calls and (position == 0 or contents[position - 1].role != "user"):
            refuse(_CALL_TURN_TEXT, rule="G5")


def answers_calls_in_the_next_content(contents: Sequence[Content]) -> None:
    """G4: as many responses as calls, in the very next content; none without calls in front of it.

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
    """G10: a response names its call's function; its id pairs it where it has one, its position where it has none."""
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
    """After 3.1, the model does not go on from a turn of its own: ``Requests ending with a model turn are not supported.``."""
    if contents[-1].role == "model" and not re.search(r"gemini-(2|3-|3\.1-)", model):
        refuse("Requests ending with a model turn are not supported.")


def signs_the_current_turn(contents: Sequence[Content], book: SignatureBook, *, required: bool) -> None:
    """G1: in the current turn the first call of each step carries the signature that was issued for it.

    The current turn is all after the newest user content that is more than responses; G2: what is before it is free.
    ``Function call `NAME` in the `N.` content block is missing a `thought_signature`.``, N counted from zero.
    """
    for position in range(current_turn(contents), len(contents)):
        called = False
        for part in contents[position].parts:
            call = _field(part, "functionCall")
            if call is None:
                continue
            signature = _field(part, "thoughtSignature")
            if signature:
                book.check_belongs(signature, call.get("name"), call.get("args"))
            elif required and not called:
                missing_signature(call.get("name"), position)
            called = True


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
def _request(body: Mapping[str, Any] | bytes) -> Mapping[str, Any]:
    try:
        request = parsed(body)
    except ValueError:
        request = None
    if not isinstance(request, Mapping):
        refuse("Invalid JSON payload received. ")
    return request


def _field(holder: Mapping[str, Any], name: str) -> Any:
    """Return a field by its camelCase name, or by its snake_case one."""
    value = holder.get(name)
    return holder.get(_snake(name)) if value is None else value


@lru_cache(maxsize=64)
def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


@lru_cache(maxsize=1)
def _data_names() -> frozenset[str]:
    return frozenset(_DATA_FIELDS) | {_snake(name) for name in _DATA_FIELDS}


def _content(given: Mapping[str, Any], position: int) -> Content:
    """Return a content whose form has been checked."""
    has_a_valid_role(given)
    has_parts(given, position)
    has_data_in_each_part(given, position)
    has_values_of_the_right_types(given, position)
    names_its_functions(given, position)
    parts = given["parts"]
    calls, responses = (
        tuple(held for part in parts if (held := _field(part, name)) is not None)
        for name in ("functionCall", "functionResponse")
    )
    content = Content(given["role"], parts, calls, responses)
    does_not_mix_calls_and_responses(content)
    return content


def _plain(signature: str) -> str:
    """Return a signature as both alphabets of base64 spell it alike: the SDKs send the URL-safe one."""
    return signature.replace("-", "+").replace("_", "/").rstrip("=")


def _call_key(name: Any, arguments: Any) -> bytes:
    return canonical([name, arguments])
