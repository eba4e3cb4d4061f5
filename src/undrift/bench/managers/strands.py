"""Strands SlidingWindowConversationManager: old results are cut, then old messages go, each time the window overflows."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from undrift.bench.managers import Fit, Message, WindowManager, of_package
from undrift.bench.managers.translate import Block, Piece, Translated, given, result, text
from undrift.bench.sessions import Case

__all__ = ["find"]

_NAME = "Strands SlidingWindowConversationManager"
_ANY_NUMBER = 10**9
"""The window in messages: the budget is in tokens, so that an overflow alone makes it act."""


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    manager = of_package(_NAME, "strands.agent.conversation_manager").SlidingWindowConversationManager
    overflow = of_package(_NAME, "strands.types.exceptions").ContextWindowOverflowException

    def start(case: Case) -> AbstractContextManager[Fit]:
        turn = _in_strands()
        agent = SimpleNamespace(messages=[])  # of an agent it reads and edits this list alone
        window = manager(window_size=_ANY_NUMBER)

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
            agent.messages += turn.take(messages)
            while case.size_of(sent := turn.back(agent.messages)) > budget_tokens:
                try:
                    window.reduce_context(agent, overflow("the provider's answer to a prompt over the budget"))
                except overflow:
                    break
            return sent

        return nullcontext(fit)

    how = "reduce_context while over the budget, as after a provider's refusal"
    return WindowManager(_NAME, "strands-agents", version("strands-agents"), how, start)


def _in_strands() -> Translated:
    def write(message: Message) -> Iterator[tuple[Any, Sequence[Block]]]:
        content = [turn.note(_own(block), block) for block in message["content"]]
        yield {"role": message["role"], "content": content}, message["content"]

    def read(own: Any) -> Piece:
        return own["role"], [turn.block_of(part) or _block(part) for part in own["content"]]

    turn = Translated(write, read, part=lambda own: own["content"])
    return turn


def _own(block: Block) -> dict[str, Any]:
    if block["type"] == "tool_use":
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": given(block)}}
    if block["type"] == "tool_result":
        status = "error" if block.get("is_error") else "success"
        content = [{"text": block["content"]}]
        return {"toolResult": {"toolUseId": block["tool_use_id"], "status": status, "content": content}}
    return {"text": block["text"]}


def _block(part: dict[str, Any]) -> Block:
    if answer := part.get("toolResult"):
        return result(answer["toolUseId"], "\n".join(item["text"] for item in answer["content"]))
    return text(part["text"])
