"""A strict simulator of OpenAI Responses: call pairs, reasoning and its items, encrypted content, stored responses.

Law: deterministic; a rule is one function or method that names its id in the provider rules (R1 to R9) and quotes the
error. Rules without an id keep the types and sizes that the API documents.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NoReturn

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
from undrift.testing.simulators.loaded import LoadedTools
from undrift.testing.simulators.openai_chat import named_model, read_request, refuse, split_bill, writes_the_cache
from undrift.testing.simulators.openai_responses_rules import (
    CALL_TYPES,
    OUTPUT_TYPES,
    Items,
    has_a_known_type,
    has_a_role,
    has_an_id_of_its_type,
    has_content_of_its_role,
    has_no_item_twice,
    has_what_its_type_requires,
    keeps_outputs_behind_their_calls,
    pairs_calls_and_outputs,
    type_of,
)
from undrift.testing.simulators.openai_responses_tools import checked_tools
from undrift.testing.simulators.prefix import PrefixCache

__all__ = ["OpenAIResponsesSimulator"]

_NOT_STORED = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item "
    "from your input."
)
_SEARCH = "tool_search"
_UNRENDERED = ("id", "status")
"""The fields that an item says to the API alone: they are no part of the prompt, so the cache does not see them."""


@dataclass(frozen=True, slots=True)
class _IssuedReasoning:
    """One item of an answer, and what it travels with."""

    item: Mapping[str, Any]
    stored: bool
    reasoning_id: str | None
    """The reasoning that the item came from; None for reasoning itself, and where the model did not reason."""
    following: Mapping[str, Any] | None
    """The item right behind it in its answer."""


class OpenAIResponsesSimulator:
    """Checks a Responses request as OpenAI does, answers it and writes the bill.

    Args:
        adjacent: Be a clone that demands each output right behind its calls (DeepSeek).
        strict: Refuse encrypted reasoning that was not issued here; False takes it, where its id is unknown too, for
            another session's of the same account.
        pair_by_call_id: Demand a call's reasoning also where the client sends the call without its item id.
        minimum_tokens: The shortest prefix that is read from the cache.
        ttl_ms: How long the cache keeps a prompt after its last use, in milliseconds; None for ever.
        writes: Whether writing the cache has a price of its own; None: from GPT-5.6 on.
    """

    name = "openai-responses"

    def __init__(
        self,
        *,
        adjacent: bool = False,
        strict: bool = True,
        pair_by_call_id: bool = True,
        minimum_tokens: int = 1024,
        ttl_ms: int | None = 1_800_000,
        writes: bool | None = None,
        count: Count = characters_by_four,
    ) -> None:
        self._adjacent = adjacent
        self._strict = strict
        self._pair_by_call_id = pair_by_call_id
        self._minimum_tokens = minimum_tokens
        self._writes = writes
        self._count = count
        self._cache = PrefixCache(ttl_ms=ttl_ms, count=count)
        self._items: dict[str, _IssuedReasoning] = {}
        self._calls: dict[str, _IssuedReasoning] = {}
        self._encrypted: dict[str, str] = {}
        self._histories: dict[str, list[bytes]] = {}
        self._texts: dict[bytes, bytes] = {}
        self._tools = LoadedTools()
        self._answers = self._made = 0

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
        items = self._check(self._history(request) + _new_items(request))
        tools = checked_tools(request, items, self._tools)
        pieces = [request.get("tools"), request.get("instructions"), *(_rendered(item) for item in items)]
        try:
            split = self._cache.send(named, pieces, self._minimum_tokens, now_ms)
        except (TypeError, ValueError):
            refuse("We could not parse the JSON body of your request.")
        written = writes_the_cache(named) if self._writes is None else self._writes
        bill = split_bill(split, self._minimum_tokens, writes=written)
        answered = self._answer(request, items, turn, named, bill, now_ms)
        self._tools.note((item["call_id"] for item in answered.body["output"] if "call_id" in item), tools)
        return answered

    def _history(self, request: Mapping[str, Any]) -> Items:
        """Return the history that the server stores: ``Previous response with id 'resp_...' not found.`` (rule R5)."""
        if request.get("conversation"):
            held = request["conversation"]
            identity = held.get("id") if isinstance(held, Mapping) else held
            refuse(f"Conversation with id '{identity}' not found.", "conversation", status=404, rule="R5")
        identity = request.get("previous_response_id")
        if identity is None:
            return []
        if identity not in self._histories:
            text = f"Previous response with id '{identity}' not found."
            refuse(text, "previous_response_id", "previous_response_not_found", rule="R5")
        return [parsed(text) for text in self._histories[identity]]

    def _check(self, items: Items) -> Items:
        for position, item in enumerate(items):
            has_a_known_type(item, position)
            has_what_its_type_requires(item, position)
            has_an_id_of_its_type(item, position)
            if type_of(item) == "message":
                has_a_role(item, position)
                has_content_of_its_role(item, position)
        items = [self._resolved(item) for item in items]
        has_no_item_twice(items)
        pairs_calls_and_outputs(items)
        if self._adjacent:
            keeps_outputs_behind_their_calls(items)
        for position, item in enumerate(items):
            if type_of(item) == "reasoning":
                self._check_reasoning(item)
                self._check_following(item, items[position + 1] if position + 1 < len(items) else None)
        self._check_calls_have_their_reasoning(items)
        return items

    def _resolved(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """A reference names a stored item: ``Item with id '...' not found. Items are not persisted when ...``."""
        if type_of(item) != "item_reference":
            return item
        issued = self._items.get(item["id"])
        if issued is None or not issued.stored:
            _refuse_unknown(item["id"])
        return issued.item

    def _check_reasoning(self, item: Mapping[str, Any]) -> None:
        """Encrypted content must come back unchanged under its own id; without it, the item must be stored (rule R4).

        ``The encrypted content gAAA... could not be verified.`` with code ``invalid_encrypted_content``.
        """
        identity, encrypted = item.get("id"), item.get("encrypted_content")
        if not encrypted:
            issued = self._items.get(str(identity))
            if issued is None or not issued.stored:
                _refuse_unknown(str(identity))
            return
        owner = self._encrypted.get(encrypted) if isinstance(encrypted, str) else None
        known = owner is not None and identity in (None, owner)
        foreign = owner is None and identity not in self._items and not self._strict
        if not known and not foreign:
            shown = f"{str(encrypted)[:4]}...{str(encrypted)[-4:]}"
            text = f"The encrypted content {shown} could not be verified."
            refuse(text, None, "invalid_encrypted_content", rule="R4")

    def _check_following(self, item: Mapping[str, Any], following: Mapping[str, Any] | None) -> None:
        """``Item 'rs_...' of type 'reasoning' was provided without its required following item.`` (rule R3)."""
        identity = item.get("id") or self._encrypted.get(item.get("encrypted_content") or "")
        issued = self._items.get(str(identity))
        wanted = issued.following if issued is not None else None
        if following is None or not (_is(following, wanted) if wanted is not None else _is_the_models(following)):
            text = f"Item '{identity}' of type 'reasoning' was provided without its required following item."
            refuse(text, "input", rule="R3")

    def _check_calls_have_their_reasoning(self, items: Items) -> None:
        """``Item 'fc_...' of type 'function_call' was provided without its required 'reasoning' item: 'rs_...'.`` (rule
        R3).
        """
        met: set[str] = set()
        for item in items:
            if type_of(item) == "reasoning":
                met.add(str(item.get("id") or self._encrypted.get(item.get("encrypted_content") or "")))
                continue
            issued = self._items.get(str(item.get("id")))
            if issued is None and self._pair_by_call_id and type_of(item) in CALL_TYPES:
                issued = self._calls.get(item["call_id"])
            if issued is not None and issued.reasoning_id is not None and issued.reasoning_id not in met:
                text = (
                    f"Item '{issued.item['id']}' of type '{type_of(item)}' was provided without its required 'reasoning' "
                    f"item: '{issued.reasoning_id}'."
                )
                refuse(text, "input", rule="R3")

    def _answer(
        self,
        request: Mapping[str, Any],
        items: Items,
        turn: ModelTurn,
        model: str,
        bill: Callable[[int], Bill],
        now_ms: int | None,
    ) -> Answered:
        stored = request.get("store") is not False
        output = self._output(turn, may_search=any(t.get("type") == _SEARCH for t in request.get("tools") or ()))
        self._remember(deepcopy(output), stored=stored)
        self._answers += 1
        identity = f"resp_{self._answers:06}"
        if stored:
            self._histories[identity] = [self._kept(item) for item in (*items, *output)]
        reasoning_tokens = self._count(turn.thinking) if turn.thinking else 0
        said = [item for item in output if item["type"] != "reasoning"]
        charged = bill(sum(self._count(canonical(item).decode()) for item in said) + reasoning_tokens)
        reply = {
            "id": identity,
            "object": "response",
            "created_at": (now_ms or 0) // 1000,
            "status": "completed",
            "model": model,
            "output": output,
            "previous_response_id": request.get("previous_response_id"),
            "store": stored,
            **_echoed(request),
            "usage": _usage(charged, reasoning_tokens),
        }
        return Answered(reply, charged)

    def _output(self, turn: ModelTurn, *, may_search: bool) -> list[dict[str, Any]]:
        output: list[dict[str, Any]] = []
        if turn.thinking is not None:
            identity = self._new_id("rs")
            summary = [{"type": "summary_text", "text": turn.thinking}] if turn.thinking else []
            encrypted = "gAAA" + mark_of("encrypted reasoning", identity, turn.thinking)
            output.append({"type": "reasoning", "id": identity, "summary": summary, "encrypted_content": encrypted})
        if turn.text or not turn.calls:
            part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
            message = {"type": "message", "id": self._new_id("msg"), "role": "assistant", "status": "completed"}
            output.append({**message, "content": [part]})
        for call in turn.calls:
            if call.text is not None:
                custom = {"type": "custom_tool_call", "id": self._new_id("ctc"), "call_id": f"call_{self._made:06}"}
                output.append({**custom, "name": call.name, "input": call.text, "status": "completed"})
                continue
            if may_search and call.name == _SEARCH:
                search = {"type": "tool_search_call", "id": self._new_id("tsc"), "call_id": f"call_{self._made:06}"}
                output.append({**search, "execution": "client", "arguments": dict(call.arguments)})
                continue
            identity = self._new_id("fc")
            item = {"type": "function_call", "id": identity, "call_id": f"call_{self._made:06}", "name": call.name}
            arguments = canonical(dict(call.arguments)).decode()
            output.append({**item, "arguments": arguments, "status": "completed"})
        return output

    def _new_id(self, beginning: str) -> str:
        self._made += 1
        return f"{beginning}_{self._made:06}"

    def _kept(self, item: Mapping[str, Any]) -> bytes:
        """Return an item's JSON, one copy for all histories that hold it; what the caller does to his stays his."""
        text = canonical(item)
        return self._texts.setdefault(text, text)

    def _remember(self, output: Sequence[Mapping[str, Any]], *, stored: bool) -> None:
        first = output[0]
        reasoning_id = str(first["id"]) if first["type"] == "reasoning" else None
        for position, item in enumerate(output):
            following = output[position + 1] if position + 1 < len(output) else None
            own = None if item["id"] == reasoning_id else reasoning_id
            issued = _IssuedReasoning(item, stored, own, following)
            self._items[item["id"]] = issued
            if item["type"] == "reasoning":
                self._encrypted[item["encrypted_content"]] = item["id"]
            elif "call_id" in item:
                self._calls[item["call_id"]] = issued


# ----------------------------------------------------------------------------------------------------- reading, writing
def _new_items(request: Mapping[str, Any]) -> Items:
    """Return the items of a request's input; a text is a message of the user."""
    given = request.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not given and request.get("previous_response_id") is None:
        refuse("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    if not isinstance(given or [], list):
        refuse("Invalid type for 'input': expected one of an array of objects or string.", "input", "invalid_type")
    for position, item in enumerate(given or []):
        if not isinstance(item, Mapping):
            place = f"input[{position}]"
            refuse(f"Invalid type for '{place}': expected an object.", place, "invalid_type")
    return list(given or [])


def _is(item: Mapping[str, Any], issued: Mapping[str, Any]) -> bool:
    """Tell whether an item is one that was issued: by its id, else by its call id, else by its author."""
    if type_of(item) != issued["type"]:
        return False
    if item.get("id") is not None:
        return bool(item["id"] == issued["id"])
    if "call_id" in issued:
        return bool(item.get("call_id") == issued["call_id"])
    return item.get("role") == "assistant"


def _is_the_models(item: Mapping[str, Any]) -> bool:
    """Tell whether a model may have made an item: a foreign reasoning can stand before no other."""
    return type_of(item) not in OUTPUT_TYPES and item.get("role", "assistant") == "assistant"


def _rendered(item: Mapping[str, Any]) -> Any:
    """Return an item as the prompt shows it: without what only the API reads, a message as its author and its texts."""
    content = item.get("content")
    if type_of(item) == "message" and isinstance(content, list) and all("text" in part for part in content):
        return [item["role"], *(part["text"] for part in content)]
    if type_of(item) == "message" and isinstance(content, str):
        return [item["role"], content]
    return {name: value for name, value in item.items() if name not in _UNRENDERED}


def _echoed(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a response that repeat its request."""
    defaults: dict[str, Any] = {
        "instructions": None,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "metadata": {},
        "reasoning": {"effort": None, "summary": None},
        "truncation": "disabled",
    }
    echoed = {name: request.get(name) or default for name, default in defaults.items()}
    return {"error": None, "incomplete_details": None, **echoed}


def _usage(bill: Bill, reasoning_tokens: int) -> dict[str, Any]:
    """Return the usage: `input_tokens` includes tokens read from the cache and written to it (rule R8)."""
    input_tokens = bill.fresh_tokens + bill.read_tokens + bill.written_tokens
    details = {"cached_tokens": bill.read_tokens, "cache_write_tokens": bill.written_tokens}
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": details,
        "output_tokens": bill.output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
        "total_tokens": input_tokens + bill.output_tokens,
    }


def _refuse_unknown(identity: str) -> NoReturn:
    refuse(f"Item with id '{identity}' not found.{_NOT_STORED}", "input", status=404, rule="R4")
