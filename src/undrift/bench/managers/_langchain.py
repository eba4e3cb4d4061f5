"""Messages of langchain: one for what the agent says, one for each result, one for a text of the user."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from undrift.bench.managers import Message
from undrift.bench.managers.translate import Block, Piece, Translated, given, result, results_first, spoken, text
from undrift.bench.sessions import Case

__all__ = ["in_langchain"]


def in_langchain(case: Case, core: Any) -> tuple[Translated, Callable[[Sequence[Any]], int]]:
    """Return the history in langchain's messages, and our counter for them. `core`: `langchain_core.messages`."""

    def write(message: Message) -> Iterator[tuple[Any, Sequence[Block]]]:
        if message["role"] == "assistant":
            calls = [
                {"name": block["name"], "args": given(block), "id": block["id"]}
                for block in message["content"]
                if block["type"] == "tool_use"
            ]
            yield core.AIMessage(content=spoken(message["content"]), tool_calls=calls), message["content"]
            return
        for blocks in results_first(message):
            first = blocks[0]
            if first["type"] == "tool_result":
                yield core.ToolMessage(content=first["content"], tool_call_id=first["tool_use_id"]), blocks
            else:
                yield core.HumanMessage(content=spoken(blocks)), blocks

    def read(own: Any) -> Piece:
        if own.type == "tool":
            return "user", [result(own.tool_call_id, own.content)]
        calls = [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
            for call in getattr(own, "tool_calls", ())
        ]
        said = [text(own.content)] if own.content else []
        return ("assistant" if own.type == "ai" else "user"), [*said, *calls]

    turn = Translated(write, read)
    return turn, lambda messages: sum(case.size(turn.piece_of(message)[1]) for message in messages)
