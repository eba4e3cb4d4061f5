"""A capability for Pydantic AI's agents: each request gets the window that fits, the run's history keeps everything.

Law: only the request is changed. The result of ``ProcessHistory`` becomes the history itself, so undrift would see its own
edits as part of the conversation; this does not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from undrift.integrations.framework_window import FrameworkWindow
from undrift.integrations.pydantic_ai.messages import back, history
from undrift.session.session import Session
from undrift.values.prepared import Prepared

__all__ = ["UndriftHistory"]


@dataclass
class UndriftHistory(AbstractCapability[Any]):
    """Manage the messages of an agent: ``Agent(model, capabilities=[UndriftHistory(session)])``.

    `session`: open; not closed here. `on_prepared`: called with what was made of each window, such as to show it.
    """

    session: Session
    on_prepared: Callable[[Prepared], None] | None = None
    _window: FrameworkWindow = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._window = FrameworkWindow(self.session, "openai-responses")

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:  # noqa: ARG002 - the framework's
        """Put the window that fits in the place of the messages of this request."""
        given = list(request_context.messages)
        items = history(given)
        prepared = await self._window.aprepare(_body(request_context, items)) if items else None
        if prepared is not None:
            if self.on_prepared is not None:
                self.on_prepared(prepared)
            request_context.messages = back(given, items, prepared.body["input"])
        return request_context

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:  # noqa: ARG002
        """Take in what the provider counted."""
        usage = response.usage
        if usage.input_tokens:
            await self._window.arecord(
                {
                    "usage": {
                        "input_tokens": usage.input_tokens,
                        "output_tokens": usage.output_tokens,
                        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
                    }
                }
            )
        return response


def _body(request_context: Any, items: list[dict[str, Any]]) -> dict[str, Any]:
    """The request as it is counted: instructions and tools beside the history."""
    parameters = request_context.model_request_parameters
    tools = [
        {"type": "function", "name": one.name, "description": one.description, "parameters": one.parameters_json_schema}
        for one in (*parameters.function_tools, *parameters.output_tools)
    ]
    instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
    name = request_context.model.model_name
    return {
        "input": items,
        **({"tools": tools} if tools else {}),
        **({"instructions": instructions} if instructions else {}),
        **({"model": name} if name else {}),
    }
