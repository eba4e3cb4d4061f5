"""A strict simulator of Gemini `generateContent`: turn order, thought signatures, the implicit cache.

Law: deterministic; a rule is one function that names its id in the provider rules (G1 to G11) and quotes the error.
Those that need no memory stand in `gemini_rules`.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from undrift.testing.simulators.base import (
    Answered,
    Bill,
    Count,
    ModelTurn,
    canonical,
    characters_by_four,
    mark_of,
    parsed,
)
from undrift.testing.simulators.gemini_rules import (
    Content,
    answers_calls_in_the_next_content,
    content_of,
    current_turn,
    ends_with_the_user,
    field_of,
    has_contents,
    keeps_calls_behind_a_user_turn,
    missing_signature,
    pairs_responses_by_id_or_position,
    refuse,
    starts_with_the_user,
)
from undrift.testing.simulators.prefix import PrefixCache, Split

__all__ = ["DUMMY_SIGNATURES", "GeminiSimulator", "SignatureBook"]

DUMMY_SIGNATURES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""A call that the model did not make may carry this instead of a signature."""

_CORRUPTED_TEXT = "Corrupted thought signature"
_INVALID_TEXT = "Invalid thought signature"


class SignatureBook:
    """The thought signatures that were issued, and for what.

    `strict`: refuse a signature that was not issued here; False takes it for one of another account.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict
        self._issued: dict[str, bytes | None] = {}
        self._dummies = {_plain(dummy) for dummy in DUMMY_SIGNATURES} | {
            _plain(base64.b64encode(dummy.encode()).decode()) for dummy in DUMMY_SIGNATURES
        }

    def issue(self, name: str | None = None, arguments: Any = None) -> str:
        """Return a new signature: for a call, or for a text if no name is given."""
        signature = mark_of("thought signature", len(self._issued))
        self._issued[_plain(signature)] = None if name is None else _call_key(name, arguments)
        return signature

    def check_known(self, signature: Any) -> None:
        """A signature must come back unchanged: ``Corrupted thought signature`` (rule G8)."""
        if not isinstance(signature, str):
            refuse(_CORRUPTED_TEXT, rule="G8")
        plain = _plain(signature)
        if self._strict and plain not in self._issued and plain not in self._dummies:
            refuse(_CORRUPTED_TEXT, rule="G8")

    def check_belongs(self, signature: str, name: Any, arguments: Any) -> None:
        """Refuse a signature that was issued for another call: ``Invalid thought signature`` (rule G8)."""
        plain = _plain(signature)
        if plain in self._issued and self._issued[plain] != _call_key(name, arguments or {}):
            refuse(_INVALID_TEXT, rule="G8")


class GeminiSimulator:
    """Checks a `generateContent` request as Gemini does, answers it and writes the bill.

    Args:
        signatures: ``required`` for Gemini 3 and newer, ``optional`` for 2.5.
        strict: Refuse signatures that were not issued here.
        ids: Give each function call an id; Vertex AI does not.
        minimum_tokens: Of an implicit cache hit; None takes the model's own.
        ttl_ms: How long the implicit cache keeps a prompt; None for ever (the provider publishes no time).
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
        before = [field_of(request, "systemInstruction"), request.get("tools"), field_of(request, "toolConfig")]
        try:
            split = self._cache.send(named, [*before, *contents], self._minimum_of(named), now_ms)
        except (TypeError, ValueError):
            refuse("Invalid JSON payload received. ")
        return self._answer(request, turn, named, split)

    def _minimum_of(self, model: str) -> int:
        """Return the shortest prefix that is cached: 2,048 tokens for 2.5, 4,096 for newer models (rule G11)."""
        if self._minimum_tokens is not None:
            return self._minimum_tokens
        return 2048 if "gemini-2" in model else 4096

    def _check(self, given: Sequence[Mapping[str, Any]], model: str) -> None:
        contents = [content_of(one, position) for position, one in enumerate(given)]
        starts_with_the_user(contents)
        keeps_calls_behind_a_user_turn(contents)
        answers_calls_in_the_next_content(contents)
        pairs_responses_by_id_or_position(contents)
        ends_with_the_user(contents, model)
        for content in contents:
            for part in content.parts:
                if signature := field_of(part, "thoughtSignature"):
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
        """Return a summary of the thinking, only if the request asks for it (rule G9)."""
        config = field_of(field_of(request, "generationConfig") or {}, "thinkingConfig") or {}
        wanted = bool(field_of(config, "includeThoughts"))
        return [{"text": turn.thinking, "thought": True}] if wanted and turn.thinking else []

    def _said_parts(self, turn: ModelTurn) -> list[dict[str, Any]]:
        """Return the text and calls; the first call is signed, without a call the text is signed (rules G3, G7)."""
        parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text or not turn.calls else []
        thought = turn.thinking is not None
        if thought and not turn.calls:
            parts[-1]["thoughtSignature"] = self._book.issue()
        for number, call in enumerate(turn.calls):
            self._calls += 1
            function_call: dict[str, Any] = {"name": call.name, "args": dict(call.arguments)}
            part: dict[str, Any] = {"functionCall": function_call}
            if self._ids:
                function_call["id"] = f"fc_{self._calls:06}"
            if number == 0 and (thought or self._signatures_required):
                part["thoughtSignature"] = self._book.issue(call.name, dict(call.arguments))
            parts.append(part)
        return parts


def signs_the_current_turn(contents: Sequence[Content], book: SignatureBook, *, required: bool) -> None:
    """In the current turn the first call of each step carries the signature that was issued for it (rule G1).

    The current turn is all after the newest user content that is more than responses; G2: what is before it is free.
    ``Function call `NAME` in the `N.` content block is missing a `thought_signature`.``, N counted from zero.
    """
    for position in range(current_turn(contents), len(contents)):
        called = False
        for part in contents[position].parts:
            call = field_of(part, "functionCall")
            if call is None:
                continue
            signature = field_of(part, "thoughtSignature")
            if signature:
                book.check_belongs(signature, call.get("name"), call.get("args"))
            elif required and not called:
                missing_signature(call.get("name"), position)
            called = True


def _plain(signature: str) -> str:
    """Return a signature as both alphabets of base64 spell it alike: the SDKs send the URL-safe one."""
    return signature.replace("-", "+").replace("_", "/").rstrip("=")


def _call_key(name: Any, arguments: Any) -> bytes:
    return canonical([name, arguments])


def _request(body: Mapping[str, Any] | bytes) -> Mapping[str, Any]:
    try:
        request = parsed(body)
    except ValueError:
        request = None
    if not isinstance(request, Mapping):
        refuse("Invalid JSON payload received. ")
    return request
