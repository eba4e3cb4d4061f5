"""OpenAI Agents SDK ToolOutputTrimmer: results before the user's last messages are cut."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any

from undrift.bench.managers import Fit, Message, WindowManager, of_package
from undrift.bench.managers.translate import Block, Piece, Translated, result, results_first, spoken
from undrift.bench.sessions import Case

__all__ = ["find"]

_NAME = "OpenAI Agents SDK ToolOutputTrimmer"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    trimmer = of_package(_NAME, "agents.extensions").ToolOutputTrimmer
    config = of_package(_NAME, "agents.run")

    def start(_: Case) -> AbstractContextManager[Fit]:
        turn = Translated(_write, _read)
        trim = trimmer()

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:  # noqa: ARG001 - it has no budget
            turn.take(messages)
            asked = config.ModelInputData(input=list(turn.all), instructions=None)
            sent = trim(config.CallModelData(model_data=asked, agent=None, context=None))
            return turn.back(sent.input)

        return nullcontext(fit)

    how = "recent_turns = 2, max_output_chars = 500 (its defaults); it has no budget"
    return WindowManager(_NAME, "openai-agents", version("openai-agents"), how, start)


def _write(message: Message) -> Iterator[tuple[Any, Sequence[Block]]]:
    if message["role"] == "assistant":
        for block in message["content"]:
            if block["type"] == "text":
                yield {"role": "assistant", "content": block["text"]}, (block,)
            else:
                arguments = json.dumps(block["input"], ensure_ascii=False)
                call = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
                yield {**call, "arguments": arguments}, (block,)
        return
    for blocks in results_first(message):
        if blocks[0]["type"] == "tool_result":
            call_id = blocks[0]["tool_use_id"]
            yield {"type": "function_call_output", "call_id": call_id, "output": blocks[0]["content"]}, blocks
        else:
            yield {"role": "user", "content": spoken(blocks)}, blocks


def _read(own: Any) -> Piece:
    """Read the one kind of item that it writes."""
    return "user", [result(own["call_id"], own["output"])]
