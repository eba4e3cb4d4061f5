"""A strict simulator of OpenAI Chat Completions, and of Gemini behind the same form.

Law: deterministic; a rule is one function that names its id in the provider rules (C1 to C5) and quotes the error.
Rules without an id keep the types and sizes that the API documents.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from undrift.testing.simulators.base import (
    Answered,
    Bill,
    Count,
    ModelTurn,
    Refused,
    canonical,
    characters_by_four,
    parsed,
)
from undrift.testing.simulators.gemini import SignatureBook
from undrift.testing.simulators.gemini_rules import missing_signature
from undrift.testing.simulators.prefix import PrefixCache, Split

__all__ = ["OpenAIChatSimulator", "named_model", "read_request", "refuse", "split_bill", "writes_the_cache"]

_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_PART_TYPES = ("text", "image_url", "input_audio", "refusal", "audio", "file")
_LONGEST_CALL_ID = 40
_CALLS_TEXT = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)
_ORPHAN_TEXT = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)
_JSON_TEXT = "We could not parse the JSON body of your request."

Messages = Sequence[Mapping[str, Any]]


class OpenAIChatSimulator:
    """Checks a Chat Completions request as OpenAI does, answers it and writes the bill.

    Args:
        thought_signatures: Be Gemini behind this form: demand the signatures of the current turn.
        strict: Refuse what was not issued here: unknown signatures, and a call id that two messages use.
        minimum_tokens: The shortest prefix that is read from the cache.
        ttl_ms: How long the cache keeps a prompt after its last use, in milliseconds; None for ever.
        writes: Whether writing the cache has a price of its own; None: from GPT-5.6 on.
    """

    name = "openai-chat"

    def __init__(
        self,
        *,
        thought_signatures: bool = False,
        strict: bool = True,
        minimum_tokens: int = 1024,
        ttl_ms: int | None = 1_800_000,
        writes: bool | None = None,
        count: Count = characters_by_four,
    ) -> None:
        self._book = SignatureBook(strict=strict) if thought_signatures else None
        self._strict = strict
        self._minimum_tokens = minimum_tokens
        self._writes = writes
        self._count = count
        self._cache = PrefixCache(ttl_ms=ttl_ms, count=count)
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
        """Answer one request; see `Simulator.send`."""
        request = read_request(body)
        named = named_model(request, model)
        messages = has_messages(request.get("messages"))
        self._check(messages)
        pieces = [request.get("tools"), *(_rendered(message) for message in messages)]
        try:
            split = self._cache.send(named, pieces, self._minimum_tokens, now_ms)
        except (TypeError, ValueError):
            refuse(_JSON_TEXT)
        written = writes_the_cache(named) if self._writes is None else self._writes
        return self._answer(turn, named, split_bill(split, self._minimum_tokens, writes=written), now_ms)

    def _check(self, messages: Messages) -> None:
        for position, message in enumerate(messages):
            has_a_role(message, position)
            has_content(message, position)
            has_whole_calls(message, position)
            if self._book is None:
                has_short_call_ids(message, position)
        names_each_call_once(messages, across_messages=self._strict)
        answers_each_call(messages)
        if self._book is not None:
            signs_the_current_turn(messages, self._book)

    def _answer(self, turn: ModelTurn, model: str, bill: Callable[[int], Bill], now_ms: int | None) -> Answered:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None, "refusal": None}
        if turn.calls:
            message["tool_calls"] = list(self._made_calls(turn))
        elif not turn.text:
            message["content"] = ""
        self._answers += 1
        reasoning_tokens = self._count(turn.thinking) if turn.thinking else 0
        charged = bill(self._count(canonical(message).decode()) + reasoning_tokens)
        prompt_tokens = charged.fresh_tokens + charged.read_tokens + charged.written_tokens
        finish = "tool_calls" if turn.calls else "stop"
        reply = {
            "id": f"chatcmpl-{self._answers:06}",
            "object": "chat.completion",
            "created": (now_ms or 0) // 1000,
            "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": charged.output_tokens,
                "total_tokens": prompt_tokens + charged.output_tokens,
                "prompt_tokens_details": {
                    "cached_tokens": charged.read_tokens,
                    "cache_write_tokens": charged.written_tokens,
                    "audio_tokens": 0,
                },
                "completion_tokens_details": {"reasoning_tokens": reasoning_tokens, "audio_tokens": 0},
            },
            "service_tier": "default",
            "system_fingerprint": None,
        }
        return Answered(reply, charged)

    def _made_calls(self, turn: ModelTurn) -> Iterator[dict[str, Any]]:
        for number, call in enumerate(turn.calls):
            self._calls += 1
            arguments = canonical(dict(call.arguments)).decode()
            tool_call: dict[str, Any] = {
                "id": f"call_{self._calls:06}",
                "type": "function",
                "function": {"name": call.name, "arguments": arguments},
            }
            if self._book is not None and number == 0:
                tool_call["extra_content"] = {
                    "google": {"thought_signature": self._book.issue(call.name, dict(call.arguments))}
                }
            yield tool_call


# ------------------------------------------------------------------------------------------------------------- the rules
def has_messages(messages: Any) -> Messages:
    """Messages are a list that is not empty: ``Missing required parameter: 'messages'.``, ``Invalid 'messages': ...``."""
    if messages is None:
        refuse("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    if not isinstance(messages, list):
        refuse("Invalid type for 'messages': expected an array of objects.", "messages", "invalid_type")
    if not messages:
        _refuse_empty("messages")
    for position, message in enumerate(messages):
        if not isinstance(message, Mapping):
            place = f"messages[{position}]"
            refuse(f"Invalid type for '{place}': expected an object.", place, "invalid_type")
    return messages


def has_a_role(message: Mapping[str, Any], position: int) -> None:
    """A role is one of six: ``Invalid value: 'model'. Supported values are: 'system', ..., and 'developer'.``."""
    if (role := message.get("role")) not in _ROLES:
        supported = ", ".join(f"'{one}'" for one in _ROLES[:-1])
        text = f"Invalid value: '{role}'. Supported values are: {supported}, and '{_ROLES[-1]}'."
        refuse(text, f"messages[{position}].role", "invalid_value")


def has_content(message: Mapping[str, Any], position: int) -> None:
    """Content is a text or a list of parts; only a message of the assistant with calls may have null (rule C3).

    ``Invalid value for 'content': expected a string, got null.`` and ``Invalid 'messages[N].content': empty array. ...``
    """
    content = message.get("content")
    place = f"messages[{position}].content"
    if content is None:
        called = bool(message.get("tool_calls") or message.get("function_call"))
        if message["role"] != "assistant" or not called:
            text = "Invalid value for 'content': expected a string, got null."
            refuse(text, f"messages.[{position}].content", rule="C3")
    elif isinstance(content, list):
        if not content:
            _refuse_empty(place, rule="C3")
        for number, part in enumerate(content):
            _has_a_known_type(part, f"{place}[{number}]")
    elif not isinstance(content, str):
        text = f"Invalid type for '{place}': expected one of a string or array of objects."
        refuse(text, place, "invalid_type", rule="C3")


def _has_a_known_type(part: Any, place: str) -> None:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind not in _PART_TYPES:
        supported = ", ".join(f"'{one}'" for one in _PART_TYPES[:-1])
        text = f"Invalid value: '{kind}'. Supported values are: {supported}, and '{_PART_TYPES[-1]}'."
        refuse(text, f"{place}.type", "invalid_value")
    if kind == "text" and not isinstance(part.get("text"), str):
        refuse(f"Missing required parameter: '{place}.text'.", f"{place}.text", "missing_required_parameter")


def has_whole_calls(message: Mapping[str, Any], position: int) -> None:
    """A call has an id, a name and arguments as text; a tool message an id: ``Missing required parameter: '...'.``."""
    calls = message.get("tool_calls")
    place = f"messages[{position}]"
    if calls == []:
        _refuse_empty(f"{place}.tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, Mapping) for call in calls)):
        refuse(f"Invalid type for '{place}.tool_calls': expected an array of objects.", place, "invalid_type")
    for number, call in enumerate(calls or []):
        function = call.get("function") or {}
        spot = f"{place}.tool_calls[{number}]"
        for name, value in (("id", call.get("id")), ("type", call.get("type"))):
            _is_text(value, f"{spot}.{name}")
        if call["type"] == "function":
            _is_text(function.get("name"), f"{spot}.function.name")
            _is_text(function.get("arguments"), f"{spot}.function.arguments")
    if message["role"] == "tool":
        _is_text(message.get("tool_call_id"), f"{place}.tool_call_id")


def _is_text(value: Any, place: str) -> None:
    if value is None:
        refuse(f"Missing required parameter: '{place}'.", place, "missing_required_parameter")
    if not isinstance(value, str):
        refuse(f"Invalid type for '{place}': expected a string.", place, "invalid_type")


def has_short_call_ids(message: Mapping[str, Any], position: int) -> None:
    """A call's id has at most 40 characters: ``Invalid '...': string too long. Expected a string with maximum length 40``."""
    for number, call in enumerate(message.get("tool_calls") or []):
        if len(call["id"]) > _LONGEST_CALL_ID:
            place = f"messages[{position}].tool_calls[{number}].id"
            refuse(
                f"Invalid '{place}': string too long. Expected a string with maximum length {_LONGEST_CALL_ID}, but got "
                f"a string with length {len(call['id'])} instead.",
                place,
                "string_above_max_length",
            )


def names_each_call_once(messages: Messages, *, across_messages: bool) -> None:
    """No two calls share an id: ``Duplicate value for 'tool_call_id' of call_... in message[N]`` (rule C1)."""
    known: set[str] = set()
    for position, message in enumerate(messages):
        if not across_messages:
            known = set()
        for call in message.get("tool_calls") or []:
            if call["id"] in known:
                _refuse_duplicate(call["id"], position)
            known.add(call["id"])


def answers_each_call(messages: Messages) -> None:
    """Each call must have one tool message directly after it, and each tool message a call (rules C1, C2).

    ``An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. ...`` and
    ``Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.``
    """
    asked: list[str] = []
    answered: set[str] = set()
    asked_at = 0
    for position, message in enumerate(messages):
        if message["role"] == "tool":
            identity = message["tool_call_id"]
            if identity not in asked:
                refuse(_ORPHAN_TEXT, f"messages.[{position}].role", rule="C2")
            if identity in answered:
                _refuse_duplicate(identity, position)
            answered.add(identity)
            continue
        _has_all_answers(asked, answered, asked_at)
        asked = [call["id"] for call in message.get("tool_calls") or []]
        answered, asked_at = set(), position
    _has_all_answers(asked, answered, asked_at)


def _has_all_answers(asked: Sequence[str], answered: set[str], asked_at: int) -> None:
    if missing := [identity for identity in asked if identity not in answered]:
        refuse(_CALLS_TEXT + ", ".join(missing), f"messages.[{asked_at}].role", rule="C1")


def signs_the_current_turn(messages: Messages, book: SignatureBook) -> None:
    """Since the newest user message, the first call of each step must carry its signature (rule C4)."""
    newest = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
    for position, message in enumerate(messages):
        for number, call in enumerate(message.get("tool_calls") or []):
            signature = ((call.get("extra_content") or {}).get("google") or {}).get("thought_signature")
            function = call.get("function") or {}
            if signature:
                book.check_known(signature)
            if position < newest:
                continue
            if signature:
                book.check_belongs(signature, function.get("name"), _arguments(function.get("arguments")))
            elif number == 0:
                missing_signature(function.get("name"), position)


def _arguments(text: Any) -> Any:
    """Return the value of a call's arguments, which clients write with other spaces than they came with."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


# ------------------------------------------------------------------------------------- what both forms of OpenAI share
def read_request(body: Mapping[str, Any] | bytes) -> Mapping[str, Any]:
    """Return the JSON object of a body. Raises Refused: ``We could not parse the JSON body of your request.``"""
    try:
        request = parsed(body)
    except ValueError:
        request = None
    if not isinstance(request, Mapping):
        refuse(_JSON_TEXT)
    return request


def named_model(request: Mapping[str, Any], model: str | None) -> str:
    """Return the model. Raises Refused: ``you must provide a model parameter``"""
    named = model or request.get("model")
    if not isinstance(named, str) or not named:
        refuse("you must provide a model parameter")
    return named


def writes_the_cache(model: str) -> bool:
    """Tell whether a write to the cache has a price: from GPT-5.6 on (rules R8, R9)."""
    found = re.search(r"gpt-(\d+)(?:\.(\d+))?", model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 6)


def split_bill(split: Split, minimum_tokens: int, *, writes: bool) -> Callable[[int], Bill]:
    """Return the bill that waits for its output tokens; what is long enough and not read is written, where that costs."""
    written_tokens = split.rest_tokens if writes and split.total_tokens >= minimum_tokens else 0
    fresh_tokens = split.rest_tokens - written_tokens
    return lambda output_tokens: Bill(fresh_tokens, split.read_tokens, written_tokens, output_tokens)


def refuse(
    text: str, param: str | None = None, code: str | None = None, *, status: int = 400, rule: str = ""
) -> NoReturn:
    """Raise OpenAI's error with a message."""
    error = {"message": text, "type": "invalid_request_error", "param": param, "code": code}
    raise Refused(status, text, {"error": error}, rule=rule)


def _refuse_empty(place: str, *, rule: str = "") -> NoReturn:
    refuse(
        f"Invalid '{place}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        place,
        "empty_array",
        rule=rule,
    )


def _refuse_duplicate(identity: str, position: int) -> NoReturn:
    refuse(f"Duplicate value for 'tool_call_id' of {identity} in message[{position}]", rule="C1")


def _rendered(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message as the prompt shows it: one part of text is that text, and null is no content."""
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        return {**message, "content": content[0]["text"]}
    return {**message, "content": ""} if content is None else message
