"""Messages and sessions for the tests of the Anthropic simulator."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from undrift.testing.simulators import Answered, AnthropicSimulator, Call, ModelTurn, Refused

OPUS = "claude-opus-5-5"  # binds thinking
OLDER = "claude-opus-4-5"  # does not
BINDING = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BOUND = (
    "messages.{}.content.{}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
NEEDS_HEADER = " That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."


def user(*content: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return {"role": "user", "content": blocks}


def assistant(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def use(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {}}


def result(name: str, content: Any = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def marked(block: Mapping[str, Any] | str, ttl: str | None = None) -> dict[str, Any]:
    value = {"type": "text", "text": block} if isinstance(block, str) else dict(block)
    return {**value, "cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


def body(*messages: dict[str, Any], model: str = OPUS, **more: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 100, "messages": list(messages), **more}


def accept(request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answered:
    return AnthropicSimulator().send(request, headers, turn=ModelTurn("ok"))


def refusal(
    request: Mapping[str, Any] | bytes,
    headers: Mapping[str, str] | None = None,
    *,
    by: AnthropicSimulator | None = None,
    model: str | None = None,
) -> Refused:
    with pytest.raises(Refused) as caught:
        (by or AnthropicSimulator()).send(request, headers, turn=ModelTurn("ok"), model=model)
    error = caught.value
    assert error.status == 400
    assert (error.body["type"], error.body["error"]["message"]) == ("error", error.text)
    return error


class Talk:
    """A client that plays a conversation and can edit its history."""

    def __init__(self, model: str = OPUS, provider: AnthropicSimulator | None = None, **more: Any) -> None:
        self.provider = provider or AnthropicSimulator()
        self.body = body(user("Go."), model=model, system="Be brief.", tools=[{"name": "Read"}], **more)
        self.headers: dict[str, str] = {}

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    def step(self, thinking: str | None = "Hm.", content: str = "done") -> Answered:
        """One answer with a call, and the result of the call."""
        answer = self.send(ModelTurn("Reading.", (Call("Read", {"path": "a.py"}),), thinking=thinking))
        self.messages.append({"role": "assistant", "content": answer.body["content"]})
        self.messages.append(user(result(answer.body["content"][-1]["id"], content)))
        return answer

    def steps(self, count: int) -> "Talk":
        for _ in range(count):
            self.step()
        return self

    def send(self, turn: ModelTurn | None = None) -> Answered:
        sent = json.dumps(self.body).encode()  # as on the wire; what is kept cannot be shared with the simulator
        return self.provider.send(sent, self.headers, turn=turn or ModelTurn("ok"))

    def refusal(self) -> Refused:
        return refusal(self.body, self.headers, by=self.provider)

    def strip(self, *thoughts: int) -> None:
        """Take thinking blocks out, by their number."""
        places = [message for message in self.messages if message["role"] == "assistant"]
        for number in thoughts:
            places[number]["content"] = [block for block in places[number]["content"] if block["type"] != "thinking"]
