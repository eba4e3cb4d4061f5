"""A middleware for LangChain's agents: each call of the model gets the window that fits, the agent's state keeps everything.

Law: the state is never changed, so that undrift sees the whole history each time, as from any client; decisions of earlier
calls are applied again, byte for byte.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config

from undrift.integrations.framework_window import FrameworkWindow
from undrift.integrations.langchain.messages import back, history, without_signed_thinking
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.model_table import lookup, read_models
from undrift.values.prepared import Prepared

__all__ = ["UndriftMiddleware"]

_WIRE = "openai-chat"
_MOST_SESSIONS = 64
_NO_THREAD = "langchain"


class UndriftMiddleware(AgentMiddleware):
    """Manage the messages of an agent made by ``create_agent``: ``middleware=[UndriftMiddleware(session)]``.

    `session`: all calls belong to it; not closed here. None: each thread of the graph is a session of its own, by its
    ``thread_id``, and `close` closes those. `home`: folder of the store for those sessions; default is the setting
    `home`. `settings`: for those sessions; default: from the environment. `on_prepared`: called with what was made of
    each window, such as to show it.
    """

    def __init__(
        self,
        session: Session | None = None,
        *,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        on_prepared: Callable[[Prepared], None] | None = None,
    ) -> None:
        super().__init__()
        self._settings = session.settings if session is not None else settings or Settings.from_environment()
        self._models = read_models(self._settings.models_file)
        self._home = home
        self._only = None if session is None else FrameworkWindow(session, _WIRE)
        self._windows: OrderedDict[str, FrameworkWindow] = OrderedDict()
        self._lock = threading.Lock()
        self._on_prepared = on_prepared

    def close(self) -> None:
        """Close the sessions that were opened here."""
        with self._lock:
            while self._windows:
                self._windows.popitem()[1].session.close()

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model with the window that fits, and take in what the provider counted."""
        window = self._window()
        body, items = self._body(request)
        response = handler(self._managed(request, items, window.prepare(body)))
        window.record(_usage(response))
        return response

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """See `wrap_model_call`."""
        window = self._window()
        body, items = self._body(request)
        response = await handler(self._managed(request, items, await window.aprepare(body)))
        await window.arecord(_usage(response))
        return response

    def _window(self) -> FrameworkWindow:
        if self._only is not None:
            return self._only
        thread_id = str(get_config().get("configurable", {}).get("thread_id") or _NO_THREAD)
        with self._lock:
            if thread_id not in self._windows:
                if len(self._windows) >= _MOST_SESSIONS:
                    self._windows.popitem(last=False)[1].session.close()
                session = Session.open(thread_id, home=self._home, settings=self._settings)
                self._windows[thread_id] = FrameworkWindow(session, _WIRE)
            self._windows.move_to_end(thread_id)
            return self._windows[thread_id]

    def _body(self, request: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        items = history(request.messages)
        system = [] if request.system_message is None else history([request.system_message])
        body: dict[str, Any] = {"messages": [*system, *items]}
        if name := _model_name(request.model):
            body["model"] = name
        if request.tools:
            body["tools"] = [convert_to_openai_tool(tool) for tool in request.tools]
        return body, items

    def _managed(self, request: Any, items: list[dict[str, Any]], prepared: Prepared | None) -> Any:
        if prepared is None:
            return request
        if self._on_prepared is not None:
            self._on_prepared(prepared)
        sent = prepared.body["messages"]
        first = 0 if request.system_message is None else 1  # a system prompt is never edited
        messages = back(request.messages, items, sent[first:])
        if lookup(_model_name(request.model), self._models).binds_thinking:
            messages = without_signed_thinking(request.messages, messages)
        return request.override(messages=messages)


def _model_name(model: Any) -> str | None:
    found = getattr(model, "model_name", None) or getattr(model, "model", None)
    return found if isinstance(found, str) else None


def _usage(response: Any) -> dict[str, Any]:
    """The provider's counts, in the form that `Session.record` takes; the agent carries out its calls."""
    result = getattr(response, "result", None) or [response]
    usage = getattr(result[0], "usage_metadata", None)
    if not usage:
        return {}
    cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
    return {
        "usage": {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    }
