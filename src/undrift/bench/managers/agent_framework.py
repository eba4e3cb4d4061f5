"""MS Agent Framework ContextWindowCompactionStrategy: old calls become one line each, then old groups go."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from undrift.bench.managers import Fit, Message, WindowManager, of_package
from undrift.bench.managers.translate import Block, Piece, Translated, given, result, results_first, spoken, text
from undrift.bench.sessions import Case

__all__ = ["find"]

_NAME = "MS Agent Framework ContextWindowCompactionStrategy"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    own = of_package(_NAME, "agent_framework")
    strategy, apply = own.ContextWindowCompactionStrategy, own.apply_compaction

    def start(case: Case) -> AbstractContextManager[Fit]:
        turn = Translated(_writer(own), _read)
        kept: list[Any] = []  # it marks and adds in this list, as in an agent's run
        counter = SimpleNamespace(count_tokens=case.count)

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
            kept.extend(turn.take(messages))
            limits = {"max_context_window_tokens": budget_tokens, "max_output_tokens": 0}
            acting = strategy(**limits, tokenizer=counter, preserve_first_user_group=True)
            return turn.back(asyncio.run(apply(kept, strategy=acting, tokenizer=counter)))

        return nullcontext(fit)

    how = "max_context_window_tokens = budget, preserve_first_user_group"
    return WindowManager(_NAME, "agent-framework-core", version("agent-framework-core"), how, start)


def _writer(own: Any) -> Any:
    content, message_of = own.Content, own.Message

    def write(message: Message) -> Iterator[tuple[Any, Sequence[Block]]]:
        if message["role"] == "assistant":
            contents = [
                content.from_text(block["text"])
                if block["type"] == "text"
                else content.from_function_call(block["id"], block["name"], arguments=given(block))
                for block in message["content"]
            ]
            yield message_of("assistant", contents), message["content"]
            return
        for blocks in results_first(message):
            if blocks[0]["type"] == "tool_result":
                answer = content.from_function_result(blocks[0]["tool_use_id"], result=blocks[0]["content"])
                yield message_of("tool", [answer]), blocks
            else:
                yield message_of("user", [content.from_text(spoken(blocks))]), blocks

    return write


def _read(own: Any) -> Piece:
    blocks = []
    for part in own.contents:
        if part.type == "function_result":
            blocks.append(result(part.call_id, str(part.result)))
        elif part.type == "function_call":
            blocks.append({"type": "tool_use", "id": part.call_id, "name": part.name, "input": part.arguments})
        else:
            blocks.append(text(part.text))
    return ("assistant" if own.role == "assistant" else "user"), blocks
