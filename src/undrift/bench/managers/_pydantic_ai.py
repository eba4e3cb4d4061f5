"""Messages of pydantic-ai, and one of its capabilities called before each request, as an agent's run calls it."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from undrift.bench.managers import Fit, Message, of_package
from undrift.bench.managers.translate import Block, Piece, Translated, given, result, results_first, text
from undrift.bench.sessions import Case

__all__ = ["managing"]


def managing(name: str, make: Callable[[Case, int], Any]) -> Callable[[Case], AbstractContextManager[Fit]]:
    """Return what opens a capability for a session. `make`: makes it for a budget in tokens."""
    own = of_package(name, "pydantic_ai.messages")
    tools = of_package(name, "pydantic_ai.tools")
    models = of_package(name, "pydantic_ai.models")
    model = of_package(name, "pydantic_ai.models.test").TestModel()
    usage = of_package(name, "pydantic_ai.usage").RunUsage

    def start(case: Case) -> AbstractContextManager[Fit]:
        turn = _in_pydantic_ai(own)
        context = tools.RunContext(deps=None, model=model, usage=usage(), messages=[])

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
            context.messages += turn.take(messages)  # what it edits stays edited
            request = models.ModelRequestContext(
                model=model,
                messages=list(context.messages),
                model_settings=None,
                model_request_parameters=models.ModelRequestParameters(),
            )
            sent = asyncio.run(make(case, budget_tokens).before_model_request(context, request))
            return turn.back(sent.messages)

        return nullcontext(fit)

    return start


def _in_pydantic_ai(own: Any) -> Translated:
    names: dict[str, str] = {}

    def write(message: Message) -> Iterator[tuple[Any, Sequence[Block]]]:
        parts = []
        if message["role"] == "assistant":
            for block in message["content"]:
                if block["type"] == "text":
                    part = own.TextPart(content=block["text"])
                else:
                    names[block["id"]] = block["name"]
                    part = own.ToolCallPart(tool_name=block["name"], args=given(block), tool_call_id=block["id"])
                parts.append(turn.note(part, block))
            yield own.ModelResponse(parts=parts), message["content"]
            return
        blocks = [block for some in results_first(message) for block in some]
        for block in blocks:
            if block["type"] == "tool_result":
                called = block["tool_use_id"]
                part = own.ToolReturnPart(tool_name=names[called], content=block["content"], tool_call_id=called)
            else:
                part = own.UserPromptPart(content=block["text"])
            parts.append(turn.note(part, block))
        yield own.ModelRequest(parts=parts), blocks

    def read(message: Any) -> Piece:
        blocks = [turn.block_of(part) or _block(part) for part in message.parts]
        return ("assistant" if message.kind == "response" else "user"), blocks

    turn = Translated(write, read)
    return turn


def _block(part: Any) -> Block:
    if part.part_kind == "tool-return":
        return result(part.tool_call_id, part.content)
    if part.part_kind == "tool-call":
        return {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": part.args_as_dict()}
    return text(part.content)
