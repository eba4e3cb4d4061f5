"""Google ADK ContextFilterPlugin: the invocations of the user's last messages."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any

from undrift.bench.managers import Fit, Message, WindowManager, of_package
from undrift.bench.managers.translate import Block, Piece, Translated, given, results_first, spoken
from undrift.bench.sessions import Case

__all__ = ["find"]

_NAME = "Google ADK ContextFilterPlugin"
_KEPT = 2


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    plugin = of_package(_NAME, "google.adk.plugins.context_filter_plugin").ContextFilterPlugin
    request = of_package(_NAME, "google.adk.models.llm_request").LlmRequest
    types = of_package(_NAME, "google.genai.types")

    def start(_: Case) -> AbstractContextManager[Fit]:
        turn = Translated(_writer(types), _unknown)
        filtering = plugin(num_invocations_to_keep=_KEPT)

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:  # noqa: ARG001 - it has no budget
            turn.take(messages)
            asked = request.model_construct(contents=list(turn.all))
            asyncio.run(filtering.before_model_callback(callback_context=None, llm_request=asked))
            return turn.back(asked.contents)

        return nullcontext(fit)

    how = f"num_invocations_to_keep = {_KEPT}; it has no budget"
    return WindowManager(_NAME, "google-adk", version("google-adk"), how, start)


def _writer(types: Any) -> Any:
    names: dict[str, str] = {}

    def write(message: Message) -> Iterator[tuple[Any, Sequence[Block]]]:
        if message["role"] == "assistant":
            parts = []
            for block in message["content"]:
                if block["type"] == "text":
                    parts.append(types.Part(text=block["text"]))
                    continue
                names[block["id"]] = block["name"]
                call = types.FunctionCall(id=block["id"], name=block["name"], args=given(block))
                parts.append(types.Part(function_call=call))
            yield types.Content(role="model", parts=parts), message["content"]
            return
        several = list(results_first(message))
        answers = [blocks[0] for blocks in several if blocks[0]["type"] == "tool_result"]
        if answers:
            responses = [
                types.FunctionResponse(
                    id=block["tool_use_id"], name=names[block["tool_use_id"]], response={"result": block["content"]}
                )
                for block in answers
            ]
            parts = [types.Part(function_response=response) for response in responses]
            yield types.Content(role="user", parts=parts), answers
        if several and several[-1][0]["type"] == "text":
            yield types.Content(role="user", parts=[types.Part(text=spoken(several[-1]))]), several[-1]

    return write


def _unknown(own: Any) -> Piece:
    """Refuse an object that it wrote itself: it only keeps objects or leaves them out."""
    raise TypeError(f"a content that was not sent to it: {own!r}")
