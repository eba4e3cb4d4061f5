"""undrift in the OpenAI Agents SDK: a session that keeps items in undrift's store, and a filter that manages each window.

Law: items are kept as the SDK hands them over, in their order, each change in one transaction that is carried through
even when the run is cancelled.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from agents.memory.session_settings import SessionSettings, coerce_session_settings
from agents.run_config import CallModelData, ModelInputData

from undrift.core.text.masking import masked_value
from undrift.integrations.documents import DocumentChange, Documents
from undrift.integrations.framework_window import FrameworkWindow
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.base import Document
from undrift.values.closing import Closing
from undrift.values.prepared import Prepared

__all__ = ["UndriftSession", "undrift_filter"]

_KIND = "agents-item"  # path: number of the item; content: its JSON
_SEALED = ("encrypted_content", "signature")  # nothing may be masked in them: the provider checks them

T = TypeVar("T")


class UndriftSession(Closing):
    """The SDK's ``Session`` over undrift's store: ``Runner.run(agent, text, session=UndriftSession("run-42"))``.

    Secrets in items are masked on the way to the disk (setting `mask_secrets`). `undrift.Session.rewind` of a session of
    the same id takes the items back too. A context manager.

    `session_id`: of the conversation. `home`: folder of the store; default is the setting `home`. `settings`: default:
    from the environment. `session_settings`: the SDK's own, such as the most items that `get_items` returns. Raises
    StoreError: the store cannot be opened.
    """

    def __init__(
        self,
        session_id: str,
        *,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self._documents = Documents.open(home, settings=settings)

    def close(self) -> None:
        """Close the store."""
        self._documents.close()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, oldest first; with a limit the newest ones."""
        last = limit if limit is not None else self.session_settings.limit
        return await asyncio.to_thread(self._items, last)

    async def add_items(self, items: Sequence[Any]) -> None:
        """Add items at the end."""
        contents = [self._content(item) for item in items]

        def act(kept: DocumentChange) -> None:
            newest = kept.under(_KIND, last=1)
            first = int(newest[0].path[0]) + 1 if newest else 0
            for number, content in enumerate(contents, first):
                kept.put(_KIND, Document((f"{number:012}",), {}, content))

        if contents:
            await self._change(act, "add")

    async def pop_item(self) -> Any:
        """Take the newest item away and return it; None if there is none."""

        def act(kept: DocumentChange) -> Any:
            newest = kept.under(_KIND, last=1)
            kept.close(newest)
            return json.loads(newest[0].content) if newest else None

        return await self._change(act, "pop")

    async def clear_session(self) -> None:
        """Take all items away; earlier versions stay on disk."""
        await self._change(lambda kept: kept.close(kept.under(_KIND)), "clear")

    def _items(self, last: int | None) -> list[Any]:
        if last is not None and last <= 0:
            return []
        with self._documents.reading(self.session_id) as kept:
            return [json.loads(one.content) for one in kept.under(_KIND, last=last)]

    def _content(self, item: Any) -> bytes:
        kept = _masked(item) if self._documents.settings.mask_secrets else item
        return json.dumps(kept, separators=(",", ":")).encode()

    async def _change(self, act: Callable[[DocumentChange], T], about: str) -> T:
        change = asyncio.to_thread(self._documents.change, self.session_id, act, about=f"items: {about}")
        return await _carried_through(change)


def undrift_filter(
    session: Session, *, on_prepared: Callable[[Prepared], None] | None = None
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """Return a filter for ``RunConfig(call_model_input_filter=...)``: each call of the model gets the window that fits.

    The history of the SDK and its session stays whole, so that undrift sees all of it each time.

    `session`: open; not closed here. `on_prepared`: called with what was made of each window, such as to show it.
    """
    window = FrameworkWindow(session, "openai-responses")

    async def managed(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        body: dict[str, Any] = {"input": list(given.input)}
        if given.instructions:
            body["instructions"] = given.instructions
        if name := _model_name(data.agent):
            body["model"] = name
        if tools := _tools(data.agent):
            body["tools"] = tools
        prepared = await window.aprepare(body) if given.input else None
        if prepared is None:
            return given
        if on_prepared is not None:
            on_prepared(prepared)
        return ModelInputData(input=list(prepared.body["input"]), instructions=given.instructions)

    return managed


async def _carried_through(change: Awaitable[T]) -> T:
    """Wait for a change; one that is under way ends before a cancellation is passed on."""
    task = asyncio.ensure_future(change)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _masked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: inner if name in _SEALED else _masked(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(inner) for inner in value]
    return masked_value(value)


def _model_name(agent: Any) -> str | None:
    """The model's name where the agent has one; a run's own model cannot be seen from here."""
    model = getattr(agent, "model", None)
    found = model if isinstance(model, str) else getattr(model, "model", None)
    return found if isinstance(found, str) else None


def _tools(agent: Any) -> list[dict[str, Any]]:
    """The agent's own functions as they are sent, so that they are counted; what MCP servers add is not known here."""
    return [
        {"type": "function", "name": one.name, "description": one.description, "parameters": one.params_json_schema}
        for one in getattr(agent, "tools", ())
        if hasattr(one, "params_json_schema")
    ]
