"""llama-index ChatMemoryBuffer: the newest messages that fit, from a message of the user on."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any

from undrift.bench.managers import Fit, Message, WindowManager, of_package
from undrift.bench.managers.translate import Block, Piece, Translated, given, results_first, spoken
from undrift.bench.sessions import Case

__all__ = ["find"]

_NAME = "llama-index ChatMemoryBuffer"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    buffer = of_package(_NAME, "llama_index.core.memory").ChatMemoryBuffer
    types = of_package(_NAME, "llama_index.core.llms")

    def start(case: Case) -> AbstractContextManager[Fit]:
        turn = Translated(_writer(types), _unknown)
        held: list[Any] = []

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
            if not held:
                held.append(
                    buffer.from_defaults(token_limit=budget_tokens, tokenizer_fn=lambda t: range(case.count(t)))
                )
            for message in turn.take(messages):
                held[0].put(message)
            return turn.back(held[0].get())

        return nullcontext(fit)

    how = "token_limit = budget"
    return WindowManager(_NAME, "llama-index-core", version("llama-index-core"), how, start)


def _writer(types: Any) -> Any:
    message_of, role = types.ChatMessage, types.MessageRole

    def write(message: Message) -> Iterator[tuple[Any, Sequence[Block]]]:
        if message["role"] == "assistant":
            calls = [
                {"id": block["id"], "name": block["name"], "input": given(block)}
                for block in message["content"]
                if block["type"] == "tool_use"
            ]
            more = {"tool_calls": calls} if calls else {}
            words = spoken(message["content"])
            yield message_of(role=role.ASSISTANT, content=words, additional_kwargs=more), message["content"]
            return
        for blocks in results_first(message):
            if blocks[0]["type"] == "tool_result":
                more = {"tool_call_id": blocks[0]["tool_use_id"]}
                yield message_of(role=role.TOOL, content=blocks[0]["content"], additional_kwargs=more), blocks
            else:
                yield message_of(role=role.USER, content=spoken(blocks)), blocks

    return write


def _unknown(own: Any) -> Piece:
    """Refuse an object that it wrote itself: it only keeps objects or leaves them out."""
    raise TypeError(f"a message that was not put into it: {own!r}")
